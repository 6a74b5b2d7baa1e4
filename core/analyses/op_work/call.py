"""One call of an operator, as a trace describes it, and its work.

What a trace does not say, or says in a way that makes no sense, is an
``UnknownWorkError`` with the reason in words: no size is guessed.
"""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from typing import Any, Final

from core.analyses.op_work.elements import Arithmetic, Element, element_of, element_of_kernel

LARGEST: Final = 2**63 - 1
"""No device holds more bytes, and no recording lasts for more operations: larger is no size."""

NOT_RECORDED: Final = "Input shapes not recorded (record_shapes=True records them)"
NO_SENSE: Final = "Input shapes make no sense"
NO_ARGUMENTS: Final = "Arguments that decide its size are not recorded"
NO_TYPES: Final = "Types of its inputs are not known"
LONG_LIST: Final = "Shapes of a list of tensors not recorded (the profiler writes 30 at most)"


class UnknownWorkError(Exception):
    """The work of a call cannot be known; ``str()`` says why, a sentence without its full stop."""


@dataclass(frozen=True, slots=True)
class Tensor:
    """An input: its shape, every size 0 to ``LARGEST``, and the type of its elements."""

    shape: tuple[int, ...]
    element: Element

    @property
    def count(self) -> int:
        """How many elements it has."""
        return math.prod(self.shape)

    @property
    def size_bytes(self) -> int:
        """How many bytes its elements take."""
        return self.count * self.element.size_bytes


@dataclass(frozen=True, slots=True)
class Work:
    """What a call has to do at least.

    Attributes:
        flop: Floating-point operations (of INT8 products, integer ones); None where they are not known.
        moved_bytes: Each input read once and each output written once.
        arithmetic: What its operations are computed with; NONE where there are none, or it is not known.
        parts: The works that it is made of where one call launches a kernel for each, else empty.
    """

    flop: int | None
    moved_bytes: int
    arithmetic: Arithmetic = Arithmetic.NONE
    parts: tuple[Work, ...] = ()


