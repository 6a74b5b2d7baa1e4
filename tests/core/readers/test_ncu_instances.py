"""Values by instance: all ways in which a key and a value may be written, broken ones, and very many."""

from __future__ import annotations

import math
import random
from pathlib import Path

import numpy as np
import pytest

from core.readers.ncu_report.container import Blocks
from core.readers.ncu_report.instances import LaunchInstances
from core.readers.ncu_report.reader import read_report
from core.tables.ncu import Instances
from tests.helpers.ncu_reports import (
    NAMES,
    block,
    double,
    instance,
    integer,
    message,
    metric,
    report,
    result,
    single,
    text_value,
    usual_metrics,
    varint,
)

MANY = 40
"""Enough to be decoded as columns."""


def instances(folder: Path, *messages: bytes, kind: int = 0) -> Instances:
    path = folder / "a.ncu-rep"
    metrics = [*usual_metrics(), metric(7, integer(1), messages, kind)]
    path.write_bytes(report(block(results=[result(metrics)], texts=NAMES)))
    found = read_report(path)
    return LaunchInstances(found, 0)(found.metric_row(0, NAMES[7]))


def small(number: int) -> bytes:
    return message({4: number})


@pytest.mark.parametrize("count", [1, MANY])
@pytest.mark.parametrize(
    ("value", "number", "exact"),
    [
        (integer(0), 0.0, 0),
        (integer(2**64 - 1), 2.0**64, 2**64 - 1),
        (small(7), 7.0, 7),
        (double(-2.5), -2.5, 0),
        (single(2, 0.25), 0.25, 0),
        (text_value("name"), math.nan, 0),
        (b"", math.nan, 0),
    ],
)
def test_a_value_is_read_however_it_is_written(
    tmp_path: Path, count: int, value: bytes, number: float, exact: int
) -> None:
    found = instances(tmp_path, *[instance(integer(16 * n), value) for n in range(count)])
    assert found.key.tolist() == [16 * n for n in range(count)]
    assert np.array_equal(found.number, np.full(count, number), equal_nan=True)
    assert found.integer.tolist() == [exact] * count


def test_texts_stand_beside_numbers(tmp_path: Path) -> None:
    numbers = [instance(integer(n), integer(n)) for n in range(MANY)]
    found = instances(tmp_path, *numbers, instance(text_value("HMMA"), text_value("GPU 0")))
    assert found.key_texts == (*[""] * MANY, "HMMA")
    assert found.texts == (*[""] * MANY, "GPU 0")
    assert math.isnan(found.number[-1])


def test_a_value_before_its_key_is_read_too(tmp_path: Path) -> None:
    turned = message({2: integer(3), 1: integer(5)})
    found = instances(tmp_path, *[turned] * MANY)
    assert found.key.tolist() == [5] * MANY
    assert found.number.tolist() == [3.0] * MANY


def test_a_broken_one_costs_no_other(tmp_path: Path) -> None:
    good = [instance(integer(n), integer(n + 1)) for n in range(MANY)]
    endless = message({1: b"\x28" + b"\xff" * 12, 2: integer(1)})
    found = instances(tmp_path, *good[:20], b"\x0a\x7f\x01", endless, *good[20:])
    assert found.key.tolist() == list(range(MANY))
    assert found.number.tolist() == [n + 1.0 for n in range(MANY)]


def test_a_small_number_that_does_not_fit_is_cut_like_any_reader_does(tmp_path: Path) -> None:
    large = b"\x20" + varint(2**32 + 5)
    assert instances(tmp_path, *[message({1: integer(1), 2: large})] * MANY).number[0] == 5.0


def test_moments_are_told(tmp_path: Path) -> None:
    start = 1_700_000_000_000_000_000
    found = instances(tmp_path, *[instance(integer(start + n), double(n)) for n in range(MANY)], kind=1)
    assert found.is_time_series
    assert found.key[-1] == start + MANY - 1


def test_very_many_are_exact(tmp_path: Path) -> None:
    rng = random.Random(3)
    values = [rng.getrandbits(rng.randrange(1, 65)) for _ in range(300_000)]
    found = instances(
        tmp_path, *[instance(integer(0x7F00_0000_0000 + 16 * n), integer(v)) for n, v in enumerate(values)]
    )
    assert found.integer.tolist() == values
    assert found.key[-1] == 0x7F00_0000_0000 + 16 * (len(values) - 1)


def test_a_metric_of_another_launch_has_none_here(tmp_path: Path) -> None:
    path = tmp_path / "a.ncu-rep"
    metrics = [*usual_metrics(), metric(7, integer(1), [instance(integer(1), integer(2))])]
    path.write_bytes(report(block(results=[result(metrics), result(metrics)], texts=NAMES)))
    found = read_report(path)
    assert len(LaunchInstances(found, 0)(found.metric_row(1, NAMES[7]))) == 0
    assert len(LaunchInstances(found, 1)(found.metric_row(1, NAMES[7]))) == 1


def test_values_are_found_without_walking_all_blocks_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "a.ncu-rep"
    blocks = []
    for launch in range(3):
        # Each block names the metric anew, so its number grows from launch to launch.
        metrics = [metric(launch, integer(1), [instance(integer(1), integer(launch))])]
        blocks.append(block(results=[result(metrics)], texts=["one__more.sum"]))
    path.write_bytes(report(*blocks))
    found = read_report(path)

    def walk(_: Blocks) -> None:
        raise AssertionError("a walk through all blocks for each launch is quadratic")

    monkeypatch.setattr(Blocks, "__iter__", walk)
    rows = [found.metric_row(launch, "one__more.sum") for launch in range(3)]
    values = [LaunchInstances(found, launch)(row) for launch, row in enumerate(rows)]
    assert [each.integer.tolist() for each in values] == [[0], [1], [2]]
