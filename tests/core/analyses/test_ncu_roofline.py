"""Rooflines from counters: every data type and level by its formula, and what happens where counters lack."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from core.analyses.ncu_roofline import Level, Precision, measured_roofline
from core.readers.ncu_report.reader import read_report
from core.tables.ncu import Report
from tests.helpers import ncu_reports as made

OPERATION = "sass_thread_inst_executed_op_{}_pred_on"
CLOCKS = {
    "sm__cycles_elapsed.avg.per_second": 1e9,
    "smsp__cycles_elapsed.avg.per_second": 2e9,
    "dram__cycles_elapsed.avg.per_second": 3e9,
    "lts__cycles_elapsed.avg.per_second": 5e9,
    "l1tex__cycles_elapsed.avg.per_second": 7e9,
}


def launch(tmp_path: Path, values: Mapping[str, float], capability: int = 90) -> Report:
    """A report of one launch with these metrics."""
    major, minor = divmod(capability, 10)
    everything = dict(values) | {
        "device__attribute_compute_capability_major": major,
        "device__attribute_compute_capability_minor": minor,
        "launch__device_id": 0,
    }
    metrics = [
        made.metric(place, made.integer(value) if isinstance(value, int) else made.double(value))
        for place, value in enumerate(everything.values())
    ]
    path = tmp_path / "made.ncu-rep"
    path.write_bytes(made.report(made.block(results=[made.result(metrics)], texts=tuple(everything))))
    return read_report(path)


def counted(operations: dict[str, float], suffix: str, unit: str = "smsp") -> dict[str, float]:
    return {f"{unit}__{OPERATION.format(name)}.{suffix}": value for name, value in operations.items()}


@pytest.mark.parametrize(
    ("precision", "operations", "flop_per_cycle", "peak_per_cycle"),
    [
        ("fp32", {"fadd": 1.0, "fmul": 10.0, "ffma": 100.0}, 211, 256),
        ("fp64", {"dadd": 1.0, "dmul": 10.0, "dfma": 100.0}, 211, 256),
        ("fp16", {"hadd": 1.0, "hmul": 10.0, "hfma": 100.0}, 422, 512),
    ],
)
def test_work_is_weighted_by_operations_an_instruction(
    tmp_path: Path,
    precision: Precision,
    operations: dict[str, float],
    flop_per_cycle: float,
    peak_per_cycle: float,
) -> None:
    multiply_add = list(operations)[-1]
    peak = {f"sm__{OPERATION.format(multiply_add)}.sum.peak_sustained": 128.0}
    found = measured_roofline(
        launch(tmp_path, CLOCKS | peak | counted(operations, "sum.per_cycle_elapsed")), 0, precision
    )
    assert (found.flop_per_s, found.peak_flop_per_s) == (flop_per_cycle * 2e9, peak_per_cycle * 1e9)
    assert (found.bytes_per_s, found.peak_bytes_per_s, found.intensity) == (None, None, None)


def test_multiplied_counters_of_the_report_serve_as_well(tmp_path: Path) -> None:
    """Reports of 2020.3 and later carry them as derived metrics; what they lack is taken from the others."""
    ffma = OPERATION.format("ffma")
    values = {f"derived__sm__{ffma}_x2": 256.0, f"derived__smsp__{ffma}_x2": 200.0}
    values |= counted({"fadd": 1.0, "fmul": 10.0}, "sum.per_cycle_elapsed")
    found = measured_roofline(launch(tmp_path, CLOCKS | values), 0, "fp32")
    assert (found.flop_per_s, found.peak_flop_per_s) == (211 * 2e9, 256e9)


@pytest.mark.parametrize(
    ("level", "capability", "counter", "expected"),
    [
        ("dram", 90, "dram__bytes.sum", (30e9, 5.0)),
        ("l2", 90, "lts__lts2xbar_cycles_active.sum", (32 * 50e9, 160.0)),
        ("l2", 90, "derived__lts__lts2xbar_bytes.sum", (50e9, 5.0)),
        ("l1", 70, "l1tex__lsu_writeback_active.sum", (128 * 70e9, 640.0)),
        ("l1", 86, "l1tex__lsu_writeback_active_mem_lg.sum", (128 * 70e9, 640.0)),
        ("l1", 90, "derived__l1tex__lsu_writeback_bytes_mem_lgds.sum", (70e9, 5.0)),
    ],
)
def test_traffic_of_a_level_is_counted_in_its_transfers(
    tmp_path: Path, level: Level, capability: int, counter: str, expected: tuple[float, float]
) -> None:
    values = {f"{counter}.peak_sustained": 10.0, f"{counter}.per_second": 5.0}
    found = measured_roofline(launch(tmp_path, CLOCKS | values, capability), 0, "fp32", level)
    assert (found.peak_bytes_per_s, found.bytes_per_s) == expected


def test_counts_over_time_stand_in_for_rates(tmp_path: Path) -> None:
    """Case N19: 2 x ffma over read and written bytes."""
    values = {"gpu__time_duration.sum": 50_000, "dram__bytes_read.sum": 67_108_864}
    values |= {"dram__bytes_write.sum": 67_108_864} | {
        key: int(value) for key, value in counted({"ffma": 25_165_824}, "sum", "sm").items()
    }
    found = measured_roofline(launch(tmp_path, values, 100), 0, "fp32")
    assert found.bytes_per_s == pytest.approx(2_684_354_560_000, rel=1e-12)
    assert found.flop_per_s == pytest.approx(50_331_648 / 50e-6, rel=1e-12)
    assert found.intensity == pytest.approx(0.375, rel=1e-12)


def test_without_time_there_is_an_intensity_but_no_rate(tmp_path: Path) -> None:
    """Case R10: a duration of 0."""
    values = {"gpu__time_duration.sum": 0, "dram__bytes.sum": 134_217_728}
    operations = {"fadd": 16_777_216, "fmul": 16_777_216, "ffma": 8_388_608}
    values |= {key: int(value) for key, value in counted(dict(operations), "sum").items()}
    found = measured_roofline(launch(tmp_path, values), 0, "fp32")
    assert (found.flop_per_s, found.bytes_per_s, found.intensity) == (None, None, 0.375)


def test_no_work_is_zero_and_has_no_intensity(tmp_path: Path) -> None:
    values = counted({"fadd": 0.0, "fmul": 0.0, "ffma": 0.0}, "sum.per_cycle_elapsed")
    found = measured_roofline(
        launch(tmp_path, CLOCKS | values | {"dram__bytes.sum.per_second": 5.0}), 0, "fp32"
    )
    assert (found.flop_per_s, found.bytes_per_s, found.intensity) == (0.0, 5.0, None)


def test_a_missing_counter_is_not_taken_as_zero(tmp_path: Path) -> None:
    values = counted({"fadd": 1.0, "ffma": 100.0}, "sum.per_cycle_elapsed")
    half = {"gpu__time_duration.sum": 50_000, "dram__bytes_read.sum": 5}
    found = measured_roofline(launch(tmp_path, CLOCKS | values | half), 0, "fp32")
    assert (found.flop_per_s, found.bytes_per_s, found.intensity) == (None, None, None)
