"""What is asked for arrives as it was asked for: argument lists and environments, golden."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from core.files import AGENT
from core.launch.command import HIDDEN, build_launch, job_environment
from core.runs.job import CapturePlan, JobSpec
from core.runs.store import RunFolder

FOLDER = RunFolder(Path("/data/ridgeline/runs/20261129-124103-tiny-7f3a"))
JOB = JobSpec(title="t", target="train.py", interpreter="/venv/bin/python", working_folder="/w", ranks=4)
AWKWARD = (
    "a b",
    'quo"te',
    "apo'strophe",
    "$HOME",
    ";rm -rf /",
    "`id`",
    "日本",
    "-x",
    "--nnodes=3",
    "--nproc",
    "9",
    "--",
    "",
    "*",
)

TORCHRUN = ["-P", "-m", "torch.distributed.run"]
OPTIONS = [
    "--nnodes=1",
    "--nproc-per-node=4",
    "--rdzv-backend=c10d",
    "--rdzv-endpoint=localhost:0",
    "--rdzv-id=20261129-124103-tiny-7f3a",
    "--local-addr=127.0.0.1",
    "--max-restarts=0",
]


def argv(job: JobSpec, torch: str = "2.13.0+cpu", python: str = "3.11.7") -> list[str]:
    launch = build_launch(job, FOLDER, torch_version=torch, python_version=python, base_environment={})
    return list(launch.argv)


def environment(job: JobSpec, **base: str) -> dict[str, str]:
    return build_launch(job, FOLDER, torch_version="", base_environment=base).environment


def test_script() -> None:
    assert argv(replace(JOB, arguments=AWKWARD)) == [
        "/venv/bin/python",
        *TORCHRUN,
        *OPTIONS,
        "--shutdown-timeout=10",
        "--",
        str(AGENT),
        "train.py",
        *AWKWARD,
    ]


def test_module_and_interpreter_with_odd_names() -> None:
    job = replace(JOB, target="my.pkg.train", is_module=True, interpreter="/opt/my env; x/bin/py$thon")
    assert argv(job)[0] == "/opt/my env; x/bin/py$thon"
    assert argv(job)[-3:] == [str(AGENT), "-m", "my.pkg.train"]


@pytest.mark.parametrize("torch", ["", "2.4.0", "2.4.1+cu121", "2.9.1", "2.11.0a0+git1234"])
def test_older_torch_gets_only_options_that_it_has(torch: str) -> None:
    assert argv(JOB, torch=torch)[1:] == [*TORCHRUN, *OPTIONS, "--", str(AGENT), "train.py"]


@pytest.mark.parametrize("torch", ["2.12.0", "2.13.0", "3.0.0"])
def test_newer_torch_is_told_how_long_a_shutdown_may_take(torch: str) -> None:
    assert "--shutdown-timeout=10" in argv(JOB, torch=torch)


@pytest.mark.parametrize("python", ["", "3.9.18", "3.10.0"])
def test_older_python_leaves_the_working_folder_off_the_path_too(python: str) -> None:
    started = argv(JOB, python=python)
    assert started[1] == "-c"
    assert "del sys.path[0]" in started[2]
    assert started[3:] == [*OPTIONS, "--shutdown-timeout=10", "--", str(AGENT), "train.py"]


@pytest.mark.parametrize("python", ["3.11.7", "3.10.0"])
def test_torchrun_takes_the_list_apart_as_it_was_meant(tmp_path: Path, python: str) -> None:
    """The real torchrun parses both forms, in a folder whose files would shadow the standard library."""
    (tmp_path / "queue.py").write_text("raise SystemExit('the user\\'s queue.py was imported')")
    report = (
        "import json, torch.distributed.run as run\n"
        "def main(arguments=None):\n"
        "    a = run.parse_args(arguments)\n"
        "    print(json.dumps([a.nproc_per_node, a.rdzv_endpoint, a.local_addr, a.training_script,"
        " a.training_script_args]))\n"
    )
    job = replace(JOB, interpreter=sys.executable, arguments=AWKWARD)
    started = argv(job, python=python)
    rest = started[started.index(OPTIONS[0]) :]
    code = f"{report}\nimport sys\nmain({rest!r})"
    done = subprocess.run(
        [sys.executable, "-P", "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    parsed: list[Any] = json.loads(done.stdout.splitlines()[-1])
    assert parsed == ["4", "localhost:0", "127.0.0.1", str(AGENT), ["train.py", *AWKWARD]]
    done = subprocess.run(
        [*started[: started.index(OPTIONS[0])], "--help"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
    )
    assert "--nproc-per-node" in done.stdout


def test_cpu_job_sees_no_gpu_whatever_else_is_set() -> None:
    job = replace(JOB, environment={"CUDA_VISIBLE_DEVICES": "1"}, gpus=("0",))
    assert environment(job, CUDA_VISIBLE_DEVICES="0")["CUDA_VISIBLE_DEVICES"] == ""


def test_gpus_by_uuid_and_by_index() -> None:
    job = replace(JOB, device="cuda", gpus=("GPU-00000002", "MIG-1"))
    assert environment(job, CUDA_VISIBLE_DEVICES="0")["CUDA_VISIBLE_DEVICES"] == "GPU-00000002,MIG-1"
    assert "CUDA_DEVICE_ORDER" not in environment(job)
    numbered = environment(replace(job, gpus=("2", "0")))
    assert (numbered["CUDA_VISIBLE_DEVICES"], numbered["CUDA_DEVICE_ORDER"]) == ("2,0", "PCI_BUS_ID")


def test_cuda_job_without_choice_keeps_what_the_terminal_says() -> None:
    job = replace(JOB, device="cuda")
    assert environment(job, CUDA_VISIBLE_DEVICES="2,0")["CUDA_VISIBLE_DEVICES"] == "2,0"
    assert "CUDA_VISIBLE_DEVICES" not in environment(job)
    mine = replace(job, environment={"CUDA_VISIBLE_DEVICES": "1"})
    assert environment(mine, CUDA_VISIBLE_DEVICES="2")["CUDA_VISIBLE_DEVICES"] == "1"


def test_nothing_of_ours_or_of_another_torchrun_reaches_the_job() -> None:
    base = {
        "PYTHONPATH": "/home/user/lib",
        "HOME": "/home/user",
        "LANG": "de_DE.UTF-8",
        "RANK": "3",
        "LOCAL_RANK": "3",
        "WORLD_SIZE": "8",
        "MASTER_PORT": "29500",
        "TORCHELASTIC_RUN_ID": "x",
        "PET_NNODES": "2",
        "PYTHON_EXEC": "/other/python",
        "PYTHONHOME": "/app",
        "PYTHONSAFEPATH": "1",
        "RIDGELINE_RUN_DIR": "/other/run",
        "RIDGELINE_GRACE_S": "1",
    }
    assert environment(JOB, **base) == {
        "PYTHONPATH": "/home/user/lib",
        "HOME": "/home/user",
        "LANG": "de_DE.UTF-8",
        "PYTHONUNBUFFERED": "1",
        "CUDA_VISIBLE_DEVICES": "",
        "RIDGELINE_RUN_DIR": str(FOLDER.path),
    }


def test_what_the_user_sets_for_the_job_counts() -> None:
    job = replace(JOB, environment={"PET_MONITOR_INTERVAL": "1", "A": "$B `c` ; 日本"})
    assert environment(job, A="0")["A"] == "$B `c` ; 日本"
    assert environment(job)["PET_MONITOR_INTERVAL"] == "1"
    assert environment(JOB, RIDGELINE_HEARTBEAT_S="0.1")["RIDGELINE_HEARTBEAT_S"] == "0.1"


def test_planned_capture_is_handed_to_the_agents() -> None:
    plan = CapturePlan(first_step=5, ranks=(0, 2))
    assert json.loads(environment(replace(JOB, profile=plan))["RIDGELINE_PROFILE"]) == {
        "first_step": 5,
        "steps": 2,
        "ranks": [0, 2],
        "with_stack": False,
        "with_memory": True,
    }


def test_shown_environment_holds_what_matters_and_no_secret() -> None:
    job = replace(JOB, environment={"WANDB_API_KEY": "s3cret", "MY_FLAG": "1"})
    launch = build_launch(
        job,
        FOLDER,
        torch_version="",
        base_environment={"NCCL_DEBUG": "INFO", "HOME": "/h", "OMP_NUM_THREADS": "2", "HF_TOKEN": "s3cret"},
    )
    assert launch.shown_environment == {
        "CUDA_VISIBLE_DEVICES": "",
        "MY_FLAG": "1",
        "NCCL_DEBUG": "INFO",
        "OMP_NUM_THREADS": "2",
        "PYTHONUNBUFFERED": "1",
        "RIDGELINE_RUN_DIR": str(FOLDER.path),
        "WANDB_API_KEY": HIDDEN,
    }
    assert launch.environment["WANDB_API_KEY"] == "s3cret"


def test_bytes_that_are_no_text_survive() -> None:
    name = os.fsdecode(b"caf\xe9.py")
    assert os.fsencode(argv(replace(JOB, target=name))[-1]) == b"caf\xe9.py"
    assert job_environment(replace(JOB, environment={"X": name}), {})["X"] == name
