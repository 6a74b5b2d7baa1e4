"""What a trace tells of each kernel that a verdict can rest on: size, inputs, waits, neighbours.

Kernels are grouped by their full name. What is said of inputs and neighbours is
said of the most common call of the name, and counted for the calls that are like it.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Final

import numpy as np

from core.analyses.categories import Category
from core.analyses.intervals import cut_to_windows, ends_ns, exact_sum, union
from core.analyses.kernel_names import short_name
from core.analyses.op_work.call import UnknownWorkError, read_call
from core.roofline.verdict_gains import Share
from core.roofline.verdict_limits import LONGEST_LAUNCH_NS
from core.tables.columns import MISSING, NO_ROW
from core.tables.trace import SliceKind

if TYPE_CHECKING:
    from core.analyses.index import TraceIndex
    from core.analyses.op_work.call import OpCall, Tensor
    from core.tables.columns import Bool, Int32, Int64

FUSIBLE: Final = frozenset(
    {Category.ELEMENTWISE, Category.NORMALISATION, Category.REDUCTION, Category.TRITON, Category.EMBEDDING}
)
"""Kernels that a compiler fuses with each other. Source: torch.compile's "pointwise" and "reduction"."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Neighbour:
    """A kernel that runs right before or behind another on its stream, on data of the same shape.

    Attributes:
        name: Short name.
        is_before: Whether it runs before.
        calls: How many calls of the kernel have it there.
        shared_bytes: Size of what the one writes and the other reads, a call.
        saved_ns: Time of both that moving it takes at most, over those calls, if memory is their limit.
    """

    name: str
    is_before: bool
    calls: int
    shared_bytes: int
    saved_ns: float


@dataclass(frozen=True, slots=True)
class Gaps:
    """Idle times of a stream before some calls, until their launch had returned: how many, and their sum."""

    calls: int
    time_ns: int


@dataclass(frozen=True, slots=True, kw_only=True)
class KernelFacts:
    """All calls of one name; None where the trace does not say.

    Attributes:
        name: Full name.
        category: What kind of work the name tells.
        calls: Those with a possible time.
        sum_ns: Of these.
        share: What they are a part of: of the steps, or without steps of all kernels.
        whole_ns: The time of that.
        blocks: Of the median call.
        sm_count: Of the device.
        call: The operator of the most common call, with its inputs.
        launch_gaps: Idle times that a launch can cause; None without steps, of which they would be a part.
        host_gaps: Those that are longer: the host was at something else.
        neighbours: At most one before and one behind.
        beside_ns: Time of the calls in which a collective ran on the same device; 0 for communication itself.
    """

    name: str
    category: Category
    calls: int
    sum_ns: int
    share: Share
    whole_ns: int
    blocks: int | None
    sm_count: int | None
    call: OpCall | None
    launch_gaps: Gaps | None
    host_gaps: Gaps | None
    neighbours: tuple[Neighbour, ...]
    beside_ns: int

    @property
    def beside_pct(self) -> float:
        """That as a share of the time of the calls."""
        return 100 * self.beside_ns / self.sum_ns

    @property
    def is_underfilled(self) -> bool:
        """Whether some SMs get no block; False where that is not known."""
        return self.blocks is not None and self.sm_count is not None and self.blocks < self.sm_count

    def share_of_ns(self, time_ns: float, what: str) -> Share:
        """Returns some time as a part of the whole; ``what`` names it."""
        part = time_ns / self.whole_ns if self.whole_ns > 0 else None
        return Share(part=part, what=what, whole=self.share.whole)


