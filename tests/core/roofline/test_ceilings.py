"""Ceilings by data sheet and by report: which is the roof, where it bends, and what lies above it."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from core.hardware.peaks import DevicePeaks, find_device
from core.readers.ncu_csv.reader import read_csv
from core.roofline.ceilings import (
    CeilingOrigin,
    Ceilings,
    TrafficCeiling,
    WorkCeiling,
    above_roof,
    ceilings_of_device,
    ceilings_of_report,
    joined,
    ridge_point,
    roof_flop_per_s,
    roof_lines,
    work_ceiling,
)
from core.roofline.measured import measured_points
from core.roofline.points import WorkType
from tests.helpers.counted_launches import DRAM, counted, fp32

if TYPE_CHECKING:
    from pathlib import Path

SHEET, OWN, PROFILED = CeilingOrigin.DATA_SHEET, CeilingOrigin.OWN, CeilingOrigin.PROFILED
BF16 = WorkType.BF16_TENSOR
CLOCKS = {
    "sm__cycles_elapsed.avg.per_second": 1.5e9,
    "dram__cycles_elapsed.avg.per_second": 2e9,
    "sm__sass_thread_inst_executed_op_ffma_pred_on.sum.peak_sustained": 1000,
    "dram__bytes.sum.peak_sustained": 500,
}


def work(
    flop_per_s: float,
    origin: CeilingOrigin = SHEET,
    *,
    is_sparse: bool = False,
    is_fp16_accumulate: bool = False,
) -> WorkCeiling:
    return WorkCeiling(
        work_type=WorkType.FP32,
        flop_per_s=flop_per_s,
        is_sparse=is_sparse,
        is_fp16_accumulate=is_fp16_accumulate,
        origin=origin,
        source="",
    )


def dram(bytes_per_s: float, origin: CeilingOrigin = SHEET) -> TrafficCeiling:
    return TrafficCeiling(level="dram", bytes_per_s=bytes_per_s, origin=origin, source="")


def made(*ceilings: WorkCeiling | TrafficCeiling) -> Ceilings:
    return Ceilings(
        device="made",
        work=tuple(each for each in ceilings if isinstance(each, WorkCeiling)),
        traffic=tuple(each for each in ceilings if isinstance(each, TrafficCeiling)),
    )


@pytest.mark.parametrize(
    ("name", "bf16", "bandwidth"),
    [
        ("NVIDIA H100 80GB HBM3", 989.4, 3.35),
        ("NVIDIA H100 PCIe", 756, 2.0),
        ("NVIDIA H100 NVL", 835, 3.9),
        ("NVIDIA H200", 989.4, 4.8),
        ("NVIDIA A100-SXM4-80GB", 312, 2.04),
        ("NVIDIA A100-PCIE-40GB", 312, 1.555),
        ("NVIDIA GH200 480GB", 989.4, 4.0),
        ("NVIDIA B200", 2250, 7.7),
        ("NVIDIA GeForce RTX 4090", 165.2, 1.008),
        ("NVIDIA L4", 121, 0.3),
        ("NVIDIA GB10", None, 0.273),
        ("Tesla V100-SXM2-16GB", None, 0.9),
        ("AMD Instinct MI300X", 1307, 5.3),
        ("Some Future GPU 9000", None, None),
    ],
)
def test_every_name_gets_its_own_figures(name: str, bf16: float | None, bandwidth: float | None) -> None:
    """R05, R04: dense, within 0.5% of the data sheet, each with its source."""
    found = ceilings_of_device(name)
    roof = work_ceiling(found, BF16, SHEET)
    assert (None if roof is None else roof.flop_per_s / 1e12) == (bf16 and pytest.approx(bf16, rel=5e-3))
    traffic = [each for each in found.traffic if each.level == "dram"]
    rates = [each.bytes_per_s / 1e12 for each in traffic]
    assert rates == ([] if bandwidth is None else [pytest.approx(bandwidth, rel=5e-3)])
    assert all(each.source for each in found.work)
    assert all(each.source for each in found.traffic)
    assert bool(found.note) or bandwidth is not None


def test_sparse_figures_are_marked_and_never_a_roof() -> None:
    found = ceilings_of_device("NVIDIA H100 NVL")
    of_type = {each.is_sparse: each.flop_per_s for each in found.work if each.work_type == BF16}
    assert of_type == {False: pytest.approx(835.5e12), True: pytest.approx(1671e12)}
    assert roof_flop_per_s(found, BF16, "dram", 1e9) == pytest.approx(835.5e12)


def test_what_other_documents_say_is_kept_beside() -> None:
    (dram_ceiling,) = ceilings_of_device("NVIDIA B200").traffic
    assert "8.000 TB/s" in dram_ceiling.remark.replace("\N{NO-BREAK SPACE}", " ")


def test_a_device_that_is_not_named_or_not_known_has_none_and_says_why() -> None:
    assert ceilings_of_device(None).note.startswith("The file does not name its device")
    unknown = ceilings_of_device("Some Future GPU 9000")
    assert (unknown.work, unknown.traffic, unknown.device) == ((), (), "Some Future GPU 9000")
    assert "own" in unknown.note
    several = ceilings_of_device("NVIDIA H100")
    assert not several.work


def test_a_part_of_a_device_is_not_taken_for_the_whole() -> None:
    """A slice of a GPU reports fewer SMs and less memory under the whole one's name."""
    slice_of_it = ceilings_of_device("NVIDIA H100 PCIe", sm_count=14)
    assert not slice_of_it.work
    assert slice_of_it.note == (
        "The data sheet of this name is of a device with 114 SMs, and this one has 14."
    )
    smaller = ceilings_of_device("NVIDIA H100 PCIe", memory_bytes=10 * 2**30, sm_count=114)
    assert smaller.note == "The data sheet of this name is of a device with another size of memory."


