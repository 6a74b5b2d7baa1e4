"""How a job ended: exit code per rank and one line for people. Nothing is guessed.

A code is known from the process itself if the supervisor reaped it, else from
torchrun's own report, else from the agent's last record. A rank for which none
of them speaks has no code.
"""

from __future__ import annotations

import os
import re
import signal
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import msgspec

from core.files import printable
from core.runs.store import RunFolder
from core.telemetry.events import RankEnded, RankEvent, RankException, RankStarted

_TAIL_BYTES = 256 * 1024
_HEAD_BYTES = 16 * 1024
_LINE_CHARACTERS = 300

_TORCHRUN_FAILURE = re.compile(
    r"^\s*rank\s*:\s*(?P<rank>\d+) \(local_rank: \d+\)\s*\n"
    r"\s*exitcode\s*:\s*(?P<code>-?\d+) \(pid: (?P<pid>\d+)\)",
    re.MULTILINE,
)
_SECONDARY = re.compile(
    r"Connection (closed|reset)|Broken pipe|Connection refused|ncclRemoteError|DistNetworkError"
    r"|[Tt]imed ?out|Timeout|recvBytes|remote process exited",
)
_ASKED_TO_END = (-signal.SIGTERM, -signal.SIGINT)


@dataclass(frozen=True, slots=True, kw_only=True)
class RankEnd:
    """What is known about the end of one rank.

    Attributes:
        exit_code: None if nothing tells it; negative is a signal.
    """

    rank: int
    exit_code: int | None
    exception: RankException | None


def read_ends(
    folder: RunFolder, ranks: int, *, reaped: Mapping[int, int], launcher_exit_code: int | None
) -> list[RankEnd]:
    """Puts together what is known about each rank's end.

    Args:
        folder: The run.
        ranks: Number of ranks.
        reaped: Exit codes of processes that the supervisor waited for itself, by pid.
        launcher_exit_code: Of torchrun, which is 0 only if every rank's is.
    """
    reported = {
        int(match["rank"]): (int(match["pid"]), int(match["code"]))
        for match in _TORCHRUN_FAILURE.finditer(_tail(folder.launcher_log).decode("utf-8", "replace"))
    }
    return [
        _read_end(folder.rank_file(rank), rank, reaped, reported.get(rank), launcher_exit_code)
        for rank in range(ranks)
    ]


def summarize_failure(folder: RunFolder, ends: list[RankEnd], launcher_exit_code: int | None) -> str:
    """Returns one line on what failed first.

    A rank that a signal ended without a word comes before the errors that this
    caused on others; among errors the earliest that is no broken connection counts.
    """
    silent = [
        end
        for end in ends
        if end.exit_code is not None
        and end.exit_code < 0
        and end.exit_code not in _ASKED_TO_END
        and end.exception is None
    ]
    raised = [end for end in ends if end.exception is not None]
    raised.sort(key=lambda end: (_is_secondary(end), end.exception.t_ns if end.exception else 0))
    if raised and (not silent or not _is_secondary(raised[0])):
        return _describe_exception(raised[0])
    if silent:
        return f"Rank {silent[0].rank} {describe_exit(silent[0].exit_code)}."
    odd = [end for end in ends if end.exit_code not in (0, None, *_ASKED_TO_END)]
    if odd:
        return f"Rank {odd[0].rank} {describe_exit(odd[0].exit_code)}."
    said = _last_line(folder.launcher_log) if launcher_exit_code and launcher_exit_code > 0 else ""
    return f"torchrun {describe_exit(launcher_exit_code)}{': ' + said if said else ''}."


def describe_exit(code: int | None) -> str:
    """Returns "ended with exit code 3", "killed by signal 9 (often out of memory)" and the like."""
    if code is None:
        return "ended with an unknown exit code"
    if code >= 0:
        return f"ended with exit code {code}"
    if code == -signal.SIGKILL:
        return "killed by signal 9 (often out of memory)"
    try:
        return f"killed by signal {-code} ({signal.Signals(-code).name})"
    except ValueError:
        return f"killed by signal {-code}"


def _read_end(
    path: Path,
    rank: int,
    reaped: Mapping[int, int],
    reported: tuple[int, int] | None,
    launcher_exit_code: int | None,
) -> RankEnd:
    started: RankStarted | None = None
    ended: RankEnded | None = None
    exception: RankException | None = None
    for event in _read_events(path):
        match event:
            case RankStarted():
                started, ended, exception = event, None, None
            case RankEnded():
                ended = event
            case RankException():
                exception = exception or event
            case _:
                pass
    code = ended.exit_code if ended is not None else None
    if reported is not None and (started is None or started.pid == reported[0]):
        code = reported[1]
    if started is not None and started.pid in reaped:
        code = reaped[started.pid]
    if launcher_exit_code == 0:
        code = 0
    return RankEnd(rank=rank, exit_code=code, exception=exception)


def _read_events(path: Path) -> list[RankEvent]:
    """Reads the start and the end of a rank file; what lies between says nothing on its end."""
    decoder = msgspec.json.Decoder(RankEvent)
    events: list[RankEvent] = []
    for line in _ends_of(path).splitlines():
        try:
            events.append(decoder.decode(line))
        except msgspec.DecodeError:
            continue
    return events


def _ends_of(path: Path) -> bytes:
    try:
        with open(path, "rb") as file:
            size_bytes = os.fstat(file.fileno()).st_size
            if size_bytes <= _HEAD_BYTES + _TAIL_BYTES:
                return file.read()
            head = file.read(_HEAD_BYTES)
            file.seek(size_bytes - _TAIL_BYTES)
            return head + b"\n" + file.read()
    except OSError:
        return b""


def _tail(path: Path) -> bytes:
    try:
        with open(path, "rb") as file:
            file.seek(max(0, os.fstat(file.fileno()).st_size - _TAIL_BYTES))
            return file.read()
    except OSError:
        return b""


def _last_line(path: Path) -> str:
    lines = [line for line in _tail(path).decode("utf-8", "replace").splitlines() if line.strip(" =-")]
    return printable(lines[-1].strip()).rstrip(".")[:_LINE_CHARACTERS] if lines else ""


def _is_secondary(end: RankEnd) -> bool:
    """Tells whether an error is what the death of another rank looks like."""
    error = end.exception
    return error is not None and _SECONDARY.search(f"{error.type}: {error.message}") is not None


def _describe_exception(end: RankEnd) -> str:
    error = end.exception
    assert error is not None
    first_line = printable(error.message.strip().split("\n", 1)[0])[:_LINE_CHARACTERS]
    step = f" at step {error.step}" if error.step > 0 else ""
    if error.out_of_memory:
        return f"Rank {end.rank} ran out of memory{step}: {first_line}"
    return f"Rank {end.rank} failed{step}: {error.type}: {first_line}"
