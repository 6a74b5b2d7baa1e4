"""Alerts, captures and doubts about what was read, as rows of one table, the newest first."""

from __future__ import annotations

from dataclasses import dataclass
from time import localtime, strftime
from typing import TYPE_CHECKING, Any

from PySide6.QtCore import QAbstractTableModel, QModelIndex, QObject, QPersistentModelIndex, Qt

from core.units import format_count, format_file_bytes
from gui.plain_text import tip_text

if TYPE_CHECKING:
    from core.runs.snapshot import Alert, Capture, RunSnapshot
    from gui.theme import Theme

Index = QModelIndex | QPersistentModelIndex

TITLES = ("Time", "Who", "What")
_ICONS = {"info": "info", "warn": "warning", "error": "warning-octagon", "ok": "check-circle"}


@dataclass(frozen=True, slots=True)
class ProblemRow:
    """One row.

    Attributes:
        t_ns: Unix time; None has no moment of its own.
        level: "info", "warn", "error" or "ok".
        who: "rank 2", "run", "reading".
        text: One line.
        hint: What to do.
        file: Of a capture that is ready, relative to the run folder.
    """

    t_ns: int | None
    level: str
    who: str
    text: str
    hint: str = ""
    rank: int | None = None
    step: int | None = None
    file: str | None = None


def rows_of(snapshot: RunSnapshot) -> tuple[ProblemRow, ...]:
    """All rows of a snapshot: alerts and captures, the newest first, then doubts."""
    timed = [
        *(_alert_row(alert) for alert in snapshot.alerts),
        *(_capture_row(capture) for capture in reversed(snapshot.captures)),
    ]
    return (
        *sorted(timed, key=lambda row: -(row.t_ns or 0)),
        *(
            ProblemRow(None, "warn", "reading", _counted(count, message))
            for _, count, message in snapshot.problems
        ),
    )


def _counted(count: int, message: str) -> str:
    return message if count == 1 else f"{message} ({format_count(count)} times)"


def _alert_row(alert: Alert) -> ProblemRow:
    who = "run" if alert.rank is None else f"rank {alert.rank}"
    return ProblemRow(alert.t_ns, alert.level, who, alert.message, alert.hint, alert.rank, alert.step)


def _capture_row(capture: Capture) -> ProblemRow:
    what = capture.what.capitalize()
    at = "" if capture.step is None else f" at step {format_count(capture.step)}"
    if capture.state == "ready":
        size = "" if capture.file_bytes is None else f", {format_file_bytes(capture.file_bytes)}"
        text, level = f"{what} ready{at}{size}: {capture.file}", "ok"
    elif capture.state == "failed":
        text, level = f"{what} failed: {capture.message}", "error"
    else:
        text, level = f"{what} is being taken{at}", "info"
    who = f"rank {capture.rank}"
    return ProblemRow(capture.t_ns, level, who, text, rank=capture.rank, step=capture.step, file=capture.file)


class ProblemModel(QAbstractTableModel):
    """Rows of the newest snapshot."""

    def __init__(self, theme: Theme, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self._rows: tuple[ProblemRow, ...] = ()

    @property
    def rows(self) -> tuple[ProblemRow, ...]:
        """What is shown."""
        return self._rows

    def set_theme(self, theme: Theme) -> None:
        """Draws the icons in other colours."""
        self._theme = theme
        if self._rows:
            self.dataChanged.emit(self.index(0, 0), self.index(len(self._rows) - 1, len(TITLES) - 1))

    def set_rows(self, rows: tuple[ProblemRow, ...]) -> None:
        """Shows other rows; a selection stays if only texts have changed."""
        if rows == self._rows:
            return
        if len(rows) == len(self._rows):
            self._rows = rows
            self.dataChanged.emit(self.index(0, 0), self.index(len(rows) - 1, len(TITLES) - 1))
            return
        self.beginResetModel()
        self._rows = rows
        self.endResetModel()

    def rowCount(self, parent: Index | None = None) -> int:  # noqa: N802
        """Number of rows."""
        return 0 if parent is not None and parent.isValid() else len(self._rows)

    def columnCount(self, parent: Index | None = None) -> int:  # noqa: N802
        """Number of columns."""
        return 0 if parent is not None and parent.isValid() else len(TITLES)

    def headerData(  # noqa: N802
        self, section: int, orientation: Qt.Orientation, role: int = int(Qt.ItemDataRole.DisplayRole)
    ) -> Any:
        """Titles."""
        if orientation == Qt.Orientation.Horizontal and role == Qt.ItemDataRole.DisplayRole:
            return TITLES[section]
        if role == Qt.ItemDataRole.TextAlignmentRole:
            return Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter
        return None

    def data(self, index: Index, role: int = int(Qt.ItemDataRole.DisplayRole)) -> Any:
        """Texts and icons; the tooltip says what to do."""
        if not index.isValid():
            return None
        row = self._rows[index.row()]
        if role == Qt.ItemDataRole.DisplayRole:
            return (_clock(row.t_ns), row.who, row.text)[index.column()]
        if role == Qt.ItemDataRole.DecorationRole and index.column() == 2:
            token = "text2" if row.level == "info" else row.level
            return self._theme.icon(_ICONS[row.level], token)
        if role == Qt.ItemDataRole.ToolTipRole:
            return tip_text(f"{row.text}\n{row.hint}".strip())
        if role == Qt.ItemDataRole.AccessibleTextRole:
            return f"{row.level}: {(_clock(row.t_ns), row.who, row.text)[index.column()]}"
        return None


def _clock(t_ns: int | None) -> str:
    return "" if t_ns is None else strftime("%H:%M:%S", localtime(t_ns / 1e9))
