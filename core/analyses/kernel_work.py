"""Which operator's work each kernel does: from launches and shapes, each operator's work given once.

The work of an operator belongs to one of its kernels, the main one; the others
(the reduction after a split-K product, a change of layout) are helpers, whose
own bytes nobody knows. Which is the main one is decided by what kernels of that
name are and how long they take in all calls of the operator, not by one call.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from typing import TYPE_CHECKING, Final

import numpy as np

from core.analyses.categories import Category
from core.analyses.grouping import dense_ids, dense_pairs
from core.analyses.kernel_mains import Kernels
from core.analyses.kernel_repeats import find_repeats
from core.analyses.links import LinkKind
from core.analyses.nesting import nearest_where, sums_with_inner
from core.analyses.op_work.call import UnknownWorkError, Work, read_call
from core.analyses.op_work.models import NO_MODEL, PRODUCTS, has_model, work_of
from core.tables.columns import NO_ROW, freeze_columns
from core.tables.trace import SliceKind

if TYPE_CHECKING:
    from collections.abc import Callable

    from core.analyses.index import TraceIndex
    from core.analyses.kernel_mains import Mains
    from core.tables.columns import Bool, Int32, Int64, Uint8

COMMUNICATION: Final = "Communication"
REPLAYED: Final = "Replayed by a graph, whose operators are not in the trace"
NO_OPERATOR: Final = "Its operator is not known"
OF_ANOTHER: Final = "Part of an operator whose work other kernels of it do"
HELPS: Final = "Helps the main kernel of its operator, which has the work"
NO_OPERATIONS_KNOWN: Final = "Generated kernel: its arguments give its bytes, not its operations"


class Role(IntEnum):
    """What is known of a kernel's work."""

    UNKNOWN = 0
    MODELLED = 1
    HELPER = 2
    BYTES_ONLY = 3
    APART = 4
    """Communication, which no roofline is about."""

    @property
    def title(self) -> str:
        """As tables show it."""
        return ("Not modelled", "Modelled", "Helper", "Bytes only", "Communication")[self]


_GIVEN: Final = (Role.MODELLED, Role.HELPER, Role.BYTES_ONLY)


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class KernelWork:
    """All kernels of a trace and whose work they do. Columns (kernels,).

    Attributes:
        place: int32, row of ``DeviceTable``, ascending.
        op_row: int32, the operator whose work it does, else the one that launched it, NO_ROW.
        role: uint8, ``Role``.
        work_row: int32, row of ``works`` that this call of the kernel was given; NO_ROW where it is unknown,
            or another call has that of the operator.
        reason_id: int32, row of ``reasons``: why no work of its own is known, NO_ROW where it is.
        repeats: bool, whether its operator is not in the trace, and all this is of a kernel that it repeats.
        works: The distinct works.
        reasons: The distinct reasons.
    """

    place: Int32
    op_row: Int32
    role: Uint8
    work_row: Int32
    reason_id: Int32
    repeats: Bool
    works: tuple[Work, ...]
    reasons: tuple[str, ...]

    def __post_init__(self) -> None:
        freeze_columns(
            self,
            {
                "place": np.int32,
                "op_row": np.int32,
                "role": np.uint8,
                "work_row": np.int32,
                "reason_id": np.int32,
                "repeats": np.bool_,
            },
        )

    def __len__(self) -> int:
        return len(self.place)


def find_kernel_work(index: TraceIndex) -> KernelWork:
    """Gives the work of operators to the kernels of a trace."""
    found = _Attribution(index)
    found.attribute()
    return KernelWork(
        place=found.place,
        op_row=found.op_row,
        role=found.role,
        work_row=found.work_row,
        repeats=found.repeats,
        reason_id=found.reason_id,
        works=found.works,
        reasons=found.reasons,
    )


