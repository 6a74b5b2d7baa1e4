"""Small parts: literal text, elision, choices, states, banners, the crash dialog."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from PySide6.QtCore import QEvent, Qt
from PySide6.QtGui import QGuiApplication, QHelpEvent
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QLabel, QPushButton, QToolButton, QToolTip

from gui.plain_text import Paragraph, control_text, plain_label, strong_start, tip_text
from gui.widgets.banner import BannerStack
from gui.widgets.check_list import CheckList
from gui.widgets.crash_dialog import CrashDialog
from gui.widgets.elided_combo import ElidedCombo
from gui.widgets.elided_label import ElidedLabel
from gui.widgets.empty_state import EmptyState
from gui.widgets.key_values import KeyValues
from gui.widgets.pill import Pill
from gui.widgets.segmented import Segmented
from gui.widgets.wrapped_text import WrappedText, breakable

if TYPE_CHECKING:
    from pytestqt.qtbot import QtBot

    from gui.theme import ThemeController

MARKUP = "<img src=x><b>hi</b> & more"


def literal_width(label: QLabel, text: str) -> int:
    return label.fontMetrics().horizontalAdvance(text)


def test_markup_is_shown_as_it_is_everywhere(qtbot: QtBot, theme: ThemeController) -> None:
    """Case G14."""
    plain = plain_label(MARKUP)
    elided = ElidedLabel(MARKUP)
    for label in (plain, elided):
        qtbot.addWidget(label)
        assert label.sizeHint().width() >= literal_width(label, MARKUP)
    assert "&lt;img" in tip_text(MARKUP)
    assert tip_text("loss < 3") == "loss < 3"
    assert "<b>" not in strong_start("what", MARKUP)
    assert control_text("a & b") == "a && b"
    paragraph = Paragraph(MARKUP)
    qtbot.addWidget(paragraph)
    assert paragraph.plain == MARKUP
    assert "&lt;b&gt;hi&lt;/b&gt;" in paragraph.text()


def test_a_label_shortens_and_tells_the_whole_in_its_tooltip(qtbot: QtBot) -> None:
    label = ElidedLabel("minillm with a long name\nand a second line", Qt.TextElideMode.ElideMiddle)
    qtbot.addWidget(label)
    label.resize(80, 20)
    label.show()
    assert label.text() != label.full_text
    assert len(label.text()) < 20
    assert label.toolTip() == label.full_text == "minillm with a long name and a second line"
    label.resize(600, 20)
    assert label.text() == label.full_text
    assert label.toolTip() == ""


def test_one_segment_is_on_and_keys_move_it(qtbot: QtBot) -> None:
    choice = Segmented("Recent", ("All", "Runs", "Files"))
    qtbot.addWidget(choice)
    choice.show()
    chosen: list[int] = []
    choice.chosen.connect(chosen.append)
    buttons = choice.findChildren(QPushButton)
    assert [button.accessibleName() for button in buttons] == ["Recent: All", "Recent: Runs", "Recent: Files"]
    QTest.mouseClick(buttons[2], Qt.MouseButton.LeftButton)
    assert (choice.current, chosen) == (2, [2])
    choice.set_current(1)
    assert (choice.current, chosen) == (1, [2])
    choice.set_texts(("All", "0", "1"), 2)
    assert (choice.current, choice.texts) == (2, ("All", "0", "1"))


def test_a_pill_is_icon_and_word(qtbot: QtBot, theme: ThemeController) -> None:
    pill = Pill(theme)
    qtbot.addWidget(pill)
    pill.set_state("activity", "Running", "ok")
    pill.show()
    ok = pill.grab().toImage()
    assert (pill.text, pill.accessibleName(), pill.height()) == ("Running", "Running", 18)
    pill.set_state("activity", "Running", "error")
    assert pill.grab().toImage() != ok
    theme.set_theme("light")
    assert pill.grab().toImage() != ok


def test_two_banners_are_shown_and_the_rest_wait(qtbot: QtBot, theme: ThemeController) -> None:
    stack = BannerStack(theme)
    qtbot.addWidget(stack)
    stack.show_banner("a", "info", "first")
    assert not stack.isHidden()
    done: list[str] = []
    stack.show_banner("b", "warn", "second", MARKUP, (("Show clocks", lambda: done.append("clocks")),))
    stack.show_banner("c", "error", "third")
    assert stack.keys == ["c", "b", "a"]
    shown = [banner for banner in stack._banners.values() if not banner.isHidden()]
    assert [banner.accessibleName() for banner in shown] == [f"warn: second {MARKUP}", "error: third"]
    QTest.mouseClick(shown[0].findChildren(QPushButton)[0], Qt.MouseButton.LeftButton)
    assert done == ["clocks"]
    QTest.mouseClick(shown[1].findChildren(QToolButton)[0], Qt.MouseButton.LeftButton)
    assert stack.keys == ["b", "a"]
    assert all(not banner.isHidden() for banner in stack._banners.values())
    stack.show_banner("a", "warn", "first", "again")
    assert stack.keys == ["b", "a"]
    stack.dismiss("a")
    stack.dismiss("b")
    assert stack.isHidden()


def test_bugs_share_one_dialog_and_can_be_copied(qtbot: QtBot, theme: ThemeController) -> None:
    dialog = CrashDialog("Ridgeline 0.1")
    qtbot.addWidget(dialog)
    for error in (KeyError("rank 2"), ZeroDivisionError("loss")):
        try:
            raise error
        except (KeyError, ZeroDivisionError) as caught:
            dialog.report(caught)
    assert dialog.isVisible()
    assert not dialog.isModal()
    assert "2 errors so far" in dialog.heading
    assert dialog.text.index("ZeroDivisionError: loss") < dialog.text.index("KeyError: 'rank 2'")
    copy = next(button for button in dialog.findChildren(QPushButton) if "Copy" in button.text())
    QTest.mouseClick(copy, Qt.MouseButton.LeftButton)
    assert QGuiApplication.clipboard().text() == dialog.text
    assert "test_widgets.py" in dialog.text
    assert dialog.text.rstrip().endswith("Ridgeline 0.1")


def test_lines_of_facts_and_checks_are_replaced(qtbot: QtBot, theme: ThemeController) -> None:
    facts, checks = KeyValues(), CheckList(theme)
    for widget in (facts, checks):
        qtbot.addWidget(widget)
        widget.show()
    facts.set_pairs([("GPUs", "none", ""), ("Python", MARKUP, ""), ("NCCL", "n/a", "no CUDA")])
    facts.set_pairs([("GPUs", "4", ""), ("Driver", "580", "")])
    assert facts.pairs == [("GPUs", "4"), ("Driver", "580")]
    checks.set_findings([("ok", "4 GPUs", ""), ("warn", MARKUP, "Do this.")])
    checks.set_findings([("error", MARKUP, "Do this.")])
    qtbot.wait(1)
    assert [label.plain for label in checks.findChildren(Paragraph)] == [f"{MARKUP}. Do this."]


@pytest.mark.parametrize("width", [300, 900])
def test_an_empty_state_shows_its_whole_text(qtbot: QtBot, theme: ThemeController, width: int) -> None:
    pressed: list[str] = []
    empty = EmptyState(theme, "activity", (("Open folder", lambda: pressed.append("x")),))
    qtbot.addWidget(empty)
    empty.set_text("No runs yet", "A sentence that needs more than one line at any width it is given. " * 2)
    empty.resize(width, 400)
    empty.show()
    text = empty.findChild(Paragraph)
    assert text is not None
    assert text.height() >= text.heightForWidth(text.width())
    QTest.mouseClick(empty.findChildren(QPushButton)[0], Qt.MouseButton.LeftButton)
    assert pressed == ["x"]


@pytest.mark.parametrize(
    ("name", "parts"),
    [
        ("ampere_sgemm_128x128_tn", ["ampere_", "sgemm_", "128x128_", "tn"]),
        ("void at::native::f<4, T>(int*)", ["void at::", "native::", "f<", "4, T>(", "int*)"]),
        ("__half", ["__half"]),
        ("process.py(314): _bootstrap", ["process.py(", "314): _bootstrap"]),
        ("cutlass__5x::_f/_g", ["cutlass__", "5x::", "_f/", "_g"]),
        ("a__ b", ["a__ b"]),
        ("f<<<a,b", ["f<<<", "a,", "b"]),
        ("a/b/c.py", ["a/", "b/", "c.py"]),
        ("tail_", ["tail_"]),
        ("", [""]),
    ],
)
def test_a_name_is_broken_between_its_parts(name: str, parts: list[str]) -> None:
    assert breakable(name).split("\N{ZERO WIDTH SPACE}") == parts


def test_lines_of_a_name_end_where_a_part_does(qtbot: QtBot, theme: ThemeController) -> None:
    name = "sm80_xmma_gemm_bf16bf16_bf16f32_f32_tn_n_tilesize128x128x32_stage4_warpsize2x2x1_tensor16x8x16"
    text = WrappedText("Name", 8)
    qtbot.addWidget(text)
    text.set_text(name)
    text.resize(250, 100)
    text.show()
    layout = text.document().firstBlock().layout()
    shown = text.toPlainText()
    lines = [layout.lineAt(number) for number in range(layout.lineCount())]
    starts = [line.textStart() for line in lines]
    assert len(lines) > 2
    assert all(shown[start - 1] == "\N{ZERO WIDTH SPACE}" for start in starts[1:])


def test_a_copied_name_is_the_name(qtbot: QtBot, theme: ThemeController) -> None:
    names = "void at::native::elementwise_kernel<4, f>(int)\nhidden\u200bspace"
    text = WrappedText("Name", 8)
    qtbot.addWidget(text)
    text.set_text(names)
    text.selectAll()
    text.copy()
    assert QGuiApplication.clipboard().mimeData().formats() == ["text/plain"]
    assert QGuiApplication.clipboard().text() == names.replace("\u200b", "\\u200b") == text.text


def test_a_combo_box_shortens_its_choice_and_keeps_both_ends(qtbot: QtBot, theme: ThemeController) -> None:
    name = "Baseline  rms_norm_matrix_kernel (launch 1), a_report_with_a_long_name"
    combo = ElidedCombo("Baseline", "What it is held against")
    qtbot.addWidget(combo)
    combo.addItem(name)
    combo.resize(2_000, 24)
    combo.show()
    assert combo.shown_text == name == combo.currentText()
    combo.resize(220, 24)
    assert combo.shown_text.startswith("Baseline")
    assert combo.shown_text.endswith("name")
    assert "\N{HORIZONTAL ELLIPSIS}" in combo.shown_text
    place = combo.rect().center()
    hover = QHelpEvent(QEvent.Type.ToolTip, place, combo.mapToGlobal(place))
    QApplication.sendEvent(combo, hover)
    assert QToolTip.text() == f"{name}\nWhat it is held against"
    QToolTip.hideText()


def test_a_wrapped_text_is_as_high_as_its_lines(qtbot: QtBot, theme: ThemeController) -> None:
    """Marks that the font lacks add nothing to the height of a line."""
    text = WrappedText("Name", 3)
    qtbot.addWidget(text)
    text.resize(400, 100)
    text.show()
    text.set_text("abc")
    one = text.height()
    text.set_text("a_b_c")
    assert text.height() == one
    text.set_text("a\nb\nc\nd\ne")
    assert one < text.height() < 4 * one
    assert text.verticalScrollBar().maximum() == 2
