"""``runs``, ``attach``, ``stop`` and ``capture``: what there is, and asking something of it."""

from __future__ import annotations

import time
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from core.cli.output import columns, write_json, write_line
from core.errors import DashboardError
from core.files import printable
from core.launch.client import end_left_behind, left_behind, request_capture, request_stop
from core.runs.capture_start import common_first_step
from core.runs.manifest import ENDED
from core.runs.store import RunStore, default_store, effective_status
from core.units import format_elapsed, format_file_bytes

if TYPE_CHECKING:
    import argparse

    from core.runs.snapshot import Capture
    from core.runs.store import RunFolder, RunSummary

POLL_S = 0.1
STOP_LIMIT_S = 60.0
"""The supervisor has escalated to SIGKILL long before."""
CAPTURE_LIMIT_S = 600.0


def run(options: argparse.Namespace) -> int:
    """Run one of the commands.

    Raises:
        DashboardError: There is no such run, or it cannot do what is asked.
    """
    if options.command == "runs":
        return list_runs(as_json=options.json, limit=options.limit)
    folder = default_store().find(options.run)
    if options.command == "stop":
        return stop(folder, now=options.now)
    if options.command == "capture":
        return capture(folder, options)
    from core.cli.follow import follow  # noqa: PLC0415 - listing runs needs no monitor

    return follow(folder, owner=False)


def list_runs(*, as_json: bool, limit: int | None) -> int:
    """Print the runs, newest first."""
    store = default_store()
    found = store.list(limit)
    if as_json:
        write_json([_as_object(summary) for summary in found])
        return 0
    if not found:
        write_line(f"There are no runs in {printable(str(store.root))}.")
    else:
        rows = [_row(summary) for summary in found]
        for line in columns(["id", "status", "ranks", "started", "took", "size", "summary"], rows, "llrllr"):
            write_line(line)
    for name, message in store.problems:
        write_line(f"skipped {printable(name)}: {printable(message)}")
    return 0


def stop(folder: RunFolder, *, now: bool) -> int:
    """Stop a run and wait until none of its processes is left."""
    manifest = folder.read()
    if manifest.status not in ENDED and effective_status(folder, manifest) == "lost":
        return _end_what_was_left(folder)
    if not request_stop(folder, now=now):
        write_line(f"{folder.id} has ended already.")
        return 0
    limit_s = time.monotonic() + STOP_LIMIT_S
    while time.monotonic() < limit_s:
        status = effective_status(folder, folder.read())
        if status in ENDED:
            write_line(f"{folder.id} is {status}.")
            return 0
        time.sleep(POLL_S)
    raise DashboardError(
        f"{folder.id} was asked to stop {STOP_LIMIT_S:.0f} s ago and still runs.",
        f"Kill it: `stop --now {folder.id}`.",
    )


def _end_what_was_left(folder: RunFolder) -> int:
    """End the processes of a run whose supervisor is gone."""
    for item in left_behind(RunStore(folder.path.parent)):
        if item.folder.path == folder.path:
            remaining = end_left_behind(item)
            if remaining:
                pids = ", ".join(str(process.pid) for process in remaining)
                raise DashboardError(
                    f"{len(remaining)} processes of {folder.id} could not be ended: {pids}.",
                    "They may belong to another user, or hang in a driver.",
                )
            count = len(item.processes)
            what = "its 1 process is" if count == 1 else f"its {count} processes are"
            write_line(f"{folder.id} had lost its supervisor; {what} ended.")
            return 0
    write_line(f"{folder.id} had lost its supervisor; no process of it is left.")
    return 0


def capture(folder: RunFolder, options: argparse.Namespace) -> int:
    """Ask for a capture and wait until every rank asked has written its file.

    Raises:
        DashboardError: It cannot be taken, failed on a rank, or the run ended first.
    """
    from core.runs.monitor import RunMonitor  # noqa: PLC0415 - listing runs needs no monitor

    monitor = RunMonitor(folder)
    now = monitor.read_all()
    request = request_capture(
        folder,
        what=options.what,
        steps=options.steps,
        first_step=common_first_step(now) if options.what == "trace" else None,
        ranks=options.ranks,
        with_stack=options.stack,
    )
    wanted = len(set(options.ranks)) if options.ranks else now.manifest.job.ranks
    limit_s = time.monotonic() + CAPTURE_LIMIT_S
    ended_looks = 0
    told: set[int] = set()
    while time.monotonic() < limit_s and ended_looks < 5:
        snapshot = monitor.poll()
        ours = [item for item in snapshot.captures if item.request == request]
        _tell_new(folder, ours, told)
        if len(told) >= wanted:
            return 0
        if snapshot.status in ENDED:
            ended_looks += 1
        time.sleep(POLL_S)
    raise DashboardError(
        f"{wanted - len(told)} of {wanted} ranks did not deliver the {options.what}"
        + (": the run has ended." if ended_looks else f" within {CAPTURE_LIMIT_S:.0f} s."),
        "Ask while the run trains; a rank takes it when it begins its next step.",
    )


def _tell_new(folder: RunFolder, captures: list[Capture], told: set[int]) -> None:
    for item in captures:
        if item.state == "failed":
            raise DashboardError(
                f"Rank {item.rank} could not take the {item.what}: {item.message}",
                "The training goes on; the rank's log may say more.",
            )
        if item.state == "ready" and item.rank not in told:
            told.add(item.rank)
            path = printable(str(folder.path / (item.file or "")))
            write_line(f"rank {item.rank}: {path} ({format_file_bytes(item.file_bytes)})")


def _as_object(summary: RunSummary) -> dict[str, object]:
    return {
        "id": summary.id,
        "status": summary.status,
        "ranks": summary.ranks,
        "started": _iso(summary.started_ns),
        "script": summary.script,
        "title": summary.title,
        "device": summary.device,
        "ended": None if summary.ended_ns is None else _iso(summary.ended_ns),
        "summary": summary.summary,
        "path": str(summary.path),
    }


def _iso(t_ns: int) -> str:
    """Return UTC with milliseconds: 2026-11-29T12:41:03.250Z."""
    moment = datetime.fromtimestamp(t_ns / 1e9, UTC)
    return f"{moment:%Y-%m-%dT%H:%M:%S}.{moment.microsecond // 1000:03d}Z"


def _row(summary: RunSummary) -> list[str]:
    ended_ns = summary.ended_ns
    if ended_ns is None and summary.status not in ENDED:
        ended_ns = time.time_ns()
    took = format_elapsed(None if ended_ns is None else (ended_ns - summary.started_ns) / 1e9)
    return [
        printable(summary.id),
        summary.status,
        str(summary.ranks),
        f"{datetime.fromtimestamp(summary.started_ns / 1e9):%Y-%m-%d %H:%M:%S}",
        took,
        format_file_bytes(summary.size_bytes),
        printable(summary.summary),
    ]
