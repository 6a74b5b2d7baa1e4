"""Speed of light, rules, occupancy, stalls, session and context of launches of made reports."""

from __future__ import annotations

from pathlib import Path

import pytest

from core.analyses.report_view.facts import OccupancyView, TextRun
from core.analyses.report_view.occupancy import occupancy_view
from core.analyses.report_view.rules import rule_views, text_runs
from core.analyses.report_view.session import clock_control, frame_views, range_views, session_view
from core.analyses.report_view.speed_of_light import speed_of_light
from core.analyses.report_view.stalls import stall_view
from core.readers.ncu_report.instances import LaunchInstances
from core.readers.ncu_report.reader import read_report
from core.tables.ncu import Report, SessionFacts
from core.tables.ncu_rules import RuleMessage, TextLink
from tests.helpers import ncu_reports as made
from tests.helpers.made_launches import spoken_rule
from tests.helpers.ncu_reports import Launch, Value, launch_report, message, section_of

SM = "sm__throughput.avg.pct_of_peak_sustained_elapsed"
MEMORY = "gpu__compute_memory_throughput.avg.pct_of_peak_sustained_elapsed"


def read(folder: Path, *launches: Launch, **parts: bytes) -> Report:
    path = folder / "a.ncu-rep"
    path.write_bytes(launch_report(*launches, **parts))
    return read_report(path)


def full(folder: Path) -> Report:
    path = folder / "full.ncu-rep"
    path.write_bytes(made.full_report())
    return read_report(path)


def test_speed_of_light_has_its_five_bars_and_what_they_are_made_of(tmp_path: Path) -> None:
    values: dict[str, Value] = {
        SM: 25.5,
        MEMORY: 67.0,
        "l1tex__throughput.avg.pct_of_peak_sustained_active": 18.5,
        "lts__throughput.avg.pct_of_peak_sustained_elapsed": 0,
        f"breakdown:{SM}": "sm__inst_issued.avg.pct,sm__issue_active.avg.pct,idc__request_cycles.avg.pct",
        "sm__inst_issued.avg.pct": 20.0,
        "sm__issue_active.avg.pct": 25.5,
        f"breakdown:{MEMORY}": "dram__cycles_active.avg.pct,lts__t_sectors.avg.pct",
        "dram__cycles_active.avg.pct": 67.0,
    }
    report = read(tmp_path, Launch(values=values))
    found = speed_of_light(report, 0, LaunchInstances(report, 0))
    assert [(bar.label, bar.pct, bar.level) for bar in found.bars] == [
        ("SM", 25.5, 0),
        ("Memory", 67.0, 0),
        ("L1/TEX", 18.5, 1),
        ("L2", 0.0, 1),
        ("DRAM", None, 1),
    ]
    assert [(row.label, row.cell.value) for row in found.compute.rows] == [
        ("Issue active", 25.5),
        ("Instructions issued", 20.0),
    ]
    assert [(row.label, row.cell.value) for row in found.memory.rows] == [("DRAM, cycles active", 67.0)]
    assert (found.note, found.compute.note) == ("", "")


def test_speed_of_light_that_was_not_collected_says_so(tmp_path: Path) -> None:
    report = read(tmp_path, Launch())
    found = speed_of_light(report, 0, LaunchInstances(report, 0))
    assert {bar.pct for bar in found.bars} == {None}
    # The verdict asks for it too: one set holds both.
    assert found.note == found.compute.note == "Not collected: run `ncu --set roofline`."


def rule_of(name: str, kind: int, speedup: float | None = None) -> bytes:
    items = [message({1: message({1: f"{name}.", 2: kind, 4: name})})]
    items += [] if speedup is None else [message({10: message({1: 1, 2: speedup})})]
    return message({1: name, 2: name, 3: message({1: items}), 4: "Made"})


def test_rules_come_by_speedup_then_by_severity(tmp_path: Path) -> None:
    rules = [
        rule_of("Note", 0),
        rule_of("Small", 4, 5.0),
        rule_of("Warning", 2),
        rule_of("Large", 4, 50.0),
        rule_of("Error", 3),
        rule_of("Info", 1),
        message({1: "Silent", 4: "Made"}),
    ]
    report = read(tmp_path, Launch(rules=rules, sections=[section_of()]))
    views = rule_views(report, 0, LaunchInstances(report, 0))
    assert [(view.title, view.severity, view.speedup_pct) for view in views] == [
        ("Large", "optimization", 50.0),
        ("Small", "optimization", 5.0),
        ("Error", "error", None),
        ("Warning", "warning", None),
        ("Info", "info", None),
        ("Note", "note", None),
    ]
    assert {view.section_title for view in views} == {"Made section"}


def test_estimates_of_the_launch_come_before_local_ones(tmp_path: Path) -> None:
    rules = [
        spoken_rule("Local", "Said.", (1, 84.0)),
        spoken_rule("Silent on gains", "Said."),
        spoken_rule("Whole", "Said.", (2, 5.0)),
        spoken_rule("More", "Said.", (2, 33.0)),
    ]
    report = read(tmp_path, Launch(rules=rules, sections=[section_of()]))
    views = rule_views(report, 0, LaunchInstances(report, 0))
    assert [view.identifier for view in views] == ["More", "Whole", "Local", "Silent on gains"]


