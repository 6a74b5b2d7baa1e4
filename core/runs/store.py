"""Run folders: where the parts of a run lie, and the folder that holds all runs.

Knows names and layout only; what the files hold is read by others.
"""

from __future__ import annotations

import contextlib
import os
import re
import secrets
import time
import unicodedata
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from core import files
from core.errors import DashboardError
from core.runs import host, identity
from core.runs.job import JobSpec
from core.runs.manifest import (
    ENDED,
    MANIFEST_NAME,
    SCHEMA_VERSION,
    Manifest,
    Status,
    read_manifest,
    seen_status,
    write_manifest,
)
from core.runs.recorded_end import with_recorded_end

_SIZE_ENTRIES = 5_000
_START_LIMIT_S = 120.0
_FOREIGN_SILENCE_S = 120.0


@dataclass(frozen=True, slots=True)
class RunFolder:
    """One run on disk; only names, nothing needs to exist."""

    path: Path

    @property
    def id(self) -> str:
        """Name of the folder."""
        return self.path.name

    @property
    def manifest_path(self) -> Path:
        """The manifest."""
        return self.path / MANIFEST_NAME

    @property
    def control_path(self) -> Path:
        """Requests to the supervisor and to the agents."""
        return self.path / "control.jsonl"

    @property
    def supervisor_path(self) -> Path:
        """What the supervisor did."""
        return self.path / "supervisor.jsonl"

    @property
    def gpus_path(self) -> Path:
        """Readings of the GPU sampler."""
        return self.path / "gpus.jsonl"

    @property
    def launcher_log(self) -> Path:
        """Output of torchrun itself, and of ranks before the agent has taken over."""
        return self.path / "logs" / "launcher.log"

    @property
    def supervisor_log(self) -> Path:
        """Output of the supervisor itself: empty unless something is wrong with it."""
        return self.path / "logs" / "supervisor.log"

    @property
    def traces(self) -> Path:
        """Folder of torch.profiler traces."""
        return self.path / "traces"

    @property
    def snapshots(self) -> Path:
        """Folder of CUDA memory snapshots."""
        return self.path / "snapshots"

    @property
    def stacks(self) -> Path:
        """Folder of thread stacks."""
        return self.path / "stacks"

    def rank_file(self, rank: int) -> Path:
        """Records of the agent of a global rank."""
        return self.path / "ranks" / f"{rank}.jsonl"

    def log_file(self, rank: int, stream: Literal["out", "err"]) -> Path:
        """Output of a global rank."""
        return self.path / "logs" / f"{rank}.{stream}"

    def read(self) -> Manifest:
        """Reads the manifest; see ``read_manifest`` for what it raises."""
        return read_manifest(self.path)[0]


@dataclass(frozen=True, slots=True, kw_only=True)
class RunSummary:
    """A run as lists show it.

    Attributes:
        status: Checked against the processes that live, see ``effective_status``.
        started_ns: Unix time; when it was created if it never started.
        size_bytes: Of the whole folder; of its first 5,000 files if there are more.
        notes: What was upgraded or not understood in its manifest.
    """

    id: str
    path: Path
    title: str
    script: str
    status: Status
    ranks: int
    device: str
    started_ns: int
    ended_ns: int | None
    summary: str
    size_bytes: int
    notes: tuple[str, ...] = ()


