"""The one way in for files: drops, dialogs, the command line and recent entries all come through here.

What a path is, is read in a worker; the window decides what happens with it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Signal

from core.errors import DashboardError
from core.files import MOST_TRACES, FileDescription, describe_path, printable
from core.units import format_file_bytes

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from gui.tasks import Progress, Tasks

MOST_AT_ONCE = 20


class Opener(QObject):
    """Describes paths and hands them on.

    Signals:
        described: (path, ``FileDescription``) of a path that is to be opened.
        ranks_described: Several (path, ``FileDescription``), by rank: they are to be opened as one trace.
        failed: A ``DashboardError``.
    """

    described = Signal(object, object)
    ranks_described = Signal(object)
    failed = Signal(object)

    def __init__(self, tasks: Tasks, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._tasks = tasks

    def open(self, paths: Sequence[Path]) -> None:
        """Opens each path, or several that are the ranks of one trace as one.

        Of other paths those after the twentieth are left out, which is said. One
        of the command line may be relative: what is remembered of it must hold in
        another folder too.
        """
        wanted = tuple(dict.fromkeys(each.absolute() for each in paths))
        if len(wanted) > 1:
            self._describe_several(wanted)
            return
        for path in wanted:
            self._describe(
                path, self._tell(path), f"open {path}", title=f"Reading {printable(path.name)}", shown=True
            )

    def _describe_several(self, paths: tuple[Path, ...]) -> None:
        def done(found: list[tuple[Path, FileDescription]]) -> None:
            opened = ranks_of_one(found)
            if opened:
                self.ranks_described.emit(opened)
            else:
                opened = found[:MOST_AT_ONCE]
                for path, description in opened:
                    self.described.emit(path, description)
            # One alone is a folder, and stands for all of its traces.
            if 1 < len(opened) < len(paths):
                self.failed.emit(_left_out(len(paths) - len(opened), len(paths)))

        self._tasks.start(
            title=f"Reading {printable(paths[0].name)} and {len(paths) - 1} more",
            work=lambda progress: _describe_together(paths[:MOST_TRACES], progress.check),
            done=done,
            failed=self.failed.emit,
            key=f"open {paths}",
            shown=True,
        )

    def preview(self, path: Path, show: Callable[[FileDescription], None]) -> None:
        """Tells what a dragged path is; a newer drag makes an older answer void."""
        self._describe(path, show, "preview", title="Looking at the dragged file", shown=False)

    def drop_preview(self) -> None:
        """The drag has left or ended: no answer is wanted."""
        self._tasks.cancel("preview")

    def _tell(self, path: Path) -> Callable[[FileDescription], None]:
        return lambda description: self.described.emit(path, description)

    def _describe(
        self, path: Path, done: Callable[[FileDescription], None], key: str, *, title: str, shown: bool
    ) -> None:
        def work(_: Progress) -> FileDescription:
            return describe_path(path)

        def failed(error: DashboardError) -> None:
            self.failed.emit(error)

        self._tasks.start(title=title, work=work, done=done, failed=failed, key=key, shown=shown)


def _describe_together(
    paths: tuple[Path, ...], check: Callable[[], None]
) -> list[tuple[Path, FileDescription]]:
    """Describes paths; instead of all traces of one folder, which are ranks of one, it describes the folder.

    A folder is remembered as one entry, and opens as one again.
    """
    found = []
    for path in paths:
        check()
        found.append((path, describe_path(path)))
    if ranks_of_one(found) and len({path.parent for path in paths}) == 1:
        folder = describe_path(paths[0].parent)
        if folder.kind == "folder" and set(folder.traces) == set(paths):
            return [(paths[0].parent, folder)]
    return found


def _left_out(count: int, of: int) -> DashboardError:
    return DashboardError(
        f"{count:,} of {of:,} files were not opened.",
        f"Open {MOST_AT_ONCE} at a time, or up to {MOST_TRACES:,} that are the ranks of one trace.",
    )


def ranks_of_one(found: Sequence[tuple[Path, FileDescription]]) -> list[tuple[Path, FileDescription]]:
    """Returns them by rank if all are traces of different ranks of worlds of one size; else []."""
    ranks = {description.rank: (path, description) for path, description in found}
    worlds = {description.world_size for _, description in found}
    if len(found) < 2 or len(ranks) < len(found) or len(worlds) > 1 or None in ranks or None in worlds:
        return []
    return [ranks[rank] for rank in sorted(rank for rank in ranks if rank is not None)]


def drop_words(description: FileDescription, page_title: str | None, more: int) -> tuple[str, str, str]:
    """What the drop overlay says: (title, file, detail).

    Args:
        description: Of the first path in the drag.
        page_title: Of the page that opens it; None if none does.
        more: Further paths in the drag.
    """
    size = "" if description.size_bytes is None else f", {format_file_bytes(description.size_bytes)}"
    others = f", and {more} more" if more else ""
    file = f"{description.name}{size}{others}"
    if page_title is None:
        return f"{description.title}: not opened by this version", file, description.detail
    return f"Open as {_lower_start(description.title)}", file, f"Opens on the {page_title} page."


def refusal_words(description: FileDescription) -> tuple[str, str]:
    """(what it is, what can be opened) for a path that no page takes."""
    return (
        f"{description.name} was not opened: {_lower_start(description.title)}.",
        f"{description.detail} This version opens runs, Python scripts, traces, Nsight Compute reports and "
        "models."
        if "this version opens" not in description.detail
        else description.detail,
    )


def _lower_start(title: str) -> str:
    """A title within a sentence; a name such as PyTorch or CUDA keeps its capitals."""
    first = title.split(" ", 1)[0]
    return (
        title
        if any(letter.isupper() for letter in first[1:]) or first in NAMES
        else title[:1].lower() + title[1:]
    )


NAMES = frozenset({"Python", "Chrome", "Nsight", "ONNX"})
