"""The one run that the window shows: launch, follow, stop, capture, and what is selected in it.

Files are read by a ``RunMonitor`` in a worker; this object lives on the UI
thread and tells the pages what changed. It holds no figures of its own.
"""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Literal

from PySide6.QtCore import QMetaMethod, QObject, Signal

from core.errors import DashboardError
from core.runs.capture_start import common_first_step
from core.runs.manifest import ENDED

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from core.hardware.readings import GpuInfo
    from core.launch.preflight import Preflight
    from core.runs.job import JobSpec
    from core.runs.monitor import RunMonitor
    from core.runs.snapshot import Capture, LogLine, RunSnapshot
    from core.runs.store import RunFolder, RunStore
    from gui.tasks import Progress, Repeating, Task, Tasks

POLL_MS = 50
POLL_ENDED_MS = 1000
LINES_A_POLL = 2_000
"""What the window takes in within half a frame; the next lines come with the next poll."""


class RunSession(QObject):
    """Follows one run at a time.

    Signals:
        snapshot_changed: The new ``RunSnapshot``.
        lines_changed: ``list[LogLine]``: new lines, and old numbers rewritten in place.
        launched: The ``RunFolder`` of a launch; ``attached`` follows.
        attached: The ``RunFolder``; whatever was shown of another run is void.
        detached: No run is shown any more.
        failed: A ``DashboardError`` of launching, following, stopping or capturing.
        warned: One line of the preflight that does not forbid the launch.
        capture_ready: A ``Capture`` whose file is whole.
        selection_changed: The selected rank or None.
        launching_changed: Whether a launch is being prepared.
    """

    snapshot_changed = Signal(object)
    lines_changed = Signal(object)
    launched = Signal(object)
    attached = Signal(object)
    detached = Signal()
    failed = Signal(object)
    warned = Signal(str)
    capture_ready = Signal(object)
    selection_changed = Signal(object)
    launching_changed = Signal(bool)

    def __init__(
        self,
        tasks: Tasks,
        store: RunStore,
        gpus: Callable[[], Sequence[GpuInfo] | None] = lambda: None,
        parent: QObject | None = None,
    ) -> None:
        """Args: ``gpus`` gives what is known of this machine's GPUs when a launch is checked."""
        super().__init__(parent)
        self._gpus = gpus
        self._tasks = tasks
        self._store = store
        self._folder: RunFolder | None = None
        self._snapshot: RunSnapshot | None = None
        self._selected: int | None = None
        self._launch: Task | None = None
        self._polling: Repeating | None = None
        self._captures_seen: set[tuple[str, int]] = set()
        self._asked: set[str] = set()
        self._last_error = ""
        self._has_listeners = False

    @property
    def folder(self) -> RunFolder | None:
        """The run that is shown, if any."""
        return self._folder

    @property
    def snapshot(self) -> RunSnapshot | None:
        """Its newest state; None until it was read for the first time."""
        return self._snapshot

    @property
    def selected_rank(self) -> int | None:
        """The rank that the inspector describes."""
        return self._selected

    @property
    def launching(self) -> bool:
        """Whether a launch is being prepared."""
        return self._launch is not None

    @property
    def running(self) -> bool:
        """Whether the shown run has processes, as far as is known."""
        return self._snapshot is not None and self._snapshot.status not in ENDED

    def why_not_launch(self) -> str | None:
        """Why no launch can begin now, or None."""
        return "a launch is being prepared" if self.launching else None

    def why_not_stop(self) -> str | None:
        """Why there is nothing to stop, or None."""
        return None if self.launching or self.running else "no run is going on"

    def why_not_capture(self) -> str | None:
        """Why no capture can be asked for, or None."""
        if not self.running:
            return "no run is going on"
        return None

    def launch(self, spec: JobSpec) -> None:
        """Checks the job and starts it beside what runs; a second call meanwhile does nothing."""
        if self.why_not_launch() is not None:
            return
        store, gpus = self._store, self._gpus()

        def work(progress: Progress) -> tuple[RunFolder, Preflight]:
            from core.launch import client  # noqa: PLC0415
            from core.launch.preflight import run_preflight  # noqa: PLC0415

            progress.report(0, 2, "checking the interpreter")
            preflight = run_preflight(
                spec, cancelled=lambda: progress.cancelled, gpus=gpus, data_folder=store.root
            )
            progress.report(1, 2, "starting the ranks")
            folder = client.launch(spec, store, preflight=preflight, cancelled=lambda: progress.cancelled)
            return folder, preflight

        def undo(answer: tuple[RunFolder, Preflight]) -> None:
            from core.launch import client  # noqa: PLC0415

            # Without its supervisor nothing goes on that the next start would not offer to end.
            with contextlib.suppress(DashboardError):
                client.request_stop(answer[0])

        self._launch = self._tasks.start(
            title=f"Launching {spec.title}",
            work=work,
            done=self._launched,
            failed=self._launch_failed,
            cancelled=self._launch_over,
            undo=undo,
            key="launch",
        )
        self.launching_changed.emit(True)

    def attach(self, folder: RunFolder) -> None:
        """Shows a run, alive or ended, from its first record on."""
        if self._folder is not None and self._folder.path == folder.path:
            return
        self._stop_polling()
        self._folder = folder
        self._snapshot = None
        self._captures_seen.clear()
        self._last_error = ""
        self.select_rank(None)
        self.attached.emit(folder)
        self._polling = self._tasks.every(POLL_MS, self._poll_of(folder), self._take, self._fail)

    def detach(self) -> None:
        """Shows no run any more; the run itself goes on."""
        if self._folder is None:
            return
        self._stop_polling()
        self._folder = None
        self._snapshot = None
        self.select_rank(None)
        self.detached.emit()

    def stop(self, then: Callable[[], None] | None = None) -> None:
        """Asks the run to end gracefully; during a launch, gives the launch up.

        Args:
            then: Called when the run has been asked, not when it has ended.
        """
        self._request_stop(now=False, then=then)

    def kill(self) -> None:
        """Asks for SIGKILL at once."""
        self._request_stop(now=True)

    def capture(
        self,
        what: Literal["trace", "snapshot", "stacks"] = "trace",
        *,
        steps: int = 2,
        ranks: Sequence[int] | None = None,
        with_stack: bool = False,
        with_memory: bool = True,
    ) -> None:
        """Asks ranks (None: all of them) for a capture; a trace begins at the same step on all."""
        folder, snapshot = self._folder, self._snapshot
        if folder is None or snapshot is None or self.why_not_capture() is not None:
            return
        first_step = common_first_step(snapshot) if what == "trace" else None

        def work(_: Progress) -> None:
            from core.launch import client  # noqa: PLC0415

            request = client.request_capture(
                folder,
                what=what,
                steps=steps,
                first_step=first_step,
                ranks=None if ranks is None else list(ranks),
                with_stack=with_stack,
                with_memory=with_memory,
            )
            # Known before any rank can have begun.
            self._asked.add(request)

        self._ask("Asking for a capture", work, "capture")

    def asked_here(self, request: str) -> bool:
        """Whether a capture was asked for by this session, not by another window or the command line."""
        return request in self._asked

    def select_rank(self, rank: int | None) -> None:
        """Makes a rank the one that the inspector describes."""
        if rank != self._selected:
            self._selected = rank
            self.selection_changed.emit(rank)

    def _request_stop(self, *, now: bool, then: Callable[[], None] | None = None) -> None:
        if self._launch is not None:
            self._launch.cancel()
            return
        folder = self._folder
        if folder is None or self.why_not_stop() is not None:
            return

        def work(_: Progress) -> None:
            from core.launch import client  # noqa: PLC0415

            client.request_stop(folder, now=now)

        self._ask("Stopping the run", work, "stop", then)

    def _ask(
        self, title: str, work: Callable[[Progress], None], key: str, then: Callable[[], None] | None = None
    ) -> None:
        def done(_: None) -> None:
            if then is not None:
                then()

        self._tasks.start(title=title, work=work, done=done, failed=self.failed.emit, key=key, shown=False)

    def _launched(self, answer: tuple[RunFolder, Preflight]) -> None:
        folder, preflight = answer
        self._launch_over()
        self.launched.emit(folder)
        self.attach(folder)
        for warning in preflight.warnings:
            self.warned.emit(warning)

    def _launch_failed(self, error: DashboardError) -> None:
        self._launch_over()
        self.failed.emit(error)

    def _launch_over(self) -> None:
        self._launch = None
        self.launching_changed.emit(False)

    def _poll_of(self, folder: RunFolder) -> Callable[[], tuple[RunSnapshot, list[LogLine]]]:
        """Work for one worker thread, which owns the monitor."""
        monitors: list[RunMonitor] = []

        def poll() -> tuple[RunSnapshot, list[LogLine]]:
            # numpy comes with it: not before a run is looked at.
            from core.runs.monitor import RunMonitor  # noqa: PLC0415

            if not monitors:
                monitors.append(RunMonitor(folder))
            snapshot = monitors[0].poll()
            # Until somebody shows them, lines wait in the monitor.
            return snapshot, monitors[0].read_log(LINES_A_POLL) if self._has_listeners else []

        return poll

    def connectNotify(self, signal: QMetaMethod) -> None:  # noqa: N802
        """Lines are read from the monitor once somebody shows them."""
        if signal == QMetaMethod.fromSignal(self.lines_changed):
            self._has_listeners = True

    def _take(self, result: tuple[RunSnapshot, list[LogLine]]) -> None:
        snapshot, lines = result
        self._last_error = ""
        first = self._snapshot is None
        changed = snapshot is not self._snapshot
        self._snapshot = snapshot
        if self._polling is not None:
            quiet = snapshot.status in ENDED and not lines and not changed
            self._polling.set_interval_ms(POLL_ENDED_MS if quiet else POLL_MS)
        if changed:
            self.snapshot_changed.emit(snapshot)
            self._tell_captures(snapshot.captures, quietly=first)
        if lines:
            self.lines_changed.emit(lines)

    def _tell_captures(self, captures: tuple[Capture, ...], *, quietly: bool) -> None:
        """Announces captures once; those of before the run was attached are no news."""
        for capture in captures:
            key = (capture.request, capture.rank)
            if capture.state == "ready" and key not in self._captures_seen:
                self._captures_seen.add(key)
                if not quietly:
                    self.capture_ready.emit(capture)

    def _fail(self, error: DashboardError) -> None:
        # The same error comes back every round: it is said once.
        if error.message != self._last_error:
            self._last_error = error.message
            self.failed.emit(error)

    def _stop_polling(self) -> None:
        if self._polling is not None:
            self._polling.stop()
            self._polling = None
