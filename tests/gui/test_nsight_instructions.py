"""The Source tab's instructions: their texts by nvdisasm, what is said without, and links of rules to them.

The tool is a fake that writes what the real one of CUDA 13 would for three instructions.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from gui.widgets.nsight_source import INSTRUCTIONS, LINES
from tests.helpers.cubins import BASE, ROW_SUM, SAXPY, built, source
from tests.helpers.ncu_reports import Launch, launch_report, message

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from pytestqt.qtbot import QtBot

    from core.tables.result import ResultTable
    from gui.main_window import MainWindow
    from gui.widgets.nsight_source import SourceTab
    from gui.widgets.nsight_view import NsightView

LIMIT_MS = 60_000
SAID = f"""\t.section\t.text.{SAXPY},"ax",@progbits
        /*0000*/                   IMAD.MOV.U32 R1, RZ, RZ, c[0x0][0x28] ;
        /*0010*/              @!P0 BRA `(.L_x_1) ;
        /*0020*/                   EXIT ;
"""
TEXTS = ["IMAD.MOV.U32 R1, RZ, RZ, c[0x0][0x28]", "@!P0 BRA `(.L_x_1)", "EXIT"]
EXECUTED = {BASE: 1, BASE + 16: 9, BASE + 32: 4}


def link(address: int) -> bytes:
    """A rule that links to an instruction, as ncu writes it."""
    text = f"Look at @source:{address:x}:{address:#x}@."
    body = message({1: [message({1: message({1: text, 2: 4, 3: 1, 4: "Hot"})})]})
    return message({1: "Hot", 2: "Hot spot", 3: body, 4: "SpeedOfLight"})


def fake_tool(folder: Path, monkeypatch: pytest.MonkeyPatch, script: str | None) -> Path:
    """Makes a folder with a fake nvdisasm, or with none, all of PATH. Returns where it counts its runs."""
    place = folder / "bin"
    place.mkdir()
    runs = folder / "runs"
    (folder / "said").write_text(SAID)
    if script is not None:
        tool = place / "nvdisasm"
        tool.write_text(f"#!/bin/sh\n# A fake.\necho run >> {runs}\n{script}\n")
        tool.chmod(0o755)
    monkeypatch.setenv("PATH", f"{place}:/usr/bin:/bin" if script is not None else str(place))
    return runs


@pytest.fixture
def opened(qtbot: QtBot, window: MainWindow, tmp_path: Path) -> Callable[..., NsightView]:
    """Opens a report of two launches of one kernel, the first with a rule that links to an instruction."""

    def open_it(binary: bytes | None = built("made_75"), linked: int = BASE + 16) -> NsightView:
        stored: dict[str, Any] = {"inst_executed": EXECUTED}
        launches = [
            Launch(instances=stored, rules=rules, more={"f5": SAXPY, "f15": message({1: 900})})
            for rules in ((link(linked),), ())
        ]
        path = tmp_path / "made.ncu-rep"
        code = source(binary, {SAXPY: BASE, ROW_SUM: BASE + 0x1000})
        path.write_bytes(launch_report(*launches, sources=[code]))
        window.context.open_path(path)

        def known() -> bool:
            view = getattr(window.page, "view", None)
            return view is not None and view.document.state == "open" and view.detail.answer is not None

        qtbot.waitUntil(known, timeout=LIMIT_MS)
        view: NsightView = window.page.view  # type: ignore[attr-defined]
        return view

    return open_it


def show_instructions(view: NsightView) -> SourceTab:
    view.detail.show_tab("source")
    tab = view.detail.source
    tab.form.set_current(INSTRUCTIONS)
    tab.form.chosen.emit(INSTRUCTIONS)
    return tab


def texts(table: ResultTable | None) -> list[object]:
    known = table is not None and any(column.key == "sass" for column in table.columns)
    return (
        [table.column("sass").value(row) for row in range(len(table))] if known and table is not None else []
    )


def has_texts(tab: SourceTab) -> bool:
    return bool(texts(tab.instructions.model.table))


def follow(view: NsightView) -> None:
    """Follows the link of the first rule."""
    (link_of,) = [run for run in view.detail.answer.view.rules[0].messages[0].runs if run.kind == "source"]  # type: ignore[union-attr]
    view.detail.show_tab("rules")
    view.detail.page("rules").source_asked.emit(link_of.target)  # type: ignore[attr-defined]


