"""The system libraries that Qt's window needs on Linux, and which of them are missing.

Qt ends the process with a core dump when one of them is absent, and its message
often names the wrong one; so they are tried before Qt is loaded. This file
needs nothing but the standard library and runs by itself under any Python 3:
``python core/system_libraries.py --missing`` prints the missing Debian packages
(nothing and exit 0 when all are there, else exit 1), ``--command`` the one
command that installs them, ``--offscreen`` leaves out what only a window needs.
"""

from __future__ import annotations

import ctypes
import os
import shutil
import sys

BASE = (
    ("libGL.so.1", "libgl1"),
    ("libEGL.so.1", "libegl1"),
    ("libglib-2.0.so.0", "libglib2.0-0"),
    ("libgthread-2.0.so.0", "libglib2.0-0"),
    ("libfontconfig.so.1", "libfontconfig1"),
    ("libfreetype.so.6", "libfreetype6"),
    ("libX11.so.6", "libx11-6"),
    ("libxkbcommon.so.0", "libxkbcommon0"),
    ("libdbus-1.so.3", "libdbus-1-3"),
)
"""(soname, Debian package) that Qt's core and gui libraries are linked to.

Source: DT_NEEDED of libQt6Core, libQt6Gui, libQt6DBus and of the platform
plugins in PySide6-Essentials 6.11.3, packages of Debian 12.
"""

XCB = (
    ("libxcb.so.1", "libxcb1"),
    ("libxcb-cursor.so.0", "libxcb-cursor0"),
    ("libxcb-icccm.so.4", "libxcb-icccm4"),
    ("libxcb-image.so.0", "libxcb-image0"),
    ("libxcb-keysyms.so.1", "libxcb-keysyms1"),
    ("libxcb-randr.so.0", "libxcb-randr0"),
    ("libxcb-render.so.0", "libxcb-render0"),
    ("libxcb-render-util.so.0", "libxcb-render-util0"),
    ("libxcb-shape.so.0", "libxcb-shape0"),
    ("libxcb-shm.so.0", "libxcb-shm0"),
    ("libxcb-sync.so.1", "libxcb-sync1"),
    ("libxcb-util.so.1", "libxcb-util1"),
    ("libxcb-xfixes.so.0", "libxcb-xfixes0"),
    ("libxcb-xkb.so.1", "libxcb-xkb1"),
    ("libxkbcommon-x11.so.0", "libxkbcommon-x11-0"),
    ("libX11-xcb.so.1", "libx11-xcb1"),
)
"""What a window on an X display adds. Source: as above, libqxcb and libQt6XcbQpa."""

WAYLAND = (
    ("libwayland-client.so.0", "libwayland-client0"),
    ("libwayland-cursor.so.0", "libwayland-cursor0"),
    ("libwayland-egl.so.1", "libwayland-egl1"),
)
"""What a window on Wayland adds. Source: as above, libqwayland and its EGL integration."""

FONT_FOLDERS = ("/usr/share/fonts", "/usr/local/share/fonts", "~/.local/share/fonts", "~/.fonts")


def window_platform():
    # type: () -> str
    """Name the Qt platform that a window would use: "xcb", "wayland" or what the user asked for."""
    asked = os.environ.get("QT_QPA_PLATFORM", "").split(":")[0].split(";")[0]
    if asked:
        return asked
    wayland = bool(os.environ.get("WAYLAND_DISPLAY"))
    if wayland and (os.environ.get("XDG_SESSION_TYPE") == "wayland" or not os.environ.get("DISPLAY")):
        return "wayland"
    return "xcb"


def missing_libraries(platform):
    # type: (str) -> list[tuple[str, str]]
    """Return what cannot be loaded, as (soname, Debian package) or ("a font", package).

    Args:
        platform: Qt platform; one that is neither "xcb" nor "wayland" needs the base only.
    """
    if not sys.platform.startswith("linux"):
        return []
    needed = list(BASE)
    if platform == "xcb":
        needed += XCB
    elif platform.startswith("wayland"):
        needed += WAYLAND
    absent = [(soname, package) for soname, package in needed if not _loads(soname)]
    if not _has_font():
        absent.append(("a font", "fonts-dejavu-core"))
    return absent


def install_command(absent):
    # type: (list[tuple[str, str]]) -> str
    """Return the one command that installs what is missing, or words where apt is absent."""
    packages = sorted({package for _, package in absent})
    if shutil.which("apt-get") is None:
        return "install the libraries " + ", ".join(sorted({soname for soname, _ in absent}))
    is_root = hasattr(os, "geteuid") and os.geteuid() == 0
    return ("" if is_root else "sudo ") + "apt-get install -y " + " ".join(packages)


def _loads(soname):
    # type: (str) -> bool
    try:
        ctypes.CDLL(soname)
    except OSError:
        return False
    return True


def _has_font():
    # type: () -> bool
    for folder in FONT_FOLDERS:
        for _, _, names in os.walk(os.path.expanduser(folder)):
            if any(name.lower().endswith((".ttf", ".otf", ".ttc")) for name in names):
                return True
    return False


def main(arguments):
    # type: (list[str]) -> int
    """Print what is missing for a window on X (and Wayland where it runs); see the module's text."""
    platform = "offscreen" if "--offscreen" in arguments else window_platform()
    if platform not in ("xcb", "offscreen") and not platform.startswith("wayland"):
        platform = "xcb"
    absent = missing_libraries(platform)
    if not absent:
        return 0
    if "--command" in arguments:
        print(install_command(absent))
    else:
        print(" ".join(sorted({package for _, package in absent})))
    return 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
