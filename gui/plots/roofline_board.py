"""From a board to what the plot draws: points with a place, and the ceilings that belong to them."""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING, Final, TypeVar

import numpy as np

from core.roofline.ceilings import ROOF_ORIGINS, CeilingOrigin, TrafficCeiling, WorkCeiling
from core.roofline.points import LEVEL_TITLES, PointOrigin, WorkType
from core.units import (
    format_bytes_per_s,
    format_count,
    format_duration_ns,
    format_flop_per_s,
    format_number,
    format_pct,
)
from gui.plain_text import visible_text
from gui.plots.roofline_content import OTHER, RooflineContent, RooflinePoints, TrafficRoof, WorkRoof
from gui.plots.timeline_content import SliceWords

if TYPE_CHECKING:
    from collections.abc import Iterable

    from gui.rooflines.board import Board

_Ceiling = TypeVar("_Ceiling", WorkCeiling, TrafficCeiling)

MOST_TYPES: Final = 4
"""So many types of work have their ceilings drawn, those with the most time first."""

_CLAUSE_ENDS: Final = re.compile(r" \(|[,:] ")
"""Where the words of a reason end and the figures of one kernel may begin."""

_SAME: Final = 0.03
"""Two ceilings of one kind that differ by less would be one line."""

_ORIGIN_WORDS: Final = {
    CeilingOrigin.DATA_SHEET: "",
    CeilingOrigin.OWN: ", own entry",
    CeilingOrigin.PROFILED: ", profiled clock",
    CeilingOrigin.MEASURED: ", measured",
}
_WITHOUT_POINTS: Final = (
    WorkType.BF16_TENSOR,
    WorkType.FP16_TENSOR,
    WorkType.FP32,
)


def content_of(board: Board) -> RooflineContent:
    """Returns what the plot draws of a board; point k is row ``board.row_of_point[k]``."""
    rows, points, places = board.row_of_point, board.points, board.places
    drawn = RooflinePoints(
        intensity=places.intensity[rows],
        flop_per_s=places.flop_per_s[rows],
        roof_flop_per_s=places.roof_flop_per_s[rows],
        sum_ns=points.sum_ns[rows],
        # Triton kernels have the colour of the others.
        category=np.minimum(points.category[rows], OTHER).astype(np.uint8),
        origin=points.origin[rows],
    )
    works, traffics = _works(board), _traffics(board)
    return RooflineContent(
        points=drawn,
        works=works,
        traffics=traffics,
        name_of=lambda point: points.strings[int(points.short_name_id[rows[point]])],
        words_of=lambda point: _words(board, int(rows[point])),
        why_empty="" if len(rows) else _why_empty(board),
    )


def _why_empty(board: Board) -> str:
    """Says why a board has no point: the reason of most of its kernels, if it has any."""
    if not board.measured + board.modelled:
        return f"No kernel of what is open ran on {visible_text(board.ask.device or '')}"
    column = board.table.column("reason")
    reasons = [str(column.value(row) or "") for row in range(len(board.points))]
    if not reasons:
        return "Measured, Modelled and the type of work above hide all kernels"
    # Figures of one kernel are not those of the next: what stands before them is counted.
    clauses = [_CLAUSE_ENDS.split(reason, maxsplit=1)[0] for reason in reasons]
    clause, count = Counter(clauses).most_common(1)[0]
    whole = {reason for reason, each in zip(reasons, clauses, strict=True) if each == clause}
    words = visible_text(whole.pop() if len(whole) == 1 else clause)
    of = "" if count == len(reasons) else f" (as of {format_count(count)} of {format_count(len(reasons))})"
    return f'No kernel could be plotted: {words}{of}. See "Not plotted" in the table below'


def _types(board: Board) -> list[WorkType]:
    """Types whose ceilings are drawn, the most important first."""
    if board.ask.work_type != WorkType.NONE:
        return [board.ask.work_type]
    rows = board.row_of_point
    time = np.bincount(
        board.points.work_type[rows], np.maximum(board.points.sum_ns[rows], 0), minlength=len(WorkType)
    )
    used = [WorkType(each) for each in np.argsort(-time, kind="stable").tolist() if time[each] > 0]
    return used[:MOST_TYPES] or list(_WITHOUT_POINTS)


