"""Counters as columns: of one launch as of all, what is missing, what is damage, and division."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

from core.analyses.ncu_counters import Counters, either, quotient
from tests.helpers.counted_launches import counted

if TYPE_CHECKING:
    from pathlib import Path

NAN = float("nan")


def test_one_launch_reads_as_its_row_of_all(tmp_path: Path) -> None:
    report = counted(tmp_path, {"a": 1, "b": 2.5}, {"a": None, "c": "text"}, {"gpu__time_duration.sum": None})
    whole = Counters(report)
    assert len(whole) == 3
    for name in ("a", "b", "c", "gpu__time_duration.sum", "absent"):
        singles = [float(Counters(report, row).number(name)[0]) for row in range(3)]
        np.testing.assert_array_equal(whole.number(name), singles)
    np.testing.assert_array_equal(whole.number("a"), [1, NAN, NAN])
    np.testing.assert_array_equal(whole.duration_s, [1e-5, 1e-5, NAN])
    assert whole.compute_capability.tolist() == [90, 90, 90]


def test_the_first_that_was_measured_counts(tmp_path: Path) -> None:
    counters = Counters(counted(tmp_path, {"a": 1.0, "b": 5.0}, {"b": 5.0}, {}))
    np.testing.assert_array_equal(counters.first((2, "a"), (3, "b")), [2, 15, NAN])


@pytest.mark.parametrize("value", [float("inf"), float("-inf"), NAN, 1e61, -1e61, "12"])
def test_what_no_counter_counts_is_not_measured(tmp_path: Path, value: float | str) -> None:
    report = counted(tmp_path, {"a": value}, {"a": 1e60})
    np.testing.assert_array_equal(Counters(report).number("a"), [NAN, 1e60])
    np.testing.assert_array_equal(Counters(report, 0).number("a"), [NAN])


def test_columns_are_read_only(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="read-only"):
        Counters(counted(tmp_path, {"a": 1})).number("a")[0] = 2


def test_either_and_quotient_keep_what_is_missing() -> None:
    first, second = np.array([1.0, NAN, 0.0, 4.0, 1e60, NAN]), np.array([2.0, 3.0, 5.0, 0.0, 1e-300, NAN])
    np.testing.assert_array_equal(either(first, second), [1, 3, 0, 4, 1e60, NAN])
    np.testing.assert_array_equal(quotient(first, second), [0.5, NAN, NAN, NAN, NAN, NAN])
    np.testing.assert_array_equal(quotient(first, second, zero_is_work=True), [0.5, NAN, 0, NAN, NAN, NAN])
