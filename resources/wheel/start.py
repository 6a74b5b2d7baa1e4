"""The ``ridgeline`` command of an installed wheel: starts our main.py as a script.

The wheel holds the program in one folder, ``ridgeline/``, where this file is
``__init__.py``. As a script, main.py has that folder first on its path; so
nothing of ours is ever importable as ``core`` or ``gui`` for other programs of
the same environment, and theirs are never taken for ours.
"""

from __future__ import annotations

import os
import sys


def main() -> None:
    """Replace this process with ``python .../ridgeline/main.py`` and the same arguments."""
    script = os.path.join(os.path.dirname(os.path.abspath(__file__)), "main.py")
    os.execv(sys.executable, [sys.executable, script, *sys.argv[1:]])  # noqa: S606 - no shell is wanted
