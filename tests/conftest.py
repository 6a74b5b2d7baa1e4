"""Fixtures that all tests share: private folders, an X display, the handed cases."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator

os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")
os.environ.setdefault("PYTEST_QT_API", "pyside6")

ROOT = Path(__file__).parents[1]


@pytest.fixture(autouse=True)
def private_folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Keeps every test away from the user's own runs and settings."""
    home = tmp_path / "home"
    for name in ("DATA", "CONFIG", "CACHE", "STATE"):
        folder = home / name.lower()
        folder.mkdir(parents=True)
        monkeypatch.setenv(f"XDG_{name}_HOME", str(folder))
        monkeypatch.delenv(f"RIDGELINE_{name}_DIR", raising=False)
    return home


@pytest.fixture(scope="session")
def shared_cases() -> Path:
    """Folder of the handed case inputs, where it is present."""
    folder = ROOT.parent / "shared" / "cases" / "inputs"
    if not folder.is_dir():
        pytest.skip("the handed case inputs are not on this machine")
    return folder


@pytest.fixture(scope="session")
def x_display() -> Iterator[str]:
    """Name of an X display of its own, 1920x1080."""
    if shutil.which("Xvfb") is None:
        pytest.skip("Xvfb is not installed")
    read_end, write_end = os.pipe()
    server = subprocess.Popen(
        ["Xvfb", "-displayfd", str(write_end), "-screen", "0", "1920x1080x24", "-nolisten", "tcp"],
        pass_fds=(write_end,),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    os.close(write_end)
    with os.fdopen(read_end) as pipe:
        number = pipe.readline().strip()
    assert number, "Xvfb did not come up"
    yield f":{number}"
    server.terminate()
    server.wait()
