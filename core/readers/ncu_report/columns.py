"""Columns of a report while they grow: texts by id, launches, metrics, NVTX ranges, frames.

The lists here become the frozen tables of ``core.tables.ncu``.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from core.readers.ncu_report.schema import text_of
from core.tables.columns import MISSING, NO_ROW
from core.tables.ncu import (
    CallFrameTable,
    LaunchTable,
    MetricKind,
    MetricNames,
    MetricTable,
    NvtxTable,
)
from core.tables.ncu_units import unit_of
from core.tables.strings import StringTable, string_table

if TYPE_CHECKING:
    from core.tables.ncu import MetricValue

_MOST_INT64: Final = 2**63 - 1
_FACTS: Final = ("gpu__time_duration.sum", "launch__grid_size", "launch__device", "device__attribute_")

_Value = tuple[int, float, int, int]
"""Kind, number, integer, text id."""


class Texts:
    """All texts, each once."""

    def __init__(self) -> None:
        self._ids: dict[str, int] = {}

    def add(self, text: str) -> int:
        """Returns the id of a text; ``NO_ROW`` for the empty one."""
        return self._ids.setdefault(text, len(self._ids)) if text else NO_ROW

    def add_bytes(self, data: bytes) -> int:
        """Returns the id of a text in UTF-8."""
        return self.add(text_of(data))

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


class Metrics:
    """The metrics of all launches; of one that stands twice in a launch, the first with a value counts.

    Attributes:
        facts: Of the launch that was added last, the few that say what it is: see ``_FACTS``.
    """

    def __init__(self, texts: Texts) -> None:
        self.facts: dict[str, MetricValue] = {}
        self._texts = texts
        self._ids: dict[str, int] = {}
        self._launch_row: list[int] = []
        self._name_id: list[int] = []
        self._kind: list[int] = []
        self._number: list[float] = []
        self._integer: list[int] = []
        self._text_id: list[int] = []
        self._instances: list[int] = []

    def add_launch(self, launch_row: int, metrics: Any, names: list[str]) -> int:
        """Adds the metrics of one launch.

        Args:
            launch_row: Its row.
            metrics: Decoded ``Metric`` messages.
            names: The report's table of strings so far, as ids of metrics count them.

        Returns:
            How many were left out because their name is not in the table.
        """
        self.facts = {}
        taken: dict[str, int] = {}
        nameless = 0
        for metric in metrics:
            if metric.name >= len(names):
                nameless += 1
                continue
            name = names[metric.name]
            value = self._value(metric.value)
            place = taken.setdefault(name, len(self._kind))
            if place == len(self._kind):
                self._launch_row.append(launch_row)
                self._name_id.append(self._ids.setdefault(name, len(self._ids)))
                self._append(value, len(metric.instances))
            else:
                self._complete(place, value, len(metric.instances))
            if name.startswith(_FACTS):
                self._keep_fact(name, metric.value)
        return nameless

    def _append(self, value: _Value, instances: int) -> None:
        self._kind.append(value[0])
        self._number.append(value[1])
        self._integer.append(value[2])
        self._text_id.append(value[3])
        self._instances.append(instances)

    def _complete(self, place: int, value: _Value, instances: int) -> None:
        if self._kind[place] == MetricKind.NONE:
            self._kind[place], self._number[place], self._integer[place], self._text_id[place] = value
        self._instances[place] = self._instances[place] or instances

    def _keep_fact(self, name: str, stored: Any) -> None:
        kind, number, integer, _ = self._value(stored)
        if kind != MetricKind.NONE:
            texts = {MetricKind.INTEGER: integer, MetricKind.FLOAT: number}
            self.facts[name] = texts[MetricKind(kind)] if kind in texts else text_of(stored.text)

    def _value(self, value: Any) -> _Value:
        if value.HasField("large") or value.HasField("small"):
            integer = value.large if value.HasField("large") else value.small
            return MetricKind.INTEGER, float(integer), integer, NO_ROW
        if value.HasField("double") or value.HasField("single"):
            number = value.double if value.HasField("double") else value.single
            # A quotient of nothing by nothing was not measured.
            if math.isfinite(number):
                return MetricKind.FLOAT, number, 0, NO_ROW
        elif value.HasField("text"):
            text_id = self._texts.add_bytes(value.text)
            return (MetricKind.TEXT if text_id != NO_ROW else MetricKind.NONE), math.nan, 0, text_id
        return MetricKind.NONE, math.nan, 0, NO_ROW

    def names(self) -> MetricNames:
        """Returns the names with their units."""
        return MetricNames(tuple(self._ids), tuple(map(unit_of, self._ids)))

    def table(self) -> MetricTable:
        """Returns the frozen table, ordered by launch and name."""
        launch_row, name_id = np.array(self._launch_row, np.int32), np.array(self._name_id, np.int32)
        order = np.lexsort((name_id, launch_row))
        return MetricTable(
            launch_row=launch_row[order],
            name_id=name_id[order],
            kind=np.array(self._kind, np.uint8)[order],
            number=np.array(self._number, np.float64)[order],
            integer=np.array(self._integer, np.uint64)[order],
            text_id=np.array(self._text_id, np.int32)[order],
            instances=np.array(self._instances, np.int32)[order],
        )


class Ranges:
    """NVTX ranges of all launches."""

    def __init__(self, texts: Texts) -> None:
        self._texts = texts
        self._rows: list[tuple[int, int, int, int, int]] = []

    def add_launch(self, launch_row: int, nvtx: Any) -> None:
        """Adds the ranges that were open at one launch, from a decoded ``Nvtx``."""
        domains = {each.id: self._domain(text_of(each.name)) for each in nvtx.domains}
        for thread in nvtx.threads:
            for stack in thread.stacks:
                for depth, each in enumerate(stack.ranges):
                    self._add(launch_row, each.name, domains.get(stack.domain, NO_ROW), thread.id, depth)
        for spans in nvtx.spans:
            for each in spans.ranges:
                self._add(launch_row, each.name, domains.get(spans.domain, NO_ROW), MISSING, NO_ROW)

    def _domain(self, name: str) -> int:
        return NO_ROW if name == "<default domain>" else self._texts.add(name)

    def _add(self, launch_row: int, name: bytes, domain_id: int, thread_id: int, depth: int) -> None:
        name_id = self._texts.add_bytes(name)
        self._rows.append((launch_row, name_id, domain_id, as_int64(thread_id), depth))

    def table(self) -> NvtxTable:
        """Returns the frozen table."""
        rows = np.array(self._rows, np.int64).reshape(len(self._rows), 5)
        return NvtxTable(
            launch_row=rows[:, 0].astype(np.int32),
            name_id=rows[:, 1].astype(np.int32),
            domain_id=rows[:, 2].astype(np.int32),
            thread_id=rows[:, 3].copy(),
            depth=rows[:, 4].astype(np.int32),
        )


class Frames:
    """Call stacks of all launches."""

    def __init__(self, texts: Texts) -> None:
        self._texts = texts
        self._rows: list[tuple[int, int, int, int, int]] = []
        self._addresses: list[int] = []

    def add_launch(self, launch_row: int, stack: Any) -> None:
        """Adds the frames of one launch, from a decoded ``CallStack``."""
        for frame in stack.frames:
            line = as_int64(frame.line) if frame.HasField("line") else MISSING
            texts = (self._texts.add_bytes(text) for text in (frame.symbol, frame.module, frame.file))
            self._rows.append((launch_row, *texts, line))  # type: ignore[arg-type]  # three texts
            self._addresses.append(frame.address)

    def table(self) -> CallFrameTable:
        """Returns the frozen table."""
        rows = np.array(self._rows, np.int64).reshape(len(self._rows), 5)
        return CallFrameTable(
            launch_row=rows[:, 0].astype(np.int32),
            symbol_id=rows[:, 1].astype(np.int32),
            module_id=rows[:, 2].astype(np.int32),
            file_id=rows[:, 3].astype(np.int32),
            line=rows[:, 4].copy(),
            address=np.array(self._addresses, np.uint64),
        )


def as_int64(value: int) -> int:
    """Returns an unsigned number for an int64 column; what does not fit counts as not recorded."""
    return value if value <= _MOST_INT64 else MISSING


def optional(message: Any, field: str) -> int:
    """Returns a number of a message for an int64 column, MISSING if it is absent."""
    return as_int64(getattr(message, field)) if message.HasField(field) else MISSING
