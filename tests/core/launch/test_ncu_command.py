"""The command that profiles one kernel of a job, and what becomes of it: ncu is a fake here, and says so."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import psutil
import pytest

from core.errors import DashboardError
from core.launch.ncu_command import (
    KernelTarget,
    NcuCommand,
    build_ncu_command,
    find_ncu,
    free_report_path,
    kernel_target,
)
from core.launch.ncu_run import run_ncu
from core.readers.ncu_report.reader import read_report
from core.runs.job import JobSpec
from tests.helpers import ncu_reports as made

GEMM = "void cutlass::Kernel2<cutlass_80_tensorop_bf16_s16816gemm>(cutlass::Params)"
COPY = "void at::native::vectorized_elementwise_kernel<4, at::native::copy, Array<char*, 2>>(int, char*)"
ADD = COPY.replace("copy", "add")


@pytest.fixture
def job(tmp_path: Path) -> JobSpec:
    return JobSpec(
        title="t",
        target="train.py",
        interpreter="/opt/env/bin/python",
        working_folder=str(tmp_path),
        arguments=("--name", "two words", "$HOME"),
        ranks=4,
        device="cuda",
        gpus=("2", "3", "4", "5"),
        environment={"LR": "1e-3", "HF_TOKEN": "secret-value"},
    )


def command(job: JobSpec, target: KernelTarget, **more: Any) -> NcuCommand:
    report = Path(job.working_folder) / "reports" / "kernel.ncu-rep"
    return build_ncu_command(job, target, report, base_environment={"PATH": os.environ["PATH"]}, **more)


def test_the_launch_is_counted_among_those_of_its_function() -> None:
    names = [COPY, GEMM, ADD, COPY, "triton_poi_fused_0", GEMM]
    assert kernel_target(names, 0) == KernelTarget("vectorized_elementwise_kernel", 0)
    assert kernel_target(names, 3) == KernelTarget("vectorized_elementwise_kernel", 2)
    assert kernel_target(names, 5) == KernelTarget("Kernel2", 1)
    assert kernel_target(names, 4) == KernelTarget("triton_poi_fused_0", 0)


@pytest.mark.parametrize(
    "name", ["ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgs)", "", "a::{lambda()#1}"]
)
def test_kernels_that_cannot_be_profiled_alone_are_refused(name: str) -> None:
    with pytest.raises(DashboardError):
        kernel_target([GEMM, name], 1)


def test_the_command_is_exact(job: JobSpec) -> None:
    found = command(job, KernelTarget("Kernel2", 7), python_version="3.11.7")
    assert shlex.split(found.text) == [
        "cd", job.working_folder, "&&", "env",
        "CUDA_DEVICE_ORDER=PCI_BUS_ID", "CUDA_VISIBLE_DEVICES=2", "LR=1e-3", "ncu",
        "--set", "full", "--target-processes", "all", "--kernel-name", "regex:^Kernel2$",
        "--launch-skip", "7", "--launch-count", "1", "--kill", "yes", "-o",
        f"{job.working_folder}/reports/kernel",
        "/opt/env/bin/python", "-P", "-m", "torch.distributed.run", "--nnodes=1", "--nproc-per-node=1",
        "--rdzv-backend=c10d", "--rdzv-endpoint=localhost:0", "--local-addr=127.0.0.1", "--max-restarts=0",
        "--", "train.py", "--name", "two words", "$HOME",
    ]  # fmt: skip
    assert found.environment["HF_TOKEN"] == "secret-value"
    assert "secret-value" not in found.text
    assert [note.split(":")[0] for note in found.notes] == [
        "Launch 8 of Kernel2, counted from the start of the program",
        "One rank runs instead of 4",
        "Set HF_TOKEN yourself",
    ]


def test_a_shell_hands_every_word_on(job: JobSpec, tmp_path: Path) -> None:
    (tmp_path / "bin").mkdir()
    fake = tmp_path / "bin" / "ncu"
    fake.write_text('#!/bin/sh\n# A fake.\nprintf "%s\\n" "$PWD" "$LR" "$@"\n')
    fake.chmod(0o755)
    odd = replace(job, arguments=("it's", 'a "b"', "; rm -rf *", "\\", "new\nline"))
    found = command(odd, KernelTarget("Kernel2", 0))
    path = f"{tmp_path / 'bin'}:{os.environ['PATH']}"
    said = subprocess.run(
        ["/bin/sh", "-c", found.text], env={"PATH": path}, capture_output=True, check=True, text=True
    )
    assert said.stdout == "\n".join([job.working_folder, "1e-3", *found.argv[1:]]) + "\n"


def test_all_ranks_can_be_kept_and_one_gpu_profiled(job: JobSpec) -> None:
    found = command(job, KernelTarget("Kernel2", 0), keep_ranks=True)
    assert "--nproc-per-node=4" in found.argv
    assert found.argv[found.argv.index("--devices") + 1] == "0"
    assert ("CUDA_VISIBLE_DEVICES", "2,3,4,5") in found.shown
    assert found.notes[1].startswith("All ranks run")
    alone = command(replace(job, ranks=1), KernelTarget("Kernel2", 0))
    assert "--devices" not in alone.argv
    assert len(alone.notes) == 2


def test_a_module_is_started_as_one(job: JobSpec) -> None:
    words = command(replace(job, target="package.train", is_module=True), KernelTarget("k", 0)).argv
    assert words[words.index("--module") :][:3] == ("--module", "--", "package.train")


def test_a_job_on_the_cpu_has_no_kernels(job: JobSpec) -> None:
    with pytest.raises(DashboardError, match="runs on the CPU"):
        command(replace(job, device="cpu"), KernelTarget("k", 0))


def test_a_report_never_replaces_another(tmp_path: Path) -> None:
    target = KernelTarget("k", 4)
    first = free_report_path(tmp_path, target)
    assert first.name == "k-5.ncu-rep"
    first.touch()
    assert free_report_path(tmp_path, target).name == "k-5-2.ncu-rep"
    assert len(free_report_path(tmp_path, KernelTarget("x" * 300, 0)).name) < 100


def fake_ncu(folder: Path, monkeypatch: pytest.MonkeyPatch, code: str) -> None:
    """Puts a fake ncu on PATH, a Python program that knows its report's name as ``report``."""
    tools = folder / "tools"
    tools.mkdir()
    (tools / "ncu").write_text(
        f"#!{sys.executable}\n"
        "import os, subprocess, sys, time\n"
        "print('==PROF== This is a fake of ncu for tests', flush=True)\n"
        "report = sys.argv[sys.argv.index('-o') + 1] + '.ncu-rep'\n"
        f"{code}\n"
    )
    (tools / "ncu").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tools}:{os.environ['PATH']}")


