"""The live view of one run: follows its files and makes one snapshot after another.

Incremental: a poll takes in what the files have gained and does no work where
nothing has changed. It works on a run that goes on, on one that has ended, and
on one that lies on another machine. For one thread. What the facts mean is
decided in ``diagnosis``, ``hangs``, ``failures``, ``stragglers`` and ``loss_watch``.
"""

from __future__ import annotations

import os
import statistics
import time
from dataclasses import replace
from typing import TYPE_CHECKING, Literal

import numpy as np

from core.errors import DashboardError
from core.runs import identity
from core.runs.curves import Curves
from core.runs.diagnosis import headline, rank_status
from core.runs.failures import Failure, first_failure
from core.runs.gpu_track import GpuTrack
from core.runs.hangs import Hang, find_hang, hang_alert, stacks_would_tell
from core.runs.host import this_host
from core.runs.loss_watch import LossWatch
from core.runs.manifest import ENDED, ProcessIdentity, Status, read_manifest, seen_status
from core.runs.rank_facts import SECOND_NS, RankFacts
from core.runs.rank_track import RankTrack
from core.runs.recorded_end import with_recorded_end
from core.runs.run_alerts import failure_alert, in_order, memory_alerts, slow_alert
from core.runs.run_logs import RunLogs
from core.runs.run_records import RunRecords
from core.runs.snapshot import Alert, Capture, RunSnapshot
from core.runs.stack_watch import AUTO_REQUEST, StackWatch
from core.runs.store import RunFolder, supervisor_is_alive
from core.runs.stragglers import StepTable, Straggler, find_straggler, own_time_rule, own_times
from core.telemetry.events import (
    CaptureReady,
    CaptureRequest,
    Event,
    GpuNote,
    GpuSample,
    GpusUnavailable,
    SignalSent,
    StopRequest,
    SupervisorProblem,
)
from core.telemetry.loss_text import compile_pattern
from core.units import format_number

if TYPE_CHECKING:
    import re
    from collections.abc import Callable

    from core.telemetry.log_lines import LoggedLoss
    from core.telemetry.views import LogLine

LIMIT_NS = 15_000_000
"""CPU time for records, and again for logs, that one poll spends beyond one look into every file."""

_DIAGNOSE_EVERY_NS = SECOND_NS // 2
_ALIVE_EVERY_NS = SECOND_NS
_STALE_NS = 3 * SECOND_NS
_STALE_AFTER_ERROR_NS = SECOND_NS // 2
_SLOW_STEPS = 8
_SLOW_VOTES = 3
_GUEST_LIMIT = 256


