"""What the Edge page knows: the devices, the results, and the runs that wait or go on."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Final

from PySide6.QtCore import QObject, Signal

from core.files import printable

if TYPE_CHECKING:
    from core.edge.result import EdgeResult
    from core.edge.session import EdgeRequest
    from core.edge.targets import EdgeTargets
    from core.errors import DashboardError
    from gui.tasks import Progress, Tasks

LOOK: Final = "edge devices"
RUN: Final = "edge run"
FORGET: Final = "edge forget"


class EdgeRuns(QObject):
    """One run at a time: two would spoil each other's times.

    Signals:
        looked: Devices and kept results are known.
        changed: A run began, moved on or ended.
        ended: The ``EdgeResult`` of a run.
        failed: The ``DashboardError`` of what could not be begun or kept.
    """

    looked = Signal()
    changed = Signal()
    ended = Signal(object)
    failed = Signal(object)

    def __init__(self, tasks: Tasks, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.targets: EdgeTargets | None = None
        self.results: tuple[EdgeResult, ...] = ()
        """Newest first."""
        self.unreadable = 0
        """Kept results that are damaged or of a newer version."""
        self.running: EdgeRequest | None = None
        self.stage = ""
        """What the running one does now, for people."""
        self._waiting: deque[EdgeRequest] = deque()
        self._tasks = tasks
        self._looking = False
        tasks.changed.connect(self._look_at_stage)

    @property
    def waiting(self) -> int:
        """How many runs have not begun."""
        return len(self._waiting)

    @property
    def looking(self) -> bool:
        """Whether devices are being asked."""
        return self._looking

    def look(self) -> None:
        """Asks for the devices, and for what was kept."""

        def work(_: Progress) -> tuple[EdgeTargets, tuple[tuple[EdgeResult, ...], int]]:
            from core.edge.history import kept_results  # noqa: PLC0415
            from core.edge.targets import find_targets  # noqa: PLC0415

            return find_targets(), kept_results()

        def done(answer: tuple[EdgeTargets, tuple[tuple[EdgeResult, ...], int]]) -> None:
            self.targets, (self.results, self.unreadable) = answer
            self._not_looking()

        def failed(error: DashboardError) -> None:
            self.failed.emit(error)
            self._not_looking()

        self._looking = True
        self.looked.emit()
        self._tasks.start(
            title="Looking for devices",
            work=work,
            done=done,
            failed=failed,
            key=LOOK,
            cancelled=self._not_looking,
            crashed=self._not_looking,
        )

    def _not_looking(self) -> None:
        self._looking = False
        self.looked.emit()

    def start(self, requests: list[EdgeRequest]) -> None:
        """Runs these one after the other, behind those that wait."""
        self._waiting.extend(requests)
        self._next()

    def cancel(self) -> None:
        """Ends the running one and forgets those that wait."""
        self._waiting.clear()
        self._tasks.cancel(RUN)

    def forget(self, result: EdgeResult) -> None:
        """Removes a result, here and where it is kept."""

        def work(_: Progress) -> None:
            from core.edge.history import forget_result  # noqa: PLC0415

            forget_result(result.id)

        self.results = tuple(each for each in self.results if each.id != result.id)
        self._tasks.start(
            title="Removing a result",
            work=work,
            done=lambda _: None,
            failed=self.failed.emit,
            key=f"{FORGET} {result.id}",
            shown=False,
        )
        self.changed.emit()

    def _next(self) -> None:
        if self.running is not None:
            return
        if not self._waiting:
            self.changed.emit()
            return
        request = self.running = self._waiting.popleft()

        def work(progress: Progress) -> EdgeResult:
            from core.edge.history import keep_result  # noqa: PLC0415
            from core.edge.session import run_edge  # noqa: PLC0415

            result = run_edge(
                request,
                progress=lambda _stage, words, share: progress.report(
                    0.0 if share is None else share, None if share is None else 1.0, words
                ),
                cancelled=lambda: progress.cancelled,
            )
            progress.check()
            return keep_result(result)

        self.stage = "beginning"
        self._tasks.start(
            title=f"Running on {printable(request.target.name)}",
            work=work,
            done=self._done,
            failed=self._failed,
            key=RUN,
            cancelled=self._cancelled,
            crashed=self._end,
        )
        self.changed.emit()

    def _done(self, result: EdgeResult) -> None:
        self.results = (result, *self.results)
        self.ended.emit(result)
        self._end()

    def _failed(self, error: DashboardError) -> None:
        self.failed.emit(error)
        self._end()

    def _cancelled(self) -> None:
        self._waiting.clear()
        self._end()

    def _end(self) -> None:
        self.running, self.stage = None, ""
        self._next()

    def _look_at_stage(self) -> None:
        stage = next((task.text for task in self._tasks.shown if task.key == RUN), "")
        if self.running is not None and stage and stage != self.stage:
            self.stage = stage
            self.changed.emit()
