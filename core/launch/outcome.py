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
from dataclasses import dataclass, replace
from pathlib import Path

import msgspec

from core.files import printable, read_tail
from core.runs.failures import first_failure
from core.runs.manifest import Manifest
from core.runs.rank_facts import RaisedError, RankFacts
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


@dataclass(frozen=True, slots=True, kw_only=True)
class RankEnd:
    """What is known about the end of one rank.

    Attributes:
        exit_code: None if nothing tells it; negative is a signal.
        last_sign_ns: Unix time of its newest record, None if it never wrote one.
        ended_ns: Unix time at which its script ended, if it did.
        blamed: torchrun saw it fail first.
    """

    rank: int
    exit_code: int | None = None
    exception: RankException | None = None
    last_sign_ns: int | None = None
    ended_ns: int | None = None
    blamed: bool = False


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
    reports = _read_reports(read_tail(folder.launcher_log, _TAIL_BYTES).decode("utf-8", "replace"))
    return [
        _read_end(folder.rank_file(rank), rank, reaped, reports.get(rank), launcher_exit_code)
        for rank in range(ranks)
    ]


def summarize_failure(
    folder: RunFolder, ends: list[RankEnd], manifest: Manifest, launcher_exit_code: int | None
) -> str:
    """Returns one line on what failed first, in the words that the window uses for it."""
    if launcher_exit_code is None or launcher_exit_code < 0:
        return f"torchrun {describe_exit(launcher_exit_code)}"
    failure = first_failure(
        [_facts(end) for end in ends],
        replace(manifest, launcher_exit_code=launcher_exit_code),
        blamed=next((end.rank for end in ends if end.blamed), None),
        launcher_error=_last_line(folder.launcher_log),
    )
    return failure.message if failure is not None else f"torchrun {describe_exit(launcher_exit_code)}"


def _facts(end: RankEnd) -> RankFacts:
    error = end.exception
    raised = None
    if error is not None:
        raised = RaisedError(
            type=error.type,
            message=printable(error.message.strip().split("\n", 1)[0]),
            step=error.step if error.step > 0 else None,
            t_ns=error.t_ns,
            out_of_memory=error.out_of_memory,
        )
    return RankFacts(
        rank=end.rank,
        started=end.last_sign_ns is not None,
        process_gone=True,
        error=raised,
        exit_code=end.exit_code,
        heartbeat_ns=end.last_sign_ns,
        ended_ns=end.ended_ns,
    )


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


@dataclass(frozen=True, slots=True)
class _Report:
    """What torchrun printed on a rank that failed."""

    pid: int
    exit_code: int
    first: bool


def _read_reports(text: str) -> dict[int, _Report]:
    """Reads torchrun's table of failures; what it saw first stands last, under a title.

    Source: torch/distributed/elastic/multiprocessing/errors, ChildFailedError.format_msg, 2.4 to 2.13.
    """
    root = text.rfind("Root Cause (first observed failure):")
    return {
        int(match["rank"]): _Report(int(match["pid"]), int(match["code"]), 0 <= root < match.start())
        for match in _TORCHRUN_FAILURE.finditer(text)
    }


def _read_end(
    path: Path,
    rank: int,
    reaped: Mapping[int, int],
    report: _Report | None,
    launcher_exit_code: int | None,
) -> RankEnd:
    end = RankEnd(rank=rank)
    pid = None
    for event in _read_events(path):
        match event:
            case RankStarted():
                end, pid = RankEnd(rank=rank), event.pid
            case RankEnded():
                end = replace(end, exit_code=event.exit_code, ended_ns=event.t_ns)
            case RankException() if end.exception is None:
                end = replace(end, exception=event)
            case _:
                pass
        end = replace(end, last_sign_ns=event.t_ns)
    if report is not None and pid in (None, report.pid):
        end = replace(end, exit_code=report.exit_code, blamed=report.first)
    if pid is not None and pid in reaped:
        end = replace(end, exit_code=reaped[pid])
    return replace(end, exit_code=0) if launcher_exit_code == 0 else end


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


def _last_line(path: Path) -> str:
    text = read_tail(path, _TAIL_BYTES).decode("utf-8", "replace")
    lines = [line for line in text.splitlines() if line.strip(" =-")]
    return printable(lines[-1].strip()).rstrip(".")[:_LINE_CHARACTERS] if lines else ""
