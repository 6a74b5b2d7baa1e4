"""The end of a run as its supervisor recorded it, where the manifest lacks it.

A disk that stays full keeps the manifest from being replaced, while the short
record of the end may still have found room in ``supervisor.jsonl``.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import msgspec

from core.files import read_tail
from core.runs.manifest import ENDED, Manifest, Status
from core.telemetry.events import LauncherExited, SupervisorEnded

if TYPE_CHECKING:
    from pathlib import Path

_TAIL_BYTES = 16 * 1024
"""After the end come only a few words on what could not be written."""


def with_recorded_end(supervisor_path: Path, manifest: Manifest) -> Manifest:
    """Returns the manifest with the recorded end of its run; as it is if it has one, or there is none.

    Call it only when the supervisor is gone: while it lives it may still write the manifest.

    Args:
        supervisor_path: The supervisor's record file.
        manifest: Of the same run.
    """
    if manifest.status in ENDED:
        return manifest
    decoder: msgspec.json.Decoder[LauncherExited | SupervisorEnded] = msgspec.json.Decoder(
        LauncherExited | SupervisorEnded
    )
    exit_code = manifest.launcher_exit_code
    for line in read_tail(supervisor_path, _TAIL_BYTES).splitlines():
        try:
            event = decoder.decode(line)
        except msgspec.DecodeError:
            continue  # another kind of record, or a line that is torn
        if isinstance(event, LauncherExited):
            exit_code = event.exit_code
        elif (status := _end_named(event.status)) is not None:
            return replace(manifest, status=status, ended_ns=event.t_ns, launcher_exit_code=exit_code)
    return manifest


def _end_named(name: str) -> Status | None:
    return next((status for status in ENDED if status == name), None)
