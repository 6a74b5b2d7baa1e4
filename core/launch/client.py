"""What the window and the command line do with runs: launch, stop, capture, find what was left behind.

A run belongs to its supervisor, a process of its own; nothing here keeps a
handle on it. All that is needed later stands in the run folder.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import selectors
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO, Literal

import msgspec

from core import files
from core.errors import DashboardError
from core.launch import processes
from core.launch.preflight import Preflight
from core.launch.revision import read_revision
from core.launch.versions import ridgeline_version
from core.runs.job import JobSpec
from core.runs.manifest import ENDED, Manifest, ProcessIdentity, write_manifest
from core.runs.recorded_end import with_recorded_end
from core.runs.store import RunFolder, RunStore, effective_status, supervisor_is_alive
from core.telemetry.events import (
    CaptureRequest,
    ControlEvent,
    LauncherStarted,
    Processes,
    StopRequest,
    SupervisorEvent,
)

RUN_VARIABLE = "RIDGELINE_RUN_DIR"
READY = b"ready"
_START_LIMIT_S = 60.0
_POLL_S = 0.1
_LOG_TAIL_BYTES = 2_000


@dataclass(frozen=True, slots=True, kw_only=True)
class LeftBehind:
    """A run whose supervisor is gone while processes of it live.

    Attributes:
        processes: Those that live, launcher and ranks first.
    """

    folder: RunFolder
    manifest: Manifest
    processes: tuple[ProcessIdentity, ...]


def launch(
    spec: JobSpec,
    store: RunStore,
    *,
    preflight: Preflight | None = None,
    cancelled: Callable[[], bool] | None = None,
) -> RunFolder:
    """Starts a job that lives on without this process.

    Args:
        spec: What to run. It is not checked here; ``run_preflight`` does that.
        store: Where the run folder is made.
        preflight: Result for exactly this spec; its versions go into the manifest.
        cancelled: Asked while the supervisor starts; once it is True a stop is written, which
            the supervisor finds before it starts anything, also if this process ends meanwhile.

    Returns:
        The run's folder, as soon as the supervisor has taken over.

    Raises:
        DashboardError: The run folder cannot be made or the supervisor does not start.
    """
    folder = store.create(spec)
    versions = {"ridgeline": ridgeline_version()} | (preflight.versions() if preflight else {})
    manifest = replace(folder.read(), versions=versions, revision=read_revision(_script_folder(spec)))
    try:
        write_manifest(folder.path, manifest)
        _start_supervisor(folder, cancelled or _never)
    except (DashboardError, OSError) as error:
        _give_up(folder, manifest, str(error))
        if isinstance(error, DashboardError):
            raise
        raise DashboardError(
            f"The run could not be started: {error.strerror or error}.",
            "Free some disk space or memory and launch again.",
        ) from error
    return folder


def request_stop(folder: RunFolder, now: bool = False) -> bool:
    """Asks the supervisor to end the job: gracefully, or at once with ``now``.

    Returns:
        False if the run has ended already.

    Raises:
        DashboardError: Nobody is there to end it, see ``left_behind``; or the folder is a copy.
    """
    manifest = folder.read()
    status = effective_status(folder, manifest)
    if status == "lost" and manifest.status not in ENDED:
        raise DashboardError(
            f"The supervisor of {folder.id} is gone.",
            "Ridgeline offers at its start to end the processes it left; `stop` does so too.",
        )
    if status in ENDED:
        return False
    _refuse_copy(folder, manifest)
    try:
        _ask_to_stop(folder, now)
    except OSError:
        # A full disk must not keep a job from being stopped.
        supervisor = manifest.supervisor
        number = signal.SIGUSR1 if now else signal.SIGTERM
        if supervisor is None or not processes.send_signal(supervisor, number):
            raise DashboardError(
                f"The stop of {folder.id} could not be written to its folder.",
                "Free some disk space and stop again.",
            ) from None
    return True


def request_capture(  # noqa: PLR0913 - the fields of one record
    folder: RunFolder,
    *,
    what: Literal["trace", "snapshot", "stacks"] = "trace",
    steps: int = 2,
    first_step: int | None = None,
    ranks: Sequence[int] | None = None,
    with_stack: bool = False,
    with_memory: bool = True,
) -> str:
    """Asks the agents for a capture; see ``CaptureRequest`` for the fields.

    Returns:
        The name of the request, under which the agents report on it.

    Raises:
        DashboardError: The run has ended, has no such rank, or cannot be asked.
    """
    manifest = folder.read()
    if effective_status(folder, manifest) in ENDED:
        raise DashboardError(
            f"The run {folder.id} has ended: there is nothing to capture.",
            "Launch it again and capture while it runs.",
        )
    _refuse_copy(folder, manifest)
    beyond = [rank for rank in ranks or () if not 0 <= rank < manifest.job.ranks]
    if beyond:
        raise DashboardError(
            f"There is no rank {beyond[0]}: the run has {manifest.job.ranks} "
            f"rank{'' if manifest.job.ranks == 1 else 's'}.",
            f"Ranks are counted from 0 to {manifest.job.ranks - 1}.",
        )
    if steps < 1:
        raise DashboardError(f"A capture of {steps} steps holds nothing.", "Ask for 1 step or more.")
    request = secrets.token_hex(6)
    record = CaptureRequest(
        seq=0,
        t_ns=time.time_ns(),
        request=request,
        what=what,
        steps=steps,
        first_step=first_step,
        ranks=sorted(set(ranks)) if ranks is not None else None,
        with_stack=with_stack,
        with_memory=with_memory,
    )
    try:
        _ask(folder, record)
    except OSError as error:
        raise DashboardError(
            f"The request could not be written to {folder.id}: {error.strerror or error}.",
            "Free some disk space and ask again.",
        ) from error
    return request


def _refuse_copy(folder: RunFolder, manifest: Manifest) -> None:
    """Raises if the processes of a run look into another folder than this one, which is a copy then."""
    original = manifest.environment.get(RUN_VARIABLE, "")
    if os.path.isdir(original) and not os.path.samefile(original, folder.path):
        raise DashboardError(
            f"{files.printable(str(folder.path))} is a copy; the run goes on in {files.printable(original)}.",
            "Name that one.",
        )


def left_behind(store: RunStore) -> list[LeftBehind]:
    """Finds runs whose supervisor is gone while processes of theirs live on this machine."""
    by_folder: dict[str, list[ProcessIdentity]] | None = None
    found = []
    for path in store.folders():
        folder = RunFolder(path)
        try:
            manifest = folder.read()
        except DashboardError:
            continue
        if not _may_have_left(folder, manifest):
            continue
        if by_folder is None:
            by_folder = processes.carriers(RUN_VARIABLE)
        living = _living(folder, manifest, by_folder.get(str(path), []))
        if living:
            found.append(LeftBehind(folder=folder, manifest=manifest, processes=tuple(living)))
    return found


def end_left_behind(item: LeftBehind) -> tuple[ProcessIdentity, ...]:
    """Ends exactly the processes that a run left behind, and writes down its end unless one is recorded.

    Returns:
        Those that live nevertheless; () in the usual case.
    """
    if supervisor_is_alive(item.folder, item.manifest):
        return ()
    remaining = processes.end_processes(item.processes)
    # What a dying process has started meanwhile.
    late = processes.carriers(RUN_VARIABLE).get(str(item.folder.path), [])
    remaining = processes.end_processes([*remaining, *late]) if late or remaining else []
    ended = len(set(item.processes) - set(remaining))
    what = "1 process was" if ended == 1 else f"{ended} processes were"
    manifest = with_recorded_end(item.folder.supervisor_path, item.manifest)
    if manifest.ended_ns is None:
        manifest = replace(
            manifest,
            status="lost",
            ended_ns=time.time_ns(),
            summary=f"The supervisor ended unexpectedly; {what} ended later",
        )
    with contextlib.suppress(OSError, DashboardError):
        write_manifest(item.folder.path, manifest)
    return tuple(remaining)


def _may_have_left(folder: RunFolder, manifest: Manifest) -> bool:
    """Tells whether this run has no end, no supervisor, and ran since this boot."""
    if manifest.status in ENDED and manifest.ended_ns is not None:
        return False
    if manifest.supervisor is None or manifest.supervisor.boot_id != processes.boot_id():
        return False
    if supervisor_is_alive(folder, manifest):
        return False
    return with_recorded_end(folder.supervisor_path, manifest).ended_ns is None


def _living(
    folder: RunFolder, manifest: Manifest, carriers: Sequence[ProcessIdentity]
) -> list[ProcessIdentity]:
    recorded = [manifest.launcher] if manifest.launcher else []
    boot = manifest.supervisor.boot_id if manifest.supervisor else ""
    for event in _supervisor_events(folder):
        if isinstance(event, LauncherStarted):
            recorded.append(ProcessIdentity(pid=event.pid, create_time_s=event.create_time_s, boot_id=boot))
        elif isinstance(event, Processes):
            recorded += [
                ProcessIdentity(pid=pid, create_time_s=created, boot_id=boot)
                for pid, created in event.started
            ]
    living = {process.pid: process for process in [*recorded, *carriers] if processes.is_alive(process)}
    for process in list(living.values()):
        for below in processes.descendants(process.pid):
            living.setdefault(below.pid, below)
    return list(living.values())


def _supervisor_events(folder: RunFolder) -> list[SupervisorEvent]:
    try:
        lines = folder.supervisor_path.read_bytes().splitlines()
    except OSError:
        return []
    decoder = msgspec.json.Decoder(SupervisorEvent)
    events: list[SupervisorEvent] = []
    for line in lines:
        with contextlib.suppress(msgspec.DecodeError):
            events.append(decoder.decode(line))
    return events


def _ask(folder: RunFolder, record: ControlEvent) -> None:
    # The newline in front ends a line that another writer may have torn.
    files.append_line(folder.control_path, b"\n" + msgspec.json.encode(record))


def _script_folder(spec: JobSpec) -> Path:
    working = Path(spec.working_folder)
    return working if spec.is_module else (working / spec.target).parent


def _never() -> bool:
    return False


def _start_supervisor(folder: RunFolder, cancelled: Callable[[], bool]) -> None:
    told = False

    def stop_if_cancelled() -> None:
        nonlocal told
        if not told and cancelled():
            told = True
            give_up()

    def give_up() -> None:
        with contextlib.suppress(OSError):  # a full disk; who gave it up stops it once it runs
            _ask_to_stop(folder)

    stop_if_cancelled()
    log = os.open(folder.supervisor_log, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
    try:
        process = subprocess.Popen(
            [sys.executable, str(files.MAIN), "_supervise", str(folder.path)],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=log,
            cwd="/",
            start_new_session=True,
        )
    finally:
        os.close(log)
    with process:
        assert process.stdout is not None
        answer = _first_line(process.stdout, _START_LIMIT_S, stop_if_cancelled)
        if answer is None:
            process.kill()
            # This was perhaps the first process only, which has forked: the supervisor
            # that takes over later finds the stop before it starts anything.
            give_up()
    if answer != READY:
        why = (
            f"did not start within {_START_LIMIT_S:g} s"
            if answer is None
            else f"ended at once{_last_words(folder)}"
        )
        raise DashboardError(
            f"The supervisor of the run {why}.",
            f"Its own output is in {folder.supervisor_log}.",
        )


def _ask_to_stop(folder: RunFolder, now: bool = False) -> None:
    _ask(folder, StopRequest(seq=0, t_ns=time.time_ns(), now=now))


def _first_line(pipe: IO[bytes], limit_s: float, meanwhile: Callable[[], None]) -> bytes | None:
    """Returns the first line, what there is at the pipe's end, or None after the limit."""
    deadline = time.monotonic() + limit_s
    data = b""
    with selectors.DefaultSelector() as selector:
        selector.register(pipe, selectors.EVENT_READ)
        while b"\n" not in data:
            meanwhile()
            left_s = deadline - time.monotonic()
            if left_s <= 0:
                return None
            if not selector.select(min(_POLL_S, left_s)):
                continue
            more = os.read(pipe.fileno(), 4096)
            if not more:
                break
            data += more
    return data.split(b"\n", 1)[0].strip()


def _last_words(folder: RunFolder) -> str:
    text = files.read_tail(folder.supervisor_log, _LOG_TAIL_BYTES).decode("utf-8", "replace")
    lines = text.strip().splitlines()
    return f": {files.printable(lines[-1])}" if lines else ""


def _give_up(folder: RunFolder, manifest: Manifest, why: str) -> None:
    with contextlib.suppress(OSError, DashboardError):
        write_manifest(folder.path, replace(manifest, status="failed", ended_ns=time.time_ns(), summary=why))
