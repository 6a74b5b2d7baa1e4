"""Known traces: what was read once is kept in the user's cache folder and opened from there.

An entry is named by the hash of the file's content. A note beside it, named by
the file's path, size, time and inode, remembers that hash, so that an unchanged
file is known without reading it. Entries appear under their name only when they
are whole; the longest unused go when the folder grows over its cap.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import secrets
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

from core.files import app_folders, ensure_private_folder, write_atomic
from core.tables.store import open_trace, write_trace

if TYPE_CHECKING:
    from collections.abc import Callable

    from core.tables.trace import Trace

CAP_BYTES: Final = 8 * 2**30
_SUFFIX: Final = ".trace"
_PART: Final = ".part"
_BLOCK_BYTES: Final = 2**22


class TraceCache:
    """Entries in one folder. Every method works, and finds nothing, if the folder cannot be used."""

    def __init__(self, folder: Path | None = None, cap_bytes: int = CAP_BYTES) -> None:
        self.folder = folder or app_folders().cache / "traces"
        self._cap_bytes = cap_bytes

    def find(self, path: Path, check: Callable[[], None] | None = None) -> Trace | None:
        """Returns the trace of a file that was read before, None if it was not.

        Args:
            path: The file.
            check: Called now and then while an unknown file is hashed; what it raises ends the search.
        """
        try:
            note = self.note(path)
            if note.exists():
                return self._open(note.read_text("ascii").strip(), path)
            if not any(self.folder.glob(f"*{_SUFFIX}")):
                return None
            name = content_hash(path, check)
            trace = self._open(name, path)
            if trace is not None:
                write_atomic(note, name.encode("ascii"))
            return trace
        except (OSError, UnicodeDecodeError):
            return None

    def new_part(self) -> Path:
        """Returns a passing name that nobody else has, for ``write_part``."""
        return self.folder / f"{secrets.token_hex(8)}{_PART}"

    def write_part(self, trace: Trace, part: Path | None = None) -> Path:
        """Writes a trace under a passing name; ``adopt`` makes an entry of it, else ``forget_part`` ends it.

        Args:
            trace: What is written.
            part: What ``new_part`` gave; a new one if None.

        Raises:
            OSError: It could not be written; nothing is left behind.
            DashboardError: The folder cannot be used.
        """
        ensure_private_folder(self.folder)
        part = part or self.new_part()
        descriptor = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        try:
            with os.fdopen(descriptor, "wb") as file:
                write_trace(trace, file)
        except BaseException:
            forget_part(part)
            raise
        return part

    def adopt(
        self, part: Path, path: Path, note: Path, check: Callable[[], None] | None = None
    ) -> Path | None:
        """Makes what was written an entry of the file it was read from. Reads that file once more.

        Args:
            part: What ``write_part`` gave; it has another name afterwards, or is gone.
            path: The file that was read.
            note: What ``note(path)`` gave before it was read.
            check: As in ``find``.

        Returns:
            The entry; None if the file has changed meanwhile or cannot be read.
        """
        try:
            name = content_hash(path, check)
            if self.note(path) != note:
                return None
            entry = self.folder / f"{name}{_SUFFIX}"
            os.replace(part, entry)
            write_atomic(note, name.encode("ascii"))
            self._shrink(entry)
        except OSError:
            return None
        finally:
            forget_part(part)
        return entry

    def note(self, path: Path) -> Path:
        """Returns where the hash of a file, as it is now, is remembered.

        Raises:
            OSError: There is no such file.
        """
        status = path.stat()
        facts = (os.fspath(path.absolute()), status.st_size, status.st_mtime_ns, status.st_ino, status.st_dev)
        digest = hashlib.sha256("\0".join(map(str, facts)).encode("utf-8", "surrogateescape")).hexdigest()
        return self.folder / f"{digest}.known"

    def _open(self, name: str, path: Path) -> Trace | None:
        if len(name) != 64 or not name.isalnum():
            return None
        entry = self.folder / f"{name}{_SUFFIX}"
        trace = open_trace(entry)
        if trace is not None:
            with contextlib.suppress(OSError):
                os.utime(entry)
            return replace(trace, name=path.name)
        return None

    def _shrink(self, newest: Path) -> None:
        """Removes what was unused longest until the folder fits; and parts that a killed writer left."""
        entries = []
        for found in self.folder.iterdir():
            with contextlib.suppress(OSError):
                status = found.stat()
                entries.append((status.st_mtime_ns, status.st_size, found))
        total_bytes = sum(size for _, size, _ in entries)
        day_ago_ns = newest.stat().st_mtime_ns - 86_400 * 10**9
        for modified_ns, size, found in sorted(entries):
            left_over = found.suffix == _PART and modified_ns < day_ago_ns
            over = total_bytes > self._cap_bytes and found != newest and found.suffix == _SUFFIX
            if left_over or over:
                with contextlib.suppress(OSError):
                    found.unlink()
                    total_bytes -= size


def forget_part(part: Path) -> None:
    """Deletes what ``write_part`` wrote, if it is still there; a map of it stays whole."""
    with contextlib.suppress(OSError):
        part.unlink()


def content_hash(path: Path, check: Callable[[], None] | None = None) -> str:
    """Returns the hash of a file's content, 64 hexadecimal digits.

    Raises:
        OSError: It cannot be read.
    """
    digest = hashlib.sha256()
    with path.open("rb", buffering=0) as file:
        while block := file.read(_BLOCK_BYTES):
            digest.update(block)
            if check is not None:
                check()
    return digest.hexdigest()
