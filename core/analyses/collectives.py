"""What each collective moved: its arguments, from the kernel itself or from the call that launched it.

Bandwidths are those of nccl-tests, so that they compare with what its users
measured: the bytes by the time, and the same scaled to what one link carried.

Source: nccl-tests doc/PERFORMANCE.md (commit 03a204a), "Bandwidth" and "Summary".
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Final, TypeVar

import numpy as np

from core.analyses.categories import Category
from core.analyses.nesting import nearest_where
from core.tables.columns import MISSING, NO_ROW
from core.tables.trace import SliceKind

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from core.analyses.index import TraceIndex
    from core.tables.columns import Bool, Float64, Int32, Int64
    from core.tables.trace import Trace

IntColumn = TypeVar("IntColumn", "Int32", "Int64")


class Pattern(Enum):
    """Who sends what to whom, told from the name of a collective or of a kernel.

    The value is the title. Of several that occur in a name the first counts, so
    that a reduce-scatter is no reduce.
    """

    REDUCE_SCATTER = "Reduce-scatter"
    ALL_REDUCE = "All-reduce"
    ALL_GATHER = "All-gather"
    ALL_TO_ALL = "All-to-all"
    BROADCAST = "Broadcast"
    REDUCE = "Reduce"
    GATHER = "Gather"
    SCATTER = "Scatter"
    SEND_RECEIVE = "Send/receive"
    BARRIER = "Barrier"
    OTHER = "Other"


# Letters only, in lower case: allreduce, _allgather_base, all_to_allv, ncclDevKernel_ReduceScatter_...
_NAMES: Final = (
    (Pattern.REDUCE_SCATTER, re.compile("reducescatter")),
    (Pattern.ALL_REDUCE, re.compile("allreduce")),
    (Pattern.ALL_GATHER, re.compile("allgather")),
    (Pattern.ALL_TO_ALL, re.compile("alltoall")),
    (Pattern.BROADCAST, re.compile("broadcast")),
    (Pattern.BARRIER, re.compile("barrier")),
    (Pattern.SEND_RECEIVE, re.compile("sendrecv|^send|^recv|^batchisendirecv")),
    (Pattern.REDUCE, re.compile("reduce")),
    (Pattern.GATHER, re.compile("gather")),
    (Pattern.SCATTER, re.compile("scatter")),
)

# Bytes of an element. Source: c10/core/ScalarType.h (torch 2.13), names as toString() writes them.
_ELEMENT_BYTES: Final = {
    **dict.fromkeys(("Byte", "Char", "Bool", "QInt8", "QUInt8"), 1),
    **dict.fromkeys(
        ("Float8_e5m2", "Float8_e4m3fn", "Float8_e5m2fnuz", "Float8_e4m3fnuz", "Float8_e8m0fnu"), 1
    ),
    **dict.fromkeys(("Short", "UInt16", "Half", "BFloat16"), 2),
    **dict.fromkeys(("Int", "UInt32", "Float", "ComplexHalf", "QInt32"), 4),
    **dict.fromkeys(("Long", "UInt64", "Double", "ComplexFloat"), 8),
    "ComplexDouble": 16,
}


def pattern_of(name: str) -> Pattern:
    """Returns the pattern of a collective's or kernel's name."""
    letters = re.sub(r"[^a-z]", "", name[:200].lower())
    for pattern, regex in _NAMES:
        if regex.search(letters):
            return pattern
    return Pattern.OTHER


def element_bytes(dtype: str) -> int | None:
    """Returns the bytes of an element of a type as torch names it; None if it is not known."""
    return _ELEMENT_BYTES.get(dtype)


def bus_factor(pattern: Pattern, ranks: int) -> float | None:
    """Returns by what the algorithm's bandwidth is scaled; None where nccl-tests says nothing.

    Source: nccl-tests doc/PERFORMANCE.md, "Summary"; gather and scatter as src/gather.cu and src/scatter.cu,
    a send as src/sendrecv.cu.
    """
    if ranks < 1:
        return None
    if pattern is Pattern.ALL_REDUCE:
        return 2 * (ranks - 1) / ranks
    if pattern in (Pattern.BROADCAST, Pattern.REDUCE, Pattern.SEND_RECEIVE):
        return 1.0
    if pattern in (Pattern.BARRIER, Pattern.OTHER):
        return None
    return (ranks - 1) / ranks


@dataclass(frozen=True, slots=True, eq=False)
class Collectives:
    """The kernels that communicate, by row of ``DeviceTable``. Columns (n,).

    Attributes:
        slice_row: int32.
        collective_row: int32, the arguments in ``CollectiveTable``, NO_ROW if there are none.
        pattern: int32, place in ``tuple(Pattern)``; by the arguments' name, else by the kernel's.
        in_bytes: int64, MISSING where the arguments do not say.
        out_bytes: int64, MISSING likewise.
        size_bytes: int64, what nccl-tests takes as the size of the operation, MISSING.
        factor: float64, from the algorithm's bandwidth to that of the bus, NaN.
    """

    slice_row: Int32
    collective_row: Int32
    pattern: Int32
    in_bytes: Int64
    out_bytes: Int64
    size_bytes: Int64
    factor: Float64


def find_collectives(index: TraceIndex, selected: Bool) -> Collectives:
    """Finds the communicating kernels among selected slices, (slices,) bool, and their arguments."""
    trace = index.trace
    work_rows = trace.device_work.slice_row
    chosen = (index.categories == Category.COMMUNICATION) & (trace.slices.kind[work_rows] == SliceKind.KERNEL)
    work = np.flatnonzero(chosen & selected[work_rows])
    row = _arguments(index, work)
    size = _element_sizes(trace)[row]
    in_bytes = _times(argument(trace.collectives.in_elements, row, MISSING), size)
    out_bytes = _times(argument(trace.collectives.out_elements, row, MISSING), size)
    ranks = argument(trace.collectives.group_size, row, MISSING)
    pattern = _patterns(trace, work_rows[work], row)
    return Collectives(
        slice_row=work_rows[work],
        collective_row=row,
        pattern=pattern,
        in_bytes=in_bytes,
        out_bytes=out_bytes,
        size_bytes=_sizes(pattern, in_bytes, out_bytes, ranks),
        factor=_factors(pattern, ranks),
    )


def argument(column: IntColumn, row: Int32, absent: int) -> IntColumn:
    """Returns a column of ``CollectiveTable`` at some rows; ``absent`` where the row is NO_ROW."""
    return np.append(column, column.dtype.type(absent))[row]


def bandwidths(size_bytes: Int64, factor: Float64, duration_ns: Int64) -> tuple[Float64, Float64]:
    """Returns the algorithm's and the bus bandwidth, (n,) float64 bytes/s, NaN where something is missing."""
    known = (size_bytes != MISSING) & (duration_ns > 0)
    algorithm = np.full(len(size_bytes), np.nan)
    np.divide(size_bytes * 1e9, duration_ns, out=algorithm, where=known)
    return algorithm, algorithm * factor


