"""Runs whose worker misbehaves: each is a state of the result with the right words, and nothing is left.

The workers are real children that speak the real lines; what they do wrong is
written below. The model is a sum of two rows, so that the right answer is known.
"""

from __future__ import annotations

import sys
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

import msgspec
import numpy as np
import psutil
import pytest

from core.edge import session
from core.edge.backend import EdgeTarget, Finding, Missing
from core.edge.models import ModelSpec, Precision, PreparedCase, PreparedModel
from core.edge.prepare import Prepared
from core.edge.session import EdgeRequest, run_edge
from core.edge.timing import Roof
from core.errors import DashboardError
from core.files import app_folders

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from core.edge.result import EdgeResult

FLOPS = 1_000_000_000
CPU = EdgeTarget(key="cpu", name="CPU, 2 threads", api="CPU", software=False, default=True)

PRELUDE = """
import json, os, signal, sys, time
import numpy as np
job = json.load(open(sys.argv[1]))
def tell(event, **facts):
    os.write(1, ("\\n" + json.dumps({"event": event} | facts) + "\\n").encode())
def output(name, factor=1.0, add=0.0, dtype="float32"):
    wanted = np.load(os.path.join(job["model_folder"], "reference.npz"))["y"]
    np.savez(os.path.join(job["work_folder"], name), y=(wanted * factor + add).astype(dtype))
def called(first_s=0.2, warm_s=(0.1, 0.1, 0.1)):
    tell("called", case="run", first_s=first_s, warm_s=list(warm_s), output="out.npz", output_names=["y"])
def finished():
    tell("finished", backend_version="1.0")
"""


class Scripted:
    """A backend whose worker is a few lines."""

    NAME: ClassVar[str] = "scripted"
    TITLE: ClassVar[str] = "Scripted"
    PACKAGES: ClassVar[tuple[str, ...]] = ()
    PRECISIONS: ClassVar[tuple[Precision, ...]] = ("fp32",)

    def __init__(self, script: Path, lines: str) -> None:
        self.script = script
        self.findings: tuple[Finding, ...] = ()
        self.lacks: Missing | None = None
        script.write_text(PRELUDE + lines)

    def missing(self) -> Missing | None:
        return self.lacks

    def version(self) -> str | None:
        return "1.0"

    def takes(self, target: EdgeTarget) -> bool:
        return target.api == "CPU"

    def preflight(self, model: PreparedModel, target: EdgeTarget) -> Sequence[Finding]:
        return self.findings

    def options(self, target: EdgeTarget, precision: Precision) -> tuple[str, ...]:
        return ()

    def worker(self, job: Path, interpreter: str) -> list[str]:
        return [interpreter, str(self.script), str(job)]


@pytest.fixture
def scripted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], Scripted]:
    """Makes the only backend there is, and a model that needs no export."""
    model_folder = tmp_path / "model"
    model_folder.mkdir()
    np.savez(model_folder / "reference.npz", y=np.linspace(-3, 3, 64, dtype=np.float32).reshape(4, 16))
    model = PreparedModel(
        schema=1,
        title="Sum",
        precision="fp32",
        reference="NumPy",
        parameters=0,
        weight_bytes=0,
        cases=(
            PreparedCase(name="run", onnx="", inputs="", reference="reference.npz", tokens=64, flops=FLOPS),
        ),
        tensors=(),
        operators=(),
        export_s=0.5,
    )
    monkeypatch.setattr(
        session, "prepare_model", lambda *_args, **_words: Prepared(model_folder, model, cached=False)
    )

    def make(lines: str) -> Scripted:
        backend = Scripted(tmp_path / "worker.py", lines)
        monkeypatch.setattr(session, "all_backends", lambda: (backend,))
        return backend

    return make


def run(cancelled: Callable[[], bool] | None = None) -> EdgeResult:
    request = EdgeRequest(
        model=ModelSpec(source="preset", target="tiny"),
        backend="scripted",
        target=CPU,
        interpreter=sys.executable,
    )
    result = run_edge(request, cancelled=cancelled)
    # Whatever happened: no work folder stays.
    assert list((app_folders().cache / "edge").glob("run-*")) == []
    return result


