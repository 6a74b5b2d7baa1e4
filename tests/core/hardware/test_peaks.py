"""Peaks of devices: every entry of the file, the names that drivers report, and the user's own entries."""

from __future__ import annotations

import csv
import gzip
import json
import re
from collections import Counter
from dataclasses import FrozenInstanceError
from itertools import pairwise
from typing import TYPE_CHECKING, Literal

import pytest

from core.errors import DashboardError
from core.files import app_folders
from core.hardware.peaks import (
    DataType,
    DevicePeaks,
    Figure,
    devices_named,
    find_device,
    read_devices,
    shipped_devices,
)

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

T = 1e12

R05 = {
    # name: dense BF16 TFLOP/s, memory TB/s as the case prints it
    "NVIDIA H100 80GB HBM3": (989.4, "3.35"),
    "NVIDIA H100 PCIe": (756, "2.0"),
    "NVIDIA H100 NVL": (835, "3.9"),
    "NVIDIA H200": (989.4, "4.8"),
    "NVIDIA A100-SXM4-80GB": (312, "2.04"),
    "NVIDIA A100-PCIE-40GB": (312, "1.555"),
    "NVIDIA GH200 480GB": (989.4, "4.0"),
    "NVIDIA B200": (2250, "7.7"),
    "NVIDIA GeForce RTX 4090": (165.2, "1.008"),
    "NVIDIA L4": (121, "0.3"),
    "NVIDIA GB10": (None, "0.273"),
    "Tesla V100-SXM2-16GB": (None, "0.9"),
    "AMD Instinct MI300X": (1307, "5.3"),
}

KNOWN_WITHOUT_PEAKS = {
    "AMD Radeon Graphics",  # for any part that the driver cannot name: half an MI250 here, a laptop elsewhere
    "",  # an MI300X whose driver gave no name
}
"""Names in the handed traces that are deliberately not looked up."""

SPARSE_IS_NOT_TWICE = {("NVIDIA B300 SXM6 AC", DataType.FP4), ("NVIDIA GB300", DataType.FP4)}


def dense(name: str, data_type: DataType) -> float | None:
    device = find_device(name)
    assert device is not None
    peak = device.peak(data_type, "tensor")
    return None if peak is None else peak.dense_flop_per_s.value


def figures_of(device: DevicePeaks) -> Iterator[Figure]:
    single = (
        device.memory_bandwidth_bytes_per_s,
        device.l2_bytes,
        device.l2_bandwidth_bytes_per_s,
        device.power_w,
        device.boost_clock_mhz,
        device.tensor_clock_mhz,
    )
    rates = [figure for peak in device.peaks for figure in (peak.dense_flop_per_s, peak.sparse_flop_per_s)]
    for figure in (*single, *rates):
        if figure is not None:
            yield from (figure, *figure.alternatives)


def rates(device: DevicePeaks, unit: Literal["vector", "tensor"]) -> dict[DataType, float]:
    """Dense FLOP/s by type, as torch would use it (FP32 accumulation)."""
    return {
        data_type: peak.dense_flop_per_s.value
        for data_type in DataType
        if (peak := device.peak(data_type, unit)) is not None
    }


def test_each_figure_has_a_document_a_date_and_a_basis() -> None:
    for device in shipped_devices():
        assert list(figures_of(device)), device.name
    for figure in (figure for device in shipped_devices() for figure in figures_of(device)):
        assert figure.value > 0
        for source in (figure.source, *figure.confirmed_by):
            assert source.document
            assert re.fullmatch(r"20\d\d(-(0[1-9]|1[0-2]))?", source.date), source
        assert figure.basis in {"published", "computed", "measured"}
        assert figure.remark or not figure.doubtful, figure


def test_figures_have_the_size_that_their_unit_allows() -> None:
    for device in shipped_devices():
        bounds = (
            (device.memory_bandwidth_bytes_per_s, 50e9, 10e12),
            (device.l2_bytes, 1 * 2**20, 512 * 2**20),
            (device.l2_bandwidth_bytes_per_s, 1e12, 30e12),
            (device.power_w, 15, 1500),
            (device.boost_clock_mhz, 800, 3000),
            (device.tensor_clock_mhz, 1000, 3000),
        )
        for figure, low, high in bounds:
            for each in () if figure is None else (figure, *figure.alternatives):
                assert low <= each.value <= high, device.name
        for peak in device.peaks:
            assert 0.1 * T <= peak.dense_flop_per_s.value <= 15_000 * T, device.name


