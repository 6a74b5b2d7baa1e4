"""What must be there before a window can open: a display, Qt's system libraries, tested versions.

Checked before Qt is imported, because Qt answers a missing display or library
with an abort. Opens no window and imports no Qt.
"""

from __future__ import annotations

import os
import sys
from importlib import metadata

from core.errors import DashboardError
from core.system_libraries import install_command, missing_libraries, window_platform

TESTED = {"PySide6-Essentials": ((6, 11), (6, 12)), "pyqtgraph": ((0, 14), (0, 15))}
"""Package -> (first version, version below which it was tested).

Source: FACTS measured for this project: 6.12.0 loses references to None and
aborts on Python 3.10 and 3.11; pyqtgraph 0.13.7 is very slow with PySide6 6.10
and later.
"""

RENDER_OPTION = "--render-pages"


def check_window_needs(arguments: list[str]) -> None:
    """Make sure that a window, or offscreen rendering, can start.

    Args:
        arguments: Command line without the program; with ``--render-pages`` in
            it, Qt is told to render offscreen.

    Raises:
        DashboardError: No display, a system library is missing, or an installed
            version is outside the tested range.
    """
    if RENDER_OPTION in arguments:
        os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")
    _check_display()
    _check_libraries()
    _check_versions()


def _check_display() -> None:
    if not sys.platform.startswith("linux"):
        return
    if any(os.environ.get(name) for name in ("DISPLAY", "WAYLAND_DISPLAY", "QT_QPA_PLATFORM")):
        return
    raise DashboardError(
        "There is no display to open a window on (DISPLAY and WAYLAND_DISPLAY are not set).",
        "Run `make demo` or `ridgeline demo` for the same job in the terminal, or log in with a desktop "
        "or `ssh -X`.",
    )


def _check_libraries() -> None:
    absent = missing_libraries(window_platform())
    if absent:
        names = ", ".join(sorted({soname for soname, _ in absent}))
        raise DashboardError(
            f"Qt needs system libraries that are missing: {names}.", f"Run: {install_command(absent)}"
        )


def _check_versions() -> None:
    for package, (first, beyond) in TESTED.items():
        try:
            text = metadata.version(package)
        except metadata.PackageNotFoundError:
            # PySide6 may come from the distribution, without this package's
            # metadata; the import then says what is missing.
            continue
        version = tuple(int(part) for part in text.split(".")[:2] if part.isdigit())
        if not first <= version < beyond:
            wanted = f">={first[0]}.{first[1]},<{beyond[0]}.{beyond[1]}"
            raise DashboardError(
                f"{package} {text} is installed, which Ridgeline was not tested with.",
                f'Run: {sys.executable} -m pip install "{package}{wanted}"',
            )
