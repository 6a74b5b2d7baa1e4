"""Texts and launches while a report or a CSV of Nsight Compute is read: what becomes tables of both."""

from __future__ import annotations

from typing import Any

import numpy as np

from core.tables.columns import NO_ROW
from core.tables.ncu import LaunchTable
from core.tables.strings import StringTable, string_table


class Texts:
    """All texts, each once."""

    def __init__(self) -> None:
        self._ids: dict[str, int] = {}

    def add(self, text: str) -> int:
        """Returns the id of a text; ``NO_ROW`` for the empty one."""
        return self._ids.setdefault(text, len(self._ids)) if text else NO_ROW

    def add_bytes(self, data: bytes) -> int:
        """Returns the id of a text in UTF-8."""
        return self.add(data.decode("utf-8", "replace"))

    def table(self) -> StringTable:
        """Returns the frozen table."""
        return string_table(self._ids)


class Launches:
    """Launches while they are gathered.

    Attributes:
        rows: One for each: the name of each column of ``LaunchTable`` to its value.
    """

    def __init__(self) -> None:
        self.rows: list[dict[str, Any]] = []

    def __len__(self) -> int:
        return len(self.rows)

    def table(self) -> LaunchTable:
        """Returns the frozen table."""

        def column(name: str, kind: type[np.generic]) -> Any:
            return np.array([row[name] for row in self.rows], kind)

        def shapes(name: str) -> Any:
            return column(name, np.int64).reshape(len(self.rows), 3)

        return LaunchTable(
            name_id=column("name_id", np.int32),
            function_name_id=column("function_name_id", np.int32),
            mangled_name_id=column("mangled_name_id", np.int32),
            grid=shapes("grid"),
            block=shapes("block"),
            duration_ns=column("duration_ns", np.int64),
            created_ns=column("created_ns", np.int64),
            process_row=column("process_row", np.int32),
            device_row=column("device_row", np.int32),
            thread_id=column("thread_id", np.int64),
            context=column("context", np.int64),
            stream=column("stream", np.int64),
            api_call_id=column("api_call_id", np.int64),
            source_reference=column("source_reference", np.int64),
            comment_id=column("comment_id", np.int32),
            raw_begin=column("raw_begin", np.int64),
            raw_bytes=column("raw_bytes", np.int64),
        )
