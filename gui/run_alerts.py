"""Which alerts of a run become banners on its page, and what can be done about each.

Banners are for what needs a person now; the rest stands in Problems.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from core.runs.snapshot import RankStatus

if TYPE_CHECKING:
    from collections.abc import Iterable

    from core.runs.snapshot import Alert, RunSnapshot

AlertAction = Literal["capture", "stacks", "log", "rank", "clocks"]

MOST_BANNERS = 2
_QUIET = ("log-", "gpu-note-", "supervisor-")
_LEVEL_ORDER = {"error": 0, "warn": 1, "info": 2}
_ENDED = frozenset({RankStatus.DONE, RankStatus.FAILED, RankStatus.STOPPED, RankStatus.GONE})


@dataclass(frozen=True, slots=True)
class ActionWords:
    """A button of a banner."""

    action: AlertAction
    text: str


def banner_alerts(snapshot: RunSnapshot, closed: Iterable[str]) -> list[Alert]:
    """The alerts to show, the most urgent first; never more than two.

    Args:
        snapshot: The run.
        closed: Keys of alerts whose banner was closed.
    """
    hidden = frozenset(closed)
    loud = [
        alert
        for alert in snapshot.alerts
        if alert.level != "info" and not alert.key.startswith(_QUIET) and alert.key not in hidden
    ]
    loud.sort(key=lambda alert: (_LEVEL_ORDER[alert.level], alert.key != "failure", -alert.t_ns))
    return loud[:MOST_BANNERS]


def actions_of(alert: Alert, snapshot: RunSnapshot) -> list[ActionWords]:
    """One or two things to do about an alert."""
    if alert.rank is None:
        return []
    state = next((state for state in snapshot.ranks if state.rank == alert.rank), None)
    lives = snapshot.alive and state is not None and state.status not in _ENDED
    if not lives:
        return [ActionWords("log", "Show log"), ActionWords("rank", f"Show rank {alert.rank}")]
    if state is not None and state.status is RankStatus.SILENT:
        return [ActionWords("log", "Show log"), ActionWords("stacks", f"Capture stacks of rank {alert.rank}")]
    actions = [ActionWords("capture", f"Capture rank {alert.rank}")]
    if state is not None and state.status is RankStatus.SLOW and snapshot.series.get("sm_clock"):
        return [ActionWords("clocks", "Show clocks"), *actions]
    return [ActionWords("log", "Show log"), *actions]