def words(result: EdgeResult) -> str:
    return " ".join(f"{each.message} {each.hint}" for each in result.problems)


def no_speed(result: EdgeResult) -> bool:
    return (
        result.prefill_tokens_per_s is None
        and result.warm_call_s is None
        and result.first_call_s is None
        and result.decode_tokens_per_s is None
    )


def test_a_right_answer_has_speeds(scripted: Callable[[str], Scripted]) -> None:
    scripted(
        """
tell("began", stage="compile")
print("a library says something")
tell("ended", stage="compile", seconds=1.5, case="run", cached=True)
tell("ended", stage="load", seconds=0.25, case="run")
output("out.npz"); called(); tell("memory", peak_bytes=10, copied_bytes=0); finished()
"""
    )
    told: list[str] = []
    request = EdgeRequest(model=ModelSpec(source="preset", target="tiny"), backend="scripted", target=CPU)
    result = run_edge(request, progress=lambda stage, _words, _share: told.append(stage))
    assert result.state == "agrees"
    assert result.agrees is True
    assert (result.compile_s, result.load_s, result.export_s) == (1.5, 0.25, 0.5)
    assert result.cached == ("compile",)
    assert (result.first_call_s, result.warm_call_s) == (0.2, 0.1)
    assert result.prefill_tokens_per_s == pytest.approx(640)
    assert (result.max_abs_error, result.nan_count) == (0.0, 0)
    assert (result.peak_bytes, result.copied_bytes, result.mapped_bytes) == (10, 0, None)
    assert told == ["compile", "judge"]


def test_wrong_numbers_are_no_speed(scripted: Callable[[str], Scripted]) -> None:
    """Case E08: one operator adds 0.1."""
    scripted('output("out.npz", add=0.1); called(); finished()')
    result = run()
    assert result.state == "disagrees"
    assert result.agrees is False
    assert result.max_abs_error == pytest.approx(0.1, rel=1e-5)
    assert no_speed(result)
    assert "largest difference is 1.00e-01" in words(result)
    assert "Its speed is not shown" in words(result)


def test_nan_is_counted_and_no_speed(scripted: Callable[[str], Scripted]) -> None:
    """Case E07."""
    scripted('output("out.npz", factor=float("nan")); called(); finished()')
    result = run()
    assert (result.state, result.nan_count) == ("disagrees", 64)
    assert result.max_abs_error is None
    assert no_speed(result)


def test_a_backend_that_returns_at_once_is_called_impossible(scripted: Callable[[str], Scripted]) -> None:
    """Case E10: 1 GFLOP in a microsecond on a device whose product reaches 50 GFLOP/s."""
    scripted(
        """
output("out.npz"); called(1e-6, (1e-6, 1e-6, 1e-6))
tell("ceiling", what="gemm", type="fp32", per_s=5e10, size=512); finished()
"""
    )
    result = run()
    assert result.state == "impossible"
    assert result.agrees is True
    assert no_speed(result)
    assert "the call came back before the work was done" in words(result)


def test_negative_times_are_refused(scripted: Callable[[str], Scripted]) -> None:
    """Case E11."""
    scripted('output("out.npz"); called(0.2, (-0.0002, 0.1, 0.3)); finished()')
    result = run()
    assert result.state == "agrees"
    assert result.warm_call_s == pytest.approx(0.2)
    assert "1 call took no time or less" in words(result)
    scripted('output("out.npz"); called(0.2, (-0.0002, -0.1)); finished()')
    result = run()
    assert result.state == "impossible"
    assert no_speed(result)


