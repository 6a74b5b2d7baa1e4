"""What the inspector says of a rank and of a run: labels, figures, comparisons. Pure functions."""

from __future__ import annotations

import shlex
import statistics
import time
from typing import TYPE_CHECKING

from core.hardware.readings import CALM_REASONS
from core.runs.snapshot import RankStatus
from core.units import (
    GB,
    NOT_MEASURED,
    format_bytes_gib,
    format_count,
    format_duration_ns,
    format_elapsed,
    format_ms,
    format_number,
    gib,
)
from gui.widgets.evidence import EvidenceRow
from gui.widgets.rank_facts import device_words, gpu_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from core.runs.snapshot import Alert, RankState, RunSnapshot
    from core.telemetry.events import GpuReading

Pair = tuple[str, str, str]

_SHORT = {
    "SW Thermal Slowdown": "thermal",
    "HW Thermal Slowdown": "thermal (hardware)",
    "SW Power Cap": "power cap",
    "HW Power Brake Slowdown": "power brake",
}
"""Words of nvidia-smi that take too much room."""
_SLOW_CLOCK = 0.9


def rank_head(state: RankState, snapshot: RunSnapshot) -> str:
    """Device and process: "GPU 2, pid 48213"."""
    words = device_words(state, snapshot)
    return words if state.pid is None else f"{words}, pid {state.pid}"


def alert_of(state: RankState, snapshot: RunSnapshot) -> Alert | None:
    """The newest alert about a rank."""
    mine = [alert for alert in snapshot.alerts if alert.rank == state.rank]
    return max(mine, key=lambda alert: alert.t_ns, default=None)


def since_words(state: RankState, snapshot: RunSnapshot) -> str:
    """Since when the rank is in its state, as far as an alert says so; its exit code at the end."""
    if state.exit_code is not None:
        signal = f"signal {-state.exit_code}" if state.exit_code < 0 else f"exit code {state.exit_code}"
        at = "" if state.step is None else f", after step {format_count(state.step)}"
        return f"{signal}{at}"
    alert = alert_of(state, snapshot)
    troubled = state.status in (RankStatus.SLOW, RankStatus.SILENT, RankStatus.FAILED, RankStatus.GONE)
    if alert is None or not troubled:
        return "" if state.step is None else f"at step {format_count(state.step)}"
    if alert.step is not None:
        return f"since step {format_count(alert.step)}"
    return f"since {time.strftime('%H:%M:%S', time.localtime(alert.t_ns / 1e9))}"


def evidence_of(state: RankState, snapshot: RunSnapshot) -> tuple[EvidenceRow, ...]:
    """The rank's figures against those of the others; only what is measured."""
    others = [other for other in snapshot.ranks if other.rank != state.rank]
    slow = state.status is RankStatus.SLOW
    rows: list[EvidenceRow | None] = [
        _duration("Step", state.step_time_ns, [other.step_time_ns for other in others]),
        _duration("Own work a step", state.own_ns, [other.own_ns for other in others], marked=slow),
        _duration("Wait in collectives", _wait_ns(state), [_wait_ns(other) for other in others]),
    ]
    gpu = gpu_of(state, snapshot)
    if gpu is not None:
        rows.extend(_gpu_evidence(gpu, [found for other in others if (found := gpu_of(other, snapshot))]))
    return tuple(row for row in rows if row is not None)


def _wait_ns(state: RankState) -> int | None:
    if state.step_time_ns is None or state.own_ns is None:
        return None
    return max(0, state.step_time_ns - state.own_ns)


def _duration(
    what: str, value_ns: int | None, others_ns: Sequence[int | None], *, marked: bool = False
) -> EvidenceRow | None:
    if value_ns is None:
        return None
    known = [value for value in others_ns if value is not None]
    # The unit stands once, with the value.
    against = f"others {format_ms(statistics.median(known))}" if known else ""
    return EvidenceRow(what, f"{format_ms(value_ns)} ms", against, "warn" if marked else "none")


def _gpu_evidence(gpu: GpuReading, others: list[GpuReading]) -> list[EvidenceRow | None]:
    clocks = [other.sm_clock_mhz for other in others if other.sm_clock_mhz is not None]
    slow_clock = (
        gpu.sm_clock_mhz is not None and clocks and gpu.sm_clock_mhz < _SLOW_CLOCK * statistics.median(clocks)
    )
    heats = [other.temperature_c for other in others if other.temperature_c is not None]
    return [
        _figure("SM clock", gpu.sm_clock_mhz, "MHz", clocks, "warn" if slow_clock else "none"),
        _figure("Temperature", gpu.temperature_c, "°C", heats),
        _reasons(gpu, others),
    ]