def test_own_figures_are_told_from_those_of_the_data_sheet(private_folders: Path) -> None:
    """An entry of the user replaces the bandwidth of an H100 PCIe, and nothing else."""
    text = '[[device]]\nname = "NVIDIA H100 PCIe"\n[[device.figures]]\ndocument = "mine"\ndate = "2026"\n'
    own = private_folders / "config" / "ridgeline"
    own.mkdir(exist_ok=True)
    (own / "device_peaks.toml").write_text(text + "memory_bandwidth_gb_per_s = 1900\n")
    found = ceilings_of_device("NVIDIA H100 PCIe")
    traffic = next(each for each in found.traffic if each.level == "dram")
    assert (traffic.bytes_per_s, traffic.origin, traffic.source) == (1.9e12, OWN, "mine, 2026")
    assert {each.origin for each in found.work} == {SHEET}


def test_a_device_can_be_given_as_such() -> None:
    device = find_device("NVIDIA L4")
    assert isinstance(device, DevicePeaks)
    assert ceilings_of_device(device).work == ceilings_of_device("NVIDIA L4").work
    other = replace(device, name="mine")
    assert {each.origin for each in ceilings_of_device(other).work} == {OWN}


def test_a_roof_takes_both_lines_from_one_origin() -> None:
    ceilings = made(work(10, OWN), work(20), dram(4), work(5, PROFILED), dram(1, PROFILED))
    assert roof_lines(ceilings, WorkType.FP32) == (work(20), dram(4))
    assert roof_flop_per_s(ceilings, WorkType.FP32, "dram", 2) == 8
    assert roof_flop_per_s(ceilings, WorkType.FP32, "dram", 6) == 20
    assert ridge_point(ceilings, WorkType.FP32) == (5, 20)
    assert ridge_point(ceilings, WorkType.FP32, origins=(PROFILED,)) == (5, 5)
    assert roof_flop_per_s(ceilings, WorkType.FP32, "l2", 2) is None
    assert roof_flop_per_s(ceilings, WorkType.FP64, "dram", 2) is None
    assert ridge_point(made(work(10, OWN), dram(4)), WorkType.FP32) is None
    assert (
        roof_lines(made(work(9, is_sparse=True), work(8, is_fp16_accumulate=True), dram(1)), WorkType.FP32)
        is None
    )


