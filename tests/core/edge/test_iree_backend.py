"""IREE without a run: what stands in its way, which devices it takes, files for phones, and Metal."""

from __future__ import annotations

import os
import sys
from dataclasses import replace
from pathlib import Path

import msgspec
import pytest

from core.edge.backend import EdgeTarget
from core.edge.backends.iree import BACKEND, FP16_OPTIONS
from core.edge.models import PreparedModel, TensorFact
from core.edge.phone_vmfb import ANDROID_TARGETS, export_vmfb
from core.edge.workers.iree_compile import Compiler
from core.errors import DashboardError
from core.hardware.metal import MetalDevice
from core.hardware.vulkan_reader import VulkanReader
from tests.helpers.edge_models import prepared_softmax
from tests.helpers.fake_vulkan import FakeDevice, FakeVulkan

CPU = EdgeTarget(key="cpu", name="CPU, 2 threads", api="CPU", software=False)
EMBEDDING = TensorFact(
    name="embedding.weight", shape=(32000, 2048), dtype="float32", size_bytes=262_144_000, kind="weight"
)
METAL = MetalDevice(
    index=0,
    name="Apple M3",
    unified_memory=True,
    memory_bytes=2**34,
    recommended_working_set_bytes=2**33,
    max_buffer_bytes=2**27,
    architecture=None,
    sources=("mlx",),
)
ON_MAC = EdgeTarget(key="metal:0", name="Apple M3", api="Metal", software=False, metal=METAL)


def vulkan_target(
    *, fp16: bool = True, storage: bool = True, fp64: bool = True, limit: int = 2**30, allocation: int = 2**31
) -> EdgeTarget:
    vulkan = FakeVulkan(FakeDevice())
    reader = VulkanReader(vulkan.get_proc_address)
    reader.open()
    (device,) = reader.list_devices()
    reader.close()
    numbers = replace(device.numbers, fp16=fp16, storage_16_bit=storage, fp64=fp64)
    limits = replace(device.limits, max_storage_buffer_range_bytes=limit, max_allocation_bytes=allocation)
    device = replace(device, numbers=numbers, limits=limits)
    return EdgeTarget(key="vulkan:0", name=device.name, api="Vulkan", software=False, vulkan=device)


@pytest.fixture
def model(tmp_path: Path) -> PreparedModel:
    return msgspec.structs.replace(prepared_softmax(tmp_path), tensors=(EMBEDDING,))


def test_a_model_that_fits_has_nothing_in_its_way(model: PreparedModel) -> None:
    for target in (vulkan_target(), CPU):
        assert list(BACKEND.preflight(model, target)) == []


def test_a_tensor_over_a_limit_is_named_with_it(model: PreparedModel) -> None:
    (over,) = BACKEND.preflight(model, vulkan_target(limit=128 * 2**20))
    assert over.fatal
    assert over.message == "embedding.weight 32000 × 2048 (250 MiB): over maxStorageBufferRange (128 MiB)."
    (over,) = BACKEND.preflight(model, vulkan_target(allocation=128 * 2**20))
    assert "over maxMemoryAllocationSize (128 MiB)" in over.message
    (over,) = BACKEND.preflight(model, ON_MAC)
    assert "over Metal's largest buffer (128 MiB)" in over.message


def test_a_type_that_the_device_lacks_is_named(model: PreparedModel) -> None:
    half = msgspec.structs.replace(model, precision="fp16")
    (lacking,) = BACKEND.preflight(half, vulkan_target(fp16=False, storage=False))
    assert lacking.fatal
    assert "Made GPU has no fp16 arithmetic (shaderFloat16) and no fp16 in buffers" in lacking.message
    double = msgspec.structs.replace(model, tensors=(msgspec.structs.replace(EMBEDDING, dtype="float64"),))
    (lacking,) = BACKEND.preflight(double, vulkan_target(fp64=False))
    assert lacking.message.startswith("Made GPU has no float64: embedding.weight")
    assert list(BACKEND.preflight(double, vulkan_target(fp64=True))) == []