class TraceKernels:
    """The kernels of a trace by name; what all need is computed once."""

    def __init__(self, index: TraceIndex) -> None:
        self._index = index
        trace = index.trace
        rows = trace.device_work.slice_row
        possible = (trace.slices.kind[rows] == SliceKind.KERNEL) & (trace.slices.duration_ns[rows] > 0)
        places = np.flatnonzero(possible)
        start_ns, track = trace.slices.start_ns[rows[places]], trace.slices.track[rows[places]]
        order = np.lexsort((start_ns, track))
        # All below are columns over these kernels, by stream and start.
        self._place: Int64 = places[order]
        self._row: Int32 = rows[self._place]
        self._name_id: Int32 = trace.slices.name_id[self._row]
        self._start_ns: Int64 = trace.slices.start_ns[self._row]
        self._duration_ns: Int64 = trace.slices.duration_ns[self._row]
        self._step: Int32 = index.step_of_work[self._place]
        self._follows: Bool = np.zeros(len(self._place), np.bool_)
        self._follows[1:] = track[order][1:] == track[order][:-1]

    @cached_property
    def _whole(self) -> tuple[int, str]:
        """The time that shares are of, and what it is."""
        steps = self._index.steps
        if len(steps):
            return exact_sum(steps.end_ns - steps.start_ns), "the steps' time"
        return exact_sum(self._duration_ns), "the trace's kernel time"

    @cached_property
    def _waited_ns(self) -> Int64:
        """(n,) int64: how long each kernel's stream was idle until its launch had returned, within a step."""
        index = self._index
        launch_row = index.links.launch_row[self._place]
        slices = index.trace.slices
        returned_ns = ends_ns(slices.start_ns[launch_row], slices.duration_ns[launch_row])
        waited = np.zeros(len(self._place), np.int64)
        until_ns = np.minimum(self._start_ns[1:], returned_ns[1:])
        before_ns = ends_ns(self._start_ns[:-1], self._duration_ns[:-1])
        waited[1:] = np.maximum(until_ns - before_ns, 0)
        same_step = np.zeros(len(self._place), np.bool_)
        same_step[1:] = (self._step[1:] == self._step[:-1]) & (self._step[1:] != NO_ROW)
        waited[~self._follows | ~same_step | (launch_row == NO_ROW)] = 0
        return waited

    @cached_property
    def _beside_ns(self) -> Int64:
        """(n,) int64: how long a collective ran on the device of each kernel that is none, while it did."""
        trace = self._index.trace
        communicates = self._index.categories[self._place] == Category.COMMUNICATION
        process = trace.tracks.process_id[trace.slices.track[self._row]]
        end_ns = ends_ns(self._start_ns, self._duration_ns)
        beside = np.zeros(len(self._place), np.int64)
        for device in np.unique(process[communicates]).tolist():
            here = process == device
            of = here & communicates
            line = union(np.zeros(np.count_nonzero(of), np.int64), self._start_ns[of], end_ns[of])
            at = np.flatnonzero(here & ~communicates)
            during = cut_to_windows(line, np.arange(len(at)), self._start_ns[at], end_ns[at])
            beside[at] = during.lengths_ns(len(at))
        return beside

    @cached_property
    def _arguments(self) -> tuple[Int32, Int32, Int32]:
        """Operator, text of input shapes and text of input types of each kernel, NO_ROW."""
        op_row = self._index.links.op_row[self._place]
        return (op_row, *self._index.op_arguments(op_row))

    @cached_property
    def _calls(self) -> dict[str, Int64]:
        """The kernels of each full name, ascending."""
        names, counts = np.unique(self._name_id, return_counts=True)
        by_name = np.split(np.argsort(self._name_id, kind="stable"), np.cumsum(counts)[:-1])
        strings = self._index.trace.strings
        return {strings[each]: at for each, at in zip(names.tolist(), by_name, strict=False)}

    def facts(self, name: str) -> KernelFacts | None:
        """Returns what is known of the kernels of a full name, None if there is none with a possible time."""
        at = self._calls.get(name)
        if at is None:
            return None
        work = self._index.trace.device_work
        whole_ns, whole = self._whole
        has_steps = len(self._index.steps) > 0
        counted = at[self._step[at] != NO_ROW] if has_steps else at
        part = exact_sum(self._duration_ns[counted]) / whole_ns if whole_ns > 0 else None
        waited = self._waited_ns[at]
        first = self._most_common(at)
        return KernelFacts(
            name=name,
            category=Category(int(self._index.categories[self._place[at[0]]])),
            calls=len(at),
            sum_ns=exact_sum(self._duration_ns[at]),
            share=Share(part=part, what="the kernel", whole=whole),
            whole_ns=whole_ns,
            blocks=_median_blocks(work.grid[self._place[at]]),
            sm_count=self._sm_count(int(work.device[self._place[at[0]]])),
            call=self._call(first),
            launch_gaps=_gaps(waited[waited <= LONGEST_LAUNCH_NS]) if has_steps else None,
            host_gaps=_gaps(waited[waited > LONGEST_LAUNCH_NS]) if has_steps else None,
            neighbours=self._neighbours(counted),
            beside_ns=exact_sum(self._beside_ns[at]),
        )

    def _most_common(self, at: Int64) -> int:
        """Return the first of the kernels ``at`` whose inputs are the most common."""
        _, dims, types = self._arguments
        pairs = dims[at].astype(np.int64) << 32 | (types[at].astype(np.int64) & 0xFFFF_FFFF)
        _, firsts, counts = np.unique(pairs, return_index=True, return_counts=True)
        return int(at[firsts[np.argmax(counts)]])

    def _call(self, at: int) -> OpCall | None:
        op_row, dims, types = (int(column[at]) for column in self._arguments)
        if op_row == NO_ROW:
            return None
        trace = self._index.trace
        strings = trace.strings
        name = strings[int(trace.slices.name_id[op_row])]
        try:
            return read_call(name, strings[dims], strings[types], "", strings[int(self._name_id[at])])
        except UnknownWorkError:
            return None

    def _sm_count(self, device: int) -> int | None:
        devices = self._index.trace.facts.devices
        known = [each.sm_count for each in devices if each.id == device]
        return known[0] if known else None

    def _neighbours(self, at: Int64) -> tuple[Neighbour, ...]:
        found = (self._neighbour(at, is_before=True), self._neighbour(at, is_before=False))
        return tuple(each for each in found if each is not None)

    def _neighbour(self, at: Int64, *, is_before: bool) -> Neighbour | None:
        """Return the most common neighbour of the kernels ``at`` on one side, None if it cannot be fused."""
        beside = at - 1 if is_before else at + 1
        exists = (beside >= 0) & (beside < len(self._place))
        at, beside = at[exists], beside[exists]
        exists = self._follows[at if is_before else beside]
        at, beside = at[exists], beside[exists]
        # Two kernels of one operator are its own affair.
        op_row = self._arguments[0]
        apart = (op_row[at] != op_row[beside]) & (op_row[at] != NO_ROW) & (op_row[beside] != NO_ROW)
        at, beside = at[apart], beside[apart]
        if not len(at):
            return None
        dims = self._arguments[1]
        keys = np.stack((self._name_id[beside], dims[at], dims[beside]), axis=1)
        _, group, counts = np.unique(keys, axis=0, return_inverse=True, return_counts=True)
        like = group.reshape(-1) == int(np.argmax(counts))
        return self._fusible(at[like], beside[like], is_before=is_before)

    def _fusible(self, at: Int64, beside: Int64, *, is_before: bool) -> Neighbour | None:
        """Return the neighbours ``beside`` of the like calls ``at``, None if they cannot be fused."""
        mine, other = int(at[0]), int(beside[0])
        if not {self._category(mine), self._category(other)} <= FUSIBLE:
            return None
        own, others = _tensors(self._call(mine)), _tensors(self._call(other))
        if not own or not others or own[0].shape != others[0].shape:
            return None
        shared = min(own[0].size_bytes, others[0].size_bytes)
        saved_ns = exact_sum(self._duration_ns[at]) * _part_of(shared, own)
        saved_ns += exact_sum(self._duration_ns[beside]) * _part_of(shared, others)
        return Neighbour(
            name=short_name(self._index.trace.strings[int(self._name_id[other])]),
            is_before=is_before,
            calls=len(at),
            shared_bytes=shared,
            saved_ns=saved_ns,
        )

    def _category(self, at: int) -> Category:
        return Category(int(self._index.categories[self._place[at]]))


def _gaps(waited_ns: Int64) -> Gaps:
    return Gaps(int(np.count_nonzero(waited_ns)), exact_sum(waited_ns))


def _median_blocks(grid: Int64) -> int | None:
    known = grid[(grid != MISSING).all(axis=1)]
    return int(np.median(known.prod(axis=1))) if len(known) else None


def _tensors(call: OpCall | None) -> list[Tensor]:
    """Return the inputs of a call that are tensors, the largest first; none if any is not known."""
    if call is None:
        return []
    try:
        found = call.tensors()
    except UnknownWorkError:
        return []
    return sorted((each for each in found if each.count), key=lambda each: -each.size_bytes)


def _part_of(shared_bytes: int, inputs: list[Tensor]) -> float:
    """Return which part of what a kernel moves is one tensor; its result is as large as its largest input."""
    return shared_bytes / (sum(each.size_bytes for each in inputs) + inputs[0].size_bytes)
