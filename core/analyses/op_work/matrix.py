"""Products of matrices: 2 operations for each two elements that meet, as ``FlopCounterMode`` counts them."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

from core.analyses.op_work.call import NO_SENSE, Tensor, UnknownWorkError, Work
from core.analyses.op_work.elements import Element, element_of_number, matrix_arithmetic

if TYPE_CHECKING:
    from collections.abc import Callable

    from core.analyses.op_work.call import OpCall


def _product(  # noqa: PLR0913  (what a product is)
    call: OpCall,
    left: Tensor,
    right: Tensor,
    *,
    batch: int,
    rows: int,
    inner: int,
    columns: int,
    added: Tensor | None = None,
    result: Element | None = None,
) -> Work:
    """Returns the work of ``batch`` products of (rows, inner) and (inner, columns).

    Source: torch/utils/flop_counter.py (2.13), mm_flop and bmm_flop. What is added is not counted there.
    """
    if left.element is Element.FLOAT4_PAIR:
        inner *= 2
    written = batch * rows * columns * (result or left.element).size_bytes
    return Work(
        2 * batch * rows * columns * inner,
        left.size_bytes + right.size_bytes + written + (added.size_bytes if added else 0),
        matrix_arithmetic(left.element, call.kernel),
    )


def _same(one: int, other: int) -> int:
    if one != other:
        raise UnknownWorkError(NO_SENSE)
    return one


def _added(call: OpCall, place: int, beta: int) -> Tensor | None:
    """Returns what is added to a product; with a factor of 0 it is not read."""
    return None if call.text(beta) in ("0", "0.", "0.0") else call.tensor(place)


def _plain(call: OpCall, place: int, added: Tensor | None = None, result: Element | None = None) -> Work:
    left, right = call.tensor(place, 2), call.tensor(place + 1, 2)
    return _product(
        call,
        left,
        right,
        batch=1,
        rows=left.shape[0],
        inner=_same(left.shape[1], right.shape[0]),
        columns=right.shape[1],
        added=added,
        result=result,
    )


def _batched(call: OpCall, place: int, added: Tensor | None = None, result: Element | None = None) -> Work:
    left, right = call.tensor(place, 3), call.tensor(place + 1, 3)
    return _product(
        call,
        left,
        right,
        batch=_same(left.shape[0], right.shape[0]),
        rows=left.shape[1],
        inner=_same(left.shape[2], right.shape[1]),
        columns=right.shape[2],
        added=added,
        result=result,
    )


def _written_type(call: OpCall, place: int) -> Element | None:
    """Returns the type that an argument ``out_dtype`` asks for, None for that of the inputs."""
    text = call.text(place)
    return element_of_number(int(text)) if text.isdecimal() and len(text) < 4 else None


# Places of the type written. Source: native_functions.yaml (torch 2.13).
_WRITTEN_AT: Final = {"aten::mm": 2, "aten::bmm": 2, "aten::_scaled_mm": 6}


def written_element(call: OpCall) -> Element | None:
    """Returns the type of the result of a product of two matrices, None if it is that of its inputs."""
    if call.name == "aten::_int_mm":
        return Element.INT32
    return _written_type(call, _WRITTEN_AT[call.name]) if call.name in _WRITTEN_AT else None


def _mm(call: OpCall) -> Work:
    return _plain(call, 0, result=written_element(call))


def _addmm(call: OpCall) -> Work:
    return _plain(call, 1, _added(call, 0, 3))


def _bmm(call: OpCall) -> Work:
    return _batched(call, 0, result=written_element(call))


def _baddbmm(call: OpCall) -> Work:
    return _batched(call, 1, _added(call, 0, 3))


def _scaled_mm(call: OpCall) -> Work:
    """``_scaled_mm(a, b, scale_a, scale_b, bias, scale_result, out_dtype, use_fast_accum)``.

    Source: native_functions.yaml (torch 2.13). Of two 4-bit numbers in a byte the shape counts bytes.
    """
    work = _plain(call, 0, call.optional(4), written_element(call))
    scales = sum(scale.size_bytes for scale in (call.optional(2), call.optional(3)) if scale)
    return Work(work.flop, work.moved_bytes + scales, work.arithmetic)


# Places of the ends of groups and of the type written. Source: native_functions.yaml (torch 2.13).
_GROUPED: Final = {
    "aten::_grouped_mm": (2, 4),
    "aten::_scaled_grouped_mm": (4, 7),
    "aten::_scaled_grouped_mm_v2": (8, 10),
}


def _grouped_mm(call: OpCall) -> Work:
    """``_grouped_mm(a, b, offs, bias, out_dtype)``: products of parts, as the ranks of the inputs say.

    Each row (of two and three dimensions) or column meets the part of one group; two matrices give a product
    for each group. Where groups end are values, which a trace has not: they are taken to cover everything.

    Source: native_functions.yaml and ATen/native/cuda/GroupedBlas.cpp (torch 2.13).
    """
    left, right = call.tensor(0), call.tensor(1)
    ranks = (len(left.shape), len(right.shape))
    ends, result_at = _GROUPED[call.name]
    result = _written_type(call, result_at)
    if result is None:
        # Of types of 8 and 4 bits BF16 alone can be written.
        result = Element.BFLOAT16 if left.element.size_bytes == 1 else left.element
    if ranks == (3, 3):
        return _batched(call, 0, result=result)
    if ranks not in ((2, 3), (3, 2), (2, 2)):
        raise UnknownWorkError(NO_SENSE)
    _same(left.shape[-1], right.shape[-2])
    work = _product(
        call,
        left,
        right,
        batch=1,
        rows=left.shape[-2],
        inner=left.shape[-1],
        columns=right.shape[-1],
        result=result,
    )
    if ranks != (2, 2):
        return work
    offsets = call.optional(ends)
    more = max(offsets.count - 1, 0) if offsets else 0
    written = more * left.shape[0] * right.shape[1] * result.size_bytes
    return Work(work.flop, work.moved_bytes + written, work.arithmetic)


def _linear(call: OpCall) -> Work:
    left, right = call.tensor(0), call.tensor(1, 2)
    if not left.shape:
        raise UnknownWorkError(NO_SENSE)
    return _product(
        call,
        left,
        right,
        batch=1,
        rows=math.prod(left.shape[:-1]),
        inner=_same(left.shape[-1], right.shape[1]),
        columns=right.shape[0],
        added=call.optional(2),
    )


def _matmul(call: OpCall) -> Work:
    """Any two ranks; leading dimensions are those of either side, or 1.

    Source: torch.matmul (2.13).
    """
    left, right = call.tensor(0), call.tensor(1)
    if not left.shape or not right.shape:
        raise UnknownWorkError(NO_SENSE)
    rows = left.shape[-2] if len(left.shape) > 1 else 1
    columns = right.shape[-1] if len(right.shape) > 1 else 1
    inner = _same(left.shape[-1], right.shape[-2] if len(right.shape) > 1 else right.shape[0])
    batch = math.prod(broadcast(left.shape[:-2], right.shape[:-2]))
    return _product(call, left, right, batch=batch, rows=rows, inner=inner, columns=columns)


def _mv(call: OpCall) -> Work:
    return _times_vector(call, 0)


def _addmv(call: OpCall) -> Work:
    return _times_vector(call, 1, _added(call, 0, 3))


def _times_vector(call: OpCall, place: int, added: Tensor | None = None) -> Work:
    matrix, vector = call.tensor(place, 2), call.tensor(place + 1, 1)
    inner = _same(matrix.shape[1], vector.shape[0])
    return _product(call, matrix, vector, batch=1, rows=matrix.shape[0], inner=inner, columns=1, added=added)


def _dot(call: OpCall) -> Work:
    left, right = call.tensor(0, 1), call.tensor(1, 1)
    inner = _same(left.shape[0], right.shape[0])
    return _product(call, left, right, batch=1, rows=1, inner=inner, columns=1)


def broadcast(one: tuple[int, ...], other: tuple[int, ...]) -> tuple[int, ...]:
    """Returns the shape of a result of two shapes.

    Source: "Broadcasting semantics" of torch (2.13).

    Raises:
        UnknownWorkError: They do not go together.
    """
    length = max(len(one), len(other))
    left, right = ((1,) * (length - len(shape)) + shape for shape in (one, other))
    for a, b in zip(left, right, strict=True):
        if a != b and 1 not in (a, b):
            raise UnknownWorkError(NO_SENSE)
    return tuple(b if a == 1 else a for a, b in zip(left, right, strict=True))


MODELS: Final[dict[str, Callable[[OpCall], Work]]] = {
    "aten::mm": _mm,
    "aten::_int_mm": _mm,
    "aten::addmm": _addmm,
    "aten::addmm_": _addmm,
    "aten::_addmm_activation": _addmm,
    "aten::bmm": _bmm,
    "aten::baddbmm": _baddbmm,
    "aten::baddbmm_": _baddbmm,
    "aten::_scaled_mm": _scaled_mm,
    # Its scales are lists, which are small beside the matrices; what it writes has a byte at the least.
    "aten::_scaled_mm_v2": _mm,
    **dict.fromkeys(_GROUPED, _grouped_mm),
    "aten::linear": _linear,
    "aten::matmul": _matmul,
    "aten::mv": _mv,
    "aten::addmv": _addmv,
    "aten::addmv_": _addmv,
    "aten::dot": _dot,
    "aten::vdot": _dot,
}
