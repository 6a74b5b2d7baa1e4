"""IREE for real: on lavapipe, a Vulkan driver that computes on the CPU, and on the CPU itself."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import msgspec
import numpy as np
import psutil
import pytest
from onnx import TensorProto, helper

from core.edge.backends.iree import FP16_OPTIONS
from core.edge.events import (
    Began,
    Called,
    Ceiling,
    Dispatched,
    Ended,
    Finished,
    Memory,
    Noted,
    Refused,
    WorkerJob,
)
from core.edge.models import PreparedModel
from core.files import MAIN
from tests.helpers.edge_models import CLASSES, INNER, WIDTH, prepared_softmax, write_graph
from tests.helpers.torch_models import events_of

if TYPE_CHECKING:
    from core.edge.events import Event

LAVAPIPE = "/usr/share/vulkan/icd.d/lvp_icd.x86_64.json"
WEIGHTS_BYTES = 4 * (WIDTH * INNER + INNER * CLASSES)
One = TypeVar("One")


def only(events: list[Event], kind: type[One]) -> list[One]:
    return [each for each in events if isinstance(each, kind)]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "work").mkdir()
    prepared_softmax(tmp_path)
    return tmp_path


def job_file(folder: Path, device: str, **changes: Any) -> Path:
    job = WorkerJob(
        backend="iree",
        device=device,
        model_folder=str(folder),
        precision="fp32",
        work_folder=str(folder / "work"),
        cache_folder=str(folder / "cache"),
        cases=("prefill-8", "prefill-4"),
        most_calls=4,
        budget_s=0.1,
        profile=False,
        ceilings=False,
    )
    path = folder / "work" / "job.json"
    path.write_bytes(msgspec.json.encode(msgspec.structs.replace(job, **changes)))
    return path


def command(job: Path) -> list[str]:
    return [sys.executable, str(MAIN), "_edge-worker", str(job)]


def environment(device: str) -> dict[str, str]:
    if not device.startswith("vulkan"):
        return dict(os.environ)
    if not Path(LAVAPIPE).exists():
        pytest.skip("lavapipe is not installed here")
    return {**os.environ, "VK_DRIVER_FILES": LAVAPIPE, "VK_ICD_FILENAMES": LAVAPIPE}


def work(folder: Path, device: str, **changes: Any) -> list[Event]:
    done = subprocess.run(
        command(job_file(folder, device, **changes)),
        capture_output=True,
        check=False,
        timeout=200,
        env=environment(device),
    )
    assert done.returncode == 0, done.stderr.decode()
    return events_of(done.stdout)


def assert_right(folder: Path, events: list[Event], tolerance: float) -> None:
    model = msgspec.json.decode((folder / "model.json").read_bytes(), type=PreparedModel)
    called = only(events, Called)
    assert [each.case for each in called] == [case.name for case in model.cases]
    for each, case in zip(called, model.cases, strict=True):
        assert 3 <= len(each.warm_s) <= 4
        assert min(each.first_s, *each.warm_s) > 0
        assert each.output_names == ("y",)
        with np.load(folder / "work" / each.output) as given, np.load(folder / case.reference) as wanted:
            (array,) = (given[name] for name in given.files)
            np.testing.assert_allclose(array, wanted["y"], atol=tolerance)


@pytest.mark.parametrize("device", ["cpu", "vulkan:0"])
def test_a_model_runs_and_is_right_and_each_dispatch_has_a_time(folder: Path, device: str) -> None:
    events = work(folder, device, profile=True, ceilings=True)
    assert_right(folder, events, 1e-5)
    assert isinstance(events[-1], Finished)
    assert only(events, Noted) == []

    stages = [(each.stage, each.case, each.cached) for each in only(events, Ended)]
    assert stages == [
        ("compile", "prefill-8", False),
        ("compile", "prefill-4", False),
        ("load", "prefill-8", False),
        ("run", "prefill-8", False),
        ("load", "prefill-4", False),
        ("run", "prefill-4", False),
        ("profile", "prefill-8", False),
        ("ceilings", "", False),
    ]
    # Both lengths read one file of weights.
    (weights,) = (folder / "cache" / "iree").glob("*.irpa")
    size = weights.stat().st_size
    assert WEIGHTS_BYTES <= size < WEIGHTS_BYTES + 16384

    (dispatched,) = only(events, Dispatched)
    names = [each.name for each in dispatched.dispatches]
    assert any(f"matmul_8x{INNER}x{WIDTH}_f32" in name for name in names)
    assert any("softmax" in name for name in names)
    assert all(each.duration_ns and each.duration_ns > 0 for each in dispatched.dispatches)
    starts = [each.start_ns for each in dispatched.dispatches]
    assert starts == sorted(starts)
    assert starts[0] == 0

    memory = only(events, Memory)[-1]
    inputs = 4 * 8 * WIDTH
    assert memory.peak_bytes is not None
    if device == "cpu":
        assert (memory.copied_bytes, memory.mapped_bytes) == (inputs, size)
    else:
        assert (memory.copied_bytes, memory.mapped_bytes) == (inputs + size, 0)
        assert memory.device_peak_bytes is not None
        assert memory.device_peak_bytes > size

    gemm, copy = only(events, Ceiling)
    assert (gemm.what, gemm.type, copy.what, copy.type) == ("gemm", "fp32", "copy", "")
    assert gemm.per_s > 1e8
    assert copy.per_s > 1e7


def test_what_was_compiled_once_is_found_again_and_not_for_other_options(folder: Path) -> None:
    def cached(**changes: Any) -> bool:
        ended = only(work(folder, "cpu", cases=("prefill-4",), **changes), Ended)
        return ended[0].cached

    assert not cached()
    assert cached()
    assert not cached(options=("--iree-opt-level=O1",))
    # A damaged note of an import is made anew.
    for each in (folder / "cache" / "iree").glob("*.json"):
        each.write_text("{")
    assert not cached()
    assert cached()


def test_fp16_runs_where_the_device_was_found_to_have_it(folder: Path) -> None:
    prepared_softmax(folder, "fp16")
    events = work(folder, "vulkan:0", precision="fp16", options=FP16_OPTIONS)
    assert_right(folder, events, 2e-3)
    assert isinstance(events[-1], Finished)


def test_another_device_than_the_one_that_was_probed_is_not_taken(folder: Path) -> None:
    (refused,) = work(folder, "vulkan:0", device_uuid="00112233445566778899aabbccddeeff")
    assert isinstance(refused, Refused)
    assert refused.code == "no_device"
    assert "vulkan:0 (UUID 00112233445566778899aabbccddeeff)" in refused.message
    assert "llvmpipe" in refused.message


def test_a_platform_without_metal_says_so(folder: Path) -> None:
    if sys.platform == "darwin":
        pytest.skip("here it has one")
    (refused,) = work(folder, "metal:0")
    assert isinstance(refused, Refused)
    assert "no driver 'metal' registered" in refused.message


def refusal(folder: Path, device: str = "cpu", **changes: Any) -> Refused:
    events = work(folder, device, **changes)
    began, refused = events
    assert isinstance(began, Began)
    assert isinstance(refused, Refused)
    return refused


def test_a_graph_that_is_none_is_refused(folder: Path) -> None:
    (folder / "prefill-8.onnx").write_bytes(b"no graph")
    refused = refusal(folder)
    assert refused.code == "import"
    assert refused.message.startswith("prefill-8.onnx is no ONNX graph: ")


def test_an_operator_that_there_is_none_of_is_refused_in_the_importers_words(folder: Path) -> None:
    node = helper.make_node("Frobnicate", ["x"], ["y"])
    write_graph(folder / "prefill-8.onnx", [node], {}, (8, WIDTH), (8, WIDTH))
    refused = refusal(folder)
    assert refused.message.startswith("IREE cannot import prefill-8.onnx: ")
    assert "Frobnicate" in refused.message


def test_what_cannot_be_compiled_is_refused_with_the_operator(folder: Path) -> None:
    node = helper.make_node("NonZero", ["x"], ["y"])
    write_graph(folder / "prefill-8.onnx", [node], {}, (8, WIDTH), (2, None), result=int(TensorProto.INT64))
    refused = refusal(folder, "vulkan:0")
    assert refused.code == "compile"
    assert re.search(r"failed to legalize operation '[a-z.]+' \(at NonZero\)\.$", refused.message)
    assert not list((folder / "cache" / "iree").glob(".part-*"))


def test_an_option_that_the_compiler_does_not_know_is_refused(folder: Path) -> None:
    refused = refusal(folder, "vulkan:0", options=("--iree-vulkan-target=toaster",))
    assert "Unknown Vulkan target 'toaster'" in refused.message


def test_a_job_that_is_none_is_refused(folder: Path) -> None:
    job = job_file(folder, "cpu")
    job.write_text("{}")
    done = subprocess.run(command(job), capture_output=True, check=True, timeout=60)
    (refused,) = events_of(done.stdout)
    assert isinstance(refused, Refused)
    assert refused.code == "job"
    (refused,) = work(folder, "cpu", cases=("prefill-99",))
    assert isinstance(refused, Refused)
    assert refused.message == "The exported model has no case prefill-99."


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="only Linux ends a child with its parent")
def test_a_worker_that_is_killed_takes_its_compiler_along(folder: Path) -> None:
    worker = subprocess.Popen(
        command(job_file(folder, "cpu")), stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    )
    try:
        assert worker.stdout is not None
        for line in worker.stdout:
            if b'"began"' in line:
                break
        children: list[psutil.Process] = []
        while not children and worker.poll() is None:
            children = psutil.Process(worker.pid).children(recursive=True)
        assert children
        worker.send_signal(signal.SIGKILL)
        _, left = psutil.wait_procs(children, timeout=10)
        assert left == []
    finally:
        worker.kill()
        worker.communicate()
    assert not list((folder / "cache" / "iree").glob("*.vmfb"))
