"""Recent runs and files: what Home's table and the palette list. Reads the disk in a worker only."""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Signal

from core.files import printable
from core.units import format_duration_ns
from gui.run_words import STATUS_WORDS

if TYPE_CHECKING:
    from core.runs.store import RunStore, RunSummary
    from gui.settings import RecentFile, Settings
    from gui.tasks import Progress, Tasks

LISTED_RUNS = 200
FILE_ICONS = {
    "Python script": "file",
    "Run folder": "activity",
    "Nsight Compute report": "cpu",
    "Nsight Compute report (zstd)": "cpu",
    "Nsight Compute CSV": "cpu",
}
TRACE_ICON = "rows"


@dataclass(frozen=True, slots=True, kw_only=True)
class RecentRow:
    """One run or file.

    Attributes:
        level: Of the result's icon; "" for no icon.
        t_ns: Unix time, when it was started or opened.
        size_bytes: None: not known (any more).
        files: Several files that are opened as one, ``path`` being the first; else ().
    """

    path: Path
    is_run: bool
    name: str
    icon: str
    kind: str
    result: str
    result_icon: str
    level: str
    t_ns: int
    size_bytes: int | None
    files: tuple[Path, ...] = ()

    @property
    def paths(self) -> tuple[Path, ...]:
        """All that is to be opened."""
        return self.files or (self.path,)


def row_of_run(run: RunSummary) -> RecentRow:
    """A run as a row: runs of one title are told apart by ranks, device, end and how long they took."""
    icon, word, level = STATUS_WORDS[run.status]
    ranks = "1 rank" if run.ranks == 1 else f"{run.ranks} ranks"
    where = {"cpu": ", CPU", "cuda": ", GPU"}.get(run.device, "")
    took = "" if run.ended_ns is None else f" after {format_duration_ns(run.ended_ns - run.started_ns)}"
    # Of a run that ended well there is nothing to say that others of its title would not say too.
    said = printable(run.summary.strip().partition("\n")[0])
    return RecentRow(
        path=run.path,
        is_run=True,
        name=printable(run.title),
        icon="activity",
        kind=f"Run, {ranks}{where}",
        result=f"{word}{took}" if run.status == "done" or not said else said,
        result_icon=icon,
        level=level,
        t_ns=run.started_ns,
        size_bytes=run.size_bytes,
    )


def row_of_file(file: RecentFile) -> RecentRow:
    """A file, or several that are opened as one, as a row; looks at sizes on disk, so call it in a worker."""
    path, files = Path(file.path), tuple(Path(each) for each in file.files)
    found = [_size_of(each) for each in files or (path,)]
    sizes = [size_bytes for size_bytes, _ in found if size_bytes is not None]
    lost = sum(gone for _, gone in found)
    gone = "Not there any more" if len(found) == 1 else f"{lost} of {len(found)} are not there any more"
    return RecentRow(
        path=path,
        is_run=False,
        name=printable(path.name) + (f" and {len(files) - 1} more" if files else ""),
        icon=TRACE_ICON if "trace" in file.title.lower() else FILE_ICONS.get(file.title, "file"),
        kind=file.title,
        result=gone if lost else "",
        result_icon="warning" if lost else "",
        level="warn" if lost else "",
        t_ns=file.opened_ns,
        size_bytes=sum(sizes) if len(sizes) == len(found) else None,
        files=files,
    )


def _size_of(path: Path) -> tuple[int | None, bool]:
    """Returns the size of a file, None of anything else, and whether nothing is there any more."""
    try:
        return path.stat().st_size if path.is_file() else None, not path.exists()
    except OSError:
        return None, True


def format_day(t_ns: int) -> str:
    """Local day and time in one width: "29 Nov 11:52"; the year where it is another one."""
    moment = time.localtime(t_ns / 1e9)
    this_year = moment.tm_year == time.localtime().tm_year
    return time.strftime("%d %b %H:%M" if this_year else "%d %b %Y", moment).lstrip("0")


class RecentWork(QObject):
    """Keeps the newest list for all who show it.

    Signals:
        changed: The rows are others now.
        failed: A ``DashboardError``; the rows stand.
    """

    changed = Signal()
    failed = Signal(object)

    def __init__(
        self, tasks: Tasks, store: RunStore, settings: Settings, parent: QObject | None = None
    ) -> None:
        super().__init__(parent)
        self._tasks = tasks
        self._store = store
        self._settings = settings
        self.rows: tuple[RecentRow, ...] = ()
        self.unreadable: tuple[tuple[str, str], ...] = ()
        """(folder name, why) of runs that cannot be listed."""

    def refresh(self) -> None:
        """Reads the list again, in a worker."""
        store, files = self._store, self._settings.recent_files

        def work(_: Progress) -> tuple[tuple[RecentRow, ...], tuple[tuple[str, str], ...]]:
            rows = [row_of_run(run) for run in store.list(LISTED_RUNS)]
            return (*rows, *map(row_of_file, files)), store.problems

        self._tasks.start(
            title="Reading the list of runs",
            work=work,
            done=self._take,
            failed=self.failed.emit,
            key="recent",
            shown=False,
        )

    def _take(self, answer: tuple[tuple[RecentRow, ...], tuple[tuple[str, str], ...]]) -> None:
        if answer != (self.rows, self.unreadable):
            self.rows, self.unreadable = answer
            self.changed.emit()
