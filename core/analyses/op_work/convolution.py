"""Convolutions and their gradients, as ``FlopCounterMode`` counts them."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Final

from core.analyses.op_work.call import NO_SENSE, UnknownWorkError, Work
from core.analyses.op_work.elements import matrix_arithmetic

if TYPE_CHECKING:
    from collections.abc import Callable

    from core.analyses.op_work.call import OpCall, Tensor


@dataclass(frozen=True, slots=True)
class _Places:
    """Where the arguments of one operator stand; -1 for those that it has not, ``None`` for no tensor."""

    bias: int | None
    stride: int
    padding: int
    dilation: int
    groups: int
    transposed: int = -1
    output_padding: int = -1
    always_transposed: bool = False
    added: int | None = None


# Source: native_functions.yaml (torch 2.13).
_PLACES: Final = {
    "aten::conv1d": _Places(2, 3, 4, 5, 6),
    "aten::conv2d": _Places(2, 3, 4, 5, 6),
    "aten::conv3d": _Places(2, 3, 4, 5, 6),
    "aten::convolution": _Places(2, 3, 4, 5, 8, 6, 7),
    "aten::_convolution": _Places(2, 3, 4, 5, 8, 6, 7),
    "aten::convolution_overrideable": _Places(2, 3, 4, 5, 8, 6, 7),
    "aten::cudnn_convolution": _Places(None, 3, 2, 4, 5),
    "aten::cudnn_convolution_relu": _Places(2, 3, 4, 5, 6),
    "aten::cudnn_convolution_add_relu": _Places(4, 5, 6, 7, 8, added=2),
    "aten::cudnn_convolution_transpose": _Places(None, 4, 2, 5, 6, -1, 3, always_transposed=True),
    "aten::miopen_convolution": _Places(2, 4, 3, 5, 6),
    "aten::miopen_depthwise_convolution": _Places(2, 4, 3, 5, 6),
    "aten::miopen_convolution_transpose": _Places(2, 5, 3, 6, 7, -1, 4, always_transposed=True),
    "aten::mkldnn_convolution": _Places(2, 4, 3, 5, 6),
    "aten::_slow_conv2d_forward": _Places(3, 4, 5, -1, -1),
    "aten::slow_conv3d_forward": _Places(3, 4, 5, -1, -1),
    "aten::_conv_depthwise2d": _Places(3, 4, 5, 6, -1),
    "aten::conv_depthwise3d": _Places(3, 4, 5, 6, -1),
}


def _input_and_weight(call: OpCall, place: int) -> tuple[Tensor, Tensor]:
    """Returns the input and the weight; both have a batch or output dimension, channels, and space."""
    image, weight = call.tensor(place), call.tensor(place + 1)
    if len(image.shape) < 3 or len(weight.shape) != len(image.shape):
        raise UnknownWorkError(NO_SENSE)
    return image, weight


def _spatial(image: Tensor, weight: Tensor, call: OpCall, places: _Places, transposed: bool) -> list[int]:
    """Returns the spatial sizes of the output.

    Source: torch.nn.Conv2d and torch.nn.ConvTranspose2d (2.13), "Shape".
    """
    count = len(image.shape) - 2
    stride, padding = call.integers(places.stride, count), call.integers(places.padding, count)
    dilation = call.integers(places.dilation, count) if places.dilation >= 0 else (1,) * count
    extra = (0,) * count
    if transposed:
        extra = call.integers(places.output_padding, count)
    found = []
    for size, width, step, border, gap, more in zip(
        image.shape[2:], weight.shape[2:], stride, padding, dilation, extra, strict=True
    ):
        if min(step, gap) < 1 or border < 0:
            raise UnknownWorkError(NO_SENSE)
        reach = gap * (width - 1) + 1
        if transposed:
            found.append((size - 1) * step - 2 * border + reach + more)
        else:
            found.append((size + 2 * border - reach) // step + 1)
    if min(found) < 0:
        raise UnknownWorkError(NO_SENSE)
    return found


def _forward(call: OpCall) -> Work:
    """Source: torch/utils/flop_counter.py (2.13), conv_flop_count: products alone, the bias is not counted.

    That file takes ``benchmark`` of ``cudnn_convolution`` for ``transposed``; here it is none.
    """
    places = _PLACES[call.name]
    image, weight = _input_and_weight(call, 0)
    transposed = places.always_transposed
    if places.transposed >= 0:
        transposed = call.flags(places.transposed)[0]
    space = _spatial(image, weight, call, places, transposed)
    channels = weight.shape[0]
    if transposed:
        channels = weight.shape[1] * call.integer(places.groups)
    written = image.shape[0] * channels * math.prod(space) * image.element.size_bytes
    more = (call.optional(place) for place in (places.bias, places.added) if place is not None)
    return Work(
        2 * image.shape[0] * math.prod(image.shape[2:] if transposed else space) * weight.count,
        image.size_bytes + weight.size_bytes + written + sum(each.size_bytes for each in more if each),
        matrix_arithmetic(image.element, call.kernel),
    )


def _backward(transposed_at: int, call: OpCall) -> Work:
    """``convolution_backward(grad, input, weight, ..., transposed, output_padding, groups, output_mask)``.

    Each gradient has the products of the forward pass, each usually in a kernel of its own.

    Source: torch/utils/flop_counter.py (2.13), conv_backward_flop. For the gradient of the weight of a
    grouped convolution that file counts each group's products with the channels of all; here they are
    counted with those of the group, a ``groups``-th of it.
    """
    grad = call.tensor(0)
    image, weight = _input_and_weight(call, 1)
    if len(grad.shape) != len(image.shape) or grad.shape[0] != image.shape[0]:
        raise UnknownWorkError(NO_SENSE)
    transposed = call.flags(transposed_at)[0]
    mask = call.flags(transposed_at + 3)
    if len(mask) != 3:
        raise UnknownWorkError(NO_SENSE)
    space = image.shape[2:] if transposed else grad.shape[2:]
    flop = 2 * image.shape[0] * math.prod(space) * weight.count
    arithmetic = matrix_arithmetic(image.element, call.kernel)
    parts = tuple(
        Work(flop, grad.size_bytes + image.size_bytes + weight.size_bytes, arithmetic)
        for wanted in mask[:2]
        if wanted
    )
    # The input is not needed for its own gradient, nor the weight for its; each is written if wanted.
    read = grad.size_bytes + (image.size_bytes if mask[1] else 0) + (weight.size_bytes if mask[0] else 0)
    written = (image.size_bytes if mask[0] else 0) + (weight.size_bytes if mask[1] else 0)
    bias = grad.shape[1] * grad.element.size_bytes if mask[2] else 0
    return Work(flop * len(parts), read + written + bias, arithmetic, parts if len(parts) > 1 else ())


MODELS: Final[dict[str, Callable[[OpCall], Work]]] = {
    **dict.fromkeys(_PLACES, _forward),
    "aten::convolution_backward": partial(_backward, 7),
    # It has no sizes of the bias before the stride.
    "aten::convolution_backward_overrideable": partial(_backward, 6),
}
