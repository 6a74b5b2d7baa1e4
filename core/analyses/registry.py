"""The one list of analyses: what ``summary --table NAME`` and the tabs of a trace can show.

An analysis is one file with a pure function from the trace to a table, and one
line in ``ANALYSES``. What analyses share is computed once, in ``TraceIndex``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from core.analyses.communication import list_collectives, summarize_communication
from core.analyses.kernels import summarize_kernels
from core.analyses.launches import list_launches
from core.analyses.memory import summarize_memory
from core.analyses.modules import summarize_modules
from core.analyses.operators import summarize_operators, summarize_operators_by_shape
from core.analyses.overlap import summarize_overlap
from core.analyses.queue import summarize_queue
from core.analyses.steps import summarize_steps
from core.analyses.stragglers import list_arrivals, summarize_stragglers
from core.analyses.work import summarize_work
from core.tables.selection import WHOLE, Selection

if TYPE_CHECKING:
    from collections.abc import Callable

    from core.analyses.index import TraceIndex
    from core.tables.result import ResultTable


@dataclass(frozen=True, slots=True)
class Analysis:
    """One analysis.

    Attributes:
        name: For programs and the command line: ``kernels``. Also the name of its golden case.
        title: For people: "Kernels".
        summarize: Answers for the part of a trace that is selected.
    """

    name: str
    title: str
    summarize: Callable[[TraceIndex, Selection], ResultTable]


ANALYSES: Final[tuple[Analysis, ...]] = (
    Analysis("kernels", "Kernels", summarize_kernels),
    Analysis("launches", "Launches", list_launches),
    Analysis("ops", "Operators", summarize_operators),
    Analysis("ops_by_shape", "Operators by shape", summarize_operators_by_shape),
    Analysis("modules", "Modules", summarize_modules),
    Analysis("steps", "Steps", summarize_steps),
    Analysis("overlap", "Overlap", summarize_overlap),
    Analysis("communication", "Communication", summarize_communication),
    Analysis("collectives", "Collectives", list_collectives),
    Analysis("arrivals", "Arrivals", list_arrivals),
    Analysis("stragglers", "Stragglers", summarize_stragglers),
    Analysis("queue", "Queue", summarize_queue),
    Analysis("memory", "Memory", summarize_memory),
    Analysis("work", "Work (modelled)", summarize_work),
)


def find_analysis(name: str) -> Analysis:
    """Returns an analysis by its name.

    Raises:
        KeyError: There is none of that name.
    """
    for analysis in ANALYSES:
        if analysis.name == name:
            return analysis
    raise KeyError(name)


def summarize(index: TraceIndex, name: str, selection: Selection = WHOLE) -> ResultTable:
    """Returns the answer of the analysis of that name.

    Raises:
        KeyError: There is none of that name.
    """
    return find_analysis(name).summarize(index, selection)