def test_memory_that_is_not_there_is_told(model: PreparedModel) -> None:
    huge = msgspec.structs.replace(model, weight_bytes=2**50)
    for target, where in ((vulkan_target(), "the device's largest heap"), (CPU, "this machine")):
        (memory,) = BACKEND.preflight(huge, target)
        assert (memory.code, memory.fatal) == ("memory", True)
        assert where in memory.message


def test_only_what_was_probed_is_asked_of_the_compiler() -> None:
    assert BACKEND.options(vulkan_target(), "fp32") == ()
    assert BACKEND.options(vulkan_target(), "fp16") == FP16_OPTIONS
    assert BACKEND.options(vulkan_target(storage=False), "fp16") == ()
    assert BACKEND.options(CPU, "fp16") == ()


def test_the_devices_that_it_takes() -> None:
    mac = sys.platform == "darwin"
    assert BACKEND.takes(CPU)
    assert BACKEND.takes(vulkan_target()) is not mac
    assert BACKEND.takes(ON_MAC) is mac
    assert BACKEND.missing() is None
    assert BACKEND.version() is not None
    assert BACKEND.worker(Path("/job.json"), "/their/python")[-2:] == ["_edge-worker", "/job.json"]


def test_a_file_for_phones_is_a_program_and_its_weights(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    prepared_softmax(tmp_path)
    written = export_vmfb(tmp_path, "prefill-8", "adreno", tmp_path / "phone.vmfb")
    program = written.path.read_bytes()
    assert b"module.fb" in program[:100]
    assert b"vulkan-spirv" in program
    assert written.weights == tmp_path / "phone.irpa"
    assert written.weights.read_bytes()[:4] == b"IRPA"
    assert written.size_bytes == written.path.stat().st_size + written.weights.stat().st_size
    assert (written.target, written.iree) == ("adreno", BACKEND.version())
    assert not list(tmp_path.glob("*.part"))
    with pytest.raises(DashboardError, match="was cancelled"):
        export_vmfb(tmp_path, "prefill-8", "mali-g57", tmp_path / "other.vmfb", cancelled=lambda: True)
    (tmp_path / "prefill-8.onnx").write_bytes(b"no graph")
    with pytest.raises(DashboardError, match="is no ONNX graph"):
        export_vmfb(tmp_path, "prefill-8", "adreno", tmp_path / "other.vmfb")
    with pytest.raises(DashboardError, match="There is no phone target toaster"):
        export_vmfb(tmp_path, "prefill-8", "toaster", tmp_path / "other.vmfb")
    assert not (tmp_path / "other.vmfb").exists()


@pytest.mark.parametrize("target", ANDROID_TARGETS)
def test_the_compiler_knows_each_phone_target(tmp_path: Path, target: str) -> None:
    text = "func.func @f(%x: tensor<4xf32>) -> tensor<4xf32> { return %x : tensor<4xf32> }"
    options = (f"--iree-vulkan-target={target}",)
    assert Compiler(tmp_path, "vulkan", options).compile_text(text).stat().st_size > 0


def test_metal_is_compiled_anywhere(tmp_path: Path) -> None:
    prepared_softmax(tmp_path)
    compiled = Compiler(tmp_path / "cache", "metal").compile_graph(tmp_path / "prefill-8.onnx")
    program = compiled.program.read_bytes()
    # The Mac that loads it compiles the source that lies in it.
    assert b"metal_stdlib" in program


def test_a_file_that_another_worker_takes_away_does_not_end_the_run(tmp_path: Path) -> None:
    """Its name is listed, and it is gone when it is asked for: as a link to nothing is."""
    cache = tmp_path / "cache"
    compiler = Compiler(cache, "cpu")
    (cache / ".part-gone").symlink_to(cache / "nowhere")
    left = cache / ".part-left"
    for path in (left, cache / ".part-fresh", cache / "kept.vmfb"):
        path.write_bytes(b"x")
    os.utime(left, (0, 0))
    compiler.shrink()
    assert sorted(path.name for path in cache.iterdir()) == [".part-fresh", ".part-gone", "kept.vmfb"]