def test_ceilings_of_a_report_are_those_of_its_clocks(tmp_path: Path) -> None:
    found = ceilings_of_report(counted(tmp_path, CLOCKS), 0)
    assert [(each.work_type, each.flop_per_s, each.origin) for each in found.work] == [
        (WorkType.FP32, 3e12, PROFILED)
    ]
    assert [(each.level, each.bytes_per_s) for each in found.traffic] == [("dram", 1e12)]
    assert "1.500 GHz" in found.note
    assert (found.device, found.work[0].source) == ("NVIDIA H100 PCIe", "counted.ncu-rep, SM clock 1.500 GHz")


@pytest.mark.parametrize("metrics", [{}, {"sm__cycles_elapsed.avg.per_second": 1e9}])
def test_a_report_without_peaks_says_what_to_run(tmp_path: Path, metrics: dict[str, float]) -> None:
    found = ceilings_of_report(counted(tmp_path, metrics), 0)
    assert (found.work, found.traffic) == ((), ())
    assert found.note == "Peak rates were not collected: run ncu --set roofline."


def test_ceilings_of_one_device_can_be_put_together(tmp_path: Path) -> None:
    sheet, profiled = ceilings_of_device("NVIDIA H100 PCIe"), ceilings_of_report(counted(tmp_path, CLOCKS), 0)
    both = joined(sheet, profiled, profiled)
    assert both.device == "NVIDIA H100 PCIe"
    assert both.work == (*sheet.work, *profiled.work, *profiled.work)
    assert both.note == f"{sheet.note} {profiled.note}"


@pytest.mark.parametrize(
    ("ceilings", "said"),
    [
        ((work(100e6), dram(1e12)), None),
        # 1,000 FLOP and 1 MB in 10 us: 100 MFLOP/s, 100 GB/s.
        ((work(99.5e6), dram(1e12)), None),
        ((work(50e6), dram(1e12)), "2.00 times the FP32 ceiling of 50.00 MFLOP/s (data sheet)"),
        ((work(1e12), dram(25e9)), "4.00 times the DRAM ceiling of 25.00 GB/s (data sheet)"),
        ((work(50e6), dram(25e9)), "4.00 times the DRAM ceiling of 25.00 GB/s (data sheet)"),
        (
            (work(50e6), work(100e6, is_sparse=True)),
            "2.00 times the FP32 ceiling of 50.00 MFLOP/s (data sheet); 2:4 sparsity would allow it",
        ),
        ((work(50e6), work(100e6, is_fp16_accumulate=True)), None),
        ((work(50e6), work(100e6, OWN)), None),
        ((), None),
    ],
)
def test_the_worst_ceiling_that_is_passed_is_called_out(
    tmp_path: Path, ceilings: tuple[WorkCeiling | TrafficCeiling, ...], said: str | None
) -> None:
    found = above_roof(measured_points(counted(tmp_path, fp32(500) | DRAM)), 0, made(*ceilings))
    assert (found and found.text.replace("\N{NO-BREAK SPACE}", " ")) == said


def test_a_launch_without_duration_is_above_nothing(tmp_path: Path) -> None:
    report = counted(tmp_path, fp32(500) | DRAM | {"gpu__time_duration.sum": 0})
    assert above_roof(measured_points(report), 0, made(work(1), dram(1))) is None


def test_the_roof_follows_the_type_of_the_kernel(shared_cases: Path) -> None:
    """R07, R11: BF16 work is held against BF16, and a device without such a roof has none."""
    points = measured_points(read_csv(shared_cases / "R01_tensor_only.csv"))
    work_type = WorkType(int(points.work_type[0]))
    h100, v100 = ceilings_of_device("NVIDIA H100 80GB HBM3"), ceilings_of_device("Tesla V100-SXM2-16GB")
    assert work_type is BF16
    assert roof_flop_per_s(h100, work_type, "dram", 1024) == 989.4e12
    assert roof_flop_per_s(h100, WorkType.TF32_TENSOR, "dram", 1024) == pytest.approx(494.7e12, rel=1e-3)
    assert roof_flop_per_s(v100, BF16, "dram", 1024) is None
    assert roof_flop_per_s(v100, WorkType.FP8_TENSOR, "dram", 1024) is None
    assert roof_flop_per_s(v100, WorkType.FP16_TENSOR, "dram", 1024) == pytest.approx(125e12, rel=1e-2)
    healthy = read_csv(shared_cases / "N00_healthy_raw.csv")
    assert not ceilings_of_device(healthy.devices[0].name).traffic
