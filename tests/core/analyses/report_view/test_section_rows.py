"""Values of sections as rows: each with the words before it and those above it, once."""

from __future__ import annotations

import numpy as np

from core.analyses.report_view.parts import (
    Axis,
    Bar,
    BarPart,
    BodyView,
    Cell,
    LabelledCell,
    LinePart,
    LineSeries,
    RowPart,
    SectionView,
    TableColumn,
    TablePart,
)
from core.analyses.report_view.section_rows import section_rows


def section(*parts: TablePart | BarPart | RowPart | LinePart, title: str = "Title") -> SectionView:
    header = ((LabelledCell(label="Head", cell=Cell(value=1)),),)
    return SectionView(
        identifier="Id",
        title=title,
        order=None,
        description="",
        header=header,
        bodies=(BodyView(label="", parts=parts),),
    )


def test_values_of_header_tables_and_bars_are_rows() -> None:
    pairs = TablePart(
        label="Pairs",
        columns=(TableColumn(title="", is_label=True), TableColumn(title="")) * 2,
        rows=(
            (Cell(value="A"), Cell(value=2), Cell(value="B"), Cell(value=None)),
            (Cell(value="C"), Cell(value=4), None, None),
        ),
    )
    grid = TablePart(
        label="Grid",
        columns=(TableColumn(title="", is_label=True), TableColumn(title="Min"), TableColumn(title="Max")),
        rows=((Cell(value="SM"), Cell(value=5), Cell(value=6)),),
    )
    bars = BarPart(label="Bars", category=Axis(), value=Axis(), bars=(Bar(label="D", cell=Cell(value=7)),))
    found = list(section_rows(section(RowPart(parts=(pairs, grid)), bars, pairs)))
    assert [(row.table, row.label, row.cell.value) for row in found] == [
        ("", "Head", 1),
        ("Pairs", "A", 2),
        ("Pairs", "B", None),
        ("Pairs", "C", 4),
        ("Grid", "SM Min", 5),
        ("Grid", "SM Max", 6),
        ("Bars", "D", 7),
    ]
    assert {row.section for row in found} == {"Title"}


def test_curves_are_no_rows_and_a_section_without_title_is_named() -> None:
    xs = np.arange(2.0)
    line = LinePart(
        label="L",
        category=Axis(),
        value=Axis(),
        series=(LineSeries(label="", metric="", xs=xs, ys=xs.copy()),),
    )
    assert [(row.section, row.label) for row in section_rows(section(line, title=""))] == [("Id", "Head")]
