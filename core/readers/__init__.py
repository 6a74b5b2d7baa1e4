"""One reader a format: from a file to frozen tables. ``READERS`` is the one list.

An entry names its module instead of importing it: what a format needs is loaded
when a file of it is first opened. What a file is, ``core.files.describe_path``
tells from its content.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, cast

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from core.files import FileKind
    from core.tables.ncu import Report
    from core.tables.trace import Trace


@dataclass(frozen=True, slots=True)
class Reader:
    """A format.

    Attributes:
        name: What ``summary --json`` calls it; its package here is ``name``, with a module ``reader``.
        kinds: What ``describe_path`` calls a file that it reads, or refuses in words that help.
        function: In that module: takes a path and returns a table.
    """

    name: str
    kinds: tuple[FileKind, ...]
    function: str

    def load(self) -> Callable[[Path], Trace | Report]:
        """Imports the reader; may take a second."""
        module = import_module(f"core.readers.{self.name}.reader")
        return cast("Callable[[Path], Trace | Report]", getattr(module, self.function))


READERS = (
    Reader("torch_trace", ("trace", "json", "empty", "unreadable", "missing", "unknown"), "read_trace"),
    Reader("ncu_report", ("ncu_report",), "read_report"),
    Reader("ncu_csv", ("ncu_csv", "csv"), "read_csv"),
)


def reader_of(kind: FileKind) -> Reader | None:
    """Returns the reader of files of a kind, None if there is none."""
    return next((reader for reader in READERS if kind in reader.kinds), None)