class RunMonitor:
    """Follows one run.

    Attributes:
        behind: The files hold more than the last poll has taken in.
    """

    def __init__(
        self, folder: RunFolder, *, may_ask: bool = True, now_ns: Callable[[], int] = time.time_ns
    ) -> None:
        """Opens a run.

        Args:
            folder: The run.
            may_ask: Ask the agents for stacks when ranks seem to hang.
            now_ns: Unix time; another clock in tests.

        Raises:
            DashboardError: The manifest is missing or damaged.
        """
        self.behind = True
        self._folder = folder
        self._now_ns = now_ns
        self._manifest, self._notes = read_manifest(folder.path)
        self._manifest_mark = self._mark()
        self._may_ask = may_ask and not self._manifest.read_only
        ranks, created_ns = self._manifest.job.ranks, self._manifest.created_ns
        self._rule, self._rule_problem = self._compile_rule()
        self._curves = Curves(ranks)
        self._losses = LossWatch(ranks)
        self._steps = StepTable(ranks)
        self._tracks = [
            RankTrack(rank, created_ns, self._curves, self._losses, self._steps) for rank in range(ranks)
        ]
        self._guests: dict[int, RankTrack] = {}
        self._gpus = GpuTrack(created_ns, self._curves)
        self._records = RunRecords(folder, ranks)
        self._logs = RunLogs(folder, ranks, self._rule)
        self._stacks = StackWatch(folder)
        self._visible = self._visible_devices()
        self._requests: dict[str, str] = {}
        self._stop_asked_ns: int | None = None
        self._signalled: set[int] = set()
        self._said: dict[str, int] = {}
        self._output_ns: dict[int, int] = {}
        self._table_step: int | None = None
        self._slow: Straggler | None = None
        self._slow_candidate: int | None = None
        self._slow_votes = 0
        self._slow_since_ns = 0
        self._hung: set[int] = set()
        self._records_behind = True
        self._skew_ns: int | None = None
        self._alive = False
        self._alive_checked_ns = 0
        self._finished = False
        self._polls = 0
        self._looked_ns = 0
        self._snapshot: RunSnapshot | None = None
        self._here = this_host().name == self._manifest.host.name

    def poll(self) -> RunSnapshot:
        """Takes in what is new; the same object as before if nothing has changed."""
        now_ns = self._now_ns()
        changed = self._read_manifest(now_ns)
        new_records, records_done = self._records.read(LIMIT_NS, self._take_rank, self._take_other)
        if not self._here:
            now_ns = self._their_time_ns(now_ns, new_records)
        new_output, logs_done = self._read_logs(now_ns)
        changed = changed or new_records or new_output
        self._records_behind = not records_done
        self.behind = not (records_done and logs_done)
        if self._status() in ENDED and not self.behind and not self._finished:
            self._finished = changed = True
            self._take_losses(self._logs.finish(now_ns, is_new=self._polls > 0), now_ns)
        self._polls += 1
        quiet = self._finished or now_ns - self._looked_ns < _DIAGNOSE_EVERY_NS
        if self._snapshot is None or changed or not quiet:
            self._looked_ns = now_ns
            self._snapshot = self._look(now_ns)
        return self._snapshot

    def _their_time_ns(self, now_ns: int, new_records: bool) -> int:
        """The time by the clock of the machine that writes, judged from the quickest records so far."""
        newest_ns = max((track.heartbeat_ns or 0 for track in self._tracks), default=0)
        if new_records and newest_ns:
            skew_ns = now_ns - newest_ns
            self._skew_ns = skew_ns if self._skew_ns is None else min(self._skew_ns, skew_ns)
        return now_ns - (self._skew_ns or 0)

    def read_all(self) -> RunSnapshot:
        """Polls until the files hold nothing more; for a run that has ended, all of it."""
        snapshot = self.poll()
        while self.behind:
            snapshot = self.poll()
        return snapshot

    def read_log(self, limit: int = 5_000) -> list[LogLine]:
        """Lines that polls found new or rewritten and no call has given yet, by number.

        Args:
            limit: So many at most; the next call goes on behind them.
        """
        return self._logs.take_lines(limit)

    # --- reading ---

    def _mark(self) -> tuple[int, int, int]:
        try:
            status = os.stat(self._folder.manifest_path)
        except OSError:
            return (0, 0, 0)
        return (status.st_ino, status.st_size, status.st_mtime_ns)

    def _read_manifest(self, now_ns: int) -> bool:
        """Reads the manifest if it has changed; looks for the supervisor once a second."""
        mark = self._mark()
        changed = mark != self._manifest_mark
        if changed:
            self._manifest_mark = mark
            try:
                self._manifest, self._notes = read_manifest(self._folder.path)
            except DashboardError as error:
                self._notes = (f"{error.message} What was read before is shown.",)
            self._visible = self._visible_devices()
        if changed or now_ns - self._alive_checked_ns >= _ALIVE_EVERY_NS:
            self._alive_checked_ns = now_ns
            alive = self._manifest.status not in ENDED and supervisor_is_alive(self._folder, self._manifest)
            if not alive:
                self._manifest = with_recorded_end(self._folder.supervisor_path, self._manifest)
            changed = changed or alive != self._alive
            self._alive = alive
        return changed

    def _status(self) -> Status:
        return seen_status(self._manifest.status, alive=self._alive)

    def _visible_devices(self) -> str | None:
        environment = self._manifest.job.environment | self._manifest.environment
        return environment.get("CUDA_VISIBLE_DEVICES")

    def _compile_rule(self) -> tuple[re.Pattern[str] | None, str]:
        text = self._manifest.job.loss_pattern
        if text is None:
            return None, ""
        try:
            return compile_pattern(text), ""
        except DashboardError as error:
            return None, error.message

    def _take_rank(self, rank: int, event: Event) -> None:
        track = self._tracks[rank]
        track.take(event)
        if isinstance(event, CaptureReady) and event.what == "stacks":
            self._stacks.read(event, track)

    def _take_other(self, event: Event) -> None:
        match event:
            case GpuSample() | GpusUnavailable() | GpuNote():
                self._gpus.take(event, self._tracks, self._visible)
            case CaptureRequest():
                self._requests[event.request] = event.what
            case StopRequest():
                if self._stop_asked_ns is None:
                    self._stop_asked_ns = event.t_ns
            case SignalSent():
                self._signalled.update(event.pids)
            case SupervisorProblem():
                self._said.setdefault(event.message, event.t_ns)
            case _:
                pass  # kinds of records that change nothing in a snapshot

    def _read_logs(self, now_ns: int) -> tuple[bool, bool]:
        losses, done = self._logs.read(
            now_ns,
            limit_ns=LIMIT_NS,
            is_new=self._polls > 0,
            wants_losses=self._wants_losses,
        )
        any_new = bool(losses)
        for track in self._tracks:
            modified_ns = self._logs.modified_ns(track.rank)
            if modified_ns is not None and modified_ns != self._output_ns.get(track.rank):
                self._output_ns[track.rank] = modified_ns
                track.saw_output(modified_ns)
                any_new = True
        self._take_losses(losses, now_ns)
        return any_new, done

    def _wants_losses(self, rank: int | None) -> bool:
        return self._rule is not None or rank is None or self._tracks[rank].finds_losses_in_output

    def _take_losses(self, losses: list[LoggedLoss], now_ns: int) -> None:
        source: Literal["log", "rule"] = "log" if self._rule is None else "rule"
        for found in losses:
            track = self._track_named(found.rank)
            if track is not None:
                track.take_logged(found, self._output_ns.get(track.rank, now_ns), source)

    def _track_named(self, rank: int | None) -> RankTrack | None:
        """The rank that a line is of: one of the job, or one that only a label in its output names.

        The latter belong to a launcher inside the script; their losses are curves like the others.
        """
        if rank is None or rank < len(self._tracks):
            return None if rank is None else self._tracks[rank]
        if rank not in self._guests and len(self._guests) < _GUEST_LIMIT:
            self._guests[rank] = RankTrack(
                rank, self._manifest.created_ns, self._curves, self._losses, self._steps
            )
        return self._guests.get(rank)

    # --- looking ---

    def _look(self, now_ns: int) -> RunSnapshot:
        status = self._status()
        facts = self._facts(status, now_ns)
        self._compare_steps(now_ns)
        median_ns = self._median_step_ns()
        # What has been read so far of a long run is old: nothing can be said of who is silent now.
        may_hang = status in {"starting", "running"} and not self._records_behind
        hang = find_hang(facts, now_ns, median_ns) if may_hang else None
        if hang is not None and hang.kind in {"silent", "left"}:
            self._hung.update(hang.ranks, hang.waiting)
        if status == "running" and self._may_ask and may_hang:
            at_one_place = hang is None or hang.kind == "still"
            at_one_place = at_one_place and stacks_would_tell(facts, now_ns, median_ns)
            self._stacks.consider(hang, at_one_place, facts, now_ns)
        failure = first_failure(
            facts,
            self._manifest,
            blamed=self._logs.blamed,
            launcher_error=self._logs.launcher_error,
            stop_asked_ns=self._stop_asked_ns,
        )
        alerts = self._alerts(facts, failure, hang, now_ns)
        slow_rank = self._slow.rank if self._slow is not None else None
        is_over = status in ENDED and not self.behind
        ranks = []
        for track, fact, tail in zip(self._tracks, facts, self._records.ranks, strict=True):
            sequence = (tail.first_sequence, tail.last_sequence, tail.lost_records)
            ranks.append(track.state(fact, rank_status(fact, hang, slow_rank, status), sequence))
        made = RunSnapshot(
            version=1 if self._snapshot is None else self._snapshot.version + 1,
            manifest=self._manifest,
            alive=self._alive,
            headline=headline(
                self._manifest, status, facts if is_over or status not in ENDED else (), failure, alerts
            )
            + (self._learned() if is_over and status == "done" and failure is None else ""),
            ranks=tuple(ranks),
            alerts=alerts,
            series=self._curves.view(),
            captures=self._captures(),
            gpus=self._gpus.gpus,
            gpus_unavailable=self._gpus.unavailable,
            problems=self._problems(),
        )
        return self._same_or(made)

    def _learned(self) -> str:
        """The first and the last loss, of the lowest rank that has any."""
        curves = self._curves.view().get("loss", {})
        if not curves:
            return ""
        y = curves[min(curves)].y
        if len(y) == 1:
            return f", loss {format_number(float(y[0]))}"
        return f", loss from {format_number(float(y[0]))} to {format_number(float(y[-1]))}"

    def _same_or(self, made: RunSnapshot) -> RunSnapshot:
        """The snapshot before this one if it says the same."""
        before = self._snapshot
        if before is None or before.series is not made.series:
            return made
        return before if replace(made, version=before.version) == before else made

    def _facts(self, status: Status, now_ns: int) -> list[RankFacts]:
        """Facts of all ranks; a process that has been silent is looked for, sooner if another rank failed."""
        any_error = any(track.error is not None for track in self._tracks)
        limit_ns = _STALE_AFTER_ERROR_NS if any_error else _STALE_NS
        may_look = self._here and status not in ENDED
        found = []
        for track in self._tracks:
            stale = track.heartbeat_ns is not None and now_ns - track.heartbeat_ns > limit_ns
            gone = may_look and stale and track.pid is not None and not _lives(track.pid, track.create_time_s)
            exit_code = self._manifest.exit_codes.get(track.rank)
            found.append(track.facts(exit_code, process_gone=gone, signalled=track.pid in self._signalled))
        return found

    def _median_step_ns(self) -> float | None:
        """Of recent steps; else from how far the output is and how long that took."""
        _, step_ns, _ = self._steps.times()
        if step_ns.size:
            return float(np.median(step_ns))
        known: list[float | None] = [track.step_time_ns for track in self._tracks]
        if not any(known):
            known = [track.output_step_ns for track in self._tracks]
        measured = [ns for ns in known if ns is not None]
        return statistics.median(measured) if measured else None

    def _compare_steps(self, now_ns: int) -> None:
        """Gives ranks their own times of new steps, and votes on which rank is slow."""
        newest = self._steps.newest
        if newest is None or newest == self._table_step:
            return
        numbers, step_ns, backward_ns = self._steps.times()
        devices = {track.device for track in self._tracks}
        rule = own_time_rule(step_ns, backward_ns, devices == {"cpu"})
        if rule is None or len(numbers) < _SLOW_STEPS:
            self._slow, self._slow_votes = None, 0
            for track in self._tracks:
                track.own_time_is_unknown()
        else:
            own_ns = own_times(step_ns, backward_ns, rule)
            for row in np.flatnonzero(numbers > (self._table_step if self._table_step is not None else -1)):
                for track in self._tracks:
                    track.take_own_time(int(numbers[row]), float(own_ns[row, track.rank]))
            self._vote(find_straggler(np.median(own_ns, axis=0)), now_ns)
        self._table_step = newest

    def _vote(self, found: Straggler | None, now_ns: int) -> None:
        same = found is not None and self._slow_candidate == found.rank
        if not same:
            self._slow_since_ns, self._slow_votes = now_ns, 0
        self._slow_votes += 1
        self._slow_candidate = None if found is None else found.rank
        self._slow = found if self._slow_votes >= _SLOW_VOTES else None

    # --- alerts, captures, problems ---

    def _alerts(
        self, facts: list[RankFacts], failure: Failure | None, hang: Hang | None, now_ns: int
    ) -> tuple[Alert, ...]:
        found: list[Alert] = []
        if failure is not None:
            found.append(failure_alert(failure))
        elif hang is not None:
            places = {fact.rank: fact.place for fact in facts if fact.place is not None}
            found.append(hang_alert(hang, places, now_ns - hang.age_ns))
        found += self._losses.alerts()
        told = None if failure is None else failure.rank
        memory = memory_alerts(facts, self._tracks, self._logs.out_of_memory)
        found += [alert for alert in memory if alert.rank is None or alert.rank != told]
        if self._slow is not None:
            found.append(slow_alert(self._slow, self._slow_since_ns))
        found += self._gpus.alerts()
        found += [
            Alert(key=f"supervisor-{number}", level="warn", t_ns=t_ns, message=message)
            for number, (message, t_ns) in enumerate(self._said.items())
        ]
        return in_order([*found, *self._logs.alerts()])

    def _captures(self) -> tuple[Capture, ...]:
        """All captures; of those that were asked for automatically the newest of a rank that hung."""
        found: list[Capture] = []
        for track in self._tracks:
            newest_auto = None
            for capture in track.captures.values():
                if capture.request.startswith(AUTO_REQUEST):
                    newest_auto = capture
                    continue
                what = self._requests.get(capture.request, capture.what)
                found.append(capture if what == capture.what else replace(capture, what=what))
            if newest_auto is not None and track.rank in self._hung:
                found.append(newest_auto)
        return tuple(found)

    def _problems(self) -> tuple[tuple[str, int, str], ...]:
        found = [("manifest", 1, note) for note in self._notes]
        if self._rule_problem:
            found.append(("loss_rule", 1, self._rule_problem))
        found += self._records.problems()
        for track in self._tracks:
            found += [
                ("agent", count, f"rank {track.rank}: {what}") for what, count in track.problems.items()
            ]
        return tuple(found)


def _lives(pid: int, create_time_s: float | None) -> bool:
    """This very process is there and has not ended; by its pid alone where that is all that was recorded."""
    if create_time_s is None:
        return identity.create_time_s(pid) is not None
    process = ProcessIdentity(pid=pid, create_time_s=create_time_s, boot_id=identity.boot_id())
    return identity.is_alive(process)
