"""Columns of a CSV while they grow: metrics, sections, rules, NVTX ranges, processes."""

from __future__ import annotations

import re
from array import array
from functools import lru_cache
from itertools import repeat
from typing import TYPE_CHECKING, Final, Literal, NamedTuple

import numpy as np

from core.errors import DashboardError
from core.readers.ncu_csv.labels import section_identifier
from core.readers.ncu_csv.numbers import whole
from core.tables.columns import MISSING, NO_ROW
from core.tables.ncu import MetricKind, MetricNames, MetricTable, NvtxTable
from core.tables.ncu_rules import Rule, RuleMessage
from core.tables.ncu_sections import MetricOption, Section, SectionMetric
from core.tables.ncu_units import unit_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from core.readers.ncu_rows import Texts
    from core.tables.ncu import MetricValue

MOST_VALUES: Final = 10_000_000
"""So many values are kept of a file: five thousand launches with all metrics."""

_KIND_OF: Final[dict[type, int]] = {
    type(None): MetricKind.NONE,
    float: MetricKind.FLOAT,
    int: MetricKind.INTEGER,
    str: MetricKind.TEXT,
}
_SAME: Final = 0.01
"""Values of one metric that differ by less, as a share, are one value printed in two scales."""

_KINDS: Final[dict[str, Literal["info", "warning", "error", "optimization"]]] = {
    "INF": "info",
    "WRN": "warning",
    "ERR": "error",
    "OPT": "optimization",
}
_SCOPES: Final[dict[str, Literal["local", "global"]]] = {"local": "local", "global": "global"}
_RANGE: Final = re.compile(r'"([^"]*)"')
_NUMBERED: Final = re.compile(r"^\s*\d+:")
_RANGE_FIELDS: Final = 6
"""Behind the name of a range: kinds and values of its payload, its colour and its message."""

_SIDE: Final = re.compile(r"\d{1,3}(?:[.,'\s]\d{3})+|\d+")


class Metrics:
    """The metrics of all launches, in any order."""

    def __init__(self, texts: Texts) -> None:
        self._texts = texts
        self._ids: dict[str, int] = {}
        self._units: list[str | None] = []
        self._launch_row = array("i")
        self._name_id = array("i")
        self._kind = array("B")
        self._number = array("d")
        self._integer = array("Q")
        self._text_id = array("i")

    def name_id(self, name: str, unit: str) -> int:
        """Returns the id of a metric.

        Args:
            name: Of the metric.
            unit: Base unit, "" where the file does not say. One name in two units makes two metrics, the
                second with its unit in its name.
        """
        known = self._ids.get(name)
        if known is None:
            self._ids[name] = len(self._units)
            self._units.append(unit or None)
            return len(self._units) - 1
        if unit and self._units[known] is None:
            self._units[known] = unit
        if not unit or self._units[known] == unit:
            return known
        return self.name_id(f"{name} [{unit}]", unit)

    def add(self, launch_row: int, name_ids: Sequence[int], values: Sequence[MetricValue]) -> None:
        """Adds values of one launch, each of the metric in its place.

        Raises:
            DashboardError: There are more than ``MOST_VALUES``.
        """
        add_text, none = self._texts.add, float("nan")
        self._launch_row.extend(repeat(launch_row, len(values)))
        self._name_id.extend(name_ids)
        self._kind.extend([_KIND_OF[type(value)] for value in values])
        self._number.extend([none if value is None or isinstance(value, str) else value for value in values])
        self._integer.extend([value if isinstance(value, int) else 0 for value in values])
        self._text_id.extend([add_text(value) if isinstance(value, str) else NO_ROW for value in values])
        if len(self._kind) > MOST_VALUES:
            raise DashboardError(
                f"The file holds more than {MOST_VALUES:,} values.",
                "Export fewer metrics (--metrics) or fewer launches.",
            )

    def names(self) -> MetricNames:
        """Returns the names; units that the file does not give follow from them."""
        units = [
            unit_of(name) if unit is None else unit for name, unit in zip(self._ids, self._units, strict=True)
        ]
        return MetricNames(tuple(self._ids), tuple(units))

    def table(self) -> tuple[MetricTable, int]:
        """Returns the table, and how many values were left out because another one stands for them.

        Of a metric that occurs twice in a launch the first with a value is kept.
        """
        launch_row = np.array(self._launch_row, np.int32)
        name_id = np.array(self._name_id, np.int32)
        kind = np.array(self._kind, np.uint8)
        number = np.array(self._number, np.float64)
        text_id = np.array(self._text_id, np.int32)
        order = np.lexsort((kind == MetricKind.NONE, name_id, launch_row))
        keys = (launch_row.astype(np.int64) << 32 | name_id)[order]
        is_first = np.ones(len(keys), bool)
        is_first[1:] = keys[1:] != keys[:-1]
        kept = order[is_first]
        table = MetricTable(
            launch_row=launch_row[kept],
            name_id=name_id[kept],
            kind=kind[kept],
            number=number[kept],
            integer=np.array(self._integer, np.uint64)[kept],
            text_id=text_id[kept],
            instances=np.zeros(len(kept), np.int32),
        )
        stands_for = kept[np.cumsum(is_first) - 1][~is_first]
        other = order[~is_first]
        same = np.isclose(number[other], number[stands_for], rtol=_SAME, atol=0, equal_nan=True)
        differs = (kind[other] != MetricKind.NONE) & ~(same & (text_id[other] == text_id[stands_for]))
        return table, int(np.count_nonzero(differs))


