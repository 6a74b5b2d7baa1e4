"""Names of metrics as words, values as texts, and expressions of sections."""

from __future__ import annotations

import pytest

from core.analyses.report_view.expressions import evaluate
from core.analyses.report_view.metric_words import describe, label_parts
from core.analyses.report_view.parts import Cell
from core.analyses.report_view.words import cell_text, value_text
from core.tables.ncu import MetricValue
from core.units import NO_BREAK_SPACE

NUMBERS = {"a": 6.0, "b": 4.0, "zero": 0.0, "x__y.sum": 10.0, "large": 1e300}


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ("a", 6.0),
        ("a * 2", 12.0),
        ("a + b * 2", 14.0),
        ("(a + b) * 2", 20.0),
        ("a - b - 1", 1.0),
        ("a / b / 2", 0.75),
        (" ( x__y.sum * 100 ) / b ", 250.0),
        ("-a + 1e1", 4.0),
        ("simplify(a * 2)", 12.0),
        ("2.5", 2.5),
    ],
)
def test_expressions_are_computed(expression: str, value: float) -> None:
    assert evaluate(expression, NUMBERS.get) == value


@pytest.mark.parametrize(
    "expression",
    [
        "missing * 2",
        "a / zero",
        "",
        "a +",
        "a b",
        "(a",
        "a)",
        "a ** b",
        "a; b",
        "import os",
        "large * large",
        "(" * 500 + "a",
        "-" * 500 + "a",
        "a + " * 300 + "a",
        "1" * 5000,
    ],
)
def test_what_has_no_value_or_is_no_expression_is_none(expression: str) -> None:
    assert evaluate(expression, NUMBERS.get) is None


@pytest.mark.parametrize(
    ("name", "parts"),
    [
        ("lts__t_sectors.sum", ("L2", "Tag sectors")),
        ("lts__t_tag_requests.sum", ("L2", "Tag requests")),
        ("sm__inst_executed_pipe_lsu.avg.pct", ("SM", "Instructions executed pipe LSU")),
        ("pmsampling:sm__cycles_active.avg", ("SM", "Cycles active")),
        ("inst_executed", ("", "Instructions executed")),
        ("smsp__pcsamp_warps_issue_stalled_long_scoreboard_not_issued", ("", "Stalled, long scoreboard")),
        ("smsp__average_warps_issue_stalled_wait_per_issue_active.ratio", ("", "Stalled, wait")),
        ("new__thing.sum", ("NEW", "Thing")),
        ("", ("", "")),
    ],
)
def test_names_are_unit_and_words(name: str, parts: tuple[str, str]) -> None:
    assert label_parts(name) == parts


def test_metrics_are_described_by_their_names() -> None:
    assert describe("lts__t_sectors.sum.per_second") == (
        "Tag sectors of the slices of the L2 cache. Sum over all instances of the unit, a second."
    )
    assert describe("launch__registers_per_thread") == "Registers that one thread uses."
    assert describe("pmsampling:sm__cycles_active.avg").endswith("Sampled over time while the launch ran.")
    assert describe("group:anything") == "Names of the metrics of a group."
    assert (describe(""), describe("inst_executed"), describe("__")) == ("", "", "")


@pytest.mark.parametrize(
    ("value", "unit", "text"),
    [
        (None, "ns", "n/a"),
        ("PolicySpread", "", "PolicySpread"),
        (526_336, "ns", "526.3 µs"),
        (0.1, "ns", "0.1 ns"),
        (812, "ns", "812 ns"),
        (81.25, "%", "81.2 %"),
        (0.25, "%", "0.25 %"),
        (0.0004, "%", "4e-4 %"),
        (0, "%", "0.0 %"),
        (0, "byte", "0 bytes"),
        (467_700_000, "byte", "467.7 MB"),
        (2_684_354_560_000.0, "byte/s", "2.684 TB/s"),
        (0, "byte/s", "0 B/s"),
        (2048, "byte/block", "2.000 KiB a block"),
        (44, "byte/block", "44.00 B a block"),
        (1_108_000_000, "Hz", "1.108 GHz"),
        (38, "register/thread", "38 a thread"),
        (1, "warp", "1 warp"),
        (2.5, "warp", "2.500 warps"),
        (16, "warp/cycle", "16 warps"),
        (1.31e-9, "cycle", "< 0.001 cycles"),
        (8192, "", "8,192"),
        (4_780_000_000.4, "cycle", "4,780,000,000 cycles"),
        (2**64 - 1, "", "1.84e19"),
        (515e12, "OP/s", "515.0 TOP/s"),
        (3.15e10, "sector/s", "31.50 Gsector/s"),
        (0.25, "1/cycle", "0.2500 a cycle"),
        (float("inf"), "%", "inf"),
        (float("nan"), "ns", "NaN"),
        (-5.0, "widget", "\N{MINUS SIGN}5 widget"),
    ],
)
def test_values_are_scaled_and_carry_their_unit(value: MetricValue, unit: str, text: str) -> None:
    assert value_text(value, unit).replace(NO_BREAK_SPACE, " ") == text


def test_a_place_where_nothing_belongs_has_no_text() -> None:
    assert (cell_text(None), cell_text(Cell(value=None))) == ("", "n/a")


def test_shared_memory_is_in_kib_wherever_it_stands() -> None:
    size = Cell(value=32_768, unit="byte", metric="launch__shared_mem_config_size")
    assert cell_text(size) == "32.00 KiB"
    assert cell_text(Cell(value=32_768, unit="byte", metric="dram__bytes.sum")) == "32.77 kB"
