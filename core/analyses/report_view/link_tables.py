"""Tables of NVLink and of NUMA affinity: their cells are values by instance, one a link or a device.

Source: metrics ``nvlink__*``, ``nvlrx__*``, ``nvltx__*`` and ``numa__*`` in reports of Nsight Compute
2021.2 to 2026.2.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

from core.analyses.report_view.launch import NOT_COLLECTED
from core.analyses.report_view.parts import Cell, TableColumn, TablePart

if TYPE_CHECKING:
    from core.analyses.report_view.launch import LaunchMetrics
    from core.tables.ncu import Instances, MetricValue

_Columns = tuple[tuple[str, str, str], ...]
"""Title, metric and unit of each column; "yes" as unit is a flag."""

_TOPOLOGY: Final[_Columns] = (
    ("Device", "nvlink__dev0Id", ""),
    ("Linked to", "nvlink__dev1Id", ""),
    ("Physical links", "nvlink__count_physical", ""),
    ("Ports of the device", "nvlink__source_ports", ""),
    ("Ports of the other", "nvlink__destination_ports", ""),
)
_PROPERTIES: Final[_Columns] = (
    ("Physical links", "nvlink__count_physical", ""),
    ("Bandwidth", "nvlink__bandwidth", "byte/s"),
    ("Direct link", "nvlink__is_direct_link", "yes"),
    ("Peer access", "nvlink__peer_access", "yes"),
    ("Peer atomics", "nvlink__peer_atomic", "yes"),
    ("System access", "nvlink__system_access", "yes"),
    ("System atomics", "nvlink__system_atomic", "yes"),
)
_NUMA: Final[_Columns] = (
    ("Device", "numa__dev_display_name_all", ""),
    ("CPU affinity", "numa__cpu_affinity", ""),
    ("NUMA ID of the CPU", "numa__id_cpu", ""),
    ("NUMA ID of the memory", "numa__id_memory", ""),
)
_THROUGHPUT: Final = (
    ("Received", "nvlrx__bytes.sum", "nvlrx__bytes.sum.per_second"),
    ("Sent", "nvltx__bytes.sum", "nvltx__bytes.sum.per_second"),
)
_NO_LINK: Final = "The device has no NVLink in use."
_MOST_ROWS: Final = 256


def topology_part(label: str, launch: LaunchMetrics) -> TablePart:
    """Tells which devices each logical link joins."""
    return _links(label, _TOPOLOGY, launch)


def properties_part(label: str, launch: LaunchMetrics) -> TablePart:
    """Tells what each logical link can do."""
    return _links(label, _PROPERTIES, launch)


def throughput_part(label: str, launch: LaunchMetrics) -> TablePart:
    """Tells what was received and sent."""
    rows = []
    for words, moved, rate in _THROUGHPUT:
        if moved in launch or rate in launch:
            rows.append((Cell(value=words), launch.cell(moved), launch.cell(rate)))
    titles = ("Bytes", "Throughput")
    note = "" if rows else _no_links(launch)
    return TablePart(label=label, columns=_titled(titles), rows=tuple(rows), note=note)


def numa_part(label: str, launch: LaunchMetrics) -> TablePart:
    """Tells which CPUs and memory are near each device."""
    columns = (
        TableColumn(title=_NUMA[0][0], is_label=True),
        *(TableColumn(title=t) for t, _, _ in _NUMA[1:]),
    )
    found = [launch.instances(name) for _, name, _ in _NUMA]
    rows = [tuple(cells) for _, *cells in _rows(found, _NUMA)]
    return TablePart(label=label, columns=columns, rows=tuple(rows), note="" if rows else NOT_COLLECTED)


def _links(label: str, columns: _Columns, launch: LaunchMetrics) -> TablePart:
    found = [launch.instances(name) for _, name, _ in columns]
    rows = _rows(found, columns) if launch.number("nvlink__count_logical") else []
    return TablePart(
        label=label,
        columns=_titled(tuple(title for title, _, _ in columns)),
        rows=tuple(rows),
        note="" if rows else _no_links(launch),
    )


def _no_links(launch: LaunchMetrics) -> str:
    return NOT_COLLECTED if launch.number("nvlink__count_logical") is None else _NO_LINK


def _titled(titles: tuple[str, ...]) -> tuple[TableColumn, ...]:
    return (TableColumn(title="", is_label=True), *(TableColumn(title=title) for title in titles))


def _rows(found: list[Instances | None], columns: _Columns) -> list[tuple[Cell | None, ...]]:
    """Returns a row for each key that occurs, with its number as words."""
    by_key: list[dict[int, MetricValue]] = [{} if each is None else _values(each) for each in found]
    keys = sorted(set().union(*by_key))[:_MOST_ROWS]
    return [
        (
            Cell(value=f"Link {key}"),
            *(
                _cell(values.get(key), name, unit)
                for values, (_, name, unit) in zip(by_key, columns, strict=True)
            ),
        )
        for key in keys
    ]


def _values(found: Instances) -> dict[int, MetricValue]:
    texts = found.texts or ("",) * len(found)
    numbers = found.number.tolist()
    return {
        key: text or (None if math.isnan(number) else number)
        for key, text, number in zip(found.key.tolist(), texts, numbers, strict=True)
    }


def _cell(value: MetricValue, name: str, unit: str) -> Cell:
    if unit == "yes":
        known = isinstance(value, int | float)
        return Cell(value=("yes" if value else "no") if known else None, metric=name)
    return Cell(value=value, unit=unit, metric=name, help="" if value is not None else NOT_COLLECTED)
