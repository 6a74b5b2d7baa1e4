"""Rooflines from counters: a device's ceilings while it was profiled, and where a launch stands below them.

Ceilings are peak counts a cycle times the clock during profiling, which the
tool locks to the base clock unless told otherwise: they are not the figures of
a data sheet. What a launch lacks the counters for is None, never 0.

Source: roofline charts of the section files of Nsight Compute 2020.2 to 2026.2,
whose definitions reports carry. The factors are operations per counted
instruction or bytes per counted transfer.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal

from core.tables.columns import MISSING
from core.tables.ncu_terms import (
    DRAM_BYTES,
    DRAM_BYTES_PER_S,
    DRAM_READ_BYTES,
    DRAM_WRITTEN_BYTES,
)

if TYPE_CHECKING:
    from collections.abc import Iterable

    from core.tables.ncu import Report
    from core.tables.ncu_sections import RooflineRate, SectionMetric

Precision = Literal["fp64", "fp32", "fp16"]
Level = Literal["dram", "l2", "l1"]

# Instruction and its operations; the last one, multiply-add, makes the peak.
_OPERATIONS: Final[dict[Precision, tuple[tuple[str, int], ...]]] = {
    "fp64": (("dadd", 1), ("dmul", 1), ("dfma", 2)),
    "fp32": (("fadd", 1), ("fmul", 1), ("ffma", 2)),
    "fp16": (("hadd", 2), ("hmul", 2), ("hfma", 4)),
}
_NS_PER_S: Final = 1e9


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasuredRoofline:
    """One data type against one level of memory, of one launch; None is not measured.

    Attributes:
        precision: Of scalar arithmetic. Work of tensor cores is not in it.
        level: Of memory.
        peak_flop_per_s, peak_bytes_per_s: The ceilings at the clock during profiling.
        flop_per_s, bytes_per_s: What the launch achieved.
        intensity: FLOP a byte; None also where there was no work or no traffic.
    """

    precision: Precision
    level: Level
    peak_flop_per_s: float | None
    peak_bytes_per_s: float | None
    flop_per_s: float | None
    bytes_per_s: float | None
    intensity: float | None


def measured_roofline(
    report: Report, launch_row: int, precision: Precision, level: Level = "dram"
) -> MeasuredRoofline:
    """Computes a roofline of one launch from its counters."""
    launch = _Launch(report, launch_row)
    flop_per_s, flop = _work(launch, precision)
    bytes_per_s, moved_bytes = _traffic(launch, level)
    rate_ratio = _quotient(flop_per_s, bytes_per_s)
    return MeasuredRoofline(
        precision=precision,
        level=level,
        peak_flop_per_s=_peak_work(launch, precision),
        peak_bytes_per_s=_peak_traffic(launch, level),
        flop_per_s=flop_per_s,
        bytes_per_s=bytes_per_s,
        intensity=_quotient(flop, moved_bytes) if rate_ratio is None else rate_ratio,
    )


def evaluate_rate(report: Report, launch_row: int, rate: RooflineRate) -> float | None:
    """Evaluates a rate as a roofline chart of a report defines it, in FLOP/s or byte/s."""
    launch = _Launch(report, launch_row)
    if rate.metric is not None:
        return launch.place(rate.metric)
    if rate.cycles_per_second is None or not rate.per_cycle:
        return None
    per_cycle = _sum(launch.place(each) for each in rate.per_cycle)
    return _product(per_cycle, launch.place(rate.cycles_per_second))


class _Launch:
    """Numbers of one launch by name."""

    def __init__(self, report: Report, launch_row: int) -> None:
        self._report = report
        self._row = launch_row
        device = report.device_of(launch_row)
        self.compute_capability = device.compute_capability if device else None
        duration_ns = int(report.launches.duration_ns[launch_row])
        self.duration_s = None if duration_ns == MISSING else duration_ns / _NS_PER_S

    def number(self, name: str) -> float | None:
        value = self._report.metric(self._row, name)
        return None if value is None or isinstance(value, str) else float(value)

    def first(self, *choices: tuple[int, str]) -> float | None:
        """Returns the first metric that was measured, times its factor."""
        found = (_product(self.number(name), factor) for factor, name in choices)
        return next((each for each in found if each is not None), None)

    def place(self, metric: SectionMetric) -> float | None:
        chosen = metric.resolve(self.compute_capability)
        return None if chosen is None else _product(self.number(chosen.name), metric.multiplier)


def _peak_work(launch: _Launch, precision: Precision) -> float | None:
    operation, factor = _OPERATIONS[precision][-1]
    counter = f"sm__sass_thread_inst_executed_op_{operation}_pred_on"
    per_cycle = launch.first((factor, f"{counter}.sum.peak_sustained"), (1, f"derived__{counter}_x{factor}"))
    return _product(per_cycle, launch.number("sm__cycles_elapsed.avg.per_second"))


def _work(launch: _Launch, precision: Precision) -> tuple[float | None, float | None]:
    """Returns the work a second, and the work."""
    operations = _OPERATIONS[precision]
    per_cycle = _sum(
        launch.first(
            (factor, f"smsp__sass_thread_inst_executed_op_{name}_pred_on.sum.per_cycle_elapsed"),
            (1, f"derived__smsp__sass_thread_inst_executed_op_{name}_pred_on_x{factor}"),
        )
        for name, factor in operations
    )
    rate = _product(per_cycle, launch.number("smsp__cycles_elapsed.avg.per_second"))
    counts = [
        launch.first(
            (factor, f"smsp__sass_thread_inst_executed_op_{name}_pred_on.sum"),
            (factor, f"sm__sass_thread_inst_executed_op_{name}_pred_on.sum"),
        )
        for name, factor in operations
    ]
    # Who collects single counters often takes multiply-adds only: those are the work then.
    work = None if counts[-1] is None else sum(each for each in counts if each is not None)
    return (_quotient(work, launch.duration_s, zero_is_work=True) if rate is None else rate), work


def _peak_traffic(launch: _Launch, level: Level) -> float | None:
    if level == "dram":
        return _product(
            launch.number("dram__bytes.sum.peak_sustained"),
            launch.number("dram__cycles_elapsed.avg.per_second"),
        )
    unit = "lts" if level == "l2" else "l1tex"
    per_cycle = launch.first(*_cache_counters(launch, level, "sum.peak_sustained"))
    return _product(per_cycle, launch.number(f"{unit}__cycles_elapsed.avg.per_second"))


def _traffic(launch: _Launch, level: Level) -> tuple[float | None, float | None]:
    """Returns the bytes a second, and the bytes."""
    if level == "dram":
        read_and_written = _sum((launch.number(DRAM_READ_BYTES), launch.number(DRAM_WRITTEN_BYTES)))
        moved = launch.number(DRAM_BYTES)
        moved = read_and_written if moved is None else moved
        rate = launch.number(DRAM_BYTES_PER_S)
    else:
        moved = launch.first(*_cache_counters(launch, level, "sum"))
        rate = launch.first(*_cache_counters(launch, level, "sum.per_second"))
    return (_quotient(moved, launch.duration_s, zero_is_work=True) if rate is None else rate), moved


def _cache_counters(launch: _Launch, level: Level, suffix: str) -> tuple[tuple[int, str], ...]:
    """Returns what counts the traffic of a cache: in bytes where stored so, else in transfers."""
    if level == "l2":
        return (32, f"lts__lts2xbar_cycles_active.{suffix}"), (1, f"derived__lts__lts2xbar_bytes.{suffix}")
    capability = launch.compute_capability or 0
    kind = "" if capability < 75 else "_mem_lg" if capability < 90 else "_mem_lgds"
    return (
        (128, f"l1tex__lsu_writeback_active{kind}.{suffix}"),
        (1, f"derived__l1tex__lsu_writeback_bytes{kind}.{suffix}"),
    )


def _product(first: float | None, second: float | None) -> float | None:
    return None if first is None or second is None else first * second


def _sum(values: Iterable[float | None]) -> float | None:
    total = 0.0
    for value in values:
        if value is None:
            return None
        total += value
    return total


def _quotient(first: float | None, second: float | None, zero_is_work: bool = False) -> float | None:
    """Divides; None where nothing was measured, by 0, and of 0 unless that is a value."""
    if first is None or not second or not (first or zero_is_work):
        return None
    return first / second
