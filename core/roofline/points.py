"""Where kernels stand on a roofline: one table for measured and for modelled ones.

A report gives a point for each launch, from its counters; a trace gives one for
each kernel name, from the shapes of the operators that launched it. Both come as
``PointTable``, so that one plot, one list and one export serve them, and each
row says which it is. A kernel that has no place is in the table all the same,
with the reason.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from typing import TYPE_CHECKING, Final

import numpy as np

from core.tables.columns import Float64, Int32, Int64, Uint8, freeze_columns

if TYPE_CHECKING:
    from core.analyses.ncu_roofline import Level
    from core.tables.strings import StringTable

LEVELS: Final[tuple[Level, ...]] = ("dram", "l2", "l1")
"""The levels of memory, in the order of the columns of ``PointTable.moved_bytes``."""

LEVEL_TITLES: Final[dict[Level, str]] = {"dram": "DRAM", "l2": "L2", "l1": "L1"}


class PointOrigin(IntEnum):
    """How the work of a point is known."""

    MEASURED = 0
    """Counted by the device."""
    ESTIMATED = 1
    """From counted instructions, by what one of them does."""
    MODELLED = 2
    """From shapes and types of an operator's inputs: FLOP as it needs them, bytes at the least."""


class WorkType(IntEnum):
    """What the operations of a point are, so that it is held against the right ceiling."""

    NONE = 0
    FP64 = 1
    FP32 = 2
    FP16 = 3
    FP64_TENSOR = 4
    TF32_TENSOR = 5
    FP16_TENSOR = 6
    BF16_TENSOR = 7
    FP8_TENSOR = 8
    FP4_TENSOR = 9
    INT8_TENSOR = 10
    OTHER_TENSOR = 11
    """On tensor cores, of a type that is not known."""
    BF16 = 12

    @property
    def title(self) -> str:
        """As tables and legends show it: "BF16 tensor"; "" for no work."""
        if self is WorkType.NONE:
            return ""
        kind, _, unit = self.name.partition("_")
        return " ".join(["Other" if kind == "OTHER" else kind, *filter(None, [unit.lower()])])

    @property
    def is_tensor(self) -> bool:
        """Whether tensor cores did it."""
        return self.name.endswith("_TENSOR")


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class PointTable:
    """Kernels and their place, in the order of their origin. All columns (n,) unless said otherwise.

    A modelled point is about those calls of a name whose work is known, as long as there are any.

    Attributes:
        strings: Of ``name_id`` and ``reason_id``.
        name_id: int32 text, the kernel's full name.
        short_name_id: int32 text, as ``core.analyses.kernel_names`` shortens it.
        category: uint8, ``core.analyses.categories.Category``.
        origin: uint8, ``PointOrigin``.
        work_type: uint8, ``WorkType`` of most of its operations.
        flop: float64, operations of all its calls, NaN where not known.
        moved_bytes: (n, 3) float64, by ``LEVELS``, of all its calls; NaN where not known. Modelled bytes
            are the least that must move, so its intensity is an upper bound.
        sum_ns: int64, of all its calls that were possible, MISSING.
        calls: int64.
        reason_id: int32 text, why it has no place on the plot, NO_ROW where it has one.
        origin_row: int32, row of ``LaunchTable`` (a report) or of the kernels table (a trace).
    """

    strings: StringTable
    name_id: Int32
    short_name_id: Int32
    category: Uint8
    origin: Uint8
    work_type: Uint8
    flop: Float64
    moved_bytes: Float64
    sum_ns: Int64
    calls: Int64
    reason_id: Int32
    origin_row: Int32

    def __post_init__(self) -> None:
        freeze_columns(
            self,
            {
                "name_id": np.int32,
                "short_name_id": np.int32,
                "category": np.uint8,
                "origin": np.uint8,
                "work_type": np.uint8,
                "flop": np.float64,
                "moved_bytes": np.float64,
                "sum_ns": np.int64,
                "calls": np.int64,
                "reason_id": np.int32,
                "origin_row": np.int32,
            },
            {"moved_bytes": len(LEVELS)},
        )

    def __len__(self) -> int:
        return len(self.name_id)

    def take(self, rows: Int32) -> PointTable:
        """Returns the points in some rows, in the order wanted."""
        return PointTable(
            strings=self.strings,
            name_id=self.name_id[rows],
            short_name_id=self.short_name_id[rows],
            category=self.category[rows],
            origin=self.origin[rows],
            work_type=self.work_type[rows],
            flop=self.flop[rows],
            moved_bytes=self.moved_bytes[rows],
            sum_ns=self.sum_ns[rows],
            calls=self.calls[rows],
            reason_id=self.reason_id[rows],
            origin_row=self.origin_row[rows],
        )
