"""The data type of a kernel and the next lower one that its device has, and what that gains at most."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from core.hardware.peaks import DataType
from core.roofline.points import WorkType

if TYPE_CHECKING:
    from core.hardware.peaks import DevicePeaks, Unit

_UNITS: Final[dict[WorkType, tuple[DataType, Unit]]] = {
    WorkType.FP64: (DataType.FP64, "vector"),
    WorkType.FP32: (DataType.FP32, "vector"),
    WorkType.FP16: (DataType.FP16, "vector"),
    WorkType.FP64_TENSOR: (DataType.FP64, "tensor"),
    WorkType.TF32_TENSOR: (DataType.TF32, "tensor"),
    WorkType.FP16_TENSOR: (DataType.FP16, "tensor"),
    WorkType.BF16_TENSOR: (DataType.BF16, "tensor"),
    WorkType.FP8_TENSOR: (DataType.FP8, "tensor"),
    WorkType.FP4_TENSOR: (DataType.FP4, "tensor"),
    WorkType.INT8_TENSOR: (DataType.INT8, "tensor"),
}
_LOWER: Final[dict[WorkType, tuple[WorkType, ...]]] = {
    WorkType.FP64: (WorkType.FP32,),
    WorkType.FP64_TENSOR: (WorkType.TF32_TENSOR, WorkType.FP32),
    WorkType.FP32: (WorkType.FP16,),
    WorkType.TF32_TENSOR: (WorkType.BF16_TENSOR, WorkType.FP16_TENSOR),
    WorkType.FP16_TENSOR: (WorkType.FP8_TENSOR, WorkType.INT8_TENSOR),
    WorkType.BF16_TENSOR: (WorkType.FP8_TENSOR, WorkType.INT8_TENSOR),
    WorkType.FP8_TENSOR: (WorkType.FP4_TENSOR,),
}
_MATRIX_LOWER: Final[dict[WorkType, tuple[WorkType, ...]]] = {
    WorkType.FP32: (WorkType.TF32_TENSOR, WorkType.BF16_TENSOR, WorkType.FP16_TENSOR)
}

# Types of data, how many bytes one takes, and the next lower ones in turn.
_STORED_BYTES: Final = {
    DataType.FP64: 8,
    DataType.FP32: 4,
    DataType.BF16: 2,
    DataType.FP16: 2,
    DataType.FP8: 1,
}
_HALF_BYTES: Final = 2
_STORED_LOWER: Final[dict[DataType, tuple[DataType, ...]]] = {
    DataType.FP64: (DataType.FP32,),
    DataType.FP32: (DataType.BF16, DataType.FP16),
    DataType.BF16: (DataType.FP8,),
    DataType.FP16: (DataType.FP8,),
}
# As operators of a trace, and parameters of a C++ kernel, name their types.
_STORED_NAMES: Final = {
    "double": DataType.FP64,
    "float": DataType.FP32,
    "c10::half": DataType.FP16,
    "c10::bfloat16": DataType.BF16,
    "half": DataType.FP16,
    "__half": DataType.FP16,
    "bfloat16": DataType.BF16,
    "__nv_bfloat16": DataType.BF16,
}
_POINTER: Final = re.compile(r"(?<![\w:])([A-Za-z_][\w:]*)\s*(?:const\s*)?\*")
_LOOKED_AT: Final = 4096


@dataclass(frozen=True, slots=True, kw_only=True)
class LowerType:
    """A next lower type.

    Attributes:
        now, lower: In words: "FP32", "BF16 on tensor cores".
        saved: Part of the time that it saves at most, by the rates of the data sheet or by the bytes.
        how: How that follows, in words.
    """

    now: str
    lower: str
    saved: float
    how: str


def lower_arithmetic(work_type: WorkType, device: DevicePeaks | None, *, is_matrix: bool) -> LowerType | None:
    """Finds the next lower type to compute in that is faster on the device, None if there is none.

    Args:
        work_type: What it computes in.
        device: Its data sheet, None where it is not known: then nothing is suggested.
        is_matrix: Whether tensor cores could do it.
    """
    rate_now = _rate(work_type, device)
    if rate_now is None:
        return None
    lower = (*(_MATRIX_LOWER.get(work_type, ()) if is_matrix else ()), *_LOWER.get(work_type, ()))
    for each in lower:
        rate = _rate(each, device)
        if rate is not None and rate > rate_now:
            return LowerType(
                now=type_words(work_type),
                lower=type_words(each),
                saved=1 - rate_now / rate,
                how=f"the data sheet gives {rate / rate_now:.3g} times the FLOP/s",
            )
    return None


def lower_storage(stored: DataType, device: DevicePeaks | None, *, is_matrix: bool) -> LowerType | None:
    """Finds the next lower type to keep data in that the device computes with, None if there is none.

    Args:
        stored: The type now.
        device: Its data sheet, None where it is not known: then nothing is suggested.
        is_matrix: Whether it is a product of matrices: only those are quantized below 16 bits.
    """
    if device is None:
        return None
    for each in _STORED_LOWER.get(stored, ()):
        if _STORED_BYTES[each] < _HALF_BYTES and not is_matrix:
            return None
        if device.peak(each, "tensor") is not None or device.peak(each, "vector") is not None:
            saved = 1 - _STORED_BYTES[each] / _STORED_BYTES[stored]
            how = f"{_STORED_BYTES[each]} instead of {_STORED_BYTES[stored]} bytes a value"
            return LowerType(now=stored.upper(), lower=each.upper(), saved=saved, how=how)
    return None


def stored_type(name: str) -> DataType | None:
    """Returns the type that an operator of a trace gives for an input ("c10::BFloat16"), None if another."""
    return _STORED_NAMES.get(name.casefold())


def type_of_parameters(kernel: str) -> DataType | None:
    """Returns the one type of floating point that the pointers of a kernel's parameters have, None else."""
    _, _, parameters = kernel[:_LOOKED_AT].rpartition("(")
    types = {stored_type(each) for each in _POINTER.findall(parameters)} - {None}
    return types.pop() if len(types) == 1 else None


def type_words(work_type: WorkType) -> str:
    """Returns a type of work in words: "BF16 on tensor cores"."""
    data_type, unit = _UNITS[work_type]
    return f"{data_type.upper()} on tensor cores" if unit == "tensor" else data_type.upper()


def _rate(work_type: WorkType, device: DevicePeaks | None) -> float | None:
    if device is None or work_type not in _UNITS:
        return None
    peak = device.peak(*_UNITS[work_type])
    return None if peak is None else peak.dense_flop_per_s.value
