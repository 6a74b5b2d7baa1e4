"""What is said of a rank: the word and icon of its state, its device, its memory figure.

Pure choices that the cards, the grid and the inspector share.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from core.runs.snapshot import RankStatus

if TYPE_CHECKING:
    from core.runs.snapshot import RankState, RunSnapshot
    from core.telemetry.events import GpuReading


@dataclass(frozen=True, slots=True)
class StatusLook:
    """Icon, word and level of a state: never colour alone."""

    icon: str
    word: str
    level: str


STATUS_LOOKS: dict[RankStatus, StatusLook] = {
    RankStatus.NOT_STARTED: StatusLook("circle-dashed", "Not started", "none"),
    RankStatus.STARTING: StatusLook("spinner-gap", "Starting", "info"),
    RankStatus.RUNNING: StatusLook("check", "Running", "ok"),
    RankStatus.SLOW: StatusLook("warning", "Slow", "warn"),
    RankStatus.WAITING: StatusLook("clock-counter-clockwise", "Waiting", "none"),
    RankStatus.SILENT: StatusLook("warning-octagon", "Silent", "error"),
    RankStatus.DONE: StatusLook("check-circle", "Done", "ok"),
    RankStatus.FAILED: StatusLook("warning-octagon", "Failed", "error"),
    RankStatus.STOPPED: StatusLook("stop", "Stopped", "none"),
    RankStatus.GONE: StatusLook("question", "Gone", "error"),
}

STATUS_MEANINGS: dict[RankStatus, str] = {
    RankStatus.NOT_STARTED: "Its process has not reported yet.",
    RankStatus.STARTING: "Its process runs, its first step has not ended.",
    RankStatus.RUNNING: "Its steps go on.",
    RankStatus.SLOW: "It needs longer for its own work than the others and holds them back.",
    RankStatus.WAITING: "It waits for another rank inside a collective.",
    RankStatus.SILENT: "Its process lives but ends no step, and it is the one that others wait for.",
    RankStatus.DONE: "It has ended with exit code 0.",
    RankStatus.FAILED: "It has ended with an error.",
    RankStatus.STOPPED: "It was stopped.",
    RankStatus.GONE: "Its process is gone without having written an end.",
}

NO_OWN_WORK = "Not measured: nothing here tells waiting for other ranks from own work."


def gpu_of(state: RankState, snapshot: RunSnapshot) -> GpuReading | None:
    """Newest reading of the GPU that a rank computes on; None on CPU or without readings.

    Of a slice that of the whole GPU: only this one has clocks and power.
    """
    if state.gpu_index is None:
        return None
    found = [gpu for gpu in snapshot.gpus if gpu.index == state.gpu_index]
    whole = [gpu for gpu in found if gpu.slice_index is None]
    return next(iter(whole or found), None)


def _memory_total_bytes(state: RankState, snapshot: RunSnapshot) -> int | None:
    """What the rank can fill: the memory of its GPU, or of its slice."""
    own = next((gpu for gpu in snapshot.gpus if gpu.uuid == state.gpu_uuid), gpu_of(state, snapshot))
    return None if own is None else own.total_bytes


def device_words(state: RankState, snapshot: RunSnapshot) -> str:
    """The rank's device: "GPU 2", "CPU", or what the rank itself calls it."""
    if state.gpu_index is not None:
        return f"GPU {state.gpu_index}"
    device = state.device or snapshot.manifest.job.device
    return device.upper() if device in ("cpu", "mps", "cuda") else device


@dataclass(frozen=True, slots=True)
class MemoryFigure:
    """The one figure of a card, and its meter.

    Attributes:
        figure_bytes: None is not measured.
        resident: It is the process' share of the host's memory, not what tensors hold.
        peak_bytes: None where there is no such figure.
        used_bytes, held_bytes, total_bytes: The meter's solid part, its paler
            part, and its whole.
    """

    figure_bytes: int | None
    resident: bool
    peak_bytes: int | None = None
    used_bytes: int | None = None
    held_bytes: int | None = None
    total_bytes: int | None = None


def memory_of(state: RankState, snapshot: RunSnapshot) -> MemoryFigure:
    """Allocated memory on an accelerator; on CPU it is resident memory and says so."""
    if state.allocated_bytes is not None or snapshot.manifest.job.device == "cuda":
        return MemoryFigure(
            figure_bytes=state.allocated_bytes,
            resident=False,
            peak_bytes=state.peak_bytes,
            used_bytes=state.allocated_bytes,
            held_bytes=state.reserved_bytes,
            total_bytes=_memory_total_bytes(state, snapshot),
        )
    return MemoryFigure(
        figure_bytes=state.resident_bytes,
        resident=True,
        used_bytes=state.resident_bytes,
        total_bytes=snapshot.manifest.host.memory_bytes or None,
    )