def test_wider_types_are_not_faster_and_tensor_units_not_slower() -> None:
    for device in shipped_devices():
        tensor, vector = rates(device, "tensor"), rates(device, "vector")
        for data_type in tensor.keys() & vector.keys():
            assert tensor[data_type] >= 0.999 * vector[data_type], (device.name, data_type)
        if {DataType.FP64, DataType.FP32} <= vector.keys():
            assert vector[DataType.FP64] <= 1.01 * vector[DataType.FP32], device.name
        narrowing = [
            tensor[data_type]
            for data_type in (DataType.TF32, DataType.FP16, DataType.FP8, DataType.FP4)
            if data_type in tensor
        ]
        for wide, narrow in pairwise(narrowing):
            assert 1.49 <= narrow / wide <= 4.1, device.name


def test_fp16_accumulation_is_stated_only_where_it_is_faster() -> None:
    for device in shipped_devices():
        usual = rates(device, "tensor")
        for peak in device.peaks:
            if peak.accumulator == "fp16" and peak.data_type in usual:
                assert peak.dense_flop_per_s.value >= 1.99 * usual[peak.data_type], device.name


def test_sparse_is_twice_the_dense_peak_and_only_on_tensor_units() -> None:
    for device in shipped_devices():
        for peak in device.peaks:
            if peak.sparse_flop_per_s is None:
                continue
            assert peak.unit == "tensor"
            assert peak.data_type is not DataType.FP64
            ratio = peak.sparse_flop_per_s.value / peak.dense_flop_per_s.value
            if (device.name, peak.data_type) in SPARSE_IS_NOT_TWICE:
                assert ratio == pytest.approx(4 / 3, rel=0.001)
            else:
                assert ratio == pytest.approx(2, rel=0.015), device.name  # L40S: 362.05 beside 733


def test_each_device_is_found_by_every_name_it_reports() -> None:
    for device in shipped_devices():
        memory = int(device.memory_sizes_gb[0] * 2**30 * 0.95) if device.memory_sizes_gb else None
        sm_count = device.sm_counts[0] if device.sm_counts else None
        for name in device.reported_names:
            assert find_device(name, memory_bytes=memory, sm_count=sm_count) == device
            assert device in devices_named(name)


def test_all_families_of_the_list_are_there() -> None:
    names = " | ".join(device.name for device in shipped_devices())
    families = (
        *(
            "V100-SXM2",
            "V100-PCIE",
            "A100-SXM4",
            "A100-PCIE",
            "A100 80GB PCIe",
            "H100 80GB HBM3",
            "H100 PCIe",
        ),
        *(
            "H100 NVL",
            "H200 |",
            "H200 NVL",
            "GH200",
            "B200",
            "GB200",
            "B300",
            "GB300",
            "T4",
            "A10",
            "L4 ",
            "L40S",
        ),
        *(f"RTX {card}" for card in ("2080 Ti", "3090", "4090", "5090")),
        *(f"RTX {card} Laptop GPU" for card in ("3080", "4090", "5090")),
        *("MI210", "MI250X", "MI300X", "MI300A", "MI325X", "MI350X", "MI355X"),
        *(f"Apple M{generation}" for generation in range(1, 6)),
        *("Arc(TM) A770", "Arc(TM) B580", "Max 1550", "Max 1100"),
    )
    assert [family for family in families if family not in names] == []


@pytest.mark.parametrize(("name", "expected"), R05.items())
def test_case_r05_every_name_has_its_own_figures(name: str, expected: tuple[float | None, str]) -> None:
    """Cases R05 and R11."""
    bf16_tflop_per_s, memory_tb_per_s = expected
    device = find_device(name)
    assert device is not None
    bandwidth = device.memory_bandwidth_bytes_per_s
    assert bandwidth is not None
    assert bandwidth.value / T == pytest.approx(float(memory_tb_per_s), rel=0.005)
    if bf16_tflop_per_s is None:
        assert dense(name, DataType.BF16) is None
    else:
        assert dense(name, DataType.BF16) == pytest.approx(bf16_tflop_per_s * T, rel=0.005)


