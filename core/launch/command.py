"""From a job spec to what is started: argument list and environment. Pure, and no shell anywhere."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass

from core.files import AGENT
from core.launch.processes import DEFAULT_GRACE_S
from core.runs.job import JobSpec
from core.runs.store import RunFolder

_SHUTDOWN_TIMEOUT_SINCE = (2, 12)
_SAFE_PATH_SINCE = (3, 11)

_WITHOUT_WORKING_FOLDER = (
    "import sys; del sys.path[0]; import runpy; "
    "runpy.run_module('torch.distributed.run', run_name='__main__', alter_sys=True)"
)

_LEFT_OUT_PREFIXES = ("TORCHELASTIC_", "PET_", "RIDGELINE_")
_LEFT_OUT = frozenset(
    {
        "RANK",
        "LOCAL_RANK",
        "GROUP_RANK",
        "ROLE_RANK",
        "ROLE_NAME",
        "WORLD_SIZE",
        "LOCAL_WORLD_SIZE",
        "GROUP_WORLD_SIZE",
        "ROLE_WORLD_SIZE",
        "MASTER_ADDR",
        "MASTER_PORT",
        "PYTHON_EXEC",
        "PYTHONEXECUTABLE",
        "PYTHONHOME",
        "PYTHONINSPECT",
        "PYTHONPLATLIBDIR",
        "PYTHONSAFEPATH",
        "__PYVENV_LAUNCHER__",
    }
)
"""Of the launching environment: what another torchrun left there, what would
start another Python than the chosen one, and what was meant for Ridgeline itself."""

_SHOWN = re.compile(
    r"(CUDA|NCCL|GLOO|TORCH|PYTORCH|OMP|MKL|OPENBLAS|KMP|TRITON|PET|RIDGELINE|NVIDIA|HIP|ROCR)_?\w*"
    r"|LD_LIBRARY_PATH|LD_PRELOAD|PATH|PYTHON\w*|VIRTUAL_ENV|CONDA_PREFIX|MASTER_ADDR|MASTER_PORT"
)
_SECRET = re.compile(r"KEY|TOKEN|SECRET|PASSW|CREDENTIAL|AUTH", re.IGNORECASE)
HIDDEN = "(set, not shown)"


@dataclass(frozen=True, slots=True)
class Launch:
    """What the supervisor starts.

    Attributes:
        shown_environment: The variables that matter to the job, to be kept with
            the run; values that look like secrets are replaced.
    """

    argv: tuple[str, ...]
    environment: dict[str, str]
    shown_environment: dict[str, str]


def build_launch(
    spec: JobSpec,
    folder: RunFolder,
    *,
    torch_version: str,
    base_environment: Mapping[str, str],
    python_version: str = "",
) -> Launch:
    """Turns a job spec into the torchrun command that runs it under the rank agent.

    Args:
        spec: What to run.
        folder: Where the agent writes; its name is the rendezvous id.
        torch_version: Of the interpreter, "" if unknown: then only options
            that every supported torchrun has are used.
        base_environment: What the job would have got from the user's terminal.
        python_version: Of the interpreter, "" if unknown.

    Source: torch/distributed/run.py of 2.4 to 2.13; --shutdown-timeout came
    with 2.12 (pytorch/pytorch#172596).
    """
    options = [
        "--nnodes=1",
        f"--nproc-per-node={spec.ranks}",
        "--rdzv-backend=c10d",
        "--rdzv-endpoint=localhost:0",
        f"--rdzv-id={folder.id}",
        "--local-addr=127.0.0.1",
        "--max-restarts=0",
    ]
    if _version(torch_version) >= _SHUTDOWN_TIMEOUT_SINCE:
        options.append(f"--shutdown-timeout={math.ceil(2 * DEFAULT_GRACE_S) + 1}")
    target = ["-m", spec.target] if spec.is_module else [spec.target]
    environment = job_environment(spec, base_environment)
    environment["RIDGELINE_RUN_DIR"] = str(folder.path)
    if spec.profile is not None:
        environment["RIDGELINE_PROFILE"] = json.dumps(asdict(spec.profile))
    # Without "--" torchrun looks at the script's words too: "--nproc 9" is ambiguous to it and ends the job.
    words = ["--", str(AGENT), *target, *spec.arguments]
    return Launch(
        argv=(spec.interpreter, *torchrun_words(python_version), *options, *words),
        environment=environment,
        shown_environment=_shown(environment, spec),
    )


def job_environment(spec: JobSpec, base_environment: Mapping[str, str]) -> dict[str, str]:
    """Returns the environment of the job's interpreter, without what is particular to one run."""
    environment = {
        name: value
        for name, value in base_environment.items()
        if name not in _LEFT_OUT and not name.startswith(_LEFT_OUT_PREFIXES)
    }
    heartbeat = base_environment.get("RIDGELINE_HEARTBEAT_S")
    if heartbeat is not None:
        environment["RIDGELINE_HEARTBEAT_S"] = heartbeat
    environment["PYTHONUNBUFFERED"] = "1"
    environment |= spec.environment
    if spec.device == "cpu":
        environment["CUDA_VISIBLE_DEVICES"] = ""
    elif spec.gpus is not None:
        environment["CUDA_VISIBLE_DEVICES"] = ",".join(spec.gpus)
        if any(name.isdecimal() for name in spec.gpus):
            # Numbers are NVML's; CUDA's own default order is another one.
            environment["CUDA_DEVICE_ORDER"] = "PCI_BUS_ID"
    return environment


def names_a_secret(variable: str) -> bool:
    """Tells whether the value of a variable is one to keep to oneself, by its name."""
    return _SECRET.search(variable) is not None


def torchrun_words(python_version: str) -> tuple[str, ...]:
    """Returns the arguments that start torchrun without the working folder on its path.

    With plain ``-m`` a user's queue.py or core/ would shadow what torchrun
    itself imports. ``-P`` does that from Python 3.11 on.
    """
    if _version(python_version) >= _SAFE_PATH_SINCE:
        return ("-P", "-m", "torch.distributed.run")
    return ("-c", _WITHOUT_WORKING_FOLDER)


def _version(text: str) -> tuple[int, int]:
    match = re.match(r"(\d+)\.(\d+)", text)
    return (int(match[1]), int(match[2])) if match else (0, 0)


def _shown(environment: Mapping[str, str], spec: JobSpec) -> dict[str, str]:
    return {
        name: HIDDEN if names_a_secret(name) else value
        for name, value in sorted(environment.items())
        if name in spec.environment or _SHOWN.fullmatch(name)
    }
