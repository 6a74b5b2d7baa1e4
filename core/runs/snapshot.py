"""What a live run looks like at one moment: data that the window and the terminal show.

Made by ``core.runs.monitor``; nothing here reads a file.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Literal

from core.runs.manifest import seen_status
from core.telemetry.views import Level, LogLine, Series

if TYPE_CHECKING:
    from core.runs.manifest import Manifest, Status
    from core.telemetry.events import GpuReading

__all__ = [
    "ALL_RANKS",
    "SERIES",
    "Alert",
    "Capture",
    "Level",
    "LogLine",
    "RankState",
    "RankStatus",
    "RunSnapshot",
    "Series",
]


class RankStatus(StrEnum):
    """State of one rank. ``WAITING``: for another rank, inside a collective."""

    NOT_STARTED = "not started"
    STARTING = "starting"
    RUNNING = "running"
    SLOW = "slow"
    WAITING = "waiting"
    SILENT = "silent"
    DONE = "done"
    FAILED = "failed"
    STOPPED = "stopped"
    GONE = "gone"


@dataclass(frozen=True, slots=True, kw_only=True)
class RankState:
    """The newest figures of one rank; None was not measured (yet).

    Attributes:
        driver_bytes: Memory that the driver counts for this process.
        gpu_index: NVML index of the GPU that the rank computes on, or has a slice of.
        gpu_uuid: Of that GPU or MIG slice.
        own_ns: Step time less the time the rank is known to have waited.
        last_sign_ns: Unix time of the newest record of any kind.
        first_sequence, last_sequence: Of the rank's file, to prove completeness.
        lost_records: Gaps in the sequence.
        missing_hooks: What the agent would watch but this rank's torch lacks.
    """

    rank: int
    status: RankStatus
    pid: int | None = None
    device: str | None = None
    gpu_index: int | None = None
    gpu_uuid: str | None = None
    step: int | None = None
    loss: float | None = None
    loss_step: int | None = None
    loss_source: Literal["autograd", "log", "rule"] | None = None
    step_time_ns: int | None = None
    own_ns: int | None = None
    grad_norm: float | None = None
    grad_norm_partial: bool = False
    learning_rate: float | None = None
    resident_bytes: int | None = None
    allocated_bytes: int | None = None
    reserved_bytes: int | None = None
    peak_bytes: int | None = None
    driver_bytes: int | None = None
    alloc_retries: int | None = None
    ooms: int | None = None
    exception: str | None = None
    traceback: str | None = None
    exit_code: int | None = None
    last_sign_ns: int | None = None
    first_sequence: int | None = None
    last_sequence: int | None = None
    lost_records: int = 0
    restarts: int = 0
    missing_hooks: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Alert:
    """Something that the user should look at, newest facts in ``message``.

    ``key`` names it for good, so that a repeated finding updates its alert
    instead of adding one.
    """

    key: str
    level: Level
    t_ns: int
    message: str
    hint: str = ""
    rank: int | None = None
    step: int | None = None


SERIES: dict[str, tuple[str, str]] = {
    "loss": ("step", ""),
    "step_time": ("step", "ms"),
    "own_time": ("step", "ms"),
    "skew": ("step", "ms"),
    "grad_norm": ("step", ""),
    "learning_rate": ("step", ""),
    "resident": ("s", "GiB"),
    "allocated": ("s", "GiB"),
    "reserved": ("s", "GiB"),
    "driver": ("s", "GiB"),
    "gpu_used": ("s", "GiB"),
    "utilization": ("s", "%"),
    "power": ("s", "W"),
    "temperature": ("s", "\N{DEGREE SIGN}C"),
    "sm_clock": ("s", "MHz"),
    "nvlink": ("s", "GB/s"),
}
"""Name of each series -> (what x is, unit of y). All are kept per rank but "skew", which is of all ranks."""

ALL_RANKS = -1
"""Stands for the rank of a series that is one for all of them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Capture:
    """A capture that was asked for, running, ready or failed.

    Attributes:
        t_ns: Unix time at which it came to this state.
    """

    request: str
    what: str
    rank: int
    state: Literal["running", "ready", "failed"]
    file: str | None = None
    step: int | None = None
    file_bytes: int | None = None
    message: str = ""
    t_ns: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RunSnapshot:
    """One consistent view of a run.

    Attributes:
        version: Grows with every change; an equal version is an equal run.
        alive: The supervisor is there.
        headline: One line on the state: what it does, or what went wrong.
        series: By name of ``SERIES``, then by global rank or ``ALL_RANKS``; empty ones absent.
        gpus: Newest reading of each GPU, () if there is none.
        gpus_unavailable: Why there is none and what to do, "" if there is.
        problems: All that was skipped or repaired while reading, counted.
    """

    version: int
    manifest: Manifest
    alive: bool
    headline: str
    ranks: tuple[RankState, ...]
    alerts: tuple[Alert, ...]
    series: dict[str, dict[int, Series]]
    captures: tuple[Capture, ...] = ()
    gpus: tuple[GpuReading, ...] = ()
    gpus_unavailable: str = ""
    problems: tuple[tuple[str, int, str], ...] = ()

    @property
    def status(self) -> Status:
        """What was written, or "lost" where no end was and the supervisor is gone."""
        return seen_status(self.manifest.status, alive=self.alive)
