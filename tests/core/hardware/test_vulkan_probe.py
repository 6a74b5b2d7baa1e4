"""The Vulkan probe with real drivers: a good one, broken ones, one that hangs, and none."""

from __future__ import annotations

import ctypes
import os
from pathlib import Path

import pytest

from core.hardware.vulkan import VulkanDevices
from core.hardware.vulkan_manifests import driver_alone, find_manifests, missing_library, search_places
from core.hardware.vulkan_probe import detect_vulkan
from core.hardware.vulkan_reader import LIBRARIES
from tests.helpers.broken_drivers import START_CODE, needs_machine_code, write_driver, write_manifest

LOADING = ("VK_DRIVER_FILES", "VK_ICD_FILENAMES", "VK_ADD_DRIVER_FILES")


def has_loader() -> bool:
    try:
        ctypes.CDLL(LIBRARIES["linux"][0])
    except OSError:
        return False
    return True


@pytest.fixture
def loader(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """The system's loader, in an environment that names no drivers yet."""
    if not has_loader():
        pytest.skip("no Vulkan loader is installed (Debian: libvulkan1)")
    for name in LOADING:
        monkeypatch.delenv(name, raising=False)
    return monkeypatch


@pytest.fixture
def lavapipe(loader: pytest.MonkeyPatch) -> Path:
    """Manifest of Mesa's driver for the CPU."""
    for folder in ("/usr/share/vulkan/icd.d", "/etc/vulkan/icd.d", "/usr/local/share/vulkan/icd.d"):
        for manifest in sorted(Path(folder).glob("lvp_icd*.json")):
            return manifest
    pytest.skip("Mesa's Vulkan driver for the CPU is not installed (Debian: mesa-vulkan-drivers)")


def detect_with(
    monkeypatch: pytest.MonkeyPatch, *manifests: Path, together_s: float = 20.0, alone_s: float = 20.0
) -> VulkanDevices:
    monkeypatch.setenv("VK_DRIVER_FILES", os.pathsep.join(str(each) for each in manifests))
    return detect_vulkan(timeout_s=together_s, alone_timeout_s=alone_s)


def codes(found: VulkanDevices) -> list[str]:
    return [problem.code for problem in found.problems]


def test_lavapipe_is_described_and_told_as_software(lavapipe: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = detect_with(monkeypatch, lavapipe)
    (device,) = found.devices
    assert "llvmpipe" in device.name
    assert (device.kind, device.software, device.vendor) == ("CPU", True, "Mesa")
    assert device.driver_name == "llvmpipe"
    assert "Mesa" in (device.driver_info or "")
    assert device.api_version.startswith("1.")
    assert device.heaps[0].size_bytes >= 2**28
    assert {"device_local", "host_visible"} <= set(device.memory_types[0].flags)
    assert device.subgroup_size in (4, 8, 16)
    assert device.numbers.storage_8_bit
    assert device.numbers.storage_16_bit
    assert device.limits.max_storage_buffer_range_bytes >= 2**27
    assert device.limits.max_allocation_bytes
    assert device.limits.max_workgroup_invocations >= 128
    assert device.limits.host_pointer_alignment_bytes
    assert device.timestamp_period_ns > 0
    assert device.timestamp_valid_bits in range(36, 65)
    assert found.default is device
    assert found.loader_version
    assert codes(found) == ["vulkan_software_only"]


def test_no_driver_says_where_it_was_looked_for(loader: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Case E02."""
    nowhere = tmp_path / "nowhere.json"
    found = detect_with(loader, nowhere)
    (problem,) = found.problems
    assert problem.code == "no_vulkan_driver"
    assert "No Vulkan driver found" in problem.message
    assert str(nowhere) in problem.message
    assert "mesa-vulkan-drivers" in problem.hint


def test_driver_whose_library_is_gone_is_named(loader: pytest.MonkeyPatch, tmp_path: Path) -> None:
    manifest = write_manifest(tmp_path / "gone_icd.json", str(tmp_path / "libgone.so"))
    found = detect_with(loader, manifest)
    assert codes(found) == ["no_vulkan_driver", "vulkan_library_missing"]
    assert str(tmp_path / "libgone.so") in found.problems[1].message


def test_library_that_is_no_driver_is_no_driver(loader: pytest.MonkeyPatch, tmp_path: Path) -> None:
    found = detect_with(loader, write_manifest(tmp_path / "math_icd.json", "libm.so.6"))
    (problem,) = found.problems
    assert problem.code == "no_vulkan_driver"
    assert "math_icd.json" in problem.message


def test_missing_library_costs_only_itself(
    lavapipe: Path, loader: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    gone = write_manifest(tmp_path / "gone_icd.json", str(tmp_path / "libgone.so"))
    found = detect_with(loader, gone, lavapipe)
    assert [device.software for device in found.devices] == [True]
    assert codes(found) == ["vulkan_library_missing", "vulkan_software_only"]


@needs_machine_code()
@pytest.mark.parametrize(
    ("behaviour", "words"),
    [
        ("aborts", "probe failed (signal 6)"),
        ("crashes", "probe failed (signal 11)"),
        ("exits", "probe failed (exit code 3)"),
    ],
)
def test_driver_that_dies_costs_only_itself_and_is_named(
    lavapipe: Path, loader: pytest.MonkeyPatch, tmp_path: Path, behaviour: str, words: str
) -> None:
    """Case E13."""
    broken = write_driver(tmp_path, behaviour)
    found = detect_with(loader, broken, lavapipe)
    (device,) = found.devices
    assert (device.index, device.manifest) == (0, str(lavapipe))
    assert codes(found) == ["vulkan_driver_crashed", "vulkan_software_only"]
    assert words in found.problems[0].message
    assert str(broken) in found.problems[0].message
    assert str(lavapipe) not in found.problems[0].message


@needs_machine_code()
def test_driver_that_hangs_costs_only_its_time_limit(
    lavapipe: Path, loader: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    broken = write_driver(tmp_path, "hangs")
    found = detect_with(loader, lavapipe, broken, together_s=1.0, alone_s=6.0)
    assert len(found.devices) == 1
    assert codes(found) == ["vulkan_driver_hangs", "vulkan_software_only"]
    assert "no answer within 6 s" in found.problems[0].message


@needs_machine_code()
def test_only_broken_drivers_are_all_named(loader: pytest.MonkeyPatch, tmp_path: Path) -> None:
    manifests = [write_driver(tmp_path, behaviour) for behaviour in START_CODE if behaviour != "hangs"]
    found = detect_with(loader, *manifests)
    assert found.devices == ()
    assert codes(found) == ["vulkan_driver_crashed"] * 3


def test_no_loader_is_one_problem_with_a_remedy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The child is told of a loader that no system has."""
    (tmp_path / "sitecustomize.py").write_text(
        "import ctypes\n"
        "class Missing(ctypes.CDLL):\n"
        "    def __init__(self, name, *rest, **more):\n"
        "        super().__init__(f'{name}.no' if 'vulkan' in str(name) else name, *rest, **more)\n"
        "ctypes.CDLL = Missing\n"
    )
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    found = detect_vulkan()
    (problem,) = found.problems
    assert problem.code == "no_vulkan_loader"
    assert "No Vulkan loader was found" in problem.message
    assert "libvulkan1" in problem.hint


@pytest.mark.parametrize("said", ["", "done", '{"devices": 3}'])
def test_answer_that_cannot_be_read_is_a_problem(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, said: str
) -> None:
    (tmp_path / "sitecustomize.py").write_text(f"import os\nos.write(1, {said.encode()!r})\nos._exit(0)\n")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    monkeypatch.setenv("VK_DRIVER_FILES", str(tmp_path / "nowhere.json"))
    found = detect_vulkan()
    (problem,) = found.problems
    assert problem.code == "vulkan_probe_failed"
    assert "no answer that can be read" in problem.message


# --- manifests ---------------------------------------------------------------


def test_override_hides_the_folders_and_the_newer_one_the_older() -> None:
    named = {"VK_DRIVER_FILES": "/a.json:/b", "VK_ICD_FILENAMES": "/c.json", "VK_ADD_DRIVER_FILES": "/d.json"}
    assert search_places(named) == [Path("/a.json"), Path("/b")]
    assert search_places({"VK_ICD_FILENAMES": "/c.json"}) == [Path("/c.json")]


def test_folders_are_those_of_the_environment_and_files_come_once(tmp_path: Path) -> None:
    folder = tmp_path / "share" / "vulkan" / "icd.d"
    folder.mkdir(parents=True)
    first = write_manifest(folder / "a_icd.json", "liba.so")
    (folder / "notes.txt").write_text("no manifest")
    (folder / "b_icd.json").symlink_to(first)
    environment = {"HOME": str(tmp_path), "XDG_DATA_DIRS": f"{tmp_path}/share:{tmp_path}/share"}
    found = [path for path in find_manifests(environment) if path.is_relative_to(tmp_path)]
    assert found == [first]
    added = find_manifests({"VK_ADD_DRIVER_FILES": str(first), "HOME": str(tmp_path)})
    assert added[0] == first


def test_one_driver_alone_hides_all_others() -> None:
    alone = driver_alone({"VK_ADD_DRIVER_FILES": "/more.json", "HOME": "/home"}, Path("/a.json"))
    assert search_places(alone) == [Path("/a.json")]
    assert "VK_ADD_DRIVER_FILES" not in alone
    assert alone["HOME"] == "/home"


@pytest.mark.parametrize(
    "content",
    ["", "{", "[]", '{"ICD": 3}', '{"ICD": {"library_path": 3}}', '{"ICD": {"library_path": "libx.so"}}'],
)
def test_manifest_that_names_no_path_is_left_to_the_loader(tmp_path: Path, content: str) -> None:
    manifest = tmp_path / "odd_icd.json"
    manifest.write_text(content)
    assert missing_library(manifest) is None


def test_library_beside_its_manifest_is_found(tmp_path: Path) -> None:
    (tmp_path / "libhere.so").write_bytes(b"")
    assert missing_library(write_manifest(tmp_path / "here_icd.json", "./libhere.so")) is None
    assert missing_library(write_manifest(tmp_path / "gone_icd.json", "./libgone.so")) == str(
        tmp_path / "libgone.so"
    )
