"""Cards, grid and inspector: what is said of ranks, honestly, on CPU and GPU."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtTest import QTest

from core.runs.snapshot import Alert, RankStatus
from gui.widgets.inspector_rank import RankInspector
from gui.widgets.inspector_words import evidence_of, memory_pairs, run_pairs, sources_of
from gui.widgets.rank_card import RankCard
from gui.widgets.rank_facts import STATUS_LOOKS, STATUS_MEANINGS
from gui.widgets.rank_grid import RankOverview, status_counts
from tests.helpers.snapshots import (
    CREATED_NS,
    GIB,
    cpu_rank,
    cpu_snapshot,
    gpu_rank,
    gpu_snapshot,
    run_snapshot,
)

if TYPE_CHECKING:
    from pytestqt.qtbot import QtBot

    from gui.theme import ThemeController


@pytest.fixture
def card(qtbot: QtBot, theme: ThemeController) -> RankCard:
    card = RankCard(theme, 0)
    qtbot.addWidget(card)
    return card


def test_every_state_has_a_word_an_icon_and_a_meaning(theme: ThemeController) -> None:
    assert set(STATUS_LOOKS) == set(RankStatus) == set(STATUS_MEANINGS)
    for look in STATUS_LOOKS.values():
        assert not theme.theme.icon(look.icon).isNull()


def test_on_cpu_the_figure_is_resident_memory_and_says_so(card: RankCard) -> None:
    snapshot = cpu_snapshot()
    card.show_rank(snapshot.ranks[0], snapshot, selected=False)
    assert card.figure.text() == "0.41"
    assert "GiB resident" in card.accessibleName()
    assert (
        "on CPU there is no allocator" in card.figure.toolTip().lower() or "On CPU" in card.figure.toolTip()
    )
    assert card.values["Own work"].text() == "n/a"
    assert "Not measured" in card.values["Own work"].toolTip()
    assert card.values["Loss"].text() == "6.25000"
    assert card.pill.text == "Running"


def test_on_gpu_each_memory_figure_has_its_own_name(card: RankCard) -> None:
    """Case M01: allocated 4, reserved 6, driver 6 for the process, 10 of the device, 0.30 held apart."""
    snapshot = gpu_snapshot()
    card.show_rank(snapshot.ranks[0], snapshot, selected=True)
    assert card.figure.text() == "4.00"
    tip = card.figure.toolTip()
    for words in (
        "Allocated 4.00 GiB: held by tensors",
        "Reserved 6.00 GiB",
        "2.00 GiB of it cached",
        "Driver, this process 6.00 GiB",
        "whole device 10.00 GiB of 80.00 GiB",
        "Held by the driver itself 0.30 GiB, apart",
    ):
        assert words in tip
    pairs = {label: value for label, value, _ in memory_pairs(snapshot.ranks[0], snapshot)}
    assert pairs["Reserved, not allocated"] == "2.00 GiB"
    assert pairs["Driver, whole device"] == "10.00 of 80.0 GiB"
    assert pairs["Held by the driver"] == "0.30 GiB"


def test_what_is_not_measured_is_never_zero(card: RankCard) -> None:
    state = gpu_rank(0, allocated_bytes=None, driver_bytes=None, loss=None, step=None, step_time_ns=None)
    snapshot = run_snapshot([state])
    card.show_rank(state, snapshot, selected=False)
    assert card.figure.text() == "n/a"
    assert {label.text() for name, label in card.values.items() if name != "Own work"} == {"n/a"}
    pairs = {label: value for label, value, _ in memory_pairs(state, snapshot)}
    assert pairs["Driver, this process"] == "n/a"
    assert pairs["Reserved, not allocated"] == "n/a"


def test_a_loss_that_is_no_number_stands_out(card: RankCard) -> None:
    state = cpu_rank(1, loss=float("nan"))
    card.show_rank(state, run_snapshot([state]), selected=False)
    assert card.values["Loss"].text() == "NaN"
    assert card.values["Loss"].property("level") == "error"
    assert "loss NaN" in card.accessibleName()


def test_a_slow_rank_shows_why(card: RankCard) -> None:
    snapshot = gpu_snapshot()
    card.show_rank(snapshot.ranks[2], snapshot, selected=False)
    assert card.pill.text == "Slow"
    assert card.values["Own work"].property("level") == "warn"
    evidence = {row.what: row for row in evidence_of(snapshot.ranks[2], snapshot)}
    assert (evidence["SM clock"].value, evidence["SM clock"].against) == ("1,410 MHz", "others 1,980")
    assert evidence["SM clock"].level == "warn"
    assert evidence["Wait in collectives"].value == "1.3 ms"
    assert evidence["Throttle reason"].value == "thermal"
    assert evidence["Throttle reason"].against == "others none"


@pytest.mark.parametrize(("ranks", "cards", "compact"), [(1, 1, False), (4, 4, False), (8, 8, True)])
def test_up_to_eight_ranks_have_a_card_each(
    qtbot: QtBot, theme: ThemeController, ranks: int, cards: int, compact: bool
) -> None:
    overview = RankOverview(theme)
    qtbot.addWidget(overview)
    overview.show_snapshot(cpu_snapshot(ranks), None)
    assert len(overview.cards) == cards
    assert bool(overview.cards[0].values) is not compact
    assert overview.grid is None


def test_above_eight_a_grid_and_the_card_of_the_selected_rank(qtbot: QtBot, theme: ThemeController) -> None:
    overview = RankOverview(theme)
    qtbot.addWidget(overview)
    overview.resize(900, 200)
    snapshot = cpu_snapshot(64)
    ranks = list(snapshot.ranks)
    ranks[5] = replace(ranks[5], status=RankStatus.SILENT)
    snapshot = replace(snapshot, ranks=tuple(ranks))
    overview.show_snapshot(snapshot, 37)
    overview.show()
    grid = overview.grid
    assert grid is not None
    assert [card.rank for card in overview.cards] == [37]
    assert status_counts(snapshot) == "63 running, 1 silent"
    with qtbot.waitSignal(overview.chosen) as chosen:
        QTest.mouseClick(grid, Qt.MouseButton.LeftButton, pos=QPoint(30, 10))
    assert chosen.args == [1]
    grid.setFocus()
    QTest.keyClick(grid, Qt.Key.Key_Right)
    with qtbot.waitSignal(overview.chosen) as chosen:
        QTest.keyClick(grid, Qt.Key.Key_Return)
    assert chosen.args == [2]


def test_the_grid_keeps_every_cell_inside_when_it_gets_narrow(qtbot: QtBot, theme: ThemeController) -> None:
    overview = RankOverview(theme)
    qtbot.addWidget(overview)
    overview.show_snapshot(cpu_snapshot(64), None)
    overview.show()
    assert overview.grid is not None
    for width in (1100, 520):
        overview.resize(width, 300)
        qtbot.wait(1)
        assert overview.grid.sizeHint().height() <= overview.grid.height()


def test_arrows_move_between_cards_and_enter_selects(qtbot: QtBot, theme: ThemeController) -> None:
    overview = RankOverview(theme)
    qtbot.addWidget(overview)
    overview.show_snapshot(cpu_snapshot(8), None)
    with qtbot.waitExposed(overview):
        overview.show()
    overview.activateWindow()
    overview.cards[0].setFocus()
    QTest.keyClick(overview.cards[0], Qt.Key.Key_Right)
    QTest.keyClick(overview.cards[1], Qt.Key.Key_Down)
    qtbot.waitUntil(overview.cards[5].hasFocus)
    with qtbot.waitSignal(overview.chosen) as chosen:
        QTest.keyClick(overview.cards[5], Qt.Key.Key_Return)
    assert chosen.args == [5]


def test_the_inspector_shows_only_figures_that_exist(qtbot: QtBot, theme: ThemeController) -> None:
    inspector = RankInspector(theme)
    qtbot.addWidget(inspector)
    snapshot = cpu_snapshot()
    inspector.show_snapshot(snapshot, 1)
    labels = [label for label, _ in inspector.memory.pairs]
    assert labels == ["Resident, host"]
    assert "Grad norm" in [label for label, _ in inspector.training.pairs]
    assert inspector.pill.text == "Running"
    assert "none lost" in sources_of(snapshot.ranks[1], snapshot)
    inspector.show_snapshot(snapshot, None)
    assert ("torch", "2.13.0") in inspector.run.pairs


def test_the_inspector_tells_what_a_rank_raised_and_what_to_do(qtbot: QtBot, theme: ThemeController) -> None:
    inspector = RankInspector(theme)
    qtbot.addWidget(inspector)
    state = cpu_rank(
        2,
        status=RankStatus.FAILED,
        exit_code=1,
        exception="ValueError: label <b>32001</b> is out of range",
        traceback='File "train.py", line 12, in <module>',
    )
    alert = Alert(
        key="failure", level="error", t_ns=CREATED_NS, message="Rank 2: ValueError", hint="Check it.", rank=2
    )
    snapshot = run_snapshot([cpu_rank(0), state], alerts=(alert, replace(alert, key="other")))
    inspector.show_snapshot(snapshot, 2)
    assert inspector.steps.texts == ("Check it.",)
    assert inspector.error.text == "ValueError: label <b>32001</b> is out of range"
    assert inspector.pill.text == "Failed"


def test_what_torch_gives_no_place_to_watch_is_said() -> None:
    ranks = [cpu_rank(0, missing_hooks=("torch.nn.utils.get_total_norm",)), cpu_rank(1)]
    snapshot = run_snapshot(ranks)
    said = "Not watched, as this torch lacks it: torch.nn.utils.get_total_norm."
    assert said in sources_of(None, snapshot)
    assert said in sources_of(ranks[0], snapshot)
    assert "Not watched" not in sources_of(ranks[1], snapshot)


def test_lost_records_are_said(qtbot: QtBot) -> None:
    state = cpu_rank(0, lost_records=3)
    assert "3 lost" in sources_of(state, run_snapshot([state]))
    assert ("Ranks", "1 on CPU", "") in run_pairs(run_snapshot([state]))
    assert GIB == 2**30