def test_a_rule_keeps_its_links_scope_and_metrics(tmp_path: Path) -> None:
    report = full(tmp_path)
    (view,) = rule_views(report, 0, LaunchInstances(report, 0))
    assert (view.identifier, view.title, view.speedup_pct, view.speedup_scope) == (
        "Latency",
        "Latency",
        12.5,
        "global",
    )
    assert view.messages[0].runs == (
        TextRun(text="See "),
        TextRun(text="Scheduler Statistics", kind="section", target="SchedulerStats"),
        TextRun(text=" at "),
        TextRun(text="0x14a9", kind="source", target="14a9"),
        TextRun(text=", "),
        TextRun(text="the guide", kind="url", target="https://x.y/z"),
        TextRun(text="."),
    )
    (focus,) = view.focus
    assert (focus.cell.label, focus.cell.cell.value, focus.cell.cell.unit) == (
        "Instructions executed",
        8.5,
        "inst",
    )
    assert (focus.severity, focus.info) == ("high", "8.5 < 16")


def test_links_that_lie_outside_or_across_leave_the_text_whole() -> None:
    links = (
        TextLink(start=0, end=3, kind="section", target="A"),
        TextLink(start=2, end=5, kind="section", target="B"),
        TextLink(start=4, end=99, kind="url", target="C"),
        TextLink(start=4, end=4, kind="url", target="D"),
    )
    runs = text_runs(RuleMessage(kind="info", title="", text="abcdef", links=links))
    assert [(run.text, run.kind) for run in runs] == [("abc", "section"), ("def", "text")]
    assert text_runs(RuleMessage(kind="info", title="", text="")) == ()


LIMITS: dict[str, Value] = {
    "launch__occupancy_limit_registers": 4,
    "launch__occupancy_limit_shared_mem": 16,
    "launch__occupancy_limit_warps": 8,
    "launch__occupancy_limit_blocks": 32,
    "launch__registers_per_thread": 62,
    "launch__block_size": 256,
    "device__attribute_max_warps_per_multiprocessor": 64,
    "device__attribute_max_registers_per_multiprocessor": 65_536,
}


def occupancy(folder: Path, launch: Launch) -> OccupancyView:
    report = read(folder, launch)
    return occupancy_view(report, 0, LaunchInstances(report, 0))


def test_stored_curves_of_occupancy_mark_the_launch(tmp_path: Path) -> None:
    curve: dict[int | str, Value] = {32: 64, 64: 32, 48: 40}
    found = occupancy(
        tmp_path,
        Launch(
            values=LIMITS | {"sm__maximum_warps_per_active_cycle_pct": 50.0},
            instances={"launch__occupancy_per_register_count": curve},
        ),
    )
    (part,) = found.curves
    assert (part.series[0].xs.tolist(), part.series[0].ys.tolist()) == ([32, 48, 64], [64, 40, 32])
    assert (part.highlighted[0].x, part.value.high) == (62.0, 64.0)
    assert (found.origin, found.theoretical_pct, found.achieved_pct) == ("stored", 50.0, None)
    assert [(each.label, each.blocks, each.is_limiter) for each in found.limits] == [
        ("Registers", 4, True),
        ("Shared memory", 16, False),
        ("Warps", 8, False),
        ("Blocks", 32, False),
    ]


def test_curves_are_computed_where_all_facts_are_stored(tmp_path: Path) -> None:
    found = occupancy(tmp_path, Launch(values=LIMITS))
    registers, blocks = found.curves
    assert found.origin == "computed"
    warps = dict(zip(registers.series[0].xs.tolist(), registers.series[0].ys.tolist(), strict=True))
    # 65,536 registers: 64 x 32 of a warp are 2,048, 8 warps for each quarter, 4 blocks of 8 warps.
    assert (warps[0], warps[32], warps[33], warps[64], warps[255]) == (64, 64, 48, 32, 8)
    by_size = dict(zip(blocks.series[0].xs.tolist(), blocks.series[0].ys.tolist(), strict=True))
    # Blocks of one warp: 16 fit by shared memory.
    assert (by_size[1], by_size[256], by_size[1024]) == (16, 32, 32)


@pytest.mark.parametrize(
    "missing", sorted(set(LIMITS) - {"launch__occupancy_limit_registers", "launch__occupancy_limit_warps"})
)
def test_curves_are_not_guessed_where_a_fact_is_missing(tmp_path: Path, missing: str) -> None:
    found = occupancy(
        tmp_path, Launch(values={name: each for name, each in LIMITS.items() if name != missing})
    )
    assert (found.curves, found.origin) == ((), None)
    assert found.note == "Not collected: run `ncu --set roofline --section Occupancy`."
    known = read(tmp_path, Launch(values={SM: 25.5, MEMORY: 67.0}))
    found = occupancy_view(known, 0, LaunchInstances(known, 0))
    assert found.note == "Not collected: run `ncu --section Occupancy`."


