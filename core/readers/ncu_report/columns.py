"""Columns of a report while they grow: metrics, NVTX ranges, frames.

The lists here become the frozen tables of ``core.tables.ncu``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import NDArray

from core.readers.ncu_report.schema import text_of
from core.readers.ncu_rows import Texts
from core.tables.columns import MISSING, NO_ROW, Float64, Int32, Uint8
from core.tables.ncu import (
    CallFrameTable,
    MetricKind,
    MetricNames,
    MetricTable,
    NvtxTable,
)
from core.tables.ncu_units import unit_of

if TYPE_CHECKING:
    from core.tables.ncu import MetricValue

_MOST_INT64: Final = 2**63 - 1
_KINDS: Final = {
    None: MetricKind.NONE,
    "text": MetricKind.TEXT,
    "single": MetricKind.FLOAT,
    "double": MetricKind.FLOAT,
    "small": MetricKind.INTEGER,
    "large": MetricKind.INTEGER,
}
_FACTS: Final = ("gpu__time_duration.sum", "launch__grid_size", "launch__device", "device__attribute_")

_Part = tuple[Int32, Int32, Uint8, Float64, NDArray[np.uint64], Int32, Int32]
"""The columns of ``MetricTable`` for one launch."""

_NO_METRICS: Final[_Part] = (
    np.empty(0, np.int32),
    np.empty(0, np.int32),
    np.empty(0, np.uint8),
    np.empty(0, np.float64),
    np.empty(0, np.uint64),
    np.empty(0, np.int32),
    np.empty(0, np.int32),
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
        self._id_of_stored: list[int] = []
        self._fact_names: dict[int, str] = {}
        self._parts: list[_Part] = []

    def add_names(self, names: list[str]) -> None:
        """Adds the next part of the report's table of strings, by which metrics are named."""
        for name in names:
            name_id = self._ids.setdefault(name, len(self._ids))
            self._id_of_stored.append(name_id)
            if name.startswith(_FACTS):
                self._fact_names[name_id] = name

    def add_launch(self, launch_row: int, metrics: Any) -> int:
        """Adds the metrics of one launch, decoded ``Metric`` messages.

        Returns:
            How many were left out because their name is not in the table of strings so far.
        """
        self.facts = {}
        limit = len(self._id_of_stored)
        known, stored_ids = list(metrics), [metric.name for metric in metrics]
        if max(stored_ids, default=0) >= limit:
            known = [metric for metric, place in zip(known, stored_ids, strict=True) if place < limit]
            stored_ids = [place for place in stored_ids if place < limit]
        nameless = len(metrics) - len(known)
        ids = [self._id_of_stored[place] for place in stored_ids]
        if len(set(ids)) < len(ids):
            known, ids = _first_of_each(known, ids)
        # Each access to a field makes an object: no field is asked for twice.
        values = [metric.value for metric in known]
        fields = [value.WhichOneof("kind") for value in values]
        stored = [field and getattr(value, field) for value, field in zip(values, fields, strict=True)]
        for name_id, value in zip(ids, stored, strict=True):
            if name_id in self._fact_names and value is not None:
                self.facts[self._fact_names[name_id]] = text_of(value) if isinstance(value, bytes) else value
        kind = np.array([_KINDS[field] for field in fields], np.uint8)
        self._parts.append(self._part(launch_row, ids, kind, stored, [len(each.instances) for each in known]))
        return nameless

    def _part(
        self, launch_row: int, ids: list[int], kind: Uint8, stored: list[Any], instances: list[int]
    ) -> _Part:
        number, integer = np.full(len(ids), np.nan), np.zeros(len(ids), np.uint64)
        text_id = np.full(len(ids), NO_ROW, np.int32)
        rows = np.flatnonzero(kind == MetricKind.FLOAT)
        number[rows] = [stored[row] for row in rows]
        # A quotient of nothing by nothing was not measured.
        number[np.isinf(number)] = np.nan
        kind[rows[np.isnan(number[rows])]] = MetricKind.NONE
        rows = np.flatnonzero(kind == MetricKind.INTEGER)
        integer[rows] = [stored[row] for row in rows]
        number[rows] = integer[rows]
        rows = np.flatnonzero(kind == MetricKind.TEXT)
        text_id[rows] = [self._texts.add_bytes(stored[row]) for row in rows]
        kind[rows[text_id[rows] == NO_ROW]] = MetricKind.NONE
        name_id = np.array(ids, np.int32)
        order = np.argsort(name_id)
        launch = np.full(len(ids), launch_row, np.int32)
        counts = np.array(instances, np.int32)
        return (
            launch,
            name_id[order],
            kind[order],
            number[order],
            integer[order],
            text_id[order],
            counts[order],
        )

    def names(self) -> MetricNames:
        """Returns the names with their units."""
        return MetricNames(tuple(self._ids), tuple(map(unit_of, self._ids)))

    def stored_names(self) -> tuple[str, ...]:
        """Returns the names by the numbers that results give them; one that is stored twice has two."""
        names = tuple(self._ids)
        return tuple(names[name_id] for name_id in self._id_of_stored)

    def table(self) -> MetricTable:
        """Returns the frozen table, ordered by launch and name."""
        columns = [np.concatenate(column) for column in zip(_NO_METRICS, *self._parts, strict=True)]
        return MetricTable(*columns)


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


def _first_of_each(metrics: list[Any], ids: list[int]) -> tuple[list[Any], list[int]]:
    """Leaves one metric of each name: the first one that has a value, else the first."""
    kept: dict[int, Any] = {}
    for name_id, metric in zip(ids, metrics, strict=True):
        first = kept.setdefault(name_id, metric)
        if not first.HasField("value") and metric.HasField("value"):
            kept[name_id] = metric
    return list(kept.values()), list(kept)


def as_int64(value: int) -> int:
    """Returns an unsigned number for an int64 column; what does not fit counts as not recorded."""
    return value if value <= _MOST_INT64 else MISSING


def optional(message: Any, field: str) -> int:
    """Returns a number of a message for an int64 column, MISSING if it is absent."""
    return as_int64(getattr(message, field)) if message.HasField(field) else MISSING
