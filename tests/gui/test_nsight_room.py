"""What the Nsight page shows is whole where there is little room: charts, their marks, verdicts."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest
from PySide6.QtCore import QPoint, QRectF
from PySide6.QtGui import QFontMetrics

from core.analyses.report_view.facts import LoadBar, RuleView
from core.analyses.report_view.parts import Axis, Highlight, LinePart, LineSeries
from core.readers.ncu_csv.reader import read_csv
from core.roofline.verdict import VerdictKind
from gui.reports.kernel_list import KernelChoice, arrange, list_kernels
from gui.reports.metric_table import metric_table
from gui.widgets.nsight_kernels import ENTRY_PX, GROUP_PX, KernelDelegate, KernelListView
from gui.widgets.nsight_parts import SideBySide
from gui.widgets.nsight_plot import LineChart, mark_left
from gui.widgets.nsight_sections import ScrolledColumn
from gui.widgets.nsight_tabs import SHOWN_RULES, active_note, own_rules_first
from gui.widgets.nsight_view import LEAST_DETAIL_PX
from tests.helpers.kernel_csv import write_kernel_csv

if TYPE_CHECKING:
    from pathlib import Path

    from pytestqt.qtbot import QtBot

    from gui.main_window import MainWindow
    from gui.pages.nsight import NsightPage
    from gui.theme import ThemeController

CURVE = LinePart(
    label="Registers a thread",
    category=Axis(label="Registers a thread"),
    value=Axis(label="Warps"),
    series=(LineSeries(label="", metric="w", xs=np.array([0.0, 255.0]), ys=np.array([64.0, 8.0])),),
    highlighted=(Highlight(label="This launch", x=122.0),),
)


@pytest.mark.parametrize(("width_px", "columns"), [(900, 3), (590, 3), (LEAST_DETAIL_PX, 2), (200, 1)])
def test_charts_side_by_side_never_reach_out_of_sight(
    qtbot: QtBot, theme: ThemeController, width_px: int, columns: int
) -> None:
    charts = [LineChart(theme, CURVE) for _ in range(3)]
    box = SideBySide(charts)
    column = ScrolledColumn("Occupancy")
    qtbot.addWidget(column)
    column.resize(width_px, 400)
    column.show()
    column.fill(iter([box]))
    column.finish()
    room = column.viewport()
    qtbot.waitUntil(lambda: box.width() == room.width() and box.columns == columns)
    qtbot.waitUntil(lambda: abs(charts[0].width() - room.width() / columns) < 1)
    ends = [chart.mapTo(box, QPoint(chart.width(), 0)).x() for chart in charts]
    assert max(ends) <= room.width()
    tops = {chart.mapTo(box, QPoint(0, 0)).y() for chart in charts}
    assert len(tops) == -(-len(charts) // columns)


def test_the_words_of_a_mark_stay_inside_the_frame() -> None:
    area = QRectF(40, 0, 140, 100)
    assert mark_left(area, 50, 60) == 56
    assert mark_left(area, 170, 60) == 104
    for x in (40, 110, 180):
        left = mark_left(area, x, 120)
        assert area.left() <= left
        assert left + 120 <= area.right()


def test_a_verdict_fits_beside_its_bar(qtbot: QtBot, theme: ThemeController) -> None:
    listed = KernelListView(theme)
    qtbot.addWidget(listed)
    delegate = listed.itemDelegate()
    assert isinstance(delegate, KernelDelegate)
    metrics = QFontMetrics(theme.theme.font(theme.theme.px_small))
    assert delegate.side_px > max(metrics.horizontalAdvance(kind.word) for kind in VerdictKind)


def test_what_the_report_says_of_the_speed_of_light_is_never_pushed_out_by_estimates() -> None:
    def said(section: str, speedup_pct: float | None) -> RuleView:
        return RuleView(
            identifier=section,
            title=section,
            severity="optimization",
            section=section,
            section_title=section,
            messages=(),
            speedup_pct=speedup_pct,
            speedup_scope=None if speedup_pct is None else "local",
            focus=(),
            tables=(),
        )

    rules = (*(said(f"S{place}", 90.0 - place) for place in range(SHOWN_RULES)), said("SpeedOfLight", None))
    shown = [each.section for each in own_rules_first(rules)]
    assert shown == ["SpeedOfLight", *(f"S{place}" for place in range(SHOWN_RULES))]


def test_a_part_above_the_whole_says_of_which_cycles_it_is() -> None:
    active = "l1tex__throughput.avg.pct_of_peak_sustained_active"
    memory = LoadBar(key="memory", label="Memory", pct=52.2, metric="m_elapsed")
    busy = LoadBar(key="l1", label="L1/TEX", pct=62.1, metric=active, level=1)
    idle = LoadBar(key="l1", label="L1/TEX", pct=18.5, metric=active, level=1)
    assert active_note((memory, busy)).startswith("L1/TEX: of the cycles in which it was active")
    assert active_note((memory, idle)) == ""


def test_gains_of_a_repeated_kernel_are_of_the_launches_that_are_chosen(
    qtbot: QtBot, window: MainWindow, tmp_path: Path
) -> None:
    def page_of(count: int) -> NsightPage:
        # Memory-bound: its bytes can stay on the chip.
        kernels = [("layer_norm_kernel", 100_000, 12.0, 80.0)] * count
        path = write_kernel_csv(tmp_path / f"{count}.csv", *kernels)
        cells = ["dram__bytes.sum", "byte", *["134217728"] * count]
        lines = path.read_text().splitlines()
        path.write_text("".join(f'{line},"{cell}"\n' for line, cell in zip(lines, cells, strict=True)))
        window.context.open_path(path)
        qtbot.waitUntil(lambda: window.page.subtitle().startswith(path.name), timeout=60_000)
        page: NsightPage = window.page  # type: ignore[assignment]
        qtbot.waitUntil(lambda: page.view is not None and page.view.document.verdicts is not None)
        qtbot.waitUntil(lambda: bool(page.nsight_inspector.verdict.remedies.lines))
        return page

    def gain(page: NsightPage) -> str:
        line = page.nsight_inspector.verdict.remedies.lines[0].replace("\N{NO-BREAK SPACE}", " ")
        return line.split("Saves at most ")[1].split(" of ")[0]

    page = page_of(10)
    repeats, view = page.nsight_inspector.repeats, page.view
    assert view is not None
    assert (gain(page), repeats.plain) == ("100.0 %", "A gain is of all 10 launches together.")
    # The first of them alone, which has the row of the group.
    view.toggle_group(0)
    view.list.choose_row(0)
    alone = "A gain is of this launch alone; the report has 10 of this kernel."
    assert (gain(page), repeats.plain) == ("10.0 %", alone)
    view.list.step(-1)
    assert gain(page) == "100.0 %"
    view.strip.group.setChecked(False)
    assert (gain(page), repeats.isHidden()) == ("10.0 %", False)
    assert page_of(1).nsight_inspector.repeats.isHidden()


def test_a_report_opens_on_its_longest_kernel_and_shows_each_share(
    qtbot: QtBot, window: MainWindow, tmp_path: Path
) -> None:
    kernels = [("fill_kernel", 8_500, 10.0, 20.0), ("gemm_kernel", 400_000, 80.0, 20.0)]
    path = write_kernel_csv(tmp_path / "two.csv", *kernels, ("copy_kernel", 20, 1.0, 1.0))
    window.context.open_path(path)
    qtbot.waitUntil(lambda: window.page.subtitle().startswith(path.name), timeout=60_000)
    page: NsightPage = window.page  # type: ignore[assignment]
    view = page.view
    assert view is not None
    qtbot.waitUntil(lambda: view.row is not None)
    assert view.row == 1
    assert view.strip.sort_key == "file"
    model = view.list.kernels
    shares = [model.share_words(entry).replace("\N{NO-BREAK SPACE}", " ") for entry in model.entries]
    assert shares == ["2.1 %", "98 %", "<0.1 %"]
    assert "of the report's kernel time" in model.facts(model.entries[1])[4]
    # What was chosen by hand stays chosen in another order.
    view.choose_row(2)
    view.strip.sort.setCurrentIndex(1)
    assert view.row == 2


def test_a_metric_whose_name_tells_nothing_has_no_meaning_rather_than_a_missing_one(tmp_path: Path) -> None:
    kernel = ("gemm_kernel", 1_000, 80.0, 20.0)
    path = write_kernel_csv(tmp_path / "one.csv", kernel)
    cells = ("brand__new_metric", "widget", "5")
    lines = path.read_text().splitlines()
    path.write_text("".join(f'{line},"{cell}"\n' for line, cell in zip(lines, cells, strict=True)))
    table = metric_table(read_csv(path), 0, None)
    names, meaning = table.column("name"), table.column("meaning")
    meanings = {str(names.value(row)): meaning.value(row) for row in range(len(table))}
    assert meanings["brand__new_metric"] == ""
    assert meaning.shown == any(meanings.values())


def test_each_entry_has_its_height_however_they_are_mixed(
    qtbot: QtBot, theme: ThemeController, tmp_path: Path
) -> None:
    """Qt is told that all are of one height where they are; that must not outlive them."""
    csv = write_kernel_csv(tmp_path / "k.csv", *((name, 100, 1.0, 1.0) for name in ("a", "b", "a")))
    kernels = list_kernels(read_csv(csv))
    view = KernelListView(theme)
    qtbot.addWidget(view)
    view.resize(300, 600)
    view.show()

    def heights(choice: KernelChoice) -> list[int]:
        view.show_entries(kernels, arrange(kernels, choice), choice.open_groups)
        model = view.kernels
        return [view.visualRect(model.index(place)).height() for place in range(model.rowCount())]

    assert heights(KernelChoice(is_grouped=False)) == [ENTRY_PX] * 3
    assert heights(KernelChoice(words=("a",))) == [GROUP_PX]
    assert heights(KernelChoice()) == [GROUP_PX, ENTRY_PX]
    assert heights(KernelChoice(open_groups=frozenset({0}))) == [GROUP_PX, ENTRY_PX, ENTRY_PX, ENTRY_PX]
    assert heights(KernelChoice(is_grouped=False)) == [ENTRY_PX] * 3
