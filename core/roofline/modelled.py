"""Points of a trace: kernels by name, with the work that the shapes of their operators need.

The work itself is ``core.analyses.kernel_work``'s. Here it becomes points, and a
kernel without a place gets the reason.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from core.analyses.grouping import dense_ids, times_by_group
from core.analyses.kernel_work import Role
from core.analyses.kernels import summarize_kernels
from core.analyses.work import Totals, WorkShare, chosen_kernels, totals_by_group, work_share
from core.roofline.points import LEVELS, PointOrigin, PointTable, WorkType
from core.tables.columns import NO_ROW
from core.tables.selection import WHOLE, Selection
from core.tables.strings import string_table

if TYPE_CHECKING:
    from core.analyses.index import TraceIndex
    from core.tables.columns import Int32, Int64, Uint8

NO_OPERATIONS: Final = "Moves data and has no floating-point operations"
NO_BYTES: Final = "Works on nothing: its inputs have no elements"
NO_TIME: Final = "None of its times is possible"
TOO_MUCH: Final = "More work than can be real"

# Which calls of a name its point is about: the first of these that it has.
_ORDER: Final = (Role.MODELLED, Role.BYTES_ONLY, Role.UNKNOWN, Role.HELPER, Role.APART)


def modelled_share(index: TraceIndex, selection: Selection = WHOLE) -> WorkShare:
    """Returns how much of the time of kernels is modelled; communication and copies are apart."""
    return work_share(index, selection)


def modelled_points(index: TraceIndex, selection: Selection = WHOLE) -> PointTable:
    """Returns a point for each full name of a kernel, in the order of the names' first appearance.

    Of a name whose calls do several things (a main kernel here, a helper there, unknown elsewhere) the
    point, its calls and its time are those of the calls whose work is known. Only if there is none it
    stands for the others, with the reason of the longest.

    Args:
        index: The trace.
        selection: Kernels that start in it.
    """
    work, trace = index.kernel_work, index.trace
    chosen = chosen_kernels(index, selection)
    rows = trace.device_work.slice_row[work.place[chosen]]
    names, group = dense_ids(trace.slices.name_id[rows])
    kept = _kept(work.role[chosen], group, len(names))
    chosen, group, rows = chosen[kept], group[kept], rows[kept]
    duration_ns = trace.slices.duration_ns[rows]
    times = times_by_group(group, len(names), duration_ns)
    totals = totals_by_group(work, chosen[duration_ns >= 0], group[duration_ns >= 0])
    full = [trace.strings[text_id] for text_id in names.tolist()]
    places = work.place[chosen[_longest(group, duration_ns, len(names))]]
    reasons = _reasons(index, chosen[_longest(group, duration_ns, len(names))], totals, times.sum_ns)
    return _table(
        index,
        full,
        reasons,
        [totals.get(place) for place in range(len(full))],
        calls=times.calls,
        sum_ns=times.sum_ns,
        places=places,
        origin_row=_rows_of_kernels(index, selection, full),
    )


def _kept(role: Uint8, group: Int64, groups: int) -> Int64:
    """Returns which kernels a point is about: of each name those of its best role."""
    rank_of = np.zeros(len(_ORDER), np.int64)
    rank_of[list(map(int, _ORDER))] = np.arange(len(_ORDER))
    rank = rank_of[role]
    best = np.full(groups, len(_ORDER), np.int64)
    np.minimum.at(best, group, rank)
    return np.flatnonzero(rank == best[group])


def _longest(group: Int64, duration_ns: Int64, groups: int) -> Int64:
    """Returns (groups,) int64: the longest kernel of each group."""
    order = np.lexsort((-duration_ns, group))
    return order[np.searchsorted(group[order], np.arange(groups))]


def _reasons(index: TraceIndex, sample: Int64, totals: dict[int, Totals], sum_ns: Int64) -> list[str | None]:
    """Returns why each name has no place, None where it has one."""
    work = index.kernel_work
    found: list[str | None] = []
    for place, row in enumerate(sample.tolist()):
        reason_id = int(work.reason_id[row])
        if work.role[row] != Role.MODELLED:
            found.append(work.reasons[reason_id])
        elif sum_ns[place] <= 0:
            found.append(NO_TIME)
        else:
            found.append(_reason_of(totals.get(place)))
    return found


def _reason_of(total: Totals | None) -> str | None:
    if total is None:
        return NO_TIME
    if total.flop is None or total.moved_bytes is None:
        return TOO_MUCH
    if not total.moved_bytes:
        return NO_BYTES
    return None if total.flop else NO_OPERATIONS


def _rows_of_kernels(index: TraceIndex, selection: Selection, full: list[str]) -> Int32:
    """Returns the row of the table of kernels for each name."""
    column = summarize_kernels(index, selection).column("full_name")
    row_of = {column.value(row): row for row in range(len(column))}
    return np.array([row_of.get(name, NO_ROW) for name in full], np.int32)


def _table(  # noqa: PLR0913  (the columns of a table)
    index: TraceIndex,
    full: list[str],
    reasons: list[str | None],
    totals: list[Totals | None],
    *,
    calls: Int64,
    sum_ns: Int64,
    places: Int32,
    origin_row: Int32,
) -> PointTable:
    ids: dict[str, int] = {}

    def column(texts: list[str] | list[str | None]) -> Int32:
        values = [NO_ROW if text is None else ids.setdefault(text, len(ids)) for text in texts]
        return np.array(values, np.int32)

    short = [index.short_name_of[name] for name in full]
    name_id, short_name_id, reason_id = column(full), column(short), column(reasons)
    moved = np.full((len(full), len(LEVELS)), np.nan)
    moved[:, 0] = [_number(each.moved_bytes if each else None) for each in totals]
    types = [WorkType[each.arithmetic.name] if each and each.flop else WorkType.NONE for each in totals]
    return PointTable(
        strings=string_table(ids),
        name_id=name_id,
        short_name_id=short_name_id,
        category=index.categories[places],
        origin=np.full(len(full), PointOrigin.MODELLED, np.uint8),
        work_type=np.array(types, np.uint8),
        flop=np.array([_number(each.flop if each else None) for each in totals], np.float64),
        moved_bytes=moved,
        sum_ns=sum_ns,
        calls=calls,
        reason_id=reason_id,
        origin_row=origin_row,
    )


def _number(value: int | None) -> float:
    return float("nan") if value is None else float(value)
