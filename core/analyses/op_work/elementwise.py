"""Operators that compute each element by itself: arithmetic, comparisons, activations, dropout, random fills.

An operation is an addition, a product, a comparison, a division, or one function
such as exp or sqrt, however many instructions a device needs for it. 16-bit
types are computed in float. Integers are no floating-point operations: 0.
"""

from __future__ import annotations

import math
from functools import partial
from typing import TYPE_CHECKING, Final

from core.analyses.op_work.call import NO_SENSE, UnknownWorkError, Work
from core.analyses.op_work.elements import Element, Rank, promote, scalar_arithmetic
from core.analyses.op_work.matrix import broadcast

if TYPE_CHECKING:
    from collections.abc import Callable

    from core.analyses.op_work.call import OpCall, Tensor


def _each(names: str, *value: int) -> dict[str, tuple[int, ...]]:
    return dict.fromkeys(names.split(), value)


# How many inputs are tensors, then operations an element. Source of the definitions: torch (2.13), the
# operator of that name in its documentation and in tools/autograd/derivatives.yaml.
_OPERATIONS: Final[dict[str, tuple[int, ...]]] = {
    **_each(
        "abs acos acosh asin asinh atan atanh ceil cos cosh deg2rad digamma erf erfc erfinv exp exp2", 1, 1
    ),
    **_each(
        "expm1 floor frac i0 lgamma log log10 log1p log2 logical_not neg negative rad2deg relu round", 1, 1
    ),
    **_each("reciprocal sgn sign signbit sin sinh sqrt square tan tanh trunc bitwise_not isnan isinf", 1, 1),
    **_each("isfinite rsqrt clamp_min clamp_max threshold nan_to_num", 1, 1),
    **_each("clamp hardtanh relu6 leaky_relu", 1, 2),
    **_each("softplus logit elu celu selu hardsigmoid log_sigmoid_forward", 1, 3),
    **_each("sigmoid", 1, 4),
    **_each("silu gelu hardswish", 1, 5),
    **_each("mish", 1, 6),
    **_each(
        "add sub rsub mul div true_divide floor_divide remainder fmod pow maximum minimum fmax fmin", 2, 1
    ),
    **_each("eq ne lt le gt ge logical_and logical_or logical_xor bitwise_and bitwise_or bitwise_xor", 2, 1),
    **_each("atan2 hypot copysign prelu __and__ __or__ xlogy heaviside float_power", 2, 1),
    **_each("threshold_backward leaky_relu_backward hardtanh_backward", 2, 1),
    **_each("tanh_backward sigmoid_backward softplus_backward elu_backward", 2, 3),
    **_each("silu_backward hardsigmoid_backward hardswish_backward", 2, 9),
    **_each("gelu_backward", 2, 11),
    **_each("mish_backward", 2, 12),
    **_each("addcmul addcdiv lerp", 3, 3),
    **_each("where", 3, 0),
    **_each("masked_fill", 2, 0),
    **_each("fill", 1, 0),
}
_BOOLEAN: Final = frozenset(
    _each("eq ne lt le gt ge logical_and logical_or logical_xor logical_not isnan isinf isfinite signbit")
)
# Integers become float32.
_FLOATING: Final = frozenset(
    _each("div true_divide sqrt rsqrt exp exp2 expm1 log log2 log10 log1p sin cos tan tanh sigmoid erf erfc")
    | _each("reciprocal atan2 acos asin atan")
)
_RANDOM: Final = _each("normal_ uniform_ random_ bernoulli_ exponential_ log_normal_ cauchy_ geometric_")
_KEEPS_FIRST: Final = frozenset(("masked_fill", "fill"))
_ALPHA: Final = {"add": 2, "sub": 2, "rsub": 2}


def result_type(inputs: list[Tensor]) -> Element:
    """Returns the type of a result; what has no dimension counts only where its kind of number is higher.

    A number of Python stands in a trace as a double without a dimension: with integers it gives float32.

    Source: torch.result_type (2.13).
    """
    found: Element | None = None
    for tensor in (each for each in inputs if each.shape):
        found = tensor.element if found is None else promote(found, tensor.element)
    for tensor in (each for each in inputs if not each.shape):
        if found is None:
            found = tensor.element
        elif tensor.element.rank.value > found.rank.value:
            found = Element.FLOAT32 if tensor.element is Element.FLOAT64 else tensor.element
    if found is None:
        raise UnknownWorkError(NO_SENSE)
    return found


