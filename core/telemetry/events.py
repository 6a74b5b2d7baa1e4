"""The wire format of a run: one JSON object a line, in append-only files.

Three kinds of file share it. ``ranks/<r>.jsonl`` is written by the rank agent
of global rank r, ``gpus.jsonl`` by the GPU sampler, ``supervisor.jsonl`` by the
supervisor; each has one writer. ``control.jsonl`` is written by whoever asks
(window, command line) and read by agents and supervisor.

Every record has ``kind``, ``seq`` (1, 2, 3, ... per file, no gaps unless records
were lost) and ``t_ns`` (Unix time, ns). Floats that JSON cannot hold are the
strings "nan", "inf", "-inf". A reader skips a kind that it does not know and
counts it; a field that it does not know is ignored. A writer whose write failed
begins its next record with a newline, so blank lines are allowed.
"""

from __future__ import annotations

from typing import Literal

import msgspec

# Under its own name: readers of a run know all records from here.
from core.hardware.readings import GpuProcess as GpuProcess  # noqa: PLC0414
from core.hardware.readings import GpuReading as GpuReading  # noqa: PLC0414

WIRE_VERSION = 1

Number = float | Literal["nan", "inf", "-inf"]


class Event(msgspec.Struct, frozen=True, kw_only=True, tag_field="kind"):
    """What every record holds."""

    seq: int
    t_ns: int


# --- ranks/<r>.jsonl ---------------------------------------------------------


class RankStarted(Event, frozen=True, kw_only=True, tag="start"):
    """First record of a process: who it is. A restarted rank writes another.

    ``create_time_s`` tells its process from a later one of the same pid: seconds
    since boot on Linux, None elsewhere and from agents before 2026-11-29.
    """

    wire: int
    rank: int
    local_rank: int
    world_size: int
    pid: int
    host: str
    python: str
    argv: list[str]
    cwd: str
    restart: int = 0
    create_time_s: float | None = None


class TorchReady(Event, frozen=True, kw_only=True, tag="torch"):
    """The script has imported torch and the hooks are in place.

    ``missing_hooks`` names the places for which this torch has none.
    """

    torch: str
    cuda: str | None = None
    nccl: str | None = None
    device: Literal["cuda", "mps", "cpu"] = "cpu"
    device_name: str | None = None
    device_uuid: str | None = None
    missing_hooks: list[str] = []


class Step(Event, frozen=True, kw_only=True, tag="step"):
    """An optimizer step has ended.

    ``step_time_ns`` is None for the first step. ``backward_ns`` and
    ``optimizer_ns`` are host time, not device time. Memory is absent where the
    device has no such figure.
    """

    step: int
    micro_steps: int
    step_time_ns: int | None = None
    backward_ns: int | None = None
    optimizer_ns: int | None = None
    learning_rate: float | None = None
    allocated_bytes: int | None = None
    reserved_bytes: int | None = None
    peak_bytes: int | None = None
    alloc_retries: int | None = None
    ooms: int | None = None


class Loss(Event, frozen=True, kw_only=True, tag="loss"):
    """Sum of the micro-losses of a step. On CUDA it arrives some steps later."""

    step: int
    value: Number
    micro_steps: int = 1


class GradNorm(Event, frozen=True, kw_only=True, tag="grad_norm"):
    """Total gradient norm as the script computed it.

    ``partial``: it was a DTensor and this is the local part only, because
    making it whole would be a collective.
    """

    step: int
    value: Number
    partial: bool = False


class Heartbeat(Event, frozen=True, kw_only=True, tag="heartbeat"):
    """Written twice a second by a thread, also while the script hangs."""

    step: int
    phase: Literal["start", "forward", "backward", "optimizer", "idle"]
    resident_bytes: int | None = None
    allocated_bytes: int | None = None
    reserved_bytes: int | None = None
    peak_bytes: int | None = None
    agent_cpu_ns: int | None = None


