"""What the Roofline page shows, made in a worker: points of all sources on one device, table and plot.

An answer carries what was asked; any other choice of the user makes a new one.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final

import numpy as np

from core.roofline.ceilings import Ceilings, joined
from core.roofline.measurement import ceilings_measured
from core.roofline.places import join_points, places_of, take_points
from core.roofline.point_list import list_points, time_below_pct
from core.roofline.points import PointOrigin, WorkType
from core.units import format_count, format_pct

if TYPE_CHECKING:
    from collections.abc import Sequence

    from core.analyses.ncu_roofline import Level
    from core.roofline.places import Places
    from core.roofline.points import PointTable
    from core.roofline.verdict import Verdict
    from core.tables.columns import Bool, Int32
    from core.tables.result import ResultTable
    from gui.rooflines.sources import OfferedPoints, PointSource

UNNAMED: Final = "Device not named"


@dataclass(frozen=True, slots=True)
class BoardAsk:
    """What the user has chosen.

    Attributes:
        device: Name as in the files; None is the one with the most time.
        level: Whose traffic makes the intensity.
        work_type: Only points of this type, NONE for all.
        measured, modelled: Which points are shown; estimated ones count as measured.
        sparse: Whether ceilings with 2:4 sparsity are drawn as well.
        below_pct: The share of the roof that the time below is told of.
        also: Devices without kernels that can be chosen: they were measured here.
    """

    device: str | None = None
    level: Level = "dram"
    work_type: WorkType = WorkType.NONE
    measured: bool = True
    modelled: bool = True
    sparse: bool = False
    below_pct: float = 50.0
    also: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Board:
    """The answer.

    Attributes:
        ask: What was asked, with the device filled in.
        devices: Names of all devices, that with the most time first.
        sources: Whose points they are.
        source_of: (n,) int32, place in ``sources`` of each row.
        offered_row: (n,) int32, row of each in the table that its source offered.
        ceilings: Of the device, the user's own among them.
        points, places, table: (n,) rows: what the filters let through.
        verdicts: Of each row; () until they are made.
        row_of_point: (m,) int32, the row of each drawn point.
        measured, modelled: How many kernels of the device there are of each kind, whatever is filtered.
        work_types: That occur.
        counted: Words on how much is drawn: "23 kernels, 84.6 % of kernel time".
        modelled_words: On how much of the time of traces is modelled; "" without one.
        below_time_pct: Part of the time below ``ask.below_pct`` of the roof; None if no roof is known.
        above: How many drawn points lie above their roof.
    """

    ask: BoardAsk
    devices: tuple[str, ...]
    sources: tuple[PointSource, ...]
    source_of: Int32
    offered_row: Int32
    ceilings: Ceilings
    points: PointTable
    places: Places
    table: ResultTable
    row_of_point: Int32
    measured: int
    modelled: int
    work_types: tuple[WorkType, ...]
    counted: str
    modelled_words: str
    below_time_pct: float | None
    verdicts: tuple[Verdict | None, ...] = ()
    notes: tuple[str, ...] = field(default=())

    def point_of_row(self, row: int) -> int:
        """Number of the drawn point of a row, -1 if it has none."""
        found = np.flatnonzero(self.row_of_point == row)
        return int(found[0]) if len(found) else -1


def build_board(
    offers: Sequence[tuple[PointSource, OfferedPoints]],
    ask: BoardAsk,
    own: dict[str, Ceilings],
) -> Board:
    """Puts points of all sources below the ceilings of one device.

    Args:
        offers: What the sources gave; at least one.
        ask: The user's choice.
        own: Ceilings that the user has entered, by name of the device.
    """
    devices = _devices(offers)
    devices += tuple(name for name in ask.also if name not in devices)
    device = ask.device if ask.device in devices else devices[0] if devices else ""
    ask = replace(ask, device=device)
    tables, source_of, offered = [], [], []
    for place, (_, offer) in enumerate(offers):
        names = [each.device for each in offer.ceilings]
        chosen = np.array([name == device for name in names], np.bool_)[offer.device_of]
        rows = np.flatnonzero(chosen).astype(np.int32)
        tables.append(take_points(offer.points, rows))
        source_of.append(np.full(len(rows), place, np.int32))
        offered.append(rows)
    points = join_points(tables)
    ceilings = _ceilings(offers, device, own)
    return _filtered(
        ask,
        devices,
        tuple(source for source, _ in offers),
        np.concatenate(source_of),
        np.concatenate(offered),
        points,
        ceilings,
        tuple(dict.fromkeys(offer.note for _, offer in offers if offer.note)),
    )


def with_verdicts(board: Board, verdicts: dict[int, tuple[Verdict | None, ...]]) -> Board:
    """Returns the board with verdicts in its table.

    Args:
        board: The board.
        verdicts: For the place of a source, those of its rows as it offered them.
    """
    found = tuple(
        verdicts[source][row] if source in verdicts else None
        for source, row in zip(board.source_of.tolist(), board.offered_row.tolist(), strict=True)
    )
    table = list_points(
        board.points,
        board.places,
        board.ask.level,
        files=_files(board.sources, board.source_of),
        verdicts=found,
    )
    return replace(board, verdicts=found, table=table)


def ask_to_see(
    offers: Sequence[tuple[PointSource, OfferedPoints]],
    asked: BoardAsk,
    source: PointSource,
    row: int | None,
) -> BoardAsk:
    """Returns what to ask for so that a document's kernels can be seen.

    Args:
        offers: What the sources gave.
        asked: What is shown; its device is kept if the document has kernels on it.
        source: The document; one that gave nothing changes nothing.
        row: Of its points the one that is to be seen; None for any.
    """
    own = [each for each in offers if each[0] is source]
    if not own or row is None:
        devices = _devices(own)
        return asked if asked.device in devices or not devices else replace(asked, device=devices[0])
    offer = own[0][1]
    is_modelled = offer.points.origin[row] == PointOrigin.MODELLED
    hides = asked.work_type not in (WorkType.NONE, offer.points.work_type[row])
    return replace(
        asked,
        device=offer.ceilings[int(offer.device_of[row])].device,
        modelled=asked.modelled or bool(is_modelled),
        measured=asked.measured or not is_modelled,
        work_type=WorkType.NONE if hides else asked.work_type,
    )


def _devices(offers: Sequence[tuple[PointSource, OfferedPoints]]) -> tuple[str, ...]:
    """Names of all devices, that with the most time first."""
    time: dict[str, int] = {}
    for _, offer in offers:
        spent = np.bincount(
            offer.device_of, np.maximum(offer.points.sum_ns, 0), minlength=len(offer.ceilings)
        )
        for ceilings, each in zip(offer.ceilings, spent.tolist(), strict=True):
            time[ceilings.device] = time.get(ceilings.device, 0) + int(each)
    return tuple(sorted(time, key=lambda name: (-time[name], name)))


def _ceilings(
    offers: Sequence[tuple[PointSource, OfferedPoints]], device: str, own: dict[str, Ceilings]
) -> Ceilings:
    """All ceilings of a device, measured ones among them; of several documents' the same ones once."""
    several = [each for _, offer in offers for each in offer.ceilings if each.device == device]
    measured = ceilings_measured(device) if device else None
    whole = joined(*several, own.get(device, Ceilings(device=device)), measured or Ceilings(device=device))
    return replace(
        whole,
        device=device,
        work=tuple(dict.fromkeys(whole.work)),
        traffic=tuple(dict.fromkeys(whole.traffic)),
    )


