"""Columns that a model and a report add to the kernels of a trace by name: the verdict, and counters.

The table of kernels itself is ``core.analyses.kernels``'s. Verdicts and counters
are those of all calls of a name in the trace, whatever part of it the table is of.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

import numpy as np

from core.analyses.answer_columns import number_column, own_text_column
from core.analyses.intervals import sums_by_key
from core.roofline.matching import KernelMatches, MatchKind, counter_columns, match_kernels
from core.tables.columns import NO_ROW
from core.units import format_count

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from core.analyses.index import TraceIndex
    from core.roofline.verdict import Verdict
    from core.tables.columns import Bool, Float64, Int32, Int64
    from core.tables.ncu import Report
    from core.tables.result import Column, ResultTable

VERDICT: Final = "verdict"
LAUNCHES: Final = "launches"
SHOWN: Final = ("sm_pct", "memory_pct", "dram_bytes_per_s", "flop_per_s")
"""Counters that are shown unless the user chooses otherwise."""
_BEFORE: Final = "calls"
_AS_LONG_AS: Final = " Of several sizes the mean by their time in the trace."


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class MeasuredKernels:
    """What a report has counted of the kernels of a trace.

    Attributes:
        matches: Kernels by name, grid and block, and the launches that are the same.
        names: Full name of each kernel of ``matches``.
        sum_ns: (kernels,) int64, its time in the trace.
        slice_rows: (k,) int32, row of ``SliceTable`` of each call, in the order of ``matches.places``.
        columns: The means over its launches, a row for each kernel.
    """

    matches: KernelMatches
    names: tuple[str, ...]
    sum_ns: Int64
    slice_rows: Int32
    columns: tuple[Column, ...]

    @property
    def is_found(self) -> Bool:
        """(kernels,) bool: which of them have launches in the report."""
        return np.asarray(self.matches.how >= MatchKind.NAME)

    def kernel_of(self, slice_row: int) -> int | None:
        """Returns the kernel of ``matches`` that a slice is a call of, None if it is no kernel."""
        at = np.flatnonzero(self.slice_rows == slice_row)
        return int(self.matches.kernel[at[0]]) if len(at) else None


def measure_kernels(index: TraceIndex, report: Report) -> MeasuredKernels | None:
    """Finds what a report has counted of the kernels of a trace; None if it has none of them."""
    matches = match_kernels(index, report)
    if not (matches.how >= MatchKind.NAME).any():
        return None
    trace = index.trace
    rows = trace.device_work.slice_row[matches.places]
    of_first = trace.slices.name_id[trace.device_work.slice_row[matches.first]]
    return MeasuredKernels(
        matches=matches,
        names=tuple(trace.strings[text_id] for text_id in of_first.tolist()),
        sum_ns=sums_by_key(matches.kernel, np.maximum(trace.slices.duration_ns[rows], 0), len(matches)),
        slice_rows=rows,
        columns=counter_columns(report, matches, np.arange(len(matches))),
    )


def with_kernel_columns(
    table: ResultTable,
    verdicts: Mapping[str, Verdict | None],
    measured: MeasuredKernels | None = None,
    report_name: str = "",
) -> ResultTable:
    """Adds verdicts and counters to a table of kernels by full name.

    Args:
        table: As ``summarize_kernels`` makes it, grouped by name.
        verdicts: By full name; empty while there are none.
        measured: Counters of a report that is open too.
        report_name: Its name, for the note.
    """
    texts = table.column("full_name")
    names = [str(texts.value(row) or "") for row in range(len(texts))]
    columns, notes = list(table.columns), table.notes
    if verdicts:
        place = next(at for at, column in enumerate(columns) if column.key == _BEFORE)
        columns.insert(place, _verdict_column([verdicts.get(name) for name in names]))
    if measured is not None:
        columns += _counters_by_name(measured, names)
        found = len({name for name, is_in in zip(measured.names, measured.is_found, strict=True) if is_in})
        notes = (
            *notes,
            f"Counters from {report_name}, which has {format_count(found)} of the trace's "
            f"{format_count(len(set(measured.names)))} kernel names.",
        )
    return replace(table, columns=tuple(columns), notes=notes)


def _verdict_column(verdicts: Sequence[Verdict | None]) -> Column:
    return own_text_column(
        VERDICT,
        "Verdict",
        "What holds it back, modelled from the trace; the Inspector shows the evidence.",
        [None if each is None else each.kind.word or None for each in verdicts],
    )


def _counters_by_name(measured: MeasuredKernels, names: Sequence[str]) -> list[Column]:
    row_of = {name: row for row, name in enumerate(names)}
    of_row = np.array([row_of.get(name, NO_ROW) for name in measured.names], np.int64)
    return [
        number_column(
            each.key, each.title, each.unit,
            each.help if each.key == LAUNCHES else each.help + _AS_LONG_AS,
            _summed(each.values, of_row, len(names)) if each.key == LAUNCHES
            else _mean_by_time(each.values.astype(np.float64), measured.sum_ns, of_row, len(names)),
            shown=each.key in SHOWN,
        )
        for each in measured.columns
    ]  # fmt: skip


def _summed(counts: Int64 | Float64 | Int32, of_row: Int64, rows: int) -> Int64:
    chosen = of_row != NO_ROW
    return sums_by_key(of_row[chosen], counts[chosen].astype(np.int64), rows)


def _mean_by_time(values: Float64, sum_ns: Int64, of_row: Int64, rows: int) -> Float64:
    """Returns (rows,) float64: the mean of what is known, NaN where nothing is."""
    known = (of_row != NO_ROW) & np.isfinite(values)
    # A kernel whose time is not possible counts, but as little as there is.
    weight = np.maximum(sum_ns[known], 1).astype(np.float64)
    whole = np.bincount(of_row[known], weight, rows)
    total = np.bincount(of_row[known], weight * values[known], rows)
    return np.where(whole > 0, total / np.where(whole > 0, whole, 1.0), np.nan)