def test_the_report_that_ncu_wrote_is_returned(
    job: JobSpec, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "made").write_bytes(made.full_report())
    code = (
        "print('==PROF== Connected to process 7', flush=True); time.sleep(0.3)\n"
        "print('==PROF== Profiling \"gemm\" - 0: 0%....100% - 40 passes', flush=True); time.sleep(0.3)\n"
        f"open(report, 'wb').write(open({str(tmp_path / 'made')!r}, 'rb').read())\n"
        "sys.exit(9)"
    )
    fake_ncu(tmp_path, monkeypatch, code)
    assert find_ncu() == tmp_path / "tools" / "ncu"
    told: list[str] = []
    report = run_ncu(command(job, KernelTarget("gemm", 0)), progress=lambda _, __, words: told.append(words))
    assert len(read_report(report).launches) == 2
    assert list(dict.fromkeys(told)) == [
        "Starting the job under ncu",
        "Waiting for the kernel",
        "Profiling the kernel",
    ]


@pytest.mark.parametrize(
    ("code", "message_and_hint"),
    [
        (
            "print('==ERROR== ERR_NVGPUCTRPERM - The user does not have permission to access NVIDIA GPU "
            "Performance Counters on the target device 0.'); open(report, 'w').write('x'); sys.exit(1)",
            ("may not read the GPU's performance counters", "NVreg_RestrictProfilingToAdminUsers=0"),
        ),
        (
            "print('==WARNING== No kernels were profiled.')",
            ("ended before that launch", "Choose an earlier launch"),
        ),
        (
            "print('==ERROR== Failed to find train.py'); sys.exit(1)",
            ("Failed to find train.py", "in a terminal"),
        ),
        ("sys.exit(3)", ("exit code 3", "in a terminal")),
        ("open(report, 'w').close()", ("wrote no report", "in a terminal")),
    ],
)
def test_what_ncu_refuses_is_explained(
    job: JobSpec,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    code: str,
    message_and_hint: tuple[str, str],
) -> None:
    fake_ncu(tmp_path, monkeypatch, code)
    found = command(job, KernelTarget("gemm", 0))
    message, hint = message_and_hint
    with pytest.raises(DashboardError, match=message) as refused:
        run_ncu(found)
    assert hint in refused.value.hint
    assert not found.report.exists()


def test_without_ncu_it_is_said_so(job: JobSpec, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert find_ncu() is None
    with pytest.raises(DashboardError, match="ncu cannot be started"):
        run_ncu(command(job, KernelTarget("gemm", 0)))


def runs(pid: int) -> bool:
    """Tells whether a process lives; what is dead and not waited for does not."""
    return psutil.pid_exists(pid) and psutil.Process(pid).status() != psutil.STATUS_ZOMBIE


@pytest.mark.parametrize("how", ["cancelled", "did not end within"])
def test_a_stop_ends_workers_with_sessions_of_their_own_too(
    job: JobSpec, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, how: str
) -> None:
    pids = tmp_path / "pids"
    code = (
        "worker = subprocess.Popen(['sleep', '120'], start_new_session=True)\n"
        f"open({str(pids)!r}, 'w').write(f'{{os.getpid()}} {{worker.pid}} ')\n"
        "open(report, 'w').write('half of it')\n"
        "time.sleep(120)"
    )
    fake_ncu(tmp_path, monkeypatch, code)
    found = command(job, KernelTarget("gemm", 0))

    def cancelled() -> bool:
        return (
            how == "cancelled" and pids.exists() and pids.read_text().endswith(" ") and found.report.exists()
        )

    with pytest.raises(DashboardError, match=how):
        run_ncu(found, cancelled=cancelled, timeout_s=60 if how == "cancelled" else 3)
    assert [pid for pid in map(int, pids.read_text().split()) if runs(pid)] == []
    assert not found.report.exists()
