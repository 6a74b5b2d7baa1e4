"""Operators that only move elements: copies, concatenations, look-ups. They have no operations, but bytes."""

from __future__ import annotations

import math
from functools import partial
from typing import TYPE_CHECKING, Final

from core.analyses.op_work.call import NO_SENSE, UnknownWorkError, Work, shape_of
from core.analyses.op_work.elements import scalar_arithmetic

if TYPE_CHECKING:
    from collections.abc import Callable

    from core.analyses.op_work.call import OpCall, Tensor


def _copy(call: OpCall) -> Work:
    """``copy_(to, from)``; the source may have fewer elements, which go to several places."""
    target, source = call.tensor(0), call.tensor(1)
    return Work(0, target.size_bytes + min(source.size_bytes, target.count * source.element.size_bytes))


def _through(call: OpCall) -> Work:
    """As many elements of the same type are written as are read."""
    return Work(0, 2 * call.tensor(0).size_bytes)


def _cat(call: OpCall) -> Work:
    return Work(0, 2 * sum(tensor.size_bytes for tensor in call.tensor_list(0)))


def _pad(call: OpCall) -> Work:
    """``constant_pad_nd(data, pad)``: two borders a dimension, from the last on; negative ones cut off.

    Source: torch.nn.functional.pad (2.13).
    """
    data = call.tensor(0)
    borders = call.integers(1)
    shape = list(data.shape)
    if len(borders) % 2 or len(borders) // 2 > len(shape):
        raise UnknownWorkError(NO_SENSE)
    for place in range(len(borders) // 2):
        shape[-1 - place] += borders[2 * place] + borders[2 * place + 1]
    if min(shape) < 0:
        raise UnknownWorkError(NO_SENSE)
    written = math.prod(shape)
    return Work(0, (min(data.count, written) + written) * data.element.size_bytes)


def _rows(table: Tensor, indices: Tensor, result: int) -> Work:
    """A look-up: indices read, results written, and read once each row that can differ."""
    read = min(result, table.count)
    return Work(0, indices.size_bytes + (read + result) * table.element.size_bytes)


def _embedding(call: OpCall) -> Work:
    """``embedding(weight, indices)``: a row for each index, none read twice beyond the table's size."""
    table, indices = call.tensor(0, 2), call.tensor(1)
    return _rows(table, indices, indices.count * table.shape[1])


def _index_select(call: OpCall) -> Work:
    """``index_select(data, dim, index)``."""
    data, indices = call.tensor(0), call.tensor(2)
    if not data.shape:
        raise UnknownWorkError(NO_SENSE)
    dim = call.integer(1)
    if not -len(data.shape) <= dim < len(data.shape):
        raise UnknownWorkError(NO_SENSE)
    others = [size for place, size in enumerate(data.shape) if place != dim % len(data.shape)]
    return _rows(data, indices, indices.count * math.prod(others))


def _gather(call: OpCall) -> Work:
    """``gather(data, dim, index)``: an element for each index."""
    data, indices = call.tensor(0), call.tensor(2)
    return _rows(data, indices, indices.count)


def _index(call: OpCall) -> Work:
    """``index(data, indices)`` with one index: slices along the first dimension."""
    data = call.tensor(0)
    if not call.is_list(1) or len(call.shapes[1]) != 1 or not data.shape:
        raise UnknownWorkError("Shapes of its indices are not recorded")
    index = shape_of(call.shapes[1][0])
    if len(index) > 1 and index == data.shape[: len(index)]:
        raise UnknownWorkError("Its index may be a mask, and how many elements that names is a value")
    count = math.prod(index)
    result = count * math.prod(data.shape[1:])
    return Work(0, count * 8 + (min(result, data.count) + result) * data.element.size_bytes)


def _embedding_backward(call: OpCall) -> Work:
    """``embedding_dense_backward(grad, indices, num_weights)``: a sum into the rows of a table of zeros."""
    grad, indices = call.tensor(0), call.tensor(1)
    if not grad.shape:
        raise UnknownWorkError(NO_SENSE)
    rows = call.integer(2)
    if rows < 0:
        raise UnknownWorkError(NO_SENSE)
    written = rows * grad.shape[-1] * grad.element.size_bytes
    return Work(grad.count, grad.size_bytes + indices.size_bytes + written, scalar_arithmetic(grad.element))


def _scatter(adds: int, call: OpCall) -> Work:
    """``scatter_(data, dim, index, source)``: what the indices name is written, with a sum also read."""
    data, indices = call.tensor(0), call.tensor(2)
    source = call.optional(3)
    count = min(indices.count, data.count)
    if source is not None and len(source.shape) > len(indices.shape):
        count = min(source.count, data.count)
    read = source.count * source.element.size_bytes if source is not None and source.shape else 0
    touched = count * data.element.size_bytes * (1 + adds)
    if not adds or not data.element.is_float:
        return Work(0, indices.size_bytes + read + touched)
    return Work(
        max(count, source.count if source else 0),
        indices.size_bytes + read + touched,
        scalar_arithmetic(data.element),
    )


MODELS: Final[dict[str, Callable[[OpCall], Work]]] = {
    "aten::copy_": _copy,
    **dict.fromkeys(("aten::clone", "aten::contiguous", "aten::flip", "aten::roll"), _through),
    **dict.fromkeys(("aten::tril", "aten::tril_", "aten::triu", "aten::triu_"), _through),
    **dict.fromkeys(("aten::split_with_sizes_copy", "aten::split_copy"), _through),
    **dict.fromkeys(("aten::cat", "aten::_cat", "aten::stack", "aten::_chunk_cat"), _cat),
    "aten::constant_pad_nd": _pad,
    "aten::embedding": _embedding,
    "aten::index_select": _index_select,
    "aten::gather": _gather,
    "aten::index": _index,
    "aten::embedding_dense_backward": _embedding_backward,
    **dict.fromkeys(("aten::scatter", "aten::scatter_"), partial(_scatter, 0)),
    **dict.fromkeys(
        ("aten::scatter_add", "aten::scatter_add_", "aten::index_add", "aten::index_add_"),
        partial(_scatter, 1),
    ),
}
