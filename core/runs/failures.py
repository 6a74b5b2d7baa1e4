"""Which failure came first, in one line.

Pure functions over the facts of all ranks. One failing rank makes others fail:
their connections close, and the launcher ends them; none of that is the cause.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from core.runs.rank_facts import SECOND_NS, RaisedError, RankFacts
from core.runs.rank_words import begin, name_ranks
from core.units import format_count

if TYPE_CHECKING:
    from collections.abc import Sequence

    from core.runs.manifest import Manifest

_SECONDARY = re.compile(
    r"connection (?:was )?(?:closed|reset|refused)|broken pipe|socket closed|remote process exited"
    r"|ncclRemoteError|communicator was aborted|watchdog caught collective|(?:send|recv)Bytes failed"
    r"|application timeout caused pair closure|failed to (?:recv|send), got 0 bytes|rank \d+ .*terminated"
    r"|the client socket has timed out",
    re.IGNORECASE,
)
_TIMED_OUT = re.compile(r"timed out waiting \d+ ?ms for|timeout in (?:a )?collective", re.IGNORECASE)
_PORT = re.compile(r"EADDRINUSE|address already in use", re.IGNORECASE)
_PORT_NUMBER = re.compile(r"port:?\s+(\d+)", re.IGNORECASE)

_SIGNALS = {
    4: "illegal instruction",
    6: "abort",
    7: "bus error, often too little /dev/shm",
    8: "arithmetic error",
    9: "often out of memory",
    11: "segmentation fault",
    15: "asked to end",
}


_NO_WORD = "The logs of the ranks have what came before."

_ASKED_TO_END = (-15, -2)
_INTERRUPT = "KeyboardInterrupt"
_EXIT = "SystemExit"

_DEATH_NS = 2 * SECOND_NS
"""A rank that was killed wrote its last heartbeat at most this long before."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """What ended the run first, in words."""

    message: str
    hint: str = ""
    rank: int | None = None
    step: int | None = None
    t_ns: int = 0
    out_of_memory: bool = False


def is_secondary(message: str) -> bool:
    """The error says that another rank has gone."""
    return _SECONDARY.search(message) is not None


def first_failure(
    ranks: Sequence[RankFacts],
    manifest: Manifest,
    *,
    blamed: int | None = None,
    launcher_error: str = "",
    stop_asked_ns: int | None = None,
) -> Failure | None:
    """The failure that came first; None if there is none.

    An exception of its own beats what followed from it: connections that other
    ranks lost, and the signals by which the launcher ends them. A rank that was
    killed left no exception, only its exit code.

    Args:
        ranks: Facts of all ranks.
        manifest: Of the run.
        blamed: Rank that the launcher saw fail first.
        launcher_error: Last error in the launcher's own output.
        stop_asked_ns: When the user asked to stop; what follows is no failure.
    """
    raised = _raised_errors(ranks, manifest, stop_asked_ns)
    own = [item for item in raised if not is_secondary(item[2].message)]
    killed = _first_killed(ranks, blamed, stop_asked_ns)
    if own and (killed is None or own[0][0] < (killed.heartbeat_ns or 0) + _DEATH_NS):
        return _raised(own, manifest, ranks)
    if killed is not None:
        return _killed(killed, ranks)
    exited = _exited(ranks) if stop_asked_ns is None else None
    if raised and (exited is None or raised[0][0] <= exited.t_ns):
        return _lost_connection(raised, ranks)
    if exited is not None or stop_asked_ns is not None:
        return exited
    return _launcher_failed(ranks, manifest, launcher_error)


def _raised_errors(
    ranks: Sequence[RankFacts], manifest: Manifest, stop_asked_ns: int | None
) -> list[tuple[int, int, RaisedError]]:
    """(time, rank, error) of what was raised before a stop, the earliest first."""
    errors = [(rank.error.t_ns, rank.rank, rank.error) for rank in ranks if rank.error is not None]
    if stop_asked_ns is not None:
        errors = [item for item in errors if item[0] < stop_asked_ns]
    elif manifest.status in {"stopping", "stopped"}:
        # A stop that could not be written, or that was asked of the supervisor by a signal.
        errors = [item for item in errors if item[2].type != _INTERRUPT]
    return sorted(errors, key=lambda item: item[:2])


def _first_killed(
    ranks: Sequence[RankFacts], blamed: int | None, stop_asked_ns: int | None
) -> RankFacts | None:
    """The rank that a signal ended, other than ours and the launcher's SIGTERM to the rest."""
    killed = [
        rank
        for rank in ranks
        if rank.exit_code is not None and rank.exit_code < 0 and rank.exit_code not in _ASKED_TO_END
        if not rank.signalled
        if stop_asked_ns is None or (rank.heartbeat_ns or 0) + _DEATH_NS < stop_asked_ns
    ]
    named = [rank for rank in killed if rank.rank == blamed]
    return min(named or killed, key=lambda rank: rank.heartbeat_ns or 0, default=None)


