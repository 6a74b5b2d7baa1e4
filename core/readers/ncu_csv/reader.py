"""The way in: from a path to a ``Report``."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from core.errors import DashboardError
from core.files import printable
from core.readers.ncu_csv.devices import devices_of
from core.readers.ncu_csv.labels import metric_of_label
from core.readers.ncu_csv.numbers import Numbers, whole
from core.readers.ncu_csv.problems import Oddities
from core.readers.ncu_csv.records import (
    IDENTITY,
    KERNEL,
    METRIC_NAME,
    METRIC_UNIT,
    METRIC_VALUE,
    PUSH_POP,
    RULE_NAME,
    SECTION,
    START_STOP,
    Layout,
    Record,
    read_records,
)
from core.readers.ncu_csv.refusals import NO_PERMISSION, no_table_error, permission_error, summary_error
from core.readers.ncu_csv.rows import Metrics, PrintedRule, Ranges, Sections, shape
from core.readers.ncu_csv.text import CsvText, read_text
from core.readers.ncu_rows import Launches, Texts
from core.tables.columns import MISSING, NO_ROW
from core.tables.ncu import CallFrameTable, Report, ReportProcess, SessionFacts
from core.tables.ncu_terms import DURATION
from core.tables.ncu_units import base_unit

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from core.tables.ncu import MetricValue

_REPLACED: Final = "\N{REPLACEMENT CHARACTER}"
_LINES_PER_STEP: Final = 1_000
_MOST_INT64: Final = 2.0**63


def read_csv(path: Path, progress: Callable[[int, int], None] | None = None) -> Report:
    """Reads what ``ncu --csv`` printed.

    Args:
        path: The file; its name does not matter.
        progress: Called now and then with what is done and the whole, in bytes of both passes. What it
            raises ends the reading.

    Raises:
        DashboardError: It cannot be read, is too large, or holds no table of Nsight Compute.
    """
    try:
        text = read_text(path)
    except OSError as error:
        raise DashboardError(
            f"{printable(path.name)} cannot be read: {error.strerror or error}.",
            "Check the path and its permissions.",
        ) from error
    return _Reading(text, path, progress).read()


class _Reading:
    """One file while it is read: once for how it writes numbers, once for what they are."""

    def __init__(self, text: CsvText, path: Path, progress: Callable[[int, int], None] | None) -> None:
        self._text = text
        self._path = path
        self._progress = progress
        self._numbers = Numbers()
        self._oddities = Oddities()
        self._texts = Texts()
        self._launches = Launches()
        self._metrics = Metrics(self._texts)
        self._sections = Sections()
        self._ranges = Ranges(self._texts)
        self._processes: dict[ReportProcess, int] = {}
        self._device_cells: list[tuple[str, str]] = []
        self._launch_rows: dict[tuple[str, ...], int] = {}
        self._columns: list[tuple[int, int]] = []
        self._duration_at: int | None = None
        self._name_ids: list[int] = []
        self._has_units = False

    def read(self) -> Report:
        self._gather()
        for record in read_records(self._lines(is_second=True)):
            self._add(record)
        self._note()
        return self._report()

    def _lines(self, is_second: bool) -> Iterator[str]:
        done_bytes, total = len(self._text.data) if is_second else 0, 2 * len(self._text.data)
        for number, line in enumerate(self._text.lines(), 1):
            if is_second and _REPLACED in line:
                self._oddities.add("bad_text", number)
            yield line
            done_bytes += len(line) + 1
            if self._progress is not None and number % _LINES_PER_STEP == 0:
                self._progress(min(done_bytes, total), total)

    def _gather(self) -> None:
        """Finds whether there are tables, and how their numbers are written.

        Raises:
            DashboardError: There are none, or none of launches.
        """
        layouts, rows = [], 0
        denied = False
        for record in read_records(self._lines(is_second=False)):
            if record.kind == "header" and record.layout is not None:
                layouts.append(record.layout)
            elif record.kind == "error":
                denied = denied or NO_PERMISSION in record.text
            elif record.kind == "row" and record.layout is not None and record.cells is not None:
                rows += 1
                self._numbers.gather(_value_cells(record.layout, record.cells))
        self._numbers.settle()
        if not layouts:
            raise no_table_error(self._path, self._text.lines())
        if denied and not rows:
            raise permission_error(printable(self._path.name))
        if all(layout.is_summary for layout in layouts):
            raise summary_error(printable(self._path.name))

    def _add(self, record: Record) -> None:
        layout, cells = record.layout, record.cells
        if record.kind in ("error", "warning"):
            self._oddities.add(f"tool_{record.kind}", record.line, printable(record.text))
        elif record.kind == "refused":
            self._oddities.add("misaligned_row", record.line)
        elif layout is None or cells is None or layout.is_summary:
            return
        elif record.kind == "header":
            self._launch_rows.clear()
            self._set_columns(layout, [])
            self._has_units = layout.is_long
        elif record.kind == "units":
            self._set_columns(layout, cells)
            self._has_units = True
        elif layout.is_long:
            self._add_long(layout, cells, record.line)
        else:
            self._add_wide(layout, cells, record.line)

    def _set_columns(self, layout: Layout, units: list[str]) -> None:
        """Notes the place, the power of ten and the name of each metric of a raw page."""
        self._columns, self._name_ids, self._duration_at = [], [], None
        for place in layout.metric_places if not layout.is_long else ():
            unit, exponent = base_unit(units[place]) if units else ("", 0)
            if layout.columns[place] == DURATION:
                self._duration_at = len(self._columns)
            self._columns.append((place, exponent))
            self._name_ids.append(self._metrics.name_id(layout.columns[place], unit))

    def _add_wide(self, layout: Layout, cells: list[str], line: int) -> None:
        if not self._has_units:
            self._oddities.add("no_units", line)
            self._has_units = True
        launch_row = self._add_launch(layout, cells)
        read = self._numbers.read
        values = [read(cells[place], exponent) for place, exponent in self._columns]
        if None in values:
            for value, (place, exponent) in zip(values, self._columns, strict=True):
                self._note_absent(value, cells[place], exponent, line)
        if self._duration_at is not None:
            values[self._duration_at] = self._possible(values[self._duration_at], line)
        self._metrics.add(launch_row, self._name_ids, values)

    def _note_absent(self, value: MetricValue, cell: str, exponent: int, line: int) -> None:
        """Counts a cell that holds a number which cannot be taken."""
        code = self._numbers.why_absent(cell, exponent) if value is None else None
        if code is not None:
            self._oddities.add(code, line)

    def _possible(self, duration: MetricValue, line: int) -> MetricValue:
        """Returns a duration, None and a count for one below 0."""
        if isinstance(duration, int | float) and duration < 0:
            self._oddities.add("negative_duration", line)
            return None
        return duration

    def _add_long(self, layout: Layout, cells: list[str], line: int) -> None:
        key = tuple(layout.cell(cells, name) for name in IDENTITY)
        launch_row = self._launch_rows.get(key)
        if launch_row is None:
            launch_row = self._launch_rows[key] = self._add_launch(layout, cells)
        section, label = layout.cell(cells, SECTION), layout.cell(cells, METRIC_NAME)
        if label:
            unit, exponent = base_unit(layout.cell(cells, METRIC_UNIT))
            name = metric_of_label(section, label, unit)
            name_id = self._metrics.name_id(name, unit)
            cell = layout.cell(cells, METRIC_VALUE)
            value = self._numbers.read(cell, exponent)
            self._note_absent(value, cell, exponent, line)
            if name == DURATION:
                value = self._possible(value, line)
            self._metrics.add(launch_row, (name_id,), (value,))
            self._sections.add_metric(launch_row, section, name, label)
        rule_name = layout.cell(cells, RULE_NAME)
        if rule_name:
            printed = PrintedRule(
                section=section,
                name=rule_name,
                kind=layout.cell(cells, "Rule Type"),
                text=layout.cell(cells, "Rule Description"),
                speedup_scope=layout.cell(cells, "Estimated Speedup Type"),
                speedup_pct=self._numbers.read(layout.cell(cells, "Estimated Speedup")),
            )
            self._sections.add_rule(launch_row, printed.decoded())

    def _add_launch(self, layout: Layout, cells: list[str]) -> int:
        launch_row = len(self._launches)
        process = ReportProcess(
            id=whole(layout.cell(cells, "Process ID")),
            name=layout.cell(cells, "Process Name") or None,
            host=layout.cell(cells, "Host Name") or None,
        )
        is_known = process != ReportProcess(id=None)
        context, stream = whole(layout.cell(cells, "Context")), whole(layout.cell(cells, "Stream"))
        self._launches.rows.append(
            _NO_LAUNCH
            | {
                "name_id": self._texts.add(layout.cell(cells, KERNEL) or "range"),
                "grid": shape(layout.cell(cells, "Grid Size")),
                "block": shape(layout.cell(cells, "Block Size")),
                "process_row": self._processes.setdefault(process, len(self._processes))
                if is_known
                else NO_ROW,
                "context": MISSING if context is None else context,
                "stream": MISSING if stream is None else stream,
            }
        )
        self._device_cells.append((layout.cell(cells, "Device"), layout.cell(cells, "CC")))
        for name, place in layout.places.items():
            if place < len(cells) and (PUSH_POP in name or START_STOP in name):
                self._ranges.add(launch_row, cells[place], is_stack=PUSH_POP in name)
        return launch_row

    def _note(self) -> None:
        """Counts what is true of the whole file."""
        if self._text.is_cut:
            self._oddities.add("cut_file")
        if self._numbers.is_doubtful:
            self._oddities.add("doubtful_numbers")
        if not len(self._launches):
            self._oddities.add("no_results")

    def _report(self) -> Report:
        metrics, repeated = self._metrics.table()
        if repeated:
            self._oddities.add("repeated_metric", count=repeated)
        count = len(self._launches)
        report = Report(
            kind="ncu_csv",
            name=self._path.name,
            strings=self._texts.table(),
            launches=self._launches.table(),
            metric_names=self._metrics.names(),
            metrics=metrics,
            nvtx=self._ranges.table(),
            call_frames=_no_frames(),
            sections=self._sections.table(),
            launch_sections=self._sections.of_launches(count),
            rules=self._sections.rules(count),
            sources=(),
            devices=(),
            processes=tuple(self._processes),
            session=SessionFacts(),
            problems=(),
        )
        durations_ns = _durations_ns(report)
        without = int(np.count_nonzero(durations_ns == MISSING)) - self._oddities.count("negative_duration")
        if without > 0:
            self._oddities.add("no_duration", count=without)
        devices, device_row = devices_of(report, self._device_cells)
        return replace(
            report,
            launches=replace(report.launches, duration_ns=durations_ns, device_row=device_row),
            devices=devices,
            problems=self._oddities.problems(),
        )


_NO_LAUNCH: Final[dict[str, Any]] = {
    "function_name_id": NO_ROW,
    "mangled_name_id": NO_ROW,
    "duration_ns": MISSING,
    "created_ns": MISSING,
    "device_row": NO_ROW,
    "thread_id": MISSING,
    "api_call_id": MISSING,
    "source_reference": MISSING,
    "comment_id": NO_ROW,
    "raw_begin": MISSING,
    "raw_bytes": MISSING,
}
"""What a CSV does not say of a launch. Its "ID" counts results: it is not the number of the call."""


def _value_cells(layout: Layout, cells: list[str]) -> list[str]:
    """Returns the cells of a row that hold values: never those that identify a launch, such as "9.0"."""
    if layout.is_long:
        return [layout.cell(cells, METRIC_VALUE), layout.cell(cells, "Estimated Speedup")]
    return [cells[place] for place in layout.metric_places]


def _durations_ns(report: Report) -> Any:
    """Returns (launches,) int64, MISSING where there is no duration, or one in another unit than time."""
    names = report.metric_names
    name_id = names.find(DURATION)
    values = report.column(DURATION)
    is_time = name_id != NO_ROW and names.units[name_id] == "ns"
    known = np.isfinite(values) & (np.abs(values) < _MOST_INT64) & is_time
    return np.where(known, np.rint(np.where(known, values, 0)).astype(np.int64), MISSING)


def _no_frames() -> CallFrameTable:
    none = np.empty(0, np.int32)
    return CallFrameTable(
        launch_row=none,
        symbol_id=none,
        module_id=none,
        file_id=none,
        line=np.empty(0, np.int64),
        address=np.empty(0, np.uint64),
    )