def _figure(
    what: str, value: float | None, unit: str, others: Sequence[float], level: str = "none"
) -> EvidenceRow | None:
    if value is None:
        return None
    low, high = (min(others), max(others)) if others else (None, None)
    against = ""
    if low is not None and high is not None:
        against = f"others {low:,.0f}" if low == high else f"others {low:,.0f}\N{EN DASH}{high:,.0f}"
    return EvidenceRow(what, f"{value:,.0f} {unit}", against, level)


def _reasons(gpu: GpuReading, others: list[GpuReading]) -> EvidenceRow | None:
    if gpu.throttle_reasons is None:
        return None
    mine = [_SHORT.get(reason, reason) for reason in gpu.throttle_reasons if reason not in CALM_REASONS]
    theirs = {
        _SHORT.get(reason, reason)
        for other in others
        for reason in other.throttle_reasons or []
        if reason not in CALM_REASONS
    }
    against = f"others {', '.join(sorted(theirs)) or 'none'}" if others else ""
    return EvidenceRow("Throttle reason", ", ".join(mine) or "none", against, "warn" if mine else "none")


def memory_pairs(state: RankState, snapshot: RunSnapshot) -> list[Pair]:
    """Each memory figure by its own name."""
    pairs: list[Pair] = []
    on_device = state.allocated_bytes is not None or snapshot.manifest.job.device == "cuda"
    if on_device:
        pairs += _allocator_pairs(state)
        pairs += _driver_pairs(state, gpu_of(state, snapshot))
    host = snapshot.manifest.host.memory_bytes
    whole = f" of {gib(host, 1)}" if host else ""
    pairs.append(
        (
            "Resident, host",
            f"{gib(state.resident_bytes)}{whole} GiB" if state.resident_bytes is not None else NOT_MEASURED,
            "The process' share of the host's memory.",
        )
    )
    return pairs


def _allocator_pairs(state: RankState) -> list[Pair]:
    beyond = None
    if state.reserved_bytes is not None and state.allocated_bytes is not None:
        beyond = state.reserved_bytes - state.allocated_bytes
    pairs = [
        ("Allocated, now", format_bytes_gib(state.allocated_bytes), "What tensors hold."),
        ("Peak allocated", format_bytes_gib(state.peak_bytes), "The most that tensors have held."),
        (
            "Reserved",
            format_bytes_gib(state.reserved_bytes),
            "What the allocator took from the driver.",
        ),
        ("Reserved, not allocated", format_bytes_gib(beyond), "Cached by the allocator, or fragmented."),
    ]
    for label, count, why in (
        ("Allocation retries", state.alloc_retries, "Cache flushes after a failed allocation."),
        ("Out of memory", state.ooms, "Allocations that failed for good."),
    ):
        if count is not None:
            pairs.append((label, format_count(count), why))
    return pairs


def _driver_pairs(state: RankState, gpu: GpuReading | None) -> list[Pair]:
    pairs = [
        (
            "Driver, this process",
            format_bytes_gib(state.driver_bytes),
            "Reserved memory, the CUDA context and kernels. n/a: the driver does not say.",
        )
    ]
    if gpu is not None:
        of_whole = f"{gib(gpu.used_bytes)} of {gib(gpu.total_bytes, 1)} GiB"
        pairs.append(("Driver, whole device", of_whole, "All processes on the GPU, other people's too."))
        held = format_bytes_gib(gpu.driver_reserved_bytes)
        pairs.append(("Held by the driver", held, "Kept by the driver for itself; apart from what is used."))
    return pairs


def training_pairs(state: RankState) -> list[Pair]:
    """Loss, step and what else the rank reports of its training."""
    at = f" at step {format_count(state.loss_step)}" if state.loss_step is not None else ""
    pairs = [
        ("Loss", f"{format_number(state.loss, 6)}{at}", ""),
        ("Step", format_count(state.step), ""),
        ("Step time", format_duration_ns(state.step_time_ns), ""),
    ]
    if state.grad_norm is not None:
        partial = " (local part)" if state.grad_norm_partial else ""
        pairs.append(("Grad norm", f"{format_number(state.grad_norm, 3)}{partial}", ""))
    if state.learning_rate is not None:
        pairs.append(("Learning rate", format_number(state.learning_rate, 3), ""))
    return pairs


