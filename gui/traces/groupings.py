"""What kernels can be grouped by, in the words of the selector and the palette."""

from __future__ import annotations

from typing import Final

GROUPINGS: Final = (
    ("name", "Name"),
    ("short_name", "Short name"),
    ("category", "Category"),
    ("op", "Operator"),
    ("module", "Module"),
    ("stream", "Stream"),
    ("device", "Device"),
    ("step", "Step"),
)
"""(value of ``GroupBy``, word)."""
