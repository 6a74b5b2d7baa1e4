"""Each thing that can be wrong with a job is refused in one line with a hint, before anything starts.

The interpreter is a real one. What this machine does not have (GPUs, old or
broken builds of PyTorch) is played by a package named torch on PYTHONPATH.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
import time
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import psutil
import pytest

from core.errors import DashboardError, FieldError
from core.hardware.readings import GpuInfo
from core.launch.preflight import Preflight, run_preflight
from core.runs.host import this_host
from core.runs.job import MOST_RANKS, DeviceKind, JobSpec

FAKE_TORCH = """
import json, os, sys, types
facts = json.loads(os.environ["FAKE_TORCH"])
exec(facts.get("code", ""))
__version__ = facts.get("version", "2.13.0")
version = types.SimpleNamespace(cuda=facts.get("cuda", "13.0"))
class cuda:
    nccl = types.SimpleNamespace(version=lambda: (2, 29, 3))
    @staticmethod
    def is_available(): return facts.get("gpus", 0) > 0
    @staticmethod
    def device_count():
        names = os.environ.get("CUDA_VISIBLE_DEVICES")
        return facts["gpus"] if names is None else sum(n in facts["known"] for n in names.split(","))
    @staticmethod
    def init(): raise RuntimeError("Found no NVIDIA driver on your system.\\nMore words")
