"""Points of reports: the type with most work, what is estimated, and why a launch has no place."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from core.analyses.categories import Category
from core.readers.ncu_csv.reader import read_csv
from core.roofline.ceilings import above_roof, ceilings_of_device, roof_flop_per_s
from core.roofline.measured import NOT_COLLECTED, WORK_TYPES, measured_points, measured_work
from core.roofline.points import PointOrigin, PointTable, WorkType
from tests.helpers.counted_launches import DRAM, counted, fp32

if TYPE_CHECKING:
    from pathlib import Path

TENSOR = "sm__ops_path_tensor_src_bf16_dst_fp32.sum"
BUSY = "tensor FLOP unknown: the tensor pipe was busy 31.2 % of the time"
PIPE_PCT = "sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_elapsed"


def row_of(points: PointTable, row: int = 0) -> tuple[WorkType, float, str]:
    reason = points.strings[int(points.reason_id[row])].replace("\N{NO-BREAK SPACE}", " ")
    return WorkType(int(points.work_type[row])), float(points.flop[row]), reason


@pytest.mark.parametrize(
    ("launch", "expected"),
    [
        (fp32(500) | DRAM, (WorkType.FP32, 1000.0, "")),
        (fp32(500) | DRAM | {TENSOR: 999.0}, (WorkType.FP32, 1000.0, "")),
        (fp32(500) | DRAM | {TENSOR: 1001.0}, (WorkType.BF16_TENSOR, 1001.0, "")),
        ({TENSOR: 1001.0} | DRAM, (WorkType.BF16_TENSOR, 1001.0, "")),
        (fp32(0) | DRAM | {TENSOR: 0}, (WorkType.NONE, 0.0, "no floating-point work, DRAM 100.0 GB/s")),
        (fp32(0), (WorkType.NONE, 0.0, "no floating-point work")),
        (fp32(500), (WorkType.FP32, 1000.0, "bytes not measured")),
        (fp32(500) | {"dram__bytes.sum": 0}, (WorkType.FP32, 1000.0, "no bytes moved")),
        (fp32(500) | DRAM | {"gpu__time_duration.sum": 0}, (WorkType.FP32, 1000.0, "duration 0")),
        (
            fp32(500) | DRAM | {"gpu__time_duration.sum": None},
            (WorkType.FP32, 1000.0, "duration not recorded"),
        ),
    ],
)
def test_a_launch_stands_with_the_type_of_most_work_or_says_why_not(
    tmp_path: Path, launch: dict[str, Any], expected: tuple[WorkType, float, str]
) -> None:
    assert row_of(measured_points(counted(tmp_path, launch))) == expected


@pytest.mark.parametrize(
    ("launch", "reason"),
    [
        ({}, NOT_COLLECTED),
        (DRAM, "FLOP not collected (DRAM 100.0 GB/s): run ncu --set roofline"),
        (DRAM | {TENSOR: 0}, "FLOP not collected (DRAM 100.0 GB/s): run ncu --set roofline"),
        (
            fp32(500) | DRAM | {"sm__inst_executed_pipe_tensor.sum": 4_194_304},
            "tensor FLOP unknown: the tensor pipe ran 4,194,304 instructions",
        ),
        (fp32(500) | DRAM | {PIPE_PCT: 31.25}, BUSY),
        # The counter of another type than the kernel's says nothing of it.
        (fp32(500) | DRAM | {PIPE_PCT: 31.25, TENSOR: 0}, BUSY),
        (
            fp32(500) | DRAM | {"kernel": "ampere_fp16_s16816gemm_fp16_128x128"},
            "tensor FLOP unknown: the name says tensor cores, and their work was not collected",
        ),
        (
            fp32(500) | DRAM | {"kernel": "turing_int8_i8816gemm_int8_128x128_ldg16_tn"},
            "tensor FLOP unknown: the name says tensor cores, and their work was not collected",
        ),
        (
            fp32(500) | DRAM | {PIPE_PCT: 31.25, "opcodes": {"HGMMA.64x64x16": 3}},
            BUSY,
        ),
    ],
)  # fmt: skip
def test_work_that_is_not_known_is_never_taken_for_little(
    tmp_path: Path, launch: dict[str, Any], reason: str
) -> None:
    work_type, flop, said = row_of(measured_points(counted(tmp_path, launch)))
    assert (work_type, said) == (WorkType.NONE, reason)
    assert np.isnan(flop)


def test_instructions_by_opcode_make_an_estimate(tmp_path: Path) -> None:
    tensor = fp32(500) | DRAM | {PIPE_PCT: 31.25, "opcodes": {"HMMA.16816.F32.BF16": 10, "FFMA": 5}}
    moves = fp32(500) | DRAM | {PIPE_PCT: 0.5, "opcodes": {"HFMA2.MMA": 10, "FFMA": 5}}
    idle = fp32(500) | DRAM | {PIPE_PCT: 0.0, "opcodes": {"HGMMA.64x64x16": 10}}
    points = measured_points(counted(tmp_path, tensor, moves, idle, capability=80))
    assert row_of(points, 0) == (WorkType.BF16_TENSOR, 40_960.0, "")
    assert row_of(points, 1) == row_of(points, 2) == (WorkType.FP32, 1000.0, "")
    assert points.origin.tolist() == [PointOrigin.ESTIMATED, PointOrigin.MEASURED, PointOrigin.MEASURED]


def test_counters_of_every_usual_type_are_believed(tmp_path: Path) -> None:
    """On A100 moves of registers keep the pipe busy, and all counters of operations say 0."""
    types = ("src_fp16_dst_fp32", "src_bf16_dst_fp32", "src_tf32_dst_fp32", "src_int8")
    counters = {f"sm__ops_path_tensor_{kind}.sum": 0 for kind in types}
    points = measured_points(counted(tmp_path, fp32(500) | DRAM | counters | {PIPE_PCT: 2.1}, capability=80))
    assert row_of(points) == (WorkType.FP32, 1000.0, "")


def test_names_categories_and_rows_are_those_of_the_launches(tmp_path: Path) -> None:
    names = ("void at::native::layer_norm_kernel<float, 4>(int)", "sgemm_128", "sgemm_128")
    points = measured_points(counted(tmp_path, *({"kernel": name} for name in names)))
    assert [points.strings[each] for each in points.name_id.tolist()] == list(names)
    assert points.strings[int(points.short_name_id[0])] == "layer_norm_kernel<float, 4>"
    assert points.category.tolist() == [Category.NORMALISATION, Category.GEMM, Category.GEMM]
    assert (points.calls.tolist(), points.origin_row.tolist()) == ([1, 1, 1], [0, 1, 2])
    assert points.sum_ns.tolist() == [10_000] * 3


def test_a_report_without_launches_has_no_points(tmp_path: Path) -> None:
    assert len(measured_points(counted(tmp_path))) == 0


def test_a_gemm_of_tensor_cores_reaches_what_was_counted(shared_cases: Path) -> None:
    """R01: 137,438,953,472 FLOP in 200 us, at 1024 FLOP a byte; 69% of the data sheet's dense BF16."""
    report = read_csv(shared_cases / "R01_tensor_only.csv")
    points = measured_points(report)
    rate = points.flop[0] / points.sum_ns[0] * 1e9
    assert (WorkType(points.work_type[0]), rate) == (WorkType.BF16_TENSOR, pytest.approx(687.19476736e12))
    intensity = points.flop[0] / points.moved_bytes[0, 0]
    roof = roof_flop_per_s(
        ceilings_of_device("NVIDIA H100 80GB HBM3"), WorkType.BF16_TENSOR, "dram", intensity
    )
    assert (intensity, roof) == (1024, 989.4e12)
    assert roof is not None
    assert round(rate / roof * 100) == 69


