"""Starting main.py: whose packages are used, what is refused, and what is never imported."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.helpers.broken_drivers import needs_machine_code, write_driver

ROOT = Path(__file__).parents[2]
MAIN = ROOT / "main.py"


def run(
    *arguments: str, cwd: Path | None = None, main: Path = MAIN, **environment: str | None
) -> subprocess.CompletedProcess[str]:
    """Runs main.py; a variable that is None is taken out of the environment."""
    variables = {key: value for key, value in (os.environ | environment).items() if value is not None}
    return subprocess.run(
        [sys.executable, str(main), *arguments],
        cwd=cwd,
        env=variables,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


@pytest.fixture
def foreign(tmp_path: Path) -> Path:
    """A project with packages of our names, which end the process when imported."""
    project = tmp_path / "project"
    for name in ("core", "gui"):
        (project / name).mkdir(parents=True)
        (project / name / "__init__.py").write_text("import os\nos._exit(77)\n")
    return project


@pytest.mark.parametrize("safe_path", [None, "1"])
def test_our_packages_are_used_whatever_stands_on_the_path(foreign: Path, safe_path: str | None) -> None:
    result = run("runs", "--json", cwd=foreign, PYTHONPATH=str(foreign), PYTHONSAFEPATH=safe_path)
    assert (result.returncode, result.stdout, result.stderr) == (0, "[]\n", "")


def test_our_packages_are_used_when_started_through_a_link(foreign: Path) -> None:
    link = foreign / "start.py"
    link.symlink_to(MAIN)
    result = run("runs", "--json", cwd=foreign, main=link)
    assert (result.returncode, result.stdout, result.stderr) == (0, "[]\n", "")


def test_foreign_package_that_is_loaded_already_is_refused(foreign: Path) -> None:
    """As a .pth file or a sitecustomize of the environment may do it."""
    (foreign / "core" / "__init__.py").write_text("")
    (foreign / "sitecustomize.py").write_text("import core\n")
    result = run("runs", PYTHONPATH=str(foreign))
    assert result.returncode == 2
    error, hint = result.stderr.splitlines()
    assert error.startswith("error: Another project's package is in the way: core from ")
    assert hint.startswith("hint: ")


def test_copy_without_its_packages_is_refused(tmp_path: Path) -> None:
    alone = tmp_path / "main.py"
    shutil.copy(MAIN, alone)
    result = run("runs", main=alone)
    assert result.returncode == 2
    assert len(result.stderr.splitlines()) == 2


def test_no_display_names_the_demo(tmp_path: Path) -> None:
    """Case G02."""
    result = run(DISPLAY=None, WAYLAND_DISPLAY=None, QT_QPA_PLATFORM=None)
    assert result.returncode == 1
    assert result.stdout == ""
    error, hint = result.stderr.splitlines()
    assert error.startswith("error: There is no display")
    assert "make demo" in hint
    assert "ridgeline demo" in hint


def test_mistyped_command_is_refused_without_a_window() -> None:
    result = run("lauch", DISPLAY=None, WAYLAND_DISPLAY=None, QT_QPA_PLATFORM=None)
    assert result.returncode == 2
    error, hint = result.stderr.splitlines()
    assert error == "error: There is no command and no file lauch."
    assert "launch" in hint


def test_missing_dependency_is_a_sentence() -> None:
    """Started by a Python that nothing was installed for."""
    bare = subprocess.run(
        [sys.executable, "-I", "-S", str(MAIN), "runs"],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert bare.returncode == 2
    error, hint = bare.stderr.splitlines()
    assert "is not installed for" in error
    assert "make run" in hint


@pytest.mark.parametrize(
    "arguments", [["runs"], ["devices"], ["stop", "none"], ["launch", "none.py"], ["-h"]]
)
def test_command_line_imports_neither_qt_nor_torch(arguments: list[str]) -> None:
    script = (
        "import json, runpy, sys\n"
        "sys.argv = sys.argv[1:]\n"
        "try:\n"
        "    runpy.run_path(sys.argv[0], run_name='__main__')\n"
        "except SystemExit:\n"
        "    pass\n"
        "print(json.dumps(sorted({name.split('.')[0] for name in sys.modules})))\n"
    )
    child = subprocess.run(
        [sys.executable, "-c", script, str(MAIN), *arguments],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    loaded = set(json.loads(child.stdout.splitlines()[-1]))
    assert "core" in loaded
    assert loaded & {"PySide6", "shiboken6", "pyqtgraph", "qtawesome", "torch", "gui"} == set()


def test_reader_that_goes_away_is_no_failure() -> None:
    """``main.py devices | head -c 1``."""
    child = subprocess.Popen(
        [sys.executable, str(MAIN), "devices"], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    assert child.stdout is not None
    child.stdout.close()
    _, errors = child.communicate(timeout=60)
    assert (child.returncode, errors) == (0, b"")


def test_terminal_without_unicode_gets_an_answer() -> None:
    result = run("devices", PYTHONIOENCODING="ascii", PYTHONPATH=str(ROOT / "tests/helpers/fake_nvml"))
    assert result.returncode == 0
    assert "NVIDIA H100" in result.stdout


def test_devices_are_pure_json_with_figures(tmp_path: Path) -> None:
    """Case M07 at the command line: the slices are listed, utilization is not available."""
    fakes = str(ROOT / "tests/helpers/fake_nvml")
    result = run("devices", "--json", PYTHONPATH=fakes, FAKE_NVML="mig", FAKE_NVML_GPUS="1")
    found = json.loads(result.stdout)
    assert (result.returncode, result.stderr) == (0, "")
    assert [gpu["slice_index"] for gpu in found["gpus"]] == [None, 0, 1]
    assert [gpu["now"]["used_bytes"] for gpu in found["gpus"]] == [10 * 2**30, 2 * 2**30, 3 * 2**30]
    assert [gpu["now"]["utilization_pct"] for gpu in found["gpus"]] == [None, None, None]
    assert found["driver"] == "575.57.08"
    assert {"code", "count", "message"} <= found["problems"][0].keys()


def test_driver_that_does_not_fit_is_named(tmp_path: Path) -> None:
    """Case M05 at the command line."""
    fakes = str(ROOT / "tests/helpers/fake_nvml")
    result = run("devices", PYTHONPATH=fakes, FAKE_NVML="mismatch")
    assert result.returncode == 0
    assert "RM has detected an NVML/RM version mismatch" in result.stdout
    assert "Reboot or reload the driver" in result.stdout


def test_vulkan_without_a_driver_is_a_reason_and_no_failure(tmp_path: Path) -> None:
    """Cases E02 and E14 at the command line."""
    nowhere = str(tmp_path / "nowhere.json")
    result = run("devices", "--json", VK_DRIVER_FILES=nowhere, VK_ICD_FILENAMES=nowhere)
    found = json.loads(result.stdout)
    assert (result.returncode, result.stderr) == (0, "")
    assert found["vulkan"] == []
    reasons = {problem["code"]: problem["message"] for problem in found["problems"]}
    assert {"no_vulkan_driver", "no_vulkan_loader"} & reasons.keys()
    if not sys.platform.startswith("darwin"):
        assert found["metal"] == []
        assert reasons["metal_needs_macos"] == "Metal needs macOS."


@needs_machine_code()
def test_vulkan_driver_that_aborts_takes_only_its_probe_along(tmp_path: Path) -> None:
    """Case E13 at the command line."""
    manifest = str(write_driver(tmp_path, "aborts"))
    result = run("devices", VK_DRIVER_FILES=manifest, VK_ICD_FILENAMES=manifest)
    assert (result.returncode, result.stderr) == (0, "")
    assert "No Vulkan device can be used." in result.stdout
    if "No Vulkan loader was found" not in result.stdout:
        assert f"The Vulkan driver {manifest}: probe failed (signal 6)." in result.stdout
