"""The devices of a CSV: by the columns that name them, and by the attributes that were exported."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

import numpy as np

from core.readers.ncu_csv.numbers import whole
from core.tables.columns import NO_ROW, Int32
from core.tables.ncu import ReportDevice

if TYPE_CHECKING:
    from core.tables.ncu import MetricValue, Report

_ATTRIBUTE: Final = "device__attribute_"
_NAME: Final = "device__attribute_display_name"
_CAPABILITY: Final = re.compile(r"(\d{1,3})[.,](\d)")
"""It keeps its point where numbers have commas."""


def devices_of(report: Report, cells: list[tuple[str, str]]) -> tuple[tuple[ReportDevice, ...], Int32]:
    """Returns the devices, and (launches,) int32 rows of them, NO_ROW where nothing tells.

    Args:
        report: With its metrics.
        cells: "Device" and "CC" of each launch, "" where the file has no such column.
    """
    rows: dict[tuple[str, str, MetricValue], int] = {}
    devices: list[ReportDevice] = []
    device_row = np.full(len(cells), NO_ROW, np.int32)
    for launch_row, (number, capability) in enumerate(cells):
        name = report.metric(launch_row, _NAME)
        key = (number, capability, name)
        if key == ("", "", None):
            continue
        if key not in rows:
            rows[key] = len(devices)
            devices.append(_device(report, launch_row, key))
        device_row[launch_row] = rows[key]
    return tuple(devices), device_row


def _device(report: Report, launch_row: int, key: tuple[str, str, MetricValue]) -> ReportDevice:
    number, capability, name = key
    attributes = {
        text: report.value_at(row)
        for row in report.metrics.rows_of(launch_row)
        if (text := report.metric_names.texts[report.metrics.name_id[row]]).startswith(_ATTRIBUTE)
    }
    device_id = whole(number)
    printed = name if isinstance(name, str) else number if number and device_id is None else None
    count = attributes.get(_ATTRIBUTE + "multiprocessor_count")
    return ReportDevice(
        id=device_id,
        name=printed,
        compute_capability=_ten_times(capability, attributes),
        sm_count=int(count) if isinstance(count, int | float) else None,
        attributes=tuple(attributes.items()),
    )


def _ten_times(printed: str, attributes: dict[str, MetricValue]) -> int | None:
    found = _CAPABILITY.fullmatch(printed)
    if found:
        return 10 * int(found[1]) + int(found[2])
    major = attributes.get(_ATTRIBUTE + "compute_capability_major")
    minor = attributes.get(_ATTRIBUTE + "compute_capability_minor")
    if not isinstance(major, int | float):
        return None
    return 10 * int(major) + (int(minor) if isinstance(minor, int | float) else 0)