"""
FAKE_DISTRIBUTED = """
from torch import facts
def is_available(): return facts.get("distributed", True)
def is_gloo_available(): return facts.get("gloo", True)
def is_nccl_available(): return facts.get("nccl", True)
"""


@pytest.fixture
def job(tmp_path: Path) -> JobSpec:
    work = tmp_path / "work"
    work.mkdir()
    (work / "train.py").write_text("raise SystemExit('the script was run')\n")
    return JobSpec(title="t", target="train.py", interpreter=sys.executable, working_folder=str(work))


@pytest.fixture
def fake_torch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """A function that makes ``import torch`` give something with the wanted facts."""
    package = tmp_path / "fake" / "torch"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text(FAKE_TORCH)
    (package / "distributed.py").write_text(FAKE_DISTRIBUTED)
    monkeypatch.setenv("PYTHONPATH", str(package.parent))
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)

    def set_facts(**facts: Any) -> None:
        monkeypatch.setenv("FAKE_TORCH", json.dumps({"known": [], **facts}))

    set_facts()
    return set_facts


def refused(spec: JobSpec, **options: Any) -> tuple[str, str]:
    with pytest.raises(DashboardError) as error:
        run_preflight(spec, **options)
    message, hint = error.value.message, error.value.hint
    for text in (message, hint):
        assert "\n" not in text
        assert text.endswith(".")
    return message, hint


def write_script(path: Path, text: str) -> str:
    path.write_text(text)
    path.chmod(0o755)
    return str(path)


def test_this_interpreter_is_fit(job: JobSpec) -> None:
    import torch

    found = run_preflight(job)
    assert found.torch == str(torch.__version__)
    assert found.python == ".".join(str(part) for part in sys.version_info[:3])
    assert found.gloo
    assert found.versions()["torch"] == found.torch
    assert found.warnings == ()


def test_words_that_cannot_be_passed(job: JobSpec) -> None:
    assert refused(replace(job, ranks=0))[0] == "A job of 0 ranks cannot run."
    assert refused(replace(job, target=""))[0] == "No script was chosen."
    assert refused(replace(job, target=".a", is_module=True))[0] == ".a is no name of a module."
    assert "no regular expression" in refused(replace(job, loss_pattern="("))[0]
    assert "NUL byte" in refused(replace(job, arguments=("a\0b",)))[0]
    assert "no name of an environment variable" in refused(replace(job, environment={"A=B": "1"}))[0]


def test_more_ranks_than_the_machine_can_hold(job: JobSpec) -> None:
    assert refused(replace(job, ranks=10**8))[0] == "100,000,000 ranks are more than can be run here."
    memory_bytes = this_host().memory_bytes
    most = memory_bytes // (100 * 2**20)
    if most < MOST_RANKS:
        assert "do not fit into" in refused(replace(job, ranks=most + 1))[0]


@pytest.mark.parametrize(("version", "warned"), [("2.4.1", True), ("2.8.0", False)])
def test_fully_shard_that_needs_cuda(job: JobSpec, fake_torch: Any, version: str, warned: bool) -> None:
    """PyTorch 2.4 makes CUDA streams in fully_shard, on the CPU too."""
    fake_torch(version=version)
    Path(job.working_folder, job.target).write_text("import x\nx.fully_shard(model)\n")
    warnings = run_preflight(job).warnings
    assert any("fully_shard" in warning for warning in warnings) == warned


def test_interpreter_that_is_none(job: JobSpec, tmp_path: Path) -> None:
    def said(interpreter: str) -> str:
        return refused(replace(job, interpreter=interpreter))[0]

    (tmp_path / "plain").write_text("x")
    assert said("python3") == "The interpreter python3 is not a full path."
    assert said(str(tmp_path / "gone")) == f"There is no interpreter {tmp_path}/gone."
    assert said(str(tmp_path)) == f"{tmp_path} is a folder, not an interpreter."
    assert said(str(tmp_path / "plain")) == f"{tmp_path}/plain may not be executed."
    other = write_script(tmp_path / "other", "#!/bin/sh\necho 'not me' >&2\nexit 3\n")
    assert said(other) == f"{other} is no working Python: not me."
    binary = write_script(tmp_path / "binary", "\x7fELF")
    assert said(binary).startswith(f"{binary} cannot be started: ")


@pytest.mark.parametrize(
    ("field", "changes"),
    [
        ("ranks", {"ranks": 0}),
        ("target", {"target": ""}),
        ("target", {"target": "other.py"}),
        ("interpreter", {"interpreter": "/no/python"}),
        ("working_folder", {"working_folder": "/no/folder"}),
        ("environment", {"environment": {"a=b": "1"}}),
        ("loss_rule", {"loss_pattern": "loss ("}),
        ("gpus", {"device": "cuda", "gpus": ("0", "0"), "ranks": 4}),
    ],
)
def test_what_is_refused_names_its_field(job: JobSpec, field: str, changes: dict[str, Any]) -> None:
    with pytest.raises(FieldError) as error:
        run_preflight(replace(job, **changes))
    assert error.value.field == field


def test_what_the_interpreter_lacks_names_its_field(job: JobSpec, fake_torch: Any) -> None:
    cases: tuple[tuple[dict[str, Any], DeviceKind, str], ...] = (
        ({"version": "2.3.1"}, "cpu", "interpreter"),
        ({"gloo": False}, "cpu", "interpreter"),
        ({"gpus": 0}, "cuda", "ranks"),
    )
    for facts, device, field in cases:
        fake_torch(**facts)
        with pytest.raises(FieldError) as error:
            run_preflight(replace(job, device=device))
        assert error.value.field == field


def test_names_that_are_too_long(job: JobSpec, tmp_path: Path) -> None:
    long = str(tmp_path / ("a" * 5000))
    for wrong in (
        replace(job, target=long),
        replace(job, interpreter=long),
        replace(job, working_folder=long),
    ):
        assert refused(wrong)[0].startswith("There is no ")
    assert run_preflight(job, data_folder=Path(long)).gloo


def test_virtual_environment_is_pointed_at(job: JobSpec, tmp_path: Path) -> None:
    (tmp_path / "venv" / "bin").mkdir(parents=True)
    (tmp_path / "venv" / "bin" / "python").touch()
    hint = refused(replace(job, interpreter=str(tmp_path / "venv")))[1]
    assert hint == f"Choose {tmp_path}/venv/bin/python."


def test_python_that_is_too_old(job: JobSpec, tmp_path: Path) -> None:
    old = write_script(
        tmp_path / "python3.8", """#!/bin/sh\necho '{"kind": "python", "version": "3.8.20", "path": ""}'\n"""
    )
    assert refused(replace(job, interpreter=old)) == (
        f"{old} is Python 3.8.20, which is too old.",
        "Choose an interpreter of Python 3.9 or newer.",
    )


def test_script_and_folder_that_are_absent(job: JobSpec, tmp_path: Path) -> None:
    work = job.working_folder
    assert refused(replace(job, target="tain.py"))[0] == f"There is no script tain.py (looked in {work})."
    assert refused(replace(job, target="pkg.train"))[1] == "Start it as a module (-m)."
    assert refused(replace(job, target=work))[0] == f"{work} is a folder, not a script."
    assert refused(replace(job, working_folder=f"{work}/no"))[0] == f"There is no working folder {work}/no."
    os.mkfifo(Path(work) / "pipe.py")
    assert refused(replace(job, target="pipe.py"))[0] == "The script pipe.py cannot be read."


