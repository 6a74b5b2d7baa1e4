"""Finds the Pythons of this machine, and says which of them can train.

Looks at the running one, at RIDGELINE_TEST_PYTHONS (paths, separated like PATH), at
pyenv's versions and at ``python3.9`` to ``python3.14`` on PATH.
"""

from __future__ import annotations

import functools
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

OLDEST_PYTHON = (3, 9)
OLDEST_TORCH = (2, 4)

# Loads no torch: its version stands in the package's metadata.
ASK = """
import sys
from importlib import metadata
try:
    torch = metadata.version("torch")
except metadata.PackageNotFoundError:
    torch = ""
print(sys.version_info[0], sys.version_info[1], torch)
"""


@dataclass(frozen=True)
class Interpreter:
    """A Python that was found; ``torch`` is "" where it has none."""

    path: str
    version: tuple[int, int]
    torch: str

    @property
    def name(self) -> str:
        """Short and unique enough for a test's id."""
        return f"py{self.version[0]}.{self.version[1]}" + (f"-torch{self.torch}" if self.torch else "")


def _candidates() -> list[str]:
    found = [sys.executable]
    found += [path for path in os.environ.get("RIDGELINE_TEST_PYTHONS", "").split(os.pathsep) if path]
    root = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv"))
    found += [str(path) for path in sorted(root.glob("versions/*/bin/python"))]
    for minor in range(9, 15):
        on_path = shutil.which(f"python3.{minor}")
        # A pyenv shim is a shell script that may stand for nothing.
        if on_path is not None and "shims" not in Path(on_path).parts:
            found.append(on_path)
    return found


@functools.cache
def interpreters() -> tuple[Interpreter, ...]:
    """One Python a version from 3.9 on, this one first; more where torch differs."""
    found: dict[tuple[tuple[int, int], str], Interpreter] = {}
    for path in _candidates():
        try:
            answer = subprocess.run(
                [path, "-I", "-c", ASK], capture_output=True, text=True, timeout=30, check=True
            )
        except (OSError, subprocess.SubprocessError):
            continue
        major, minor, *torch = answer.stdout.split()
        version = (int(major), int(minor))
        if version >= OLDEST_PYTHON:
            key = (version, torch[0] if torch else "")
            found.setdefault(key, Interpreter(path, version, key[1]))
    return tuple(found.values())


def training_interpreters() -> tuple[Interpreter, ...]:
    """Those with a torch that FSDP2 works with."""
    return tuple(
        python
        for python in interpreters()
        if python.torch and tuple(int(part) for part in python.torch.split(".")[:2]) >= OLDEST_TORCH
    )


def plain_interpreters() -> tuple[Interpreter, ...]:
    """One a version, whether it has torch or not."""
    found: dict[tuple[int, int], Interpreter] = {}
    for python in interpreters():
        found.setdefault(python.version, python)
    return tuple(found.values())