def test_instructions_come_with_their_texts_and_the_tool_runs_once(
    qtbot: QtBot, opened: Callable[..., NsightView], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    runs = fake_tool(tmp_path, monkeypatch, f"cat {tmp_path}/said")
    view = opened()
    view.detail.show_tab("source")
    tab = view.detail.source
    assert tab.form.current == LINES
    qtbot.waitUntil(lambda: tab.lines.model.table is not None, timeout=LIMIT_MS)
    assert tab.instructions.model.table is None
    assert not runs.exists()
    show_instructions(view)
    qtbot.waitUntil(lambda: has_texts(tab), timeout=LIMIT_MS)
    assert texts(tab.instructions.model.table) == TEXTS
    assert tab.instructions.isVisible()
    assert tab.instructions.notes.isHidden()
    # The spare width is the text's: an address has no use for it.
    header, keys = tab.instructions.view.horizontalHeader(), tab.instructions.columns.visible_keys()
    table = tab.instructions.model.table
    assert table is not None
    places = {column.key: place for place, column in enumerate(table.columns)}
    assert keys[:2] == ("address", "sass")
    assert header.sectionSize(places["sass"]) > 2 * header.sectionSize(places["address"])
    view.choose_row(1)
    qtbot.waitUntil(lambda: tab._shown is not None and tab._shown.row == 1, timeout=LIMIT_MS)
    assert texts(tab.instructions.model.table) == TEXTS
    assert runs.read_text() == "run\n"


def test_without_the_tool_it_is_said_once_below_the_table(
    qtbot: QtBot, opened: Callable[..., NsightView], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fake_tool(tmp_path, monkeypatch, None)
    tab = show_instructions(opened(built("plain_75")))
    qtbot.waitUntil(lambda: tab.instructions.model.table is not None, timeout=LIMIT_MS)
    assert tab.instructions.notes.full_text == "nvdisasm is not on PATH: no instruction texts"
    assert tab.instructions.model.rowCount() == 3


def test_without_a_binary_the_tool_is_not_run(
    qtbot: QtBot, opened: Callable[..., NsightView], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    runs = fake_tool(tmp_path, monkeypatch, f"cat {tmp_path}/said")
    tab = show_instructions(opened(None))
    qtbot.waitUntil(lambda: tab.instructions.model.table is not None, timeout=LIMIT_MS)
    assert tab.instructions.notes.full_text == (
        "The report holds no binary of this kernel: no instruction texts"
    )
    assert not runs.exists()


def test_a_tool_that_fails_is_one_line_below_the_table_that_stays(
    qtbot: QtBot,
    window: MainWindow,
    opened: Callable[..., NsightView],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    fake_tool(tmp_path, monkeypatch, "echo 'nvdisasm fatal : bad file' >&2; exit 255")
    tab = show_instructions(opened(built("plain_75")))
    qtbot.waitUntil(lambda: bool(tab.instructions.notes.full_text), timeout=LIMIT_MS)
    said = tab.instructions.notes.full_text
    assert said.startswith("No instruction texts: nvdisasm failed: nvdisasm fatal : bad file")
    assert "\n" not in said
    assert tab.instructions.model.rowCount() == 3
    assert not window.page.banners._banners


def test_a_link_of_a_rule_selects_its_instruction_and_it_stays_when_texts_come(
    qtbot: QtBot, opened: Callable[..., NsightView], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    wait = f"while [ ! -e {tmp_path}/go ]; do sleep 0.05; done"
    fake_tool(tmp_path, monkeypatch, f"{wait}; cat {tmp_path}/said")
    view = opened()
    tab = view.detail.source
    follow(view)
    assert view.detail.shown == "source"
    assert tab.form.current == INSTRUCTIONS
    assert tab.instructions.isVisible()
    qtbot.waitUntil(lambda: tab.instructions.selected_rows().tolist() == [1], timeout=LIMIT_MS)
    assert not has_texts(tab)
    (tmp_path / "go").touch()
    qtbot.waitUntil(lambda: has_texts(tab), timeout=LIMIT_MS)
    assert tab.instructions.selected_rows().tolist() == [1]
    assert tab.instructions.current_row() == 1
    # A filter that hides it goes, and another form comes back.
    tab.instructions.bar.field.setText("EXIT")
    tab.form.set_current(LINES)
    tab.form.chosen.emit(LINES)
    assert tab.instructions.selected_rows().tolist() == []
    follow(view)
    assert tab.form.current == INSTRUCTIONS
    assert tab.instructions.bar.field.text() == ""
    assert tab.instructions.selected_rows().tolist() == [1]


def test_a_link_to_what_was_not_counted_is_said(
    qtbot: QtBot, opened: Callable[..., NsightView], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fake_tool(tmp_path, monkeypatch, None)
    view = opened(linked=BASE + 0x500)
    with qtbot.waitSignal(view.told, timeout=LIMIT_MS) as told:
        follow(view)
    assert told.args == [f"Nothing was counted at {BASE + 0x500:#x}"]
    assert view.detail.source.instructions.selected_rows().tolist() == []
