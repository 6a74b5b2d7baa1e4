"""Work off the UI thread: answers, errors, bugs, cancelling, and that nothing piles up."""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING

import pytest

from core.errors import DashboardError

if TYPE_CHECKING:
    from pytestqt.qtbot import QtBot

    from gui.tasks import Progress, Tasks


def never(_: object) -> None:
    pytest.fail("this must not be called")


def test_the_answer_comes_back_on_the_ui_thread(qtbot: QtBot, tasks: Tasks) -> None:
    threads: list[threading.Thread] = []
    answers: list[int] = []

    def work(_: Progress) -> int:
        threads.append(threading.current_thread())
        return 7

    def done(answer: int) -> None:
        threads.append(threading.current_thread())
        answers.append(answer)

    tasks.start(title="count", work=work, done=done, failed=never, key="a")
    assert [task.title for task in tasks.shown] == ["count"]
    qtbot.waitUntil(lambda: answers == [7])
    assert threads[0] is not threading.main_thread()
    assert threads[1] is threading.main_thread()
    assert tasks.shown == []


def test_an_expected_error_goes_to_the_caller_and_a_bug_does_not(qtbot: QtBot, tasks: Tasks) -> None:
    errors: list[DashboardError] = []
    bugs: list[Exception] = []
    tasks.crashed.connect(bugs.append)

    def refuse(_: Progress) -> None:
        raise DashboardError("no file", "choose one")

    def stumble(_: Progress) -> None:
        raise ZeroDivisionError("a bug")

    tasks.start(title="r", work=refuse, done=never, failed=errors.append, key="refuse")
    tasks.start(title="s", work=stumble, done=never, failed=never, key="stumble")
    qtbot.waitUntil(lambda: bool(errors and bugs))
    assert errors[0].hint == "choose one"
    assert isinstance(bugs[0], ZeroDivisionError)


def test_a_newer_task_with_the_same_key_makes_the_older_answer_void(qtbot: QtBot, tasks: Tasks) -> None:
    answers: list[str] = []
    go = threading.Event()

    def slow(_: Progress) -> str:
        go.wait(5)
        return "old"

    tasks.start(title="old", work=slow, done=answers.append, failed=never, key="same")
    tasks.start(title="new", work=lambda _: "new", done=answers.append, failed=never, key="same")
    qtbot.waitUntil(lambda: answers == ["new"])
    go.set()
    qtbot.waitUntil(lambda: not tasks.shown)
    assert answers == ["new"]


def test_a_cancelled_task_says_so_at_once_and_ends_when_it_looks(qtbot: QtBot, tasks: Tasks) -> None:
    told: list[str] = []
    steps: list[int] = []

    def work(progress: Progress) -> None:
        for step in range(10_000):
            progress.report(step, 10_000, f"step {step}")
            steps.append(step)
            time.sleep(0.002)

    task = tasks.start(
        title="long", work=work, done=never, failed=never, key="c", cancelled=lambda: told.append("cancelled")
    )
    qtbot.waitUntil(lambda: task.fraction is not None and task.text.startswith("step"))
    task.cancel()
    assert told == ["cancelled"]
    assert task.text == "Cancelling"
    qtbot.waitUntil(lambda: not tasks.shown)
    assert len(steps) < 10_000


@pytest.mark.parametrize("how", ["taken", "cancelled while it works", "cancelled late", "closed"])
def test_an_answer_that_nobody_takes_is_undone_once(qtbot: QtBot, tasks: Tasks, how: str) -> None:
    """Each way in which an answer can come too late, also after the work has looked for the last time."""
    done: list[int] = []
    undone: list[tuple[int, bool]] = []
    go = threading.Event()

    def undo(answer: int) -> None:
        undone.append((answer, threading.current_thread() is threading.main_thread()))

    def work(_: Progress) -> int:
        go.wait(30)
        return 7

    task = tasks.start(title="a", work=work, done=done.append, failed=never, key="a", undo=undo)
    assert task.thread is not None
    if how == "cancelled while it works":
        task.cancel()
    go.set()
    task.thread.join(30)
    if how == "cancelled late":
        task.cancel()
    if how == "closed":
        tasks.shutdown()
    else:
        qtbot.waitUntil(lambda: bool(done) or bool(undone))
    qtbot.wait(20)
    expected = {"taken": ([7], []), "closed": ([], [(7, True)])}
    assert (done, undone) == expected.get(how, ([], [(7, False)]))


def test_an_error_in_one_answer_does_not_hold_up_the_next(qtbot: QtBot, tasks: Tasks) -> None:
    answers: list[int] = []

    def stumble(_: int) -> None:
        raise ZeroDivisionError

    with qtbot.captureExceptions() as caught:
        tasks.start(title="a", work=lambda _: 1, done=stumble, failed=never, key="a")
        tasks.start(title="b", work=lambda _: 2, done=answers.append, failed=never, key="b")
        qtbot.waitUntil(lambda: answers == [2])
        qtbot.waitUntil(lambda: not tasks.shown)
    assert [kind for kind, *_ in caught] == [ZeroDivisionError]


def test_repeated_work_never_overlaps_and_loses_nothing(qtbot: QtBot, tasks: Tasks) -> None:
    """A slow window slows the rounds down instead of piling results up."""
    made: list[int] = []
    taken: list[int] = []

    def work() -> int:
        # The last result has been taken before the next is made.
        assert len(made) == len(taken)
        made.append(len(made))
        return made[-1]

    def deliver(value: int) -> None:
        time.sleep(0.01)
        taken.append(value)

    repeating = tasks.every(1, work, deliver, never)
    qtbot.waitUntil(lambda: len(taken) >= 10)
    repeating.stop()
    assert taken == list(range(len(taken)))


def test_repeated_work_goes_on_after_an_error_and_ends_with_a_bug(qtbot: QtBot, tasks: Tasks) -> None:
    rounds: list[int] = []
    errors: list[DashboardError] = []
    bugs: list[Exception] = []
    tasks.crashed.connect(bugs.append)

    def work() -> int:
        rounds.append(len(rounds))
        if len(rounds) == 2:
            raise DashboardError("gone for a moment", "wait")
        if len(rounds) == 4:
            raise KeyError("a bug")
        return len(rounds)

    taken: list[int] = []
    repeating = tasks.every(1, work, taken.append, errors.append)
    qtbot.waitUntil(lambda: bool(bugs))
    thread = repeating.thread
    assert thread is not None
    thread.join(5)
    assert (taken, len(errors), len(bugs), len(rounds)) == ([1, 3], 1, 1, 4)


def test_a_shutdown_delivers_nothing_any_more_and_does_not_hang(qtbot: QtBot, tasks: Tasks) -> None:
    """Case G05: the window closes while work runs, also work that does not look."""
    go = threading.Event()
    tasks.start(title="deaf", work=lambda _: go.wait(30), done=never, failed=never, key="deaf")
    repeating = tasks.every(1, lambda: 1, lambda _: None, never)
    qtbot.wait(20)
    tasks.every(1, lambda: 2, never, never)
    tasks.shutdown()
    go.set()
    qtbot.wait(50)
    assert repeating.thread is not None
    assert not repeating.thread.is_alive()