def _filtered(  # noqa: PLR0913, PLR0917  (private, called once)
    ask: BoardAsk,
    devices: tuple[str, ...],
    sources: tuple[PointSource, ...],
    source_of: Int32,
    offered_row: Int32,
    points: PointTable,
    ceilings: Ceilings,
    notes: tuple[str, ...],
) -> Board:
    is_modelled = np.asarray(points.origin == PointOrigin.MODELLED)
    kept = np.where(is_modelled, ask.modelled, ask.measured)
    if ask.work_type != WorkType.NONE:
        kept &= points.work_type == ask.work_type
    rows = np.flatnonzero(kept).astype(np.int32)
    shown, sources_shown = take_points(points, rows), source_of[rows]
    places = places_of(shown, ceilings, ask.level)
    return Board(
        ask=ask,
        devices=devices,
        sources=sources,
        source_of=sources_shown,
        offered_row=offered_row[rows],
        ceilings=ceilings,
        points=shown,
        places=places,
        table=list_points(shown, places, ask.level, files=_files(sources, sources_shown)),
        row_of_point=np.flatnonzero(places.placed).astype(np.int32),
        measured=int((~is_modelled).sum()),
        modelled=int(is_modelled.sum()),
        work_types=tuple(WorkType(each) for each in np.unique(points.work_type).tolist() if each),
        counted=_counted(points, places, rows, is_modelled),
        modelled_words=_modelled_words(points, is_modelled) if not is_modelled.all() else "",
        below_time_pct=time_below_pct(shown, places, ask.below_pct),
        notes=notes,
    )


def _files(sources: tuple[PointSource, ...], source_of: Int32) -> list[str]:
    return [sources[place].name for place in source_of.tolist()] if len(sources) > 1 else []


def _counted(points: PointTable, places: Places, rows: Int32, is_modelled: Bool) -> str:
    drawn = int(places.placed.sum())
    time = np.maximum(points.sum_ns, 0)
    whole = int(time.sum())
    words = f"{format_count(drawn)} {'kernel' if drawn == 1 else 'kernels'}"
    if not whole:
        return words
    how = ", modelled: " if is_modelled.all() else ", "
    return f"{words}{how}{format_pct(float(time[rows[places.placed]].sum()) / whole * 100)} of kernel time"


def _modelled_words(points: PointTable, is_modelled: Bool) -> str:
    """How much of the time of traces has a model: what has none is listed with the reason."""
    time = np.maximum(points.sum_ns, 0)
    whole = int(time[is_modelled].sum())
    if not whole:
        return ""
    known = is_modelled & np.isfinite(points.flop) & (points.reason_id < 0)
    return f"modelled: {format_pct(float(time[known].sum()) / whole * 100)} of the trace's kernel time"
