"""Tables of a section, filled with the values of a launch."""

from __future__ import annotations

from typing import TYPE_CHECKING

from core.analyses.report_view.expansion import expand, is_many
from core.analyses.report_view.parts import (
    Cell,
    LabelledCell,
    SourcePart,
    TableColumn,
    TablePart,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from core.analyses.report_view.launch import LaunchMetrics
    from core.tables.ncu_sections import SectionMetric, SectionTable, SuffixTable

_PAIR = (TableColumn(title="", is_label=True), TableColumn(title=""))


def table_part(table: SectionTable, launch: LaunchMetrics) -> TablePart | SourcePart:
    """Fills a table of labels and values; one of source lines keeps the metrics that it is about."""
    if table.per_source:
        return SourcePart(label=table.label, metrics=tuple(labelled(table.metrics, launch)))
    cells, left_out = [], 0
    for metric in table.metrics:
        option = metric.resolve(launch.compute_capability)
        many = option is not None and is_many(option.name)
        found = list(labelled((metric,), launch))
        kept = [each for each in found if each.cell.value is not None] if many else found
        left_out += len(found) - len(kept)
        cells += kept
    if table.by_value:
        cells.sort(key=by_value)
    return pairs_table(table.label, cells, table.columns or 1, table.by_column, left_out)


def labelled(metrics: Iterable[SectionMetric], launch: LaunchMetrics) -> Iterable[LabelledCell]:
    """Yields label and value of each metric that stands in a section on this device."""
    for metric in metrics:
        option = metric.resolve(launch.compute_capability)
        if option is None or not option.name:
            continue
        for words, name in expand(launch, option):
            # Values carry their unit.
            label = words.removesuffix(" [%]")
            yield LabelledCell(label=label, cell=launch.cell(name, metric.unit, metric.multiplier))


def by_value(labelled_cell: LabelledCell) -> tuple[bool, float]:
    """Orders by value, largest first; what has no number comes last."""
    value = labelled_cell.cell.value
    is_number = isinstance(value, int | float)
    return not is_number, -float(value) if isinstance(value, int | float) else 0.0


def pairs_table(
    label: str, cells: Sequence[LabelledCell], columns: int, by_column: bool, left_out: int = 0
) -> TablePart:
    """Folds labels and values into so many columns of both."""
    columns = max(1, min(columns, len(cells)))
    length = -(-len(cells) // columns)
    rows: list[tuple[Cell | None, ...]] = []
    for row in range(length):
        places = (row + column * length if by_column else row * columns + column for column in range(columns))
        pairs = (cells[place] if place < len(cells) else None for place in places)
        rows.append(tuple(cell for pair in pairs for cell in _both(pair)))
    return TablePart(
        label=label, columns=_PAIR * columns, rows=tuple(rows), note=_left_out(left_out, bool(cells))
    )


def _both(pair: LabelledCell | None) -> tuple[Cell | None, Cell | None]:
    if pair is None:
        return None, None
    return Cell(value=pair.label, help=pair.cell.help), pair.cell


def _left_out(count: int, has_rows: bool) -> str:
    if count:
        return f"{count} metric was not collected." if count == 1 else f"{count} metrics were not collected."
    return "" if has_rows else "Not collected."


def suffix_part(table: SuffixTable, launch: LaunchMetrics) -> TablePart:
    """Fills a table whose cells are named by row and column; rows without any metric are left out."""
    rows: list[tuple[Cell | None, ...]] = []
    left_out = 0
    for base in table.bases:
        if not base.filter.allows(launch.compute_capability):
            continue
        names = [base.name + suffix for suffix, _ in table.suffixes]
        if any(name in launch for name in names):
            rows.append((Cell(value=base.label), *(launch.cell(name) for name in names)))
        else:
            left_out += 1
    columns = (_PAIR[0], *(TableColumn(title=label) for _, label in table.suffixes))
    if left_out:
        words = "row was" if left_out == 1 else "rows were"
        note = f"{left_out} {words} not collected." if rows else "Not collected."
    else:
        note = "" if rows else "Nothing of it exists on this device."
    return TablePart(label=table.label, columns=columns, rows=tuple(rows), note=note)
