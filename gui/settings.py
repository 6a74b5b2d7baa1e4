"""What the window remembers between two starts: theme, layout, last page and run, recent files.

One small JSON file in the user's configuration folder, replaced atomically. A
file that cannot be read is set aside, never overwritten; a single value that
makes no sense is ignored. Values that this version does not know are kept.
"""

from __future__ import annotations

import json
import os
import threading
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from core.errors import DashboardError
from core.files import CONFIG_HINT, app_folders, ensure_private_folder, read_bytes_limited, write_atomic
from gui.theme import ThemeChoice

if TYPE_CHECKING:
    from collections.abc import Sequence

FILE_NAME = "settings.json"
SIZE_LIMIT_BYTES = 4 * 1024 * 1024
RECENT_FILES_KEPT = 30
THEME_CHOICES: tuple[ThemeChoice, ...] = ("system", "dark", "light")


@dataclass(frozen=True, slots=True, kw_only=True)
class RecentFile:
    """A file or folder that was opened before.

    Attributes:
        path: Bytes that are no text are kept (surrogate escapes).
        title: What it was recognised as.
        opened_ns: Unix time of the last opening.
        files: Several files that were opened as one, ``path`` being the first; else ().
    """

    path: str
    title: str
    opened_ns: int
    files: tuple[str, ...] = ()

    @property
    def paths(self) -> tuple[str, ...]:
        """All that is to be opened."""
        return self.files or (self.path,)

    def as_json(self) -> dict[str, Any]:
        """What the settings file keeps."""
        entry: dict[str, Any] = {"path": self.path, "title": self.title, "opened_ns": self.opened_ns}
        return {**entry, "files": list(self.files)} if self.files else entry


@dataclass(frozen=True, slots=True)
class Content:
    """What the file should hold; of two, the one with the higher number is newer."""

    number: int
    data: bytes


class Settings:
    """Typed access to the settings file, on the UI thread; only ``write`` may run elsewhere."""

    def __init__(self, path: Path, values: dict[str, Any] | None = None, notice: str = "") -> None:
        self.path = path
        self.notice = notice
        self._values: dict[str, Any] = values or {}
        self._newest = 0
        self._writing = threading.Lock()
        self._written = 0

    @classmethod
    def load(cls, folder: Path | None = None) -> Settings:
        """Reads the settings; never fails.

        Args:
            folder: Where the file lies; None is the user's configuration folder.

        Returns:
            Settings whose ``notice`` says what happened to a broken file, "" otherwise.
        """
        path = (folder or app_folders().config) / FILE_NAME
        if not path.exists():
            return cls(path)
        try:
            values = json.loads(read_bytes_limited(path, SIZE_LIMIT_BYTES))
            if not isinstance(values, dict):
                raise ValueError("the file holds no JSON object")
        except (OSError, ValueError, RecursionError, DashboardError) as error:
            return cls(path, notice=_set_aside(path, error))
        return cls(path, values)

    def encoded(self) -> Content:
        """The file's content as it should be now."""
        self._newest += 1
        # ASCII: names with bytes that are no text survive as escapes.
        text = json.dumps(self._values, indent=1, ensure_ascii=True, sort_keys=True)
        return Content(self._newest, text.encode("ascii"))

    def write(self, content: Content) -> None:
        """Replaces the file, unless something newer stands there. From any thread; one writes at a time.

        Raises:
            DashboardError: The folder or the file cannot be written.
        """
        with self._writing:
            if content.number > self._written:
                self._replace(content.data)
                self._written = content.number

    def _replace(self, data: bytes) -> None:
        ensure_private_folder(self.path.parent, CONFIG_HINT)
        try:
            write_atomic(self.path, data)
        except OSError as error:
            raise DashboardError(
                f"The settings could not be written: {error.strerror or error}.",
                f"Check the free space and the permissions of {self.path.parent}.",
            ) from error

    @property
    def theme(self) -> ThemeChoice:
        """Theme that the user chose."""
        value = self._values.get("theme")
        return cast("ThemeChoice", value) if value in THEME_CHOICES else "system"

    @theme.setter
    def theme(self, choice: ThemeChoice) -> None:
        self._values["theme"] = choice

    @property
    def page(self) -> str:
        """Page that was shown last."""
        return self._text("page")

    @page.setter
    def page(self, name: str) -> None:
        self._values["page"] = name

    @property
    def last_run(self) -> str:
        """Folder of the run that was shown last, "" for none."""
        return self._text("last_run")

    @last_run.setter
    def last_run(self, path: str) -> None:
        self._values["last_run"] = path

    @property
    def window(self) -> tuple[bytes, bytes]:
        """Geometry and dock state as Qt gave them; empty if there are none."""
        return self._blob("geometry"), self._blob("docks")

    @window.setter
    def window(self, blobs: tuple[bytes, bytes]) -> None:
        self._values["geometry"], self._values["docks"] = blobs[0].hex(), blobs[1].hex()

    @property
    def recent_files(self) -> list[RecentFile]:
        """Files that were opened, the newest first."""
        entries = self._values.get("recent_files")
        return [file for file in map(_recent_file, entries if isinstance(entries, list) else []) if file]

    def remember_file(self, path: Path, title: str, files: Sequence[Path] = ()) -> None:
        """Puts a file, or ``files`` that were opened as one, at the head of the recent ones."""
        texts = tuple(os.fspath(file) for file in files)
        entry = RecentFile(path=os.fspath(path), title=title, opened_ns=time.time_ns(), files=texts)
        others = [file for file in self.recent_files if file.paths != entry.paths]
        self._values["recent_files"] = [each.as_json() for each in (entry, *others)][:RECENT_FILES_KEPT]

    def forget_files(self) -> None:
        """Empties the list of recent files."""
        self._values["recent_files"] = []

    def page_value(self, page: str, key: str, default: Any = None) -> Any:
        """A value that a page keeps for itself; check its type, the file may hold anything."""
        values = self._values.get(f"page {page}")
        return values.get(key, default) if isinstance(values, dict) else default

    def set_page_value(self, page: str, key: str, value: Any) -> None:
        """Keeps a value (anything JSON can hold) for a page."""
        values = self._values.get(f"page {page}")
        self._values[f"page {page}"] = {**(values if isinstance(values, dict) else {}), key: value}

    def _text(self, key: str) -> str:
        value = self._values.get(key)
        return value if isinstance(value, str) else ""

    def _blob(self, key: str) -> bytes:
        try:
            return bytes.fromhex(self._text(key))
        except ValueError:
            return b""


def _recent_file(entry: object) -> RecentFile | None:
    if not isinstance(entry, dict):
        return None
    path, title, opened_ns = entry.get("path"), entry.get("title"), entry.get("opened_ns")
    if not (isinstance(path, str) and path and isinstance(title, str) and isinstance(opened_ns, int)):
        return None
    files = entry.get("files", [])
    if not (isinstance(files, list) and all(isinstance(file, str) and file for file in files)):
        return None
    return RecentFile(path=path, title=title, opened_ns=opened_ns, files=tuple(files))


def _set_aside(path: Path, error: Exception) -> str:
    """Renames a broken file so that nothing of it is lost. Returns what to tell the user."""
    number = 1
    while (aside := path.with_name(f"{path.name}.broken-{number}")).exists():
        number += 1
    try:
        path.rename(aside)
    except OSError as failure:
        return f"{path} could not be read ({error}) nor set aside ({failure.strerror})."
    return f"{path} could not be read ({error}). It was set aside as {aside.name}."
