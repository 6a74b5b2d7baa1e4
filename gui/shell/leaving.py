"""What happens when the window is to close while a job trains: the job matters more than the window."""

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
        self._question: Question | None = None
        session.failed.connect(self._stay)
        session.snapshot_changed.connect(self._look_again)

    def may_close(self) -> bool:
        """True if nothing trains or the user has decided; otherwise asks and says no."""
        if self._decided or not self._session.running:
            return True
        if self._question is None:
            self._ask()
        return False

    def decide(self) -> None:
        """Nothing is asked any more; what trains goes on."""
        self._decided = True

    def _ask(self) -> None:
        snapshot = self._session.snapshot
        title = snapshot.manifest.job.title if snapshot is not None else "The run"
        step = last_step(snapshot) if snapshot is not None else None
        at = f" (step {format_count(step)})" if step is not None else ""
        self._question = Question(
            self._window,
            "Close Ridgeline",
            f"{title} is training{at}.",
            "It can go on without the window; the next start finds it again.",
            (("Keep running", self._leave), ("Stop the run", self._stop)),
        )
        self._question.finished.connect(self._forget_question)
        self._question.open()

    def _forget_question(self) -> None:
        self._question = None

    def _look_again(self) -> None:
        """The run has ended while the question stood: there is nothing left to decide."""
        if self._question is not None and not self._session.running:
            self._question.close()
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
        # Stopping has failed: the window stays and shows the error.
        self._decided = False
