"""The reports that are open and read, in the order in which they were shown last."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Signal

if TYPE_CHECKING:
    from pathlib import Path

    from gui.reports.open_reports import OpenReports
    from gui.rooflines.sources import PointSource, PointSources


class RecentReports(QObject):
    """Follows the list of reports.

    Signals:
        changed: ``sources`` are others, or in another order.
    """

    changed = Signal()

    def __init__(self, reports: OpenReports, points: PointSources, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._reports = reports
        self._points = points
        self._order: list[Path] = list(reversed(reports.paths))
        self._sources: tuple[PointSource, ...] = ()
        reports.changed.connect(self._follow)
        points.changed.connect(self._follow)
        self._follow()

    @property
    def sources(self) -> tuple[PointSource, ...]:
        """The one that was shown last first."""
        return self._sources

    def _follow(self) -> None:
        shown, paths = self._reports.shown, self._reports.paths
        order = [path for path in dict.fromkeys((shown, *self._order, *paths)) if path in paths]
        self._order = [path for path in order if path is not None]
        read = {source.path: source for source in self._points.all if source.report is not None}
        sources = tuple(read[path] for path in self._order if path in read)
        if sources != self._sources:
            self._sources = sources
            self.changed.emit()
