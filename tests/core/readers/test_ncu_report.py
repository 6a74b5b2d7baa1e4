"""Made-up reports with every kind of message: what is read of them, what is skipped, what is refused."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
import zstandard

from core.analyses.ncu_roofline import evaluate_rate
from core.errors import DashboardError
from core.readers.ncu_report.details import read_instances, read_source
from core.readers.ncu_report.reader import read_report
from core.readers.ncu_report.rules import read_markup
from core.tables.columns import MISSING, NO_ROW
from core.tables.ncu import Report, ReportDevice
from core.tables.ncu_sections import (
    BuiltinItem,
    ItemRow,
    RooflineChart,
    RooflineRate,
    SectionChart,
    SectionTable,
    SuffixTable,
    Timeline,
)
from tests.helpers import ncu_reports as made


def read(tmp_path: Path, data: bytes) -> Report:
    path = tmp_path / "made.ncu-rep"
    path.write_bytes(data)
    return read_report(path)


@pytest.fixture
def full(tmp_path: Path) -> Report:
    return read(tmp_path, made.full_report())


def one(tmp_path: Path, *results: bytes) -> Report:
    return read(tmp_path, made.report(made.block(results=results, texts=made.NAMES)))


def test_a_launch_has_its_columns(full: Report) -> None:
    launches = full.launches
    assert (full.kind, full.name, full.problems) == ("ncu_report", "made.ncu-rep", ())
    assert [full.strings[row] for row in launches.name_id.tolist()] == ["gemm(float *)", "range"]
    assert full.strings[launches.function_name_id[0]] == "gemm"
    assert full.strings[launches.mangled_name_id[0]] == "_Z4gemmPf"
    assert full.strings[launches.comment_id[0]] == "mine"
    assert launches.grid.tolist() == [[64, 64, 1], [MISSING] * 3]
    assert launches.block.tolist() == [[256, 1, 1], [MISSING] * 3]
    assert launches.duration_ns.tolist() == [25_792, 25_792]
    assert launches.created_ns[0] == 1_700_000_000_000_000_000
    assert (launches.thread_id[0], launches.context[0], launches.stream[0]) == (77, 1, 7)
    assert (launches.api_call_id[0], launches.source_reference[0]) == (5, 900)
    assert [(each.id, each.name, each.host) for each in full.processes] == [(4242, "/app/train", "host-7")]
    assert launches.process_row.tolist() == [0, 0]


def test_metrics_keep_what_they_are(full: Report) -> None:
    assert full.metric(0, "launch__grid_size") == 4096
    assert full.metric(0, "sm__throughput.avg.pct_of_peak_sustained_elapsed") == 31.5
    assert full.metric(0, "gpu__compute_memory_throughput.avg.pct_of_peak_sustained_elapsed") == 26.25
    assert full.metric(0, "device__attribute_compute_capability_major") == 9
    assert full.metric(0, "pmsampling:sm__cycles_active.avg") is None
    assert full.metric(1, "inst_executed") is None
    assert len(full.metrics.rows_of(0)) == 10
    assert len(full.metrics.rows_of(1)) == 7
    units = dict(zip(full.metric_names.texts, full.metric_names.units, strict=True))
    assert units["gpu__time_duration.sum"] == "ns"
    assert units["sm__throughput.avg.pct_of_peak_sustained_elapsed"] == "%"
    assert units["inst_executed"] == "inst"


def test_values_by_instance_come_when_asked_for(full: Report) -> None:
    by_address = read_instances(full, full.metric_row(0, "inst_executed"))
    assert by_address.key.tolist() == [0x7F00_0000_0000, 0x7F00_0000_0010, 0x7F00_0000_0020]
    assert by_address.integer.tolist() == [10, 11, 12]
    assert (by_address.key_texts, by_address.is_time_series) == ((), False)
    by_opcode = read_instances(full, full.metric_row(0, "sass__inst_executed_per_opcode"))
    assert (by_opcode.key_texts, by_opcode.number.tolist()) == (("HMMA", "MOV"), [40.0, 2.0])
    by_time = read_instances(full, full.metric_row(0, "pmsampling:sm__cycles_active.avg"))
    assert by_time.is_time_series
    assert by_time.key[3] == 1_700_000_000_000_000_003
    assert by_time.number.tolist() == [0.0, 0.5, 1.0, 1.5]
    assert len(read_instances(full, full.metric_row(0, "launch__grid_size"))) == 0


def test_the_session_is_put_together_from_all_blocks(full: Report) -> None:
    session = full.session
    assert (session.process_id, session.created_ns) == (4242, 1_700_000_001_000_000_000)
    assert session.tool_version == "2025.1.0.0 (build 1)"
    assert session.versions[0] == ("CUDA Version", "12.8")
    assert session.target is not None
    assert (session.target.os_name, session.target.computer_name) == ("Linux", "host-7")
    assert session.target.addresses == ("::1",)
    assert (session.executable, session.working_folder) == ("/app/train", "/app")
    assert (session.arguments, session.environment) == ("--lr\n1", "A=1")
    assert (session.command_line, session.comments) == ("ncu --set full app", "a note")


def test_launches_find_the_device_of_the_session(full: Report) -> None:
    assert full.launches.device_row.tolist() == [0, 0]
    device = full.devices[0]
    assert (device.id, device.name, device.compute_capability) == (0, "NVIDIA H100 PCIe", 90)
    assert device.sm_count == 114
    assert ("device__attribute_multiprocessor_count", 114) in device.attributes


def test_a_device_that_only_launches_name_is_one_too(tmp_path: Path) -> None:
    other = [*made.usual_metrics()[:4], made.metric(4, made.text_value("NVIDIA L4"))]
    found = one(tmp_path, made.result(), made.result(other), made.result())
    assert found.launches.device_row.tolist() == [0, 1, 0]
    assert found.devices[1] == ReportDevice(
        id=None, name="NVIDIA L4", attributes=(("device__attribute_display_name", "NVIDIA L4"),)
    )


def test_open_ranges_and_the_call_stack_belong_to_their_launch(full: Report) -> None:
    rows = [
        (full.strings[name], full.strings[domain], thread, depth)
        for name, domain, thread, depth in zip(
            full.nvtx.name_id.tolist(),
            full.nvtx.domain_id.tolist(),
            full.nvtx.thread_id.tolist(),
            full.nvtx.depth.tolist(),
            strict=True,
        )
    ]
    assert rows == [
        ("step 3", "torch", 77, 0),
        ("forward", "torch", 77, 1),
        ("epoch", "torch", MISSING, NO_ROW),
    ]
    assert full.nvtx.launch_row.tolist() == [0, 0, 0]
    frames = full.call_frames
    assert [full.strings[row] for row in frames.symbol_id.tolist()] == ["at::mm", "main"]
    assert full.strings[frames.file_id[0]] == "/a/b.cpp"
    assert [full.strings[row] for row in frames.module_id.tolist()] == ["libtorch.so", ""]
    assert (frames.line.tolist(), frames.address.tolist()) == ([31, MISSING], [2**63 + 5, 0])


def test_a_source_keeps_its_binary_packed_until_it_is_asked_for(full: Report) -> None:
    source = full.sources[0]
    assert (source.reference, source.sm_revision, source.sass_level) == (900, 90, 9)
    assert source.binary_bytes == 10
    assert source.imported_files == ("/a/gemm.cu",)
    assert [(each.mangled_name, each.base_address) for each in source.functions] == [
        ("_Z4gemmPf", 0x7F00_0000_0000)
    ]
    content = read_source(full, source)
    assert content.binary == b"\x7fELF cubin"
    assert content.files == (("/a/gemm.cu", "__global__ void gemm"),)


def test_a_section_keeps_its_layout(full: Report) -> None:
    assert full.launch_sections == ((0,), ())
    section = full.sections[0]
    assert (section.identifier, section.order, section.sets, section.extends) == (
        "SpeedOfLight",
        10,
        ("full",),
        "Parent",
    )
    assert [each.options[0].name for each in section.metrics] == ["further", "by_source"]
    assert section.definitions[0][:2] == ("derived__x", "a * 2")
    assert (section.header_rows, section.header[0].options[0].label) == (2, "Bytes")
    assert section.groups == (("group_a", "Group A"),)
    (body,) = section.bodies
    assert (body.label, body.is_default) == ("Chart", True)
    kinds = [type(placed.item) for placed in body.items]
    assert kinds == [
        SectionTable,
        SectionChart,
        SectionChart,
        ItemRow,
        RooflineChart,
        SectionTable,
        SuffixTable,
        *[BuiltinItem] * 10,
        Timeline,
        BuiltinItem,
    ]
    assert isinstance(body.items[-1].item, BuiltinItem)
    assert body.items[-1].item.kind == "unknown"


def test_items_of_a_section_hold_their_parts(full: Report) -> None:
    items = [placed.item for placed in full.sections[0].bodies[0].items]
    table, bars, line, row = items[:4]
    assert isinstance(table, SectionTable)
    assert (table.label, table.rows, table.columns, table.by_column, table.by_value) == (
        "Table",
        2,
        3,
        True,
        True,
    )
    old, chosen = table.metrics
    assert [old.resolve(each) is not None for each in (70, 75, None)] == [True, False, True]
    assert [(found := chosen.resolve(each)) and found.name for each in (70, 78, 86, 90)] == [
        "a__old.sum",
        None,
        "a__new.sum",
        "a__new.sum",
    ]
    assert [option.label for option in chosen.options] == ["Chosen", "New"]
    assert (chosen.multiplier, chosen.show_instances, chosen.unit) == (0.5, True, "thing")
    assert isinstance(bars, SectionChart)
    assert (bars.kind, bars.category.label, bars.value.high, bars.value.ticks) == ("bar", "Label", 100.0, 11)
    assert isinstance(line, SectionChart)
    assert [each.options[0].name for each in line.highlight] == ["dram__bytes.sum"]
    assert isinstance(row, ItemRow)
    assert [placed.filter.allows(75) for placed in row.items] == [False]
    roofline, hot_spots = items[4], items[5]
    assert isinstance(roofline, RooflineChart)
    assert (roofline.label, roofline.intensity_label, roofline.work_label) == ("Roofline", "Label", "Label")
    assert isinstance(hot_spots, SectionTable)
    assert (hot_spots.per_source, table.per_source) == (True, False)
    suffixes, timeline = items[6], items[-2]
    assert isinstance(suffixes, SuffixTable)
    assert (suffixes.suffixes, suffixes.bases[0].name) == (((".avg", "Average"),), "sm__cycles_active")
    assert isinstance(timeline, Timeline)
    assert [(label, len(metrics)) for label, metrics in timeline.rows] == [("SM", 1)]


def test_a_roofline_is_evaluated_as_it_is_defined(tmp_path: Path) -> None:
    names = ("peak", "clock", "done", "traffic")
    values = [made.metric(place, made.double(value)) for place, value in enumerate((100.0, 2.0, 8.0, 4.0))]
    launch = made.result(values, [made.section()])
    found = read(tmp_path, made.report(made.block(results=[launch], texts=names)))
    chart = found.sections[0].bodies[0].items[4].item
    assert isinstance(chart, RooflineChart)
    (roof,), (point,) = chart.roofs, chart.points
    assert roof.only_if_not_zero is not None
    assert (roof.label, roof.only_if_not_zero.options[0].name, point.label) == ("Roof", "tensor", "Point")
    # The same metric twice is added twice: that is how the oldest reports count a multiply-add as two.
    rates = [roof.work, roof.traffic, point.work, point.traffic, RooflineRate()]
    assert [evaluate_rate(found, 0, each) for each in rates] == [200.0, 200.0, 32.0, 4.0, None]


def test_launches_of_one_report_share_their_sections(tmp_path: Path) -> None:
    later = made.message({1: "Own", 2: "Of a user"})
    found = one(tmp_path, *[made.result(sections=[later, made.section()])] * 3)
    assert [each.identifier for each in found.sections] == ["Own", "SpeedOfLight"]
    # Shown by their order; those of users, which have none, last.
    assert found.launch_sections == ((1, 0),) * 3


def test_a_rule_keeps_its_messages_links_and_gain(full: Report) -> None:
    rule, silent = full.rules[0]
    assert (rule.identifier, rule.name, rule.section) == ("Latency", "Issue Latency", "SpeedOfLight")
    (message,) = rule.messages
    assert (message.kind, message.title, message.id) == ("optimization", "Latency", 1)
    assert message.text == "See Scheduler Statistics at 0x14a9, the guide."
    found = [(message.text[link.start : link.end], link.kind, link.target) for link in message.links]
    assert found == [
        ("Scheduler Statistics", "section", "SchedulerStats"),
        ("0x14a9", "source", "14a9"),
        ("the guide", "url", "https://x.y/z"),
    ]
    assert (rule.speedup_pct, rule.speedup_scope) == (12.5, "global")
    (focus,) = rule.focus
    assert (focus.name, focus.value, focus.severity, focus.info) == ("inst_executed", 8.5, "high", "8.5 < 16")
    assert [(each.label, each.metrics) for each in rule.tables] == [("Lines", ("inst_executed",))]
    (marker,) = rule.markers
    assert (marker.address, marker.line, marker.file) == (0x14A9, 31, "/a/gemm.cu")
    assert (silent.messages, silent.speedup_pct) == ((), None)


@pytest.mark.parametrize("text", ["", "a@b.c", "@section:", "@@", "@unknown:a:b@", "50% @ 3"])
def test_text_without_links_stays_as_it_is(text: str) -> None:
    assert read_markup(text) == (text, ())


def test_the_grid_of_old_reports_is_in_threads(tmp_path: Path) -> None:
    threads = made.message({1: 64 * 256, 2: 64, 3: 1})
    found = one(tmp_path, made.result(f10=threads), made.result(made.usual_metrics()[1:2], f10=threads))
    # Without the metric that tells, it is taken as it stands.
    assert found.launches.grid.tolist() == [[64, 64, 1], [64 * 256, 64, 1]]


def test_names_fall_back_to_shorter_ones(tmp_path: Path) -> None:
    found = one(tmp_path, made.result(f7=""), made.result(f7="", f6=""), made.result(f7="", f6="", f5=""))
    assert [found.strings[row] for row in found.launches.name_id.tolist()] == ["gemm", "_Z4gemmPf", "range"]


def test_what_is_not_finite_or_absent_was_not_measured(tmp_path: Path) -> None:
    metrics = [made.metric(2, made.double(float("nan"))), made.metric(3, made.double(float("inf")))]
    found = one(tmp_path, made.result([*metrics, made.metric(1, b""), made.metric(4, made.text_value(""))]))
    assert [found.metric(0, name) for name in made.NAMES[1:5]] == [None] * 4
    assert found.launches.duration_ns.tolist() == [MISSING]
    assert [(each.code, each.count) for each in found.problems] == [("no_duration", 1)]


def test_of_a_metric_that_stands_twice_the_first_value_counts(tmp_path: Path) -> None:
    values = [None, made.integer(5), made.integer(6)]
    found = one(tmp_path, made.result([made.metric(1, value) for value in values]))
    assert (found.metric(0, made.NAMES[1]), len(found.metrics)) == (5, 1)


def test_large_integers_are_exact(tmp_path: Path) -> None:
    found = one(tmp_path, made.result([made.metric(7, made.integer(2**64 - 1))]))
    assert found.metric(0, "inst_executed") == 2**64 - 1


def test_a_packed_report_is_the_same(tmp_path: Path, full: Report) -> None:
    data = made.full_report()
    packed = read(tmp_path, zstandard.compress(data[:500]) + zstandard.compress(data[500:]))
    assert packed.raw == full.raw
    assert packed.metrics.number.tobytes() == full.metrics.number.tobytes()


def test_a_bomb_is_refused_with_its_ratio(tmp_path: Path) -> None:
    bomb = zstandard.compress(b"NVR\x00" + bytes(2**27))
    with pytest.raises(DashboardError, match=r"unpacks to more than [\d,]+ times its size"):
        read(tmp_path, bomb)


def test_a_packed_report_that_is_cut_or_damaged_gives_what_is_whole(tmp_path: Path) -> None:
    noise = random.Random(1)
    launches = [made.result(f40=noise.randbytes(5000)) for _ in range(200)]
    blocks = [made.block(results=[launch], texts=made.NAMES) for launch in launches]
    packed = zstandard.compress(made.report(*blocks))
    found = read(tmp_path, packed[: len(packed) * 2 // 3])
    assert [each.code for each in found.problems] == ["cut_report"]
    assert 100 < len(found.launches) < 140
    middle = len(packed) // 2
    found = read(tmp_path, packed[:middle] + bytes(200_000) + packed[middle:])
    assert [each.code for each in found.problems] == ["cut_report"]
    with pytest.raises(DashboardError, match="ends before anything is unpacked"):
        read(tmp_path, packed[:20])
    with pytest.raises(DashboardError, match="damaged"):
        read(tmp_path, b"\x28\xb5\x2f\xfd" + b"no such frame")


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "The report is empty"),
        (b"NVR", "it starts with other bytes"),
        (b"ID,Kernel Name", "it starts with other bytes"),
        (b"NVR\x00", "no block length at byte 4 of 4"),
        (b"NVR\x00\x00\x01\x02\x03", "block length 50,462,976 at byte 4 of 8"),
        (b"NVR\x00\x02\x00\x00\x00\xff\xff", "the file header of 2 bytes cannot be decoded"),
        (made.report() + b"\x05", "its first block, at byte 10 of 11, is not whole"),
        (made.report(made.sized(b"\xff\xff")), "its first block, at byte 10 of 16, is not whole"),
    ],
)
def test_what_holds_nothing_whole_is_refused(tmp_path: Path, data: bytes, message: str) -> None:
    with pytest.raises(DashboardError) as refused:
        read(tmp_path, data)
    assert message in refused.value.message
    assert refused.value.hint.endswith(".")


def test_a_report_without_launches_says_so(tmp_path: Path) -> None:
    for data in (made.report(), made.report(made.block(sources=[made.source()]))):
        found = read(tmp_path, data)
        assert [each.message for each in found.problems] == ["No kernels in this file."]
        assert len(found.launches) == 0


def test_a_file_that_ends_early_keeps_what_is_whole(tmp_path: Path) -> None:
    whole = made.block(results=[made.result()], texts=made.NAMES)
    found = read(tmp_path, made.report(whole, whole[:-10]))
    assert len(found.launches) == 1
    assert [each.code for each in found.problems] == ["cut_report"]
    assert found.problems[0].message == "The file ends early: what is whole before that place is read."


def test_whole_launches_of_a_cut_block_are_kept(tmp_path: Path) -> None:
    whole = made.block(results=[made.result(), made.result()], texts=made.NAMES)
    found = read(tmp_path, made.report(whole, whole[:-10]))
    assert len(found.launches) == 3


def test_broken_parts_cost_nothing_else(tmp_path: Path) -> None:
    broken = b"\xff\xff\xff"
    parts = made.result(
        [*made.usual_metrics(), made.metric(99, made.integer(1))],
        [broken, made.section()],
        [broken, made.rule()],
        f21=broken,
        f28=broken,
    )
    data = made.report(
        made.block(
            sources=[broken],
            results=[broken, parts],
            texts=made.NAMES,
            session=b"\x0a\x05",
        )
    )
    found = read(tmp_path, data)
    assert [(each.code, each.count) for each in found.problems] == [
        ("broken_result", 1),
        ("broken_source", 1),
        ("broken_section", 1),
        ("broken_rule", 1),
        ("broken_context", 2),
        ("broken_session", 1),
        ("nameless_metric", 1),
    ]
    assert len(found.launches) == len(found.sections) == len(found.rules[0]) == 1
    assert len(found.metrics) == 7


def test_a_broken_block_ends_the_reading(tmp_path: Path) -> None:
    whole = made.block(results=[made.result()], texts=made.NAMES)
    found = read(tmp_path, made.report(whole, made.sized(b"\xff\xff"), whole))
    assert [each.code for each in found.problems] == ["broken_block"]
    assert found.problems[0].places == (f"byte {10 + len(whole):,}",)
    assert len(found.launches) == 1


def test_texts_that_are_no_utf8_are_shown_as_such(tmp_path: Path) -> None:
    found = one(tmp_path, made.result(f7=b"gemm\xff\xfe"))
    assert (
        found.strings[found.launches.name_id[0]] == "gemm\N{REPLACEMENT CHARACTER}\N{REPLACEMENT CHARACTER}"
    )


def test_a_newer_format_is_read_with_a_word(tmp_path: Path) -> None:
    block = made.block(results=[made.result(f40=b"new", f41=3)], texts=made.NAMES)
    found = read(tmp_path, made.report(block, version=8))
    assert [each.code for each in found.problems] == ["newer_format"]
    assert len(found.launches) == 1


def test_containers_in_containers_end_somewhere(tmp_path: Path) -> None:
    item = made.message({1: made.message({1: "deep"})})
    for _ in range(40):
        item = made.message({5: made.message({1: [item]})})
    section = made.message({1: "Deep", 5: [made.message({1: [item]})]})
    found = one(tmp_path, made.result(sections=[section]))
    assert [each.identifier for each in found.sections] == ["Deep"]


def test_progress_ends_the_reading_when_it_raises(tmp_path: Path) -> None:
    path = tmp_path / "made.ncu-rep"
    data = made.full_report()
    path.write_bytes(data)
    told: list[tuple[int, int]] = []
    read_report(path, lambda done, of: told.append((done, of)))
    assert told[-1] == (len(data), len(data))
    assert len(told) == 4

    def cancel(done: int, of: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        read_report(path, cancel)


def test_a_report_cut_anywhere_is_read_or_refused(tmp_path: Path) -> None:
    """Case N13's class: every place, to the byte."""
    data = made.full_report()
    counts = set()
    for length in range(len(data)):
        try:
            found = read(tmp_path, data[:length])
        except DashboardError as error:
            assert ("damaged" in error.message) or ("empty" in error.message) or length < 4  # noqa: PT017
        else:
            counts.add(len(found.launches))
    assert counts == {0, 1}
