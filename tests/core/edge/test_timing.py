"""Times and rates that cannot be: dropped, counted, told."""

from __future__ import annotations

import math

from core.edge.events import Ceiling, Dispatch
from core.edge.timing import (
    Roof,
    believable,
    dispatch_problem,
    dispatch_rate_problem,
    impossible_rate,
    measured_roof,
)

GEMM = Ceiling(what="gemm", type="fp32", per_s=1e12, size=512)
COPY = Ceiling(what="copy", type="", per_s=5e12, size=2**20)


def test_a_negative_time_is_dropped_and_told() -> None:
    """Case E11."""
    good, problem = believable([0.002, -0.0002, 0.003])
    assert good == (0.002, 0.003)
    assert problem is not None
    assert problem.count == 1
    assert problem.message.startswith("By its clock 1 call took no time or less")


def test_no_time_is_left_of_nonsense() -> None:
    good, problem = believable([0.0, math.nan, math.inf, -1.0])
    assert good == ()
    assert problem is not None
    assert problem.count == 4


def test_good_times_say_nothing() -> None:
    assert believable([1e-9, 2.0]) == ((1e-9, 2.0), None)


def test_a_call_that_comes_back_at_once_is_impossible() -> None:
    """Case E10: nobody waited for the device."""
    problem = impossible_rate(17_000_000_000, [1e-6], Roof(60e12, "the data sheet's peak"))
    assert problem is not None
    assert "283.3 times the data sheet's peak" in problem.message
    assert "17" in problem.message


def test_a_rate_below_the_roof_is_believed() -> None:
    assert impossible_rate(10**9, [1e-3], Roof(1e12, "the data sheet's peak")) is None
    assert impossible_rate(10**9 + 1, [1e-3], Roof(1e12, "the data sheet's peak")) is not None


def test_a_measured_product_is_no_exact_roof() -> None:
    roof = measured_roof([COPY, GEMM], "fp32", [])
    assert roof is not None
    assert impossible_rate(39 * 10**8, [1e-3], roof) is None
    assert impossible_rate(41 * 10**8, [1e-3], roof) is not None


def test_a_dispatch_by_the_devices_clock_raises_the_roof() -> None:
    """A product measured on a busy machine is slow; what the device itself tells stands against that."""
    fast = Dispatch(name="d$async_dispatch_0_matmul_1000x1000x1000_f32", start_ns=0, duration_ns=1_000_000)
    untimed = Dispatch(name=fast.name, start_ns=0, duration_ns=None)
    assert measured_roof([GEMM], "fp32", [fast, untimed]) == Roof(
        2e12, "the fastest product that was measured", 4.0
    )
    assert measured_roof([], "fp32", [untimed]) is None


def test_a_clock_that_is_wrong_does_not_lift_the_roof_over_everything() -> None:
    """Else a backend that returns at once were believed on a device whose timestamps are nonsense."""
    nonsense = Dispatch(name="d$async_dispatch_0_matmul_1000x1000x1000_f32", start_ns=0, duration_ns=1)
    roof = measured_roof([GEMM], "fp32", [nonsense])
    assert roof is not None
    assert roof.per_s == 4e12
    assert impossible_rate(17_000_000_000, [1e-6], roof) is not None
    problem = dispatch_rate_problem([nonsense], roof)
    assert problem is not None
    assert "By the device's clock 1 dispatch is faster than the fastest product" in problem.message
    assert dispatch_rate_problem([nonsense], None) is None
    honest = Dispatch(name=nonsense.name, start_ns=0, duration_ns=2_000_000)
    assert dispatch_rate_problem([honest], roof) is None


def test_without_a_roof_or_a_count_nothing_is_claimed() -> None:
    assert measured_roof([COPY], "fp32", []) is None
    assert measured_roof([GEMM], "fp16", []) is None
    assert impossible_rate(10**15, [1e-9], None) is None
    assert impossible_rate(None, [1e-9], Roof(1.0, "x")) is None


def test_the_median_decides_not_the_luckiest_call() -> None:
    roof = Roof(1e12, "the data sheet's peak")
    assert impossible_rate(10**9, [1e-9, 2e-3, 2e-3], roof) is None


def test_dispatches_without_a_time_are_counted() -> None:
    timed = Dispatch(name="a", start_ns=0, duration_ns=5)
    untimed = Dispatch(name="b", start_ns=0, duration_ns=None)
    negative = Dispatch(name="c", start_ns=0, duration_ns=-200_000)
    assert dispatch_problem([timed]) is None
    problem = dispatch_problem([timed, untimed, negative])
    assert problem is not None
    assert problem.count == 2
    assert "2 dispatches have no valid time" in problem.message
    assert ", of 3." in problem.message
