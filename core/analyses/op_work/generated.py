"""Kernels that Inductor generated for Triton: what their arguments tell.

A trace has the shapes of a generated kernel's tensors, inputs and outputs alike,
but neither its operations nor which part of a tensor it reads. So its bytes are
known where it reads all of each, and its operations never.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from core.analyses.op_work.call import NO_SENSE, UnknownWorkError, Work

if TYPE_CHECKING:
    from core.analyses.op_work.call import OpCall

PREFIX: Final = "triton_"
PARTS_ALONE: Final = "Generated kernel that may read parts of its inputs only"

# Kernels that compute elements or reduce: poi, red, per. Templates (tem) say not what their inputs are.
_WHOLE: Final = ("triton_poi_", "triton_red_", "triton_per_")
# Source: names of ATen operators that Inductor fuses (torch 2.13), of those that take parts.
_PARTS: Final = (
    "embedding",
    "index",
    "gather",
    "scatter",
    "slice",
    "select",
    "split",
    "narrow",
    "unbind",
    "chunk",
    "unfold",
    "pool",
    "upsample",
    "pad",
    "cat",
    "stack",
    "roll",
    "flip",
    "nll_loss",
)


def generated_work(call: OpCall) -> Work:
    """Returns the bytes of a generated kernel, each tensor of its arguments once.

    Source: torch/_inductor/runtime/triton_heuristics.py (2.13), which records the arguments of a launch.

    Raises:
        UnknownWorkError: It may read parts only, or is a template.
    """
    if not call.name.startswith(_WHOLE) or any(part in call.name for part in _PARTS):
        raise UnknownWorkError(PARTS_ALONE)
    tensors = call.tensors()
    if not tensors:
        raise UnknownWorkError(NO_SENSE)
    return Work(None, sum(tensor.size_bytes for tensor in tensors))
