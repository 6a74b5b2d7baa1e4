"""Points of several documents under the ceilings of one device: where they stand, what a list says."""

from __future__ import annotations

import numpy as np
import pytest

from core.analyses.categories import Category
from core.roofline.ceilings import CeilingOrigin, Ceilings, TrafficCeiling, WorkCeiling
from core.roofline.places import join_points, places_of, take_points
from core.roofline.point_list import list_points, reasons, time_below_pct
from core.roofline.points import PointOrigin, PointTable, WorkType
from core.tables.columns import NO_ROW
from core.tables.strings import string_table

FP32, BF16 = WorkType.FP32, WorkType.BF16_TENSOR
SHEET = Ceilings(
    device="X",
    work=(
        WorkCeiling(work_type=FP32, flop_per_s=60e12, origin=CeilingOrigin.DATA_SHEET, source=""),
        WorkCeiling(work_type=BF16, flop_per_s=900e12, origin=CeilingOrigin.DATA_SHEET, source=""),
    ),
    traffic=(TrafficCeiling(level="dram", bytes_per_s=3e12, origin=CeilingOrigin.DATA_SHEET, source=""),),
)
NAN = float("nan")

Row = tuple[str, WorkType, float, float, int]


def table(*rows: Row, origin: PointOrigin = PointOrigin.MEASURED, why: str = "no counters") -> PointTable:
    """Rows of name, type, FLOP, DRAM bytes and time; one whose FLOP is not known says why."""
    texts: dict[str, int] = {}
    names = [texts.setdefault(row[0], len(texts)) for row in rows]
    why_ids = [texts.setdefault(why, len(texts)) if np.isnan(row[2]) else NO_ROW for row in rows]
    moved = np.full((len(rows), 3), NAN)
    moved[:, 0] = [row[3] for row in rows]
    return PointTable(
        strings=string_table(texts),
        name_id=np.array(names, np.int32),
        short_name_id=np.array(names, np.int32),
        category=np.full(len(rows), Category.GEMM, np.uint8),
        origin=np.full(len(rows), origin, np.uint8),
        work_type=np.array([row[1] for row in rows], np.uint8),
        flop=np.array([row[2] for row in rows]),
        moved_bytes=moved,
        sum_ns=np.array([row[4] for row in rows], np.int64),
        calls=np.ones(len(rows), np.int64),
        reason_id=np.array(why_ids, np.int32),
        origin_row=np.arange(len(rows), dtype=np.int32),
    )


def test_a_point_below_the_ridge_stands_under_the_slope_and_one_beyond_under_the_flat_part() -> None:
    # 1 FLOP a byte: 3 TFLOP/s at most. 1,000: 900 TFLOP/s.
    places = places_of(table(("a", FP32, 1e9, 1e9, 1_000_000), ("b", BF16, 450e9, 45e7, 1_000_000)), SHEET)
    assert places.intensity.tolist() == pytest.approx([1, 1000])
    assert places.flop_per_s.tolist() == pytest.approx([1e12, 450e12])
    assert places.bytes_per_s.tolist() == pytest.approx([1e12, 0.45e12])
    assert places.roof_flop_per_s.tolist() == pytest.approx([3e12, 900e12])
    assert places.of_roof_pct.tolist() == pytest.approx([100 / 3, 50])
    assert places.placed.all()


def test_without_one_of_its_lines_there_is_no_roof_but_a_place() -> None:
    places = places_of(table(("a", WorkType.FP64, 1e9, 1e9, 1_000_000)), SHEET)
    assert np.isnan(places.roof_flop_per_s[0])
    assert places.placed[0]


@pytest.mark.parametrize(
    "row",
    [
        ("no time", FP32, 1e9, 1e9, 0),
        ("no work", WorkType.NONE, 0.0, 1e9, 1000),
        ("no bytes", FP32, 1e9, 0.0, 1000),
        ("unknown", FP32, NAN, 1e9, 1000),
    ],
)
def test_what_cannot_be_drawn_on_logarithmic_axes_has_no_place_and_no_division_by_zero(row: Row) -> None:
    places = places_of(table(row), SHEET)
    assert not places.placed[0]
    assert len(list_points(table(row), places, "dram")) == 1


def test_a_kernel_of_no_duration_keeps_its_intensity() -> None:
    places = places_of(table(("a", FP32, 375.0, 1000.0, 0)), SHEET)
    assert places.intensity[0] == pytest.approx(0.375)
    assert np.isnan(places.flop_per_s[0])


def test_another_level_has_its_own_traffic_and_says_where_it_is_missing() -> None:
    points = table(("a", FP32, 1e9, 1e9, 1000))
    places = places_of(points, SHEET, "l2")
    assert not places.placed[0]
    assert reasons(points, places, "l2") == ["its L2 traffic is not known"]


def test_tables_are_joined_with_their_own_texts() -> None:
    first = table(("a", FP32, 1.0, 1.0, 1), ("b", FP32, NAN, 1.0, 1), why="x")
    second = table(("c", BF16, NAN, 1.0, 2), ("a", BF16, 3.0, 1.0, 2), origin=PointOrigin.MODELLED, why="y")
    both = join_points([first, second])
    assert [both.strings[each] for each in both.name_id.tolist()] == ["a", "b", "c", "a"]
    assert [both.strings[each] for each in both.reason_id.tolist()] == ["", "x", "y", ""]
    assert both.origin.tolist() == [0, 0, 2, 2]
    assert both.moved_bytes.shape == (4, 3)
    part = take_points(both, np.array([3, 0], np.int32))
    assert part.sum_ns.tolist() == [2, 1]


def test_time_below_a_share_of_the_roof_counts_kernels_whose_roof_is_known() -> None:
    # 33 % of their roofs for 1 ms, 50 % for 3 ms, and one without a roof.
    points = table(
        ("a", FP32, 1e9, 1e9, 1_000_000),
        ("b", BF16, 1350e9, 135e7, 3_000_000),
        ("c", WorkType.FP64, 1e9, 1e9, 9_000_000),
    )
    places = places_of(points, SHEET)
    assert time_below_pct(points, places, 40) == pytest.approx(25)
    assert time_below_pct(points, places, 60) == pytest.approx(100)
    assert time_below_pct(points, places_of(points, Ceilings(device="X")), 50) is None


def test_a_modelled_intensity_is_marked_as_the_most_it_can_be() -> None:
    points = join_points(
        [
            table(("a", FP32, 1e9, 1e9, 1000)),
            table(("b", FP32, 1e9, 1e9, 1000), origin=PointOrigin.MODELLED),
        ]
    )
    listed = list_points(points, places_of(points, SHEET), "dram")
    at_most = listed.column("intensity_flop_per_byte").at_most
    assert at_most is not None
    assert at_most.tolist() == [False, True]
    assert [listed.column("source").value(row) for row in (0, 1)] == ["Measured", "Modelled"]


def test_the_list_holds_what_has_no_place_with_the_reason() -> None:
    points = table(("copy", WorkType.NONE, NAN, 1e9, 1000), why="no floating-point work, DRAM 2.684 TB/s")
    listed = list_points(points, places_of(points, SHEET), "dram")
    assert listed.column("reason").value(0) == "no floating-point work, DRAM 2.684 TB/s"
    assert listed.column("work_type").value(0) is None
