"""Rooflines from counters: a device's ceilings while it was profiled, and where a launch stands below them.

Ceilings are peak counts a cycle times the clock during profiling, which the
tool locks to the base clock unless told otherwise: they are not the figures of
a data sheet. What a launch lacks the counters for is None or NaN, never 0. Columns
are (n,) float64, a row for each launch of ``Counters``.

Source: roofline charts of the section files of Nsight Compute 2020.2 to 2026.2,
whose definitions reports carry. The factors are operations per counted
instruction or bytes per counted transfer.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal, NamedTuple

import numpy as np

from core.analyses.ncu_counters import Counters, either, quotient
from core.tables.ncu_terms import (
    DRAM_BYTES,
    DRAM_BYTES_PER_S,
    DRAM_READ_BYTES,
    DRAM_WRITTEN_BYTES,
    SM_CYCLES_PER_S,
)

if TYPE_CHECKING:
    from core.tables.columns import Float64
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
PRECISIONS: Final[tuple[Precision, ...]] = ("fp64", "fp32", "fp16")


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


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class RooflineColumns:
    """The same of many launches: fields of ``MeasuredRoofline`` as (n,) float64, NaN where not measured."""

    peak_flop_per_s: Float64
    peak_bytes_per_s: Float64
    flop_per_s: Float64
    bytes_per_s: Float64
    intensity: Float64


def measured_roofline(
    report: Report, launch_row: int, precision: Precision, level: Level = "dram"
) -> MeasuredRoofline:
    """Computes a roofline of one launch from its counters."""
    columns = roofline_columns(Counters(report, launch_row), precision, level)
    return MeasuredRoofline(
        precision=precision,
        level=level,
        peak_flop_per_s=_only(columns.peak_flop_per_s),
        peak_bytes_per_s=_only(columns.peak_bytes_per_s),
        flop_per_s=_only(columns.flop_per_s),
        bytes_per_s=_only(columns.bytes_per_s),
        intensity=_only(columns.intensity),
    )


def roofline_columns(counters: Counters, precision: Precision, level: Level = "dram") -> RooflineColumns:
    """Computes a roofline of each launch from its counters."""
    work, moved = scalar_work(counters, precision), traffic(counters, level)
    return RooflineColumns(
        peak_flop_per_s=peak_work(counters, precision),
        peak_bytes_per_s=peak_traffic(counters, level),
        flop_per_s=work.per_s,
        bytes_per_s=moved.per_s,
        intensity=either(quotient(work.per_s, moved.per_s), quotient(work.amount, moved.amount)),
    )


def evaluate_rate(report: Report, launch_row: int, rate: RooflineRate) -> float | None:
    """Evaluates a rate as a roofline chart of a report defines it, in FLOP/s or byte/s."""
    counters = Counters(report, launch_row)
    if rate.metric is not None:
        return _only(_place(counters, rate.metric))
    if rate.cycles_per_second is None or not rate.per_cycle:
        return None
    per_cycle = sum((_place(counters, each) for each in rate.per_cycle), np.zeros(1))
    return _only(per_cycle * _place(counters, rate.cycles_per_second))


class Amount(NamedTuple):
    """Operations or bytes of launches: how many, and how many a second; NaN where not measured."""

    amount: Float64
    per_s: Float64


def peak_work(counters: Counters, precision: Precision) -> Float64:
    """Returns the most operations a second at the clock during profiling."""
    operation, factor = _OPERATIONS[precision][-1]
    counter = f"sm__sass_thread_inst_executed_op_{operation}_pred_on"
    per_cycle = counters.first(
        (factor, f"{counter}.sum.peak_sustained"), (1, f"derived__{counter}_x{factor}")
    )
    return per_cycle * counters.number(SM_CYCLES_PER_S)


def scalar_work(counters: Counters, precision: Precision) -> Amount:
    """Returns the operations of the scalar units; those of tensor cores are not in it."""
    operations = _OPERATIONS[precision]
    per_cycle = sum(
        (
            counters.first(
                (factor, f"smsp__sass_thread_inst_executed_op_{name}_pred_on.sum.per_cycle_elapsed"),
                (1, f"derived__smsp__sass_thread_inst_executed_op_{name}_pred_on_x{factor}"),
            )
            for name, factor in operations
        ),
        np.zeros(len(counters)),
    )
    rate = per_cycle * counters.number("smsp__cycles_elapsed.avg.per_second")
    counts = [
        counters.first(
            (factor, f"smsp__sass_thread_inst_executed_op_{name}_pred_on.sum"),
            (factor, f"sm__sass_thread_inst_executed_op_{name}_pred_on.sum"),
        )
        for name, factor in operations
    ]
    # Who collects single counters often takes multiply-adds only: those are the work then.
    others = sum((np.nan_to_num(each) for each in counts[:-1]), np.zeros(len(counters)))
    work = counts[-1] + others
    return Amount(work, either(rate, quotient(work, counters.duration_s, zero_is_work=True)))


def peak_traffic(counters: Counters, level: Level) -> Float64:
    """Returns the most bytes a second at the clock during profiling."""
    if level == "dram":
        per_cycle = counters.number("dram__bytes.sum.peak_sustained")
        return per_cycle * counters.number("dram__cycles_elapsed.avg.per_second")
    unit = "lts" if level == "l2" else "l1tex"
    per_cycle = _cache_traffic(counters, level, "sum.peak_sustained")
    return per_cycle * counters.number(f"{unit}__cycles_elapsed.avg.per_second")


def traffic(counters: Counters, level: Level) -> Amount:
    """Returns the bytes that a level of memory moved."""
    if level == "dram":
        split = counters.number(DRAM_READ_BYTES) + counters.number(DRAM_WRITTEN_BYTES)
        moved = either(counters.number(DRAM_BYTES), split)
        rate = counters.number(DRAM_BYTES_PER_S)
    else:
        moved = _cache_traffic(counters, level, "sum")
        rate = _cache_traffic(counters, level, "sum.per_second")
    return Amount(moved, either(rate, quotient(moved, counters.duration_s, zero_is_work=True)))


def _cache_traffic(counters: Counters, level: Level, suffix: str) -> Float64:
    """Returns what counts the traffic of a cache: in bytes where stored so, else in transfers."""
    if level == "l2":
        return counters.first(
            (32, f"lts__lts2xbar_cycles_active.{suffix}"), (1, f"derived__lts__lts2xbar_bytes.{suffix}")
        )
    capability = np.nan_to_num(counters.compute_capability)
    found = counters.nothing()
    for kind, applies in (
        ("", capability < 75),
        ("_mem_lg", (capability >= 75) & (capability < 90)),
        ("_mem_lgds", capability >= 90),
    ):
        if np.any(applies):
            of_kind = counters.first(
                (128, f"l1tex__lsu_writeback_active{kind}.{suffix}"),
                (1, f"derived__l1tex__lsu_writeback_bytes{kind}.{suffix}"),
            )
            found = np.where(applies, of_kind, found)
    return found


def _place(counters: Counters, metric: SectionMetric) -> Float64:
    capability = float(counters.compute_capability[0])
    chosen = metric.resolve(None if math.isnan(capability) else int(capability))
    return counters.nothing() if chosen is None else counters.number(chosen.name) * metric.multiplier


def _only(values: Float64) -> float | None:
    """Returns the value of the only launch; None where nothing was measured."""
    value = float(values[0])
    return None if math.isnan(value) else value
