"""Optimizers and other operators on lists of tensors.

The profiler writes the shapes of a list of at most 30 tensors, and no types: the
types are those that the kernel's name has.

Source: torch/csrc/profiler/util.cpp, TENSOR_LIST_DISPLAY_LENGTH_LIMIT (torch 2.13).
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Final

from core.analyses.op_work.call import NO_SENSE, UnknownWorkError, Work
from core.analyses.op_work.elements import scalar_arithmetic

if TYPE_CHECKING:
    from collections.abc import Callable

    from core.analyses.op_work.call import OpCall, Tensor

_ONE_EACH: Final = "add sub mul div maximum minimum pow sqrt rsqrt neg abs exp log reciprocal sign"
# Operations an element. Source: torch._foreach_* (2.13) by their names; as for single tensors.
_EACH: Final = {
    **dict.fromkeys(_ONE_EACH.split(), 1),
    **dict.fromkeys(("addcmul", "addcdiv", "lerp"), 3),
    "copy": 0,
}


def _read_lists(call: OpCall) -> list[list[Tensor]]:
    lists = [call.tensor_list(place) for place in range(len(call.shapes)) if call.is_list(place)]
    if not lists:
        raise UnknownWorkError(NO_SENSE)
    return lists


def _bytes(tensors: list[Tensor]) -> int:
    return sum(tensor.size_bytes for tensor in tensors)


def _count(tensors: list[Tensor]) -> int:
    return sum(tensor.count for tensor in tensors)


def _for_each(flop: int, call: OpCall) -> Work:
    """An operation for each element of the first list; all lists are read and one like the first written."""
    lists = _read_lists(call)
    read = lists[1:] if flop == 0 else lists
    return _of(lists[0], flop, sum(map(_bytes, read)) + _bytes(lists[0]))


def _of(tensors: list[Tensor], flop: int, moved_bytes: int) -> Work:
    if not flop or not tensors[0].element.is_float:
        return Work(0, moved_bytes)
    return Work(flop * _count(tensors), moved_bytes, scalar_arithmetic(tensors[0].element))


def _zero(call: OpCall) -> Work:
    return Work(0, _bytes(call.tensor_list(0)))


def _norm(call: OpCall) -> Work:
    tensors = call.tensor_list(0)
    return _of(tensors, 2, _bytes(tensors))


def _unscale(call: OpCall) -> Work:
    """``_amp_foreach_non_finite_check_and_unscale_``: a comparison and a product each."""
    tensors = call.tensor_list(0)
    return _of(tensors, 2, 2 * _bytes(tensors))


def _fused(states: int, flop: int, call: OpCall) -> Work:
    """A fused step: parameters, gradients and states read; parameters and states written.

    Args:
        states: Lists of states that stand behind the gradients; empty ones are not used.
        flop: Operations an element with all states but the optional last.
        call: The call.
    """
    used = [call.tensor_list(place) for place in range(2)]
    for place in range(2, 2 + states):
        if call.is_list(place) and call.shapes[place]:
            used.append(call.tensor_list(place))
    parameters, gradients, *kept = used
    moved = 2 * _bytes(parameters) + _bytes(gradients) + 2 * sum(map(_bytes, kept))
    return _of(parameters, flop, moved)


# Adam: both averages (3 + 4), their corrections, root, sum and quotient (5), step (2), weight decay (2).
# SGD: weight decay (2), momentum (2), step (2). Adagrad: weight decay (2), square and sum (2), step (4).
MODELS: Final[dict[str, Callable[[OpCall], Work]]] = {
    **{f"aten::_foreach_{name}": partial(_for_each, flop) for name, flop in _EACH.items()},
    **{f"aten::_foreach_{name}_": partial(_for_each, flop) for name, flop in _EACH.items()},
    "aten::_foreach_zero_": _zero,
    "aten::_foreach_norm": _norm,
    "aten::_amp_foreach_non_finite_check_and_unscale_": _unscale,
    "aten::_fused_adam_": partial(_fused, 3, 16),
    "aten::_fused_adamw_": partial(_fused, 3, 16),
    "aten::_fused_sgd_": partial(_fused, 1, 6),
    "aten::_fused_adagrad_": partial(_fused, 1, 8),
}
