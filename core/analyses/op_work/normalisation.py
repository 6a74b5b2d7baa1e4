"""Norms and softmax: a few operations an element, as their definitions need them.

An operation is an addition, a subtraction, a product, a comparison, a division,
or one function such as exp. What is computed once a row is not counted.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Final

from core.analyses.op_work.call import Work
from core.analyses.op_work.elements import Element, scalar_arithmetic

if TYPE_CHECKING:
    from collections.abc import Callable

    from core.analyses.op_work.call import OpCall, Tensor

# Mean (1), variance (3: difference, square, sum), scaled difference (2); weight and bias 1 each.
_MEAN_AND_VARIANCE: Final = 6
_STORED_STATISTICS: Final = 2
# Square, sum, product; the weight 1.
_SQUARES: Final = 3
# Normalised input (2), gradient by weight (1), two sums (3), gradient of the input (5), of both others (3).
_NORM_BACKWARD: Final = 14
# Normalised input (1), gradient by weight (1), a sum (2), gradient of the input (3), of the weight (2).
_SQUARES_BACKWARD: Final = 9
# Largest, difference, exp, sum, quotient (or the second difference of log-softmax).
_SOFTMAX: Final = 5
# Product, sum, difference, product (or exp and the like of log-softmax).
_SOFTMAX_BACKWARD: Final = 4


@dataclass(frozen=True, slots=True)
class _Norm:
    """Where the arguments of a norm stand.

    Attributes:
        weight, bias: -1 if it has none.
        training: Of the flag that says whether statistics are computed; -1 if they always are.
        flop: Operations an element without weight and bias.
    """

    weight: int
    bias: int = -1
    training: int = -1
    flop: int = _MEAN_AND_VARIANCE


# Source: native_functions.yaml (torch 2.13).
_NORMS: Final = {
    "aten::layer_norm": _Norm(2, 3),
    "aten::native_layer_norm": _Norm(2, 3),
    "aten::group_norm": _Norm(2, 3),
    "aten::native_group_norm": _Norm(1, 2),
    "aten::rms_norm": _Norm(2, flop=_SQUARES),
    "aten::_fused_rms_norm": _Norm(2, flop=_SQUARES),
    "aten::batch_norm": _Norm(1, 2, 5),
    "aten::native_batch_norm": _Norm(1, 2, 5),
    "aten::_batch_norm_impl_index": _Norm(1, 2, 5),
    "aten::_native_batch_norm_legit": _Norm(1, 2, 5),
    "aten::_batch_norm_with_update": _Norm(1, 2),
    "aten::cudnn_batch_norm": _Norm(1, 2, 5),
    "aten::miopen_batch_norm": _Norm(1, 2, 5),
}


def _forward(norm: _Norm, call: OpCall) -> Work:
    data = call.tensor(0)
    weight = call.optional(norm.weight)
    bias = call.optional(norm.bias)
    flop = norm.flop
    if norm.training >= 0 and not call.flags(norm.training)[0]:
        flop = _STORED_STATISTICS
    flop += (weight is not None) + (bias is not None)
    more = sum(tensor.size_bytes for tensor in (weight, bias) if tensor)
    return Work(flop * data.count, 2 * data.size_bytes + more, scalar_arithmetic(data.element))


# Places of the gradient and the input, and operations. Source: native_functions.yaml (torch 2.13).
_BACKWARDS: Final = {
    "aten::native_layer_norm_backward": (0, 1, _NORM_BACKWARD),
    "aten::native_group_norm_backward": (0, 1, _NORM_BACKWARD),
    "aten::_fused_rms_norm_backward": (0, 1, _SQUARES_BACKWARD),
    "aten::native_batch_norm_backward": (0, 1, _NORM_BACKWARD),
    "aten::batch_norm_backward": (0, 1, _NORM_BACKWARD),
    "aten::cudnn_batch_norm_backward": (1, 0, _NORM_BACKWARD),
    "aten::miopen_batch_norm_backward": (1, 0, _NORM_BACKWARD),
}


def _backward(places: tuple[int, int, int], call: OpCall) -> Work:
    grad, data = call.tensor(places[0]), call.tensor(places[1])
    more = sum(tensor.size_bytes for tensor in call.tensors()) - grad.size_bytes - data.size_bytes
    return Work(
        places[2] * data.count,
        grad.size_bytes + 2 * data.size_bytes + max(more, 0),
        scalar_arithmetic(data.element),
    )


def _softmax(widened: int, call: OpCall) -> Work:
    """Softmax and log-softmax; ``widened`` is the place of the flag ``half_to_float``, -1 for none."""
    data = call.tensor(0)
    result = data.element
    if widened >= 0 and call.text(widened) in ("True", "true", "1"):
        result = Element.FLOAT32
    return Work(
        _SOFTMAX * data.count,
        data.size_bytes + data.count * result.size_bytes,
        scalar_arithmetic(data.element),
    )


def _softmax_backward(call: OpCall) -> Work:
    """``_softmax_backward_data(grad, output, dim, input_dtype)``."""
    grad, result = call.tensor(0), call.tensor(1)
    written = _written(call, result)
    return Work(
        _SOFTMAX_BACKWARD * result.count,
        grad.size_bytes + result.size_bytes + written,
        scalar_arithmetic(result.element),
    )


def _written(call: OpCall, result: Tensor) -> int:
    """Returns the bytes of the gradient, which has the type that the input had."""
    half = call.text(3) in ("5", "15")
    return result.count * (2 if half else result.element.size_bytes)


MODELS: Final[dict[str, Callable[[OpCall], Work]]] = {
    **{name: partial(_forward, norm) for name, norm in _NORMS.items()},
    **{name: partial(_backward, places) for name, places in _BACKWARDS.items()},
    "aten::softmax": partial(_softmax, -1),
    "aten::log_softmax": partial(_softmax, -1),
    "aten::_softmax": partial(_softmax, 2),
    "aten::_log_softmax": partial(_softmax, 2),
    "aten::_safe_softmax": partial(_softmax, -1),
    "aten::_softmax_backward_data": _softmax_backward,
    "aten::_log_softmax_backward_data": _softmax_backward,
}
