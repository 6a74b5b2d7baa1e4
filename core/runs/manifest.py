"""The manifest of a run: its schema, its upgraders, and how it is read and written.

The manifest is one small JSON file that is replaced atomically. Only the
supervisor writes it while a run is alive.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import MISSING, dataclass, field, fields
from pathlib import Path
from typing import Any, Literal, get_type_hints

import msgspec

from core.errors import DashboardError
from core.files import read_bytes_limited, write_atomic
from core.runs.job import MOST_RANKS, JobSpec

SCHEMA_VERSION = 1

MANIFEST_NAME = "manifest.json"
_LIMIT_BYTES = 8 * 1024 * 1024
_LATEST_NS = 2**63 - 1  # in the year 2262

Upgrader = Callable[[dict[str, Any]], dict[str, Any]]
UPGRADERS: tuple[Upgrader, ...] = ()
"""``UPGRADERS[i]`` turns schema i + 1 into schema i + 2."""

Status = Literal["created", "starting", "running", "stopping", "done", "failed", "stopped", "lost"]
"""``lost``: the supervisor is gone without having written an end."""

ENDED: frozenset[Status] = frozenset({"done", "failed", "stopped", "lost"})


def seen_status(written: Status, *, alive: bool) -> Status:
    """Returns what a run is, from what was written and whether somebody lives who could write an end."""
    return written if written in ENDED or alive else "lost"


@dataclass(frozen=True, slots=True, kw_only=True)
class ProcessIdentity:
    """A process that can be recognised later, although pids are used again.

    Attributes:
        pid: Process id.
        create_time_s: As ``core.runs.identity`` reads it: seconds since boot on
            Linux, since the epoch elsewhere.
        boot_id: Identity of the system's boot; "" where the system has none.
    """

    pid: int
    create_time_s: float
    boot_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Host:
    """The machine that the run was started on."""

    name: str
    platform: str
    cpu_count: int
    memory_bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Revision:
    """State of the version-controlled folder that holds the script.

    ``changed_files`` counts tracked files that differ from the commit; None if
    that could not be found out.
    """

    commit: str
    changed_files: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Manifest:
    """Everything about a run that is not a stream.

    Attributes:
        schema: Version of this layout.
        id: Name of the run folder.
        job: What was asked for.
        argv: What was started.
        environment: Variables that matter to the job (set by us or known to
            steer torch), not the whole environment.
        host: Where.
        versions: Of ridgeline, python, torch, cuda, nccl, driver, as far as known.
        revision: Of the script's repository, if it lies in one.
        created_ns: Unix time, as are ``started_ns`` and ``ended_ns``.
        status: State that the supervisor last wrote.
        launcher_exit_code: Of torchrun; negative is a signal.
        exit_codes: By global rank; negative is a signal.
        supervisor: Process that owns torchrun.
        launcher: torchrun.
        summary: One line on how it ended; "" while it runs.
    """

    schema: int
    id: str
    job: JobSpec
    host: Host
    created_ns: int
    status: Status
    argv: tuple[str, ...] = ()
    environment: dict[str, str] = field(default_factory=dict)
    versions: dict[str, str] = field(default_factory=dict)
    revision: Revision | None = None
    started_ns: int | None = None
    ended_ns: int | None = None
    launcher_exit_code: int | None = None
    exit_codes: dict[int, int] = field(default_factory=dict)
    supervisor: ProcessIdentity | None = None
    launcher: ProcessIdentity | None = None
    summary: str = ""

    @property
    def read_only(self) -> bool:
        """Written by a newer Ridgeline: shown as far as understood, never rewritten."""
        return self.schema > SCHEMA_VERSION


def read_manifest(
    folder: Path, *, version: int = SCHEMA_VERSION, upgraders: Sequence[Upgrader] = UPGRADERS
) -> tuple[Manifest, tuple[str, ...]]:
    """Reads the manifest of a run folder, whatever version wrote it.

    Returns:
        The manifest, and notes for the user on what was upgraded or not understood.

    Raises:
        DashboardError: There is none, or it is damaged.
    """
    raw = _read_raw(folder / MANIFEST_NAME)
    schema = raw.get("schema")
    if not isinstance(schema, int) or isinstance(schema, bool) or schema < 1:
        raise _damaged(folder, f"its schema version is {schema!r}")
    if schema > version:
        return _read_newer(folder, raw, schema)
    notes: tuple[str, ...] = ()
    for old in range(schema, version):
        raw = upgraders[old - 1](raw) | {"schema": old + 1}
    if schema < version:
        notes = (f"This run was written in layout {schema}; it is shown as layout {version}.",)
    try:
        manifest = msgspec.convert(raw, Manifest, str_keys=True)
    except msgspec.ValidationError as error:
        raise _damaged(folder, str(error)) from error
    return _plausible(folder, manifest), notes


def write_manifest(folder: Path, manifest: Manifest) -> None:
    """Replaces the manifest of a run folder atomically.

    Raises:
        DashboardError: The manifest is of a newer version than this program writes.
        OSError: It could not be written; the old one stands.
    """
    if manifest.read_only:
        raise DashboardError(
            f"The run {manifest.id} was written by a newer Ridgeline (layout {manifest.schema}).",
            "Update Ridgeline to change this run.",
        )
    # json, not msgspec: a path with bytes that are no text must survive, as an escape.
    text = json.dumps(msgspec.to_builtins(manifest, str_keys=True), indent=1)
    write_atomic(folder / MANIFEST_NAME, text.encode("ascii") + b"\n")


def _read_raw(path: Path) -> dict[str, Any]:
    try:
        raw = json.loads(read_bytes_limited(path, _LIMIT_BYTES))
    except FileNotFoundError as error:
        raise DashboardError(
            f"There is no run in {path.parent}: it has no {MANIFEST_NAME}.",
            "Choose a folder that Ridgeline made for a run.",
        ) from error
    except OSError as error:
        raise DashboardError(
            f"{path} cannot be read: {error.strerror or error}.", "Check its permissions."
        ) from error
    except (ValueError, RecursionError) as error:
        raise _damaged(path.parent, str(error)) from error
    if not isinstance(raw, dict):
        raise _damaged(path.parent, "it is no JSON object")
    return raw


def _read_newer(folder: Path, raw: dict[str, Any], schema: int) -> tuple[Manifest, tuple[str, ...]]:
    """Takes over each field that is still understood."""
    values: dict[str, Any] = {}
    lost = sorted(set(raw) - {item.name for item in fields(Manifest)})
    for item in fields(Manifest):
        if item.name not in raw:
            continue
        try:
            values[item.name] = msgspec.convert(raw[item.name], _field_types()[item.name], str_keys=True)
        except msgspec.ValidationError:
            lost.append(item.name)
    needed = {i.name for i in fields(Manifest) if i.default is MISSING and i.default_factory is MISSING}
    if not needed <= set(values):
        raise DashboardError(
            f"The run {folder.name} was written by a newer Ridgeline (layout {schema}) "
            f"and this version does not understand its {', '.join(sorted(needed - set(values)))}.",
            "Update Ridgeline to open it.",
        )
    note = f"This run was written by a newer Ridgeline (layout {schema}): it is opened read-only."
    if lost:
        note += f" Not understood: {', '.join(lost)}."
    return _plausible(folder, Manifest(**values)), (note,)


def _plausible(folder: Path, manifest: Manifest) -> Manifest:
    """Passes on a manifest whose figures can be worked with; one that was sent may hold any.

    Raises:
        DashboardError: There are more ranks than anybody can start, or times that no calendar has.
    """
    ranks = manifest.job.ranks
    if not 1 <= ranks <= MOST_RANKS:
        raise _damaged(folder, f"it speaks of {ranks} ranks")
    for name in ("created_ns", "started_ns", "ended_ns"):
        t_ns = getattr(manifest, name)
        if t_ns is not None and not 0 <= t_ns <= _LATEST_NS:
            raise _damaged(folder, f"its {name} is {t_ns}")
    return manifest


def _field_types() -> dict[str, Any]:
    return get_type_hints(Manifest)


def _damaged(folder: Path, why: str) -> DashboardError:
    return DashboardError(
        f"The manifest of the run {folder.name} is damaged: {why}.",
        "Its rank files and logs may still be whole; the folder is left as it is.",
    )
