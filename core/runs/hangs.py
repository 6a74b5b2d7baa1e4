"""Which ranks stand still, and which others wait for them.

Pure functions over the facts of all ranks and a time.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from core.runs.rank_facts import SECOND_NS, Phase, RankFacts
from core.runs.rank_words import begin, name_ranks
from core.runs.snapshot import Alert, Level
from core.units import format_count, format_duration_ns

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from core.runs.stack_text import Place

_PHASE_ORDER: dict[Phase, int] = {"start": 0, "forward": 0, "backward": 1, "optimizer": 2, "idle": 3}

_SLOW_WORK = re.compile(r"save|checkpoint|state_dict|(?:^|[\s_.])(?:eval|valid|generate)", re.IGNORECASE)

_SIGN_OF_LIFE_NS = 10 * SECOND_NS
_SILENT_LIMIT_NS = 25 * SECOND_NS
_ALL_STILL_NS = 30 * SECOND_NS
_ALL_STILL_WARN_NS = 300 * SECOND_NS


@dataclass(frozen=True, slots=True, kw_only=True)
class Hang:
    """Ranks that do not move.

    Attributes:
        kind: "silent": some ranks are behind and still while others wait for
            them; "dead": some ranks give no sign of life; "left": ranks stand
            still after others have ended; "still": all stand at the same place.
        ranks: The ones to look at.
        waiting: The ones that wait for them ("left": the ones that ended).
        step: Last step of ``ranks``.
        waiting_step: Step that ``waiting`` is in.
        age_ns: How long ``ranks`` have not moved (all of them).
        is_certain: It cannot be something harmless that takes its time.
    """

    kind: Literal["silent", "dead", "left", "still"]
    ranks: tuple[int, ...]
    waiting: tuple[int, ...]
    step: int | None
    waiting_step: int | None
    age_ns: int
    is_certain: bool = True


def silent_after_ns(median_step_ns: float | None) -> int:
    """How long a rank that is behind may stand still: ten steps, within 10 to 25 s."""
    if median_step_ns is None:
        return _SILENT_LIMIT_NS
    return int(min(_SILENT_LIMIT_NS, max(10 * SECOND_NS, 10 * median_step_ns)))


def find_hang(ranks: Sequence[RankFacts], now_ns: int, median_step_ns: float | None) -> Hang | None:
    """Finds ranks that stand still, and tells who waits for whom.

    The rank that waits in a collective is ahead of the one that it waits for, so
    positions are compared: the step under way, then the phase; or, for scripts
    without an optimizer, the step that their output names. A rank is silent only
    if it is behind others. Ranks that all stand at the same place (a first step
    that compiles, an evaluation, a checkpoint) are no alarm, unless two stacks
    captures in a row show that some wait inside a call for others that stand
    still elsewhere.

    Args:
        ranks: Facts of all ranks.
        now_ns: Unix time.
        median_step_ns: Of recent steps, None before there are any.
    """
    live = [rank for rank in ranks if rank.is_live]
    if not live:
        return None
    limit_ns = silent_after_ns(median_step_ns)
    return (
        _without_sign_of_life(live, now_ns)
        or _behind(live, now_ns, limit_ns)
        or _left_alone(ranks, live, now_ns, limit_ns)
        or _all_still(live, now_ns, median_step_ns)
    )


def stacks_would_tell(ranks: Sequence[RankFacts], now_ns: int, median_step_ns: float | None) -> bool:
    """All ranks stand still at the same place, so that only their stacks can tell them apart."""
    live = [rank for rank in ranks if rank.is_live]
    limit_ns = silent_after_ns(median_step_ns)
    return (
        len(live) > 1
        and any(rank.last_step is not None for rank in live)
        and all(_age_ns(rank, now_ns) > limit_ns for rank in live)
    )


def _age_ns(rank: RankFacts, now_ns: int) -> int:
    return 0 if rank.progress_ns is None else max(0, now_ns - rank.progress_ns)


def _without_sign_of_life(live: Sequence[RankFacts], now_ns: int) -> Hang | None:
    """Even the agent's own thread is silent: stopped, swapped out, or Python's lock is held."""
    ages = {rank.rank: now_ns - rank.heartbeat_ns for rank in live if rank.heartbeat_ns is not None}
    dead = [rank for rank in live if ages.get(rank.rank, 0) > _SIGN_OF_LIFE_NS]
    if not dead:
        return None
    others = [rank for rank in live if ages.get(rank.rank, 0) <= _SIGN_OF_LIFE_NS]
    return Hang(
        kind="dead",
        ranks=_numbers(dead),
        waiting=_numbers(others),
        step=_least(rank.last_step for rank in dead),
        waiting_step=None,
        age_ns=min(ages[rank.rank] for rank in dead),
    )


def _behind(live: Sequence[RankFacts], now_ns: int, limit_ns: int) -> Hang | None:
    behind, ahead = _by_position(live)
    by_position = bool(ahead)
    if not by_position:
        behind, ahead = _by_stacks(live)
    if not ahead or not behind or any(_age_ns(rank, now_ns) <= limit_ns for rank in behind):
        return None
    if by_position and _has_just_split(behind, ahead, now_ns - limit_ns):
        return None
    waiting = [rank for rank in ahead if _age_ns(rank, now_ns) > limit_ns]
    return Hang(
        kind="silent",
        ranks=_numbers(behind),
        waiting=_numbers(waiting),
        step=_least(rank.last_step for rank in behind),
        waiting_step=_least(_step_under_way(rank) for rank in waiting),
        age_ns=min(_age_ns(rank, now_ns) for rank in behind),
        is_certain=by_position,
    )


def _has_just_split(behind: Sequence[RankFacts], ahead: Sequence[RankFacts], since_ns: int) -> bool:
    """All ranks took long over something (an evaluation, a compilation), and some are done with it first."""
    step = _position(behind[0])[0]
    return all(_position(rank)[0] <= step + 1 and (rank.arrived_ns or 0) > since_ns for rank in ahead)


def _by_position(live: Sequence[RankFacts]) -> tuple[list[RankFacts], list[RankFacts]]:
    """Ranks that are furthest behind, and the rest; empty if they cannot be compared."""
    comparable = _comparable(live)
    positions = {rank.rank: _position(rank) for rank in comparable}
    lowest = min(positions.values(), default=(0, 0))
    behind = [rank for rank in comparable if positions[rank.rank] == lowest]
    ahead = [rank for rank in comparable if positions[rank.rank] > lowest]
    return (behind, ahead) if ahead else ([], [])


def _comparable(live: Sequence[RankFacts]) -> list[RankFacts]:
    """Ranks with steps of their own; where no rank has any, those whose output names steps.

    A rank that never trained is not behind (it may only evaluate), unless the
    others are in their first steps as well.
    """
    furthest = max(rank.step or 0 for rank in live)
    if furthest == 0 and all(rank.phase == "start" for rank in live):
        return [rank for rank in live if rank.log_step is not None]
    return [rank for rank in live if furthest <= 1 or rank.step or _PHASE_ORDER[rank.phase]]


def _position(rank: RankFacts) -> tuple[int, int]:
    if not rank.step and rank.phase == "start" and rank.log_step is not None:
        return (rank.log_step, 0)
    return (rank.step or 0, _PHASE_ORDER[rank.phase])


def _step_under_way(rank: RankFacts) -> int | None:
    return rank.step if rank.step else rank.log_step


def _by_stacks(live: Sequence[RankFacts]) -> tuple[list[RankFacts], list[RankFacts]]:
    """Ranks outside and inside a call for others, if all of them are known to stand there."""
    inside: list[RankFacts] = []
    outside: list[RankFacts] = []
    for rank in live:
        if rank.place is None or not rank.stands:
            return [], []
        (inside if rank.place.is_waiting else outside).append(rank)
    return (outside, inside) if inside else ([], [])


def _left_alone(
    ranks: Sequence[RankFacts], live: Sequence[RankFacts], now_ns: int, limit_ns: int
) -> Hang | None:
    """Some ranks ended well while others stand still: perhaps in a collective that lacks the former."""
    ended = [rank for rank in ranks if rank.ended_ns is not None and rank.error is None]
    still_ns = min(_age_ns(rank, now_ns) for rank in live)
    since_end_ns = min((now_ns - rank.ended_ns for rank in ended if rank.ended_ns is not None), default=0)
    if not ended or min(still_ns, since_end_ns) <= limit_ns:
        return None
    stuck = all(rank.phase == "backward" or (rank.place and rank.place.is_waiting) for rank in live)
    return Hang(
        kind="left",
        ranks=_numbers(live),
        waiting=_numbers(ended),
        step=_least(rank.last_step for rank in live),
        waiting_step=_least(rank.last_step for rank in ended),
        age_ns=still_ns,
        is_certain=stuck,
    )


def _all_still(live: Sequence[RankFacts], now_ns: int, median_step_ns: float | None) -> Hang | None:
    age_ns = min(_age_ns(rank, now_ns) for rank in live)
    known = [rank for rank in live if rank.last_step is not None]
    if not known or age_ns <= max(_ALL_STILL_NS, 10 * (median_step_ns or 0)):
        return None
    return Hang(
        kind="still",
        ranks=_numbers(live),
        waiting=(),
        step=_least(rank.last_step for rank in known),
        waiting_step=None,
        age_ns=age_ns,
        is_certain=False,
    )


def _numbers(ranks: Sequence[RankFacts]) -> tuple[int, ...]:
    return tuple(rank.rank for rank in ranks)


def _least(steps: Iterable[int | None]) -> int | None:
    return min((step for step in steps if step is not None), default=None)


def hang_alert(hang: Hang, places: Mapping[int, Place], now_ns: int) -> Alert:
    """What to say about ranks that stand still.

    Args:
        hang: The finding.
        places: Where ranks stand, by rank, as far as a stacks capture shows it.
        now_ns: Unix time of the finding.
    """
    words = {"silent": _silent, "dead": _dead, "left": _left, "still": _still}[hang.kind]
    place = next((places[rank] for rank in hang.ranks if rank in places), None)
    level, message, hint = words(hang, f", at {place}" if place is not None else "")
    if place is None and hang.kind in {"silent", "left"}:
        hint = "A stacks capture shows where it stands."
    elif hang.kind == "silent" and place is not None and _takes_its_time(place):
        level = "warn" if hang.age_ns < _ALL_STILL_WARN_NS else level
        hint = "It seems to write a checkpoint or to evaluate while the others wait for it."
    first = hang.ranks[0] if hang.kind != "still" else None
    key = hang.kind if first is None else f"{hang.kind}-{first}"
    return Alert(key=key, level=level, t_ns=now_ns, message=message, hint=hint, rank=first, step=hang.step)


def _takes_its_time(place: Place) -> bool:
    """Work that one rank often does alone: no hang unless it takes minutes."""
    return _SLOW_WORK.search(f"{place.function} {place.code}") is not None


def _silent(hang: Hang, at: str) -> tuple[Level, str, str]:
    since = "before its first step" if hang.step is None else f"since step {format_count(hang.step)}"
    message = f"{_who(hang, 'is', 'are')} silent {since} ({format_age(hang.age_ns)}){at}"
    if hang.waiting:
        verb = "waits" if len(hang.waiting) == 1 else "wait"
        where = f" in step {format_count(hang.waiting_step)}" if hang.waiting_step is not None else ""
        message += f"; {name_ranks(hang.waiting)} {verb}{where}"
    level: Level = "error" if hang.is_certain or hang.age_ns >= _ALL_STILL_NS else "warn"
    return level, message, "Its stack is in the captures; the others wait for it in a collective."


def _dead(hang: Hang, at: str) -> tuple[Level, str, str]:
    since = "" if hang.step is None else f" since step {format_count(hang.step)}"
    message = f"{_who(hang, 'gives', 'give')} no sign of life{since} ({format_age(hang.age_ns)}){at}"
    hint = "The process is stopped, swapped out, or inside a long call that holds Python's lock."
    return ("error" if hang.age_ns > _ALL_STILL_NS else "warn"), message, hint


def _left(hang: Hang, at: str) -> tuple[Level, str, str]:
    message = (
        f"{_who(hang, 'has', 'have')} not moved for {format_age(hang.age_ns)}{at}, "
        f"after {name_ranks(hang.waiting)} ended"
    )
    hint = "If it waits for them: all ranks must take the same number of steps."
    return ("error" if hang.is_certain else "info"), message, hint


def _still(hang: Hang, at: str) -> tuple[Level, str, str]:
    after = "" if hang.step is None else f", the last was {format_count(hang.step)}"
    message = f"No rank has finished a step for {format_age(hang.age_ns)}{after}{at}"
    hint = "An evaluation, a checkpoint or a compilation looks like this; a stacks capture shows which."
    return ("warn" if hang.age_ns > _ALL_STILL_WARN_NS else "info"), message, hint


def _who(hang: Hang, one: str, many: str) -> str:
    return f"{begin(name_ranks(hang.ranks))} {one if len(hang.ranks) == 1 else many}"


def format_age(age_ns: int) -> str:
    """Whole seconds, so that a figure that is shown does not flicker: "34 s", "2 min 14 s"."""
    whole_s = age_ns // SECOND_NS
    return format_duration_ns(whole_s * SECOND_NS) if whole_s > 100 else f"{whole_s} s"