def _lost_connection(raised: Sequence[tuple[int, int, RaisedError]], ranks: Sequence[RankFacts]) -> Failure:
    """Only consequences are known so far; a rank whose process has gone is their cause."""
    t_ns, first, error = raised[0]
    gone = [rank for rank in ranks if rank.process_gone and not rank.has_ended]
    if gone:
        step = _after(gone[0].last_step)
        message = f"{begin(name_ranks(_numbers(gone)))} ended without a word{step}"
        return Failure(message=message, hint=_NO_WORD, rank=gone[0].rank, step=gone[0].last_step, t_ns=t_ns)
    who = begin(name_ranks([rank for _, rank, _ in raised], len(ranks)))
    message = f"{who} lost the connection to another rank{_at(error.step)}: {_one_line(error.message)}"
    return Failure(message=message, hint=_NO_WORD, rank=first, step=error.step, t_ns=t_ns)


def _numbers(ranks: Sequence[RankFacts]) -> list[int]:
    return [rank.rank for rank in ranks]


def _at(step: int | None) -> str:
    return "" if step is None else f" at step {format_count(step)}"


def _after(step: int | None) -> str:
    return "" if step is None else f" after step {format_count(step)}"


def _left_behind(first: int, ranks: Sequence[RankFacts]) -> str:
    """Names the ranks that a rank waited for in vain: without an error, at an earlier step."""
    steps = {rank.rank: -1 if rank.last_step is None else rank.last_step for rank in ranks}
    late = {rank.rank: steps[rank.rank] for rank in ranks if rank.error is None}
    late = {rank: step for rank, step in late.items() if step < steps.get(first, -1)}
    if not late:
        return ""
    lowest = min(late.values())
    where = f"stood at step {format_count(lowest)}" if lowest >= 0 else "had finished no step"
    return f"; {name_ranks(late)} {where}"


def _killed(rank: RankFacts, ranks: Sequence[RankFacts]) -> Failure:
    number = -(rank.exit_code or 0)
    meaning = f" ({_SIGNALS[number]})" if number in _SIGNALS else ""
    step = _after(rank.last_step)
    hint = _NO_WORD
    if rank.ended_ns is not None:
        # Seen with gloo: its threads let go of the last tensors while Python ends, and abort it.
        step = " after its script had ended"
        hint = "Threads of a library can crash while Python ends. What the script itself wrote is whole."
    elif number == 6:
        step += _left_behind(rank.rank, ranks)  # NCCL's watchdog aborts a rank that waits too long
    if number == 9:
        hint = "Look for the kernel's out-of-memory killer (dmesg), or use less host memory a rank."
    return Failure(
        message=f"Rank {rank.rank} killed by signal {number}{meaning}{step}",
        hint=hint,
        rank=rank.rank,
        step=rank.last_step,
        t_ns=rank.heartbeat_ns or 0,
    )


