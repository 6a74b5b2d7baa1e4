"""Results side by side: device by device, backend by backend, precision by precision."""

from __future__ import annotations

from statistics import median
from typing import TYPE_CHECKING, Final

import numpy as np

from core.edge.result import Agreement, CaseResult, EdgeResult
from core.files import printable
from core.tables.columns import MISSING
from core.tables.result import Column, ResultTable, Unit

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from core.edge.result import EdgeState
    from core.tables.columns import Bool

STATE_WORDS: Final[dict[EdgeState, str]] = {
    "agrees": "agrees",
    "disagrees": "disagrees",
    "ran_elsewhere": "ran elsewhere",
    "impossible": "impossible times",
    "refused": "refused",
    "failed": "failed",
    "cancelled": "cancelled",
}
WRONG: Final[frozenset[EdgeState]] = frozenset(("disagrees", "ran_elsewhere", "impossible", "failed"))
REFERENCE: Final = "reference"
"""Id of a row that stands for the reference's own run."""

_NS: Final = 1e9


def state_words(result: EdgeResult) -> str:
    """What became of it: "agrees, software"."""
    if result.id == REFERENCE:
        return REFERENCE
    words = STATE_WORDS[result.state]
    if result.state == "ran_elsewhere" and {each.provider for each in result.providers} == {
        "CPUExecutionProvider"
    }:
        words = "ran on the CPU"
    return f"{words}, software" if result.software and result.state == "agrees" else words


def reference_rows(results: Iterable[EdgeResult]) -> tuple[EdgeResult, ...]:
    """The references' own runs, as results to list behind the others: one for each model and length."""
    found: dict[tuple[str, int | None], EdgeResult] = {}
    for each in results:
        call_s = each.reference_call_s
        if call_s is None or not call_s > 0 or (each.model, each.tokens) in found:
            continue
        backend, _, device = each.reference.partition(", ")
        exact = Agreement(
            max_abs_error=0.0, rel_error=0.0, argmax_agreement=1.0, nan_count=0, tolerance=0.0, agrees=True
        )
        case = CaseResult(
            case="", tokens=each.tokens, first_call_s=call_s, warm_calls_s=(call_s,), agreement=exact
        )
        found[each.model, each.tokens] = EdgeResult(
            id=REFERENCE,
            started_ns=each.started_ns,
            state="agrees",
            backend=backend,
            backend_version=None,
            device=device or "CPU",
            device_key="cpu",
            software=False,
            model=each.model,
            parameters=each.parameters,
            weight_bytes=each.weight_bytes,
            precision="fp32",
            tokens=each.tokens,
            reference=each.reference,
            warm_call_s=call_s,
            prefill_tokens_per_s=None if each.tokens is None else each.tokens / call_s,
            max_abs_error=0.0,
            rel_error=0.0,
            argmax_agreement=1.0,
            nan_count=0,
            agrees=True,
            cases=(case,),
        )
    return tuple(found.values())


def backend_words(result: EdgeResult) -> str:
    """The backend with its version: "iree 3.13.0"."""
    return f"{result.backend} {result.backend_version or ''}".strip()


def judged_calls_s(result: EdgeResult) -> tuple[float, ...]:
    """Warm calls of the judged case, from the fastest; none where they are not to be believed."""
    if result.state != "agrees" or not result.cases:
        return ()
    return tuple(sorted(result.cases[0].warm_calls_s))


def quantile_s(calls_s: Sequence[float], share: float) -> float:
    """Linear between the calls, as numpy.quantile."""
    return float(np.quantile(calls_s, share))


