"""The process that owns a job: starts torchrun, sees it end, leaves nothing behind.

It is detached from the window and its terminal and outlives both. Everything
it knows is in the run folder; everything it is asked comes through
``control.jsonl`` or as a signal (SIGTERM: stop, SIGUSR1: kill).
"""

from __future__ import annotations

import contextlib
import os
import selectors
import signal
import subprocess
import sys
import time
from pathlib import Path
from types import FrameType

import msgspec

from core.errors import DashboardError
from core.files import MAIN
from core.launch import ending, outcome, processes
from core.launch.command import build_launch
from core.launch.detach import detach
from core.launch.record import Recorder
from core.runs.identity import identity
from core.runs.manifest import ProcessIdentity, Status
from core.runs.store import RunFolder
from core.telemetry.events import (
    ControlEvent,
    LauncherExited,
    LauncherStarted,
    Processes,
    SignalSent,
    StopRequest,
    SupervisorEnded,
)

READY = b"ready\n"

_TICK_S = 0.1
_SCAN_S = 2.0
_SCAN_EARLY_S = 0.3
_EARLY_S = 30.0
_LIFE_SIGN_S = 10.0
_SAVE_AGAIN_S = 1.0
_LAST_SAVE_LIMIT_S = 30.0
_SAMPLER_LIMIT_S = 3.0
_UNKILLABLE_WORD_S = 10.0
_UNKILLABLE_LIMIT_S = 60.0


def run_supervisor(folder_path: str) -> None:
    """Detaches and supervises the run in a folder to its end. Does not return.

    The first process ends at once with exit code 0; the one that goes on writes
    ``READY`` to standard output when it has taken over, and nothing else there.
    """
    umask = detach()
    try:
        Supervisor(RunFolder(Path(folder_path)), umask).run()
    except (DashboardError, OSError) as error:
        print(error, file=sys.stderr, flush=True)
        os._exit(1)
    os._exit(0)


