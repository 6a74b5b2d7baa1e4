"""Where the Roofline page gets its points: opened documents offer them, and take them back when closed.

Pages do not know each other. Whoever opens a document says here how its points
are made; that is called in a worker when they are wanted. The way back is a
``PointAsked``: the page that owns the document shows the kernel behind a point.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from PySide6.QtCore import QObject, Signal

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from core.roofline.ceilings import Ceilings
    from core.roofline.points import PointTable
    from core.roofline.verdict import Verdict
    from core.tables.columns import Int32
    from core.tables.ncu import Report
    from gui.tasks import Progress

OwnerPage = Literal["trace", "nsight"]


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class OfferedPoints:
    """What one document gives.

    Attributes:
        points: All its kernels.
        ceilings: One for each of its devices.
        device_of: (n,) int32, place in ``ceilings`` of each row.
        judge: Makes a verdict for each row, None where there is none; in a worker, as it may take a while.
        note: What limits the points, in a sentence; "".
    """

    points: PointTable
    ceilings: tuple[Ceilings, ...]
    device_of: Int32
    judge: Callable[[Progress], tuple[Verdict | None, ...]]
    note: str = ""

    def row_named(self, name: str) -> int | None:
        """Row of a kernel by its full name; None if there is none."""
        points = self.points
        ids = enumerate(points.name_id.tolist())
        return next((row for row, text_id in ids if points.strings[text_id] == name), None)

    def why_no_place(self, row: int) -> str:
        """Why a kernel has no point by its traffic through DRAM; "" if it has one."""
        reason_id = int(self.points.reason_id[row])
        return "" if reason_id < 0 else self.points.strings[reason_id]


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class PointSource:
    """A document that offers points.

    Attributes:
        page: Who shows the document.
        path: Of the document; with ``page`` it names the source.
        name: For people.
        make: Makes the points, in a worker.
        report: What has been read, if the document is a report.
    """

    page: OwnerPage
    path: Path
    name: str
    make: Callable[[Progress], OfferedPoints]
    report: Report | None = None


@dataclass(frozen=True, slots=True)
class PointAsked:
    """The kernel behind a point should be shown.

    Attributes:
        page: That owns the document.
        path: Of the document.
        row: ``PointTable.origin_row``.
        name: The kernel's full name.
    """

    page: OwnerPage
    path: Path
    row: int
    name: str


class PointSources(QObject):
    """All sources, in the order in which they came.

    Signals:
        changed: A source came or went.
        asked: ``PointAsked``; the page that owns the document does it.
        wanted_changed: ``wanted`` is another; the Roofline page selects it.
    """

    changed = Signal()
    asked = Signal(object)
    wanted_changed = Signal()

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.wanted: tuple[PointSource, int] | None = None
        """The source and the row of its ``PointTable`` that were asked for last."""
        self._sources: dict[tuple[str, Path], PointSource] = {}
        self._looked_at: tuple[str, Path] | None = None

    @property
    def all(self) -> tuple[PointSource, ...]:
        """The sources."""
        return tuple(self._sources.values())

    @property
    def looked_at(self) -> PointSource | None:
        """The document that was looked at last, if it gives points."""
        return None if self._looked_at is None else self._sources.get(self._looked_at)

    def look_at(self, page: OwnerPage, path: Path) -> None:
        """A page shows a document; it need not give points yet."""
        self._looked_at = (page, path)

    def offer(self, source: PointSource) -> None:
        """Adds a source; one of the same page and path is replaced."""
        self._sources[source.page, source.path] = source
        self.changed.emit()

    def want(self, page: OwnerPage, path: Path, row: int) -> None:
        """Asks for the point of a document's kernel to be selected; ``row`` is that of its ``PointTable``."""
        source = self._sources.get((page, path))
        self.wanted = None if source is None else (source, row)
        self.wanted_changed.emit()

    def withdraw(self, page: OwnerPage, path: Path) -> None:
        """Takes a source away, if there is one."""
        if self._sources.pop((page, path), None) is not None:
            self.changed.emit()
