"""One opened file and the tasks that read it and answer about it: what traces and reports have in common.

Everything heavy runs in tasks. Answers carry what was asked, so that a late one
can be told from the one that is wanted.
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any, Literal, TypeVar

from PySide6.QtCore import QObject, Signal

from core.files import printable

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from core.errors import DashboardError
    from gui.tasks import Progress, Tasks

T = TypeVar("T")

DocumentState = Literal["waiting", "reading", "open", "cancelled", "refused"]


class OpenedFile(QObject):
    """A file, or several that are one.

    Signals:
        state_changed: The ``DocumentState``.
        failed: A ``DashboardError`` of one answer; the others stand.
    """

    state_changed = Signal(str)
    failed = Signal(object)

    def __init__(
        self, path: Path, tasks: Tasks, parent: QObject | None = None, files: tuple[Path, ...] = ()
    ) -> None:
        """Opens nothing yet.

        Args:
            path: The file or folder.
            tasks: Where its work runs.
            parent: Of the object.
            files: Those that were chosen together; () for a single one or a folder.
        """
        super().__init__(parent)
        self.path = path
        self.files = files
        self.name = printable(path.name) + (f" and {len(files) - 1} more" if len(files) > 1 else "")
        self.state: DocumentState = "waiting"
        self.error: DashboardError | None = None
        """Why it was refused."""
        self._tasks = tasks
        self._turn = threading.Lock()
        self._key = f"file {id(self)}"
        self._kinds: set[str] = set()
        self._is_closed = False

    def open(self) -> None:
        """Reads the file, unless it is read already or being read."""
        if self._is_closed or self.state in ("reading", "open"):
            return
        self._set_state("reading")
        self._tasks.changed.connect(self._look_for_progress)
        self._start(
            "read", f"Reading {self.name}", self._reading(), self._read_done, self._refused, self._cancelled
        )

    def cancel(self) -> None:
        """Gives the reading up."""
        self._cancel("read")

    def close(self) -> None:
        """Gives everything up; nothing is told or begun any more, whoever still asks."""
        self._is_closed = True
        self.blockSignals(True)
        for kind in self._kinds:
            self._cancel(kind)

    def subtitle(self) -> str:
        """What it is, for the top bar."""
        return self.name

    # --- what a kind of file has of its own

    def _reading(self) -> Callable[[Progress], Any]:
        """What reads it in a worker; its answer goes to ``_opened``."""
        raise AssertionError("a kind of file says how it is read")

    def _opened(self, read: Any) -> None:
        """Takes what was read; called before the state says so."""

    def _go_on(self) -> None:
        """Does what follows once it is open."""

    def _show_progress(self, done: int, whole: int, words: str) -> None:
        """Says how far the reading is; ``whole`` is 0 where that is not known."""

    # --- tasks

    def _look_for_progress(self) -> None:
        for task in self._tasks.shown:
            if task.key == f"{self._key} read":
                done, whole, words = task.progress.state
                self._show_progress(int(done), int(whole or 0), words)

    def _read_done(self, read: Any) -> None:
        self._opened(read)
        self._end_of_reading("open")
        self._go_on()

    def _refused(self, error: DashboardError) -> None:
        self.error = error
        self._end_of_reading("refused")

    def _cancelled(self) -> None:
        self._end_of_reading("cancelled")

    def _end_of_reading(self, state: DocumentState) -> None:
        self._tasks.changed.disconnect(self._look_for_progress)
        self._set_state(state)

    def _set_state(self, state: DocumentState) -> None:
        self.state = state
        self.state_changed.emit(state)

    def _cancel(self, kind: str) -> None:
        """Gives one kind of work up."""
        self._tasks.cancel(f"{self._key} {kind}")

    def _in_turn(self, progress: Progress, work: Callable[[], T]) -> T:
        """Does one thing at a time with the index: two would both compute what the other has nearly done."""
        while not self._turn.acquire(timeout=0.05):
            progress.check()
        try:
            progress.check()
            return work()
        finally:
            self._turn.release()

    def _start(  # noqa: PLR0913, PLR0917  (what a task is)
        self,
        kind: str,
        title: str,
        work: Callable[[Progress], Any],
        done: Callable[[Any], None],
        failed: Callable[[DashboardError], None] | None = None,
        cancelled: Callable[[], None] | None = None,
        *,
        shown: bool = True,
    ) -> None:
        """Starts a task; an older one of its kind is void."""
        if self._is_closed:
            # Its view lives on until the event loop turns, and may ask; the answer would find no document.
            return
        self._kinds.add(kind)
        self._tasks.start(
            title=title,
            work=work,
            done=done,
            failed=failed or self.failed.emit,
            key=f"{self._key} {kind}",
            shown=shown,
            cancelled=cancelled,
        )