class _Attribution:
    """The columns of ``KernelWork`` while they are filled."""

    def __init__(self, index: TraceIndex) -> None:
        self._index = index
        slices, work = index.trace.slices, index.trace.device_work
        self.place: Int32 = np.flatnonzero(slices.kind[work.slice_row] == SliceKind.KERNEL).astype(np.int32)
        count = len(self.place)
        self.op_row: Int32 = index.links.op_row[self.place].copy()
        self.role: Uint8 = np.zeros(count, np.uint8)
        self.work_row: Int32 = np.full(count, NO_ROW, np.int32)
        self.reason_id: Int32 = np.full(count, NO_ROW, np.int32)
        self.repeats: Bool = np.zeros(count, np.bool_)
        self._work_ids: dict[Work, int] = {}
        self._reason_ids: dict[str, int] = {}
        self._kernels = Kernels(index, self.place)

    @property
    def reasons(self) -> tuple[str, ...]:
        """The reasons so far, in the order of their ids."""
        return tuple(self._reason_ids)

    @property
    def works(self) -> tuple[Work, ...]:
        """The works so far, in the order of their rows."""
        return tuple(self._work_ids)

    def _work(self, work: Work) -> int:
        return self._work_ids.setdefault(work, len(self._work_ids))

    def _reason(self, text: str) -> int:
        return self._reason_ids.setdefault(text, len(self._reason_ids))

    def attribute(self) -> None:
        """Fills the columns: first what has no operator, then by operators from the innermost on out."""
        apart = self._index.categories[self.place] == Category.COMMUNICATION
        replayed = ~apart & (self._index.links.how[self.place] == LinkKind.GRAPH)
        self.op_row[replayed] = NO_ROW
        alone = ~apart & ~replayed & (self.op_row == NO_ROW)
        for chosen, text in ((apart, COMMUNICATION), (replayed, REPLAYED), (alone, NO_OPERATOR)):
            if chosen.any():
                self.reason_id[chosen] = self._reason(text)
        self.role[apart] = Role.APART
        asked = np.flatnonzero(~(apart | replayed | alone))
        if len(asked):
            self.reason_id[asked] = self._reason(NO_MODEL)
            self._by_operators(asked)
        self._repeat((replayed | alone) & ~apart)

    def _repeat(self, unknown: Bool) -> None:
        """Gives to kernels without operators what those that they repeat were given."""
        names = self._index.trace.slices.name_id
        operator = np.where(self.op_row == NO_ROW, NO_ROW, names[self.op_row]).astype(np.int64)
        outcome = self.role.astype(np.int64)
        for part in (self.work_row, self.reason_id, operator):
            outcome = dense_pairs(outcome, part.astype(np.int64))
        source = find_repeats(self._index.trace, self.place, unknown, outcome)
        here = np.flatnonzero(source != NO_ROW)
        source = source[here]
        known = np.isin(self.role[source], _GIVEN)
        here, source = here[known], source[known]
        self.repeats[here] = True
        self.role[here] = self.role[source]
        for column in (self.op_row, self.work_row, self.reason_id):
            column[here] = column[source]

    def _by_operators(self, asked: Int64) -> None:
        calls, slices = self._index.calls, self._index.trace.slices
        launched_by = self.op_row.copy()
        around = nearest_where(calls, _ops_with_names(self._index, has_model))
        owner = around[launched_by[asked]]
        while True:
            some = owner != NO_ROW
            asked, owner = asked[some], owner[some]
            if not len(asked):
                break
            known = self._give(asked, owner, owner == launched_by[asked])
            asked, owner = asked[~known], owner[~known]
            outer = calls.parent_row[owner]
            owner = np.where(outer == NO_ROW, NO_ROW, around[outer]).astype(np.int32)
        products = _ops_with_names(self._index, PRODUCTS.__contains__)
        self._take_back(launched_by, products, len(slices))

    def _give(self, asked: Int64, owner: Int32, own: Bool) -> Bool:
        """Gives the work of operators to those of their kernels that are asked about.

        Args:
            asked: (m,) kernels.
            owner: (m,) int32, the operator of each.
            own: (m,) bool, whether that operator launched it itself.

        Returns:
            (m,) bool: of which kernels the operator's work is known.
        """
        ops, group = dense_ids(owner)
        mains = self._kernels.mains(asked, self._index.trace.slices.name_id[owner], group, len(ops))
        outcomes = self._outcomes(ops, mains)
        work_row = outcomes.work_row[group]
        known: Bool = work_row != NO_ROW
        self.reason_id[asked[~known & own]] = outcomes.reason_id[group[~known & own]]

        splits = (outcomes.input_row != NO_ROW) & (mains.second_name != NO_ROW)
        name = self._kernels.name[asked]
        is_main = name == mains.first_name[group]
        is_main |= splits[group] & (name == mains.second_name[group])
        role = np.where(is_main, Role.MODELLED, Role.HELPER)
        role = np.where(is_main & outcomes.bytes_only[group], Role.BYTES_ONLY, role)
        here = asked[known]
        self.op_row[here] = owner[known]
        self.role[here] = role[known]
        self.reason_id[here] = NO_ROW
        for chosen, text in ((role == Role.HELPER, HELPS), (role == Role.BYTES_ONLY, NO_OPERATIONS_KNOWN)):
            if (known & chosen).any():
                self.reason_id[asked[known & chosen]] = self._reason(text)
        self._carry(outcomes, mains, splits)
        return known

    def _carry(self, outcomes: _Outcomes, mains: Mains, splits: Bool) -> None:
        """Notes at one call of the main kernel of each operator that it has the work."""
        whole = (outcomes.work_row != NO_ROW) & ~splits
        self.work_row[mains.first[whole]] = outcomes.work_row[whole]
        one = np.where(mains.first_is_weight, outcomes.weight_row, outcomes.input_row)
        other = np.where(mains.first_is_weight, outcomes.input_row, outcomes.weight_row)
        self.work_row[mains.first[splits]] = one[splits]
        self.work_row[mains.second[splits]] = other[splits]

    def _outcomes(self, ops: Int32, mains: Mains) -> _Outcomes:
        """Finds the work of operators, once for each that differs in name, inputs or main kernel."""
        name_id = self._index.trace.slices.name_id[ops]
        inputs = _inputs(self._index, ops)
        combination = dense_ids(name_id)[1]
        for column in (*inputs, mains.first_name):
            combination = dense_pairs(combination, column.astype(np.int64))
        _, first = np.unique(combination, return_index=True)
        strings = self._index.trace.strings
        columns: list[list[int]] = [[], [], [], [], []]
        for place in first.tolist():
            dims, types, concrete = (strings[int(column[place])] for column in inputs)
            kernel = self._kernels.texts[int(mains.first_name[place])]
            row = self._outcome(strings[int(name_id[place])], dims, types, concrete, kernel)
            for column_of, value in zip(columns, row, strict=True):
                column_of.append(value)
        work_row, input_row, weight_row, reason_id, bytes_only = (
            np.array(column_of, np.int32)[combination] for column_of in columns
        )
        return _Outcomes(work_row, input_row, weight_row, reason_id, bytes_only.astype(np.bool_))

    def _outcome(
        self, name: str, dims: str, types: str, concrete: str, kernel: str
    ) -> tuple[int, int, int, int, int]:
        """Returns the rows of the work and of its two parts, the reason, and whether only bytes are known."""
        try:
            work = work_of(read_call(name, dims, types, concrete, kernel))
        except UnknownWorkError as unknown:
            return NO_ROW, NO_ROW, NO_ROW, self._reason(str(unknown)), 0
        input_row, weight_row = map(self._work, work.parts) if work.parts else (NO_ROW, NO_ROW)
        return self._work(work), input_row, weight_row, NO_ROW, int(work.flop is None)

    def _take_back(self, launched_by: Int32, products: Bool, total: int) -> None:
        """Takes work back that would be counted twice: inner operators do it.

        A product that encloses another, and what has a model and encloses what was given work while itself
        it launched nothing, are made of their inner operators.
        """
        given = np.flatnonzero(np.isin(self.role, _GIVEN))
        owner = self.op_row[given]
        marks = np.zeros(total, np.int64)
        marks[owner] = 1
        marks[owner[products[owner]]] += 1 << 32
        inner = sums_with_inner(self._index.calls, marks)[owner] - marks[owner]
        own = owner == launched_by[given]
        doubled = np.where(products[owner], inner >= 1 << 32, ~own & (inner > 0))
        if not doubled.any():
            return
        here, helps = given[doubled], (own & products[owner])[doubled]
        self.work_row[here] = NO_ROW
        self.reason_id[here] = self._reason(OF_ANOTHER)
        self.role[here] = np.where(helps, Role.HELPER, Role.UNKNOWN)
        self.op_row[here] = launched_by[here]


@dataclass(frozen=True, slots=True)
class _Outcomes:
    """What was found of each operator. All (ops,): rows of the works, NO_ROW; ids of reasons, NO_ROW."""

    work_row: Int32
    input_row: Int32
    weight_row: Int32
    reason_id: Int32
    bytes_only: Bool


def _ops_with_names(index: TraceIndex, wanted: Callable[[str], bool]) -> Bool:
    """Returns (slices,) bool: operators whose name is wanted."""
    slices = index.trace.slices
    chosen: Bool = slices.kind == SliceKind.OP
    names, place = dense_ids(slices.name_id[chosen])
    is_wanted = np.array([wanted(index.trace.strings[text_id]) for text_id in names.tolist()], np.bool_)
    chosen[chosen] = is_wanted[place]
    return chosen


def _inputs(index: TraceIndex, rows: Int32) -> tuple[Int32, Int32, Int32]:
    """Returns the text ids of shapes, types and concrete inputs of some operators, NO_ROW."""
    dims, types = index.op_arguments(rows)
    ops = index.trace.ops
    place = np.searchsorted(ops.slice_row, rows)
    return dims, types, ops.concrete_inputs_id[place]
