"""Which of the kernels that an operator launches does its work, told from their names and usual times."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from core.analyses.categories import Category
from core.analyses.grouping import dense_ids, dense_pairs, means_by_group
from core.tables.columns import NO_ROW

if TYPE_CHECKING:
    from core.analyses.index import TraceIndex
    from core.tables.columns import Bool, Float64, Int32, Int64

_PRODUCTS: Final = (Category.GEMM, Category.ATTENTION, Category.CONVOLUTION)
# Kernels around a product that share its category. Source: names of kernels of cuBLAS, cuDNN, MIOpen and
# FlashAttention 2 and 3.
_HELPERS: Final = (
    "splitkreduce",
    "split_k_reduce",
    "nchwtonhwc",
    "nhwctonchw",
    "transform",
    "transpose",
    "offsets",
    "dot_do_o",
    "convert_dq",
    "reduce_wgrad",
    "preprocess",
    "postprocess",
    "im2col",
    "col2im",
    "castkernel",
)
# Source: names of kernels of cuDNN (dgrad, wgrad) and MIOpen (bwd, wrw).
_WEIGHT_GRADIENT: Final = ("wgrad", "wrw", "bwd_weight", "backward_filter")
_INPUT_GRADIENT: Final = ("dgrad", "igemm_bwd", "bwd_data", "backward_data")


@dataclass(frozen=True, slots=True)
class Mains:
    """The main kernels of operators, and of those with two products the other. All columns (ops,).

    Attributes:
        first, second: int64, one call of it among all kernels, NO_ROW if there is none.
        first_name, second_name: int64, its name as in ``Kernels.name``, NO_ROW.
        first_is_weight: bool, whether the first computes the gradient of a weight rather than of an input.
    """

    first: Int64
    second: Int64
    first_name: Int64
    second_name: Int64
    first_is_weight: Bool


class Kernels:
    """Kernels by name: what they are, and how long they take for an operator.

    Attributes:
        name: (kernels,) int64, row of ``texts``.
        texts: The distinct names, in full.
    """

    def __init__(self, index: TraceIndex, place: Int32) -> None:
        slices, work = index.trace.slices, index.trace.device_work
        rows = work.slice_row[place]
        names, self.name = dense_ids(slices.name_id[rows])
        self.texts = [index.trace.strings[text_id] for text_id in names.tolist()]
        self._duration_ns = slices.duration_ns[rows]
        product = np.isin(index.categories[place], [int(each) for each in _PRODUCTS])
        # A product comes first, then what stands beside it, then anything else.
        self._rank: Int64 = np.where(product, np.where(self._with(_HELPERS)[self.name], 1, 0), 2)
        self._weight = self._with(_WEIGHT_GRADIENT)
        self._input = self._with(_INPUT_GRADIENT)

    def _with(self, words: tuple[str, ...]) -> Bool:
        """Returns (names,) bool: which names hold one of some words."""
        return np.array([any(word in text.lower() for word in words) for text in self.texts], np.bool_)

    def mains(self, asked: Int64, op_name: Int32, group: Int64, groups: int) -> Mains:
        """Finds the main kernel of each operator.

        A kernel of a product comes before others; among such, the one that takes longest in the mean of all
        calls of operators of that name.

        Args:
            asked: (m,) kernels.
            op_name: (m,) int32, the name of the operator of each.
            group: (m,) int64, which operator, 0 to ``groups - 1``; each has a kernel.
            groups: How many operators there are.
        """
        name = self.name[asked]
        rank = self._rank[asked]
        order = np.lexsort((name, -self._usual_ns(asked, op_name), rank, group))
        starts = np.searchsorted(group[order], np.arange(groups))
        first = order[starts] if groups else np.empty(0, np.int64)
        first_name = name[first]
        second = np.full(groups, NO_ROW, np.int64)
        others = order[(rank[order] == 0) & (name[order] != first_name[group[order]])][::-1]
        # The last that is written is the first in order.
        second[group[others]] = others
        second_name = np.where(second == NO_ROW, NO_ROW, name[second])
        is_weight = self._weight[first_name] | (
            (second != NO_ROW) & self._input[second_name] & ~self._input[first_name]
        )
        return Mains(
            asked[first],
            np.where(second == NO_ROW, NO_ROW, asked[second]),
            first_name,
            second_name,
            is_weight,
        )

    def _usual_ns(self, asked: Int64, op_name: Int32) -> Float64:
        """Returns (m,) float64: how long a kernel of its name takes for an operator of its name."""
        pair = dense_pairs(op_name.astype(np.int64), self.name[asked])
        groups = int(pair.max(initial=-1)) + 1
        return np.nan_to_num(means_by_group(pair, groups, self._duration_ns[asked]))[pair]
