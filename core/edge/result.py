"""What a run on a device gave, judged: kept on disk, printed by the command line, shown by the window."""

from __future__ import annotations

from typing import Final, Literal

import msgspec

from core.edge.events import Ceiling, Dispatch, ProviderCount
from core.edge.models import Precision

RESULT_SCHEMA: Final = 1

EdgeState = Literal["agrees", "disagrees", "ran_elsewhere", "impossible", "refused", "failed", "cancelled"]
"""``ran_elsewhere``: another provider than the asked one ran nodes; ``impossible``: a rate beyond the
device's ceiling, or a time that is none. Only "agrees" has speeds."""


class EdgeProblem(msgspec.Struct, frozen=True, kw_only=True):
    """What limits the result."""

    code: str
    message: str
    hint: str = ""
    count: int = 1


class Agreement(msgspec.Struct, frozen=True, kw_only=True):
    """The outputs against those of fp32 on the CPU.

    Attributes:
        max_abs_error: Largest difference of two elements that are both finite; None if there is none.
        rel_error: Euclidean norm of the differences by that of the reference; None likewise.
        argmax_agreement: Share of the positions (all but the last axis) whose largest element is the
            same; None where outputs are no scores.
        nan_count: NaN and infinities that the reference does not have.
        tolerance: Largest ``max_abs_error`` by the largest element of the reference, that still agrees.
        agrees: Whether all of it is within the tolerances.
        why: What is not, in one sentence; "" if all is.
    """

    max_abs_error: float | None
    rel_error: float | None
    argmax_agreement: float | None
    nan_count: int
    tolerance: float
    agrees: bool
    why: str = ""


class CaseResult(msgspec.Struct, frozen=True, kw_only=True):
    """One length of the prefill, or the decode."""

    case: str
    tokens: int | None
    first_call_s: float
    warm_calls_s: tuple[float, ...]
    agreement: Agreement
    flops: int | None = None


class EdgeResult(msgspec.Struct, frozen=True, kw_only=True):
    """A run of one model by one backend on one device.

    Times are seconds; None is not measured, or not to be believed (see ``state``).
    """

    schema: int = RESULT_SCHEMA
    id: str = ""
    started_ns: int = 0
    """Wall clock, ns since 1970."""
    state: EdgeState
    backend: str
    backend_version: str | None
    device: str
    """Name, as its driver says it."""
    device_key: str
    software: bool
    model: str
    parameters: int | None = None
    weight_bytes: int | None = None
    precision: Precision
    tokens: int | None = None
    reference: str = ""
    export_s: float | None = None
    compile_s: float | None = None
    load_s: float | None = None
    first_call_s: float | None = None
    warm_call_s: float | None = None
    """Median of the judged case."""
    reference_call_s: float | None = None
    """The same of the reference, in fp32 on the CPU."""
    prefill_tokens_per_s: float | None = None
    decode_tokens_per_s: float | None = None
    max_abs_error: float | None = None
    rel_error: float | None = None
    argmax_agreement: float | None = None
    nan_count: int | None = None
    agrees: bool | None = None
    cached: tuple[str, ...] = ()
    """Stages whose work was found in the cache."""
    cases: tuple[CaseResult, ...] = ()
    dispatches: tuple[Dispatch, ...] = ()
    """Of one warm call of the judged case."""
    asked_provider: str = ""
    providers: tuple[ProviderCount, ...] = ()
    ceilings: tuple[Ceiling, ...] = ()
    peak_bytes: int | None = None
    device_peak_bytes: int | None = None
    copied_bytes: int | None = None
    mapped_bytes: int | None = None
    problems: tuple[EdgeProblem, ...] = ()
