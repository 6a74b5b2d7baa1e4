"""From what a worker said and left behind to a result: the judgement that the worker cannot make itself."""

from __future__ import annotations

import zipfile
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any, Final

import msgspec
import numpy as np

from core.edge.agreement import compare
from core.edge.events import (
    Began,
    Called,
    Ceiling,
    Dispatched,
    Ended,
    Finished,
    Memory,
    Noted,
    Provided,
    Refused,
)
from core.edge.result import Agreement, CaseResult, EdgeProblem, EdgeResult
from core.edge.timing import (
    Roof,
    believable,
    dispatch_problem,
    dispatch_rate_problem,
    impossible_rate,
    measured_roof,
)
from core.errors import DashboardError
from core.files import printable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from core.edge.events import Event, Stage
    from core.edge.models import PreparedCase, PreparedModel
    from core.edge.result import EdgeState

DECODE: Final = "decode"


@dataclass(slots=True)
class Heard:
    """What a worker has said, in its order."""

    stage: Stage | None = None
    """The one that has begun and not ended."""
    seconds: dict[Stage, float] = field(default_factory=dict)
    cached: set[Stage] = field(default_factory=set)
    called: dict[str, Called] = field(default_factory=dict)
    dispatched: Dispatched | None = None
    provided: Provided | None = None
    memory: Memory = field(default_factory=Memory)
    ceilings: list[Ceiling] = field(default_factory=list)
    notes: list[Noted] = field(default_factory=list)
    refused: Refused | None = None
    finished: Finished | None = None

    def take(self, event: Event) -> None:  # noqa: C901  (one line an event)
        """Takes an event."""
        match event:
            case Began():
                self.stage = event.stage
            case Ended():
                self.stage = None
                self.seconds[event.stage] = self.seconds.get(event.stage, 0.0) + event.seconds
                if event.cached:
                    self.cached.add(event.stage)
            case Called():
                self.called[event.case] = event
            case Dispatched():
                self.dispatched = event
            case Provided():
                self.provided = event
            case Memory():
                self.memory = event
            case Ceiling():
                self.ceilings.append(event)
            case Noted():
                self.notes.append(event)
            case Refused():
                self.refused = event
            case Finished():
                self.finished = event

    @property
    def problems(self) -> tuple[EdgeProblem, ...]:
        """What the worker noted."""
        return tuple(
            EdgeProblem(code=each.code, message=each.message, hint=each.hint, count=each.count)
            for each in self.notes
        )


def judge(  # noqa: PLR0913, PLR0917  (all that there is to judge by)
    known: EdgeResult,
    heard: Heard,
    model: PreparedModel,
    model_folder: Path,
    work_folder: Path,
    roof: Roof | None,
) -> EdgeResult:
    """Judges a worker that said that it was done.

    Args:
        known: What was known before: who, what and where.
        heard: What the worker said.
        model: What it ran.
        model_folder: Where the references are.
        work_folder: Where its outputs are.
        roof: From the data sheet, None where there is none. What was measured is a roof too.

    Returns:
        The result. Only one that agrees has speeds.
    """
    problems = [*known.problems, *heard.problems]
    cases = []
    for prepared in model.cases:
        called = heard.called.get(prepared.name)
        if called is None:
            problems += _not_run(prepared, heard)
            continue
        calls_s, problem = believable(called.warm_s)
        problems += [problem] if problem is not None else []
        cases.append(
            CaseResult(
                case=prepared.name,
                tokens=prepared.tokens,
                first_call_s=called.first_s,
                warm_calls_s=calls_s,
                agreement=_compared(prepared, called, model, model_folder, work_folder),
                flops=prepared.flops,
            )
        )
    dispatches = () if heard.dispatched is None else heard.dispatched.dispatches
    measured = measured_roof(heard.ceilings, model.precision, dispatches)
    roofs = [each for each in (roof, measured) if each is not None]
    has_judged = bool(model.cases) and model.cases[0].name in heard.called
    state, why = _state(cases if has_judged else [], heard, roofs)
    doubts = dispatch_problem(dispatches), *(dispatch_rate_problem(dispatches, each) for each in roofs)
    problems += [each for each in (*why, *doubts) if each is not None]
    judged = with_facts(known, heard)
    judged = msgspec.structs.replace(
        judged, state=state, cases=tuple(cases), dispatches=dispatches, problems=tuple(problems)
    )
    return _with_figures(judged) if has_judged else judged


def with_facts(known: EdgeResult, heard: Heard) -> EdgeResult:
    """Adds what a worker said of itself; also of one that did not come to its end."""
    provided, memory = heard.provided, heard.memory
    return msgspec.structs.replace(
        known,
        backend_version=known.backend_version if heard.finished is None else heard.finished.backend_version,
        compile_s=heard.seconds.get("compile"),
        load_s=heard.seconds.get("load"),
        cached=tuple(sorted({*known.cached, *heard.cached})),
        asked_provider="" if provided is None else provided.asked,
        providers=() if provided is None else provided.providers,
        ceilings=tuple(heard.ceilings),
        peak_bytes=memory.peak_bytes,
        device_peak_bytes=memory.device_peak_bytes,
        copied_bytes=memory.copied_bytes,
        mapped_bytes=memory.mapped_bytes,
        problems=(*known.problems, *heard.problems),
    )