def result_table(results: Sequence[EdgeResult]) -> ResultTable:
    """Lists results, a row each, in their order."""
    calls = [judged_calls_s(result) for result in results]
    wrong = np.array([result.state in WRONG for result in results], np.bool_)
    untold = "Only of a result that agrees."
    columns = (
        _text("backend", "Backend", "What compiled and ran it.", map(backend_words, results)),
        _text("device", "Device", "As its driver calls it.", [printable(each.device) for each in results]),
        _text(
            "state",
            "State",
            "What the comparison with fp32 on the CPU gave; only what agrees has times.",
            map(state_words, results),
            wrong,
        ),
        _text("model", "Model", "What was run.", [printable(each.model) for each in results], shown=False),
        _text(
            "precision",
            "Type",
            "What was computed with.",
            [each.precision for each in results],
            shown=len({each.precision for each in results}) > 1,
        ),
        _whole(
            "tokens",
            "Tokens",
            "count",
            "Length of the prefill.",
            [each.tokens for each in results],
            shown=len({each.tokens for each in results}) > 1,
        ),
        _float(
            "max_abs_error",
            "Max abs error",
            "Largest difference to the reference.",
            [each.max_abs_error for each in results],
            wrong=np.array([each.state == "disagrees" for each in results], np.bool_),
        ),
        _float(
            "argmax_agreement",
            "Argmax equal",
            "Share of the positions whose largest score is at the same place.",
            [each.argmax_agreement for each in results],
        ),
        _ns(
            "p50_ns", "p50", f"Median warm call. {untold}", [median(each) if each else None for each in calls]
        ),
        _ns("p05_ns", "p5", f"1 of 20 warm calls is faster. {untold}", _quantiles(calls, 0.05)),
        _ns("p95_ns", "p95", f"1 of 20 warm calls is slower. {untold}", _quantiles(calls, 0.95)),
        _float(
            "prefill_tokens_per_s",
            "Tokens/s",
            f"Of the prefill, by the median. {untold}",
            [each.prefill_tokens_per_s for each in results],
        ),
        _float(
            "decode_tokens_per_s",
            "Decode, tokens/s",
            f"Of the cached decode, which is a model of its own. {untold}",
            [each.decode_tokens_per_s for each in results],
            shown=any(each.decode_tokens_per_s is not None for each in results),
        ),
        *(
            _ns(f"{key}_ns", title, told, [getattr(each, f"{key}_s") for each in results], shown=False)
            for key, title, told in (
                ("export", "Export", "From PyTorch to the backend's input."),
                ("compile", "Compile", "0 and a bit where it was found in the cache."),
                ("load", "Load", "Of program and weights onto the device."),
                ("first_call", "First call", "The driver may compile in it."),
            )
        ),
        _whole(
            "peak_bytes",
            "Peak memory",
            "bytes",
            "Largest resident memory of the worker.",
            [each.peak_bytes for each in results],
            shown=False,
        ),
    )
    return ResultTable(
        name="edge_results",
        title="Results",
        columns=columns,
        empty="Choose devices and run the model.",
    )


def _quantiles(calls: Sequence[tuple[float, ...]], share: float) -> list[float | None]:
    # Of one call there is no spread.
    return [quantile_s(each, share) if len(each) > 1 else None for each in calls]


def _text(  # noqa: PLR0913  (a column)
    key: str,
    title: str,
    told: str,
    values: Iterable[str],
    wrong: Bool | None = None,
    *,
    shown: bool = True,
) -> Column:
    texts = tuple(values)
    known = tuple(dict.fromkeys(texts))
    ids = np.array([known.index(text) for text in texts], np.int32)
    return Column(
        key=key, title=title, unit="", help=told, values=ids, texts=known or ("",), wrong=wrong, shown=shown
    )


def _whole(  # noqa: PLR0913
    key: str, title: str, unit: Unit, told: str, values: Sequence[int | None], *, shown: bool = True
) -> Column:
    numbers = np.array([MISSING if value is None else value for value in values], np.int64)
    return Column(key=key, title=title, unit=unit, help=told, values=numbers, shown=shown)


def _float(  # noqa: PLR0913
    key: str,
    title: str,
    told: str,
    values: Sequence[float | None],
    *,
    shown: bool = True,
    wrong: Bool | None = None,
) -> Column:
    numbers = np.array([np.nan if value is None else value for value in values], np.float64)
    return Column(key=key, title=title, unit="", help=told, values=numbers, shown=shown, wrong=wrong)


def _ns(key: str, title: str, told: str, values_s: Sequence[float | None], *, shown: bool = True) -> Column:
    return _whole(
        key,
        title,
        "ns",
        told,
        [None if each is None else round(each * _NS) for each in values_s],
        shown=shown,
    )
