"""Parts of a section as result tables, so that each can be copied and exported as any table is."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import numpy as np

from core.analyses.answer_columns import number_column, own_text_column
from core.analyses.report_view.parts import BarPart, LinePart, RooflinePart, TablePart, TimelinePart
from core.files import printable
from core.tables.result import ResultTable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from core.analyses.report_view.parts import Cell
    from core.tables.result import Column

ExportedPart = TablePart | BarPart | LinePart | RooflinePart | TimelinePart
"""Parts that hold values."""


def table_of(part: ExportedPart, name: str) -> ResultTable:
    """Returns the values of a part, exact, with their units.

    Args:
        part: What is shown.
        name: For programs: what the file is called.
    """
    if isinstance(part, TablePart):
        columns = _cells_of(part)
    elif isinstance(part, BarPart):
        columns = _labelled([(bar.label, bar.cell) for bar in part.bars])
    elif isinstance(part, LinePart):
        columns = _lines(part)
    elif isinstance(part, RooflinePart):
        columns = _roofline(part)
    else:
        columns = _samples(part)
    title = printable(part.label) or "Values"
    notes = (part.note,) if part.note else ()
    return ResultTable(name=name, title=title, columns=tuple(columns), notes=notes, empty=part.note)


def _cells_of(part: TablePart) -> list[Column]:
    if not any(column.title for column in part.columns):
        return _labelled(_pairs(part))
    columns: list[Column] = []
    taken: set[str] = set()
    for place, column in enumerate(part.columns):
        cells = [row[place] for row in part.rows]
        units = {cell.unit for cell in cells if cell is not None and cell.unit}
        unit = units.pop() if len(units) == 1 else ""
        title = printable(column.title) or f"Column {place + 1}"
        key = _key(f"{title} {unit}", taken)
        if column.is_label or any(cell is not None and isinstance(cell.value, str) for cell in cells):
            columns.append(own_text_column(key, title, title, [_text(cell) or None for cell in cells]))
        else:
            header = f"{title}, {unit}" if unit else title
            values = np.array([_number(cell) for cell in cells], np.float64)
            columns.append(number_column(key, header, "", header, values))
    return columns


def _pairs(part: TablePart) -> list[tuple[str, Cell]]:
    """Labels and values of a list without a header, in the order of reading."""
    pairs: list[tuple[str, Cell]] = []
    for row in part.rows:
        label = ""
        for column, cell in zip(part.columns, row, strict=True):
            if cell is not None and column.is_label:
                label = _text(cell)
            elif cell is not None:
                pairs.append((label, cell))
    return pairs


def _labelled(pairs: Sequence[tuple[str, Cell]]) -> list[Column]:
    return [
        own_text_column("label", "Label", "What it is", _present([printable(label) for label, _ in pairs])),
        number_column(
            "value", "Value", "", "In base units", np.array([_number(cell) for _, cell in pairs], np.float64)
        ),
        own_text_column(
            "text",
            "Text",
            "The value of what is no number",
            _present([cell.value if isinstance(cell.value, str) else "" for _, cell in pairs]),
        ),
        own_text_column("unit", "Unit", "Of the value", _present([cell.unit for _, cell in pairs])),
        own_text_column(
            "metric", "Metric", "The vendor's name", _present([cell.metric for _, cell in pairs])
        ),
    ]


def _lines(part: LinePart) -> list[Column]:
    along = printable(part.category.label) or "x"
    value = printable(part.value.label) or "value"
    labels = [line.label for line in part.series for _ in range(len(line.xs))]
    return [
        own_text_column("series", "Series", "Which line", _present([printable(label) for label in labels])),
        number_column("x", along, "", along, _joined([line.xs for line in part.series])),
        number_column("y", value, "", value, _joined([line.ys for line in part.series])),
    ]


def _roofline(part: RooflinePart) -> list[Column]:
    rows = [
        ("roof", roof.label, None, roof.peak_flop_per_s, roof.peak_bytes_per_s) for roof in part.roofs
    ] + [("point", point.label, point.intensity, point.flop_per_s, None) for point in part.points]

    def numbers(place: int) -> np.ndarray:
        return np.array([np.nan if row[place] is None else row[place] for row in rows], np.float64)

    return [
        own_text_column(
            "kind", "Kind", "A ceiling, or what the launch achieved", _present([row[0] for row in rows])
        ),
        own_text_column(
            "label", "Label", "As the report calls it", _present([printable(row[1]) for row in rows])
        ),
        number_column("flop_per_byte", "Intensity", "flop_per_byte", "Of a point", numbers(2)),
        number_column("flop_per_s", "Work", "flop_per_s", "Peak or achieved", numbers(3)),
        number_column("bytes_per_s", "Traffic", "bytes_per_s", "Peak", numbers(4)),
    ]


def _samples(part: TimelinePart) -> list[Column]:
    series = [(row, each) for row in part.rows for each in row.series]
    counts = [len(each.times_ns) for _, each in series]

    def repeated(texts: Sequence[str]) -> list[str]:
        return [printable(text) for text, count in zip(texts, counts, strict=True) for _ in range(count)]

    times = _joined([each.times_ns.astype(np.float64) for _, each in series])
    return [
        own_text_column(
            "row", "Row", "Of the timeline", _present(repeated([row.label for row, _ in series]))
        ),
        own_text_column(
            "metric", "Metric", "The vendor's name", _present(repeated([each.metric for _, each in series]))
        ),
        number_column("time_ns", "Time", "ns", "Since the first sample", times),
        number_column("value", "Value", "", "In the unit", _joined([each.values for _, each in series])),
        own_text_column(
            "unit", "Unit", "Of the value", _present(repeated([each.unit for _, each in series]))
        ),
    ]


def _present(texts: Sequence[str]) -> list[str | None]:
    """An empty text is a missing one."""
    return [text or None for text in texts]


def _joined(parts: Sequence[np.ndarray]) -> np.ndarray:
    return np.concatenate(parts) if parts else np.empty(0, np.float64)


def _text(cell: Cell | None) -> str:
    return "" if cell is None or cell.value is None else printable(str(cell.value))


def _number(cell: Cell | None) -> float:
    if cell is None or cell.value is None or isinstance(cell.value, str):
        return float("nan")
    return float(cell.value)


def _key(words: str, taken: set[str]) -> str:
    base = re.sub(r"[^a-z0-9]+", "_", words.replace("%", "pct").casefold()).strip("_") or "column"
    key, number = base, 2
    while key in taken:
        key, number = f"{base}_{number}", number + 1
    taken.add(key)
    return key
