"""A row of the table of steps as the inspector shows it: what the step's time went to, in shares of it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Final

from core.units import format_count, format_duration_ns, format_pct

if TYPE_CHECKING:
    from collections.abc import Sequence

    from core.tables.result import ResultTable

STEPS: Final = "steps"
PARTS: Final = (
    ("compute_ns", "Compute"),
    ("communication_exposed_ns", "Exposed communication"),
    ("copy_ns", "Copies and sets"),
    ("idle_launch_ns", "Idle: launch-bound"),
    ("idle_data_ns", "Idle: waiting for data"),
    ("idle_sync_ns", "Idle: sync"),
    ("idle_other_ns", "Idle: other"),
)
"""Columns of the table of steps that add up to a step's duration."""
_TENTHS: Final = 1000
"""Of a percent in the whole."""


@dataclass(frozen=True, slots=True)
class ShownStep:
    """One step.

    Attributes:
        number: As the profiler counts.
        rank: None if the trace does not say.
        start_ns, duration_ns: Of the step.
        figures: (label, value, why) a line, for the inspector.
    """

    number: int
    rank: int | None
    start_ns: int
    duration_ns: int
    figures: tuple[tuple[str, str, str], ...]

    @property
    def end_ns(self) -> int:
        """Where it ends."""
        return self.start_ns + self.duration_ns


def step_of_row(table: ResultTable, row: int) -> ShownStep | None:
    """Returns the step that a row of the table of steps is about, None of any other table."""
    if table.name != STEPS or not 0 <= row < len(table):
        return None

    whole = partial(_whole, table, row)
    rank = table.column("rank").value(row)
    figures = [
        (
            "Duration",
            format_duration_ns(whole("duration_ns")),
            "Wall time of the step; the parts add up to it.",
        )
    ]
    # Of time on a device nothing is known where the trace holds no work of one.
    if table.column("busy_ns").value(row) is not None:
        figures += _device_figures(table, row)
    return ShownStep(
        number=whole("step"),
        rank=None if rank is None else int(str(rank)),
        start_ns=whole("start_ns"),
        duration_ns=whole("duration_ns"),
        figures=tuple(figures),
    )


def _device_figures(table: ResultTable, row: int) -> list[tuple[str, str, str]]:
    whole = partial(_whole, table, row)
    duration_ns = whole("duration_ns")
    times = [whole(key) for key, _ in PARTS]
    parts = [
        (words, f"{format_duration_ns(time_ns)}, {format_pct(share)}", table.column(key).help)
        for (key, words), time_ns, share in zip(PARTS, times, shares_pct(times), strict=True)
    ]
    hidden = table.column("communication_hidden_ns")
    busy = format_duration_ns(whole("busy_ns"))
    return [
        *parts,
        ("Hidden communication", format_duration_ns(whole(hidden.key)), hidden.help),
        ("Busy", f"{busy}, {format_pct(_pct(whole('busy_ns'), duration_ns))}", table.column("busy_ns").help),
        ("Kernels", format_count(whole("kernels")), table.column("kernels").help),
        (
            "Kernel time, summed",
            format_duration_ns(whole("kernel_sum_ns")),
            table.column("kernel_sum_ns").help,
        ),
    ]


def shares_pct(parts: Sequence[int]) -> list[float]:
    """Returns the share of each part in tenths of a percent, rounded so that they add up to 100.

    The tenths that rounding down leaves over go to the parts that it cut most.
    """
    whole = sum(parts)
    if whole <= 0:
        return [0.0] * len(parts)
    tenths = [part * _TENTHS // whole for part in parts]
    by_loss = sorted(range(len(parts)), key=lambda place: -(parts[place] * _TENTHS % whole))
    for place in by_loss[: _TENTHS - sum(tenths)]:
        tenths[place] += 1
    return [each / 10 for each in tenths]


def _whole(table: ResultTable, row: int, key: str) -> int:
    return int(str(table.column(key).value(row)))


def _pct(part_ns: int, whole_ns: int) -> float | None:
    return 100 * part_ns / whole_ns if whole_ns else None