class RunStore:
    """All runs below one folder.

    Attributes:
        root: Holds one folder a run.
        problems: Folders that the last ``list`` could not show, and why.
    """

    def __init__(self, root: Path) -> None:
        self.root = root.absolute()
        self.problems: tuple[tuple[str, str], ...] = ()

    def create(self, job: JobSpec) -> RunFolder:
        """Makes a new run folder with its manifest (status "created").

        Raises:
            DashboardError: The folder cannot be made or written.
        """
        files.ensure_private_folder(self.root)
        created_ns = time.time_ns()
        folder = self._new_folder(job.title, created_ns)
        try:
            for path in (
                folder.rank_file(0).parent,
                folder.launcher_log.parent,
                folder.traces,
                folder.snapshots,
                folder.stacks,
            ):
                path.mkdir(mode=0o700)
            os.close(os.open(folder.control_path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
            write_manifest(
                folder.path,
                Manifest(
                    schema=SCHEMA_VERSION,
                    id=folder.id,
                    job=job,
                    host=host.this_host(),
                    created_ns=created_ns,
                    status="created",
                ),
            )
        except OSError as error:
            raise DashboardError(
                f"The run folder {folder.path} cannot be written: {error.strerror or error}.",
                "Free some disk space, or set RIDGELINE_DATA_DIR to another folder.",
            ) from error
        return folder

    def list(self, limit: int | None = None) -> list[RunSummary]:
        """Returns the newest runs first; what cannot be shown is kept in ``problems``."""
        runs: list[RunSummary] = []
        problems: list[tuple[str, str]] = []
        try:
            paths = self._read_folders()
        except OSError as error:
            problems.append((str(self.root), f"The folder cannot be read: {error.strerror or error}."))
            paths = ()
        for path in paths:
            if limit is not None and len(runs) >= limit:
                break
            try:
                runs.append(summarize(RunFolder(path)))
            except DashboardError as error:
                problems.append((path.name, error.message))
        self.problems = tuple(problems)
        return runs

    def find(self, text: str) -> RunFolder:
        """Finds a run by its id, the start of its id, or the path of its folder or manifest.

        Raises:
            DashboardError: None fits, or several do.
        """
        # os.path, as pathlib raises on an unknown ~user and on a name that is too long.
        path = Path(os.path.expanduser(text))
        if path.name == MANIFEST_NAME and os.path.isfile(path):
            path = path.parent
        if os.path.isfile(path / MANIFEST_NAME):
            return RunFolder(Path(os.path.realpath(path)))
        fitting = [path for path in self.folders() if text and path.name.startswith(text)]
        exact = [path for path in fitting if path.name == text]
        if len(exact or fitting) == 1:
            return RunFolder((exact or fitting)[0])
        shown = files.printable(text)
        if fitting:
            names = ", ".join(path.name for path in fitting[:4])
            more = "" if len(fitting) <= 4 else ", and more"
            raise DashboardError(
                f"{len(fitting)} runs start with {shown}: {names}{more}.",
                "Give more of the id.",
            )
        raise DashboardError(f"There is no run {shown}.", "`runs` lists the runs there are.")

    def folders(self) -> tuple[Path, ...]:
        """Returns the paths of all run folders, newest first, unread."""
        try:
            return self._read_folders()
        except OSError:
            return ()

    def _read_folders(self) -> tuple[Path, ...]:
        try:
            names = [name for name in os.listdir(self.root) if not name.startswith(".")]
        except FileNotFoundError:
            return ()
        paths = (self.root / name for name in sorted(names, reverse=True))
        return tuple(path for path in paths if os.path.isdir(path))

    def _new_folder(self, title: str, created_ns: int) -> RunFolder:
        stamp = time.strftime("%Y%m%d-%H%M%S", time.gmtime(created_ns // 1_000_000_000))
        for _ in range(100):
            path = self.root / f"{stamp}-{_slug(title)}-{secrets.token_hex(2)}"
            try:
                path.mkdir(mode=0o700)
            except FileExistsError:
                continue
            except OSError as error:
                raise DashboardError(
                    f"A run folder cannot be made in {self.root}: {error.strerror or error}.",
                    "Free some disk space, or set RIDGELINE_DATA_DIR to another folder.",
                ) from error
            return RunFolder(path)
        raise DashboardError(f"No free run id was found in {self.root}.", "Launch again.")


def default_store() -> RunStore:
    """Returns the store in the user's data folder."""
    return RunStore(files.app_folders().data / "runs")


def summarize(folder: RunFolder) -> RunSummary:
    """Reads what a list shows of one run.

    Raises:
        DashboardError: Its manifest is missing or damaged.
    """
    written, notes = read_manifest(folder.path)
    manifest = _settled(folder, written)
    return RunSummary(
        id=folder.id,
        path=folder.path,
        title=manifest.job.title,
        script=manifest.job.target,
        status=manifest.status,
        ranks=manifest.job.ranks,
        device=manifest.job.device,
        started_ns=manifest.started_ns or manifest.created_ns,
        ended_ns=manifest.ended_ns,
        summary=manifest.summary,
        size_bytes=_size_bytes(folder.path),
        notes=notes,
    )


def supervisor_is_alive(folder: RunFolder, manifest: Manifest) -> bool:
    """Tells whether somebody looks after the run, as far as this machine can know.

    A run of another machine on a shared file system counts as looked after
    while its files change.
    """
    supervisor = manifest.supervisor
    if supervisor is not None and identity.is_alive(supervisor):
        return True
    if manifest.host.name != host.this_host().name:
        return time.time() - _last_change_s(folder) < _FOREIGN_SILENCE_S
    if supervisor is None and manifest.status == "created":
        return time.time() - manifest.created_ns / 1e9 < _START_LIMIT_S
    return False


def effective_status(folder: RunFolder, manifest: Manifest) -> Status:
    """Returns the written status; "lost" if no end is written and nobody is left who could write it.

    The end may stand in the manifest or, if that could not be replaced, only in the supervisor's records.
    """
    return _settled(folder, manifest).status


def _settled(folder: RunFolder, manifest: Manifest) -> Manifest:
    """The manifest with all that is known of the end; its status is as ``effective_status`` says."""
    if manifest.status in ENDED or supervisor_is_alive(folder, manifest):
        return manifest
    # The end may have been written between reading the manifest and looking at the process.
    with contextlib.suppress(DashboardError):
        manifest = folder.read()
    settled = with_recorded_end(folder.supervisor_path, manifest)
    return replace(settled, status=seen_status(settled.status, alive=False))


def _last_change_s(folder: RunFolder) -> float:
    newest = 0.0
    for path in (folder.manifest_path, folder.supervisor_path, *(folder.path / "ranks").glob("*.jsonl")):
        try:
            newest = max(newest, path.stat().st_mtime)
        except OSError:
            continue
    return newest


def _size_bytes(path: Path) -> int:
    total, entries = 0, 0
    for parent, _, names in os.walk(path):
        for name in names:
            try:
                total += os.lstat(os.path.join(parent, name)).st_size
            except OSError:
                continue
        entries += len(names)
        if entries > _SIZE_ENTRIES:
            break
    return total


def _slug(title: str) -> str:
    """Returns up to 24 ASCII letters, digits and dashes of a title; "run" if there are none."""
    plain = unicodedata.normalize("NFKD", title).encode("ascii", "ignore").decode("ascii").lower()
    return re.sub(r"[^a-z0-9]+", "-", plain).strip("-")[:24].strip("-") or "run"
