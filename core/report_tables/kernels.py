"""The kernels of a report, launch by launch, and repeats of one kernel as groups."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from core.analyses.answer_columns import number_column, own_text_column, text_column
from core.analyses.categories import Category
from core.analyses.ncu_roofline import traffic
from core.report_tables.index import NO_KERNELS, ReportIndex, shape_texts
from core.roofline.verdict import VerdictKind
from core.roofline.verdict_kinds import CONFIDENCES, KINDS
from core.tables.columns import MISSING, NO_ROW
from core.tables.ncu_terms import (
    ACHIEVED_OCCUPANCY_PCT,
    MEMORY_PCT,
    REGISTERS,
    SHARED_MEMORY_BYTES,
    SM_PCT,
    THEORETICAL_OCCUPANCY_PCT,
    WAVES,
)
from core.tables.result import Column, ResultTable

if TYPE_CHECKING:
    from core.tables.columns import Float64, Int32, Int64

_CATEGORY_TITLES = tuple(category.title for category in Category)


def list_kernels(index: ReportIndex, launches: Int32 | None = None) -> ResultTable:
    """Lists launches in the order of the file.

    Args:
        index: The report.
        launches: (n,) int32, only these; None is all.

    Raises:
        DashboardError: The user's own file of peaks is not as it should be.
    """
    rows = index.rows(launches)
    return ResultTable(
        name="kernels",
        title="Kernels",
        columns=(
            *index.kernel_columns(rows),
            *_shapes(index, rows),
            *_figures(index, rows),
            *_verdicts(index, rows),
            *_where(index, rows),
        ),
        empty=NO_KERNELS,
        members=rows,
        member_ends=np.arange(1, len(rows) + 1, dtype=np.int64),
    )


def group_kernels(index: ReportIndex, launches: Int32 | None = None) -> ResultTable:
    """Puts launches of one name, grid and block on one device together, those that took longest first.

    Args:
        index: The report.
        launches: (n,) int32, only these; None is all.
    """
    rows = index.rows(launches)
    table = index.report.launches
    keys = np.column_stack(
        [table.name_id[rows], table.device_row[rows], table.grid[rows], table.block[rows]]
    ).astype(np.int64)
    _, first, of_row = np.unique(keys, axis=0, return_index=True, return_inverse=True)
    times = _Times(table.duration_ns[rows], of_row.reshape(-1), len(first))
    order = np.argsort(-times.sum_ns, kind="stable")
    rank = np.empty(len(order), np.int64)
    rank[order] = np.arange(len(order))
    members = rows[np.argsort(rank[of_row.reshape(-1)], kind="stable")]
    shown = rows[first[order]]
    _, *named = index.kernel_columns(shown)
    return ResultTable(
        name="groups",
        title="Groups",
        columns=(
            *named,
            *_shapes(index, shown),
            *times.columns(order),
            *_means(index, rows, of_row.reshape(-1), order),
            _device(index, shown),
        ),
        empty=NO_KERNELS,
        members=members,
        member_ends=np.cumsum(times.launches[order]),
        sorted_by="sum_ns",
    )


class _Times:
    """Durations of the launches of groups; those that are missing are in no figure but the count."""

    def __init__(self, duration_ns: Int64, of_row: Int64, groups: int) -> None:
        known = duration_ns != MISSING
        times_ns, places = duration_ns[known], of_row[known]
        self.launches = np.bincount(of_row, minlength=groups).astype(np.int64)
        self._known = np.bincount(places, minlength=groups).astype(np.int64)
        self.sum_ns = np.zeros(groups, np.int64)
        np.add.at(self.sum_ns, places, times_ns)
        self._min_ns = np.full(groups, np.iinfo(np.int64).max)
        np.minimum.at(self._min_ns, places, times_ns)
        self._max_ns = np.full(groups, MISSING)
        np.maximum.at(self._max_ns, places, times_ns)

    def columns(self, order: Int64) -> tuple[Column, ...]:
        """Returns the columns, groups in the order wanted."""
        known = self._known[order] > 0
        mean_ns = np.full(len(order), np.nan)
        np.divide(self.sum_ns[order], self._known[order], out=mean_ns, where=known)
        total = int(self.sum_ns.sum())
        share_pct = self.sum_ns[order] / total * 100 if total else np.full(len(order), np.nan)
        sum_ns = np.where(known, self.sum_ns[order], MISSING)
        return (
            number_column(
                "launches", "Launches", "count", "How often it was profiled.", self.launches[order]
            ),
            number_column("sum_ns", "Sum", "ns", "Summed duration.", sum_ns),
            number_column("share_pct", "Share of sum", "pct", "Of the summed duration of all.", share_pct),
            number_column("mean_ns", "Mean", "ns", "Of the durations.", mean_ns),
            number_column(
                "min_ns", "Min", "ns", "Shortest duration.", np.where(known, self._min_ns[order], MISSING)
            ),
            number_column(
                "max_ns", "Max", "ns", "Longest duration.", np.where(known, self._max_ns[order], MISSING)
            ),
        )


def _shapes(index: ReportIndex, rows: Int32) -> tuple[Column, ...]:
    launches = index.report.launches
    category = index.points.category[rows].astype(np.int32)
    return (
        text_column(
            "category", "Category", "Kind of work, told from the kernel's name.", category, _CATEGORY_TITLES
        ),
        text_column("grid", "Grid", "Blocks in x, y and z.", *shape_texts(launches.grid[rows])),
        text_column(
            "block", "Block", "Threads of a block in x, y and z.", *shape_texts(launches.block[rows])
        ),
    )


def _figures(index: ReportIndex, rows: Int32) -> tuple[Column, ...]:
    counters = index.counters
    return (
        number_column(
            "duration_ns",
            "Duration",
            "ns",
            "On the device, at the clocks during profiling.",
            index.report.launches.duration_ns[rows],
        ),
        number_column(
            "sm_pct", "SM", "pct", "Throughput of the SMs, of their peak.", counters.number(SM_PCT)[rows]
        ),
        number_column(
            "memory_pct",
            "Memory",
            "pct",
            "Throughput of memory and caches, of their peak.",
            counters.number(MEMORY_PCT)[rows],
        ),
        number_column(
            "dram_bytes_per_s",
            "DRAM",
            "bytes_per_s",
            "Read and written; where no rate was collected, from bytes and duration.",
            traffic(counters, "dram").per_s[rows],
        ),
        number_column(
            "registers", "Registers", "count", "Of a thread.", _whole(counters.number(REGISTERS)[rows])
        ),
        number_column(
            "shared_memory_bytes",
            "Shared memory",
            "bytes",
            "Of a block: static, dynamic and the driver's.",
            counters.number(SHARED_MEMORY_BYTES)[rows],
        ),
        *_occupancy(index, rows),
    )


def _verdicts(index: ReportIndex, rows: Int32) -> tuple[Column, ...]:
    kinds = index.verdicts.kinds
    known = np.where(kinds.kind == KINDS.index(VerdictKind.UNKNOWN), NO_ROW, kinds.kind.astype(np.int32))
    return (
        text_column(
            "verdict",
            "Verdict",
            "What holds it back; empty where it takes more counters to tell.",
            known[rows],
            tuple(kind.word for kind in KINDS),
        ),
        text_column(
            "confidence",
            "Confidence",
            "How the verdict is known: from both throughputs, or estimated from what is near its roof.",
            np.where(known == NO_ROW, NO_ROW, kinds.confidence.astype(np.int32))[rows],
            CONFIDENCES,
            shown=False,
        ),
    )


def _occupancy(index: ReportIndex, rows: Int32) -> tuple[Column, ...]:
    counters = index.counters
    return (
        number_column(
            "theoretical_occupancy_pct",
            "Theoretical occupancy",
            "pct",
            "Warps that fit on an SM, of the most that it holds.",
            counters.number(THEORETICAL_OCCUPANCY_PCT)[rows],
        ),
        number_column(
            "achieved_occupancy_pct",
            "Achieved occupancy",
            "pct",
            "Warps that were active on average, of the most that an SM holds.",
            counters.number(ACHIEVED_OCCUPANCY_PCT)[rows],
        ),
        number_column(
            "waves",
            "Waves",
            "",
            "How often the blocks fill all SMs; below 1 some stay empty.",
            counters.number(WAVES)[rows],
        ),
    )


def _means(index: ReportIndex, rows: Int32, of_row: Int64, order: Int64) -> tuple[Column, ...]:
    """Returns means over the launches of groups, of those that were measured."""

    def mean(values: Float64) -> Float64:
        known = ~np.isnan(values)
        sums = np.bincount(of_row[known], values[known], len(order))
        counts = np.bincount(of_row[known], minlength=len(order))
        found = np.full(len(order), np.nan)
        np.divide(sums, counts, out=found, where=counts > 0)
        return found[order]

    counters = index.counters
    return (
        number_column(
            "sm_pct", "SM", "pct", "Mean throughput of the SMs.", mean(counters.number(SM_PCT)[rows])
        ),
        number_column(
            "memory_pct",
            "Memory",
            "pct",
            "Mean throughput of memory and caches.",
            mean(counters.number(MEMORY_PCT)[rows]),
        ),
        number_column(
            "dram_bytes_per_s",
            "DRAM",
            "bytes_per_s",
            "Mean of the launches' rates.",
            mean(traffic(counters, "dram").per_s[rows]),
        ),
    )


def _device(index: ReportIndex, rows: Int32) -> Column:
    names = [device.name or None for device in index.report.devices]
    found = [None if row == NO_ROW else names[row] for row in index.report.launches.device_row[rows].tolist()]
    return own_text_column("device", "Device", "Its name.", found)


def _where(index: ReportIndex, rows: Int32) -> tuple[Column, ...]:
    report = index.report
    processes = [_process_text(each.name, each.id) for each in report.processes]
    process_rows = report.launches.process_row[rows].tolist()
    ranges = _ranges(index)
    return (
        _device(index, rows),
        own_text_column(
            "process",
            "Process",
            "Name and number of the process.",
            [None if row == NO_ROW else processes[row] for row in process_rows],
            shown=len(processes) > 1,
        ),
        number_column(
            "stream", "Stream", "id", "Number of the stream.", report.launches.stream[rows], shown=False
        ),
        own_text_column(
            "nvtx",
            "NVTX ranges",
            "Ranges that were open at the launch, the outermost first.",
            [ranges.get(row) for row in rows.tolist()],
            shown=bool(ranges),
        ),
    )


def _process_text(name: str | None, number: int | None) -> str | None:
    said = [*filter(None, [name]), *([] if number is None else [f"({number})"])]
    return " ".join(said) or None


def _ranges(index: ReportIndex) -> dict[int, str]:
    """Returns the NVTX ranges of each launch that has any."""
    nvtx, strings = index.report.nvtx, index.report.strings
    found: dict[int, list[str]] = {}
    for row, name_id in zip(nvtx.launch_row.tolist(), nvtx.name_id.tolist(), strict=True):
        found.setdefault(row, []).append(strings[name_id])
    return {row: " / ".join(names) for row, names in found.items()}


def _whole(values: Float64) -> Int64:
    """Returns counts, which old reports store as fractions."""
    return np.where(np.isnan(values), MISSING, np.clip(np.nan_to_num(values), -(2.0**53), 2.0**53)).astype(
        np.int64
    )
