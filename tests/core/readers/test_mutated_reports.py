"""Damaged reports and tables of Nsight Compute: whatever the damage, a report or a refusal in words.

A small part of what ``make fuzz`` does in hours, and every cut of some files.
"""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from core.readers.ncu_report.reader import read_report
from tests.fuzz.report_checks import check_report
from tests.fuzz.report_mutations import damaged
from tests.fuzz.seed_reports import counted_report, seeds

REPORTS = Path(__file__).parents[4] / "shared" / "data" / "ncu"
HANDED = (
    "ncu2020.1_v100-sxm2-32gb_1k.ncu-rep",
    "ncu2024.3_rtx-4070-ti-super_1k.ncu-rep",
    "ncu2026.2_rtx-5060-laptop-gpu_1k.ncu-rep",
)
SEEDS = list(seeds().items())
SAME_FOLDER = [HealthCheck.function_scoped_fixture]


@settings(max_examples=200, deadline=None, suppress_health_check=SAME_FOLDER, database=None)
@given(seed=st.integers(0, 2**32))
def test_a_damaged_file_opens_or_is_refused_in_words(seed: int, tmp_path: Path) -> None:
    suffix, data = damaged(SEEDS, Random(seed))
    path = tmp_path / f"case{suffix}"
    path.write_bytes(data)
    check_report(path)


def check_cuts(data: bytes, path: Path) -> list[int]:
    """Cuts a file at every 1%; returns how many launches each cut leaves, -1 where it is refused."""
    left = []
    for percent in range(100):
        path.write_bytes(data[: len(data) * percent // 100])
        report = check_report(path)
        left.append(-1 if report is None else len(report.launches))
        assert report is None or report.problems
    return left


@pytest.mark.parametrize("name", [name for name, _ in SEEDS if name.endswith(("rep", "repz"))])
def test_a_cut_report_keeps_what_is_whole(name: str, tmp_path: Path) -> None:
    data = seeds()[name]
    left = check_cuts(data, tmp_path / name)
    assert left == sorted(left)
    assert left[0] == -1


def test_each_launch_of_a_cut_report_stays_as_it_was(tmp_path: Path) -> None:
    data = counted_report()
    left = check_cuts(data, tmp_path / "cut.ncu-rep")
    assert set(left) == {-1, 0, 1, 2}
    (tmp_path / "cut.ncu-rep").write_bytes(data[: len(data) * 99 // 100])
    (tmp_path / "whole.ncu-rep").write_bytes(data)
    cut, whole = (read_report(tmp_path / f"{name}.ncu-rep") for name in ("cut", "whole"))
    for row in range(len(cut.launches)):
        for name in whole.metric_names.texts:
            assert cut.metric(row, name) == whole.metric(row, name)


@pytest.mark.parametrize("name", HANDED)
def test_a_handed_report_cut_anywhere_opens_or_is_refused(name: str, tmp_path: Path) -> None:
    if not (REPORTS / name).is_file():
        pytest.skip("the handed reports are not on this machine")
    left = check_cuts((REPORTS / name).read_bytes(), tmp_path / name)
    assert left == sorted(left)