@pytest.mark.parametrize(
    ("name", "flop", "reason"),
    [
        ("R02_no_tensor_metric.csv", None, "tensor FLOP unknown: the tensor pipe ran 4,194,304 instructions"),
        ("R08_integer.csv", 0, "no floating-point work, DRAM 2.684 TB/s"),
        ("R10_zero_time.csv", 50_331_648, "duration 0"),
    ],
)
def test_handed_kernels_without_a_place_say_why(
    name: str, flop: float | None, reason: str, shared_cases: Path
) -> None:
    points = measured_points(read_csv(shared_cases / name))
    found = row_of(points)
    assert (None if np.isnan(found[1]) else found[1], found[2]) == (flop, reason)
    if name.startswith("R10"):
        assert points.flop[0] / points.moved_bytes[0, 0] == 0.375


def test_handed_kernels_with_a_place_stand_where_they_are_known_to(shared_cases: Path) -> None:
    healthy = read_csv(shared_cases / "N00_healthy_raw.csv")
    points = measured_points(healthy)
    intensities = points.flop / points.moved_bytes[:, 0]
    assert (intensities.tolist(), points.reason_id.tolist()) == ([1024, 0.375], [-1, -1])
    span = measured_work(read_csv(shared_cases / "N17_range.csv"))
    assert span.intensity(0, WorkType.BF16_TENSOR) == pytest.approx(341.333, rel=1e-5)
    assert span.intensity(0, WorkType.FP32) == 0.125
    assert span.intensity(0, WorkType.FP64) is span.intensity(0, WorkType.FP32, "l2") is None
    split = measured_points(read_csv(shared_cases / "N19_split_bytes.csv"))
    assert split.flop[0] / split.moved_bytes[0, 0] == 0.375
    assert split.moved_bytes[0, 0] / split.sum_ns[0] == pytest.approx(2684.35456)
    missing = measured_points(read_csv(shared_cases / "N10_na.csv"))
    assert [row_of(missing, row)[2] for row in (0, 1)] == ["", "bytes not measured"]


