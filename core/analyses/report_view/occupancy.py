"""How many warps a multiprocessor holds of a launch, what bounds them, and what another shape would give.

Curves are those that the report stores. Where it has none (a CSV, or a section
that was not collected), those over registers and block size follow from the
limits that it stores; the one over shared memory does not, because the part of
the cache that becomes shared memory would change with it.

Source: CUDA C++ Programming Guide 12.8, "Multiprocessor Level" and "Technical Specifications per
Compute Capability": a multiprocessor has four parts with a quarter of its registers each, which are
given to warps in units of 256. Equal to the stored curves of all handed reports.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from core.analyses.report_view.collecting import how_to_collect, lacks_throughput
from core.analyses.report_view.facts import OccupancyLimit, OccupancyView
from core.analyses.report_view.launch import LaunchMetrics
from core.analyses.report_view.parts import Axis, Highlight, LinePart, LineSeries
from core.tables.ncu_terms import (
    ACHIEVED_OCCUPANCY_PCT,
    REGISTERS,
    SHARED_MEMORY_BYTES,
    THEORETICAL_OCCUPANCY_PCT,
)

if TYPE_CHECKING:
    from core.analyses.report_view.launch import InstanceReader
    from core.tables.columns import Int64
    from core.tables.ncu import Report

_BLOCK_SIZE: Final = "launch__block_size"
_MOST_WARPS: Final = "device__attribute_max_warps_per_multiprocessor"
_MOST_REGISTERS: Final = "device__attribute_max_registers_per_multiprocessor"
_LIMITS: Final = (
    ("Registers", "launch__occupancy_limit_registers"),
    ("Shared memory", "launch__occupancy_limit_shared_mem"),
    ("Warps", "launch__occupancy_limit_warps"),
    ("Blocks", "launch__occupancy_limit_blocks"),
    ("Barriers", "launch__occupancy_limit_barriers"),
)
_SCALES: Final = {"KiB": 1024}
"""So many of what a metric counts are one of the unit that its axis is in."""
_THREADS_PER_WARP: Final = 32
_REGISTER_UNIT: Final = 256
_PARTS: Final = 4
_LEAST_CAPABILITY: Final = 70
_MOST_REGISTERS_PER_THREAD: Final = 255
_MOST_THREADS: Final = 1024
_BLOCK_STEP: Final = 16


class _Curve(NamedTuple):
    label: str
    x_label: str
    x_unit: str
    stored: str
    current: str


_REGISTER_CURVE: Final = _Curve(
    "Registers a thread", "Registers a thread", "", "launch__occupancy_per_register_count", REGISTERS
)
_BLOCK_CURVE: Final = _Curve(
    "Block size", "Threads a block", "", "launch__occupancy_per_block_size", _BLOCK_SIZE
)
_CURVES: Final = (
    _REGISTER_CURVE,
    _Curve(
        "Shared memory a block",
        "Shared memory a block",
        "KiB",
        "launch__occupancy_per_shared_mem_size",
        SHARED_MEMORY_BYTES,
    ),
    _BLOCK_CURVE,
)


def occupancy_view(report: Report, launch_row: int, read_instances: InstanceReader) -> OccupancyView:
    """Returns occupancy, its limits and its curves.

    Args:
        report: The report.
        launch_row: Row of ``Report.launches``.
        read_instances: Asked for the stored curves.
    """
    launch = LaunchMetrics(report, launch_row, read_instances)
    most = launch.number(_MOST_WARPS)
    theoretical = launch.number("sm__maximum_warps_avg_per_active_cycle")
    stored = [_stored(curve, launch, most) for curve in _CURVES]
    curves = [each for each in stored if each is not None]
    computed = [] if curves else _computed(launch, most)
    return OccupancyView(
        curves=tuple(curves or computed),
        limits=_limits(launch),
        theoretical_pct=launch.number(THEORETICAL_OCCUPANCY_PCT),
        achieved_pct=launch.number(ACHIEVED_OCCUPANCY_PCT),
        theoretical_warps=theoretical,
        achieved_warps=launch.number("sm__warps_active.avg.per_cycle_active"),
        most_warps=most,
        origin="stored" if curves else "computed" if computed else None,
        note="" if curves or computed else _not_collected(launch),
    )


def _not_collected(launch: LaunchMetrics) -> str:
    return how_to_collect("Occupancy", with_roofline=lacks_throughput(launch))


def _limits(launch: LaunchMetrics) -> tuple[OccupancyLimit, ...]:
    numbers = [(label, name, launch.number(name)) for label, name in _LIMITS]
    known = [number for _, _, number in numbers if number is not None]
    least = min(known, default=None)
    return tuple(
        OccupancyLimit(
            label=label,
            blocks=None if number is None else int(number),
            metric=name,
            is_limiter=number is not None and number == least,
        )
        for label, name, number in numbers
        if number is not None or name in launch or label != "Barriers"
    )


def _stored(curve: _Curve, launch: LaunchMetrics, most: float | None) -> LinePart | None:
    found = launch.numbers_by_key(curve.stored)
    if found is None:
        return None
    xs = found[0] / _SCALES.get(curve.x_unit, 1)
    series = LineSeries(label="Warps an SM", metric=curve.stored, xs=xs, ys=found[1])
    return _part(curve, series, launch, most)


def _part(curve: _Curve, series: LineSeries, launch: LaunchMetrics, most: float | None) -> LinePart:
    current, scale = launch.number(curve.current), _SCALES.get(curve.x_unit, 1)
    return LinePart(
        label=curve.label,
        category=Axis(label=curve.x_label, unit=curve.x_unit, low=0.0),
        value=Axis(label="Warps an SM", unit="warp", low=0.0, high=most),
        series=(series,),
        highlighted=() if current is None else (Highlight(label="This launch", x=current / scale),),
    )


def _computed(launch: LaunchMetrics, most: float | None) -> list[LinePart]:
    """Computes the curves over registers and block size; none if a fact is missing."""
    facts = [
        launch.number(name)
        for name in (
            _MOST_REGISTERS,
            _LIMITS[1][1],
            _LIMITS[3][1],
            REGISTERS,
            _BLOCK_SIZE,
        )
    ]
    known = [fact for fact in facts if fact is not None and 0 < fact < 2**31]
    if most is None or not 0 < most < 2**31 or len(known) < len(facts):
        return []
    if launch.compute_capability is None or launch.compute_capability < _LEAST_CAPABILITY:
        return []
    of_sm, shared_limit, block_limit, registers, threads = (int(fact) for fact in known)
    other = min(shared_limit, block_limit)
    all_registers = np.arange(_MOST_REGISTERS_PER_THREAD + 1)
    sizes = np.array([1, *range(_BLOCK_STEP, _MOST_THREADS + 1, _BLOCK_STEP)])
    warps = _warps(np.full_like(all_registers, threads), all_registers, of_sm, int(most), other)
    by_size = _warps(sizes, np.full_like(sizes, registers), of_sm, int(most), other)
    return [
        _part(curve, _computed_series(xs, ys), launch, most)
        for curve, xs, ys in ((_REGISTER_CURVE, all_registers, warps), (_BLOCK_CURVE, sizes, by_size))
    ]


def _computed_series(xs: Int64, ys: Int64) -> LineSeries:
    return LineSeries(label="Warps an SM", metric="", xs=xs.astype(np.float64), ys=ys.astype(np.float64))


def _warps(threads: Int64, registers: Int64, of_sm: int, most: int, most_blocks: int) -> Int64:
    """Returns the warps that fit on a multiprocessor.

    Args:
        threads: (n,) int64, a block.
        registers: (n,) int64, a thread.
        of_sm: Registers of a multiprocessor.
        most: Warps that a multiprocessor holds.
        most_blocks: Blocks that fit by anything else.
    """
    warps_of_block = -(-threads // _THREADS_PER_WARP)
    of_warp = -(-registers * _THREADS_PER_WARP // _REGISTER_UNIT) * _REGISTER_UNIT
    by_registers = np.full_like(threads, most)
    uses = of_warp > 0
    by_registers[uses] = of_sm // _PARTS // of_warp[uses] * _PARTS
    blocks = np.minimum(np.minimum(by_registers, most) // warps_of_block, most_blocks)
    return blocks * warps_of_block
