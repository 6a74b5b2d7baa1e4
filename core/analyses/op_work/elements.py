"""Types of elements: how a trace writes them, how large they are, and what a device computes them with."""

from __future__ import annotations

import re
from enum import Enum, StrEnum
from typing import Final


class Arithmetic(StrEnum):
    """What operations are computed with, named as the ceilings of a roofline are."""

    NONE = "Not known"
    FP64 = "FP64"
    FP32 = "FP32"
    FP64_TENSOR = "FP64 tensor"
    TF32_TENSOR = "TF32 tensor"
    FP16_TENSOR = "FP16 tensor"
    BF16_TENSOR = "BF16 tensor"
    FP8_TENSOR = "FP8 tensor"
    FP4_TENSOR = "FP4 tensor"
    INT8_TENSOR = "INT8 tensor"


class Rank(Enum):
    """Kinds of numbers. An operation on two gives the later one."""

    BOOL = 0
    INTEGER = 1
    FLOAT = 2
    COMPLEX = 3


class Element(Enum):
    """A type of elements: its size in bytes and its kind."""

    BOOL = ("bool", 1, Rank.BOOL)
    UINT8 = ("uint8", 1, Rank.INTEGER)
    INT8 = ("int8", 1, Rank.INTEGER)
    INT16 = ("int16", 2, Rank.INTEGER)
    INT32 = ("int32", 4, Rank.INTEGER)
    INT64 = ("int64", 8, Rank.INTEGER)
    FLOAT4_PAIR = ("float4 x 2", 1, Rank.FLOAT)
    FLOAT8 = ("float8", 1, Rank.FLOAT)
    FLOAT16 = ("float16", 2, Rank.FLOAT)
    BFLOAT16 = ("bfloat16", 2, Rank.FLOAT)
    FLOAT32 = ("float32", 4, Rank.FLOAT)
    FLOAT64 = ("float64", 8, Rank.FLOAT)
    COMPLEX32 = ("complex32", 4, Rank.COMPLEX)
    COMPLEX64 = ("complex64", 8, Rank.COMPLEX)
    COMPLEX128 = ("complex128", 16, Rank.COMPLEX)
    BYTES1 = ("1 byte", 1, Rank.INTEGER)
    BYTES2 = ("2 bytes", 2, Rank.INTEGER)
    BYTES4 = ("4 bytes", 4, Rank.INTEGER)
    BYTES8 = ("8 bytes", 8, Rank.INTEGER)
    BYTES16 = ("16 bytes", 16, Rank.INTEGER)

    def __init__(self, title: str, size_bytes: int, rank: Rank) -> None:
        self.title = title
        self.size_bytes = size_bytes
        self.rank = rank

    @property
    def is_float(self) -> bool:
        """Whether operations on it are floating-point operations."""
        return self.rank is Rank.FLOAT


