"""The packages that are installed are the ones that were tested (cases G04, M13)."""

from __future__ import annotations

import importlib.metadata
import re
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

if TYPE_CHECKING:
    from pytestqt.qtbot import QtBot

ROOT = Path(__file__).parents[2]


def pins() -> dict[str, Version]:
    lines = (ROOT / "constraints.txt").read_text().splitlines()
    found = [re.match(r"([\w.-]+)==(\S+)$", line) for line in lines if line and not line.startswith("#")]
    assert all(found), "constraints.txt holds something else than name==version"
    return {canonicalize_name(match[1]): Version(match[2]) for match in found if match}


def direct() -> list[Requirement]:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    return [Requirement(line) for line in project["dependencies"] + project["optional-dependencies"]["dev"]]


def with_all_they_need(requirements: list[Requirement]) -> dict[str, Requirement]:
    """Follow the requirements of what is installed to the end, for this Python and system."""
    found: dict[str, Requirement] = {}
    waiting = list(requirements)
    while waiting:
        requirement = waiting.pop()
        name = canonicalize_name(requirement.name)
        if name in found or (requirement.marker and not requirement.marker.evaluate({"extra": ""})):
            continue
        found[name] = requirement
        waiting += [Requirement(line) for line in importlib.metadata.requires(name) or []]
    return found


def test_everything_we_use_is_pinned_and_installed_at_its_pin() -> None:
    pinned = pins()
    # What torch brings for CUDA is pinned by torch, and absent from its CPU build.
    needed = {
        name
        for name in with_all_they_need(direct())
        if not name.startswith(("nvidia-", "cuda-", "triton")) or name == "nvidia-ml-py"
    }
    assert needed - set(pinned) == set()
    assert set(pinned) - needed == set()
    # public: a local build (2.13.0+cpu) is the same release.
    installed = {name: Version(importlib.metadata.version(name)).public for name in pinned}
    assert installed == {name: str(version) for name, version in pinned.items()}


def test_the_pins_lie_within_what_the_wheel_asks_for() -> None:
    pinned = pins()
    outside = [
        str(requirement)
        for requirement in direct()
        if pinned[canonicalize_name(requirement.name)] not in requirement.specifier
    ]
    assert not outside


def test_torch_is_the_first_pin() -> None:
    """It is installed first, from that line."""
    lines = (ROOT / "constraints.txt").read_text().splitlines()
    assert next(line for line in lines if line and not line.startswith("#")) == "torch==2.13.0"


def test_nvml_comes_from_the_package_that_is_not_deprecated() -> None:
    """Case M13: the package named pynvml warns at every import of torch and clashes with nvidia-ml-py."""
    with pytest.raises(importlib.metadata.PackageNotFoundError):
        importlib.metadata.version("pynvml")
    owners = importlib.metadata.packages_distributions()["pynvml"]
    assert owners == ["nvidia-ml-py"]


def test_importing_torch_warns_of_nothing() -> None:
    """Case M13, as a user sees it: the first lines of every job."""
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", "import torch.cuda; print(torch.__version__)"],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert Version(done.stdout.strip()).public == str(pins()["torch"])


def test_the_installed_pyside_keeps_its_references(qtbot: QtBot) -> None:
    """Case G04: PySide6 6.12.0 loses a reference to None in most calls and aborts some minutes later."""
    from PySide6.QtGui import QColor, QPen
    from PySide6.QtWidgets import QGraphicsLineItem, QLabel

    label = QLabel()
    qtbot.addWidget(label)
    line = QGraphicsLineItem()
    pen = QPen(QColor("red"))
    before = sys.getrefcount(None)
    for number in range(200):
        label.setText(str(number))
        label.update()
        line.setPen(pen)
    assert abs(sys.getrefcount(None) - before) < 20
