"""What kernels compute and move at least, modelled from the shapes of the operators that launched them.

A row is what kernels of one name do for operators of one name. How much of the
kernel time is modelled is said with it, always, and what is missing by its time.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from core.analyses.answer_columns import number_column, own_text_column, text_column
from core.analyses.grouping import dense_pairs, pick_members, times_by_group
from core.analyses.intervals import exact_sum, sums_by_key
from core.analyses.kernel_work import Role
from core.analyses.kernels import CATEGORY_TITLES, why_no_kernels
from core.analyses.op_work.call import LARGEST
from core.analyses.op_work.elements import Arithmetic
from core.tables.columns import MISSING, NO_ROW
from core.tables.result import ResultTable
from core.tables.selection import WHOLE, Selection
from core.units import format_duration_ns

if TYPE_CHECKING:
    from core.analyses.grouping import GroupTimes
    from core.analyses.index import TraceIndex
    from core.analyses.kernel_work import KernelWork
    from core.tables.columns import Bool, Int64
    from core.tables.result import Column

_NS_PER_S: Final = 1_000_000_000
_NAMED: Final = 5
"""How many of what is missing are named in a note."""
HOW: Final = (
    "Operations as torch's FlopCounterMode counts them (causal masks take nothing off), bytes at the least:"
    " FLOP a byte is an upper bound."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Missing:
    """Kernel time that is not modelled: of which operator ("" if it is not known), why, and how much."""

    operator: str
    reason: str
    sum_ns: int


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkShare:
    """How much of the time of kernels is modelled. Communication is no part of it and stands apart.

    Attributes:
        kernel_ns: Summed time of all kernels but communication.
        modelled_ns: Of main kernels whose operations and bytes are known.
        helper_ns: Of kernels that help those.
        repeated_ns: Of both, what is known only as it repeats a recorded sequence.
        communication_ns: Of communication.
        missing: All the rest, the longest first.
    """

    kernel_ns: int
    modelled_ns: int
    helper_ns: int
    repeated_ns: int
    communication_ns: int
    missing: tuple[Missing, ...]

    @property
    def pct(self) -> float | None:
        """Modelled and helping kernels as a share of all, 0 to 100; None where there are none."""
        if not self.kernel_ns:
            return None
        return 100 * (self.modelled_ns + self.helper_ns) / self.kernel_ns


@dataclass(frozen=True, slots=True, kw_only=True)
class Totals:
    """The work of one group of kernels; None where it is not known or too large to be real."""

    flop: int | None
    moved_bytes: int | None
    arithmetic: Arithmetic


def summarize_work(index: TraceIndex, selection: Selection = WHOLE) -> ResultTable:
    """Sums up the work of kernels by their name and that of their operator, the largest time first.

    Args:
        index: The trace.
        selection: Kernels that start in it.
    """
    work, slices = index.kernel_work, index.trace.slices
    chosen = chosen_kernels(index, selection)
    rows = index.trace.device_work.slice_row[work.place[chosen]]
    op_name = operator_names(index)[chosen]
    group = dense_pairs(slices.name_id[rows].astype(np.int64), op_name)
    group = dense_pairs(group, work.role[chosen].astype(np.int64))
    group = dense_pairs(group, work.reason_id[chosen].astype(np.int64))
    _, first = np.unique(group, return_index=True)
    times = times_by_group(group, len(first), slices.duration_ns[rows])
    repeated = sums_by_key(group, work.repeats[chosen].astype(np.int64), len(first))
    shown = np.lexsort((first, -times.sum_ns))
    sample = chosen[first[shown]]
    totals = totals_by_group(
        work, chosen[slices.duration_ns[rows] >= 0], group[slices.duration_ns[rows] >= 0]
    )
    members, member_ends = pick_members(rows, times, shown)
    asked_ns = exact_sum(np.maximum(slices.duration_ns[rows], 0))
    return ResultTable(
        name="work",
        title="Work (modelled)",
        columns=(
            *_name_columns(index, work, sample),
            *_time_columns(times, repeated, shown, asked_ns),
            *_work_columns([totals.get(each) for each in shown.tolist()], times.sum_ns[shown]),
            *_reason_columns(work, sample),
        ),
        notes=share_notes(work_share(index, selection)) if len(chosen) else (),
        empty="" if len(chosen) else why_no_kernels(index),
        members=members,
        member_ends=member_ends,
        sorted_by="sum_ns",
    )


def chosen_kernels(index: TraceIndex, selection: Selection) -> Int64:
    """Returns the rows of ``KernelWork`` that start in a selection."""
    work = index.kernel_work
    if selection == WHOLE:
        return np.arange(len(work))
    return np.flatnonzero(selection.mask(index.trace.slices)[index.trace.device_work.slice_row[work.place]])


def operator_names(index: TraceIndex) -> Int64:
    """Returns (kernels,) int64: text of the name of the operator of each, NO_ROW."""
    op_row = index.kernel_work.op_row
    return np.where(op_row == NO_ROW, NO_ROW, index.trace.slices.name_id[op_row]).astype(np.int64)


def totals_by_group(work: KernelWork, chosen: Int64, group: Int64) -> dict[int, Totals]:
    """Adds up the work that was given to some kernels, exactly.

    Args:
        work: All kernels.
        chosen: (m,) rows of it, those with a possible time.
        group: (m,) int64, the group of each, 0 and up.

    Returns:
        The totals of each group that has a kernel with work.
    """
    carries = work.work_row[chosen] != NO_ROW
    key = group[carries] * (len(work.works) + 1) + work.work_row[chosen[carries]]
    distinct, counts = np.unique(key, return_counts=True)
    parts: dict[int, list[tuple[int, int]]] = {}
    for each, count in zip(distinct.tolist(), counts.tolist(), strict=True):
        place, row = divmod(each, len(work.works) + 1)
        parts.setdefault(place, []).append((row, count))
    return {place: _total(work, found) for place, found in parts.items()}


def _total(work: KernelWork, parts: list[tuple[int, int]]) -> Totals:
    """Adds up works that occur so often; the arithmetic is that of most operations."""
    moved = 0
    by_arithmetic: dict[Arithmetic, int] = {}
    unknown = False
    for row, count in parts:
        one = work.works[row]
        moved += count * one.moved_bytes
        unknown |= one.flop is None
        by_arithmetic[one.arithmetic] = by_arithmetic.get(one.arithmetic, 0) + count * (one.flop or 0)
    flop = sum(by_arithmetic.values())
    most = max(by_arithmetic, key=lambda each: by_arithmetic[each])
    return Totals(
        flop=None if unknown or flop > LARGEST else flop,
        moved_bytes=None if moved > LARGEST else moved,
        arithmetic=most,
    )


def work_share(index: TraceIndex, selection: Selection = WHOLE) -> WorkShare:
    """Returns how much of the kernel time is modelled, and what is missing."""
    work, slices = index.kernel_work, index.trace.slices
    chosen = chosen_kernels(index, selection)
    role = work.role[chosen]
    length_ns = np.maximum(slices.duration_ns[index.trace.device_work.slice_row[work.place[chosen]]], 0)

    def time_ns(wanted: Bool) -> int:
        return exact_sum(length_ns[wanted])

    covered = (role == Role.MODELLED) | (role == Role.HELPER)
    return WorkShare(
        kernel_ns=time_ns(role != Role.APART),
        modelled_ns=time_ns(role == Role.MODELLED),
        helper_ns=time_ns(role == Role.HELPER),
        repeated_ns=time_ns(covered & work.repeats[chosen]),
        communication_ns=time_ns(role == Role.APART),
        missing=_missing(index, chosen[~covered & (role != Role.APART)]),
    )


def _missing(index: TraceIndex, chosen: Int64) -> tuple[Missing, ...]:
    work, trace = index.kernel_work, index.trace
    length_ns = np.maximum(trace.slices.duration_ns[trace.device_work.slice_row[work.place[chosen]]], 0)
    op_name = operator_names(index)[chosen]
    group = dense_pairs(op_name, work.reason_id[chosen].astype(np.int64))
    _, first = np.unique(group, return_index=True)
    found = [
        Missing(
            operator=trace.strings[int(op_name[place])],
            reason=work.reasons[int(work.reason_id[chosen[place]])],
            sum_ns=exact_sum(length_ns[group == number]),
        )
        for number, place in enumerate(first.tolist())
    ]
    return tuple(sorted(found, key=lambda each: (-each.sum_ns, each.operator, each.reason)))


def share_notes(share: WorkShare) -> tuple[str, ...]:
    """Returns what is modelled and what is missing, for people."""
    notes = []
    if share.pct is not None:
        helpers = f", {format_duration_ns(share.helper_ns)} of it helper kernels" if share.helper_ns else ""
        notes.append(
            f"Modelled: {_floored(share.pct)}% of {format_duration_ns(share.kernel_ns)} kernel time{helpers}."
        )
    if share.repeated_ns:
        notes.append(
            f"{format_duration_ns(share.repeated_ns)} of it are kernels whose operators are not in the trace,"
            " but which repeat a recorded sequence with the same names, grids and blocks."
        )
    notes += [f"Not modelled: {_named(each)}." for each in share.missing[:_NAMED]]
    rest_ns = sum(each.sum_ns for each in share.missing[_NAMED:])
    if rest_ns:
        notes.append(f"Not modelled: {format_duration_ns(rest_ns)} of others, which the table lists.")
    if share.communication_ns:
        notes.append(f"Communication ({format_duration_ns(share.communication_ns)}) is no part of this.")
    return (*notes, HOW)


def _floored(pct: float) -> str:
    """Returns a share with one decimal that never says 100 where something is missing."""
    return f"{int(pct * 10) / 10:g}"


def _named(missing: Missing) -> str:
    reason = missing.reason[0].lower() + missing.reason[1:]
    where = f" in {missing.operator}" if missing.operator else ""
    return f"{format_duration_ns(missing.sum_ns)}{where}, {reason}"


def _name_columns(index: TraceIndex, work: KernelWork, sample: Int64) -> tuple[Column, ...]:
    trace = index.trace
    full = [
        trace.strings[int(text_id)]
        for text_id in trace.slices.name_id[trace.device_work.slice_row[work.place[sample]]].tolist()
    ]
    short = [index.short_name_of[name] for name in full]
    category = index.categories[work.place[sample]].astype(np.int32)
    kind = "Kind of work, told from its name."
    return (
        own_text_column("name", "Kernel", "Short name; names that differ stay different.", short),
        own_text_column("full_name", "Full name", "Name as it stands in the trace.", full, shown=False),
        text_column("category", "Category", kind, category, CATEGORY_TITLES, shown=False),
        text_column(
            "op",
            "Operator",
            "Whose work it does; where that is not known, what launched it.",
            operator_names(index)[sample].astype(np.int32),
            trace.strings,
        ),
    )


def _reason_columns(work: KernelWork, sample: Int64) -> tuple[Column, ...]:
    role = work.role[sample]
    reason = np.where(role == Role.APART, NO_ROW, work.reason_id[sample]).astype(np.int32)
    return (
        own_text_column(
            "modelled",
            "Modelled",
            "Whether its work is known from shapes. A helper stands beside the kernel that has the work.",
            [Role(each).title for each in role.tolist()],
        ),
        text_column("reason", "Why not", "Why no work of its own is known.", reason, work.reasons),
    )


def _time_columns(times: GroupTimes, repeated: Int64, shown: Int64, everything_ns: int) -> tuple[Column, ...]:
    share = np.full(len(shown), np.nan)
    if everything_ns:
        share = times.sum_ns[shown] * (100 / everything_ns)
    return (
        number_column(
            "calls", "Calls", "count", "All, also those of an impossible time.", times.calls[shown]
        ),
        number_column(
            "repeated",
            "Repeated",
            "count",
            "Calls without an operator in the trace, which repeat a recorded sequence of kernels.",
            repeated[shown],
            shown=False,
        ),
        number_column("sum_ns", "Sum", "ns", "Durations added up.", times.sum_ns[shown]),
        number_column(
            "share_pct", "Share of sum", "pct", "Of the summed time of all kernels.", share, shown=False
        ),
    )


def _work_columns(totals: list[Totals | None], sum_ns: Int64) -> tuple[Column, ...]:
    flop = np.array([_known(each.flop if each else None) for each in totals], np.int64)
    moved = np.array([_known(each.moved_bytes if each else None) for each in totals], np.int64)
    seconds = np.where(sum_ns > 0, sum_ns / _NS_PER_S, np.nan)
    operations = np.where(flop == MISSING, np.nan, flop)
    traffic = np.where(moved == MISSING, np.nan, moved)
    worked = [None if each is None or not each.flop else each.arithmetic.value for each in totals]
    return (
        number_column(
            "flop", "Operations", "flop", "Operations of all its calls, as the shapes need them.", flop
        ),
        number_column("moved_bytes", "Data", "bytes", "Inputs read and outputs written, once each.", moved),
        number_column(
            "flop_per_s", "Achieved", "flop_per_s", "FLOP over the summed time.", operations / seconds
        ),
        number_column("bytes_per_s", "Traffic", "bytes_per_s", "Bytes over the time.", traffic / seconds),
        number_column(
            "flop_per_byte",
            "Intensity",
            "flop_per_byte",
            "Operations a byte; an upper bound, as the bytes are the least.",
            operations / np.where(traffic > 0, traffic, np.nan),
        ),
        own_text_column("work_type", "Work", "What most of its operations are computed with.", worked),
    )


def _known(value: int | None) -> int:
    return MISSING if value is None else value
