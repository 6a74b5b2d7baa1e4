"""What the device ran in one warm call, read from IREE's profile of a few calls.

The calls are made by iree-benchmark-module in a process of its own: the profile
slows calls down, and Python cannot ask for one. The first call holds what a driver
compiles at first use, hence the last one is taken.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import msgspec
import numpy as np

from core.edge.events import Dispatch
from core.edge.workers.iree_run import SCOPE
from core.edge.workers.iree_tools import run_iree, runtime_tool
from core.edge.workers.iree_words import runtime_words

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from core.edge.workers.iree_compile import Compiled

CALLS: Final = 3
CALLS_IF_LONG: Final = 2
LONG_S: Final = 10.0
"""A call that takes so long is not made more often than it has to be."""
Triple = tuple[int, int, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class Profile:
    """What a profile told.

    Attributes:
        dispatches: Of the last call, in their order.
        why_none: Why there are none; "" if there are some.
        device_peak_bytes: Most that the runtime had taken from the device, weights included; None untold.
    """

    dispatches: tuple[Dispatch, ...] = ()
    why_none: str = ""
    device_peak_bytes: int | None = None


class _Event(msgspec.Struct, rename={"kind": "type"}):
    """A line of ``iree-profile dispatch --dispatch_events --format=jsonl``, IREE 3.13."""

    kind: str
    key: str = ""
    valid: bool = False
    duration_ns: int | None = None
    start_tick: int | None = None
    duration_ticks: int | None = None
    start_host_time_ns: int | None = None
    workgroup_count: Triple | None = None
    workgroup_size: Triple | None = None
    pool_bytes_committed_high_water: int = 0
    """Of a line of ``iree-profile memory``."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OneCall:
    """What is called.

    Attributes:
        compiled: The program.
        function: Of it.
        inputs: In the graph's order.
        seconds: What a warm call took.
    """

    compiled: Compiled
    function: str
    inputs: Sequence[NDArray[Any]]
    seconds: float


def profile_calls(uri: str, call: OneCall, folder: Path) -> Profile:
    """Profiles a few calls.

    Args:
        uri: The device, as IREE's programs take it.
        call: What is called.
        folder: For files that pass.
    """
    calls = CALLS if call.seconds < LONG_S else CALLS_IF_LONG
    profile = folder / "dispatches.ireeprof"
    argv = [
        runtime_tool("iree-benchmark-module"),
        f"--module={call.compiled.program}",
        f"--device={uri}",
        f"--function={call.function}",
        f"--benchmark_min_time={calls}x",
        f"--device_profiling_mode={_mode(uri)}",
        f"--device_profiling_output={profile}",
    ]
    if call.compiled.weights is not None:
        argv.append(f"--parameters={SCOPE}={call.compiled.weights}")
    for number, array in enumerate(call.inputs):
        path = folder / f"input-{number}.npy"
        np.save(path, array)
        argv.append(f"--input=@{path}")
    code, _, errors = run_iree(argv)
    if code != 0:
        return Profile(why_none=f"IREE says {_last_status(errors)}")
    lines, failed = _read("dispatch", profile, "--dispatch_events")
    if failed:
        return Profile(why_none=failed)
    dispatches, why_none = last_call(lines, calls)
    return Profile(
        dispatches=dispatches, why_none=why_none, device_peak_bytes=most_taken(_read("memory", profile)[0])
    )


def _read(what: str, profile: Path, *flags: str) -> tuple[bytes, str]:
    """Has IREE print a profile; returns its lines, and what failed."""
    argv = [runtime_tool("iree-profile"), what, "--format=jsonl", *flags, str(profile)]
    code, lines, errors = run_iree(argv)
    return (lines, "") if code == 0 else (b"", f"IREE cannot read its own profile: {_last_status(errors)}")


def _events(lines: bytes) -> list[_Event]:
    events = []
    for line in lines.splitlines():
        try:
            events.append(msgspec.json.decode(line, type=_Event))
        except msgspec.DecodeError:
            continue
    return events


def most_taken(lines: bytes) -> int | None:
    """Reads the high-water mark of the device's pools, whose blocks hold weights and results.

    Args:
        lines: JSON objects of ``iree-profile memory``, one a line.
    """
    marks = [event.pool_bytes_committed_high_water for event in _events(lines) if event.kind == "memory_pool"]
    return max(marks, default=0) or None


def last_call(lines: bytes, calls: int) -> tuple[tuple[Dispatch, ...], str]:
    """Reads the dispatches of the last of so many equal calls.

    Args:
        lines: JSON objects, one a line.
        calls: How many were made.

    Returns:
        They, and why there are none; "" if there are some.
    """
    events = [
        event
        for event in _events(lines)
        if event.kind in ("dispatch_event", "host_dispatch_event") and "$async" in event.key
    ]
    if not events:
        return (), "IREE's profile of this device holds no dispatch"
    each = len(events) // calls
    names = [event.key for event in events]
    if len(events) % calls or names[-each:] != names[:each]:
        return (), f"{len(events):,} dispatches of {calls} calls cannot be told apart"
    last = events[-each:]
    period_ns = next((_period_ns(event) for event in last if _period_ns(event) is not None), None)
    starts = [_start_ns(event, period_ns) for event in last]
    first = min((start for start in starts if start is not None), default=0)
    return tuple(
        Dispatch(
            name=event.key.partition("$async_")[2] or event.key,
            start_ns=0 if start is None else start - first,
            duration_ns=event.duration_ns if event.valid and (event.duration_ns or 0) > 0 else None,
            workgroups=event.workgroup_count,
            workgroup_size=event.workgroup_size if event.kind == "dispatch_event" else None,
        )
        for event, start in zip(last, starts, strict=True)
    ), ""


def _mode(uri: str) -> str:
    """Times by the device's clock; for the CPU the host's is the device's."""
    return "host-execution" if uri.startswith("local-") else "dispatch-events,memory-events"


def _period_ns(event: _Event) -> float | None:
    if not event.valid or not event.duration_ticks or event.duration_ns is None:
        return None
    return event.duration_ns / event.duration_ticks


def _start_ns(event: _Event, period_ns: float | None) -> int | None:
    if not event.valid:
        return None
    if event.start_host_time_ns is not None:
        return event.start_host_time_ns
    if event.start_tick is None or period_ns is None:
        return None
    return round(event.start_tick * period_ns)


def _last_status(errors: str) -> str:
    lines = [line for line in errors.splitlines() if "; " in line and "c/runtime" in line]
    return runtime_words(
        lines[0] if lines else errors.strip().splitlines()[-1] if errors.strip() else "nothing"
    )
