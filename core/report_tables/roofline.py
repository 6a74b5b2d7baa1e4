"""Where the launches of a report stand on the roofline, beside the data sheets of their devices."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from core.analyses.answer_columns import number_column, own_text_column
from core.analyses.ncu_counters import quotient
from core.analyses.ncu_roofline import peak_traffic
from core.report_tables.index import NO_KERNELS, ReportIndex
from core.roofline.measured import WORK_TYPES
from core.roofline.point_columns import intensity_of, intensity_to, point_columns, roof_levels
from core.roofline.points import LEVELS, PointOrigin, WorkType
from core.tables.columns import NO_ROW
from core.tables.result import Column, ResultTable

if TYPE_CHECKING:
    from core.roofline.points import PointTable
    from core.tables.columns import Float64, Int32


def list_roofline(index: ReportIndex, launches: Int32 | None = None) -> ResultTable:
    """Lists the points of launches; those without a place say why.

    Args:
        index: The report.
        launches: (n,) int32, only these; None is all.

    Raises:
        DashboardError: The user's own file of peaks is not as it should be.
    """
    rows = index.rows(launches)
    points = index.points.take(rows)
    device_rows = index.report.launches.device_row[rows].tolist()
    sheets = [index.sheets[row] for row in device_rows]
    devices = [None if row == NO_ROW else index.report.devices[row].name for row in device_rows]
    return ResultTable(
        name="roofline",
        title="Roofline",
        columns=(
            *index.kernel_columns(rows),
            *point_columns(points, sheets),
            *_profiled_columns(index, rows),
            *_scalar_columns(index, rows),
            own_text_column("device", "Device", "Its name.", devices),
            number_column(
                "duration_ns", "Duration", "ns", "On the device.", points.sum_ns.copy(), shown=False
            ),
        ),
        notes=(*_estimated_note(points), *_sheet_notes(index, device_rows)),
        empty=NO_KERNELS,
        members=rows,
        member_ends=np.arange(1, len(rows) + 1, dtype=np.int64),
    )


def _profiled_columns(index: ReportIndex, rows: Int32) -> tuple[Column, ...]:
    """Returns the roof at the clocks during profiling, below which a point of this report lies."""
    points, counters = index.points, index.counters
    levels = roof_levels(points)
    of_l2 = np.array([level == "l2" for level in levels], bool)
    slope = np.where(of_l2, peak_traffic(counters, "l2"), peak_traffic(counters, "dram"))
    sloped = slope * intensity_to(points, levels)
    all_roofs = np.full(len(points), np.nan)
    for (kind, is_sparse), peak in index.profiled_work.items():
        of_kind = (points.work_type == kind) & (not is_sparse)
        all_roofs[of_kind] = np.minimum(peak, sloped)[of_kind]
    roofs = np.where(all_roofs > 0, all_roofs, np.nan)[rows]
    seconds = np.where(points.sum_ns[rows] > 0, points.sum_ns[rows] / 1e9, np.nan)
    share_pct = quotient(quotient(points.flop[rows], seconds), roofs) * 100
    return (
        number_column(
            "profiled_roof_flop_per_s",
            "Roof when profiled",
            "flop_per_s",
            "The same at the clocks during profiling, which ncu locks unless told otherwise.",
            roofs,
            shown=False,
        ),
        number_column(
            "profiled_roof_pct", "Of roof when profiled", "pct", "What it achieved of that.", share_pct
        ),
    )


def _scalar_columns(index: ReportIndex, rows: Int32) -> tuple[Column, ...]:
    """Returns what was counted of types that are not the one on the plot."""
    work = index.work
    tensor = work.flop[rows][:, [kind.is_tensor for kind in WORK_TYPES]]
    counted = ~np.all(np.isnan(tensor), axis=1)
    of_tensor: Float64 = np.where(counted, np.nansum(tensor, axis=1), np.nan)
    named = [
        (kind.name.lower(), kind.title, work.flop[rows, WORK_TYPES.index(kind)])
        for kind in (WorkType.FP64, WorkType.FP32, WorkType.FP16)
    ]
    moved = work.moved_bytes[rows, LEVELS.index("dram")]
    found: list[Column] = []
    for key, title, flop in (*named, ("tensor", "Tensor", of_tensor)):
        found += [
            number_column(
                f"{key}_flop", f"{title} FLOP", "flop", "Operations of this type.", flop.copy(), shown=False
            ),
            number_column(
                f"{key}_intensity",
                f"{title} intensity",
                "flop_per_byte",
                "Operations of this type for each byte that DRAM moved.",
                intensity_of(flop, moved),
                shown=False,
            ),
        ]
    return tuple(found)


def _sheet_notes(index: ReportIndex, device_rows: list[int]) -> tuple[str, ...]:
    """Returns what data sheets were used, and which devices have none."""
    used = [index.sheets[row] for row in dict.fromkeys(device_rows)]
    notes: list[str] = []
    for sheet in used:
        sources = [each.source for each in sheet.traffic] + [each.source for each in sheet.work]
        said = f"roof by {sources[0]}." if sources else ""
        notes.append(f"{sheet.device or 'Device'}: {' '.join(filter(None, [said, sheet.note]))}")
    return tuple(notes)


def _estimated_note(points: PointTable) -> tuple[str, ...]:
    count = int((points.origin == PointOrigin.ESTIMATED).sum())
    if not count:
        return ()
    kernels = "1 kernel" if count == 1 else f"{count} kernels"
    return (f"Tensor work of {kernels} is estimated from counted instructions.",)
