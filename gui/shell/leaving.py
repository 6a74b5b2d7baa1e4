"""What happens when the window is to close while a job trains or starts: it matters more than the window."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QObject

from core.units import format_count
from gui.run_words import last_step
from gui.widgets.question import Question

if TYPE_CHECKING:
    from PySide6.QtWidgets import QWidget

    from gui.run_session import RunSession


class Leaving(QObject):
    """Decides whether the window may close now."""

    def __init__(self, window: QWidget, session: RunSession) -> None:
        super().__init__(window)
        self._window = window
        self._session = session
        self._decided = False
        self._leaves_after_launch = False
        self._question: Question | None = None
        session.failed.connect(self._stay)
        session.snapshot_changed.connect(self._look_again)
        session.launched.connect(self._launched)
        session.launching_changed.connect(self._launch_changed)

    def may_close(self) -> bool:
        """True if nothing trains or the user has decided; otherwise asks and says no."""
        if self._decided or not (self._session.running or self._session.launching):
            return True
        if self._question is None:
            self._ask()
        return False

    def decide(self) -> None:
        """Nothing is asked any more; what trains goes on."""
        self._decided = True

    def _ask(self) -> None:
        self._question = self._launch_question() if self._session.launching else self._run_question()
        self._question.finished.connect(self._forget_question)
        self._question.open()

    def _run_question(self) -> Question:
        snapshot = self._session.snapshot
        title = snapshot.manifest.job.title if snapshot is not None else "The run"
        step = last_step(snapshot) if snapshot is not None else None
        at = f" (step {format_count(step)})" if step is not None else ""
        return Question(
            self._window,
            "Close Ridgeline",
            f"{title} is training{at}.",
            "It can go on without the window; the next start finds it again.",
            (("Keep running", self._leave), ("Stop the run", self._stop)),
        )

    def _launch_question(self) -> Question:
        return Question(
            self._window,
            "Close Ridgeline",
            "A job is being launched.",
            "Its interpreter is being checked, its ranks are not started yet. Once they are, they go on "
            "without the window; the next start finds them again.",
            (("Close when it runs", self._leave_after_launch), ("Give the launch up", self._give_up)),
        )

    def _forget_question(self) -> None:
        self._question = None

    def _look_again(self) -> None:
        """The run has ended while the question stood: there is nothing left to decide."""
        if self._question is not None and not self._session.running and not self._session.launching:
            self._question.close()
            self._leave()

    def _launched(self) -> None:
        if self._leaves_after_launch:
            self._leave()

    def _launch_changed(self, launching: bool) -> None:
        """A launch that is over, one way or the other, leaves a question about it without an answer."""
        if launching:
            self._leaves_after_launch = False
        elif self._question is not None:
            self._question.close()

    def _leave_after_launch(self) -> None:
        if self._session.launching:
            self._leaves_after_launch = True
        else:
            self._window.close()

    def _give_up(self) -> None:
        self._session.stop()
        self._leave()

    def _leave(self) -> None:
        self._decided = True
        self._window.close()

    def _stop(self) -> None:
        if self._session.running:
            self._session.stop(then=self._leave)
        else:
            self._leave()

    def _stay(self) -> None:
        # Stopping or launching has failed: the window stays and shows the error.
        self._decided = self._leaves_after_launch = False