class Supervisor:
    """One run under supervision."""

    def __init__(self, folder: RunFolder, umask: int) -> None:
        self._folder = folder
        self._umask = umask
        self._recorder = Recorder(folder, folder.read())
        self._job = self._recorder.manifest.job
        self._grace_s = processes.grace_s()
        self._launcher: subprocess.Popen[bytes] | None = None
        self._launcher_identity: ProcessIdentity | None = None
        self._launcher_exit_code: int | None = None
        self._sampler: subprocess.Popen[bytes] | None = None
        self._ends_sampler = False
        self._reaped: dict[int, int] = {}
        self._known: set[ProcessIdentity] = set()
        self._living: list[ProcessIdentity] = []
        self._ladder: ending.Ladder | None = None
        self._stopped_launcher = False
        self._killed: set[int] = set()
        self._control = ControlReader(folder.control_path)
        self._asked: set[ending.Why] = set()
        self._began_s = time.monotonic()
        self._next_scan_s = self._next_life_sign_s = self._next_save_s = 0.0
        self._warned_unkillable = False

    def run(self) -> None:
        """Takes over, starts the job, and returns when no process of it is left."""
        if self._recorder.manifest.status != "created":
            raise DashboardError(f"The run {self._folder.id} was started already.", "Launch a new run.")
        wakeup = self._install_signals()
        self._take_over()
        self._look_for_requests()
        if not self._asked and self._start_launcher():
            self._start_sampler()
            with selectors.DefaultSelector() as selector:
                selector.register(wakeup, selectors.EVENT_READ)
                while not self._tick():
                    if selector.select(_TICK_S):
                        os.read(wakeup, 4096)
        self._finish()

    # --- start ---------------------------------------------------------------

    def _install_signals(self) -> int:
        """Turns signals into requests; returns the descriptor that wakes the loop."""
        read_end, write_end = os.pipe()
        os.set_blocking(read_end, False)
        os.set_blocking(write_end, False)
        signal.set_wakeup_fd(write_end, warn_on_full_buffer=False)

        def stop(_number: int, _frame: FrameType | None) -> None:
            self._asked.add("stop")

        def kill(_number: int, _frame: FrameType | None) -> None:
            self._asked.add("kill")

        def nothing(_number: int, _frame: FrameType | None) -> None:
            """Only wakes the loop. Not SIG_IGN, which the job would inherit."""

        signal.signal(signal.SIGTERM, stop)
        signal.signal(signal.SIGINT, stop)
        signal.signal(signal.SIGUSR1, kill)
        for number in (signal.SIGHUP, signal.SIGQUIT, signal.SIGCHLD):
            signal.signal(number, nothing)
        return read_end

    def _take_over(self) -> None:
        """Puts its name into the manifest and tells the client so.

        Raises:
            OSError: The run folder cannot be written; then nothing is started.
        """
        manifest = self._recorder.manifest
        launch = build_launch(
            self._job,
            self._folder,
            torch_version=manifest.versions.get("torch", ""),
            python_version=manifest.versions.get("python", ""),
            base_environment=os.environ,
        )
        self._argv, self._environment = launch.argv, launch.environment
        self._recorder.update(
            status="starting",
            supervisor=identity(os.getpid()),
            started_ns=time.time_ns(),
            argv=launch.argv,
            environment=launch.shown_environment,
        )
        if not self._recorder.saved:
            raise DashboardError("The run folder cannot be written.", "Free some disk space.")
        with contextlib.suppress(OSError):  # the client may be gone already; the run was asked for
            os.write(1, READY)
        os.dup2(2, 1)

    def _start_launcher(self) -> bool:
        flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC
        log = os.open(self._folder.launcher_log, flags, 0o600)
        try:
            self._launcher = subprocess.Popen(
                self._argv,
                env=self._environment,
                cwd=self._job.working_folder,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
                umask=self._umask,
            )
        except (OSError, ValueError) as error:
            self._recorder.update(summary=f"{self._job.interpreter} cannot be started: {error}")
            return False
        finally:
            os.close(log)
        pid = self._launcher.pid
        self._launcher_identity = launcher = identity(pid)
        if launcher is not None:
            self._known.add(launcher)
        created_s = launcher.create_time_s if launcher is not None else 0.0
        self._recorder.write(LauncherStarted, pid=pid, create_time_s=created_s)
        self._recorder.update(launcher=launcher)
        return True

    def _start_sampler(self) -> None:
        if self._job.device != "cuda" and not _driver_is_there():
            return
        try:
            self._sampler = subprocess.Popen(
                [sys.executable, str(MAIN), "_sample-gpus", str(self._folder.path), str(os.getpid())],
                stdin=subprocess.DEVNULL,
                start_new_session=True,
            )
        except OSError as error:
            self._recorder.say(f"GPU figures are not recorded: the sampler cannot be started ({error}).")

    # --- life ----------------------------------------------------------------

    def _tick(self) -> bool:
        """Does what is due; returns True when no process of the job is left."""
        now_s = time.monotonic()
        self._reap()
        self._look_for_requests()
        self._climb_to(now_s)
        self._scan(now_s)
        if self._launcher_exit_code is not None and not self._living:
            return True
        if self._ladder is not None:
            rung = self._ladder.due(now_s)
            if rung is not None:
                self._send(self._ladder.why, rung)
            if self._given_up(self._ladder, now_s):
                return True
        self._keep_up(now_s)
        return False

    def _reap(self) -> None:
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if pid == 0:
                return
            code = os.waitstatus_to_exitcode(status)
            if self._sampler is not None and pid == self._sampler.pid:
                self._sampler.returncode = code
                self._sampler = None
                if code != 0 and not self._ends_sampler:
                    # Its last figures would pass for those of now.
                    how = outcome.describe_exit(code)
                    self._recorder.say(f"GPU figures stand still from here on: sampler {how}.")
                continue
            self._reaped[pid] = code
            if self._launcher is not None and pid == self._launcher.pid:
                self._launcher.returncode = code
                self._launcher_exit_code = code
                self._next_scan_s = 0.0
                self._recorder.write(LauncherExited, exit_code=code)

    def _look_for_requests(self) -> None:
        for request in self._control.read():
            self._asked.add("kill" if request.now else "stop")

    def _climb_to(self, now_s: float) -> None:
        """Puts up the ladder that the state asks for; one that is steeper replaces one that is not."""
        current = self._ladder.why if self._ladder is not None else None
        if "kill" in self._asked:
            if current != "kill":
                self._ladder = ending.kill_ladder(now_s)
        elif "stop" in self._asked and current is None and self._launcher_exit_code is None:
            self._ladder = ending.stop_ladder(now_s, self._grace_s)
        if self._ladder is None and self._launcher_exit_code is not None:
            patient = self._launcher_exit_code == 0
            self._ladder = ending.orphan_ladder(now_s, self._grace_s, patient=patient)
        if self._asked and self._recorder.manifest.status in ("starting", "running"):
            self._recorder.update(status="stopping")

    def _scan(self, now_s: float) -> None:
        """Looks for processes below this one: often while something happens, else seldom."""
        if now_s < self._next_scan_s and self._ladder is None:
            return
        early = now_s - self._began_s < _EARLY_S
        self._next_scan_s = now_s + (_SCAN_EARLY_S if early else _SCAN_S)
        without = [self._sampler.pid] if self._sampler is not None else []
        self._living = processes.descendants(os.getpid(), without=without)
        if sys.platform != "linux":
            # No subreaper there: what lost its parent is only known from before.
            lost = self._known - set(self._living)
            self._living += [process for process in lost if processes.is_alive(process)]
        new = [process for process in self._living if process not in self._known]
        if new:
            self._known.update(new)
            started = [(process.pid, process.create_time_s) for process in new]
            self._recorder.write(Processes, started=started)

    def _send(self, why: ending.Why, rung: ending.Rung) -> None:
        targets = self._living
        if rung.launcher_only and self._launcher_exit_code is None:
            targets = [process for process in targets if process == self._launcher_identity]
        sent = [process.pid for process in targets if processes.send_signal(process, rung.signal)]
        if not sent:
            return
        if self._launcher_exit_code is None:
            # A job whose torchrun has ended by itself is over: who stops it then only clears up.
            self._stopped_launcher = True
        if rung.signal == signal.SIGKILL:
            self._killed.update(sent)
        self._recorder.write(SignalSent, signal=rung.signal.name, pids=sent, why=why)

    def _given_up(self, ladder: ending.Ladder, now_s: float) -> bool:
        """Says so when SIGKILL does not end a process, and stops waiting for it in the end."""
        if ladder.killing_since_s is None:
            return False
        killing_s = now_s - ladder.killing_since_s
        if killing_s > _UNKILLABLE_WORD_S and not self._warned_unkillable:
            self._warned_unkillable = True
            pids = ", ".join(str(process.pid) for process in self._living)
            self._recorder.say(f"SIGKILL does not end {pids}: the driver or a file system may hang.")
        return killing_s > _UNKILLABLE_LIMIT_S

    def _keep_up(self, now_s: float) -> None:
        if self._recorder.manifest.status == "starting" and self._all_ranks_began():
            self._recorder.update(status="running")
        if now_s >= self._next_life_sign_s:
            self._next_life_sign_s = now_s + _LIFE_SIGN_S
            self._recorder.show_life()
        if not self._recorder.saved and now_s >= self._next_save_s:
            self._next_save_s = now_s + _SAVE_AGAIN_S
            self._recorder.retry()

    def _all_ranks_began(self) -> bool:
        return all(self._folder.rank_file(rank).exists() for rank in range(self._job.ranks))

    # --- end -----------------------------------------------------------------

    def _finish(self) -> None:
        self._end_sampler()
        self._reap()  # those that ended since: their exit codes are still to be had
        ends = outcome.read_ends(
            self._folder,
            self._job.ranks,
            reaped=self._reaped,
            launcher_exit_code=self._launcher_exit_code,
        )
        status = self._final_status()
        self._recorder.write(SupervisorEnded, status=status)
        self._recorder.update(
            status=status,
            ended_ns=time.time_ns(),
            launcher_exit_code=self._launcher_exit_code,
            exit_codes={end.rank: end.exit_code for end in ends if end.exit_code is not None},
            summary=self._summary(status, ends),
        )
        limit_s = time.monotonic() + _LAST_SAVE_LIMIT_S
        while not self._recorder.saved and time.monotonic() < limit_s:
            time.sleep(_SAVE_AGAIN_S)
            self._recorder.retry()

    def _final_status(self) -> Status:
        stopped = bool(self._asked) and (self._stopped_launcher or self._launcher is None)
        if stopped and (self._launcher_exit_code != 0 or self._killed):
            return "stopped"
        return "done" if self._launcher_exit_code == 0 else "failed"

    def _summary(self, status: Status, ends: list[outcome.RankEnd]) -> str:
        left = ""
        if self._living:
            left = f"; {_processes(len(self._living))} {'does' if len(self._living) == 1 else 'do'} not die"
        if status == "stopped":
            if self._launcher is None:
                return "Stopped before it started"
            killed = f"; {_processes(len(self._killed))} had to be killed" if self._killed else ""
            return f"Stopped{killed}{left}"
        if status == "done":
            ranks = "1 rank" if self._job.ranks == 1 else f"All {self._job.ranks} ranks"
            return f"{ranks} ended with exit code 0{left}"
        if self._launcher is None:
            return self._recorder.manifest.summary
        manifest = self._recorder.manifest
        return outcome.summarize_failure(self._folder, ends, manifest, self._launcher_exit_code) + left

    def _end_sampler(self) -> None:
        """Ends the GPU sampler; one that hangs in the driver is not waited for."""
        sampler = self._sampler
        if sampler is None:
            return
        limit_s = time.monotonic() + _SAMPLER_LIMIT_S
        self._ends_sampler = True
        # Not Popen.kill, which would wait for it behind _reap's back.
        os.kill(sampler.pid, signal.SIGKILL)
        while self._sampler is not None and time.monotonic() < limit_s:
            time.sleep(0.02)
            self._reap()


class ControlReader:
    """Reads requests that were added to ``control.jsonl``; others' records are passed over."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._position = 0
        self._decoder = msgspec.json.Decoder(ControlEvent)

    def read(self) -> list[StopRequest]:
        """Returns the stop requests since the last call."""
        try:
            if self._path.stat().st_size <= self._position:
                return []
            with open(self._path, "rb") as file:
                file.seek(self._position)
                data = file.read()
        except OSError:
            return []
        whole = data[: data.rfind(b"\n") + 1]
        self._position += len(whole)
        requests = []
        for line in whole.splitlines():
            try:
                event = self._decoder.decode(line)
            except msgspec.DecodeError:
                continue
            if isinstance(event, StopRequest):
                requests.append(event)
        return requests


def _processes(count: int) -> str:
    return "1 process" if count == 1 else f"{count} processes"


def _driver_is_there() -> bool:
    """Tells whether the NVIDIA driver shows itself, so that a GPU panel has something to say."""
    return any(Path(path).exists() for path in ("/dev/nvidiactl", "/proc/driver/nvidia", "/dev/dxg"))