def _raised(
    raised: Sequence[tuple[int, int, RaisedError]], manifest: Manifest, ranks: Sequence[RankFacts]
) -> Failure:
    t_ns, first, error = raised[0]
    same = [rank for _, rank, other in raised if (other.type, other.message) == (error.type, error.message)]
    who = begin(name_ranks(same, manifest.job.ranks))
    at = _at(error.step)
    text = _one_line(error.message)
    hint = _hint(error, manifest)
    if error.out_of_memory:
        message = f"{who} ran out of memory{at}: {text}"
    elif _PORT.search(error.message):
        message = f"{_port_in_use(error.message)}: {who[:1].lower() + who[1:]} could not listen on it"
    elif error.type == _INTERRUPT:
        message = f"{who} raised {error.type}{at}; no stop was asked for"
    elif error.type == _EXIT:
        # Recorded only when it holds words; Python turns them into this code.
        message = f"{who} ended with exit code 1{at}" + (f": {text}" if text else "")
    else:
        late = _left_behind(first, ranks) if _TIMED_OUT.search(error.message) else ""
        message = f"{who} raised {error.type}{at}{late}" + (f": {text}" if text else "")
    return Failure(
        message=message,
        hint=hint,
        rank=first,
        step=error.step,
        t_ns=t_ns,
        out_of_memory=error.out_of_memory,
    )


def _one_line(message: str, limit: int = 240) -> str:
    line = next((line.strip() for line in message.splitlines() if line.strip()), "")
    return line if len(line) <= limit else f"{line[:limit]} \N{HORIZONTAL ELLIPSIS}"


def _hint(error: RaisedError, manifest: Manifest) -> str:
    name = error.type.rpartition(".")[2]
    if error.out_of_memory:
        return "Use a smaller batch or activation checkpointing; a memory snapshot shows what is held."
    if _PORT.search(error.message):
        return "End the process that holds the port, or let the script take a free one."
    if name == _INTERRUPT:
        return "The script raised it itself, or somebody else sent SIGINT; the log of the rank shows where."
    if name in {"ModuleNotFoundError", "ImportError"}:
        return f"Install it for {manifest.job.interpreter}, or choose another interpreter."
    if name == "FileNotFoundError":
        return f"Paths are relative to the working folder {manifest.job.working_folder}."
    return "The traceback is in the log of the rank."


def _port_in_use(message: str) -> str:
    number = _PORT_NUMBER.search(message)
    return f"Port {number.group(1)} is in use" if number else "A port that the job needs is in use"


def _exited(ranks: Sequence[RankFacts]) -> Failure | None:
    failed = [
        rank
        for rank in ranks
        if rank.exit_code is not None and rank.exit_code > 0
        if rank.error is None and not rank.signalled
    ]
    if not failed:
        return None
    first = min(failed, key=lambda rank: (rank.ended_ns or rank.heartbeat_ns or 0, rank.rank))
    same = [rank.rank for rank in failed if rank.exit_code == first.exit_code]
    who = begin(name_ranks(same, len(ranks)))
    step = _after(first.last_step)
    return Failure(
        message=f"{who} ended with exit code {first.exit_code}{step}",
        hint="The script asked for this exit code; its log says why.",
        rank=first.rank,
        step=first.last_step,
        t_ns=first.ended_ns or first.heartbeat_ns or 0,
    )


def _launcher_failed(ranks: Sequence[RankFacts], manifest: Manifest, launcher_error: str) -> Failure | None:
    code = manifest.launcher_exit_code
    if manifest.status == "stopped" or code in {None, 0}:
        return None
    t_ns = manifest.ended_ns or manifest.created_ns
    if _PORT.search(launcher_error):
        hint = "End the process that holds the port, or launch again: a free one is chosen."
        return Failure(message=_port_in_use(launcher_error), hint=hint, t_ns=t_ns)
    began = "" if any(rank.started for rank in ranks) else " before any rank started"
    why = f": {_one_line(launcher_error)}" if launcher_error else ""
    return Failure(
        message=f"torchrun ended with exit code {code}{began}{why}",
        hint="The launcher's log has all it said.",
        t_ns=t_ns,
    )