def test_case_r05_further_figures() -> None:
    nvl = find_device("NVIDIA H100 NVL")
    assert nvl is not None
    peak = nvl.peak(DataType.BF16, "tensor")
    assert peak is not None
    assert peak.sparse_flop_per_s is not None
    assert peak.sparse_flop_per_s.value == pytest.approx(1671 * T, rel=0.001)
    b200 = find_device("NVIDIA B200")
    assert b200 is not None
    assert b200.memory_bandwidth_bytes_per_s is not None
    others = [figure.value / T for figure in b200.memory_bandwidth_bytes_per_s.alternatives]
    assert 8.0 in others
    assert dense("Tesla V100-SXM2-16GB", DataType.FP16) == 125 * T
    assert find_device("Some Future GPU 9000") is None
    assert devices_named("Some Future GPU 9000") == ()


def test_case_r05_input_holds_no_other_name(shared_cases: Path) -> None:
    with (shared_cases / "R05_devices.csv").open(encoding="utf-8", newline="") as file:
        names = {row["device__attribute_display_name"] for row in csv.DictReader(file)}
    assert names - {""} == {*R05, "Some Future GPU 9000"}


@pytest.mark.parametrize("name", ["NVIDIA A100-SXM4-80GB", "NVIDIA A100-PCIE-40GB", "NVIDIA A100 80GB PCIe"])
def test_case_r04_the_312_of_the_a100_is_dense(name: str) -> None:
    """Case R04."""
    assert dense(name, DataType.BF16) == 312 * T
    assert dense(name, DataType.TF32) == 156 * T


def test_case_r11_a_missing_type_is_absent_not_zero() -> None:
    """Case R11."""
    assert dense("Tesla V100-SXM2-16GB", DataType.FP8) is None
    assert dense("NVIDIA A100-SXM4-80GB", DataType.FP4) is None


@pytest.mark.parametrize(
    ("reported", "found"),
    [
        ("H100 PCIe", "NVIDIA H100 PCIe"),
        ("A100-SXM4-80GB", "NVIDIA A100-SXM4-80GB"),
        ("  nvidia  geforce rtx 4090 ", "NVIDIA GeForce RTX 4090"),
        ("GeForce RTX 4090 Laptop GPU", "NVIDIA GeForce RTX 4090 Laptop GPU"),
        ("AMD Instinct MI300X VF", "AMD Instinct MI300X"),
        ("AMD Instinct MI250X", "AMD Instinct MI250X (one GCD)"),
        ("NVIDIA GB200", "NVIDIA GB200"),
        ("NVIDIA B300", "NVIDIA B300 SXM6 AC"),
        ("Apple M4 Max", "Apple M4 Max"),
    ],
)
def test_names_as_drivers_report_them(reported: str, found: str) -> None:
    device = find_device(reported)
    assert device is not None
    assert device.name == found


@pytest.mark.parametrize(
    "name",
    [
        "NVIDIA H100",
        "NVIDIA A100",
        "AMD MI300X",
        "RTX 4090",
        "NVIDIA GeForce RTX 4090 D",
        "NVIDIA A10G",
        "",
        "B200 x8",
    ],
)
def test_names_that_are_not_whole_are_not_guessed(name: str) -> None:
    assert find_device(name) is None


def test_a_laptop_part_is_another_device() -> None:
    desktop, laptop = (
        find_device("NVIDIA GeForce RTX 4090"),
        find_device("NVIDIA GeForce RTX 4090 Laptop GPU"),
    )
    assert desktop is not None
    assert laptop is not None
    assert (desktop.sm_counts, laptop.sm_counts) == ((128,), (76,))


@pytest.mark.parametrize(
    ("memory_gib", "sm_count", "found"),
    [
        (9.8, None, "NVIDIA GeForce RTX 3080"),
        (11.7, None, "NVIDIA GeForce RTX 3080 12GB"),
        (None, 68, "NVIDIA GeForce RTX 3080"),
        (None, 70, "NVIDIA GeForce RTX 3080 12GB"),
        (None, None, None),
        (19.6, 68, None),
    ],
)
def test_products_of_one_name_are_told_apart(
    memory_gib: float | None, sm_count: int | None, found: str | None
) -> None:
    memory = None if memory_gib is None else int(memory_gib * 2**30)
    device = find_device("NVIDIA GeForce RTX 3080", memory_bytes=memory, sm_count=sm_count)
    assert (device and device.name) == found
    assert len(devices_named("NVIDIA GeForce RTX 3080")) == 2


