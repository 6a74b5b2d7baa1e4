"""Kernels that others are held against: any launch of any report, or the partners in another one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Signal

if TYPE_CHECKING:
    from collections.abc import Collection
    from pathlib import Path

    from core.tables.ncu import Report


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Baseline:
    """One of them.

    Attributes:
        path: Of its report.
        row: Its launch; None is each launch's partner: the one of the same name, grid and block.
        title: Kernel and report, short.
        report: It is held as long as it is a baseline.
    """

    path: Path
    row: int | None
    title: str
    report: Report

    def is_of(self, path: Path, row: int | None) -> bool:
        """Whether it is this launch; a whole report is each of its launches."""
        return self.path == path and self.row in (row, None)


class Baselines(QObject):
    """The list, and which one is chosen; the same for all reports.

    Signals:
        changed: The list or the choice is another.
    """

    changed = Signal()

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._all: list[Baseline] = []
        self._chosen: Baseline | None = None

    @property
    def all(self) -> tuple[Baseline, ...]:
        """In the order in which they were added."""
        return tuple(self._all)

    @property
    def chosen(self) -> Baseline | None:
        """What kernels are held against now."""
        return self._chosen

    def add(self, baseline: Baseline) -> None:
        """Adds a kernel and chooses it; one that is there already is only chosen."""
        known = self._known(baseline)
        if known is None:
            self._all.append(baseline)
        self._chosen = known or baseline
        self.changed.emit()

    def offer(self, baseline: Baseline) -> None:
        """Adds one without choosing it: a report that has been opened."""
        if self._known(baseline) is None:
            self._all.append(baseline)
            self.changed.emit()

    def _known(self, baseline: Baseline) -> Baseline | None:
        same = (baseline.path, baseline.row)
        return next((each for each in self._all if (each.path, each.row) == same), None)

    def choose(self, baseline: Baseline | None) -> None:
        """Holds kernels against another one, or with None against nothing."""
        if baseline is not self._chosen:
            self._chosen = baseline
            self.changed.emit()

    def keep_only(self, paths: Collection[Path]) -> None:
        """Lets go of the baselines of reports that were closed."""
        kept = [each for each in self._all if each.path in paths]
        if len(kept) == len(self._all):
            return
        self._all = kept
        if self._chosen not in kept:
            self._chosen = None
        self.changed.emit()