def test_another_case_than_the_judged_one_is_no_result(
    scripted: Callable[[str], Scripted], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else the rate of a decode would stand where the prefill's belongs."""
    scripted('output("out.npz"); called(); finished()')
    prepared: Prepared = vars(session)["prepare_model"]()
    (ran,) = prepared.model.cases
    judged = msgspec.structs.replace(ran, name="prefill-64")
    for cases, state in (((judged, ran), "failed"), ((ran, judged), "agrees")):
        model = msgspec.structs.replace(prepared.model, cases=cases)
        given = Prepared(prepared.folder, model, cached=False)
        monkeypatch.setattr(session, "prepare_model", lambda *_args, _given=given, **_words: _given)
        result = run()
        assert result.state == state
        assert no_speed(result) == (state == "failed")
        assert "The backend gave no result for prefill-64." in words(result)


def test_a_measured_ceiling_holds_beside_a_data_sheet(
    scripted: Callable[[str], Scripted], monkeypatch: pytest.MonkeyPatch
) -> None:
    """1 TFLOP/s is far below the sheet's peak, and twenty times what the backend's own product reaches."""
    monkeypatch.setattr(session, "_sheet_roof", lambda _request: Roof(60e12, "the data sheet's peak"))
    scripted(
        """
output("out.npz"); called(1e-3, (1e-3, 1e-3, 1e-3))
tell("ceiling", what="gemm", type="fp32", per_s=5e10, size=512); finished()
"""
    )
    result = run()
    assert result.state == "impossible"
    assert "20.0 times the fastest product that was measured" in words(result)


def test_a_run_that_fell_to_the_cpu_is_called_that(scripted: Callable[[str], Scripted]) -> None:
    scripted(
        """
tell("provided", case="run", asked="WebGpuExecutionProvider",
     providers=[{"provider": "CPUExecutionProvider", "nodes": 188}])
output("out.npz"); called(); finished()
"""
    )
    result = run()
    assert result.state == "ran_elsewhere"
    assert no_speed(result)
    assert "Of 188 nodes none ran on WebGpuExecutionProvider (188 on CPUExecutionProvider)" in words(result)


def test_some_nodes_elsewhere_are_counted(scripted: Callable[[str], Scripted]) -> None:
    scripted(
        """
tell("provided", case="run", asked="WebGpuExecutionProvider",
     providers=[{"provider": "WebGpuExecutionProvider", "nodes": 180},
                {"provider": "CPUExecutionProvider", "nodes": 8}])
output("out.npz"); called(); finished()
"""
    )
    result = run()
    assert result.state == "agrees"
    assert "Of 188 nodes 180 ran on WebGpuExecutionProvider, 8 on CPUExecutionProvider." in words(result)


def test_a_driver_that_aborts_is_a_sentence(scripted: Callable[[str], Scripted]) -> None:
    scripted(
        """
tell("began", stage="run")
os.write(2, b"double free or corruption (out)\\n")
os.kill(os.getpid(), signal.SIGABRT)
"""
    )
    result = run()
    assert result.state == "failed"
    assert no_speed(result)
    assert "ended by SIGABRT while running" in words(result)
    assert "double free or corruption" in words(result)


def test_an_exception_is_told_with_its_last_line(scripted: Callable[[str], Scripted]) -> None:
    scripted('tell("began", stage="load"); raise ValueError("no such function")')
    result = run()
    assert result.state == "failed"
    assert "exit code 1 while loading" in words(result)
    assert "ValueError: no such function" in words(result)


def test_a_worker_that_ends_without_a_word_has_failed(scripted: Callable[[str], Scripted]) -> None:
    scripted("")
    assert "The worker ended too early" in words(run())
    scripted("finished()")
    result = run()
    assert result.state == "failed"
    assert "without an output" in words(result)


def test_an_output_that_is_not_there_or_damaged_has_failed(scripted: Callable[[str], Scripted]) -> None:
    scripted("called(); finished()")
    assert run().state == "failed"
    scripted("""
open(os.path.join(job["work_folder"], "out.npz"), "wb").write(b"PK\\x03\\x04 no zip")
called(); finished()
""")
    result = run()
    assert result.state == "failed"
    assert "out.npz cannot be read" in words(result)


def test_an_output_outside_the_work_folder_is_not_read(
    scripted: Callable[[str], Scripted], tmp_path: Path
) -> None:
    np.savez(tmp_path / "elsewhere.npz", y=np.zeros((4, 16), np.float32))
    scripted(
        f'tell("called", case="run", first_s=0.1, warm_s=[0.1], output={str(tmp_path / "elsewhere.npz")!r});'
        "finished()"
    )
    assert run().state == "failed"


def test_a_refusal_is_passed_on(scripted: Callable[[str], Scripted]) -> None:
    scripted('tell("refused", code="no_device", message="It is not there.", hint="Plug it in.")')
    result = run()
    assert result.state == "refused"
    assert words(result) == "It is not there. Plug it in."


def test_what_the_preflight_finds_starts_nothing(scripted: Callable[[str], Scripted]) -> None:
    """Case E05."""
    backend = scripted("raise SystemExit(9)")
    backend.findings = (
        Finding(code="tensor_too_large", fatal=True, message="head.weight needs 262 MB.", hint="Smaller."),
    )
    result = run()
    assert result.state == "refused"
    assert words(result) == "head.weight needs 262 MB. Smaller."
    backend.findings = (Finding(code="slow", fatal=False, message="It will be slow."),)
    backend.script.write_text(PRELUDE + 'output("out.npz"); called(); finished()')
    result = run()
    assert result.state == "agrees"
    assert "It will be slow." in words(result)


def test_a_missing_backend_and_a_device_out_of_reach_are_refused_before(
    scripted: Callable[[str], Scripted],
) -> None:
    backend = scripted("")
    backend.lacks = Missing(message="MLX needs macOS.", hint="Use IREE.")
    with pytest.raises(DashboardError, match=r"MLX needs macOS\."):
        run()
    backend.lacks = None
    far = EdgeTarget(key="metal:0", name="M3", api="Metal", software=False)
    with pytest.raises(DashboardError, match="does not reach M3"):
        run_edge(EdgeRequest(model=ModelSpec(source="preset", target="tiny"), backend="scripted", target=far))
    with pytest.raises(DashboardError, match="There is no backend nosuch"):
        run_edge(EdgeRequest(model=ModelSpec(source="preset", target="tiny"), backend="nosuch", target=CPU))


def test_a_cancel_ends_the_worker_and_all_it_started(
    scripted: Callable[[str], Scripted], tmp_path: Path
) -> None:
    marker = tmp_path / "pid"
    scripted(
        f"""
import subprocess
child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
open({str(marker)!r}, "w").write(str(child.pid))
tell("began", stage="compile")
time.sleep(600)
"""
    )
    asked = threading.Event()

    def is_cancelled() -> bool:
        if marker.exists() and marker.read_text():
            asked.set()
        return asked.is_set()

    began = time.monotonic()
    result = run(is_cancelled)
    assert time.monotonic() - began < 30
    assert result.state == "cancelled"
    assert "cancelled while compiling" in words(result)
    assert no_speed(result)
    child = int(marker.read_text())
    while psutil.pid_exists(child) and psutil.Process(child).status() != psutil.STATUS_ZOMBIE:
        time.sleep(0.05)  # its end was sent; the test's time limit is the limit


def test_too_long_is_told(scripted: Callable[[str], Scripted], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(session, "TIME_LIMIT_S", 1.0)
    scripted('tell("began", stage="run"); time.sleep(600)')
    result = run()
    assert result.state == "failed"
    assert "not done within" in words(result)


def test_lines_that_are_no_events_are_only_the_log(scripted: Callable[[str], Scripted]) -> None:
    scripted(
        """
os.write(1, b'{"event": "called"}\\n{"event": "nosuch", "x": 1}\\n{"eventful": 1}\\n\\xff\\xfe\\n')
output("out.npz"); called(); finished()
"""
    )
    assert run().state == "agrees"