def test_curves_are_not_computed_for_devices_that_share_out_registers_otherwise(tmp_path: Path) -> None:
    assert occupancy(tmp_path, Launch(values=LIMITS | {made.NAMES[5]: 6})).curves == ()
    assert occupancy(tmp_path, Launch(values=LIMITS | {"launch__block_size": 0})).curves == ()


def stalled(reason: str) -> str:
    return f"smsp__average_warps_issue_stalled_{reason}_per_issue_active.ratio"


def test_stalls_are_shares_of_the_cycles_an_instruction_took(tmp_path: Path) -> None:
    values = {
        stalled("long_scoreboard"): 6.0,
        stalled("selected"): 1.0,
        stalled("brand_new"): 3.0,
        stalled("wait"): 0.0,
    }
    report = read(tmp_path, Launch(values=values | {"smsp__average_warps_issue_stalled_wait.ratio": 9.0}))
    found = stall_view(report, 0, LaunchInstances(report, 0))
    assert [(bar.label, bar.cycles, bar.share_pct) for bar in found.bars] == [
        ("Long scoreboard", 6.0, 60.0),
        ("Brand new", 3.0, 30.0),
        ("Selected", 1.0, 10.0),
    ]
    assert found.cycles_per_issue == 10.0
    assert found.bars[0].help.startswith("Waiting for data of L1/TEX")


def test_stalls_say_whether_nothing_was_collected_or_issued(tmp_path: Path) -> None:
    none = read(tmp_path, Launch())
    assert stall_view(none, 0, LaunchInstances(none, 0)).note == "Not collected: run `ncu --set full`."
    idle = read(tmp_path, Launch(values={stalled("wait"): 0.0}))
    found = stall_view(idle, 0, LaunchInstances(idle, 0))
    assert (found.bars, found.cycles_per_issue, found.note) == ((), 0.0, "No instruction was issued.")


def test_the_session_tells_what_is_private(tmp_path: Path) -> None:
    facts = {(fact.group, fact.label): fact for fact in session_view(full(tmp_path))}
    assert facts["Report", "Nsight Compute"].value == "2025.1.0.0 (build 1)"
    assert facts["Report", "Created"].value == "2023-11-14 22:13:21 UTC"
    assert facts["Report", "CUDA Version"].value == "12.8"
    assert facts["Report", "Clocks"].value == "locked to base"
    assert facts["Target machine", "Processor"].value == "A CPU, model 1"
    assert facts["Device 0", "Compute capability"].value == "9.0"
    assert facts["Device 0", "Multiprocessors"].value == "114"
    private = {key for key, fact in facts.items() if fact.is_private}
    assert private == {
        ("Report", "Notes"),
        ("Program", "Executable"),
        ("Program", "Working folder"),
        ("Program", "Arguments"),
        ("Program", "Command line"),
        ("Program", "Environment"),
        ("Target machine", "Name"),
        ("Target machine", "Addresses"),
        ("Host machine", "Name"),
        ("Host machine", "Addresses"),
        ("Process 4242", "Name"),
        ("Process 4242", "Machine"),
    }
    leaked = [fact.value for fact in facts.values() if not fact.is_private]
    for secret in ("host-7", "::1", "/app", "--lr", "A=1"):
        assert not any(secret in value for value in leaked)


def test_a_session_that_says_nothing_shows_nothing(tmp_path: Path) -> None:
    facts = session_view(read(tmp_path, Launch()))
    assert [(fact.label, fact.value) for fact in facts if fact.group == "Report"] == [
        ("File", "a.ncu-rep"),
        ("Nsight Compute", "unknown"),
        ("Kernels", "1"),
    ]


@pytest.mark.parametrize(
    ("command_line", "control"),
    [
        ("", None),
        ("ncu app", "base"),
        ("ncu --clock-control none app", "none"),
        ("ncu --clock-control=boost app", "boost"),
    ],
)
def test_clock_control_is_read_from_the_command_line(command_line: str, control: str | None) -> None:
    assert clock_control(SessionFacts(command_line=command_line)) == control


def test_ranges_and_frames_belong_to_their_launch(tmp_path: Path) -> None:
    report = full(tmp_path)
    assert [(each.name, each.domain, each.thread_id, each.depth) for each in range_views(report, 0)] == [
        ("step 3", "torch", 77, 0),
        ("forward", "torch", 77, 1),
        ("epoch", "torch", None, None),
    ]
    first, second = frame_views(report, 0)
    assert (first.symbol, first.module, first.file, first.line, first.address) == (
        "at::mm",
        "libtorch.so",
        "/a/b.cpp",
        31,
        2**63 + 5,
    )
    assert (second.symbol, second.file, second.line, second.address) == ("main", "", None, None)
    assert (range_views(report, 1), frame_views(report, 1)) == ((), ())