def test_script_with_a_syntax_error(job: JobSpec) -> None:
    (Path(job.working_folder) / "train.py").write_text("import os\ndef f(:\n")
    message, hint = refused(job)
    assert message == "train.py has a syntax error in line 2: invalid syntax."
    assert hint.startswith("Python 3.")


@pytest.fixture
def package(job: JobSpec) -> JobSpec:
    """A package that would say so, and stop the check, if any of it were imported."""
    pkg = Path(job.working_folder) / "pkg"
    (pkg / "inner").mkdir(parents=True)
    for path in (pkg / "__init__.py", pkg / "train.py", pkg / "inner" / "__main__.py"):
        path.write_text("import time, sys\nopen('imported', 'w')\ntime.sleep(600)\n")
    return replace(job, is_module=True, target="pkg.train")


def test_module_is_found_without_running_its_package(package: JobSpec, fake_torch: Any) -> None:
    run_preflight(package)
    run_preflight(replace(package, target="pkg.inner"))
    run_preflight(replace(package, target="json.tool"))
    assert not (Path(package.working_folder) / "imported").exists()


def test_module_that_is_absent(package: JobSpec) -> None:
    assert refused(replace(package, target="pkg.tain"))[0] == "There is no module tain in pkg."
    assert refused(replace(package, target="pkg.train.x"))[0] == "There is no module x in pkg.train."
    assert refused(replace(package, target="pkg"))[0] == (
        "pkg is a package and cannot be started: it has no __main__."
    )
    message = refused(replace(package, target="pgk.train"))[0]
    assert message == f"There is no module pgk from {package.working_folder}."


def test_pytorch_that_is_absent_or_broken(job: JobSpec, tmp_path: Path, fake_torch: Any) -> None:
    bare = write_script(tmp_path / "bare", f"#!/bin/sh\nexec '{sys.executable}' -S -E \"$@\"\n")
    assert refused(replace(job, interpreter=bare))[0] == f"PyTorch is not installed for {bare}."
    fake_torch(code="raise OSError('libcudart.so.13: cannot open')")
    assert refused(job)[0] == (
        f"PyTorch cannot be imported by {sys.executable}: OSError: libcudart.so.13: cannot open."
    )
    fake_torch(code="import numpy_of_the_future")
    assert "No module named 'numpy_of_the_future'" in refused(job)[0]
    fake_torch(code="os.kill(os.getpid(), 11)")
    assert refused(job)[0] == f"{sys.executable} was killed by signal 11 while it was importing torch."
    fake_torch(code="sys.exit(4)")
    assert refused(job)[0] == f"{sys.executable} ended with exit code 4 while it was importing torch."


def test_pytorch_of_the_wrong_kind(job: JobSpec, fake_torch: Any) -> None:
    fake_torch(version="2.3.1+cu121")
    assert refused(job)[0] == f"PyTorch 2.3.1+cu121 of {sys.executable} is too old."
    fake_torch(version="2.4.0")
    assert run_preflight(job).torch == "2.4.0"
    fake_torch(distributed=False)
    assert refused(job)[0] == f"PyTorch of {sys.executable} was built without torch.distributed."
    fake_torch(gloo=False)
    assert refused(job)[0] == "PyTorch of this interpreter has no gloo backend, which CPU ranks need."


