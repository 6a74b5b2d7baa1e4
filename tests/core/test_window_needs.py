"""What is checked before Qt is loaded: system libraries, versions, a display."""

from __future__ import annotations

import ctypes
import os
import shutil
import subprocess
import sys
from importlib import metadata
from pathlib import Path

import pytest

from core import system_libraries, window_needs
from core.errors import DashboardError

ROOT = Path(__file__).parents[2]


@pytest.fixture
def lacking(monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine without libxcb-cursor and libxkbcommon-x11."""
    real = ctypes.CDLL
    absent = {"libxcb-cursor.so.0", "libxkbcommon-x11.so.0"}

    def load(name: str) -> ctypes.CDLL:
        if name in absent:
            raise OSError(f"{name}: cannot open shared object file: No such file or directory")
        return real(name)

    monkeypatch.setattr(ctypes, "CDLL", load)


@pytest.mark.usefixtures("lacking")
def test_missing_libraries_are_named_with_one_command(monkeypatch: pytest.MonkeyPatch) -> None:
    """Case G01."""
    monkeypatch.setenv("QT_QPA_PLATFORM", "xcb")
    with pytest.raises(DashboardError) as caught:
        window_needs.check_window_needs([])
    assert "libxcb-cursor.so.0, libxkbcommon-x11.so.0" in caught.value.message
    hint = caught.value.hint
    assert "libxcb-cursor0" in hint
    assert "libxkbcommon-x11-0" in hint
    assert "apt-get install" in hint


@pytest.mark.usefixtures("lacking")
def test_rendering_offscreen_needs_no_window_libraries(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("DISPLAY", "WAYLAND_DISPLAY", "QT_QPA_PLATFORM"):
        monkeypatch.delenv(name, raising=False)
    # So that monkeypatch takes back what the call sets.
    monkeypatch.setenv("QT_QPA_PLATFORM", "")
    monkeypatch.delenv("QT_QPA_PLATFORM")
    window_needs.check_window_needs(["--render-pages", "out"])
    assert os.environ["QT_QPA_PLATFORM"] == "offscreen"


def test_untested_qt_is_refused_by_its_version(monkeypatch: pytest.MonkeyPatch) -> None:
    """Case G04: PySide6 6.12.0 aborts with some Pythons."""
    real = metadata.version
    monkeypatch.setattr(
        metadata, "version", lambda name: "6.12.0" if name == "PySide6-Essentials" else real(name)
    )
    monkeypatch.setenv("QT_QPA_PLATFORM", "offscreen")
    with pytest.raises(DashboardError) as caught:
        window_needs.check_window_needs([])
    assert "PySide6-Essentials 6.12.0" in caught.value.message
    assert '"PySide6-Essentials>=6.11,<6.12"' in caught.value.hint


def test_installed_versions_are_the_tested_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("QT_QPA_PLATFORM", "offscreen")
    window_needs.check_window_needs([])


@pytest.mark.parametrize(
    ("variables", "expected"),
    [
        ({"DISPLAY": ":0"}, "xcb"),
        ({"WAYLAND_DISPLAY": "wayland-0"}, "wayland"),
        ({"WAYLAND_DISPLAY": "wayland-0", "DISPLAY": ":0"}, "xcb"),
        ({"WAYLAND_DISPLAY": "wayland-0", "DISPLAY": ":0", "XDG_SESSION_TYPE": "wayland"}, "wayland"),
        ({"QT_QPA_PLATFORM": "offscreen", "DISPLAY": ":0"}, "offscreen"),
        ({"QT_QPA_PLATFORM": "wayland;xcb"}, "wayland"),
        ({"QT_QPA_PLATFORM": "vnc:size=100x100"}, "vnc"),
    ],
)
def test_platform_is_the_one_that_qt_would_take(
    monkeypatch: pytest.MonkeyPatch, variables: dict[str, str], expected: str
) -> None:
    for name in ("DISPLAY", "WAYLAND_DISPLAY", "QT_QPA_PLATFORM", "XDG_SESSION_TYPE"):
        monkeypatch.delenv(name, raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    assert system_libraries.window_platform() == expected


@pytest.mark.usefixtures("lacking")
def test_command_asks_for_sudo_where_it_is_needed(monkeypatch: pytest.MonkeyPatch) -> None:
    absent = system_libraries.missing_libraries("xcb")
    monkeypatch.setattr(shutil, "which", lambda name: f"/usr/bin/{name}")
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    assert system_libraries.install_command(absent) == (
        "sudo apt-get install -y libxcb-cursor0 libxkbcommon-x11-0"
    )
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    assert system_libraries.install_command(absent).startswith("apt-get install")
    monkeypatch.setattr(shutil, "which", lambda name: None)
    assert "libxcb-cursor.so.0" in system_libraries.install_command(absent)


def test_file_runs_alone_under_any_python(tmp_path: Path) -> None:
    script = ROOT / "core" / "system_libraries.py"
    result = subprocess.run(
        [sys.executable, "-I", "-S", str(script), "--missing", "--offscreen"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert result.stderr == ""
    assert (result.returncode == 0) == (result.stdout == "")


def test_every_library_that_qt_asks_for_is_in_the_list() -> None:
    """What the platform plugins of the installed Qt are linked to, less what they bring themselves."""
    import re

    import PySide6

    if shutil.which("readelf") is None:
        pytest.skip("readelf is not installed")
    qt = Path(PySide6.__path__[0]) / "Qt"
    files = [qt / "plugins" / "platforms" / f"libq{name}.so" for name in ("xcb", "offscreen", "wayland")]
    files += [qt / "lib" / f"libQt6{name}.so.6" for name in ("Core", "Gui", "Widgets", "DBus", "XcbQpa")]
    output = subprocess.run(
        ["readelf", "-d", *map(str, files)], capture_output=True, text=True, check=True
    ).stdout
    needed = set(re.findall(r"\(NEEDED\).*\[(.+)\]", output))
    brought = {path.name for path in (qt / "lib").iterdir()}
    always = {"libc.so.6", "libm.so.6", "libpthread.so.0", "libdl.so.2", "librt.so.1", "libstdc++.so.6"}
    always |= {"libgcc_s.so.1", "libz.so.1", "libzstd.so.1", "ld-linux-x86-64.so.2", "ld-linux-aarch64.so.1"}
    listed = {soname for soname, _ in system_libraries.BASE + system_libraries.XCB + system_libraries.WAYLAND}
    assert needed - brought - always - listed == set()
