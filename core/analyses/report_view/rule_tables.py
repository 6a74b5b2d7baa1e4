"""Tables that rules of a report add: instructions with most of a metric, metrics, and remarks on code.

A rule names metrics only; their values are looked up in the launch.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

import numpy as np

from core.analyses.report_view.launch import NOT_COLLECTED
from core.analyses.report_view.metric_words import describe, label_parts
from core.analyses.report_view.parts import Cell, TableColumn, TablePart

if TYPE_CHECKING:
    from collections.abc import Iterator

    from core.analyses.report_view.launch import LaunchMetrics
    from core.tables.columns import Float64
    from core.tables.ncu_rules import Rule, RuleTable, SourceMarker

MOST_ROWS: Final = 10
"""So many instructions or remarks are listed; how many more there are is said."""

_PATH: Final = re.compile(r"[\\/]+")


def rule_tables(rule: Rule, launch: LaunchMetrics) -> tuple[TablePart, ...]:
    """Fills the tables of a rule, and lists its remarks on instructions and lines."""
    filled = [
        _by_instruction(table, launch) if table.per_source else _values(table, launch)
        for table in rule.tables
    ]
    return (*filled, *_remarks(rule.markers))


def _values(table: RuleTable, launch: LaunchMetrics) -> TablePart:
    rows = tuple((Cell(value=_label(name)), launch.cell(name)) for name in table.metrics)
    return TablePart(
        label=table.label,
        columns=(TableColumn(title="Metric", is_label=True), TableColumn(title="Value")),
        rows=rows,
        note="" if rows else NOT_COLLECTED,
    )


def _by_instruction(table: RuleTable, launch: LaunchMetrics) -> TablePart:
    """Lists the instructions with most of the first metric, and their shares of its sum."""
    counted = {name: _by_address(name, launch) for name in table.metrics}
    first = next(iter(counted.values()), {})
    whole = sum(first.values())
    helps = {name: f"{name}\n{describe(name)}".strip() for name in counted}
    having = [address for address, value in first.items() if value > 0]
    order = sorted(having, key=lambda address: (-first[address], address))
    rows = tuple(
        (
            Cell(value=f"{address:#x}", help="Address of the instruction."),
            *(
                Cell(value=values.get(address), unit=launch.unit(name), help=helps[name])
                for name, values in counted.items()
            ),
            Cell(value=100.0 * first[address] / whole, unit="%", help="Of all instructions of the launch."),
        )
        for address in order[:MOST_ROWS]
    )
    # The label above the table says what the only value is.
    titles = ["Value"] if len(counted) == 1 and table.label else [_label(name) for name in counted]
    return TablePart(
        label=table.label,
        columns=(
            TableColumn(title="Instruction", is_label=True),
            *(TableColumn(title=title) for title in titles),
            TableColumn(title="Share"),
        ),
        rows=rows,
        note=_more(len(order), "instruction") if rows else _why_none(first),
    )


def _by_address(name: str, launch: LaunchMetrics) -> dict[int, float]:
    """Returns what was counted at each instruction; nothing for values that belong to something else."""
    found = launch.instances(name)
    if found is None or found.key_texts or found.is_time_series:
        return {}
    known = np.isfinite(found.number)
    values: Float64 = found.number[known]
    return dict(zip(found.key[known].tolist(), values.tolist(), strict=True))


def _why_none(counted: dict[int, float]) -> str:
    return "No instruction has any of it." if counted else NOT_COLLECTED


def _label(name: str) -> str:
    unit, words = label_parts(name)
    return f"{unit}: {words}" if unit else words or name


def _remarks(markers: tuple[SourceMarker, ...]) -> Iterator[TablePart]:
    """Lists remarks; those of one text come once, with the number of the places they are on."""
    places: dict[str, list[tuple[str, str]]] = {}
    for marker in markers:
        if marker.message:
            places.setdefault(marker.message, []).append(_place(marker))
    if not places:
        return
    rows = tuple(
        (Cell(value=text), Cell(value=_where([short for short, _ in of_text]), help=_whole(of_text)))
        for text, of_text in list(places.items())[:MOST_ROWS]
    )
    yield TablePart(
        label="Remarks on the code",
        columns=(TableColumn(title="Remark", is_label=True), TableColumn(title="Where", is_label=True)),
        rows=rows,
        note=_more(len(places), "remark"),
    )


def _place(marker: SourceMarker) -> tuple[str, str]:
    """Returns where a remark is, short and whole: file and line before the address, "" if it does not say."""
    line = "" if marker.line is None else f":{marker.line}"
    if marker.file:
        return f"{_PATH.split(marker.file)[-1]}{line}", f"{marker.file}{line}"
    if marker.address is not None:
        return f"{marker.address:#x}", f"{marker.address:#x}"
    return line.removeprefix(":"), line.removeprefix(":")


def _where(places: list[str]) -> str | None:
    first = places[0] or None
    return first if len(places) == 1 or first is None else f"{first} and {len(places) - 1:,} more"


def _whole(places: list[tuple[str, str]]) -> str:
    told = "\n".join(whole for _, whole in places[:MOST_ROWS])
    return told if len(places) <= MOST_ROWS else f"{told}\n{_more(len(places), 'place')}"


def _more(count: int, noun: str) -> str:
    left = count - MOST_ROWS
    return f"{left:,} more {noun}{'' if left == 1 else 's'}." if left > 0 else ""
