"""The one place where core work runs while the window stays responsive.

A ``Task`` is one piece of work in a thread of its own: it reports progress, can
be cancelled, and its answer is dropped when a newer task with the same key was
started; what a dropped answer has brought into the world can be undone. A
``Repeating`` is work that is done again and again. Answers come back on the UI
thread. A ``DashboardError`` goes to whoever asked; anything else is a bug and
goes to ``Tasks.crashed``.

The threads are daemons of Python, not QThreads: one that hangs in a system call
(a dead network folder) must neither keep the program from ending nor abort it.
"""

from __future__ import annotations

import threading
from collections import deque
from typing import TYPE_CHECKING, Any, Literal, TypeVar

from PySide6.QtCore import QObject, Qt, Signal

from core.errors import DashboardError

if TYPE_CHECKING:
    from collections.abc import Callable

T = TypeVar("T")

TaskState = Literal["running", "cancelled", "ended"]

SHUTDOWN_WAIT_S = 2.0


class Cancelled(Exception):  # noqa: N818  (it is no error)
    """Ends work that nobody waits for any more."""


class Progress:
    """What the work of a task sees of its task. Used from the worker thread."""

    def __init__(self, changed: Callable[[], None]) -> None:
        self._changed = changed
        self._cancel = threading.Event()
        self._state: tuple[float, float | None, str] = (0.0, None, "")

    @property
    def cancelled(self) -> bool:
        """Whether the answer is still wanted."""
        return self._cancel.is_set()

    @property
    def state(self) -> tuple[float, float | None, str]:
        """(done, total, text) as last reported; a total of None is not known."""
        return self._state

    def report(self, done: float, total: float | None = None, text: str = "") -> None:
        """Says how far the work is, and ends it if it is not wanted any more.

        Raises:
            Cancelled: The task was cancelled.
        """
        self.check()
        self._state = (done, total, text)
        self._changed()

    def check(self) -> None:
        """Raises ``Cancelled`` if the task was cancelled; call it now and then."""
        if self._cancel.is_set():
            raise Cancelled

    def cancel(self) -> None:
        """Asks the work to end."""
        self._cancel.set()


class Task:
    """One piece of work, as the UI thread sees it."""

    def __init__(self, title: str, key: str, shown: bool, tasks: Tasks) -> None:
        self.title = title
        self.key = key
        self.shown = shown
        self.state: TaskState = "running"
        self.progress = Progress(tasks.progressed)
        self.thread: threading.Thread | None = None
        self.on_cancelled: Callable[[], None] | None = None
        self._tasks = tasks
        self._lock = threading.Lock()
        self._leftover: Callable[[], None] | None = None

    def leave(self, leftover: Callable[[], None]) -> None:
        """Says what undoes the answer if nobody takes it. From the worker thread."""
        with self._lock:
            self._leftover = leftover

    def take_leftover(self) -> Callable[[], None] | None:
        """What undoes the answer, for the one who asks first: who takes the answer, or who drops it."""
        with self._lock:
            leftover, self._leftover = self._leftover, None
        return leftover

    def cancel(self) -> None:
        """Drops the answer now; the thread ends when its work next looks."""
        if self.state != "running":
            return
        self.state = "cancelled"
        self.progress.cancel()
        if self.on_cancelled is not None:
            self.on_cancelled()
        self._tasks.changed.emit()

    @property
    def fraction(self) -> float | None:
        """Share that is done, 0 to 1; None if the total is not known."""
        done, total, _ = self.progress.state
        return min(done / total, 1.0) if total else None

    @property
    def text(self) -> str:
        """What it does now, for people."""
        return "Cancelling" if self.state == "cancelled" else self.progress.state[2]


class Repeating:
    """Work that runs again and again in one thread of its own."""

    def __init__(self, interval_ms: int) -> None:
        self.interval_s = interval_ms / 1000
        self.thread: threading.Thread | None = None
        self.stopped = threading.Event()
        # Set when the UI thread has taken the last result: nothing piles up, nothing is lost.
        self.taken = threading.Event()

    def set_interval_ms(self, interval_ms: int) -> None:
        """Changes the pause between the end of one round and the next."""
        self.interval_s = interval_ms / 1000

    def stop(self) -> None:
        """Ends it; a result that is under way is dropped."""
        self.stopped.set()
        self.taken.set()


