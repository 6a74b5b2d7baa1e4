"""What the parts of a section are drawn as, what they say, and what is saved of them."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import numpy as np
import pytest
from PySide6.QtCore import QPoint
from shiboken6 import isValid

from core.analyses.report_view.facts import (
    Comparison,
    MetricDifference,
    RuleText,
    RuleView,
    TextRun,
)
from core.analyses.report_view.parts import (
    Axis,
    Bar,
    BarPart,
    BodyView,
    Cell,
    Highlight,
    LabelledCell,
    LinePart,
    LineSeries,
    NotePart,
    Roof,
    RooflinePart,
    RooflinePoint,
    RowPart,
    SectionView,
    SourcePart,
    TableColumn,
    TablePart,
    TimelinePart,
    TimelineRow,
    TimelineSeries,
)
from gui.reports.differences import Differences
from gui.reports.part_tables import table_of
from gui.widgets.nsight_bars import BarRow, BarRows
from gui.widgets.nsight_export import PartExport, file_stem
from gui.widgets.nsight_grid import GridTable
from gui.widgets.nsight_parts import PartFrame, PartTools, bars_of, grid_of, part_widget
from gui.widgets.nsight_plot import LineChart
from gui.widgets.nsight_roofline import RooflineChart
from gui.widgets.nsight_rules import RuleRow, rich_text
from gui.widgets.nsight_sections import Heading, MissingNote, SectionCard
from gui.widgets.nsight_tabs import points_of, tab_of
from gui.widgets.nsight_timeline import ROW_PX, TimelineChart

if TYPE_CHECKING:
    from pathlib import Path

    from pytestqt.qtbot import QtBot

    from core.analyses.report_view.parts import Part
    from gui.tasks import Tasks
    from gui.theme import ThemeController
    from gui.widgets.nsight_export import PictureKind

PCT = Cell(value=22.7, unit="%", metric="sm__throughput", help="How busy.")
TABLE = TablePart(
    label="Bus",
    columns=(
        TableColumn(title="", is_label=True),
        TableColumn(title="Bytes"),
        TableColumn(title="% of peak"),
    ),
    rows=(
        (Cell(value="reads"), Cell(value=1024, unit="byte", metric="reads"), PCT),
        (Cell(value="=writes"), Cell(value=None, unit="byte", metric="writes", help="Not collected."), None),
    ),
    note="Peer memory is left out.",
)
BARS = BarPart(
    label="Pipes",
    category=Axis(),
    value=Axis(unit="%"),
    bars=(Bar(label="FMA", cell=PCT), Bar(label="ALU", cell=Cell(value=None, unit="%"))),
)
LINES = LinePart(
    label="Warps",
    category=Axis(label="Registers"),
    value=Axis(label="Warps"),
    series=(
        LineSeries(
            label="Warps", metric="w", xs=np.array([8.0, 16.0, 32.0]), ys=np.array([64.0, 64.0, 32.0])
        ),
    ),
    highlighted=(Highlight(label="here", x=16.0),),
)
ROOFLINE = RooflinePart(
    label="Roofline",
    intensity_label="Intensity",
    work_label="Work",
    roofs=(
        Roof(label="FP32", peak_flop_per_s=5e13, peak_bytes_per_s=2e12),
        Roof(label="L2", peak_flop_per_s=None, peak_bytes_per_s=6e12),
    ),
    points=(RooflinePoint(label="Achieved", intensity=2.0, flop_per_s=3e12),),
    hidden=("FP8",),
)
TIMELINE = TimelinePart(
    label="Samples",
    rows=(
        TimelineRow(
            label="SM",
            series=(
                TimelineSeries(
                    label="SM",
                    metric="pmsampling:sm",
                    unit="%",
                    times_ns=np.array([0, 1_000, 2_000], np.int64),
                    values=np.array([0.0, np.nan, 80.0]),
                ),
            ),
        ),
        TimelineRow(label="DRAM", series=(), note="Nothing was sampled."),
    ),
    first_ns=0,
    last_ns=2_000,
    launch_end_ns=1_500,
)
PARTS: tuple[Part, ...] = (
    TABLE,
    BARS,
    LINES,
    ROOFLINE,
    TIMELINE,
    NotePart(label="Topology", note="The device has no NVLink."),
    SourcePart(
        label="Hot spots", metrics=(LabelledCell(label="Executed", cell=Cell(value=12, unit="inst")),)
    ),
    RowPart(parts=(BARS, TABLE)),
    TablePart(label="Empty", columns=(), rows=(), note="Nothing."),
    LinePart(label="None", category=Axis(), value=Axis(), series=()),
    RooflinePart(label="None", intensity_label="", work_label="", roofs=(), points=(), note="No roof."),
    TimelinePart(label="None", rows=(), first_ns=0, last_ns=0),
    BarPart(label="None", category=Axis(), value=Axis(), bars=()),
)


def difference(name: str, first: float, second: float, unit: str = "", reason: str = "") -> MetricDifference:
    return MetricDifference(
        name=name,
        unit=unit,
        first=first,
        second=second,
        difference=None if reason else second - first,
        difference_pct=None if reason or not first else 100 * (second - first) / first,
        reason=reason,
    )


COMPARISON = Comparison(
    first_name="a",
    second_name="b",
    doubts=(),
    rows=(
        difference("sm__throughput", 18.9, 22.7, "%"),
        difference("reads", 2048, 1024, "byte"),
        difference("writes", 1, 2, "byte", reason="The other was not collected."),
        difference("same", 5, 5),
        difference("new", 0, 5),
    ),
)


@pytest.fixture
def tools(theme: ThemeController, tasks: Tasks) -> PartTools:
    return PartTools(theme, PartExport(tasks), Differences(COMPARISON), "report gemm")


@pytest.mark.parametrize("part", PARTS, ids=[f"{type(part).__name__}-{n}" for n, part in enumerate(PARTS)])
def test_every_part_is_drawn_in_both_themes(
    qtbot: QtBot, theme: ThemeController, tools: PartTools, part: Part
) -> None:
    widget = part_widget(part, tools)
    qtbot.addWidget(widget)
    widget.resize(500, 300)
    widget.show()
    dark = widget.grab().toImage()
    theme.set_theme("light")
    assert widget.grab().toImage() != dark
    theme.set_theme("dark")


def test_differences_are_signed_points_or_percent(tools: PartTools) -> None:
    known = tools.differences
    assert known.words("sm__throughput") == "+3.8"
    assert known.words("reads") == "\N{MINUS SIGN}50.0\N{NO-BREAK SPACE}%"
    assert known.words("writes") == "not comparable"
    assert known.reason("writes") == "The other was not collected."
    assert known.words("same") == "\N{PLUS-MINUS SIGN}0"
    assert known.words("new") == "new"
    assert known.words("absent") == ""
    assert known.baseline("reads") == 2048
    assert known.baseline("writes") is None


def test_a_table_shows_values_differences_and_what_they_are(qtbot: QtBot, tools: PartTools) -> None:
    grid, note = grid_of(TABLE, tools)
    assert note == ""
    qtbot.addWidget(grid)
    grid.resize(500, grid.sizeHint().height())
    grid.show()
    assert isinstance(grid, GridTable)
    first, second = grid.rows
    cells = [None if cell is None else (cell.text, cell.difference) for cell in first]
    assert cells == [
        ("reads", ""),
        ("1.024 kB", "\N{MINUS SIGN}50.0\N{NO-BREAK SPACE}%"),
        ("22.7\N{NO-BREAK SPACE}%", "+3.8"),
    ]
    assert second[1] is not None
    assert (second[1].text, second[1].is_missing, second[1].difference) == ("n/a", True, "not comparable")
    assert second[2] is None
    tip = grid.tip_at(QPoint(490, 40))
    assert tip.splitlines()[2:] == ["sm__throughput", "How busy.", "Baseline: 18.9\N{NO-BREAK SPACE}%"]
    assert grid.tip_at(QPoint(490, 5)) == "% of peak"


def test_a_table_of_which_nothing_compares_says_so_once(
    qtbot: QtBot, theme: ThemeController, tasks: Tasks
) -> None:
    rows = tuple(
        difference(name, 1, 2, reason="Only one was collected.") for name in ("reads", "sm__throughput")
    )
    tools = PartTools(
        theme,
        PartExport(tasks),
        Differences(Comparison(first_name="a", second_name="b", doubts=(), rows=rows)),
    )
    grid, note = grid_of(TABLE, tools)
    qtbot.addWidget(grid)
    assert note.startswith("Not comparable")
    assert {cell.difference for row in grid.rows for cell in row if cell is not None} == {""}
    assert "Not comparable: Only one was collected." in (grid.rows[0][1].tip if grid.rows[0][1] else "")


def test_bars_mark_the_baseline(qtbot: QtBot, tools: PartTools) -> None:
    bars = bars_of(BARS, tools)
    qtbot.addWidget(bars)
    assert [(row.label, row.value, row.baseline) for row in bars.rows] == [
        ("FMA", 22.7, 18.9),
        ("ALU", None, None),
    ]
    assert bars.has_baseline
    assert bars.accessibleName() == "Pipes: FMA 22.7\N{NO-BREAK SPACE}%; ALU n/a"


def test_a_bar_is_as_long_as_its_value(qtbot: QtBot, theme: ThemeController) -> None:
    bars = BarRows(theme, "Load")
    qtbot.addWidget(bars)
    bars.set_rows([BarRow(label="SM", value=50.0, text="50 %", tone="sm")], high=100.0)
    bars.resize(500, 25)
    image = bars.grab().toImage()
    color = theme.theme.rank_color(0).name()
    length = sum(image.pixelColor(x, 12).name() == color for x in range(500))
    # Label 130 and value 62 with paddings leave 274 pixels for the track.
    assert length == pytest.approx(137, abs=3)


def test_charts_tell_the_values_under_the_pointer(qtbot: QtBot, theme: ThemeController) -> None:
    lines, roofline, timeline = (
        LineChart(theme, LINES),
        RooflineChart(theme, ROOFLINE),
        TimelineChart(theme, TIMELINE),
    )
    for chart in (lines, roofline, timeline):
        qtbot.addWidget(chart)
        chart.resize(500, chart.sizeHint().height())
    assert lines.tip_at(17.0) == "Warps: 64 at 16"
    assert roofline.tip_at(0.0).splitlines() == [
        "FP32: 50.00 TFLOP/s, 2.000 TB/s",
        "L2: 6.000 TB/s",
        "Achieved: 3.000 TFLOP/s at 2.000 FLOP/B",
        "Not of this launch: FP8",
    ]
    assert timeline.tip_at(400, 10) == "SM\nSM: 80.0\N{NO-BREAK SPACE}% at 2.000 \N{MICRO SIGN}s"
    assert timeline.tip_at(400, ROW_PX + 10) == "DRAM"
    assert timeline.tip_at(10, 10) == "SM\nLargest: 80.0\N{NO-BREAK SPACE}%"
    assert timeline.tip_at(10, ROW_PX + 10) == "DRAM"
    assert timeline.tip_at(10, 2 * ROW_PX + 10) == ""


def test_a_roofline_holds_roofs_ridges_and_points_in_its_frame(qtbot: QtBot, theme: ThemeController) -> None:
    chart = RooflineChart(theme, ROOFLINE, (RooflinePoint(label="Before", intensity=0.1, flop_per_s=1e11),))
    qtbot.addWidget(chart)
    low, high = chart.x_range
    bottom, top = chart.y_range
    for point in (*ROOFLINE.points, RooflinePoint(label="", intensity=0.1, flop_per_s=1e11)):
        assert low < np.log10(point.intensity) < high
        assert bottom < np.log10(point.flop_per_s) < top
    assert low < np.log10(25) < high
    assert top > np.log10(5e13)


def test_parts_become_tables_with_exact_values() -> None:
    table = table_of(TABLE, "bus")
    assert [column.key for column in table.columns] == ["column_1", "bytes_byte", "pct_of_peak_pct"]
    assert [column.value(0) for column in table.columns] == ["reads", 1024.0, 22.7]
    assert [column.value(1) for column in table.columns] == ["=writes", None, None]
    assert table.notes == ("Peer memory is left out.",)
    bars = table_of(BARS, "pipes")
    assert [bars.column("label").value(row) for row in range(2)] == ["FMA", "ALU"]
    assert bars.column("metric").value(0) == "sm__throughput"
    lines = table_of(LINES, "warps")
    assert [lines.column("x").value(row) for row in range(3)] == [8.0, 16.0, 32.0]
    roofs = table_of(ROOFLINE, "roofline")
    assert [roofs.column("kind").value(row) for row in range(3)] == ["roof", "roof", "point"]
    assert roofs.column("flop_per_s").value(1) is None
    samples = table_of(TIMELINE, "samples")
    assert [samples.column("time_ns").value(row) for row in range(3)] == [0.0, 1000.0, 2000.0]
    assert samples.column("value").value(1) is None


def test_values_and_pictures_are_saved(
    qtbot: QtBot, theme: ThemeController, tools: PartTools, tmp_path: Path
) -> None:
    export = tools.export
    with qtbot.waitSignal(export.told):
        export.write_table(tmp_path / "bus.csv", table_of(TABLE, "bus"), "csv")
    assert (tmp_path / "bus.csv").read_text().splitlines()[2] == "'=writes,,"
    with qtbot.waitSignal(export.told):
        export.write_table(tmp_path / "bus.json", table_of(TABLE, "bus"), "json")
    assert json.loads((tmp_path / "bus.json").read_text())["rows"][0]["bytes_byte"] == 1024.0
    chart = RooflineChart(theme, ROOFLINE)
    qtbot.addWidget(chart)
    chart.resize(400, 260)
    kinds: tuple[PictureKind, ...] = ("png", "svg")
    for kind in kinds:
        export.write_picture(tmp_path / f"roof.{kind}", chart, kind)
        assert (tmp_path / f"roof.{kind}").stat().st_size > 1_000
    with qtbot.waitSignal(export.failed):
        export.write_table(tmp_path / "none" / "bus.csv", table_of(TABLE, "bus"), "csv")


def test_the_menu_of_a_part_offers_what_it_has(qtbot: QtBot, tools: PartTools) -> None:
    def offered(part: Part) -> list[str]:
        frame = part_widget(part, tools)
        qtbot.addWidget(frame)
        assert isinstance(frame, PartFrame)
        return [action.text() for action in frame.menu.actions()]

    values = ["Copy values", "Save values as CSV", "Save values as JSON"]
    assert offered(TABLE) == values
    assert offered(LINES) == [*values, "Save picture as PNG", "Save picture as SVG"]


def test_names_of_files_hold_no_odd_letters() -> None:
    assert file_stem("a/b::c<float>, x 2") == "a-b-c-float-x-2"
    assert file_stem("///") == "nsight"


def rule(**more: object) -> RuleView:
    runs = (
        TextRun(text="See <b>this</b> and\nthe "),
        TextRun(text="Occupancy", kind="section", target="Occupancy"),
        TextRun(text=" or the "),
        TextRun(text="guide", kind="url", target="https://x.y/?a=1&b=2"),
        TextRun(text="."),
    )
    facts: dict[str, object] = {
        "identifier": "R",
        "title": "Tail effect",
        "severity": "optimization",
        "section": "LaunchStats",
        "section_title": "Launch",
        "messages": (RuleText(severity="optimization", title="Tail effect", runs=runs),),
        "speedup_pct": 9.6,
        "speedup_scope": "global",
    }
    return RuleView(**{**facts, **more})  # type: ignore[arg-type]


def test_what_a_rule_says_is_literal_and_its_web_address_is_text() -> None:
    text = rich_text(rule().messages[0].runs, "Lead <i>")
    assert "Lead &lt;i&gt;: See &lt;b&gt;this&lt;/b&gt; and<br>the " in text
    assert '<a href="section:Occupancy">Occupancy</a>' in text
    assert "guide (https://x.y/?a=1&amp;b=2)" in text
    assert 'href="http' not in text


def test_a_link_of_a_rule_leads_to_its_section(qtbot: QtBot, tools: PartTools) -> None:
    row = RuleRow(rule(), tools, is_whole=True)
    qtbot.addWidget(row)
    assert row.accessibleName().startswith("Optimization: Tail effect, estimated speedup 9.6")
    with qtbot.waitSignal(row.section_asked) as asked:
        row._follow("section:Occupancy")
    assert asked.args == ["Occupancy"]
    with qtbot.waitSignal(row.source_asked) as address:
        row._follow("source:14a9")
    assert address.args == ["14a9"]


def test_links_take_the_colour_of_another_theme(
    qtbot: QtBot, theme: ThemeController, tools: PartTools
) -> None:
    row = RuleRow(rule(), tools, is_whole=True)
    qtbot.addWidget(row)
    row.resize(500, 200)
    for name in ("dark", "light", "dark"):
        theme.set_theme(name)
        accent = theme.theme.color("accent").rgb()
        image = row.grab().toImage()
        assert any(
            image.pixel(x, y) == accent for x in range(image.width()) for y in range(image.height())
        ), name


def test_a_heading_that_is_gone_hears_of_no_theme(qtbot: QtBot, theme: ThemeController) -> None:
    heading = Heading(theme, "Gone", line=True)
    heading.deleteLater()
    qtbot.waitUntil(lambda: not isValid(heading))
    with qtbot.captureExceptions() as raised:
        theme.set_theme("light")
        theme.set_theme("dark")
    assert raised == []


def test_a_rule_shows_its_tables_where_it_is_shown_whole(qtbot: QtBot, tools: PartTools) -> None:
    tabled = rule(messages=(), tables=(TABLE,))
    for is_whole in (True, False):
        row = RuleRow(tabled, tools, is_whole=is_whole)
        qtbot.addWidget(row)
        assert len(row.findChildren(PartFrame)) == is_whole


def section(**more: object) -> SectionView:
    facts: dict[str, object] = {
        "identifier": "Memory",
        "title": "Memory analysis",
        "order": 1,
        "description": "What memory did.",
        "header": ((LabelledCell(label="Busy", cell=PCT),),),
        "bodies": (
            BodyView(label="Chart", parts=(BARS,)),
            BodyView(label="Table", parts=(TABLE,), is_default=True),
        ),
    }
    return SectionView(**{**facts, **more})  # type: ignore[arg-type]


def test_a_section_unfolds_and_shows_the_body_that_is_chosen(qtbot: QtBot, tools: PartTools) -> None:
    card = SectionCard(section(), tools, is_open=False)
    qtbot.addWidget(card)
    card.show()
    assert card.findChildren(GridTable) == []
    with qtbot.waitSignal(card.folded) as folded:
        card.head.click()
    assert folded.args == ["Memory", True]
    assert card.choice.currentText() == "Table"
    assert len(card.findChildren(GridTable)) == 2
    card.choice.setCurrentIndex(0)
    assert [bars.accessibleName().split(":")[0] for bars in card.findChildren(BarRows)] == ["Pipes"]


def test_what_was_not_collected_comes_with_its_command(qtbot: QtBot, tools: PartTools) -> None:
    card = SectionCard(
        section(header=(), bodies=(), missing="Not collected: run `ncu --section Memory`."),
        tools,
        is_open=True,
    )
    qtbot.addWidget(card)
    note = card.findChild(MissingNote)
    assert isinstance(note, MissingNote)
    assert note.command == "ncu --section Memory"
    plain = MissingNote("Nothing.")
    qtbot.addWidget(plain)
    assert plain.command == ""


def test_sections_have_their_tabs() -> None:
    assert tab_of("SpeedOfLight_RooflineChart") == "light"
    assert tab_of("MemoryWorkloadAnalysis_Tables") == "memory"
    assert tab_of("PmSampling") == "compute"
    assert tab_of("WarpStateStats") == "stalls"
    assert tab_of("SourceCounters") == "source"
    assert tab_of("LoadMetrics") == "other"


def test_points_of_a_baseline_are_found_in_rows_too() -> None:
    assert points_of((RowPart(parts=(BARS, ROOFLINE)), TABLE)) == [("Roofline", ROOFLINE.points)]