class RankException(Event, frozen=True, kw_only=True, tag="exception"):
    """The script raised, or left by a SystemExit with words. ``traceback``: the user's frames only."""

    type: str
    message: str
    traceback: str
    step: int
    out_of_memory: bool = False


class CaptureStarted(Event, frozen=True, kw_only=True, tag="capture_started"):
    """A capture that was asked for has begun at a step boundary."""

    request: str
    step: int


class CaptureReady(Event, frozen=True, kw_only=True, tag="capture"):
    """A file is whole and has its final name, relative to the run folder."""

    request: str
    what: Literal["trace", "snapshot", "stacks"]
    file: str
    step: int
    file_bytes: int
    stop_ns: int | None = None


class CaptureFailed(Event, frozen=True, kw_only=True, tag="capture_failed"):
    """A capture could not be taken; the training goes on."""

    request: str
    what: str
    message: str


class AgentProblem(Event, frozen=True, kw_only=True, tag="problem"):
    """The agent could not do part of its work; the script is not disturbed."""

    message: str


class RankEnded(Event, frozen=True, kw_only=True, tag="end"):
    """Last record: the exit code that the script's end asks for."""

    exit_code: int
    steps: int
    lost_records: int = 0
    agent_cpu_ns: int | None = None


RankEvent = (
    RankStarted
    | TorchReady
    | Step
    | Loss
    | GradNorm
    | Heartbeat
    | RankException
    | CaptureStarted
    | CaptureReady
    | CaptureFailed
    | AgentProblem
    | RankEnded
)


# --- supervisor.jsonl --------------------------------------------------------


class LauncherStarted(Event, frozen=True, kw_only=True, tag="launcher_started"):
    """torchrun runs."""

    pid: int
    create_time_s: float


class Processes(Event, frozen=True, kw_only=True, tag="processes"):
    """Descendants that were not there before: ``[pid, create_time_s]`` each."""

    started: list[tuple[int, float]]


class SignalSent(Event, frozen=True, kw_only=True, tag="signal"):
    """A stop or a clean-up has escalated to this signal."""

    signal: str
    pids: list[int]
    why: Literal["stop", "kill", "orphans"]


class LauncherExited(Event, frozen=True, kw_only=True, tag="launcher_exited"):
    """torchrun has ended; negative is a signal."""

    exit_code: int


class SupervisorProblem(Event, frozen=True, kw_only=True, tag="supervisor_problem"):
    """Something that the user should know and that did not end the run."""

    message: str


class SupervisorEnded(Event, frozen=True, kw_only=True, tag="supervisor_ended"):
    """No descendant is left."""

    status: str


SupervisorEvent = (
    LauncherStarted | Processes | SignalSent | LauncherExited | SupervisorProblem | SupervisorEnded
)


# --- gpus.jsonl --------------------------------------------------------------


class GpuSample(Event, frozen=True, kw_only=True, tag="gpus"):
    """All GPUs at one moment."""

    gpus: list[GpuReading]


class GpusUnavailable(Event, frozen=True, kw_only=True, tag="gpus_unavailable"):
    """NVML cannot be used, and why. Written once."""

    reason: str
    hint: str


class GpuNote(Event, frozen=True, kw_only=True, tag="gpu_note"):
    """Something odd in the driver's answers, written once a kind."""

    message: str


GpuEvent = GpuSample | GpusUnavailable | GpuNote


# --- control.jsonl -----------------------------------------------------------


class StopRequest(Event, frozen=True, kw_only=True, tag="stop"):
    """End gracefully; ``now`` skips straight to SIGKILL."""

    now: bool = False


class CaptureRequest(Event, frozen=True, kw_only=True, tag="capture_request"):
    """Ask agents for a trace, a CUDA memory snapshot, or all thread stacks.

    Control records have several writers: ``seq`` is 0 and ``request`` (a
    random name) tells them apart.
    """

    request: str
    what: Literal["trace", "snapshot", "stacks"]
    steps: int = 2
    first_step: int | None = None
    ranks: list[int] | None = None
    with_stack: bool = False
    with_memory: bool = True


ControlEvent = StopRequest | CaptureRequest
