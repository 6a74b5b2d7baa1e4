"""What is kept of measured ceilings: by machine and device, in a file that may be newer or damaged."""

from __future__ import annotations

import json
import platform
from dataclasses import replace
from typing import Any

import pytest

from core.errors import DashboardError
from core.files import app_folders
from core.roofline.ceilings import CeilingOrigin, Ceilings
from core.roofline.measurement import (
    FILE,
    MeasuredRate,
    Measurement,
    as_ceilings,
    ceilings_measured,
    is_plausible,
    keep_measurement,
)

RATE = MeasuredRate(type="fp32", size=4096, repeats=20, best_per_s=5e13, median_per_s=4e13)
GPU = Measurement(
    device="NVIDIA H100 PCIe",
    kind="cuda",
    capability=(9, 0),
    torch="2.13.0",
    measured_ns=1_795_996_310_000_000_000,
    rates=(RATE, replace(RATE, type="copy", size=2**30, best_per_s=2e12, median_per_s=1.9e12)),
)


def work(**changes: Any) -> list[str]:
    found = as_ceilings(replace(GPU, **changes))
    return [each.work_type.name for each in found.work]


def kept(device: str = GPU.device) -> Ceilings:
    found = ceilings_measured(device)
    assert found is not None
    return found


def test_a_measurement_says_size_date_version_and_median() -> None:
    keep_measurement(GPU)
    (roof,), (memory,) = kept().work, kept().traffic
    assert (roof.flop_per_s, memory.bytes_per_s, memory.level) == (5e13, 2e12, "dram")
    assert roof.source == "Product of 4096 × 4096 matrices, PyTorch 2.13.0, 2026-11-29"
    assert memory.source == "Copy of 1.1 GB, PyTorch 2.13.0, 2026-11-29"
    assert roof.remark == "Best of 20, median 40.00 TFLOP/s."
    assert roof.origin is memory.origin is CeilingOrigin.MEASURED


@pytest.mark.parametrize(
    ("kind", "capability", "expected"),
    [
        ("cuda", (9, 0), ["FP64_TENSOR", "FP32", "TF32_TENSOR", "FP16_TENSOR", "BF16_TENSOR", "FP8_TENSOR"]),
        ("cuda", (8, 9), ["FP64", "FP32", "TF32_TENSOR", "FP16_TENSOR", "BF16_TENSOR", "FP8_TENSOR"]),
        ("cuda", (7, 5), ["FP64", "FP32", "FP16_TENSOR"]),
        ("cuda", (6, 1), ["FP64", "FP32", "FP16", "BF16"]),
        ("mps", (0, 0), ["FP64", "FP32", "FP16", "BF16"]),
        ("cpu", (0, 0), ["FP64", "FP32", "FP16", "BF16"]),
    ],
)
def test_products_run_on_tensor_cores_where_there_are_any(
    kind: str, capability: tuple[int, int], expected: list[str]
) -> None:
    types = ("fp64", "fp32", "tf32", "fp16", "bf16", "fp8")
    rates = tuple(replace(RATE, type=each) for each in types)
    assert work(kind=kind, capability=capability, rates=rates) == expected


@pytest.mark.parametrize(
    ("best", "median"),
    [(0.0, 0.0), (float("inf"), 1.0), (float("nan"), 1.0), (1e19, 1e18), (1.0, 2.0), (1.0, -1.0)],
)
def test_rates_that_cannot_be_are_no_ceilings(best: float, median: float) -> None:
    odd = replace(RATE, best_per_s=best, median_per_s=median)
    assert not is_plausible(odd)
    assert work(rates=(odd,)) == []


def test_devices_and_machines_have_their_own_and_the_last_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    keep_measurement(GPU)
    keep_measurement(replace(GPU, device="other"))
    keep_measurement(replace(GPU, torch="3.0"))
    assert ["PyTorch 3.0" in kept().work[0].source, "PyTorch 3.0" in kept("other").work[0].source] == [
        True,
        False,
    ]
    with monkeypatch.context() as elsewhere:
        elsewhere.setattr(platform, "node", lambda: "elsewhere")
        assert ceilings_measured(GPU.device) is None
        keep_measurement(replace(GPU, torch="1.0"))
    assert "PyTorch 3.0" in kept().work[0].source


@pytest.mark.parametrize(
    "content",
    [
        "",
        "[]",
        "{",
        '{"schema": 1}',
        '{"schema": 1, "machines": {"NODE": {"NVIDIA H100 PCIe": 7}}}',
        "[" * 100_000,
    ],
    ids=["empty", "a list", "cut", "no machines", "no measurement", "nested"],
)
def test_a_damaged_file_counts_as_none_and_is_made_anew(content: str) -> None:
    folder = app_folders().data
    folder.mkdir(parents=True, exist_ok=True)
    (folder / FILE).write_text(content.replace("NODE", platform.node()))
    assert ceilings_measured(GPU.device) is None
    keep_measurement(GPU)
    assert kept().work


def test_a_file_of_a_newer_layout_is_not_overwritten() -> None:
    folder = app_folders().data
    folder.mkdir(parents=True, exist_ok=True)
    text = json.dumps({"schema": 2, "machines": {}})
    (folder / FILE).write_text(text)
    with pytest.raises(DashboardError, match="another Ridgeline"):
        keep_measurement(GPU)
    assert (folder / FILE).read_text() == text
