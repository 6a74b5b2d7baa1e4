"""Sums and their like along dimensions, running sums, and pooling."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Final

from core.analyses.op_work.call import NO_SENSE, UnknownWorkError, Work
from core.analyses.op_work.elements import Element, Rank, scalar_arithmetic

if TYPE_CHECKING:
    from collections.abc import Callable

    from core.analyses.op_work.call import OpCall, Tensor


@dataclass(frozen=True, slots=True)
class _Reduction:
    """A reduction.

    Attributes:
        flop: Operations an element.
        dims: Place of the dimensions that vanish.
        result: Type of what is written; None is the input's.
        with_index: Whether the place of each result is written too.
    """

    flop: int
    dims: int = 1
    result: Element | None = None
    with_index: bool = False


# Source: native_functions.yaml (torch 2.13) for the places; one operation for each element that is taken up.
_REDUCTIONS: Final = {
    **dict.fromkeys(("sum", "nansum", "mean", "nanmean", "prod", "amax", "amin"), _Reduction(1)),
    **dict.fromkeys(("max", "min", "median", "mode"), _Reduction(1, with_index=True)),
    **dict.fromkeys(("argmax", "argmin"), _Reduction(1, result=Element.INT64)),
    **dict.fromkeys(("all", "any"), _Reduction(1, result=Element.BOOL)),
    "count_nonzero": _Reduction(1, result=Element.INT64),
    **dict.fromkeys(("norm", "linalg_vector_norm"), _Reduction(2, dims=2)),
    **dict.fromkeys(("var", "std", "var_mean", "std_mean"), _Reduction(4)),
    "logsumexp": _Reduction(4),
}


def _reduce(reduction: _Reduction, call: OpCall) -> Work:
    """What is written is as many elements as are left; where that is not recorded, one at the least."""
    data = call.tensor(0)
    if call.optional(1) is not None:
        raise UnknownWorkError("Compares two tensors, not the elements of one")
    left = _left(data, call.text(reduction.dims))
    element = reduction.result or (Element.INT64 if _grows(call.name, data) else data.element)
    written = left * element.size_bytes
    if reduction.with_index and call.text(reduction.dims):
        written += left * Element.INT64.size_bytes
    return _of(data, reduction.flop * data.count, data.size_bytes + written)


def _grows(name: str, data: Tensor) -> bool:
    """Sums of integers are int64."""
    return name in ("aten::sum", "aten::prod") and data.element.rank in (Rank.INTEGER, Rank.BOOL)


def _left(data: Tensor, dims: str) -> int:
    """Returns how many elements are left."""
    parts = [part.strip() for part in dims.strip("[]").split(",")]
    try:
        gone = {int(part) % len(data.shape) for part in parts}
    except (ValueError, ZeroDivisionError):
        return 1
    return math.prod(size for place, size in enumerate(data.shape) if place not in gone)


def _of(data: Tensor, flop: int, moved_bytes: int) -> Work:
    if not data.element.is_float:
        return Work(0, moved_bytes)
    return Work(flop, moved_bytes, scalar_arithmetic(data.element))


def _running(call: OpCall) -> Work:
    data = call.tensor(0)
    return _of(data, data.count, 2 * data.size_bytes)


def _window(call: OpCall, pads: int, extra_bytes: int, gaps: int = -1) -> Work:
    """Pooling with a window: an operation for each element of each window.

    ``pads`` and ``gaps`` are the places of padding and dilation, -1 for an operator that has none.

    Source: torch.nn.MaxPool2d (2.13), "Shape"; rounding up is not looked at, so borders may be missing.
    """
    data = call.tensor(0)
    kernel = call.integers(1)
    count = len(kernel)
    if len(data.shape) <= count:
        raise UnknownWorkError(NO_SENSE)
    stride = kernel if call.text(2) in ("", "[]") else call.integers(2, count)
    padding = call.integers(pads, count)
    dilation = call.integers(gaps, count) if call.text(gaps) else (1,) * count
    sizes = []
    for size, width, step, border, gap in zip(
        data.shape[-count:], kernel, stride, padding, dilation, strict=True
    ):
        reach = gap * (width - 1) + 1
        if min(step, width, gap) < 1 or size + 2 * border < reach:
            raise UnknownWorkError(NO_SENSE)
        sizes.append((size + 2 * border - reach) // step + 1)
    results = math.prod(data.shape[:-count]) * math.prod(sizes)
    written = results * (data.element.size_bytes + extra_bytes)
    return _of(data, results * math.prod(kernel), data.size_bytes + written)


def _max_pool(call: OpCall) -> Work:
    return _window(call, 3, Element.INT64.size_bytes, 4)


def _average_pool(call: OpCall) -> Work:
    return _window(call, 3, 0)


def _adaptive_pool(call: OpCall) -> Work:
    data = call.tensor(0)
    sizes = call.integers(1)
    if len(data.shape) <= len(sizes) or min(sizes) < 0:
        raise UnknownWorkError(NO_SENSE)
    results = math.prod(data.shape[: -len(sizes)]) * math.prod(sizes)
    return _of(data, data.count, data.size_bytes + results * data.element.size_bytes)


def _pool_backward(call: OpCall) -> Work:
    """The gradient is read and one of the input's size written; what else is read is not counted."""
    grad, data = call.tensor(0), call.tensor(1)
    return _of(grad, grad.count, grad.size_bytes + data.size_bytes)


MODELS: Final[dict[str, Callable[[OpCall], Work]]] = {
    **{f"aten::{name}": partial(_reduce, reduction) for name, reduction in _REDUCTIONS.items()},
    **dict.fromkeys(("aten::cumsum", "aten::cumsum_", "aten::cumprod", "aten::cumprod_"), _running),
    "aten::max_pool2d_with_indices": _max_pool,
    "aten::max_pool3d_with_indices": _max_pool,
    "aten::avg_pool2d": _average_pool,
    "aten::avg_pool3d": _average_pool,
    "aten::_adaptive_avg_pool2d": _adaptive_pool,
    **dict.fromkeys(
        (
            "aten::max_pool2d_with_indices_backward",
            "aten::avg_pool2d_backward",
            "aten::_adaptive_avg_pool2d_backward",
        ),
        _pool_backward,
    ),
}