class Tasks(QObject):
    """Starts work, brings its answers to the UI thread, and ends it all at the end.

    Signals:
        changed: A task began, moved on or ended (at most once a turn of the event loop).
        crashed: The exception of a bug in some work.
    """

    changed = Signal()
    crashed = Signal(object)
    _woken = Signal()

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._lock = threading.Lock()
        self._calls: deque[Callable[[], None]] = deque()
        self._wake_pending = False
        self._closed = False
        self._moved = False
        self._running: list[Task] = []
        self._repeating: list[Repeating] = []
        self._woken.connect(self._drain, Qt.ConnectionType.QueuedConnection)

    @property
    def shown(self) -> list[Task]:
        """Tasks that the status bar lists, oldest first."""
        return [task for task in self._running if task.shown]

    def start(  # noqa: PLR0913  (each of them is named at the call)
        self,
        *,
        title: str,
        work: Callable[[Progress], T],
        done: Callable[[T], None],
        failed: Callable[[DashboardError], None],
        key: str,
        shown: bool = True,
        cancelled: Callable[[], None] | None = None,
        crashed: Callable[[], None] | None = None,
        undo: Callable[[T], None] | None = None,
    ) -> Task:
        """Runs ``work`` in a thread. Call it on the UI thread.

        Args:
            title: What it does, for the status bar.
            work: Gets a ``Progress``; runs in a worker thread.
            done: Gets the answer, on the UI thread.
            failed: Gets an expected error, on the UI thread.
            key: What the answer is for: a task that is already running for the
                same key is cancelled and its answer dropped.
            shown: Whether the status bar lists it.
            cancelled: Called on the UI thread when it is cancelled.
            crashed: Called on the UI thread when a bug ended it, before ``Tasks.crashed`` tells of it.
            undo: Gets an answer that came although nobody wants it any more, in a
                worker thread or, when the program ends, in the one that ends it.
        """
        self.cancel(key)
        task = Task(title, key, shown, self)
        if self._closed:
            # The window is going: nobody would get the answer.
            task.state = "ended"
            return task
        task.on_cancelled = cancelled
        self._running.append(task)

        def run() -> None:
            answer: Callable[[], None] | None
            try:
                result = work(task.progress)
                if undo is not None:
                    task.leave(_bound(undo, result))
                answer = _bound(done, result)
            except Cancelled:
                answer = None
            except DashboardError as error:
                answer = _bound(failed, error)
            except Exception as error:  # noqa: BLE001  (a bug goes to the crash dialog)
                answer = _bound(self._crash, (crashed, error))
            if self._closed or task.progress.cancelled:
                self._undo(task)
            self._post(_bound(self._end, (task, answer)))

        task.thread = threading.Thread(target=run, name=f"task {key}", daemon=True)
        task.thread.start()
        self.changed.emit()
        return task

    def cancel(self, key: str) -> None:
        """Cancels what runs for a key, if anything does."""
        for task in self._running:
            if task.key == key:
                task.cancel()

    def every(
        self,
        interval_ms: int,
        work: Callable[[], T],
        deliver: Callable[[T], None],
        failed: Callable[[DashboardError], None],
    ) -> Repeating:
        """Runs ``work`` again and again in one worker thread.

        The next round begins ``interval_ms`` after the UI thread took the last
        result, so rounds never overlap and a slow window is never flooded. A
        ``DashboardError`` is reported and the rounds go on; a bug ends them.
        """
        repeating = Repeating(interval_ms)
        self._repeating.append(repeating)

        def take(use: Callable[[], None]) -> None:
            try:
                if not repeating.stopped.is_set():
                    use()
            finally:
                repeating.taken.set()

        def run() -> None:
            while not repeating.stopped.is_set():
                repeating.taken.clear()
                use: Callable[[], None]
                try:
                    result = work()
                except DashboardError as error:
                    use = _bound(failed, error)
                except Exception as error:  # noqa: BLE001  (as above)
                    self._post(_bound(self.crashed.emit, error))
                    return
                else:
                    use = _bound(deliver, result)
                self._post(_bound(take, use))
                if repeating.stopped.is_set():
                    return
                repeating.taken.wait()
                repeating.stopped.wait(repeating.interval_s)

        repeating.thread = threading.Thread(target=run, name="repeating work", daemon=True)
        repeating.thread.start()
        return repeating

    def progressed(self) -> None:
        """A task has reported progress. From any thread."""
        self._moved = True
        self._wake()

    def _wake(self) -> None:
        with self._lock:
            if self._closed or self._wake_pending:
                return
            self._wake_pending = True
            self._woken.emit()

    def shutdown(self) -> None:
        """Cancels everything, waits a moment for it, and delivers nothing any more."""
        with self._lock:
            self._closed = True
            self._calls.clear()
        for task in self._running:
            task.progress.cancel()
        for repeating in self._repeating:
            repeating.stop()
        threads = [task.thread for task in self._running] + [item.thread for item in self._repeating]
        for thread in threads:
            if thread is not None:
                thread.join(SHUTDOWN_WAIT_S / max(1, len(threads)))
        for task in self._running:
            self._undo(task)
        self._running.clear()
        self._repeating.clear()

    def _post(self, call: Callable[[], None]) -> None:
        self._calls.append(call)
        self._wake()

    def _drain(self) -> None:
        with self._lock:
            self._wake_pending = False
        self._repeating = [item for item in self._repeating if item.thread and item.thread.is_alive()]
        try:
            # Only what is there now: a call that posts the next one must not starve the event loop.
            for _ in range(len(self._calls)):
                if self._closed:
                    return
                self._calls.popleft()()
        finally:
            # A bug in one call must not hold up the others.
            if self._calls:
                self._wake()
        if self._moved:
            self._moved = False
            self.changed.emit()

    def _end(self, ended: tuple[Task, Callable[[], None] | None]) -> None:
        task, answer = ended
        self._running.remove(task)
        self._moved = True
        wanted = task.state == "running"
        task.state = "ended"
        leftover = task.take_leftover()
        if wanted and answer is not None:
            answer()
        elif not wanted and leftover is not None:
            # Cancelled after its thread had looked for the last time.
            self.start(
                title=task.title,
                work=lambda _: leftover(),
                done=lambda _: None,
                failed=self.crashed.emit,
                key=f"undo {task.key}",
                shown=False,
            )

    def _crash(self, ended: tuple[Callable[[], None] | None, Exception]) -> None:
        crashed, error = ended
        if crashed is not None:
            crashed()
        self.crashed.emit(error)

    def _undo(self, task: Task) -> None:
        leftover = task.take_leftover()
        if leftover is None:
            return
        try:
            leftover()
        except Exception as error:  # noqa: BLE001  (as above)
            self._post(_bound(self.crashed.emit, error))


def _bound(function: Callable[[Any], None], argument: object) -> Callable[[], None]:
    """The call with its argument; a closure in a loop would see the next round's."""
    return lambda: function(argument)
