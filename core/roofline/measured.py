"""Points of a report: what each launch did, by the counters of the device.

A launch stands on the plot with the type of work of which it did the most. One
without work, without traffic, without a duration, or whose tensor cores worked
uncounted, has no place and says why.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from core.analyses.categories import categorize_names
from core.analyses.kernel_names import short_names
from core.analyses.ncu_counters import Counters, either
from core.analyses.ncu_roofline import PRECISIONS, scalar_work, traffic
from core.analyses.ncu_tensor import OPCODES, opcode_work, tensor_work
from core.readers.ncu_report.details import read_instances
from core.roofline.points import LEVELS, PointOrigin, PointTable, WorkType
from core.tables.columns import MISSING, NO_ROW
from core.tables.strings import string_table
from core.units import NO_BREAK_SPACE, format_bytes_per_s, format_count, format_number

if TYPE_CHECKING:
    from collections.abc import Iterable

    from core.analyses.ncu_roofline import Level
    from core.analyses.ncu_tensor import TensorWork
    from core.tables.columns import Bool, Float64, Int32, Int64, Uint8
    from core.tables.ncu import Report
    from core.tables.strings import StringTable

WORK_TYPES: Final[tuple[WorkType, ...]] = (
    WorkType.FP64,
    WorkType.FP32,
    WorkType.FP16,
    WorkType.FP64_TENSOR,
    WorkType.TF32_TENSOR,
    WorkType.FP16_TENSOR,
    WorkType.BF16_TENSOR,
    WorkType.FP8_TENSOR,
    WorkType.FP4_TENSOR,
    WorkType.INT8_TENSOR,
    WorkType.OTHER_TENSOR,
)
"""The order of the columns of ``MeasuredWork.flop``: scalar precisions, then ``TENSOR_TYPES``."""

NOT_COLLECTED: Final = "not collected: run ncu --set roofline"
# Source: names of kernels of cuBLAS and CUTLASS 3.5 (tools/library/src/util.cu): the shape of the
# instruction behind the type of the sums ("turing_int8_i8816gemm_int8_128x128"), or its name.
_TENSOR_NAMES: Final = re.compile(
    r"[hsi_](?:884|8816|8832|1688|16816|16832|16864)|tensorop|wgmma|[dhix]mma", re.IGNORECASE
)
_NAME_LOOKED_AT: Final = 2048


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class MeasuredWork:
    """What launches did, of every type. A row for each launch.

    Attributes:
        flop: (n, types) float64 by ``WORK_TYPES``, NaN where not counted.
        moved_bytes: (n, 3) float64 by ``LEVELS``, NaN where not counted.
        duration_ns: (n,) int64, MISSING.
        estimated: (n,) bool, whether tensor work comes from instructions.
        tensor_unknown: For each launch, why its tensor work is not known; "" where it is.
    """

    flop: Float64
    moved_bytes: Float64
    duration_ns: Int64
    estimated: Bool
    tensor_unknown: tuple[str, ...]

    def intensity(self, launch_row: int, work_type: WorkType, level: Level = "dram") -> float | None:
        """Returns FLOP a byte of one type at one level; None where there is none of either."""
        flop = float(self.flop[launch_row, WORK_TYPES.index(work_type)])
        moved = float(self.moved_bytes[launch_row, LEVELS.index(level)])
        return flop / moved if flop > 0 and moved > 0 else None


def measured_work(report: Report, counters: Counters | None = None) -> MeasuredWork:
    """Counts the work of each type, and the traffic of each level, of all launches of a report.

    Args:
        report: It holds the instructions by opcode, which are decoded where counters do not tell.
        counters: Of all its launches, if they are at hand.
    """
    counters = Counters(report) if counters is None else counters
    tensor = tensor_work(counters)
    tensor_flop, estimated = tensor.flop.copy(), tensor.estimated.copy()
    unknown = [""] * len(report.launches)
    names = [report.strings[each] for each in report.launches.name_id.tolist()]
    for row in np.flatnonzero(~tensor.counted & ~tensor.idle).tolist():
        from_opcodes = _from_opcodes(report, row)
        if from_opcodes is not None:
            tensor_flop[row] = from_opcodes
            estimated[row] = bool(from_opcodes.any())
        else:
            unknown[row] = _why_unknown(tensor, row, names[row])
    scalars = [scalar_work(counters, precision) for precision in PRECISIONS]
    traffics = [traffic(counters, level) for level in LEVELS]
    return MeasuredWork(
        flop=np.column_stack(
            [*(either(each.amount, each.per_s * counters.duration_s) for each in scalars), tensor_flop]
        ),
        moved_bytes=np.column_stack(
            [either(each.amount, each.per_s * counters.duration_s) for each in traffics]
        ),
        duration_ns=report.launches.duration_ns,
        estimated=estimated,
        tensor_unknown=tuple(unknown),
    )


def measured_points(report: Report, work: MeasuredWork | None = None) -> PointTable:
    """Places the launches of a report: a row for each, in the order of ``LaunchTable``.

    Args:
        report: Where they stand.
        work: What they did, if it is at hand.
    """
    work = measured_work(report) if work is None else work
    count = len(report.launches)
    chosen = np.argmax(np.nan_to_num(work.flop, nan=-1.0), axis=1) if count else np.empty(0, np.int64)
    flop = work.flop[np.arange(count), chosen]
    is_known = np.array([not why for why in work.tensor_unknown], bool)
    # Tensor work of 0 beside scalar work that nobody counted says nothing.
    is_known &= (flop > 0) | ~np.all(np.isnan(work.flop[:, : len(PRECISIONS)]), axis=1)
    flop = np.where(is_known, flop, np.nan)
    types = np.array(WORK_TYPES, np.uint8)[chosen]
    is_tensor = chosen >= len(PRECISIONS)
    origins = np.where(work.estimated & is_tensor, PointOrigin.ESTIMATED, PointOrigin.MEASURED)
    reasons = [_reason(work, row, float(flop[row])) for row in range(count)]
    names = [report.strings[each] for each in report.launches.name_id.tolist()]
    shorts, categories = _looked_up(names)
    texts = _Texts()
    return PointTable(
        name_id=texts.ids(names),
        short_name_id=texts.ids(shorts),
        category=categories,
        origin=origins.astype(np.uint8),
        work_type=np.where(flop > 0, types, WorkType.NONE).astype(np.uint8),
        flop=flop,
        moved_bytes=work.moved_bytes,
        sum_ns=work.duration_ns.copy(),
        calls=np.ones(count, np.int64),
        reason_id=texts.ids(reasons),
        origin_row=np.arange(count, dtype=np.int32),
        strings=texts.table(),
    )


class _Texts:
    """Texts of a table, each once."""

    def __init__(self) -> None:
        self._ids: dict[str, int] = {}

    def ids(self, texts: Iterable[str]) -> Int32:
        """Returns (n,) int32 ids; NO_ROW for the empty text."""
        return np.array(
            [self._ids.setdefault(text, len(self._ids)) if text else NO_ROW for text in texts], np.int32
        )

    def table(self) -> StringTable:
        return string_table(self._ids)


def _looked_up(names: list[str]) -> tuple[list[str], Uint8]:
    """Returns short name and category of each, working on each name once."""
    once = list(dict.fromkeys(names))
    places = {name: place for place, name in enumerate(once)}
    short, categories = short_names(once), categorize_names(once)
    of_row = [places[name] for name in names]
    return [short[place] for place in of_row], categories[of_row] if names else np.empty(0, np.uint8)


def _from_opcodes(report: Report, launch_row: int) -> Float64 | None:
    metric_row = report.metric_row(launch_row, OPCODES)
    if metric_row == NO_ROW or not report.metrics.instances[metric_row]:
        return None
    return opcode_work(read_instances(report, metric_row))


def _why_unknown(tensor: TensorWork, row: int, name: str) -> str:
    """Returns why tensor work that no counter tells is not 0; "" where nothing says that there is any."""
    instructions, active_pct = float(tensor.instructions[row]), float(tensor.active_pct[row])
    if instructions > 0:
        count = format_count(round(instructions))
        return f"tensor FLOP unknown: the tensor pipe ran {count} instructions"
    if tensor.active[row]:
        share = format_number(active_pct, 3)
        return f"tensor FLOP unknown: the tensor pipe was busy {share}{NO_BREAK_SPACE}% of the time"
    if _TENSOR_NAMES.search(name[:_NAME_LOOKED_AT]):
        return "tensor FLOP unknown: the name says tensor cores, and their work was not collected"
    return ""


def _reason(work: MeasuredWork, row: int, flop: float) -> str:
    """Returns why a launch has no place on the plot, "" where it has one."""
    moved = work.moved_bytes[row]
    is_counted = not np.all(np.isnan(work.flop[row, : len(PRECISIONS)]))
    if work.tensor_unknown[row] and is_counted:
        return work.tensor_unknown[row]
    if np.isnan(flop):
        rate = _dram_rate(work, row)
        return f"FLOP not collected ({rate}): run ncu --set roofline" if rate else NOT_COLLECTED
    if not flop > 0:
        return ", ".join(["no floating-point work", *filter(None, [_dram_rate(work, row)])])
    return _why_no_place(moved, int(work.duration_ns[row]))


def _why_no_place(moved_bytes: Float64, duration_ns: int) -> str:
    """Returns what is missing of a launch that did work."""
    if duration_ns <= 0:
        return "duration not recorded" if duration_ns == MISSING else "duration 0"
    if np.all(np.isnan(moved_bytes)):
        return "bytes not measured"
    return "" if np.any(moved_bytes > 0) else "no bytes moved"


def _dram_rate(work: MeasuredWork, row: int) -> str:
    """Returns what can be said of a launch without work: how fast it moved bytes."""
    duration_ns, moved = int(work.duration_ns[row]), float(work.moved_bytes[row, LEVELS.index("dram")])
    return f"DRAM {format_bytes_per_s(moved / duration_ns * 1e9)}" if moved > 0 and duration_ns > 0 else ""
