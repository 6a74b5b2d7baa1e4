"""ONNX Runtime WebGPU: a real run, which is told apart from one that fell to the CPU; and its profile.

The kernels of a GPU in a profile are as ONNX Runtime documents and writes them;
no adapter of the machines that these tests ran on gave any.
"""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import msgspec
import numpy as np
import pytest

from core.edge.backend import EdgeTarget
from core.edge.backends.ort_webgpu import BACKEND
from core.edge.events import Called, Ceiling, Dispatch, Finished, Noted, Provided, Refused, WorkerJob
from core.edge.models import TensorFact
from core.edge.ort_profile import CPU, WEBGPU, last_call, providers_of, read_profile
from core.errors import DashboardError
from core.hardware.metal import MetalDevice
from core.hardware.vulkan_probe import detect_vulkan
from tests.helpers.torch_models import ROWS, events_of, job_of, prepared, prepared_graph

if TYPE_CHECKING:
    from core.edge.events import Event

pytest.importorskip("onnxruntime", reason="it has no wheel for this platform")

RUN = """
import sys
from pathlib import Path
import msgspec
from core.edge.events import WorkerJob
from core.edge.workers.ort_webgpu import run
job = msgspec.json.decode(Path(sys.argv[1]).read_bytes(), type=WorkerJob)
run(job, lambda event: print("\\n" + msgspec.json.encode(event).decode(), flush=True))
"""
One = TypeVar("One")


def run_worker(tmp_path: Path, backend: str, **changes: Any) -> list[Event]:
    job = job_of(tmp_path, tmp_path, backend)
    if changes:
        wanted = msgspec.json.decode(job.read_bytes(), type=WorkerJob)
        job.write_bytes(msgspec.json.encode(msgspec.structs.replace(wanted, **changes)))
    here = Path(__file__).parents[3]
    done = subprocess.run(
        [sys.executable, "-c", RUN, str(job)], capture_output=True, check=False, cwd=here, timeout=120
    )
    assert done.returncode == 0, done.stderr.decode()
    return events_of(done.stdout)


def only(events: list[Event], kind: type[One]) -> list[One]:
    return [each for each in events if isinstance(each, kind)]


def assert_right(tmp_path: Path, events: list[Event]) -> None:
    called = only(events, Called)
    assert [each.case for each in called] == ["run", "long"]
    for each, rows in zip(called, (1, 4), strict=True):
        assert len(each.warm_s) >= 3
        with np.load(tmp_path / each.output) as stored:
            assert stored.files == ["y"]
            wanted = np.arange(rows * 2, dtype=np.float32).reshape(rows, 2) @ ROWS
            np.testing.assert_allclose(stored["y"], wanted, rtol=1e-5)
    assert isinstance(events[-1], Finished)


def test_a_run_says_who_ran_each_node(tmp_path: Path) -> None:
    prepared_graph(tmp_path)
    events = run_worker(tmp_path, "ort-webgpu")
    assert_right(tmp_path, events)
    (provided,) = only(events, Provided)
    assert provided.asked == WEBGPU
    counts = {each.provider: each.nodes for each in provided.providers}
    codes = [each.code for each in only(events, Noted)]
    assert sum(counts.values()) >= 2
    # Either the GPU ran nodes, or it is said that there is no adapter for it: never neither.
    assert (WEBGPU in counts) != ("no_adapter" in codes)
    found = detect_vulkan().devices
    if found and all(device.software and "Mesa 22" in (device.driver_info or "") for device in found):
        # lavapipe 22 lacks what WebGPU needs: every node ran on the CPU.
        assert counts == {CPU: 2}
        (note,) = only(events, Noted)
        assert note.message.endswith("No supported adapters")
        assert "IREE" in note.hint
        # A rate of the CPU is no ceiling of the device.
        assert only(events, Ceiling) == []


def test_the_cpu_runs_a_graph_without_torch_source(tmp_path: Path) -> None:
    prepared_graph(tmp_path)
    events = run_worker(tmp_path, "cpu", ceilings=True)
    assert_right(tmp_path, events)
    assert only(events, Noted) == []
    (provided,) = only(events, Provided)
    assert provided.asked == CPU
    (ran,) = provided.providers
    assert (ran.provider, ran.nodes, set(ran.operators)) == (CPU, 2, {"MatMul", "Neg"})
    gemm, copy = only(events, Ceiling)
    assert (gemm.what, gemm.type, copy.what) == ("gemm", "fp32", "copy")
    assert gemm.per_s > 1e8
    assert copy.per_s > 1e8


def test_a_graph_that_is_none_is_refused(tmp_path: Path) -> None:
    prepared_graph(tmp_path)
    (tmp_path / "run.onnx").write_bytes(b"no graph")
    events = run_worker(tmp_path, "cpu")
    (refused,) = only(events, Refused)
    assert refused.message.startswith("ONNX Runtime says: ")
    assert only(events, Finished) == []


def kernel(name: str, ts: float, dur: float) -> dict[str, object]:
    return {"cat": "Api", "name": name, "ts": ts, "dur": dur, "args": {"shapes": "", "cache_key": ""}}