def test_a_point_above_its_roof_is_called_out(shared_cases: Path) -> None:
    report = read_csv(shared_cases / "R06_above_roof.csv")
    points = measured_points(report)
    device = report.devices[0]
    found = above_roof(points, 0, ceilings_of_device(device.name))
    assert found is not None
    assert found.times == pytest.approx(4.405, rel=1e-3)
    assert found.text.replace("\N{NO-BREAK SPACE}", " ") == (
        "4.41 times the BF16 tensor ceiling of 312.0 TFLOP/s (data sheet)"
    )


def test_the_estimate_of_a_matrix_product_is_what_a_plain_one_counts(shared_cases: Path) -> None:
    """Both kernels of this report multiply the same matrices, one on tensor cores, one with multiply-adds."""
    from core.readers.ncu_report.reader import read_report

    path = shared_cases.parents[1] / "data" / "ncu" / "ncu2024.1_a100-80gb-pcie_2k.ncu-rep"
    if not path.is_file():
        pytest.skip("the handed reports are not on this machine")
    points = measured_points(read_report(path))
    assert points.flop.tolist() == [2 * 384**3] * 2
    assert points.origin.tolist() == [PointOrigin.ESTIMATED, PointOrigin.MEASURED]
    assert [WorkType(each) for each in points.work_type] == [WorkType.INT8_TENSOR, WorkType.FP32]


def test_every_work_type_has_a_place_once() -> None:
    assert set(WORK_TYPES) == set(WorkType) - {WorkType.NONE, WorkType.BF16}
    assert [
        WorkType.FP64_TENSOR.title,
        WorkType.OTHER_TENSOR.title,
        WorkType.FP32.title,
        WorkType.NONE.title,
    ] == [
        "FP64 tensor",
        "Other tensor",
        "FP32",
        "",
    ]
