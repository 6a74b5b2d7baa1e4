"""What the counters of one launch say that a verdict can rest on. What was not measured is None, never 0.

The busiest parts come from the breakdowns that reports carry: which of its
counters a throughput is the maximum of.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from core.analyses.ncu_counters import MOST_COUNTED
from core.roofline.verdict_limits import FULL_WAVES, LEANING_BY_PCT, LEANING_PCT
from core.tables.columns import MISSING, NO_ROW
from core.tables.ncu_terms import (
    DRAM_BYTES,
    DRAM_BYTES_PER_S,
    DRAM_READ_BYTES,
    DRAM_WRITTEN_BYTES,
    GRID_SIZE,
    MEMORY_PCT,
    SM_PCT,
)

if TYPE_CHECKING:
    from core.analyses.categories import Category
    from core.roofline.verdict_standing import Standing
    from core.tables.ncu import Report

# Beginnings of counters, the longer ones first, and the part of the device that they count.
# Source: "Metrics Decoder" of the Kernel Profiling Guide of Nsight Compute 2025.1.
_PARTS: Final = (
    ("sm__pipe_tensor", "tensor cores"),
    ("sm__pipe_fp64", "FP64 pipe"),
    ("sm__pipe_shared", "FP64 and tensor pipe"),
    ("sm__pipe_fma", "FMA pipe"),
    ("sm__pipe_alu", "ALU pipe"),
    ("sm__inst_executed_pipe_fp16", "FP16 pipe"),
    ("sm__inst_executed_pipe_xu", "pipe of special functions"),
    ("sm__inst_executed_pipe_lsu", "load and store unit"),
    ("sm__inst_executed_pipe_tex", "texture unit"),
    ("sm__pipe_tma", "TMA"),
    ("sm__mio", "queue of memory instructions"),
    ("sm__inst_executed_pipe", "other pipes"),
    ("sm__inst_executed", "instruction issue"),
    ("sm__issue_active", "instruction issue"),
    ("idc__", "constant cache"),
    ("dram__", "DRAM"),
    ("fbpa__", "DRAM"),
    ("gpu__dram", "DRAM"),
    ("syslts__", "L2"),
    ("lts__", "L2"),
    ("l1tex__", "L1"),
)
_OF_MEMORY: Final = frozenset(
    {"load and store unit", "texture unit", "TMA", "queue of memory instructions", "DRAM", "L2", "L1"}
)
_CLOSE_TO_CORE: Final = _OF_MEMORY - {"DRAM", "L2"}
# Among equals the one that always holds goes first: of what is not used, the limit is that of blocks.
_LIMITERS: Final = ("blocks", "warps", "barriers", "registers", "shared_mem")
_STALL_BEGIN: Final = "smsp__average_warps_issue_stalled_"
_STALL_END: Final = "_per_issue_active.ratio"
_LATENCY: Final = "smsp__average_warp_latency_per_inst_issued.ratio"
_NO_STALLS: Final = frozenset({"selected", "not_selected"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """A part of the device and how busy it was."""

    name: str
    pct: float

    @property
    def is_memory(self) -> bool:
        """Whether it moves data rather than computes."""
        return self.name in _OF_MEMORY


@dataclass(frozen=True, slots=True, kw_only=True)
class Stall:
    """A reason for which warps waited: its name in the counters, and its share of the time between issues."""

    reason: str
    share_pct: float


@dataclass(frozen=True, slots=True, kw_only=True)
class LaunchFacts:
    """One launch; None where it was not measured.

    Attributes:
        name: Full name.
        category: What kind of work the name tells.
        duration_ns: Of the launch.
        part_of_report: Its duration over that of all launches of the report, 0 to 1.
        sm_pct, memory_pct: The two throughputs, of what the device sustains at most.
        sm_parts, memory_parts: What they are the maximum of, the busiest first.
        blocks, sm_count: Size of the launch and of the device.
        waves: How often the blocks fill all SMs.
        registers_per_thread, block_threads: As launched.
        occupancy_pct, theoretical_occupancy_pct: Warps that were, and could have been, on an SM.
        limiters: What limits the theoretical one, and to how many blocks of an SM.
        stalls: The longest first, each above 0.
        standing: Its place on the roofline.
        dram_bytes: Moved through DRAM.
        device: Its name.
    """

    name: str
    category: Category
    duration_ns: int | None
    part_of_report: float | None
    sm_pct: float | None
    memory_pct: float | None
    sm_parts: tuple[Part, ...]
    memory_parts: tuple[Part, ...]
    blocks: int | None
    sm_count: int | None
    waves: float | None
    registers_per_thread: int | None
    block_threads: int | None
    occupancy_pct: float | None
    theoretical_occupancy_pct: float | None
    limiters: tuple[tuple[str, int], ...]
    stalls: tuple[Stall, ...]
    standing: Standing
    dram_bytes: float | None
    device: str | None

    @property
    def nearest_pct(self) -> float | None:
        """How near it is to its nearest roof; None unless both throughputs are known."""
        if self.sm_pct is None or self.memory_pct is None:
            return None
        return max(self.sm_pct, self.memory_pct)

    @property
    def to_roof(self) -> float | None:
        """Part of its time that lies between it and the nearest roof."""
        nearest_pct = self.nearest_pct
        return None if nearest_pct is None else 1 - nearest_pct / 100

    @property
    def is_underfilled(self) -> bool:
        """Whether some SMs get no block; False where that is not known."""
        if self.blocks is not None and self.sm_count is not None and self.blocks < self.sm_count:
            return True
        return self.waves is not None and self.waves < FULL_WAVES

    @property
    def idle_of_wave(self) -> float | None:
        """Part of the places for blocks that stay empty, None unless the launch is smaller than a wave."""
        if not self.is_underfilled:
            return None
        if self.waves is not None:
            return max(0.0, 1 - self.waves)
        return 1 - self.blocks / self.sm_count if self.blocks is not None and self.sm_count else None

    @property
    def leans_to_memory(self) -> bool:
        """Whether memory is well the nearer of two roofs that it is not near to."""
        return _leans(self.memory_pct, self.sm_pct)

    @property
    def leans_to_compute(self) -> bool:
        """The same of the SMs."""
        return _leans(self.sm_pct, self.memory_pct)

    @property
    def busiest_memory(self) -> Part | None:
        """What of the memory works most."""
        return self.memory_parts[0] if self.memory_parts else None

    @property
    def busiest_sm(self) -> Part | None:
        """What of the SMs works most."""
        return self.sm_parts[0] if self.sm_parts else None

    @property
    def computing_pct(self) -> float | None:
        """How much the parts of the SMs work that do not move data."""
        return next((part.pct for part in self.sm_parts if not part.is_memory), None)

    @property
    def beyond_l1_pct(self) -> float | None:
        """How much the busiest part works that is neither L1 nor on the way to it."""
        others = [each.pct for each in self.sm_parts + self.memory_parts if each.name not in _CLOSE_TO_CORE]
        return max(others) if others and self.memory_parts else None


def launch_facts(
    report: Report, launch_row: int, category: Category, standing: Standing, report_ns: int
) -> LaunchFacts:
    """Gathers what was measured of a launch.

    Args:
        report: Its report.
        launch_row: Row of ``LaunchTable``.
        category: What kind of work its name tells.
        standing: Its place on the roofline.
        report_ns: Duration of all launches of the report.
    """
    numbers = _Numbers(report, launch_row)
    launches = report.launches
    name = report.strings[int(launches.name_id[launch_row])]
    device = report.device_of(launch_row)
    duration_ns = int(launches.duration_ns[launch_row])
    return LaunchFacts(
        name=name,
        category=category,
        duration_ns=None if duration_ns == MISSING else duration_ns,
        part_of_report=duration_ns / report_ns if duration_ns != MISSING and report_ns > 0 else None,
        sm_pct=numbers.number(SM_PCT),
        memory_pct=numbers.number(MEMORY_PCT),
        sm_parts=_parts(numbers, SM_PCT),
        memory_parts=_parts(numbers, MEMORY_PCT),
        blocks=_blocks(numbers, launches.grid[launch_row].tolist()),
        sm_count=numbers.count("launch__sm_count") or (device.sm_count if device else None),
        waves=numbers.number("launch__waves_per_multiprocessor"),
        registers_per_thread=numbers.count("launch__registers_per_thread"),
        block_threads=numbers.count("launch__block_size"),
        occupancy_pct=numbers.number("sm__warps_active.avg.pct_of_peak_sustained_active"),
        theoretical_occupancy_pct=numbers.number("sm__maximum_warps_per_active_cycle_pct"),
        limiters=_limiters(numbers),
        stalls=_stalls(numbers),
        standing=standing,
        dram_bytes=_dram_bytes(numbers, duration_ns),
        device=device.name if device else None,
    )


def _leans(pct: float | None, other_pct: float | None) -> bool:
    if pct is None or other_pct is None:
        return False
    return pct >= LEANING_PCT and pct - other_pct >= LEANING_BY_PCT


class _Numbers:
    """Numbers of one launch by name."""

    def __init__(self, report: Report, launch_row: int) -> None:
        self._report = report
        self._rows = report.metrics.rows_of(launch_row)
        self._ids = report.metrics.name_id[self._rows.start : self._rows.stop]

    def text(self, name: str) -> str | None:
        place = self._place(name)
        text_id = NO_ROW if place is None else int(self._report.metrics.text_id[place])
        return None if text_id == NO_ROW else self._report.strings[text_id]

    def number(self, name: str) -> float | None:
        place = self._place(name)
        value = math.nan if place is None else float(self._report.metrics.number[place])
        return value if abs(value) <= MOST_COUNTED else None

    def _place(self, name: str) -> int | None:
        name_id = self._report.metric_names.find(name)
        place = int(np.searchsorted(self._ids, np.int32(name_id)))
        is_there = name_id != NO_ROW and place < len(self._ids) and self._ids[place] == name_id
        return self._rows.start + place if is_there else None

    def count(self, name: str) -> int | None:
        value = self.number(name)
        return None if value is None else int(value)

    def names(self, begin: str, end: str) -> list[str]:
        """Return the metrics of the launch whose names begin and end so."""
        texts = self._report.metric_names.texts
        found = (texts[each] for each in self._ids.tolist())
        return [text for text in found if text.startswith(begin) and text.endswith(end)]


def _parts(numbers: _Numbers, throughput: str) -> tuple[Part, ...]:
    """Return the parts that a throughput is the maximum of, each once, the busiest first."""
    listed = numbers.text(f"breakdown:{throughput}")
    if listed is None:
        return ()
    found: dict[str, float] = {}
    for counter in listed.split(","):
        name = next((words for begin, words in _PARTS if counter.startswith(begin)), None)
        pct = numbers.number(counter)
        if name is not None and pct is not None:
            found[name] = max(pct, found.get(name, pct))
    # Among equals the one that does the work goes before the issue of its instructions.
    in_turn = sorted(found.items(), key=lambda each: (-each[1], each[0] == "instruction issue"))
    return tuple(Part(name=name, pct=pct) for name, pct in in_turn)


def _blocks(numbers: _Numbers, grid: list[int]) -> int | None:
    counted = numbers.count(GRID_SIZE)
    if counted is not None or MISSING in grid:
        return counted
    return math.prod(grid)


def _limiters(numbers: _Numbers) -> tuple[tuple[str, int], ...]:
    limits = {name: numbers.count(f"launch__occupancy_limit_{name}") for name in _LIMITERS}
    known = {name: blocks for name, blocks in limits.items() if blocks is not None}
    least = min(known.values(), default=None)
    return tuple((name, blocks) for name, blocks in known.items() if blocks == least)


def _stalls(numbers: _Numbers) -> tuple[Stall, ...]:
    reasons = {
        name.removeprefix(_STALL_BEGIN).removesuffix(_STALL_END): numbers.number(name) or 0.0
        for name in numbers.names(_STALL_BEGIN, _STALL_END)
    }
    total = numbers.number(_LATENCY) or sum(reasons.values())
    waits = {reason: ratio for reason, ratio in reasons.items() if reason not in _NO_STALLS and ratio > 0}
    in_turn = sorted(waits.items(), key=lambda each: -each[1])
    return tuple(Stall(reason=reason, share_pct=100 * ratio / total) for reason, ratio in in_turn if total)


def _dram_bytes(numbers: _Numbers, duration_ns: int) -> float | None:
    counted = numbers.number(DRAM_BYTES)
    if counted is not None:
        return counted
    read, written = numbers.number(DRAM_READ_BYTES), numbers.number(DRAM_WRITTEN_BYTES)
    if read is not None and written is not None:
        return read + written
    rate = numbers.number(DRAM_BYTES_PER_S)
    return None if rate is None or duration_ns == MISSING else rate * duration_ns / 1e9
