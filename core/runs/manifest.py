"""The manifest of a run: its schema, its upgraders, and how it is read and written.

The manifest is one small JSON file that is replaced atomically. Only the
supervisor writes it while a run is alive.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from core.runs.job import JobSpec

SCHEMA_VERSION = 1

Status = Literal["created", "starting", "running", "stopping", "done", "failed", "stopped", "lost"]
"""``lost``: the supervisor is gone without having written an end."""

ENDED: frozenset[Status] = frozenset({"done", "failed", "stopped", "lost"})


@dataclass(frozen=True, slots=True, kw_only=True)
class ProcessIdentity:
    """A process that can be recognised later, although pids are used again.

    Attributes:
        pid: Process id.
        create_time_s: Seconds since the epoch, as psutil gives it.
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
    """State of the version-controlled folder that holds the script."""

    commit: str
    changed_files: int


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
