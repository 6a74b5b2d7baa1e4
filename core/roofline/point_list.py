"""All points of a roofline as a table: also those that have no place on the plot, with the reason."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from core.analyses.answer_columns import number_column, own_text_column, text_column
from core.analyses.categories import Category
from core.roofline.points import LEVEL_TITLES, PointOrigin, WorkType
from core.tables.columns import MISSING, NO_ROW
from core.tables.result import Column, ResultTable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from core.analyses.ncu_roofline import Level
    from core.roofline.places import Places
    from core.roofline.points import PointTable
    from core.roofline.verdict import Verdict
    from core.tables.columns import Float64

NAME: Final = "roofline"
_TITLES: Final = tuple(origin.name.capitalize() for origin in PointOrigin)


def list_points(
    points: PointTable,
    places: Places,
    level: Level,
    *,
    files: Sequence[str] = (),
    verdicts: Sequence[Verdict | None] = (),
) -> ResultTable:
    """Lists points, the longest first.

    Args:
        points: All of them.
        places: Where they stand.
        level: Whose traffic ``places`` counts.
        files: Name of the file of each row; () if all are of one.
        verdicts: Of each row, None where there is none; () if there are none yet.
    """
    return ResultTable(
        name=NAME,
        title="Kernels",
        columns=(
            *_who(points, files),
            *_where(points, places, level),
            *_when(points),
            *_why(points, places, level, verdicts),
        ),
        empty="No kernel of this device is in what is open.",
        sorted_by="sum_ns",
    )


def time_below_pct(points: PointTable, places: Places, below_pct: float) -> float | None:
    """Returns how much of the kernel time is spent below a share of the roof, in per cent.

    Of the time of all kernels whose roof is known; None if there is none.
    """
    of_roof = places.of_roof_pct
    known = np.isfinite(of_roof) & (points.sum_ns > 0)
    whole = int(points.sum_ns[known].sum())
    return None if not whole else float(points.sum_ns[known & (of_roof < below_pct)].sum()) / whole * 100


def _who(points: PointTable, files: Sequence[str]) -> tuple[Column, ...]:
    return (
        text_column(
            "name",
            "Kernel",
            "Short name; names that differ stay different.",
            points.short_name_id,
            points.strings,
        ),
        text_column(
            "full_name",
            "Full name",
            "Name as it stands in the file.",
            points.name_id,
            points.strings,
            shown=False,
        ),
        text_column(
            "category",
            "Category",
            "What kind of work the kernel does, by its name.",
            points.category.astype(np.int32),
            tuple(category.title for category in Category),
            shown=False,
        ),
        text_column(
            "source",
            "Source",
            "Measured: counted by the device. Estimated: from counted instructions. Modelled: from shapes.",
            points.origin.astype(np.int32),
            _TITLES,
        ),
        own_text_column("file", "File", "Where it comes from.", files or [None] * len(points), shown=False),
    )


def _where(points: PointTable, places: Places, level: Level) -> tuple[Column, ...]:
    title = LEVEL_TITLES[level]
    return (
        text_column(
            "work_type",
            "Type",
            "Of most of its operations: it is held against the ceiling of this type.",
            np.where(points.work_type == WorkType.NONE, NO_ROW, points.work_type.astype(np.int32)),
            tuple(each.title for each in WorkType),
        ),
        Column(
            key="intensity_flop_per_byte",
            # Each with digits of its own: intensities span six decades.
            title="FLOP/B",
            unit="",
            help=f"Intensity: operations a byte of {title}. Modelled ones are at most this.",
            values=_copy(places.intensity),
            at_most=np.asarray((points.origin == PointOrigin.MODELLED) & (points.flop > 0)),
        ),
        number_column("flop_per_s", "Rate", "flop_per_s", "Operations by time.", _copy(places.flop_per_s)),
        number_column(
            "bytes_per_s",
            f"{title} rate",
            "bytes_per_s",
            f"{title} traffic by time.",
            _copy(places.bytes_per_s),
            shown=False,
        ),
        number_column(
            "of_roof_pct",
            "Of roof",
            "pct",
            "Its rate as a share of what the device can do in this type of work at this intensity.",
            places.of_roof_pct,
        ),
    )


def _when(points: PointTable) -> tuple[Column, ...]:
    whole = int(np.maximum(points.sum_ns, 0).sum())
    share = np.where(points.sum_ns >= 0, points.sum_ns / max(whole, 1) * 100, np.nan)
    return (
        number_column("sum_ns", "Sum", "ns", "Time of all its calls.", points.sum_ns.copy()),
        number_column(
            "time_share_pct",
            "Time",
            "pct",
            "Its part of the time of all kernels listed.",
            np.asarray(share),
            shown=False,
        ),
        number_column("calls", "Calls", "count", "How often it ran.", _copy_whole(points.calls), shown=False),
    )


def _why(
    points: PointTable, places: Places, level: Level, verdicts: Sequence[Verdict | None]
) -> tuple[Column, ...]:
    kinds = [None if verdict is None else verdict.kind.value.capitalize() for verdict in verdicts]
    return (
        own_text_column(
            "verdict", "Verdict", "What holds it back; the Inspector shows the evidence.",
            kinds or [None] * len(points),
        ),
        own_text_column(
            "reason",
            "Not plotted",
            "Why it has no place on the plot.",
            reasons(points, places, level),
        ),
    )  # fmt: skip


def reasons(points: PointTable, places: Places, level: Level) -> list[str | None]:
    """Returns for each row why it has no place on the plot; None where it has one."""
    placed = places.placed
    missing = f"its {LEVEL_TITLES[level]} traffic is not known"

    def words(row: int) -> str | None:
        if placed[row]:
            return None
        if points.reason_id[row] != NO_ROW:
            return points.strings[int(points.reason_id[row])]
        return missing

    return [words(row) for row in range(len(points))]


def _copy(values: Float64) -> Float64:
    return values.copy()


def _copy_whole(values: np.ndarray) -> np.ndarray:
    return np.where(values < 0, MISSING, values)
