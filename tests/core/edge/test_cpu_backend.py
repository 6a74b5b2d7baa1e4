"""PyTorch on the CPU: the real worker on a small model, and the words for what stands in its way."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING, TypeVar

import msgspec
import numpy as np
import pytest

from core.edge.backend import EdgeTarget
from core.edge.backends.cpu import BACKEND
from core.edge.events import Called, Ceiling, Ended, Finished, Memory, Provided, Refused, WorkerJob
from core.edge.model_limits import memory_lacking, tensors_over, types_lacking
from core.edge.models import OperatorFact, TensorFact
from core.errors import DashboardError
from tests.helpers.torch_models import ROWS, events_of, exported_minillm, job_of, prepared, worker_with

if TYPE_CHECKING:
    from pathlib import Path

    from core.edge.events import Event
    from core.edge.models import Precision

CPU = EdgeTarget(key="cpu", name="CPU, 2 threads", api="CPU", software=False)
One = TypeVar("One")


def run_worker(tmp_path: Path, forward: str, precision: Precision = "fp32", **changes: bool) -> list[Event]:
    model_folder, work_folder = tmp_path / "model", tmp_path / "work"
    model_folder.mkdir()
    work_folder.mkdir()
    prepared(model_folder)
    job = job_of(model_folder, work_folder, "cpu", precision)
    if changes:
        wanted = msgspec.json.decode(job.read_bytes(), type=WorkerJob)
        job.write_bytes(msgspec.json.encode(msgspec.structs.replace(wanted, **changes)))
    done = subprocess.run(
        [sys.executable, str(worker_with(tmp_path, forward)), str(job)], capture_output=True, check=False
    )
    assert (done.returncode == 0) == (b'"refused"' not in done.stdout), done.stderr.decode()
    return events_of(done.stdout)


def only(events: list[Event], kind: type[One]) -> list[One]:
    return [each for each in events if isinstance(each, kind)]


def test_outputs_times_and_memory_of_each_case(tmp_path: Path) -> None:
    events = run_worker(tmp_path, "print('the model speaks'); return x @ self.weight", ceilings=True)
    called = {each.case: each for each in only(events, Called)}
    assert list(called) == ["run", "long"]
    for name, rows in (("run", 1), ("long", 4)):
        assert called[name].first_s > 0
        assert 3 <= len(called[name].warm_s) <= 4
        assert all(each > 0 for each in called[name].warm_s)
        with np.load(tmp_path / "work" / called[name].output) as stored:
            x = np.arange(rows * 2, dtype=np.float32).reshape(rows, 2)
            np.testing.assert_allclose(stored["output_0"], x @ ROWS, rtol=1e-6)
    (memory,) = only(events, Memory)
    assert memory.peak_bytes is not None
    assert memory.peak_bytes > 2**20
    # The CPU has no memory of its own, so nothing was copied to it: not 0, not measured.
    assert memory.copied_bytes is None
    assert memory.device_peak_bytes is None
    assert [each.stage for each in only(events, Ended)] == ["load", "run", "run", "ceilings"]
    gemm, copy = only(events, Ceiling)
    assert (gemm.what, gemm.type, copy.what, copy.type) == ("gemm", "fp32", "copy", "")
    assert gemm.per_s > 1e8
    assert copy.per_s > 1e8
    assert isinstance(events[-1], Finished)
    assert events[-1].backend_version[0].isdigit()
    # Nothing fell back, since the CPU was asked for.
    assert only(events, Provided) == []


def test_minillm_is_built_again_as_it_was_exported(tmp_path: Path) -> None:
    exported_minillm(tmp_path)
    job = job_of(tmp_path, tmp_path, "cpu")
    wanted = msgspec.json.decode(job.read_bytes(), type=WorkerJob)
    job.write_bytes(msgspec.json.encode(msgspec.structs.replace(wanted, cases=("prefill-8",))))
    done = subprocess.run(BACKEND.worker(job, sys.executable), capture_output=True, check=True)
    (called,) = only(events_of(done.stdout), Called)
    with np.load(tmp_path / called.output) as given, np.load(tmp_path / "prefill-8.reference.npz") as stored:
        np.testing.assert_allclose(given["output_0"], stored[stored.files[0]], atol=1e-5)


def test_half_precision_is_computed_in_half_precision(tmp_path: Path) -> None:
    events = run_worker(tmp_path, "return x @ self.weight", "fp16")
    called = only(events, Called)[0]
    with np.load(tmp_path / "work" / called.output) as stored:
        assert stored["output_0"].dtype == np.float16


def test_several_outputs_keep_their_order(tmp_path: Path) -> None:
    events = run_worker(tmp_path, 'return {"first": x + 1, "rest": (x + 2, None, x.sum())}')
    called = only(events, Called)[0]
    with np.load(tmp_path / "work" / called.output) as stored:
        assert stored.files == list(called.output_names)
        assert [float(stored[name].max()) for name in stored.files] == [2, 3, 1]


def test_what_a_model_raises_is_a_sentence(tmp_path: Path) -> None:
    events = run_worker(tmp_path, "raise ValueError('no such head\\nmore')")
    (refused,) = only(events, Refused)
    assert refused.message == "PyTorch raised ValueError: no such head"
    assert only(events, Finished) == []


def test_an_interpreter_without_torch_is_refused(tmp_path: Path) -> None:
    prepared(tmp_path)
    job = job_of(tmp_path, tmp_path, "cpu")
    # Isolated and without site packages: the standard library alone.
    worker = worker_with(tmp_path, "return x")
    done = subprocess.run(
        [sys.executable, "-I", "-S", str(worker), str(job)], capture_output=True, check=False
    )
    (refused,) = only(events_of(done.stdout), Refused)
    assert refused.code == "no_torch"
    assert sys.executable in refused.message
    assert "torch 2.6" in refused.hint


def test_mps_is_refused_where_there_is_none(tmp_path: Path) -> None:
    if sys.platform == "darwin":
        pytest.skip("this machine may have MPS")
    prepared(tmp_path)
    job = job_of(tmp_path, tmp_path, "mps")
    worker = worker_with(tmp_path, "return x")
    done = subprocess.run([sys.executable, str(worker), str(job)], capture_output=True, check=False)
    (refused,) = only(events_of(done.stdout), Refused)
    assert refused.code == "no_mps"
    assert "macOS" in refused.hint


def test_the_worker_is_the_users_torch_or_our_runtime(tmp_path: Path) -> None:
    prepared(tmp_path)
    job = job_of(tmp_path, tmp_path, "cpu")
    assert BACKEND.worker(job, "/their/python")[0] == "/their/python"
    prepared(tmp_path, "onnx")
    command = BACKEND.worker(job, "/their/python")
    assert command[0] == sys.executable
    assert command[-2:] == ["_edge-worker", str(job)]
    (tmp_path / "request.json").write_text("{")
    with pytest.raises(DashboardError, match="not whole"):
        BACKEND.worker(job, "/their/python")


def test_it_takes_the_cpu_alone() -> None:
    assert BACKEND.takes(CPU)
    assert not BACKEND.takes(EdgeTarget(key="vulkan:0", name="llvmpipe", api="Vulkan", software=True))
    assert BACKEND.missing() is None


def test_what_does_not_fit_is_named(tmp_path: Path) -> None:
    model = msgspec.structs.replace(
        prepared(tmp_path),
        weight_bytes=262_144_000,
        tensors=(
            TensorFact(
                name="embedding.weight",
                shape=(32000, 2048),
                dtype="float32",
                size_bytes=262_144_000,
                kind="weight",
            ),
            TensorFact(name="angles", shape=(64,), dtype="float64", size_bytes=512, kind="activation"),
        ),
        operators=(
            OperatorFact(
                name="aten.cos.default", calls=1, sources=("model.py:7",), dtypes=("float64", "float32")
            ),
        ),
    )
    # E05: the limit and the tensor.
    (large,) = tensors_over(model, 128 * 2**20, "the binding limit of WebGPU")
    assert large.fatal
    assert (
        large.message
        == "embedding.weight 32000 × 2048 (250 MiB): over the binding limit of WebGPU (128 MiB)."
    )
    assert tensors_over(model, 2**30, "the limit") == ()
    assert tensors_over(model, None, "the limit") == ()
    # E06, E12: the type, the tensor, the operator and where it stands.
    (lacking,) = types_lacking(model, ("float64", "bfloat16"), "Metal")
    assert lacking.message.startswith("Metal has no float64: angles 64 (")
    assert lacking.message.endswith("aten.cos.default at model.py:7.")
    (memory,) = memory_lacking(model, 2**27, "the device")
    assert "250 MiB" in memory.message
    assert "the device has 128 MiB" in memory.message
    assert memory_lacking(model, None, "the device") == ()