class Sections:
    """The sections of the details page, with what was printed in them, and what rules said."""

    def __init__(self) -> None:
        self._rows: dict[str, dict[str, SectionMetric]] = {}
        self._of_launch: dict[int, dict[str, None]] = {}
        self._rules: dict[int, list[Rule]] = {}

    def add_metric(self, launch_row: int, title: str, name: str, label: str) -> None:
        """Adds a metric to a section, which is then one of the launch."""
        if title:
            metric = SectionMetric(options=(MetricOption(name=name, label=label),))
            self._rows.setdefault(title, {}).setdefault(name, metric)
            self._of_launch.setdefault(launch_row, {})[title] = None

    def add_rule(self, launch_row: int, rule: Rule) -> None:
        """Adds what a rule said; messages of one rule in a row are one."""
        rules = self._rules.setdefault(launch_row, [])
        if rules and (rules[-1].identifier, rules[-1].section) == (rule.identifier, rule.section):
            last = rules.pop()
            rule = Rule(
                identifier=rule.identifier,
                name=rule.name,
                section=rule.section,
                messages=(*last.messages, *rule.messages),
                speedup_pct=last.speedup_pct if rule.speedup_pct is None else rule.speedup_pct,
                speedup_scope=rule.speedup_scope or last.speedup_scope,
            )
        rules.append(rule)

    def table(self) -> tuple[Section, ...]:
        """Returns the sections, in the order of the file."""
        return tuple(
            Section(
                identifier=section_identifier(title), title=title, order=place, header=tuple(metrics.values())
            )
            for place, (title, metrics) in enumerate(self._rows.items())
        )

    def of_launches(self, count: int) -> tuple[tuple[int, ...], ...]:
        """Returns the sections of each launch."""
        places = {title: place for place, title in enumerate(self._rows)}
        shown = ({places[title] for title in self._of_launch.get(row, ())} for row in range(count))
        return tuple(tuple(sorted(rows)) for rows in shown)

    def rules(self, count: int) -> tuple[tuple[Rule, ...], ...]:
        """Returns the rules of each launch."""
        return tuple(tuple(self._rules.get(row, ())) for row in range(count))


class Ranges:
    """NVTX ranges of all launches."""

    def __init__(self, texts: Texts) -> None:
        self._texts = texts
        self._rows: list[tuple[int, int, int, int, int]] = []

    def add(self, launch_row: int, cell: str, is_stack: bool) -> None:
        """Adds the ranges that a cell lists.

        Args:
            launch_row: They were open at this launch.
            cell: As printed: a stack as ``1  "<default domain>:train:none:..."``, by its thread; other
                ranges with their number before the domain.
            is_stack: Whether they lie in one another, outermost first.
        """
        thread_id = whole(cell.partition('"')[0]) if is_stack else None
        depths: dict[str, int] = {}
        for text in _RANGE.findall(cell) or [cell]:
            domain, _, rest = (text if is_stack else _NUMBERED.sub("", text)).partition(":")
            name = ":".join(rest.split(":")[:-_RANGE_FIELDS]) or rest.partition(":")[0]
            if not name:
                continue
            depth = depths[domain] = depths.get(domain, -1) + 1
            domain_id = NO_ROW if domain == "<default domain>" else self._texts.add(domain)
            self._rows.append(
                (
                    launch_row,
                    self._texts.add(name),
                    domain_id,
                    MISSING if thread_id is None else thread_id,
                    depth if is_stack else NO_ROW,
                )
            )

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


class PrintedRule(NamedTuple):
    """The cells of a rule, as printed."""

    section: str
    name: str
    kind: str
    text: str
    speedup_scope: str
    speedup_pct: MetricValue

    def decoded(self) -> Rule:
        """Returns what the rule said."""
        speedup = self.speedup_pct
        message = RuleMessage(kind=_KINDS.get(self.kind.upper(), "note"), title="", text=self.text)
        return Rule(
            identifier=self.name,
            name=self.name,
            section=section_identifier(self.section),
            messages=(message,) if self.text else (),
            speedup_pct=float(speedup) if isinstance(speedup, int | float) else None,
            speedup_scope=_SCOPES.get(self.speedup_scope.lower()),
        )


@lru_cache(maxsize=4096)
def shape(cell: str) -> tuple[int, int, int]:
    """Returns the three sides of a grid or block: "(384, 1, 1)"; MISSING where there are none."""
    parts = re.split(r"[,;]\s+" if re.search(r"[,;]\s", cell) else r"[,;]", cell.strip("()[] "))
    sides = [whole(re.sub(r"\D", "", part)) if _SIDE.fullmatch(part.strip()) else None for part in parts]
    if len(sides) == 3 and None not in sides:
        x, y, z = (side or 0 for side in sides)
        return x, y, z
    return MISSING, MISSING, MISSING
