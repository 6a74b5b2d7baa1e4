#!/usr/bin/env python3
"""Start of Ridgeline: guard, arguments, then the window or the command line.

Users' projects have packages called ``core`` and ``gui`` too. Whatever
PYTHONPATH or the working folder hold, ours are the ones beside this file.
"""

from __future__ import annotations

import importlib.util
import os
import sys

HERE = os.path.dirname(os.path.realpath(__file__))
OLDEST_PYTHON = (3, 11)
INTERRUPTED = 130  # as shells say it: 128 and SIGINT
DEPENDENCIES = ("PySide6", "msgspec", "numpy", "platformdirs", "psutil", "pyqtgraph", "qtawesome", "rich")


def refuse(message: str, hint: str, code: int = 2) -> int:
    """Print the two lines of a refusal on stderr; return the exit code."""
    print(f"error: {message}\nhint: {hint}", file=sys.stderr)
    return code


def foreign_package() -> str | None:
    """Put our folder first on the path; return where a package of another project would come from."""
    sys.path.insert(0, HERE)
    for name in ("core", "gui"):
        spec = importlib.util.find_spec(name)
        places = list(spec.submodule_search_locations or []) if spec else []
        if not places or os.path.realpath(places[0]) != os.path.join(HERE, name):
            return f"{name} from {places[0] if places else 'nowhere'}"
    return None


def start(arguments: list[str]) -> int:
    """Run the command line if the first argument is one of its commands, else the window."""
    from core.cli import is_command_line  # noqa: PLC0415 - only after the guard
    from core.cli import main as run_command  # noqa: PLC0415

    if arguments[:1] == ["_prepare"]:
        from gui.prepare import run_prepare  # noqa: PLC0415

        return run_prepare(*arguments[1:])
    if is_command_line(arguments):
        return run_command(arguments)

    from core.errors import DashboardError  # noqa: PLC0415
    from core.window_needs import check_window_needs  # noqa: PLC0415

    try:
        check_window_needs(arguments)
    except DashboardError as error:
        return refuse(error.message, error.hint, 1)
    from gui.app import run as run_window  # noqa: PLC0415

    return run_window(arguments)


def main() -> int:
    """Check what is needed to start at all, then start."""
    if sys.version_info < OLDEST_PYTHON:
        return refuse(f"Python {sys.version.split()[0]} is too old.", "Start it with Python 3.11 or newer.")
    if foreign := foreign_package():
        return refuse(
            f"Another project's package is in the way: {foreign}.",
            "start python with -I, or unset PYTHONPATH",
        )
    try:
        return start(sys.argv[1:])
    except KeyboardInterrupt:
        return INTERRUPTED
    except ModuleNotFoundError as error:
        if (error.name or "").split(".")[0] not in DEPENDENCIES:
            raise
        return refuse(
            f"{error.name} is not installed for {sys.executable}.", "Run `make run`: it installs it."
        )


if __name__ == "__main__":
    sys.exit(main())
