"""The child process that writes ``gpus.jsonl`` of a run: all GPUs, twice a second.

It is a process of its own so that a driver call that hangs stops nothing else.
It installs no signal handler: Python runs those only between driver calls, so a
hanging child could not be ended by SIGTERM. Every record is one write, hence a
kill at any moment leaves a readable file.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable
from pathlib import Path

import msgspec

from core.hardware.nvml import GpusUnavailableError, NvmlReader
from core.telemetry.events import GpuEvent, GpuNote, GpuSample, GpusUnavailable

GPUS_FILE = "gpus.jsonl"
SILENCE_S = 5.0
"""A driver that takes longer than this for one look is said to hang."""


_MakeEvent = Callable[[int, int], GpuEvent]


class GpuLog:
    """The file's one writer; usable from several threads."""

    def __init__(self, path: Path) -> None:
        self._descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
        self._lock = threading.Lock()
        self._sequence = 0
        self._torn = False

    def write_sample(self, reader: NvmlReader) -> None:
        """Ask all GPUs and write what they say, and what was odd about it."""
        gpus = reader.read()
        self._write(lambda seq, t_ns: GpuSample(seq=seq, t_ns=t_ns, gpus=gpus))
        for note in reader.take_notes():
            self.write_note(note)

    def write_note(self, message: str) -> None:
        """Write one sentence about the driver's answers."""
        self._write(lambda seq, t_ns: GpuNote(seq=seq, t_ns=t_ns, message=message))

    def write_unavailable(self, reason: str, hint: str) -> None:
        """Write that there are no GPU figures in this run, and why."""
        self._write(lambda seq, t_ns: GpusUnavailable(seq=seq, t_ns=t_ns, reason=reason, hint=hint))

    def _write(self, make: _MakeEvent) -> None:
        """Append a record; one that does not fit on the disk is a gap in the sequence."""
        with self._lock:
            self._sequence += 1
            line = msgspec.json.encode(make(self._sequence, time.time_ns())) + b"\n"
            if self._torn:
                line = b"\n" + line
            try:
                self._torn = os.write(self._descriptor, line) != len(line)
            except OSError:
                self._torn = True


def run_sampler(folder_path: str, parent_pid: int | None = None, interval_s: float = 0.5) -> None:
    """Sample until the parent process is gone; this is the whole life of the child.

    Args:
        folder_path: The run folder.
        parent_pid: Who must live; None is whoever is the parent now.
        interval_s: Time from one sample to the next.
    """
    parent = os.getppid() if parent_pid is None else parent_pid
    log = GpuLog(Path(folder_path) / GPUS_FILE)
    progress = _Progress()
    threading.Thread(target=_watch, args=(parent, log, progress), daemon=True).start()
    try:
        reader = NvmlReader.open()
    except GpusUnavailableError as error:
        log.write_unavailable(error.message, error.hint)
        return
    while os.getppid() == parent:
        started = time.monotonic()
        log.write_sample(reader)
        progress.seen_s = time.monotonic()
        time.sleep(max(0.0, started + interval_s - time.monotonic()))


class _Progress:
    """When the driver last answered, on the monotonic clock."""

    def __init__(self) -> None:
        self.seen_s = time.monotonic()


def _watch(parent: int, log: GpuLog, progress: _Progress) -> None:
    """End with the parent and tell of a hanging driver, also while a driver call does not return."""
    silent = False
    while os.getppid() == parent:
        time.sleep(0.25)
        silent_s = time.monotonic() - progress.seen_s
        if silent_s > SILENCE_S and not silent:
            log.write_note(
                f"The NVIDIA driver has not answered for {SILENCE_S:g} s; its figures stand still."
            )
        silent = silent_s > SILENCE_S
    os._exit(0)