def test_geforce_has_its_own_rate_with_fp16_accumulation() -> None:
    card = find_device("NVIDIA GeForce RTX 4090")
    assert card is not None
    usual, fast = card.peak(DataType.FP16, "tensor"), card.peak(DataType.FP16, "tensor", fp16_accumulate=True)
    assert usual is not None
    assert fast is not None
    assert usual.dense_flop_per_s.value == 165.2 * T
    assert fast.dense_flop_per_s.value == 330.3 * T


def test_handed_traces_name_known_devices(shared_cases: Path) -> None:
    names = Counter[str]()
    for path in sorted((shared_cases.parents[1] / "data" / "traces").glob("*.json.gz")):
        content = gzip.decompress(path.read_bytes())
        start = content.find(b'"deviceProperties"')
        if start < 0:
            continue
        part = content[start : start + 64 * 1024].decode(errors="replace")
        devices, _end = json.JSONDecoder().raw_decode(part, part.index("["))
        for properties in devices:
            name = properties["name"]
            names[name] += 1
            device = find_device(
                name, memory_bytes=properties["totalGlobalMem"], sm_count=properties["numSms"]
            )
            assert (device is None) == (name in KNOWN_WITHOUT_PEAKS), name
    assert len(names) == 10


def test_every_row_of_the_handed_table_is_in_the_file(shared_cases: Path) -> None:
    """Each vector FP32, BF16, bandwidth and power figure, as the value or as an alternative."""
    renamed = {
        "Orin": "Orin (AGX 64GB)",
        "AMD Instinct MI250X": "AMD Instinct MI250X (both GCDs)",
        "Intel(R) Data Center GPU Max 1550": "Intel(R) Data Center GPU Max 1550 (both stacks)",
        "Intel(R) Arc(TM) A770 Graphics": "Intel(R) Arc(TM) A770 Graphics (16GB)",
    }
    devices = {device.name: device for device in shipped_devices()}
    table = (shared_cases.parents[1] / "data" / "device_peaks.tsv").read_text(encoding="utf-8")
    rows = list(csv.DictReader(table.splitlines(), delimiter="\t", quoting=csv.QUOTE_NONE))
    missing = []
    for row in rows:
        device = devices[renamed.get(row["name"], row["name"])]
        fp32, bf16 = device.peak(DataType.FP32, "vector"), device.peak(DataType.BF16, "tensor")
        stated: dict[str, tuple[Figure | None, float]] = {
            "fp32": (None if fp32 is None else fp32.dense_flop_per_s, T),
            "bf16_tensor": (None if bf16 is None else bf16.dense_flop_per_s, T),
            "memory_bandwidth_gb_per_s": (device.memory_bandwidth_bytes_per_s, 1e9),
            "tdp_w": (device.power_w, 1.0),
        }
        for column, (figure, unit) in stated.items():
            known = () if figure is None else (figure, *figure.alternatives)
            if row[column] and float(row[column]) not in [round(each.value / unit, 6) for each in known]:
                missing.append((row["name"], column))
    assert len(rows) == 126
    assert missing == [("NVIDIA GB10", "bf16_tensor")]  # derived there; case R05: none is published


def test_handed_reports_name_known_devices(shared_cases: Path) -> None:
    """Names are read as strings that follow their length."""
    names = set[str]()
    for path in sorted((shared_cases.parents[1] / "data" / "ncu").glob("*.ncu-rep")):
        content = path.read_bytes()
        for match in re.finditer(rb"NVIDIA (A100|H100|GH200|GeForce)|Tesla [TV]", content):
            start = match.start()
            names.add(content[start : start + content[start - 1]].decode())
    assert len(names) == 16
    assert [name for name in sorted(names) if not devices_named(name)] == []


def own_file(text: str) -> None:
    folder = app_folders().config
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "device_peaks.toml").write_text(text, encoding="utf-8")


OWN = """
[[device]]
name = "Some Future GPU 9000"

  [[device.figures]]
  document = "My measurement"
  date = "2026-02"
  basis = "measured"
  memory_bandwidth_gb_per_s = 9000
  tensor_tflop_per_s = { bf16 = 3000 }
"""


