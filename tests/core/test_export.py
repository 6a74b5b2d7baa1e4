"""Export of a result table: exact values, missing ones, and names that are nobody's formula."""

from __future__ import annotations

import csv
import io
import json
from typing import TYPE_CHECKING

import numpy as np
import pytest

from core.cli.output import columns as aligned
from core.export import shown_cells, write_csv, write_json
from core.tables.columns import MISSING, NO_ROW
from core.tables.result import Column, ResultTable
from core.tables.strings import string_table

if TYPE_CHECKING:
    from pathlib import Path

HARD_NAMES = (
    "void cutlass::Kernel<Foo<Bar<float>>, 3>(Params)",
    'void f<(int)452, "str\\"q">(char const*)',
    "<b>bold</b><img src=x onerror=1>&amp;kernel",
    "k,with,commas\tand\ttabs",
    "line1\nline2",
    "line1\r\nline2\rline3",
    "核函数_矩阵乘",
    "\u202egnp.exe",
    "a" * 4096,
    "",
    "'quoted",
    " =led by a space",
    "a=b",
)
FORMULAS = ("=1+1", "+1", "-1", "@SUM(A1)", "\t=1", "\r=1", "\r\t@x", '=HYPERLINK("http://127.0.0.1")')


def table_of(names: tuple[str, ...], sums: list[int], shares: list[float]) -> ResultTable:
    ids = np.arange(len(names), dtype=np.int32)
    return ResultTable(
        name="kernels",
        title="Kernels",
        columns=(
            Column(
                key="name", title="Kernel", unit="", help="Its name.", values=ids, texts=string_table(names)
            ),
            Column(
                key="sum_ns", title="Sum", unit="ns", help="Of durations.", values=np.array(sums, np.int64)
            ),
            Column(key="share_pct", title="Share", unit="pct", help="Of all.", values=np.array(shares)),
        ),
        notes=("2 launches could not be linked to an operator",),
    )


def csv_of(table: ResultTable, rows: np.ndarray | None = None, keys: tuple[str, ...] = ("name",)) -> str:
    file = io.StringIO(newline="")
    write_csv(table, rows, keys, file)
    return file.getvalue()


def names_table(names: tuple[str, ...]) -> ResultTable:
    return table_of(names, [0] * len(names), [0.0] * len(names))


def test_csv_has_keys_as_header_exact_integers_and_empty_cells() -> None:
    table = table_of(("gemm", "nccl"), [2**63 - 1, MISSING], [float("nan"), 18.7])
    text = csv_of(table, keys=("name", "sum_ns", "share_pct"))
    assert text == "name,sum_ns,share_pct\r\ngemm,9223372036854775807,\r\nnccl,,18.7\r\n"


def test_rows_and_columns_come_in_the_order_asked_for() -> None:
    table = table_of(("a", "b", "c"), [1, 2, 3], [1.0, 2.0, 3.0])
    assert csv_of(table, np.array([2, 0], np.int32), ("sum_ns", "name")) == "sum_ns,name\r\n3,c\r\n1,a\r\n"


def test_hard_names_read_back_the_same_through_a_file(tmp_path: Path) -> None:
    path = tmp_path / "kernels.csv"
    with path.open("w", encoding="utf-8", newline="") as file:
        write_csv(names_table(HARD_NAMES), None, ("name", "sum_ns"), file)
    with path.open(encoding="utf-8", newline="") as file:
        rows = list(csv.reader(file))
    assert [row[0] for row in rows[1:]] == list(HARD_NAMES)
    assert {row[1] for row in rows[1:]} == {"0"}


def test_a_formula_gets_one_apostrophe_and_nothing_else_changes() -> None:
    rows = list(csv.reader(io.StringIO(csv_of(names_table(FORMULAS)), newline="")))
    assert [row[0] for row in rows[1:]] == [f"'{name}" for name in FORMULAS]


def test_a_negative_number_is_no_formula() -> None:
    assert (
        csv_of(table_of(("a",), [-5], [-0.5]), keys=("sum_ns", "share_pct"))
        == "sum_ns,share_pct\r\n-5,-0.5\r\n"
    )


def test_the_handed_case_of_hard_names(shared_cases: Path) -> None:
    trace = json.loads((shared_cases / "T49.json").read_text(encoding="utf-8"))
    names = tuple(event["name"] for event in trace["traceEvents"] if event.get("cat") == "kernel")
    assert len(names) == 12
    rows = list(csv.reader(io.StringIO(csv_of(names_table(names)), newline="")))
    changed = [(name, row[0]) for name, row in zip(names, rows[1:], strict=True) if row[0] != name]
    assert changed == [('=HYPERLINK("http://127.0.0.1")', '\'=HYPERLINK("http://127.0.0.1")')]


def test_json_has_null_for_missing_and_says_what_columns_mean() -> None:
    table = table_of((*HARD_NAMES, "=1"), [MISSING] * 14, [float("nan"), *([float("inf")] * 13)])
    file = io.StringIO()
    write_json(table, None, ("name", "sum_ns", "share_pct"), file)
    found = json.loads(file.getvalue())
    assert [row["name"] for row in found["rows"]] == [*HARD_NAMES, "=1"]
    assert found["rows"][0] == {"name": HARD_NAMES[0], "sum_ns": None, "share_pct": None}
    assert found["rows"][1]["share_pct"] == "inf"
    assert found["columns"] == {"name": "Its name.", "sum_ns": "Of durations.", "share_pct": "Of all."}
    assert found["notes"] == ["2 launches could not be linked to an operator"]


def test_an_empty_table_is_a_header_only() -> None:
    table = table_of((), [], [])
    file = io.StringIO()
    write_json(table, None, ("name",), file)
    assert json.loads(file.getvalue())["rows"] == []
    assert csv_of(table) == "name\r\n"


def test_rows_beyond_one_chunk_are_all_written_and_progress_is_told() -> None:
    count = 20_000
    ids = np.full(count, NO_ROW, np.int32)
    ids[::2] = 0
    column = Column(key="name", title="Name", unit="", help="", values=ids, texts=("gemm",))
    number = Column(key="row", title="Row", unit="id", help="", values=np.arange(count, dtype=np.int64))
    told: list[int] = []
    file = io.StringIO(newline="")
    table = ResultTable(name="t", title="T", columns=(column, number))
    write_csv(table, None, ("name", "row"), file, moved=told.append)
    lines = file.getvalue().split("\r\n")
    assert lines[1:4] == ["gemm,0", ",1", "gemm,2"]
    assert lines[count:] == [f",{count - 1}", ""]
    assert told == sorted(told)
    assert len(told) > 1


def test_an_unknown_column_is_refused() -> None:
    with pytest.raises(KeyError, match="nothing"):
        csv_of(names_table(("a",)), keys=("nothing",))


def test_a_terminal_shows_one_unit_a_column_and_aligns() -> None:
    table = table_of(("gemm", "nccl", "copy"), [36_240_000, 2_120_000, MISSING], [18.7, 1.1, float("nan")])
    header, cells, sides = shown_cells(table, np.array([1, 0, 2], np.int32), ("name", "sum_ns", "share_pct"))
    assert aligned(header, cells, sides) == [
        "Kernel  Sum, ms   Share",
        "nccl       2.12   1.1\u00a0%",
        "gemm      36.24  18.7\u00a0%",
        "copy        n/a     n/a",
    ]