def _arguments(index: TraceIndex, work: NDArray[np.integer]) -> Int32:
    """Returns the row of arguments of each kernel: its own, else those of the call around its launch."""
    trace = index.trace
    own = trace.device_work.collective_row[work]
    of_slice = np.full(len(trace.slices) + 1, NO_ROW, np.int32)
    of_slice[trace.collectives.slice_row] = np.arange(len(trace.collectives), dtype=np.int32)
    around = np.append(nearest_where(index.calls, of_slice[:-1] != NO_ROW), NO_ROW)
    launch = index.links.launch_row[work]
    anchor = np.where(launch == NO_ROW, index.links.op_row[work], launch)
    found: Int32 = np.where(own == NO_ROW, of_slice[around[anchor]], own)
    return found


def _element_sizes(trace: Trace) -> Int64:
    """Returns the bytes of an element for each row of ``CollectiveTable``, and MISSING behind the last."""
    dtype = trace.collectives.dtype_id
    sizes = {int(each): element_bytes(trace.strings[int(each)]) for each in np.unique(dtype)}
    found = [sizes[each] for each in dtype.tolist()]
    return np.array([*(MISSING if size is None else size for size in found), MISSING], np.int64)


def _times(count: Int64, size: Int64) -> Int64:
    known = (count >= 0) & (size != MISSING) & (count < 2**58)
    product = np.full(len(count), MISSING, np.int64)
    product[known] = count[known] * size[known]
    return product


def _patterns(trace: Trace, slice_row: Int32, row: Int32) -> Int32:
    places = {pattern: place for place, pattern in enumerate(Pattern)}
    name_id = argument(trace.collectives.name_id, row, NO_ROW)
    name_id = np.where(name_id == NO_ROW, trace.slices.name_id[slice_row], name_id)
    distinct, place = np.unique(name_id, return_inverse=True)
    found = [places[pattern_of(trace.strings[text_id])] for text_id in distinct.tolist()]
    return np.array(found, np.int32)[place]


def _sizes(pattern: Int32, in_bytes: Int64, out_bytes: Int64, ranks: Int64) -> Int64:
    """Returns the size of each operation: of what is spread over the ranks, the whole."""
    kinds = tuple(Pattern)
    size = np.full(len(pattern), MISSING, np.int64)
    for place, (kind, into, out, count) in enumerate(
        zip(pattern.tolist(), in_bytes.tolist(), out_bytes.tolist(), ranks.tolist(), strict=True)
    ):
        whole, share = _whole_and_share(kinds[kind], into, out)
        if whole != MISSING:
            size[place] = whole
        elif share != MISSING and 0 < count < 2**20 and share < 2**42:
            size[place] = share * count
    return size


def _whole_and_share(kind: Pattern, into: int, out: int) -> tuple[int, int]:
    """Returns the bytes of the whole and, where that may be missing, of one rank's share."""
    if kind is Pattern.ALL_GATHER:
        return out, into
    if kind is Pattern.REDUCE_SCATTER:
        return into, out
    if kind is Pattern.GATHER:
        return MISSING, into
    if kind is Pattern.SCATTER:
        return MISSING, out
    return max(into, out), MISSING


def _factors(pattern: Int32, ranks: Int64) -> Float64:
    kinds = tuple(Pattern)
    pairs, place = np.unique(np.stack((pattern.astype(np.int64), ranks), axis=1), axis=0, return_inverse=True)
    found = [bus_factor(kinds[kind], count) for kind, count in pairs.tolist()]
    values = np.array([np.nan if factor is None else factor for factor in found], np.float64)
    return values[place.reshape(-1)]
