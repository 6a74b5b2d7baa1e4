"""Loss functions: the parts of a cross-entropy that follow its log-softmax, and losses of element pairs."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Final

from core.analyses.op_work.call import NO_SENSE, UnknownWorkError, Work
from core.analyses.op_work.elements import scalar_arithmetic

if TYPE_CHECKING:
    from collections.abc import Callable

    from core.analyses.op_work.call import OpCall

_NOT_REDUCED: Final = "0"


def _nll(call: OpCall) -> Work:
    """``nll_loss_forward(input, target, weight, reduction)``: one element of each row is read.

    Source: torch.nn.NLLLoss (2.13).
    """
    data, target = call.tensor(0), call.tensor(1)
    if target.count > data.count:
        raise UnknownWorkError(NO_SENSE)
    results = target.count if call.text(3) == _NOT_REDUCED else 1
    return Work(
        2 * target.count,
        target.size_bytes + (target.count + results) * data.element.size_bytes,
        scalar_arithmetic(data.element),
    )


def _nll_backward(call: OpCall) -> Work:
    """``nll_loss_backward(grad, input, target)``: the whole gradient is written, nearly all of it zeros."""
    grad, data, target = call.tensor(0), call.tensor(1), call.tensor(2)
    return Work(
        target.count,
        grad.size_bytes + target.size_bytes + data.size_bytes,
        scalar_arithmetic(data.element),
    )


def _pairs(flop: int, reduction: int, call: OpCall) -> Work:
    """A loss of each pair of elements, and their sum unless it is not reduced."""
    data, target = call.tensor(0), call.tensor(1)
    whole = call.text(reduction) == _NOT_REDUCED
    written = data.size_bytes if whole else data.element.size_bytes
    return Work(
        (flop + (0 if whole else 1)) * data.count,
        data.size_bytes + target.size_bytes + written,
        scalar_arithmetic(data.element),
    )


def _pairs_backward(flop: int, call: OpCall) -> Work:
    grad, data, target = call.tensor(0), call.tensor(1), call.tensor(2)
    return Work(
        flop * data.count,
        grad.size_bytes + 2 * data.size_bytes + target.size_bytes,
        scalar_arithmetic(data.element),
    )


# Operations a pair: difference and its size or square; two logs and products; and with their derivatives.
MODELS: Final[dict[str, Callable[[OpCall], Work]]] = {
    "aten::nll_loss_forward": _nll,
    "aten::nll_loss2d_forward": _nll,
    "aten::nll_loss_backward": _nll_backward,
    "aten::nll_loss2d_backward": _nll_backward,
    "aten::mse_loss": partial(_pairs, 2, 2),
    "aten::l1_loss": partial(_pairs, 2, 2),
    "aten::smooth_l1_loss": partial(_pairs, 5, 2),
    "aten::huber_loss": partial(_pairs, 5, 2),
    "aten::binary_cross_entropy": partial(_pairs, 7, 3),
    "aten::mse_loss_backward": partial(_pairs_backward, 3),
    "aten::smooth_l1_loss_backward": partial(_pairs_backward, 5),
    "aten::huber_loss_backward": partial(_pairs_backward, 5),
    "aten::binary_cross_entropy_backward": partial(_pairs_backward, 5),
}
