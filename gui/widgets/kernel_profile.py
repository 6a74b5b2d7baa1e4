"""The dialog that shows how a kernel is profiled with Nsight Compute, and runs it where ncu is installed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Signal
from PySide6.QtGui import QGuiApplication

from gui.plain_text import visible_text
from gui.widgets.question import Question

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from PySide6.QtWidgets import QWidget

    from core.launch.kernel_profile import KernelProfile
    from core.launch.ncu_command import NcuCommand
    from core.tables.trace import Trace
    from gui.tasks import Progress, Tasks

TITLE = "Profile with Nsight Compute"
TASK = "profile kernel"


class KernelProfiling(QObject):
    """Plans, shows and runs; one at a time.

    Signals:
        written: Path of the report that ncu wrote.
        told: A few words on what was copied.
        failed: A ``DashboardError``.
    """

    written = Signal(object)
    told = Signal(str)
    failed = Signal(object)

    def __init__(self, tasks: Tasks, parent: QWidget) -> None:
        super().__init__(parent)
        self._tasks = tasks
        self._window = parent
        self.dialog: Question | None = None
        """What was shown last, as long as it is open."""

    def ask(self, trace: Trace, row: int, path: Path) -> None:
        """Shows the command for a kernel of a trace, as soon as it is known."""

        def work(_: Progress) -> KernelProfile:
            from core.launch.kernel_profile import plan_profile  # noqa: PLC0415

            return plan_profile(trace, row, path)

        self._tasks.start(
            title="Looking for the run of the trace",
            work=work,
            done=self._show,
            failed=self.failed.emit,
            key="plan profile",
            shown=False,
        )

    def _show(self, profile: KernelProfile) -> None:
        command = profile.command
        copy = ("Copy command", lambda: self._copy(profile.text))
        answers: list[tuple[str, Callable[[], object]]] = [copy]
        if command is not None:
            answers.insert(0, ("Run", lambda: self.run(profile.function, command)))
        self.dialog = Question(
            self._window,
            TITLE,
            f"Profile {visible_text(profile.function)}",
            "\n\n".join(visible_text(text) for text in (profile.text, *profile.notes)),
            answers,
        )
        self.dialog.finished.connect(self._closed)
        self.dialog.open()

    def _closed(self) -> None:
        self.dialog = None

    def _copy(self, text: str) -> None:
        QGuiApplication.clipboard().setText(text)
        self.told.emit("Command copied")

    def run(self, function: str, command: NcuCommand) -> None:
        """Runs ncu; its report is opened when it is there."""

        def work(progress: Progress) -> Path:
            from core.launch.ncu_run import run_ncu  # noqa: PLC0415

            def moved(seconds: float, whole: float | None, words: str) -> None:
                # The job is ended by being asked, not by an error in what listens to it.
                if not progress.cancelled:
                    progress.report(seconds, whole, f"{words}, {seconds:.0f} s")

            return run_ncu(command, progress=moved, cancelled=lambda: progress.cancelled)

        self._tasks.start(
            title=f"Profiling {visible_text(function)}",
            work=work,
            done=self.written.emit,
            failed=self.failed.emit,
            key=TASK,
        )