def _with_figures(result: EdgeResult) -> EdgeResult:
    """Adds the figures of the judged case, which is the first; speeds only where all agrees."""
    first = result.cases[0] if result.cases else None
    if first is None:
        return result
    agreement = first.agreement
    agreed = all(case.agreement.agrees for case in result.cases)
    figures = msgspec.structs.replace(
        result,
        tokens=first.tokens,
        max_abs_error=agreement.max_abs_error,
        rel_error=agreement.rel_error,
        argmax_agreement=agreement.argmax_agreement,
        nan_count=sum(case.agreement.nan_count for case in result.cases),
        agrees=agreed,
    )
    if result.state != "agrees":
        return figures
    return msgspec.structs.replace(
        figures,
        first_call_s=first.first_call_s,
        warm_call_s=median(first.warm_calls_s),
        prefill_tokens_per_s=_rate(first),
        decode_tokens_per_s=next((_rate(case) for case in result.cases if case.case == DECODE), None),
    )


def _rate(case: CaseResult) -> float | None:
    if case.tokens is None or not case.warm_calls_s:
        return None
    return case.tokens / median(case.warm_calls_s)


def _not_run(prepared: PreparedCase, heard: Heard) -> list[EdgeProblem]:
    """Says that a case has no result, where the worker did not say it itself."""
    if any(each.code == "case_skipped" and prepared.name in each.message for each in heard.notes):
        return []
    return [
        EdgeProblem(
            code="case_missing",
            message=f"The backend gave no result for {prepared.name}.",
            hint="Nothing is known of it.",
        )
    ]


def _state(
    cases: list[CaseResult], heard: Heard, roofs: Sequence[Roof]
) -> tuple[EdgeState, tuple[EdgeProblem, ...]]:
    """Decides what it was, the worst first, and says why.

    Args:
        cases: Those that were run; none without the judged one, whose figures are the result's.
        heard: What the worker said.
        roofs: A rate beyond any of them is impossible.
    """
    elsewhere, notes = _elsewhere(heard.provided)
    if elsewhere is not None:
        return "ran_elsewhere", (elsewhere,)
    if not cases:
        return "failed", (
            EdgeProblem(
                code="no_outputs",
                message="The backend ended without an output.",
                hint="Nothing is known of it.",
            ),
        )
    wrong = [case for case in cases if not case.agreement.agrees]
    if wrong:
        return "disagrees", (
            *notes,
            *(
                EdgeProblem(
                    code="disagrees",
                    message=f"{case.case}: {case.agreement.why}",
                    hint="Its speed is not shown. Try fp32, another backend or a newer driver.",
                )
                for case in wrong
            ),
        )
    for case in cases:
        if not case.warm_calls_s:
            return "impossible", notes  # believable() has said why
        for roof in roofs:
            if (rate := impossible_rate(case.flops, case.warm_calls_s, roof)) is not None:
                return "impossible", (*notes, rate)
    return "agrees", notes


def _elsewhere(provided: Provided | None) -> tuple[EdgeProblem | None, tuple[EdgeProblem, ...]]:
    """Whether no node ran where it was asked to, and what is to be said if only some did not."""
    if provided is None or not provided.asked:
        return None, ()
    whole = sum(each.nodes for each in provided.providers)
    here = sum(each.nodes for each in provided.providers if each.provider == provided.asked)
    others = [each for each in provided.providers if each.provider != provided.asked and each.nodes]
    names = ", ".join(f"{each.nodes:,} on {each.provider}" for each in others) or "nothing is known of them"
    if not here:
        return EdgeProblem(
            code="ran_elsewhere",
            message=f"Of {whole:,} nodes none ran on {provided.asked} ({names}).",
            hint="This is not the device's time. Update its driver, or use another backend.",
        ), ()
    if not others:
        return None, ()
    return None, (
        EdgeProblem(
            code="partly_elsewhere",
            message=f"Of {whole:,} nodes {here:,} ran on {provided.asked}, {names}.",
            hint="The time holds the copies between them.",
            count=whole - here,
        ),
    )


def _compared(
    prepared: PreparedCase, called: Called, model: PreparedModel, model_folder: Path, work_folder: Path
) -> Agreement:
    wanted = _arrays(model_folder / prepared.reference)
    # A worker names files of its own folder, and no others.
    given = _arrays(work_folder / Path(called.output).name)
    return compare(given, wanted, model.precision)


def _arrays(path: Path) -> list[NDArray[Any]]:
    """Reads the arrays of a file, in its order.

    Raises:
        DashboardError: It is not there or damaged.
    """
    try:
        with path.open("rb") as file, np.load(file, allow_pickle=False) as stored:
            return [stored[name] for name in stored.files]
    except (OSError, ValueError, zipfile.BadZipFile) as error:
        raise DashboardError(
            f"{printable(path.name)} cannot be read: {printable(str(error))}.",
            "Run it again; what was cached is made anew if it is damaged.",
        ) from error