@dataclass(frozen=True, slots=True)
class OpCall:
    """A call.

    Attributes:
        name: Of the operator: ``aten::mm``.
        shapes: An element an input: its shape, a list of shapes for a list of tensors, or an empty list.
        types: An element an input, as the trace writes it.
        concrete: An element an input: what a number, a flag or a list of numbers is; empty for a tensor.
        kernel: Name of the kernel that does the work, "" if it is not known. It gives the types of lists
            of tensors, and tells TF32 from FP32.
    """

    name: str
    shapes: tuple[Any, ...]
    types: tuple[str, ...]
    concrete: tuple[str, ...] = ()
    kernel: str = ""

    def optional(self, place: int) -> Tensor | None:
        """Returns an input, None if nothing or no tensor was given there.

        Raises:
            UnknownWorkError: Its type is not known, or its shape makes no sense.
        """
        if not 0 <= place < len(self.shapes):
            return None
        kind = self.types[place] if place < len(self.types) else ""
        if kind in _NO_TENSORS:
            return None
        element = element_of(kind)
        if element is None:
            raise UnknownWorkError(NO_TYPES)
        return Tensor(shape_of(self.shapes[place]), element)

    def tensor(self, place: int, rank: int | None = None) -> Tensor:
        """Returns an input that must be there, with so many dimensions if ``rank`` says how many.

        Raises:
            UnknownWorkError: It is not.
        """
        found = self.optional(place)
        if found is None:
            raise UnknownWorkError(NO_SENSE)
        if rank is not None and len(found.shape) != rank:
            raise UnknownWorkError(NO_SENSE)
        return found

    def tensors(self, end: int | None = None) -> list[Tensor]:
        """Returns all inputs that are tensors, up to the place ``end``, leaving lists out."""
        found = (self.optional(place) for place in range(len(self.shapes))[:end])
        return [tensor for tensor in found if tensor is not None]

    def tensor_list(self, place: int) -> list[Tensor]:
        """Returns the tensors of a list of them; their type is that of the kernel, for the trace has none.

        Raises:
            UnknownWorkError: There is no list, it was too long to be written, or its type is not known.
        """
        if not self.is_list(place):
            raise UnknownWorkError(NO_SENSE)
        shapes = self.shapes[place]
        if not shapes:
            raise UnknownWorkError(LONG_LIST)
        element = element_of_kernel(self.kernel)
        if element is None:
            raise UnknownWorkError(NO_TYPES)
        return [Tensor(shape_of(shape), element) for shape in shapes]

    def is_list(self, place: int) -> bool:
        """Returns whether a list of tensors was given there."""
        return (
            0 <= place < min(len(self.shapes), len(self.types))
            and self.types[place] in _LISTS
            and isinstance(self.shapes[place], list)
        )

    def text(self, place: int) -> str:
        """Returns the text of an argument that is no tensor, "" if it is not recorded."""
        return self.concrete[place].strip() if 0 <= place < len(self.concrete) else ""

    def integers(self, place: int, count: int | None = None) -> tuple[int, ...]:
        """Returns a list of numbers, a single one repeated ``count`` times.

        Raises:
            UnknownWorkError: It is not recorded, or there are not so many.
        """
        parts = self._list(place)
        try:
            values = tuple(int(part) for part in parts)
        except ValueError as error:
            raise UnknownWorkError(NO_ARGUMENTS) from error
        if count is not None and len(values) == 1:
            values *= count
        if not values or (count is not None and len(values) != count):
            raise UnknownWorkError(NO_ARGUMENTS)
        if any(abs(value) > LARGEST for value in values):
            raise UnknownWorkError(NO_SENSE)
        return values

    def integer(self, place: int) -> int:
        """Returns a number.

        Raises:
            UnknownWorkError: It is not recorded.
        """
        return self.integers(place, 1)[0]

    def flags(self, place: int) -> tuple[bool, ...]:
        """Returns a list of yes and no.

        Raises:
            UnknownWorkError: It is not recorded.
        """
        parts = self._list(place)
        if not parts or any(part not in _FLAGS for part in parts):
            raise UnknownWorkError(NO_ARGUMENTS)
        return tuple(_FLAGS[part] for part in parts)

    def _list(self, place: int) -> list[str]:
        text = self.text(place)
        if len(text) > _LONGEST_LIST:
            raise UnknownWorkError(NO_ARGUMENTS)
        return [part.strip() for part in text.removeprefix("[").removesuffix("]").split(",")]


_NO_TENSORS: Final = frozenset(
    ("", "Scalar", "ScalarList", "TensorList", "GenericList", "Tuple", "GenericDict", "Device", "None")
)
_LISTS: Final = frozenset(("TensorList", "GenericList"))
_FLAGS: Final = {"True": True, "False": False, "true": True, "false": False, "1": True, "0": False}
_LONGEST_LIST: Final = 4096
_MOST_DIMENSIONS: Final = 64


def shape_of(value: Any) -> tuple[int, ...]:
    """Returns a shape as it was read from JSON.

    Raises:
        UnknownWorkError: It is no list of sizes.
    """
    if not isinstance(value, list) or len(value) > _MOST_DIMENSIONS:
        raise UnknownWorkError(NO_SENSE)
    for size in value:
        if type(size) is not int or not 0 <= size <= LARGEST:
            raise UnknownWorkError(NO_SENSE)
    return tuple(value)


def read_call(name: str, dims: str, types: str, concrete: str, kernel: str) -> OpCall:
    """Returns the call that three texts of a trace describe, "" for one that it does not have.

    Raises:
        UnknownWorkError: There are no shapes, or the texts are no lists.
    """
    if not dims:
        raise UnknownWorkError(NOT_RECORDED)
    if not types:
        raise UnknownWorkError(NO_TYPES)
    return OpCall(
        name,
        tuple(_json_list(dims)),
        tuple(str(kind) for kind in _json_list(types)),
        tuple(part if isinstance(part, str) else json.dumps(part) for part in _json_list(concrete)),
        kernel,
    )


def _json_list(text: str) -> list[Any]:
    if not text:
        return []
    try:
        value = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise UnknownWorkError(NO_SENSE) from error
    if not isinstance(value, list):
        raise UnknownWorkError(NO_SENSE)
    return value
