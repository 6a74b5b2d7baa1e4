"""The metrics of one launch by name, as cells: with their units, and with the reason where there is none."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

import numpy as np

from core.analyses.report_view.expressions import evaluate
from core.analyses.report_view.metric_words import describe
from core.analyses.report_view.parts import Cell
from core.tables.columns import NO_ROW
from core.tables.ncu import MetricKind
from core.tables.ncu_units import unit_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from core.tables.columns import Float64
    from core.tables.ncu import Instances, MetricValue, Report
    from core.tables.ncu_sections import MetricOption, SectionMetric

    InstanceReader = Callable[[int], Instances]
    """From a row of ``Report.metrics`` to its values by instance."""

NOT_COLLECTED: Final = "Not collected."
NO_VALUE: Final = "It was asked for and has no value for this launch."
_DEEPEST: Final = 4
# Called a percentage by its name and by the tool, defined as a plain quotient.
_FRACTIONS: Final = frozenset({"derived__smsp__inst_executed_op_branch_pct"})


class LaunchMetrics:
    """The metrics of one launch.

    Attributes:
        report, row: The report and the launch's row.
        compute_capability: Ten times it, None if the file does not say.
    """

    def __init__(self, report: Report, launch_row: int, read_instances: InstanceReader) -> None:
        """Takes a launch.

        Args:
            report: Its report.
            launch_row: Row of ``Report.launches``.
            read_instances: Asked only for metrics whose values by instance are shown.
        """
        self.report = report
        self.row = launch_row
        device = report.device_of(launch_row)
        self.compute_capability = device.compute_capability if device is not None else None
        self._read_instances = read_instances
        rows = report.metrics.rows_of(launch_row)
        texts = report.metric_names.texts
        ids = report.metrics.name_id[rows.start : rows.stop].tolist()
        self._rows = {texts[name_id]: row for name_id, row in zip(ids, rows, strict=True)}
        self._values = dict(zip(self._rows, stored_values(report, rows), strict=True))
        self._definitions: dict[str, str] | None = None

    def __iter__(self) -> Iterator[str]:
        """Iterates over the names of the metrics that were collected, also those without a value."""
        return iter(self._rows)

    def __contains__(self, name: str) -> bool:
        return name in self._rows

    def metric_row(self, name: str) -> int:
        """Returns the row of ``Report.metrics``, NO_ROW if it was not collected."""
        return self._rows.get(name, NO_ROW)

    def value(self, name: str) -> MetricValue:
        """Returns a value, None where it was not measured; what sections define is computed if not stored."""
        return self._value(name, 0)

    def _value(self, name: str, depth: int) -> MetricValue:
        stored = self._values.get(name)
        if stored is not None or depth > _DEEPEST:
            return stored
        expression = self._defined().get(name)
        if expression is None:
            return None
        return evaluate(expression, lambda operand: _number(self._value(operand, depth + 1)))

    def number(self, name: str) -> float | None:
        """Returns a value that is a number, None where there is none."""
        return _number(self.value(name))

    def text(self, name: str) -> str:
        """Returns a value that is a text, "" where there is none."""
        value = self.value(name)
        return value if isinstance(value, str) else ""

    def first(self, names: tuple[str, ...]) -> str:
        """Returns the first name that has a value, else the first that was collected, else the first."""
        valued = next((name for name in names if self.value(name) is not None), None)
        return valued or next((name for name in names if name in self._rows), names[0])

    def cell(self, name: str, unit: str = "", multiplier: float = 1.0) -> Cell:
        """Returns the cell of a metric; its help says what it is, or why it has no value."""
        value = self.value(name)
        if multiplier != 1.0 and isinstance(value, int | float):
            value = _finite(value * multiplier)
        help_text = describe(name)
        if value is None:
            why = NO_VALUE if name in self._rows else NOT_COLLECTED
            help_text = f"{why} {help_text}".strip()
        return Cell(value=value, unit=unit or self.unit(name), metric=name, help=help_text)

    def unit(self, name: str) -> str:
        """Returns the unit of a metric as it is stored, "" for none."""
        if name in _FRACTIONS:
            return ""
        name_id = self.report.metric_names.find(name)
        unit = unit_of(name) if name_id == NO_ROW else self.report.metric_names.units[name_id]
        if "__ops_" in name and (not unit or unit.startswith("1/")):
            return f"OP{unit.removeprefix('1')}"
        return unit

    def place(self, metric: SectionMetric) -> tuple[MetricOption, Cell] | None:
        """Returns what stands in a place of a section on this device, None if nothing does."""
        option = metric.resolve(self.compute_capability)
        if option is None or not option.name:
            return None
        return option, self.cell(option.name, metric.unit, metric.multiplier)

    def instances(self, name: str) -> Instances | None:
        """Decodes the values by instance of a metric, None if it has none."""
        row = self._rows.get(name)
        if row is None or not self.report.metrics.instances[row]:
            return None
        found = self._read_instances(row)
        return found if len(found) else None

    def numbers_by_key(self, name: str) -> tuple[Float64, Float64] | None:
        """Returns values by a numeric key, ordered by it: (n,) float64 keys and values; None for none."""
        found = self.instances(name)
        if found is None or found.key_texts:
            return None
        kept = np.flatnonzero(~np.isnan(found.number))
        keys = found.key[kept].astype(np.float64)
        order = np.argsort(keys, kind="stable")
        return (keys[order], found.number[kept][order]) if len(kept) else None

    def _defined(self) -> dict[str, str]:
        """Returns the expressions of the metrics that the launch's sections define."""
        if self._definitions is None:
            sections = (self.report.sections[row] for row in self.report.launch_sections[self.row])
            self._definitions = {
                name: expression
                for section in sections
                for name, expression, where in section.definitions
                if where.allows(self.compute_capability)
            }
        return self._definitions


def stored_values(report: Report, rows: range) -> list[MetricValue]:
    """Returns the values in rows of ``Report.metrics``, as ``Report.value_at`` does one by one."""
    table, strings = report.metrics, report.strings
    columns = (table.kind, table.number, table.integer, table.text_id)
    return [
        number
        if kind == MetricKind.FLOAT
        else integer
        if kind == MetricKind.INTEGER
        else strings[text_id]
        if kind == MetricKind.TEXT
        else None
        for kind, number, integer, text_id in zip(
            *(column[rows.start : rows.stop].tolist() for column in columns), strict=True
        )
    ]


def _number(value: MetricValue) -> float | None:
    return None if value is None or isinstance(value, str) else float(value)


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None