# Source: scalarTypeToTypeMeta(dtype).name() of torch 1.8 to 2.13, as GCC, Clang and MSVC spell the types.
_NAMES: Final = {
    "bool": Element.BOOL,
    "unsigned char": Element.UINT8,
    "signed char": Element.INT8,
    "char": Element.INT8,
    "short": Element.INT16,
    "short int": Element.INT16,
    "unsigned short": Element.INT16,
    "int": Element.INT32,
    "unsigned int": Element.INT32,
    "long": Element.INT64,
    "long int": Element.INT64,
    "long long": Element.INT64,
    "__int64": Element.INT64,
    "unsigned long": Element.INT64,
    "c10::Float4_e2m1fn_x2": Element.FLOAT4_PAIR,
    "c10::Float8_e4m3fn": Element.FLOAT8,
    "c10::Float8_e4m3fnuz": Element.FLOAT8,
    "c10::Float8_e5m2": Element.FLOAT8,
    "c10::Float8_e5m2fnuz": Element.FLOAT8,
    "c10::Float8_e8m0fnu": Element.FLOAT8,
    "c10::Half": Element.FLOAT16,
    "c10::BFloat16": Element.BFLOAT16,
    "float": Element.FLOAT32,
    "double": Element.FLOAT64,
    "c10::complex<c10::Half>": Element.COMPLEX32,
    "c10::complex<float>": Element.COMPLEX64,
    "c10::complex<double>": Element.COMPLEX128,
    "c10::quint8": Element.UINT8,
    "c10::qint8": Element.INT8,
    "c10::qint32": Element.INT32,
}
# Source: c10/core/ScalarType.h, AT_FORALL_SCALAR_TYPES_WITH_COMPLEX_AND_QINTS (torch 2.13).
_NUMBERS: Final = {
    0: Element.UINT8,
    1: Element.INT8,
    2: Element.INT16,
    3: Element.INT32,
    4: Element.INT64,
    5: Element.FLOAT16,
    6: Element.FLOAT32,
    7: Element.FLOAT64,
    8: Element.COMPLEX32,
    9: Element.COMPLEX64,
    10: Element.COMPLEX128,
    11: Element.BOOL,
    15: Element.BFLOAT16,
    23: Element.FLOAT8,
    24: Element.FLOAT8,
}
_BY_SIZE: Final = {
    element.size_bytes: element
    for element in (Element.BYTES1, Element.BYTES2, Element.BYTES4, Element.BYTES8, Element.BYTES16)
}
_OPAQUE: Final = re.compile(r"OpaqueType<(\d+)u?>")
# Where a kernel of a 16-bit type names float too, it computes in it.
_IN_KERNELS: Final = (
    (re.compile(r"\bBFloat16\b"), Element.BFLOAT16),
    (re.compile(r"\bHalf\b"), Element.FLOAT16),
    (re.compile(r"\bfloat\b"), Element.FLOAT32),
    (re.compile(r"\bdouble\b"), Element.FLOAT64),
)
_MATRIX: Final = {
    Element.FLOAT4_PAIR: Arithmetic.FP4_TENSOR,
    Element.FLOAT8: Arithmetic.FP8_TENSOR,
    Element.FLOAT16: Arithmetic.FP16_TENSOR,
    Element.BFLOAT16: Arithmetic.BF16_TENSOR,
    Element.INT8: Arithmetic.INT8_TENSOR,
    Element.UINT8: Arithmetic.INT8_TENSOR,
}
_TF32: Final = ("tf32", "xf32", "s1688", "tensorop_s")
_PLAIN_32: Final = ("sgemm", "scudnn", "simt", "ffma", "gemv", "dot_kernel", "f32f32_f32f32_f32")
_TENSOR_64: Final = ("dmma", "d884", "d16816", "tensorop_d")
_PLAIN_64: Final = ("dgemm", "simt", "dfma", "gemv", "dot_kernel")


def element_of(text: str) -> Element | None:
    """Returns the type that a trace writes so; None for what is no tensor and for unknown types."""
    return _NAMES.get(text)


def element_of_number(number: int) -> Element | None:
    """Returns the type of a ``ScalarType`` as it stands among an operator's arguments."""
    return _NUMBERS.get(number)


def element_of_kernel(kernel: str) -> Element | None:
    """Returns the type of the tensors that a kernel reads, as its template arguments say it.

    Source: ATen/native/cuda/Shape.cu (OpaqueType), MultiTensorApply.cuh and ForeachFunctors.cuh (torch 2.13).
    """
    opaque = _OPAQUE.search(kernel)
    if opaque:
        return _BY_SIZE.get(int(opaque[1][:3]))
    for pattern, element in _IN_KERNELS:
        if pattern.search(kernel):
            return element
    return None


def promote(one: Element, other: Element) -> Element:
    """Returns the type of a result of two types.

    Source: torch.result_type, "Type Promotion Documentation" of torch.Tensor attributes (2.13).
    """
    if one is other:
        return one
    if one.rank is not other.rank:
        return one if one.rank.value > other.rank.value else other
    if one.size_bytes == other.size_bytes:
        return Element.FLOAT32 if one.rank is Rank.FLOAT else one
    return one if one.size_bytes > other.size_bytes else other


def scalar_arithmetic(element: Element) -> Arithmetic:
    """Returns what operations on single elements are computed with: 16-bit types are, in float.

    Source: ATen/OpMathType.h (torch 2.13).
    """
    if element is Element.FLOAT64 or element is Element.COMPLEX128:
        return Arithmetic.FP64
    return Arithmetic.FP32 if element.is_float or element is Element.COMPLEX64 else Arithmetic.NONE


def matrix_arithmetic(element: Element, kernel: str) -> Arithmetic:
    """Returns what a product of matrices is computed with.

    Of 32 and 64 bits only the kernel's name tells whether tensor cores did it; where it does not, this is
    not known.

    Source: names of kernels of cuBLAS, cuDNN and CUTLASS: ``tensorop_s1688gemm``, ``ampere_sgemm``.
    """
    found = _MATRIX.get(element)
    if found is not None:
        return found
    name = kernel.lower()
    if element is Element.FLOAT32:
        if any(word in name for word in _TF32):
            return Arithmetic.TF32_TENSOR
        return Arithmetic.FP32 if any(word in name for word in _PLAIN_32) else Arithmetic.NONE
    if element is Element.FLOAT64:
        if any(word in name for word in _TENSOR_64):
            return Arithmetic.FP64_TENSOR
        return Arithmetic.FP64 if any(word in name for word in _PLAIN_64) else Arithmetic.NONE
    return Arithmetic.NONE
