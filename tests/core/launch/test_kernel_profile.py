"""From a kernel of a trace to the command that profiles it, with the run of the trace and without."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from core.errors import DashboardError
from core.launch.kernel_profile import plan_profile, run_of_trace
from core.launch.ncu_command import KernelTarget, target_of_slice
from core.runs.job import JobSpec
from core.runs.store import RunFolder, RunStore
from tests.helpers.traces import kernel, op, trace_of

GEMM = "void cutlass::Kernel2<a>(Params)"
TRACE = trace_of(
    op("aten::mm", 0, 5),
    kernel("void cutlass::Kernel2<b>(Params)", 30, 5, correlation=3),
    kernel(GEMM, 10, 5, correlation=2),
    kernel("norm", 20, 5, correlation=1),
    kernel(GEMM, 40, 5, correlation=4),
)


@pytest.fixture
def run(tmp_path: Path) -> RunFolder:
    job = JobSpec(
        title="t",
        target="train.py",
        interpreter="/opt/env/bin/python",
        working_folder=str(tmp_path),
        ranks=2,
        device="cuda",
    )
    return RunStore(tmp_path / "runs").create(job)


def test_kernels_are_counted_in_the_order_of_their_calls() -> None:
    assert [target_of_slice(TRACE, row) for row in (1, 2, 3, 4)] == [
        KernelTarget("Kernel2", 1),
        KernelTarget("Kernel2", 0),
        KernelTarget("norm", 0),
        KernelTarget("Kernel2", 2),
    ]
    with pytest.raises(DashboardError, match="no kernel"):
        target_of_slice(TRACE, 0)


def test_without_calls_the_order_on_the_device_counts() -> None:
    trace = trace_of(kernel("a", 20, 1), kernel("a", 10, 1, correlation=7))
    assert [target_of_slice(trace, row).skip for row in (0, 1)] == [1, 0]


def test_a_trace_in_the_folder_of_a_run_has_its_job(
    run: RunFolder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    paths = (run.traces / "rank0.json", run.traces)
    assert [run_of_trace(path) for path in paths] == [run, run]
    found = plan_profile(TRACE, 4, paths[0])
    assert found.function == "Kernel2"
    assert "train.py" in found.text
    assert f"{run.path}/reports/Kernel2-3 " in found.text
    assert found.command is None
    assert found.notes[-1].startswith("ncu is not on PATH")
    (tmp_path / "ncu").write_text("#!/bin/sh\n# A fake.\n")
    (tmp_path / "ncu").chmod(0o755)
    command = plan_profile(TRACE, 4, paths[1]).command
    assert command is not None
    assert command.report == run.path / "reports" / "Kernel2-3.ncu-rep"


def test_a_trace_of_an_unknown_run_gets_the_command_with_a_gap(tmp_path: Path) -> None:
    found = plan_profile(TRACE, 1, tmp_path / "trace.json")
    assert found.text == (
        "ncu --set full --target-processes all --kernel-name 'regex:^Kernel2$' --launch-skip 1 "
        "--launch-count 1 --kill yes -o Kernel2 python YOUR_SCRIPT.py"
    )
    assert found.command is None
    assert found.notes[0].startswith("The run of this trace is not known")


def test_a_run_on_the_cpu_cannot_be_profiled(run: RunFolder, tmp_path: Path) -> None:
    job = replace(run.read().job, device="cpu")
    cpu = RunStore(tmp_path / "cpu").create(job)
    with pytest.raises(DashboardError, match="runs on the CPU"):
        plan_profile(TRACE, 1, cpu.traces / "rank0.json")