def job_pairs(state: RankState, snapshot: RunSnapshot) -> list[Pair]:
    """Figures of the rank's GPU that are not memory."""
    gpu = gpu_of(state, snapshot)
    if gpu is None:
        return []
    power = NOT_MEASURED
    if gpu.power_w is not None:
        limit = "" if gpu.power_limit_w is None else f" of {gpu.power_limit_w:,.0f}"
        power = f"{gpu.power_w:,.0f}{limit} W"
    use = NOT_MEASURED if gpu.utilization_pct is None else f"{gpu.utilization_pct:.0f}\N{NO-BREAK SPACE}%"
    into, out = gpu.nvlink_rx_bytes_per_s, gpu.nvlink_tx_bytes_per_s
    link = NOT_MEASURED
    if into is not None and out is not None:
        link = f"{into / GB:.1f}, {out / GB:.1f} GB/s"
    return [
        ("Name", gpu.name, gpu.uuid),
        ("Utilization", use, "Share of time in which a kernel ran."),
        ("Power", power, ""),
        ("NVLink, in and out", link, "Over all links."),
    ]


def steps_to_take(state: RankState, snapshot: RunSnapshot) -> tuple[str, ...]:
    """What alerts about the rank advise, each once."""
    mine = sorted((alert for alert in snapshot.alerts if alert.rank == state.rank), key=lambda a: -a.t_ns)
    return tuple(dict.fromkeys(alert.hint for alert in mine if alert.hint))[:3]


def run_pairs(snapshot: RunSnapshot) -> list[Pair]:
    """What the manifest says of the run."""
    manifest = snapshot.manifest
    job = manifest.job
    target = f"-m {job.target}" if job.is_module else job.target
    versions = manifest.versions
    pairs = [
        ("Status", snapshot.status, manifest.summary),
        ("Script", target, target),
        ("Arguments", shlex.join(job.arguments) or "none", "\n".join(job.arguments)),
        ("Ranks", f"{job.ranks} on {'GPU' if job.device == 'cuda' else 'CPU'}", ""),
        ("Interpreter", job.interpreter, job.interpreter),
        ("Working folder", job.working_folder, job.working_folder),
    ]
    pairs += [(_name(name), version, "") for name, version in versions.items()]
    if manifest.revision is not None:
        changed = manifest.revision.changed_files
        files = "changed file" if changed == 1 else "changed files"
        edits = f", {format_count(changed)} {files}" if changed else ""
        pairs.append(("Revision", f"{manifest.revision.commit[:10]}{edits}", manifest.revision.commit))
    pairs.append(("Host", manifest.host.name, manifest.host.platform))
    pairs.append(("Started", _day(manifest.started_ns or manifest.created_ns), ""))
    if manifest.ended_ns is not None and manifest.started_ns is not None:
        pairs.append(("Took", format_elapsed((manifest.ended_ns - manifest.started_ns) / 1e9), ""))
    codes = sorted(set(manifest.exit_codes.values()))
    if codes:
        pairs.append(("Exit codes", ", ".join(map(str, codes)), "Negative: a signal."))
    return pairs


def _name(key: str) -> str:
    return {"cuda": "CUDA", "nccl": "NCCL", "torch": "torch"}.get(key, key.capitalize())


def _day(t_ns: int) -> str:
    return time.strftime("%d %b %H:%M:%S", time.localtime(t_ns / 1e9)).lstrip("0")


def sources_of(state: RankState | None, snapshot: RunSnapshot) -> str:
    """Where the figures come from, and whether any record is missing."""
    ranks = snapshot.ranks if state is None else (state,)
    loss = {rank.loss_source for rank in ranks if rank.loss_source is not None}
    words = {"autograd": "the backward passes", "log": "log lines", "rule": "log lines, by your rule"}
    parts = ["Agent on each rank."]
    if loss:
        parts.append(f"Loss from {' and '.join(words[source] for source in sorted(loss))}.")
    missing = {name for rank in ranks for name in rank.missing_hooks}
    if missing:
        parts.append(f"Not watched, as this torch lacks it: {', '.join(sorted(missing))}.")
    if snapshot.gpus:
        parts.append("GPU figures from NVML at 2 Hz.")
    elif snapshot.gpus_unavailable:
        parts.append("No GPU figures.")
    lost = sum(rank.lost_records for rank in ranks)
    first, last = (state.first_sequence, state.last_sequence) if state is not None else (None, None)
    if first is not None and last is not None:
        parts.append(f"Records {format_count(first)} to {format_count(last)}, {_lost_words(lost)}.")
    elif ranks and any(rank.last_sequence is not None for rank in ranks):
        parts.append(f"Records of all ranks: {_lost_words(lost)}.")
    return " ".join(parts)


def _lost_words(lost: int) -> str:
    return "none lost" if lost == 0 else f"{format_count(lost)} lost"
