"""setup.sh: from a checkout to a working .venv, on a machine that is not quite ready.

A small project takes the real one's place: the script is the real one, and
torch is a wheel of one line, so that no network is needed.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
BASE_PYTHON = os.path.realpath(getattr(sys, "_base_executable", sys.executable))


def write_wheel(folder: Path, name: str, version: str) -> None:
    """Write an installable wheel that holds one module."""
    folder.mkdir(exist_ok=True)
    info = f"{name}-{version}.dist-info"
    with zipfile.ZipFile(folder / f"{name}-{version}-py3-none-any.whl", "w") as archive:
        archive.writestr(f"{name}.py", f"version = '{version}'\n")
        archive.writestr(f"{info}/METADATA", f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
        archive.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        archive.writestr(f"{info}/RECORD", "")


def write_command(folder: Path, name: str, text: str) -> None:
    folder.mkdir(exist_ok=True)
    (folder / name).write_text(f"#!/bin/sh\n{text}\n")
    (folder / name).chmod(0o755)


class Checkout:
    """A small checkout in a folder with spaces, and the machine around it."""

    def __init__(self, base: Path) -> None:
        self.base = base
        self.folder = base / "a check out"
        (self.folder / "core").mkdir(parents=True)
        shutil.copy(ROOT / "setup.sh", self.folder)
        (self.folder / "constraints.txt").write_text("torch==2.13.0\nwindow==1.0\n")
        (self.folder / "pyproject.toml").write_text('[project]\ndependencies = ["torch>=2.4", "window"]\n')
        self.lacks("")
        for name, version in (("torch", "2.13.0"), ("torch", "2.14.0"), ("window", "1.0")):
            write_wheel(base / "wheels", name, version)

    def lacks(self, packages: str) -> None:
        """Let the check of the system libraries find these missing."""
        (self.folder / "core" / "system_libraries.py").write_text(f"print({packages!r})\n")

    def setup(self, **environment: str) -> subprocess.CompletedProcess[str]:
        private = {
            "PYTHON": BASE_PYTHON,
            "PIP_CONFIG_FILE": os.devnull,
            "PIP_NO_INDEX": "1",
            "PIP_FIND_LINKS": str(self.base / "wheels"),
            "PATH": f"{self.base / 'commands'}{os.pathsep}{os.environ['PATH']}",
        }
        return subprocess.run(
            [str(self.folder / "setup.sh"), "run"],
            env={**os.environ, **private, **environment},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )

    def versions(self) -> str:
        code = "import torch, window; print(torch.version, window.version)"
        python = self.folder / ".venv" / "bin" / "python"
        return subprocess.run([python, "-c", code], capture_output=True, text=True, check=True).stdout.strip()


@pytest.fixture
def checkout(tmp_path: Path) -> Checkout:
    return Checkout(tmp_path)


def test_as_root_all_that_is_missing_is_installed_once_and_again_when_pins_change(checkout: Checkout) -> None:
    checkout.lacks("libxcb-cursor0")
    write_command(checkout.base / "commands", "id", "echo 0")
    write_command(checkout.base / "commands", "apt-get", f'echo "$@" >> "{checkout.base}/calls"')
    first = checkout.setup()
    assert first.returncode == 0, first.stderr
    update, install = (checkout.base / "calls").read_text().splitlines()
    assert update.split()[0] == "update"
    assert install.split()[0] == "install"
    assert {"-y", "--no-install-recommends", "libxcb-cursor0"} <= set(install.split())
    checkout.lacks("")
    assert checkout.versions() == "2.13.0 1.0"
    again = checkout.setup()
    assert (again.returncode, again.stdout, again.stderr) == (0, "", "")
    (checkout.folder / "constraints.txt").write_text("torch==2.14.0\nwindow==1.0\n")
    changed = checkout.setup()
    assert changed.returncode == 0, changed.stderr
    assert checkout.versions() == "2.14.0 1.0"


def test_an_interrupted_or_moved_environment_is_made_anew(checkout: Checkout) -> None:
    (checkout.base / "wheels" / "window-1.0-py3-none-any.whl").unlink()
    failed = checkout.setup()
    assert failed.returncode != 0
    assert "window" in failed.stderr
    litter = checkout.folder / ".venv" / "half-installed"
    litter.touch()
    write_wheel(checkout.base / "wheels", "window", "1.0")
    mended = checkout.setup()
    assert mended.returncode == 0, mended.stderr
    assert "interrupted" in mended.stderr
    assert not litter.exists()
    assert checkout.versions() == "2.13.0 1.0"

    checkout.folder = checkout.folder.rename(checkout.base / "moved")
    moved = checkout.setup()
    assert moved.returncode == 0, moved.stderr
    assert "a check out" not in (checkout.folder / ".venv" / "bin" / "activate").read_text()


def test_without_root_the_one_command_is_printed(checkout: Checkout) -> None:
    checkout.lacks("libxcb-cursor0 libegl1")
    write_command(checkout.base / "commands", "id", "echo 1000")
    write_command(checkout.base / "commands", "apt-get", "echo called >&2")
    stopped = checkout.setup()
    assert stopped.returncode == 1
    assert stopped.stderr.splitlines()[-1] == (
        "setup: sudo apt-get install --no-install-recommends libxcb-cursor0 libegl1"
    )
    assert "called" not in stopped.stderr
    assert not (checkout.folder / ".venv").exists()


def test_an_old_python_is_refused(checkout: Checkout) -> None:
    write_command(checkout.base / "commands", "python2", "exit 1")
    stopped = checkout.setup(PYTHON=str(checkout.base / "commands" / "python2"))
    assert stopped.returncode == 1
    assert "3.11" in stopped.stderr