def read_bytes(inputs: list[Tensor]) -> int:
    """Returns the bytes of the inputs; single numbers beside tensors are arguments of the kernel."""
    shaped = [tensor for tensor in inputs if tensor.shape]
    return sum(tensor.size_bytes for tensor in shaped or inputs)


def computed_with(inputs: list[Tensor], result: Element) -> Element:
    """Returns the type that is computed with: that of the inputs where the result is a yes or no."""
    return result_type(inputs) if result.rank is Rank.BOOL else result


def _elementwise(base: str, inplace: bool, call: OpCall) -> Work:
    tensors, flop = _OPERATIONS[base]
    if base == "where":
        return _where(call)
    inputs = call.tensors(tensors)
    if not inputs:
        raise UnknownWorkError(NO_SENSE)
    shape: tuple[int, ...] = ()
    for tensor in inputs:
        shape = broadcast(shape, tensor.shape)
    result = _result(base, inputs, inplace)
    element = computed_with(inputs, result)
    if call.text(_ALPHA.get(base, -1)) not in ("", "1", "1.", "1.0"):
        flop += 1
    count = math.prod(shape)
    read = read_bytes(inputs[1:]) if base == "fill" and len(inputs) > 1 else read_bytes(inputs)
    if base == "fill":
        read = 0
    return _of(element, flop * count, read + count * result.size_bytes)


def _result(base: str, inputs: list[Tensor], inplace: bool) -> Element:
    if inplace or base in _KEEPS_FIRST:
        return inputs[0].element
    if base in _BOOLEAN:
        return Element.BOOL
    found = result_type(inputs)
    if base in _FLOATING and not found.is_float and found.rank is not Rank.COMPLEX:
        return Element.FLOAT32
    return found


def _of(element: Element, flop: int, moved_bytes: int) -> Work:
    """Returns the work; of complex numbers the operations are not counted, of integers there are none."""
    if element.rank is Rank.COMPLEX and flop:
        raise UnknownWorkError("Operations on complex numbers are not modelled")
    if not element.is_float or not flop:
        return Work(0, moved_bytes)
    return Work(flop, moved_bytes, scalar_arithmetic(element))


def _where(call: OpCall) -> Work:
    inputs = call.tensors(3)
    if len(inputs) < 2:
        raise UnknownWorkError(NO_SENSE)
    shape: tuple[int, ...] = ()
    for tensor in inputs:
        shape = broadcast(shape, tensor.shape)
    return Work(0, read_bytes(inputs) + math.prod(shape) * result_type(inputs[1:]).size_bytes)


def _written_only(call: OpCall) -> Work:
    """Zeros, constants and random numbers: every element is written and none is read."""
    return Work(0, call.tensor(0).size_bytes)


def _dropout(call: OpCall) -> Work:
    """A random number each, compared, then the product; the mask has a byte for each element."""
    data = call.tensor(0)
    return _of(data.element, 2 * data.count, 2 * data.size_bytes + data.count)


def _dropout_backward(call: OpCall) -> Work:
    grad, mask = call.tensor(0), call.tensor(1)
    return _of(grad.element, 2 * grad.count, 2 * grad.size_bytes + mask.size_bytes)


def _unscale(call: OpCall) -> Work:
    """``_amp_update_scale_`` and the like: a handful of single numbers."""
    return Work(0, sum(tensor.size_bytes for tensor in call.tensors()))


MODELS: Final[dict[str, Callable[[OpCall], Work]]] = {
    **{f"aten::{base}": partial(_elementwise, base, False) for base in _OPERATIONS},
    **{f"aten::{base}_": partial(_elementwise, base, True) for base in _OPERATIONS},
    **{f"aten::{name}": _written_only for name in ("zero_", *_RANDOM)},
    "aten::native_dropout": _dropout,
    "aten::_fused_dropout": _dropout,
    "aten::native_dropout_backward": _dropout_backward,
    "aten::_amp_update_scale_": _unscale,
}
