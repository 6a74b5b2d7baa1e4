"""The answer of every analysis about one small recording, as the CSV that a user would export."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING

import pytest

from core.analyses.index import TraceIndex
from core.analyses.registry import ANALYSES, find_analysis
from core.export import write_csv
from core.tables.selection import WHOLE, Selection
from tests.helpers.training_trace import training_trace

if TYPE_CHECKING:
    from collections.abc import Callable

    from core.analyses.registry import Analysis


@pytest.mark.parametrize("analysis", ANALYSES, ids=lambda analysis: analysis.name)
def test_every_analysis_answers_as_before(analysis: Analysis, golden: Callable[[str, str], None]) -> None:
    table = analysis.summarize(TraceIndex(training_trace()), WHOLE)
    assert (table.name, table.title) == (analysis.name, analysis.title)
    text = io.StringIO()
    write_csv(table, None, [column.key for column in table.columns], text)
    notes = "".join(f"# {note}\n" for note in table.notes)
    golden(f"analyses/{analysis.name}.csv", notes + text.getvalue().replace("\r\n", "\n"))


@pytest.mark.parametrize("analysis", ANALYSES, ids=lambda analysis: analysis.name)
def test_every_analysis_answers_about_nothing(analysis: Analysis) -> None:
    from tests.helpers.traces import trace_of

    table = analysis.summarize(TraceIndex(trace_of()), WHOLE)
    assert len(table) == 0
    assert table.empty
    outside = analysis.summarize(TraceIndex(training_trace()), Selection(10**15, 10**16))
    assert outside.name == analysis.name


def test_an_analysis_is_found_by_its_name() -> None:
    assert [find_analysis(analysis.name) for analysis in ANALYSES] == list(ANALYSES)
    with pytest.raises(KeyError):
        find_analysis("nothing")
