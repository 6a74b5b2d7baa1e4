"""What the Trace page says of figures, slices and problems, as pairs and sentences. No widgets here."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from core.files import printable
from core.tables.trace import SliceKind
from core.units import (
    NOT_MEASURED,
    format_count,
    format_duration_ns,
    format_file_bytes,
    format_fixed,
    format_pct,
    format_shape,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from core.analyses.slice_facts import LaunchShape, SliceFacts
    from core.tables.selection import Selection
    from core.tables.trace import Trace
    from gui.traces.answers import Overview, PartFigures

Pairs = list[tuple[str, str, str]]

KIND_WORDS: Final = {
    SliceKind.OTHER: "Slice",
    SliceKind.KERNEL: "Kernel",
    SliceKind.MEMCPY: "Copy",
    SliceKind.MEMSET: "Set",
    SliceKind.OP: "Operator",
    SliceKind.RUNTIME: "Runtime call",
    SliceKind.PYTHON: "Python frame",
    SliceKind.ANNOTATION: "Range",
    SliceKind.GPU_ANNOTATION: "Range on the GPU",
    SliceKind.SYNC: "Wait",
    SliceKind.OVERHEAD: "Profiler overhead",
    SliceKind.PROFILER: "Profiler",
}
_SHARE_OF: Final = {
    SliceKind.KERNEL: "kernel time",
    SliceKind.MEMCPY: "copy time",
    SliceKind.MEMSET: "set time",
    SliceKind.OP: "CPU time",
    SliceKind.RUNTIME: "runtime calls",
}
"""What a share is of; slices of other kinds lie in each other, or are no work."""
_OWN_NUMBERS: Final = (
    "The profiler numbers devices itself. On AMD it counts CPUs too, so its number may be another than "
    "PyTorch's."
)


def head_words(facts: SliceFacts) -> str:
    """Where a slice is: "rank 0, stream 7"."""
    parts = [] if facts.rank is None else [f"rank {facts.rank}"]
    if facts.is_device_work and facts.device is not None and facts.rank is None:
        parts.append(f"device {facts.device}")
    parts.append(f"stream {facts.stream}" if facts.stream is not None else printable(facts.thread))
    return ", ".join(parts)


def this_pairs(facts: SliceFacts) -> Pairs:
    """The slice itself: times, launch, delay."""
    pairs = [("Category", facts.category, "")] if facts.category else []
    pairs += [
        ("Start", f"{format_fixed(facts.start_ns / 1e6, 3)} ms", ""),
        ("Duration", *_duration(facts.duration_ns)),
    ]
    if facts.launch is not None:
        pairs += _launch_pairs(facts.launch, kernel=facts.kind == SliceKind.KERNEL)
        pairs.append(_delay_pair(facts))
        pairs += _beside_pairs(facts)
        pairs.append(("Stream", _number(facts.stream), ""))
        pairs.append(("Device", _number(facts.device), _OWN_NUMBERS))
    else:
        pairs.append(("Thread", printable(facts.thread), ""))
        pairs.append(("Process", printable(facts.process), ""))
    return pairs


def _duration(duration_ns: int | None) -> tuple[str, str]:
    if duration_ns is None:
        return NOT_MEASURED, "The event has no end in the trace; it is in no sum."
    if duration_ns < 0:
        return format_duration_ns(duration_ns), "A negative duration cannot be; it is in no sum."
    return format_duration_ns(duration_ns), ""


def _number(value: int | None) -> str:
    return NOT_MEASURED if value is None else str(value)


def _launch_pairs(launch: LaunchShape, *, kernel: bool) -> Pairs:
    if not kernel:
        size = NOT_MEASURED if launch.copy_bytes is None else format_file_bytes(launch.copy_bytes)
        return [("Size", size, "" if launch.copy_bytes is not None else "The trace does not say.")]
    why = "The trace does not say."
    shared = launch.shared_memory_bytes
    return [
        ("Grid", _triple(launch.grid), "" if launch.grid else why),
        ("Block", _triple(launch.block), "" if launch.block else why),
        ("Registers a thread", _number(launch.registers_per_thread), ""),
        ("Shared memory", NOT_MEASURED if shared is None else f"{shared / 1024:.4g} KiB", ""),
        (
            "Occupancy, estimate",
            NOT_MEASURED if launch.occupancy_pct is None else format_pct(launch.occupancy_pct, 0),
            "The profiler's own estimate.",
        ),
    ]


def _triple(value: tuple[int, int, int] | None) -> str:
    return NOT_MEASURED if value is None else format_shape(value)


def _delay_pair(facts: SliceFacts) -> tuple[str, str, str]:
    caller = facts.caller
    if caller.clock_skew_ns is not None:
        why = f"It begins {format_duration_ns(caller.clock_skew_ns)} before its launch, which cannot be."
        return "Launch delay", "clock skew", why
    if caller.launch_delay_ns is None:
        return "Launch delay", NOT_MEASURED, "Its launch is not in the trace, or is a graph's."
    return "Launch delay", format_duration_ns(caller.launch_delay_ns), "From the begin of the launching call."


def _beside_pairs(facts: SliceFacts) -> Pairs:
    beside = facts.beside
    if beside is None:
        return []
    return [("Beside communication", format_duration_ns(beside.overlap_ns), beside.words)]


def caller_pairs(facts: SliceFacts) -> Pairs:
    """What called it: operator, call, module, inputs."""
    caller = facts.caller
    pairs: Pairs = []
    if caller.op_name:
        pairs.append(("Operator" if facts.is_device_work else "In", printable(caller.op_name), ""))
    if caller.module:
        pairs.append(("Module", printable(caller.module), ""))
    if caller.launch_name:
        pairs.append(("Call", printable(caller.launch_name), ""))
    pairs += [
        (f"Input {place}", printable(f"{shape} {kind}".strip()), "")
        for place, (shape, kind) in enumerate(caller.inputs, start=1)
        # A number or None has no shape; the arguments of the file name it.
        if shape != "[]"
    ]
    return pairs


def same_pairs(facts: SliceFacts) -> Pairs:
    """The same name elsewhere in the trace."""
    same = facts.same
    number = f"{format_count(same.position)} of {format_count(len(same.rows))}"
    which = f"longest of {format_count(len(same.rows))}" if same.is_longest else number
    return [
        ("Calls", format_count(len(same.rows)), ""),
        ("This one", which, f"Number {number} by start." if same.is_longest else "By start."),
        ("Sum", format_duration_ns(same.sum_ns), "Impossible times are in no sum."),
        _share_pair(facts),
        ("Shortest", format_duration_ns(same.min_ns), ""),
        ("Mean", format_duration_ns(same.mean_ns), ""),
        ("Longest", format_duration_ns(same.max_ns), ""),
    ]


def _share_pair(facts: SliceFacts) -> tuple[str, str, str]:
    of, share_pct = _SHARE_OF.get(facts.kind, ""), facts.same.share_pct
    if not of or share_pct is None:
        return (
            "Share",
            NOT_MEASURED,
            "They lie in others of their kind, or took no time.",
        )
    outermost = " of the outermost operators" if facts.kind == SliceKind.OP else ""
    return f"Share of {of}", format_pct(share_pct), f"Of the summed time{outermost} in the whole trace."


def step_pairs(facts: SliceFacts) -> Pairs:
    """Where it sits in its step."""
    step = facts.step
    if step is None:
        return []
    return [
        ("Step", str(step.number), ""),
        ("Offset in it", format_duration_ns(step.offset_ns), "From the start of the step."),
        ("Step takes", format_duration_ns(step.end_ns - step.start_ns), ""),
    ]


def figure_pairs(overview: Overview) -> Pairs:
    """The whole trace: summed, busy and wall time apart."""
    totals = overview.totals
    busy = 100 * totals.kernel_busy_ns / totals.span_ns if totals.span_ns else None
    wall = ("Wall time", format_duration_ns(totals.span_ns), "From the first start to the last end.")
    if not totals.kernels:
        return [("Kernels", "none", ""), wall, *_count_pairs(overview)]
    pairs = [
        ("Kernels", format_count(totals.kernels), ""),
        (
            "Kernel time, summed",
            format_duration_ns(totals.kernel_sum_ns),
            "Kernels that overlap count twice.",
        ),
        (
            "Kernel time, busy",
            format_duration_ns(totals.kernel_busy_ns),
            "Time in which a kernel ran, each device for itself, added over devices.",
        ),
        wall,
    ]
    if overview.clipped_kernel_sum_ns is not None:
        pairs.insert(
            2,
            (
                "Summed, cut at the next",
                format_duration_ns(overview.clipped_kernel_sum_ns),
                "If kernels that overrun the next one on their stream ended where it starts.",
            ),
        )
    if overview.devices == 1:
        pairs.append(("GPU busy", format_pct(busy), "Busy time over wall time."))
    pairs.append(("Communication, summed", format_duration_ns(totals.communication_ns), ""))
    pairs += _count_pairs(overview)
    if totals.kernels_outside_steps:
        pairs.append(
            (
                "Outside any step",
                f"{format_count(totals.kernels_outside_steps)}, {format_duration_ns(overview.outside_ns)}",
                "Kernels that no step launched, such as a warm-up.",
            )
        )
    return pairs


def part_pairs(part: PartFigures) -> Pairs:
    """A part of the trace: summed, busy and wall time apart."""
    totals = part.totals
    of = "all devices" if totals.devices > 1 else "the range"
    pairs = [
        ("Kernels", format_count(totals.kernels) if totals.kernels else "none", "Those that start in it."),
        (
            "Kernel time, summed",
            format_duration_ns(totals.kernel_sum_ns),
            "Of the kernels that start in it, each whole; those that overlap count twice.",
        ),
        (
            "Kernel time, busy",
            format_duration_ns(totals.kernel_busy_ns),
            "Time of the range in which a kernel ran, each device for itself, added over devices.",
        ),
        ("Wall time", format_duration_ns(totals.span_ns), "Length of the range."),
        ("GPU busy", format_pct(totals.busy_pct), f"Busy time over the wall time of {of}."),
        ("Communication, summed", format_duration_ns(totals.communication_ns), ""),
        ("Copies and sets", f"{format_count(totals.memcpy)} and {format_count(totals.memset)}", ""),
        ("Operators", format_count(totals.ops), "Those that start in it."),
    ]
    return pairs if totals.devices else [pairs[3], *pairs[6:]]


def _count_pairs(overview: Overview) -> Pairs:
    totals = overview.totals
    return [
        ("Copies and sets", f"{format_count(totals.memcpy)} and {format_count(totals.memset)}", ""),
        ("Operators", format_count(totals.ops), ""),
        ("Steps", format_count(totals.steps), ""),
    ]


def file_pairs(trace: Trace, device_numbers: Sequence[int] = ()) -> Pairs:
    """What the file says of itself.

    Args:
        trace: The trace.
        device_numbers: The devices of its timeline; on AMD the profiler counts the CPUs before them too.
    """
    facts = trace.facts
    pairs = [
        ("Size", format_file_bytes(facts.source_bytes), ""),
        ("Events", format_count(facts.event_count), ""),
    ]
    listed = [device for device in facts.devices if device.name]
    pairs += [(f"Device {device.id}", printable(device.name), "As PyTorch counts.") for device in listed]
    others = sorted(set(device_numbers) - {device.id for device in listed})
    if listed and others:
        numbers = ", ".join(map(str, others))
        one = len(listed) == len(device_numbers) == 1
        where = f"Device {listed[0].id} in the timeline" if one else "In the timeline"
        pairs.append((where, f"GPU {numbers}", _OWN_NUMBERS))
    if facts.rank is not None:
        of = "" if facts.world_size is None else f" of {facts.world_size}"
        pairs.append(("Rank", f"{facts.rank}{of}", ""))
    if facts.backend is not None:
        pairs.append(("Backend", printable(facts.backend), ""))
    if facts.schema_version is not None:
        pairs.append(("Schema", str(facts.schema_version), ""))
    return pairs


def selection_words(selection: Selection) -> str:
    """How long the selected range is, for the status bar; "" for the whole."""
    if selection.start_ns is None or selection.end_ns is None:
        return ""
    return f"Selection {format_duration_ns(selection.end_ns - selection.start_ns)}"


def notes_words(count: int) -> str:
    """The count of problems: "2 notes on data"."""
    return "No notes on data" if not count else "1 note on data" if count == 1 else f"{count:,} notes on data"


def without_kernels(overview: Overview) -> str:
    """Why there is no kernel, "" if there are some."""
    totals = overview.totals
    if totals.kernels:
        return ""
    if totals.memcpy or totals.memset:
        copies = f"{format_count(totals.memcpy)} {'copy' if totals.memcpy == 1 else 'copies'}"
        sets = f"{format_count(totals.memset)} {'set' if totals.memset == 1 else 'sets'}"
        return f"No kernels; {copies} and {sets}."
    if totals.ops:
        return "This trace was recorded on the CPU only: it holds operators, no kernels."
    return "This trace holds no kernels and no operators."