def _works(board: Board) -> tuple[WorkRoof, ...]:
    found = []
    types = _types(board)
    for work_type in types:
        of_type = [
            each
            for each in board.ceilings.work
            if each.work_type == work_type and not each.is_fp16_accumulate
        ]
        dense = _distinct([each for each in of_type if not each.is_sparse])
        for place, each in enumerate(dense):
            found.append(_work_roof(each, chosen=work_type == types[0] and place == 0))
        if board.ask.sparse:
            sparse = _distinct([each for each in of_type if each.is_sparse])
            found += [_work_roof(each, chosen=False) for each in sparse]
    return tuple(found)


def _traffics(board: Board) -> tuple[TrafficRoof, ...]:
    found = []
    for level in LEVEL_TITLES:
        of_level = _distinct([each for each in board.ceilings.traffic if each.level == level])
        for place, each in enumerate(of_level):
            found.append(_traffic_roof(each, chosen=level == board.ask.level and place == 0))
    return tuple(found)


def _distinct(ceilings: Iterable[_Ceiling]) -> list[_Ceiling]:
    """The ceilings of one kind, what makes the roof first; what would be the same line once."""
    ordered = sorted(ceilings, key=lambda each: ROOF_ORIGINS.index(each.origin))
    kept: list[_Ceiling] = []
    for each in ordered:
        if all(abs(_height(each) / _height(other) - 1) > _SAME for other in kept):
            kept.append(each)
    return kept


def _height(ceiling: WorkCeiling | TrafficCeiling) -> float:
    return ceiling.flop_per_s if isinstance(ceiling, WorkCeiling) else ceiling.bytes_per_s


def _work_roof(ceiling: WorkCeiling, *, chosen: bool) -> WorkRoof:
    words = f"{ceiling.work_type.title} {format_flop_per_s(ceiling.flop_per_s)}"
    sparse = ", sparse" if ceiling.is_sparse else ""
    return WorkRoof(
        label=words + sparse + _ORIGIN_WORDS[ceiling.origin],
        flop_per_s=ceiling.flop_per_s,
        dashed=ceiling.is_sparse or ceiling.origin in (CeilingOrigin.MEASURED, CeilingOrigin.PROFILED),
        chosen=chosen,
    )


def _traffic_roof(ceiling: TrafficCeiling, *, chosen: bool) -> TrafficRoof:
    words = f"{LEVEL_TITLES[ceiling.level]} {format_bytes_per_s(ceiling.bytes_per_s)}"
    return TrafficRoof(
        label=words + _ORIGIN_WORDS[ceiling.origin],
        bytes_per_s=ceiling.bytes_per_s,
        dashed=ceiling.origin in (CeilingOrigin.MEASURED, CeilingOrigin.PROFILED),
        chosen=chosen,
    )


def _words(board: Board, row: int) -> SliceWords:
    """What the tooltip says: the name, then place, roof, type and time."""
    points, places = board.points, board.places
    origin = PointOrigin(int(points.origin[row]))
    bound = "\N{LESS-THAN OR EQUAL TO} " if origin == PointOrigin.MODELLED else ""
    share = float(places.of_roof_pct[row])
    calls = int(points.calls[row])
    counted = f"{format_count(calls)} {'call' if calls == 1 else 'calls'}"
    times = f"{format_duration_ns(int(points.sum_ns[row]))}, {counted}"
    return SliceWords(
        points.strings[int(points.name_id[row])],
        (
            (
                f"{bound}{format_number(float(places.intensity[row]), 4)} FLOP/B",
                format_flop_per_s(float(places.flop_per_s[row])),
            ),
            ("Of its roof", format_pct(share) if share > 0 else "no roof known"),
            (origin.name.capitalize(), WorkType(int(points.work_type[row])).title),
            ("Time", times),
        ),
    )
