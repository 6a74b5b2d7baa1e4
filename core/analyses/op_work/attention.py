"""Fused attention, forward and backward, as ``FlopCounterMode`` counts it.

A causal mask lets a kernel leave out nearly half of the products. FlopCounterMode
counts them all, and so does this: a causal kernel that skips them shows up to
twice the FLOP/s that it has.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Final

from core.analyses.op_work.call import NO_SENSE, UnknownWorkError, Work
from core.analyses.op_work.elements import matrix_arithmetic

if TYPE_CHECKING:
    from collections.abc import Callable

    from core.analyses.op_work.call import OpCall, Tensor

LENGTHS_ARE_VALUES: Final = "Sequences of several lengths, which are values and not shapes"


@dataclass(frozen=True, slots=True)
class _Schema:
    """Where the arguments of one operator stand.

    Attributes:
        query: Key and value follow it.
        heads: Which dimension of a batch of sequences the heads are: 1 before, 2 behind the length.
        grad: Of the output, -1 in a forward pass.
        ends: Of the two lists of where sequences end, then of the longest lengths; -1 if it has none.
        read_end: Tensors at places before it are read.
    """

    query: int
    heads: int
    grad: int = -1
    ends: int = -1
    read_end: int | None = None


# Source: native_functions.yaml (torch 2.13); flash_attn/flash_attn_interface.py (2.8).
_SCHEMAS: Final = {
    "aten::scaled_dot_product_attention": _Schema(0, 1, read_end=4),
    "aten::_scaled_dot_product_flash_attention": _Schema(0, 1, read_end=3),
    "aten::_scaled_dot_product_flash_attention_for_cpu": _Schema(0, 1, read_end=3),
    "aten::_scaled_dot_product_efficient_attention": _Schema(0, 1, read_end=4),
    "aten::_scaled_dot_product_cudnn_attention": _Schema(0, 1, read_end=4),
    "aten::_scaled_dot_product_fused_attention_overrideable": _Schema(0, 1, read_end=4),
    "aten::_flash_attention_forward": _Schema(0, 2, ends=3, read_end=3),
    "aten::_efficient_attention_forward": _Schema(0, 2, ends=4, read_end=4),
    "aten::_cudnn_attention_forward": _Schema(0, 1, ends=4, read_end=4),
    "flash_attn::_flash_attn_forward": _Schema(0, 2, read_end=3),
    "flash_attn::_flash_attn_varlen_forward": _Schema(0, 2, ends=3, read_end=3),
    "aten::_scaled_dot_product_flash_attention_backward": _Schema(1, 1, grad=0, read_end=6),
    "aten::_scaled_dot_product_flash_attention_for_cpu_backward": _Schema(1, 1, grad=0, read_end=6),
    "aten::_scaled_dot_product_efficient_attention_backward": _Schema(1, 1, grad=0, read_end=7),
    "aten::_scaled_dot_product_cudnn_attention_backward": _Schema(1, 1, grad=0, read_end=6),
    "aten::_scaled_dot_product_fused_attention_overrideable_backward": _Schema(1, 1, grad=0, read_end=8),
    "aten::_flash_attention_backward": _Schema(1, 2, grad=0, ends=6, read_end=6),
    "aten::_efficient_attention_backward": _Schema(1, 2, grad=0, ends=6, read_end=6),
    "flash_attn::_flash_attn_backward": _Schema(1, 2, grad=0, read_end=6),
    "flash_attn::_flash_attn_varlen_backward": _Schema(1, 2, grad=0, ends=9, read_end=6),
}


@dataclass(frozen=True, slots=True)
class _Sizes:
    """Batch and heads of the queries, lengths of queries and keys, widths of keys and values."""

    batch: int
    heads: int
    queries: int
    keys: int
    width: int
    value_width: int


def _sizes(schema: _Schema, call: OpCall) -> _Sizes:
    query, key, value = (call.tensor(schema.query + place) for place in range(3))
    if schema.ends >= 0 and (call.optional(schema.ends) or call.optional(schema.ends + 1)):
        return _sizes_of_sequences(schema, call, query, key, value)
    length = 3 - schema.heads
    if any(len(tensor.shape) != 4 for tensor in (query, key, value)):
        raise UnknownWorkError(NO_SENSE)
    found = _Sizes(
        query.shape[0],
        query.shape[schema.heads],
        query.shape[length],
        key.shape[length],
        query.shape[3],
        value.shape[3],
    )
    fits = (
        query.shape[0] == key.shape[0] == value.shape[0]
        and query.shape[3] == key.shape[3]
        and key.shape[length] == value.shape[length]
        and _heads_fit(query.shape[schema.heads], key.shape[schema.heads], value.shape[schema.heads])
    )
    if not fits:
        raise UnknownWorkError(NO_SENSE)
    return found


def _heads_fit(query: int, key: int, value: int) -> bool:
    """Whether several heads of the queries may share one of the keys."""
    return key == value and (query == key or (key > 0 and query % key == 0))


def _sizes_of_sequences(schema: _Schema, call: OpCall, query: Tensor, key: Tensor, value: Tensor) -> _Sizes:
    """Sequences one behind the other: (sum of lengths, heads, width), with or without a 1 before.

    Their lengths are values. Where the sum is as many times the longest as there are sequences, all are of
    that length.
    """
    ends = call.tensor(schema.ends, 1)
    batch = ends.shape[0] - 1
    shapes = [tensor.shape[-3:] for tensor in (query, key, value)]
    if batch < 1 or any(len(shape) != 3 for shape in shapes):
        raise UnknownWorkError(NO_SENSE)
    longest = [call.integer(schema.ends + place) for place in (2, 3)]
    if any(shapes[place][0] != batch * longest[place] for place in range(2)):
        raise UnknownWorkError(LENGTHS_ARE_VALUES)
    if not _heads_fit(shapes[0][1], shapes[1][1], shapes[2][1]):
        raise UnknownWorkError(NO_SENSE)
    return _Sizes(batch, shapes[0][1], longest[0], longest[1], shapes[0][2], shapes[2][2])


def _read_bytes(schema: _Schema, call: OpCall) -> int:
    return sum(tensor.size_bytes for tensor in call.tensors(schema.read_end))


def _forward(schema: _Schema, call: OpCall) -> Work:
    """Queries by keys, then scores by values.

    Source: torch/utils/flop_counter.py (2.13), sdpa_flop_count.
    """
    sizes = _sizes(schema, call)
    query = call.tensor(schema.query)
    scores = sizes.batch * sizes.heads * sizes.queries * sizes.keys
    written = sizes.batch * sizes.heads * sizes.queries * sizes.value_width * query.element.size_bytes
    return Work(
        2 * scores * (sizes.width + sizes.value_width),
        _read_bytes(schema, call) + written,
        matrix_arithmetic(query.element, call.kernel),
    )


def _backward(schema: _Schema, call: OpCall) -> Work:
    """Five products: the scores again, and two for each of the two of the forward pass.

    Source: torch/utils/flop_counter.py (2.13), sdpa_backward_flop_count.
    """
    sizes = _sizes(schema, call)
    inputs = [call.tensor(schema.query + place) for place in range(3)]
    call.tensor(schema.grad)
    scores = sizes.batch * sizes.heads * sizes.queries * sizes.keys
    return Work(
        2 * scores * (3 * sizes.width + 2 * sizes.value_width),
        _read_bytes(schema, call) + sum(tensor.size_bytes for tensor in inputs),
        matrix_arithmetic(inputs[0].element, call.kernel),
    )


MODELS: Final[dict[str, Callable[[OpCall], Work]]] = {
    name: partial(_backward if schema.grad >= 0 else _forward, schema) for name, schema in _SCHEMAS.items()
}