def node(name: str, provider: str, operator: str, index: int) -> dict[str, object]:
    args = {"provider": provider, "op_name": operator, "node_index": str(index)}
    return {"cat": "Node", "name": f"{name}_kernel_time", "ts": 5, "dur": 3, "args": args}


def test_a_profile_of_a_gpu(tmp_path: Path) -> None:
    path = tmp_path / "profile.json"
    call = [("a&MatMul&MatMul", 20), ("b&Softmax&Softmax", 4), ("c&MatMul&MatMul", 20), ("d&Neg&Unary", 0)]
    rows: list[dict[str, object]] = [kernel("a&MatMul&Transpose", 0, 50)]  # the first call prepares weights
    for number in range(3):
        rows += [kernel(name, 100 * (number + 1) + 25 * at, dur) for at, (name, dur) in enumerate(call)]
        rows += [node("a", WEBGPU, "MatMul", 1), node("b", WEBGPU, "Softmax", 2), node("e", CPU, "Shape", 3)]
    rows.append({"cat": "Session", "name": "model_run", "ts": 0, "dur": 9, "args": {}})
    path.write_bytes(msgspec.json.encode(rows))
    events = read_profile(path)
    # Three calls, and each node once.
    gpu, cpu = providers_of(events)
    assert (gpu.provider, gpu.nodes, gpu.operators) == (WEBGPU, 2, ("MatMul", "Softmax"))
    assert (cpu.provider, cpu.nodes, cpu.operators) == (CPU, 1, ("Shape",))
    assert last_call(events, 3) == (
        Dispatch(name="MatMul MatMul", start_ns=0, duration_ns=20_000),
        Dispatch(name="Softmax Softmax", start_ns=25_000, duration_ns=4_000),
        Dispatch(name="MatMul MatMul", start_ns=50_000, duration_ns=20_000),
        # Below a microsecond the profile writes 0, which is no time.
        Dispatch(name="Neg Unary", start_ns=75_000, duration_ns=None),
    )


def test_a_profile_without_device_times_or_of_calls_that_differ(tmp_path: Path) -> None:
    path = tmp_path / "profile.json"
    path.write_bytes(msgspec.json.encode([node("a", CPU, "MatMul", 1)]))
    assert last_call(read_profile(path), 3) == ()
    path.write_bytes(msgspec.json.encode([kernel(f"{number}&A&A", number, 1) for number in range(6)]))
    assert last_call(read_profile(path), 3) == ()
    path.write_text("[{")
    with pytest.raises(DashboardError, match="cannot be read"):
        read_profile(path)


def vulkan_target() -> EdgeTarget:
    found = detect_vulkan().devices
    if not found:
        pytest.skip("no Vulkan driver here")
    return EdgeTarget(key="vulkan:0", name=found[0].name, api="Vulkan", software=True, vulkan=found[0])


def changed(target: EdgeTarget, *, fp16: bool = True, limit: int = 2**30) -> EdgeTarget:
    device = target.vulkan
    assert device is not None
    numbers = replace(device.numbers, fp16=fp16, storage_16_bit=True)
    limits = replace(device.limits, max_storage_buffer_range_bytes=limit)
    return replace(target, vulkan=replace(device, numbers=numbers, limits=limits))


def test_what_does_not_fit_is_said_before_the_run(tmp_path: Path) -> None:
    embedding = TensorFact(
        name="embedding.weight", shape=(32000, 2048), dtype="float32", size_bytes=262_144_000, kind="weight"
    )
    model = msgspec.structs.replace(prepared(tmp_path), tensors=(embedding,), precision="fp16")
    target = vulkan_target()
    assert BACKEND.preflight(model, changed(target)) == []
    # E05: the seed's embedding is larger than many an adapter binds.
    (large,) = BACKEND.preflight(model, changed(target, limit=128 * 2**20))
    assert large.fatal
    assert "embedding.weight 32000 × 2048 (250 MiB)" in large.message
    assert "(128 MiB)" in large.message
    (half,) = BACKEND.preflight(model, changed(target, fp16=False))
    assert (half.code, half.fatal) == ("no_shader_f16", True)
    metal = MetalDevice(
        index=0,
        name="Apple M3",
        unified_memory=True,
        memory_bytes=2**34,
        recommended_working_set_bytes=2**20,
        max_buffer_bytes=2**33,
        architecture=None,
        sources=("mlx",),
    )
    on_mac = EdgeTarget(key="metal:0", name="Apple M3", api="Metal", software=False, metal=metal)
    (memory,) = BACKEND.preflight(msgspec.structs.replace(model, weight_bytes=2**30), on_mac)
    assert "working set has 1 MiB" in memory.message


def test_it_takes_gpus_alone() -> None:
    assert not BACKEND.takes(EdgeTarget(key="cpu", name="CPU", api="CPU", software=False))
    assert BACKEND.takes(EdgeTarget(key="vulkan:0", name="llvmpipe", api="Vulkan", software=True))
    assert BACKEND.missing() is None
    assert BACKEND.version() is not None
    command = BACKEND.worker(Path("/job.json"), "/their/python")
    assert (command[0], command[-2:]) == (sys.executable, ["_edge-worker", "/job.json"])
