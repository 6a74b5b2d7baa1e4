"""The one list of operators whose work is known, and the way to it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from core.analyses.op_work import (
    attention,
    convolution,
    elementwise,
    losses,
    matrix,
    moving,
    normalisation,
    optimizers,
    reductions,
)
from core.analyses.op_work.call import LARGEST, NO_SENSE, UnknownWorkError, Work
from core.analyses.op_work.generated import PREFIX, generated_work

if TYPE_CHECKING:
    from collections.abc import Callable

    from core.analyses.op_work.call import OpCall

TOO_LARGE: Final = "Input shapes are too large to be real"
NO_MODEL: Final = "No model for this operator"

MODELS: Final[dict[str, Callable[[OpCall], Work]]] = {
    **elementwise.MODELS,
    **reductions.MODELS,
    **moving.MODELS,
    **losses.MODELS,
    **optimizers.MODELS,
    **normalisation.MODELS,
    **attention.MODELS,
    **convolution.MODELS,
    **matrix.MODELS,
}
"""By the name of the operator."""

PRODUCTS: Final = frozenset((*attention.MODELS, *convolution.MODELS, *matrix.MODELS))
"""Operators that a matrix product, a convolution or attention does."""


def has_model(name: str) -> bool:
    """Returns whether the work of an operator of that name can be known."""
    return name in MODELS or name.startswith(PREFIX)


def work_of(call: OpCall) -> Work:
    """Returns the work of a call.

    Raises:
        UnknownWorkError: It cannot be known; says why.
    """
    if call.name.startswith(PREFIX):
        work = generated_work(call)
    elif call.name in MODELS:
        work = MODELS[call.name](call)
    else:
        raise UnknownWorkError(NO_MODEL)
    if min(work.flop or 0, work.moved_bytes) < 0:
        raise UnknownWorkError(NO_SENSE)
    if max(work.flop or 0, work.moved_bytes) > LARGEST:
        raise UnknownWorkError(TOO_LARGE)
    return work
