"""What a launch differs in from the baseline, metric by metric, as texts and numbers for widgets."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from core.units import MINUS, NO_BREAK_SPACE, format_fixed

if TYPE_CHECKING:
    from core.analyses.report_view.facts import Comparison, MetricDifference

NOT_COMPARABLE: Final = "not comparable"


class Differences:
    """Looks differences up by the vendor's name of a metric; knows none without a baseline."""

    def __init__(self, comparison: Comparison | None) -> None:
        rows = () if comparison is None else comparison.rows
        self._rows = {row.name: row for row in rows}

    def __bool__(self) -> bool:
        """Whether there is a baseline."""
        return bool(self._rows)

    def baseline(self, metric: str) -> float | None:
        """The baseline's value, None where there is none or it does not compare."""
        row = self._rows.get(metric)
        if row is None or row.reason or row.first is None or isinstance(row.first, str):
            return None
        return float(row.first)

    def words(self, metric: str) -> str:
        """The signed difference: points of percentages, else percent of the baseline; "" without one."""
        row = self._rows.get(metric)
        return "" if row is None else difference_words(row)

    def reason(self, metric: str) -> str:
        """Why two values do not compare, "" where they do."""
        row = self._rows.get(metric)
        return "" if row is None else row.reason


def difference_words(row: MetricDifference) -> str:
    """A signed difference: "+3.8" points of a percentage, else "+12.3 %" of the baseline."""
    if row.reason:
        return NOT_COMPARABLE
    if row.difference is None:
        return ""
    if row.difference == 0:
        return "\N{PLUS-MINUS SIGN}0"
    if row.unit == "%":
        return signed(row.difference, 1)
    if row.difference_pct is None:
        return "new" if row.difference > 0 else "gone"
    return f"{signed(row.difference_pct, 1)}{NO_BREAK_SPACE}%"


def signed(value: float, decimals: int) -> str:
    """A number with its sign, also where it is positive."""
    text = format_fixed(value, decimals)
    return text if text.startswith(MINUS) else f"+{text}"
