"""Looking metrics up in a report: exact integers, texts, what has no value, what was not collected."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from core.tables.columns import MISSING, NO_ROW
from core.tables.ncu import (
    CallFrameTable,
    LaunchTable,
    MetricKind,
    MetricNames,
    MetricTable,
    NvtxTable,
    Report,
    ReportDevice,
    SessionFacts,
)
from core.tables.ncu_sections import ArchFilter, MetricOption, SectionMetric
from core.tables.strings import string_table

ADDRESS = 2**63 + 1


def launches(count: int) -> LaunchTable:
    ids = np.full(count, NO_ROW, np.int32)
    missing = np.full(count, MISSING, np.int64)
    shapes = np.full((count, 3), MISSING, np.int64)
    return LaunchTable(
        name_id=np.zeros(count, np.int32),
        function_name_id=ids,
        mangled_name_id=ids,
        grid=shapes,
        block=shapes,
        duration_ns=missing,
        created_ns=missing,
        process_row=ids,
        device_row=np.array([0] + [NO_ROW] * (count - 1), np.int32),
        thread_id=missing,
        context=missing,
        stream=missing,
        api_call_id=missing,
        source_reference=missing,
        comment_id=ids,
        raw_begin=missing,
        raw_bytes=missing,
    )


def report() -> Report:
    none = np.empty(0, np.int32)
    metrics = MetricTable(
        launch_row=np.array([0, 0, 0, 1], np.int32),
        name_id=np.array([0, 1, 2, 3], np.int32),
        kind=np.array(
            [MetricKind.FLOAT, MetricKind.INTEGER, MetricKind.NONE, MetricKind.TEXT],
            np.uint8,
        ),
        number=np.array([0.0, float(ADDRESS), np.nan, np.nan]),
        integer=np.array([0, ADDRESS, 0, 0], np.uint64),
        text_id=np.array([NO_ROW, NO_ROW, NO_ROW, 1], np.int32),
        instances=np.zeros(4, np.int32),
    )
    return Report(
        kind="ncu_report",
        name="some.ncu-rep",
        strings=string_table(["kernel", "a,b"]),
        launches=launches(2),
        metric_names=MetricNames(("a.pct", "address", "empty", "group:x"), ("%", "", "", "")),
        metrics=metrics,
        nvtx=NvtxTable(none, none, none, np.empty(0, np.int64), none),
        call_frames=CallFrameTable(none, none, none, none, np.empty(0, np.int64), np.empty(0, np.uint64)),
        sections=(),
        launch_sections=((), ()),
        rules=((), ()),
        sources=(),
        devices=(ReportDevice(id=0, name="NVIDIA L4", compute_capability=89),),
        processes=(),
        session=SessionFacts(),
        problems=(),
    )


def test_a_value_is_exact_and_a_missing_one_is_none() -> None:
    found = report()
    assert found.metric(0, "a.pct") == 0.0
    assert found.metric(0, "address") == ADDRESS
    assert found.metric(0, "empty") is None
    assert found.metric(0, "group:x") is None
    assert found.metric(1, "group:x") == "a,b"
    assert found.metric(1, "never heard of") is None


def test_a_column_has_a_value_for_each_launch() -> None:
    assert report().column("a.pct").tolist()[0] == 0.0
    assert np.isnan(report().column("a.pct")[1])
    assert np.isnan(report().column("never heard of")).all()


def test_a_launch_finds_its_device() -> None:
    assert [device and device.name for device in map(report().device_of, (0, 1))] == ["NVIDIA L4", None]


def test_metrics_out_of_order_are_refused() -> None:
    table = report().metrics
    with pytest.raises(ValueError, match="not ordered"):
        replace(table, launch_row=table.launch_row[::-1].copy())
    with pytest.raises(ValueError, match="2 launches, 1 lists"):
        replace(report(), rules=((), ()), launch_sections=((),))


@pytest.mark.parametrize(("capability", "name"), [(70, "old"), (86, "middle"), (100, None), (None, "old")])
def test_the_first_option_that_the_device_passes_is_shown(capability: int | None, name: str | None) -> None:
    place = SectionMetric(
        options=(
            MetricOption(name="old", label="Old", filter=ArchFilter(ranges=((None, 72),))),
            MetricOption(name="middle", label="Middle", filter=ArchFilter(ranges=((75, 86), (89, 90)))),
        )
    )
    found = place.resolve(capability)
    assert (found and found.name) == name
