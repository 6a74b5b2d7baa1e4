"""Whether what a device gave is what fp32 on the CPU gives.

Pure: arrays in, figures out. The judge is never the one who computed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

from core.edge.result import Agreement

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from core.edge.models import Precision

TOLERANCE: Final[dict[Precision, float]] = {"fp32": 1e-4, "fp16": 2e-2}
"""Largest difference of two elements, by the largest element of the reference (by 1 if that is smaller).

fp32: sums of a few thousand products in another order differ by some 1e-6 (2.1e-6 were
measured with IREE), and a wrong result by far more (0.5 and above). fp16 has 11 bits of
mantissa, an error of 4.9e-4 an operation, which some tens of layers add up.
"""

REL_TOLERANCE: Final[dict[Precision, float]] = {"fp32": 1e-4, "fp16": 1e-2}
"""Of the Euclidean norms."""

_BLOCK: Final = 2**22
"""Elements that are compared at once: logits of a large vocabulary are not held in fp64 whole."""


class _Sums:
    """What blocks of elements of one output add up to."""

    def __init__(self) -> None:
        self.worst = 0.0
        self.largest = 0.0
        self.square_difference = 0.0
        self.square_reference = 0.0
        self.compared = 0
        self.not_finite = 0
        self.other = 0

    def add(self, given: NDArray[Any], wanted: NDArray[Any]) -> None:
        """Takes two arrays of one dimension."""
        both = np.isfinite(given) & np.isfinite(wanted)
        # An infinity that the reference has too, with its sign, is right; NaN beside NaN as well.
        same = (given == wanted) | (np.isnan(given) & np.isnan(wanted))
        self.not_finite += int(np.count_nonzero(~both & ~same))
        self.other += int(np.count_nonzero(~same))
        a, b = given[both].astype(np.float64), wanted[both].astype(np.float64)
        if not len(a):
            return
        difference = a - b
        self.worst = max(self.worst, float(np.abs(difference).max()))
        self.largest = max(self.largest, float(np.abs(b).max()))
        self.square_difference += float(np.dot(difference, difference))
        self.square_reference += float(np.dot(b, b))
        self.compared += len(a)


def compare(given: Sequence[NDArray[Any]], wanted: Sequence[NDArray[Any]], precision: Precision) -> Agreement:
    """Compares outputs with those of the reference.

    Args:
        given: Of the device, in the order of the model's outputs.
        wanted: Of the reference.
        precision: That the device computed with; decides what is still the same.
    """
    tolerance = TOLERANCE[precision]
    shapes = [array.shape for array in given], [array.shape for array in wanted]
    if shapes[0] != shapes[1]:
        why = f"The outputs have other shapes: {_spelled(shapes[0])} instead of {_spelled(shapes[1])}."
        return Agreement(
            max_abs_error=None,
            rel_error=None,
            argmax_agreement=None,
            nan_count=0,
            tolerance=tolerance,
            agrees=False,
            why=why,
        )
    each_sums = [_summed(one, other) for one, other in zip(given, wanted, strict=True)]
    same_places, places = _same_largest(given[0], wanted[0]) if wanted and _is_scores(wanted[0]) else (0, 0)
    compared = [sums for sums in each_sums if sums.compared]
    why = _why_not(each_sums, wanted, precision)
    return Agreement(
        max_abs_error=max((sums.worst for sums in compared), default=None),
        rel_error=max(map(_relative, compared), default=None),
        argmax_agreement=same_places / places if places else None,
        nan_count=sum(sums.not_finite for sums in each_sums),
        tolerance=tolerance,
        agrees=not why,
        why=why,
    )


def _summed(given: NDArray[Any], wanted: NDArray[Any]) -> _Sums:
    sums = _Sums()
    flat, flat_wanted = np.ravel(given), np.ravel(wanted)
    for begin in range(0, len(flat), _BLOCK):
        sums.add(flat[begin : begin + _BLOCK], flat_wanted[begin : begin + _BLOCK])
    return sums


def _why_not(each_sums: Sequence[_Sums], wanted: Sequence[NDArray[Any]], precision: Precision) -> str:
    """Judges each output by itself: the largest of them would hide what is wrong in a small one."""
    not_finite = sum(sums.not_finite for sums in each_sums)
    if not_finite:
        many = "1 element is" if not_finite == 1 else f"{not_finite:,} elements are"
        return f"{many} NaN or infinite where the reference is not, or the other way round."
    if not any(sums.compared for sums in each_sums):
        return "There is no element that could be compared."
    for number, (sums, array) in enumerate(zip(each_sums, wanted, strict=True), 1):
        which = f"Output {number} of {len(wanted)}: " if len(wanted) > 1 else ""
        if why := _why_one_not(sums, array, precision):
            return f"{which}{why}"
    return ""


def _why_one_not(sums: _Sums, wanted: NDArray[Any], precision: Precision) -> str:
    if wanted.dtype.kind in "biu":
        # A token or a place that is another is no rounding, however large its number is.
        return f"{sums.other:,} of {wanted.size:,} whole numbers are others." if sums.other else ""
    allowed = TOLERANCE[precision] * max(1.0, sums.largest)
    if sums.worst > allowed:
        return f"The largest difference is {sums.worst:.2e}; up to {allowed:.2e} is rounding in {precision}."
    relative = _relative(sums)
    if relative > REL_TOLERANCE[precision]:
        return (
            f"The relative error is {relative:.2e}; up to {REL_TOLERANCE[precision]:.0e} is rounding "
            f"in {precision}."
        )
    return ""


def _relative(sums: _Sums) -> float:
    """The norm of the differences by that of the reference; by 1 where the reference is all zeros."""
    below = sums.square_reference or 1.0
    return float(np.sqrt(sums.square_difference / below))


def _is_scores(array: NDArray[Any]) -> bool:
    """Whether the last axis can be what is chosen among."""
    return array.ndim >= 2 and array.shape[-1] > 1 and bool(array.size) and array.dtype.kind == "f"


def _same_largest(given: NDArray[Any], wanted: NDArray[Any]) -> tuple[int, int]:
    """How many positions choose the same, of how many; NaN chooses nothing."""
    rows = given.reshape(-1, given.shape[-1]), wanted.reshape(-1, wanted.shape[-1])
    chosen = [np.argmax(array, axis=-1) for array in rows]
    known = ~np.isnan(rows[0]).any(axis=-1)
    return int(np.count_nonzero((chosen[0] == chosen[1]) & known)), len(rows[0])


def _spelled(shapes: Sequence[tuple[int, ...]]) -> str:
    return ", ".join("×".join(map(str, shape)) or "scalar" for shape in shapes) or "none"
