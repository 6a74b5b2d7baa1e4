"""Counters of launches by name, as columns: of one launch or of all, so that a formula is written once.

Whatever was not measured is NaN, and a formula keeps it so: a sum of which a part
is missing is missing. 0 is a value.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from core.tables.columns import MISSING

if TYPE_CHECKING:
    from core.tables.columns import Bool, Float64
    from core.tables.ncu import Report

_NS_PER_S: Final = 1e9
MOST_COUNTED: Final = 1e60
"""What is larger is damage, not a count; products of a few numbers below it stay finite."""

_MOST_FIGURE: Final = 1e120


class Counters:
    """Numbers of launches by the name of the metric.

    Attributes:
        compute_capability: (n,) float64, ten times it, NaN where not known.
        duration_s: (n,) float64.
    """

    def __init__(self, report: Report, launch_row: int | None = None) -> None:
        """Takes one launch, or all for None."""
        self._report = report
        self._row = launch_row
        self._known: dict[str, Float64] = {}
        rows = range(len(report.launches)) if launch_row is None else [launch_row]
        capabilities = [None if device is None else device.compute_capability for device in report.devices]
        of_row = np.array([*capabilities, None], np.float64)
        device_rows = report.launches.device_row[list(rows)]
        self.compute_capability: Float64 = of_row[device_rows]
        durations_ns = report.launches.duration_ns[list(rows)]
        self.duration_s: Float64 = np.where(durations_ns == MISSING, np.nan, durations_ns / _NS_PER_S)

    def __len__(self) -> int:
        return len(self.duration_s)

    @property
    def names(self) -> tuple[str, ...]:
        """Of all metrics that occur in the report."""
        return self._report.metric_names.texts

    def number(self, name: str) -> Float64:
        """Returns a metric: (n,) float64, read-only; NaN also for a text."""
        found = self._known.get(name)
        if found is None:
            found = self._known[name] = self._read(name)
            found.flags.writeable = False
        return found

    def first(self, *choices: tuple[float, str]) -> Float64:
        """Returns, launch by launch, the first metric that was measured, times its factor."""
        found = self.nothing()
        for factor, name in choices:
            found = either(found, self.number(name) * factor)
        return found

    def nothing(self) -> Float64:
        """Returns NaN for each launch."""
        return np.full(len(self), np.nan)

    def _read(self, name: str) -> Float64:
        if self._row is None:
            values = self._report.column(name)
        else:
            value = self._report.metric(self._row, name)
            values = np.array([np.nan if value is None or isinstance(value, str) else float(value)])
        return np.where(np.abs(values) <= MOST_COUNTED, values, np.nan)


def either(first: Float64, second: Float64) -> Float64:
    """Returns the first where it was measured, else the second."""
    return np.where(np.isnan(first), second, first)


def quotient(first: Float64, second: Float64, *, zero_is_work: bool = False) -> Float64:
    """Divides; NaN where nothing was measured, by 0, of 0 unless that is a value, and beyond all figures."""
    divides: Bool = (second != 0) & ~np.isnan(second) & ((first != 0) | zero_is_work)
    with np.errstate(over="ignore"):
        found = np.divide(first, second, out=np.full(len(first), np.nan), where=divides)
    return np.where(np.abs(found) < _MOST_FIGURE, found, np.nan)