def test_ranks_against_gpus(job: JobSpec, fake_torch: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    job = replace(job, device="cuda", ranks=4)
    fake_torch(gpus=4)
    assert run_preflight(job) == Preflight(
        python=".".join(str(part) for part in sys.version_info[:3]),
        torch="2.13.0",
        cuda="13.0",
        nccl="2.29.3",
        gloo=True,
        gpu_count=4,
    )
    fake_torch(gpus=2)
    assert refused(job) == (
        "4 ranks need 4 GPUs; PyTorch sees 2.",
        "Choose 2 ranks or fewer, or device cpu.",
    )
    fake_torch(gpus=4, nccl=False)
    assert "has no NCCL" in refused(job)[0]
    fake_torch(gpus=0)
    message = "PyTorch 2.13.0 sees no NVIDIA GPU: Found no NVIDIA driver on your system."
    assert refused(job)[0] == message
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    assert refused(job)[0] == "CUDA_VISIBLE_DEVICES is empty: it hides every GPU."


def test_cpu_build_on_a_cuda_job(job: JobSpec, fake_torch: Any) -> None:
    fake_torch(version="2.13.0+cpu", cuda=None)
    assert refused(replace(job, device="cuda")) == (
        "PyTorch 2.13.0+cpu was built without CUDA: it sees no NVIDIA GPU.",
        "Choose device cpu (gloo), or an interpreter that sees the GPUs.",
    )


GPUS = [GpuInfo(index=i, uuid=f"GPU-0000000{i}", name="H100") for i in range(4)]


def test_gpus_by_index_and_uuid(job: JobSpec, fake_torch: Any) -> None:
    """Case M08."""
    fake_torch(gpus=4, known=["2", "0", "GPU-00000002"])
    job = replace(job, device="cuda", ranks=2, gpus=("2", "0"))
    assert run_preflight(job, gpus=GPUS).gpu_count == 2
    assert run_preflight(replace(job, gpus=("GPU-00000002", "0")), gpus=GPUS).gpu_count == 2
    assert refused(replace(job, gpus=("7", "0")), gpus=GPUS)[0] == (
        "There is no GPU 7 on this machine (indices: 0, 1, 2, 3)."
    )
    assert refused(replace(job, gpus=("2", "GPU-00000002")), gpus=GPUS)[0] == (
        "GPU 2 is named twice, as 2 and as GPU-00000002."
    )
    assert refused(replace(job, gpus=("2",)), gpus=GPUS)[0] == "2 ranks need 2 GPUs; 1 is chosen."
    assert refused(replace(job, gpus=("2", "GPU-ff")))[0] == (
        "Of the 2 GPUs that are named (2, GPU-ff) PyTorch sees 1."
    )


NCCL = "import torch.distributed as dist\ndef main():\n    dist.init_process_group('nccl')\nmain()\n"
EITHER = "dist.init_process_group('nccl' if torch.cuda.is_available() else 'gloo')\n"
GUARDED = "if torch.cuda.is_available():\n    dist.init_process_group(backend='nccl')\n"
GLOO = "init_process_group(backend='gloo')\nfully_shard(model)\n"


def test_backend_that_does_not_fit_the_devices(job: JobSpec, fake_torch: Any) -> None:
    """Case L17."""
    script = Path(job.working_folder) / "train.py"
    cuda = replace(job, device="cuda")
    fake_torch(gpus=1)
    script.write_text(NCCL)
    message, hint = refused(job)
    assert message == (
        "train.py asks for the NCCL backend, which needs NVIDIA GPUs; this job runs on the CPU."
    )
    assert "gloo" in hint
    run_preflight(cuda)
    script.write_text(EITHER)
    assert run_preflight(job).warnings == ()
    script.write_text(GUARDED)
    assert run_preflight(job).warnings == (
        "The script names only the NCCL backend; on the CPU it needs gloo.",
    )
    script.write_text(GLOO)
    run_preflight(job)
    message, hint = refused(cuda)
    assert message.startswith("train.py asks for the gloo backend")
    assert "device cpu" in hint


def processes_in(folder: str) -> list[psutil.Process]:
    found = []
    for process in psutil.process_iter(["cwd", "pid"]):
        if process.info["cwd"] == folder and process.pid != os.getpid():
            found.append(process)
    return found


def test_check_that_hangs_is_ended_with_all_it_started(job: JobSpec, fake_torch: Any) -> None:
    fake_torch(code="import subprocess, time; subprocess.Popen(['sleep', '600']); time.sleep(600)")
    message, hint = refused(job, timeout_s=1.0)
    assert message == f"{sys.executable} did not answer within 1 s (it was importing torch)."
    assert hint.startswith("Try again")
    # A killed process is listed until it is reaped, by whoever inherited it.
    _, alive = psutil.wait_procs(processes_in(job.working_folder), timeout=10)
    assert alive == []


def test_check_that_is_cancelled(job: JobSpec, fake_torch: Any) -> None:
    fake_torch(code="import time; time.sleep(600)")
    began = time.monotonic()
    message, _ = refused(job, cancelled=lambda: time.monotonic() - began > 0.3)
    assert message == "The check was cancelled."
    assert processes_in(job.working_folder) == []


def test_what_an_import_prints_does_not_disturb_the_answers(job: JobSpec, fake_torch: Any) -> None:
    fake_torch(code="print('{\"kind\": \"torch\"}' * 3); os.system('echo noise; echo noise >&2')")
    assert run_preflight(job).torch == "2.13.0"


def test_disk_of_the_run_folders(job: JobSpec, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "disk_usage", lambda _: SimpleNamespace(free=10 * 2**20))
    message, _ = refused(job, data_folder=tmp_path / "not" / "yet")
    assert message == f"The disk that holds the run folders has 10 MiB left ({tmp_path})."