def test_an_own_entry_is_found_and_a_change_is_seen() -> None:
    own_file(OWN)
    device = find_device("Some Future GPU 9000")
    assert device is not None
    assert device.memory_bandwidth_bytes_per_s is not None
    assert device.memory_bandwidth_bytes_per_s.value == 9e12
    assert device.memory_bandwidth_bytes_per_s.source.document == "My measurement"
    own_file(OWN.replace("bf16 = 3000", "bf16 = 33000"))
    assert dense("Some Future GPU 9000", DataType.BF16) == 33_000 * T


def test_own_figures_go_in_front_and_the_rest_stays() -> None:
    own_file(OWN.replace("Some Future GPU 9000", "NVIDIA A100-SXM4-80GB").replace("3000", "290"))
    device = find_device("A100-SXM4-80GB")
    assert device is not None
    peak = device.peak(DataType.BF16, "tensor")
    assert peak is not None
    assert (peak.dense_flop_per_s.value, peak.dense_flop_per_s.basis) == (290 * T, "measured")
    assert [other.value for other in peak.dense_flop_per_s.alternatives] == [312 * T]
    assert dense("A100-SXM4-80GB", DataType.TF32) == 156 * T
    assert device.l2_bytes is not None
    assert device.l2_bytes.value == 40 * 2**20
    assert (device.vendor, device.architecture, device.form, device.target) == (
        *("NVIDIA", "Ampere GA100", "SXM4", "8.0"),
    )


@pytest.mark.parametrize(
    ("wrong", "right", "line", "field"),
    [
        ("= 9000", '= "9 TB/s"', 9, "memory_bandwidth_gb_per_s"),
        ("= 9000", "= -1", 9, "memory_bandwidth_gb_per_s"),
        ("= 9000", "= nan", 9, "memory_bandwidth_gb_per_s"),
        ("= 9000", "= true", 9, "memory_bandwidth_gb_per_s"),
        ("bf16 = 3000", "bf17 = 3000", 10, "bf17"),
        ('"2026-02"', '"February"', 7, "date"),
        ('"measured"', '"guessed"', 8, "basis"),
        ('  date = "2026-02"\n', "", 5, "document and date"),
        ('name = "Some', 'label = "Some', 3, "label"),
        ("{ bf16 = 3000 }", "{ bf16 = 3000 }\n  sparse_tflop_per_s = { fp8 = 1 }", 11, "fp8"),
        ("  basis", '  source = "sheet"\n  basis', 5, "source"),
        ("name =", "name = =", 3, "not valid TOML"),
        ('name = "Some Future GPU 9000"', "", 2, "name"),
        ("  [[device.figures]]", "  [[device.figure]]", 5, "figure"),
        ("[[device]]", "[[devices]]", 2, "devices"),
    ],
)
def test_a_mistake_in_the_own_file_is_named_by_line_and_field(
    wrong: str, right: str, line: int, field: str
) -> None:
    own_file(OWN.replace(wrong, right))
    with pytest.raises(DashboardError) as error:
        find_device("NVIDIA H200")
    assert "device_peaks.toml" in error.value.message
    assert f"line {line}" in error.value.message
    assert field in error.value.message
    assert error.value.hint


def test_two_own_entries_of_one_name_are_refused() -> None:
    own_file(OWN + OWN)
    with pytest.raises(DashboardError, match=r"line 13, name: an entry above has the same name"):
        find_device("NVIDIA H200")


def test_a_file_that_is_not_text_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "device_peaks.toml"
    path.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(DashboardError, match="not UTF-8"):
        read_devices(path)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("a=" + "[" * 20_000, "device_peaks.toml: its lists or tables are nested too deeply."),
        ("a=" + "1" * 5_000, "device_peaks.toml: a number in it has too many digits."),
        (
            '[[device]]\nname = "a"\n[[device.figures]]\npower_w = "x"\n',
            "device_peaks.toml, line 4, power_w: Expected a number, got text.",
        ),
    ],
    ids=["nested", "digits", "type"],
)
def test_what_is_wrong_is_said_in_plain_words(tmp_path: Path, text: str, words: str) -> None:
    path = tmp_path / "device_peaks.toml"
    path.write_text(text)
    with pytest.raises(DashboardError) as caught:
        read_devices(path)
    assert caught.value.message == words


def test_the_table_is_read_once_and_cannot_be_changed() -> None:
    assert shipped_devices() is shipped_devices()
    device = shipped_devices()[0]
    with pytest.raises(FrozenInstanceError):
        device.name = "another"  # type: ignore[misc]
    assert device.note == "No BF16, TF32 or INT8 on its tensor cores."
