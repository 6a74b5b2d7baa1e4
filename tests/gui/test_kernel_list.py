"""The list of kernels without widgets: what is listed, in which order, and repeats as groups."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from core.readers.ncu_csv.reader import read_csv
from core.readers.ncu_report.reader import read_report
from gui.reports.kernel_list import KernelChoice, arrange, list_kernels, mean, sum_ns
from gui.widgets.nsight_kernels import spread_words
from tests.helpers.kernel_csv import write_kernel_csv
from tests.helpers.ncu_reports import full_report

if TYPE_CHECKING:
    from pathlib import Path

    from gui.reports.kernel_list import KernelList, SortKey

KERNELS = (
    ("void gemm<float>(float *)", 400, 80.0, 20.0),
    ("layer_norm", 100, 20.0, 90.0),
    ("void gemm<float>(float *)", 500, 82.0, 22.0),
    ("relu", 50, 10.0, 95.0),
)


@pytest.fixture
def kernels(tmp_path: Path) -> KernelList:
    return list_kernels(read_csv(write_kernel_csv(tmp_path / "k.csv", *KERNELS, processes=(1, 2))))


def rows(kernels: KernelList, **choice: object) -> list[tuple[int, ...]]:
    return [entry.rows for entry in arrange(kernels, KernelChoice(**choice))]  # type: ignore[arg-type]


def test_repeats_are_one_entry_that_opens(kernels: KernelList) -> None:
    assert rows(kernels) == [(0, 2), (1,), (3,)]
    opened = arrange(kernels, KernelChoice(open_groups=frozenset({0})))
    assert [(entry.rows, entry.is_member) for entry in opened] == [
        ((0, 2), False),
        ((0,), True),
        ((2,), True),
        ((1,), False),
        ((3,), False),
    ]
    assert rows(kernels, is_grouped=False) == [(0,), (1,), (2,), (3,)]


@pytest.mark.parametrize(
    ("sort", "first"),
    [
        ("file", [0, 1, 2, 3]),
        ("duration", [2, 0, 1, 3]),
        ("sm", [2, 0, 1, 3]),
        ("memory", [3, 1, 2, 0]),
        ("name", [0, 2, 1, 3]),
    ],
)
def test_every_order_puts_the_largest_first(kernels: KernelList, sort: SortKey, first: list[int]) -> None:
    assert [each[0] for each in rows(kernels, sort=sort, is_grouped=False)] == first


def test_a_group_stands_where_its_sum_does(kernels: KernelList) -> None:
    assert sum_ns(kernels, (0, 2)) == 900
    assert mean(kernels.sm_pct, (0, 2)) == pytest.approx(81.0)
    assert rows(kernels, sort="duration") == [(0, 2), (1,), (3,)]


def test_words_and_labels_choose(kernels: KernelList) -> None:
    assert rows(kernels, words=("gemm",)) == [(0, 2)]
    assert rows(kernels, words=("gemm", "norm")) == []
    assert kernels.choices("process") == ("app1 1", "app2 2")
    assert rows(kernels, labels=(("process", "app2 2"),)) == [(1,), (3,)]


def test_a_report_is_listed_with_its_ranges(tmp_path: Path) -> None:
    path = tmp_path / "r.ncu-rep"
    path.write_bytes(full_report())
    kernels = list_kernels(read_report(path))
    assert len(kernels) == 2
    assert kernels.shapes[0] == (
        "64 \N{MULTIPLICATION SIGN} 64 \N{MULTIPLICATION SIGN} 1",
        "256 \N{MULTIPLICATION SIGN} 1 \N{MULTIPLICATION SIGN} 1",
    )
    assert kernels.labels["nvtx"][0] == ("step 3", "forward", "epoch")
    assert rows(kernels, labels=(("nvtx", "epoch"),)) == [(0,)]


def test_durations_of_a_group_share_a_unit() -> None:
    assert spread_words([50_000, 51_000]) == "50.00 / 50.50 / 51.00 \N{MICRO SIGN}s"
    assert spread_words([900, 2_000]) == "900 ns / 1.450 \N{MICRO SIGN}s / 2.000 \N{MICRO SIGN}s"
