"""What the supervisor writes: its event file and the manifest. A full disk costs records, never the job."""

from __future__ import annotations

import os
import time
from dataclasses import replace
from typing import Any

import msgspec

from core.files import append_line
from core.runs.manifest import Manifest, write_manifest
from core.runs.store import RunFolder
from core.telemetry.events import SupervisorEvent, SupervisorProblem


class Recorder:
    """The one writer of a run's manifest and of its ``supervisor.jsonl``.

    Attributes:
        manifest: As it should stand on disk.
        saved: It does stand there.
        lost_records: Events that could not be written, so far unreported.
    """

    def __init__(self, folder: RunFolder, manifest: Manifest) -> None:
        self.manifest = manifest
        self.saved = True
        self.lost_records = 0
        self._folder = folder
        self._sequence = 0
        self._torn = False
        self._problem = ""

    def write(self, kind: type[SupervisorEvent], **fields: Any) -> None:
        """Appends an event. If that fails, its sequence number stays a gap that readers count."""
        if self.lost_records and kind is not SupervisorProblem:
            self._report_loss()
        self._append(kind, fields)

    def say(self, message: str) -> None:
        """Appends a problem that the user should know."""
        self.write(SupervisorProblem, message=message)

    def update(self, **changes: Any) -> None:
        """Changes the manifest and writes it; a failure is kept for ``retry``."""
        self.manifest = replace(self.manifest, **changes)
        self.saved = False
        self.retry()

    def retry(self) -> None:
        """Writes the manifest if the last attempt failed."""
        if self.saved:
            return
        try:
            write_manifest(self._folder.path, self.manifest)
        except OSError as error:
            if not self._problem:
                self._problem = f"The manifest could not be written: {error.strerror or error}."
                self.say(self._problem)
            return
        self.saved = True
        if self._problem:
            self._problem = ""
            self.say("The manifest could be written again.")

    def show_life(self) -> None:
        """Renews the time stamp of the event file, by which other machines see that the run lives."""
        try:
            os.utime(self._folder.supervisor_path)
        except OSError:
            return

    def _report_loss(self) -> None:
        lost = self.lost_records
        self._append(
            SupervisorProblem, {"message": f"{lost} records of the supervisor could not be written."}
        )
        if self.lost_records == lost:
            self.lost_records = 0
        else:
            self.lost_records = lost

    def _append(self, kind: type[SupervisorEvent], fields: dict[str, Any]) -> None:
        self._sequence += 1
        event = kind(seq=self._sequence, t_ns=time.time_ns(), **fields)
        start = b"\n" if self._torn else b""
        try:
            append_line(self._folder.supervisor_path, start + msgspec.json.encode(event))
            self._torn = False
        except OSError:
            self._torn = True
            self.lost_records += 1
