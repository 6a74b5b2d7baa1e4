"""The ladder of signals, at given moments."""

from __future__ import annotations

from core.launch.ending import Ladder, kill_ladder, orphan_ladder, stop_ladder


def climb(ladder: Ladder, moments: list[float]) -> list[str]:
    sent = []
    for now_s in moments:
        rung = ladder.due(now_s)
        sent.append("-" if rung is None else rung.signal.name + ("*" if rung.launcher_only else ""))
    return sent


def test_stop_asks_torchrun_first_then_all_then_kills_again_and_again() -> None:
    ladder = stop_ladder(100.0, 5.0)
    moments = [100.0, 100.1, 104.9, 105.0, 109.9, 110.0, 110.1, 110.3]
    assert climb(ladder, moments) == ["SIGINT*", "-", "-", "SIGTERM", "-", "SIGKILL", "-", "SIGKILL"]
    assert ladder.killing_since_s == 110.0


def test_kill_does_not_wait() -> None:
    ladder = kill_ladder(7.0)
    assert climb(ladder, [7.0, 7.1, 7.2]) == ["SIGKILL", "-", "SIGKILL"]


def test_orphans_of_a_crash_are_ended_soon_and_those_of_a_good_end_later() -> None:
    assert climb(orphan_ladder(0.0, 5.0, patient=False), [0.0, 0.2, 2.1, 2.2]) == [
        "-",
        "SIGTERM",
        "-",
        "SIGKILL",
    ]
    patient = orphan_ladder(0.0, 5.0, patient=True)
    assert climb(patient, [0.0, 4.9, 5.0, 6.9, 7.0]) == ["-", "-", "SIGTERM", "-", "SIGKILL"]
    assert patient.killing_since_s == 7.0
