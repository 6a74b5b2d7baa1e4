"""Work of tensor cores: from the counters that count their operations, else from instructions.

Counters of operations (2025.1 and later) come by type of the inputs, and beside
the total of a type also by instruction, output and sparsity: what stands in a
total is not added again. Older reports count instructions only. On Volta, where
one instruction does 512 operations whatever its kind, the count of the pipe is
enough; later, the opcode says what one does, and only where it is one of those
whose shape is known. What is left is not known, and that is said: it is never 0.

Source: roofline sections of Nsight Compute 2020.2 to 2026.2; PTX ISA 8.7, "Matrix
shape", for what the shapes in opcodes mean.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Final, Literal, NamedTuple

import numpy as np

from core.analyses.ncu_counters import either
from core.tables.ncu_terms import SM_CYCLES_PER_S

if TYPE_CHECKING:
    from core.analyses.ncu_counters import Counters
    from core.tables.columns import Bool, Float64
    from core.tables.ncu import Instances

TensorType = Literal["fp64", "tf32", "fp16", "bf16", "fp8", "fp4", "int8", "other"]
"""Type of the inputs; "other" also where a counter does not tell several types apart."""

TENSOR_TYPES: Final[tuple[TensorType, ...]] = (
    "fp64",
    "tf32",
    "fp16",
    "bf16",
    "fp8",
    "fp4",
    "int8",
    "other",
)

OPCODES: Final = "sass__inst_executed_per_opcode_with_modifier_selective"
"""The metric whose values by instance are warp-level instructions by opcode."""

_OPERATIONS: Final = re.compile(
    r"sm__ops_path_tensor(?:_op_(?P<op>[a-z0-9]+))?_src_(?P<src>[a-z]+\d+(?:_[a-z]+\d+)*?)"
    r"(?:_dst_(?P<dst>[a-z]+\d+))?(?:_sparsity_(?P<sparsity>on|off))?"
)
_TYPES: Final[dict[str, TensorType]] = {
    "fp64": "fp64",
    "tf32": "tf32",
    "fp16": "fp16",
    "bf16": "bf16",
    "fp8": "fp8",
    "fp4": "fp4",
    "int8": "int8",
    # Turing has no other type of the three; Blackwell runs all of "f8f6f4" at the rate of FP8.
    "fp16_bf16_tf32": "fp16",
    "fp4_fp6_fp8": "fp8",
}
_NEVER_SPARSE: Final = ("fp64", "int1")
_FIRST_SPARSE: Final = 80
_USUAL_TYPES: Final[tuple[TensorType, ...]] = ("fp16", "bf16", "tf32", "int8")
"""What all tensor cores have done since Ampere; before, FP16 alone is usual."""
_VOLTA: Final = (70, 72)
_VOLTA_OPERATIONS: Final = 512
_PIPE_INSTRUCTIONS: Final = ("sm__inst_executed_pipe_tensor", "smsp__inst_executed_pipe_tensor")
_PIPE_ACTIVE_PCT: Final = re.compile(
    r"sm__(?:inst_executed_)?pipe_tensor(?P<kind>_op_\w+?|_type_\w+?)?(?:_cycles_active)?"
    r"\.avg\.pct_of_peak_sustained_(?:active|elapsed)"
)
_MOVES_PCT: Final = 1.0
"""HFMA2.MMA, which compilers use to set registers, keeps the pipe a little busy."""

_MOST_COUNTED: Final = 2.0**64

# M, N and K of the instructions whose opcode spells them; a matrix product is 2 x M x N x K operations.
_SHAPES: Final = {
    "884": (8, 8, 4),
    "1684": (16, 8, 4),
    "1688": (16, 8, 8),
    "16816": (16, 8, 16),
    "16832": (16, 8, 32),
    "16864": (16, 8, 64),
    "8816": (8, 8, 16),
    "8832": (8, 8, 32),
    "88128": (8, 8, 128),
    "168128": (16, 8, 128),
    "168256": (16, 8, 256),
}


class TensorWork(NamedTuple):
    """Operations of tensor cores by ``TENSOR_TYPES``: (n, types) float64, NaN where not known.

    Attributes:
        flop: How many.
        counted: (n,) bool, whether ``flop`` holds all of it.
        estimated: (n,) bool, whether it comes from instructions.
        active, idle: (n,) bool, whether counters of the pipe say that it was, or was not, in use; neither
            where they were not collected, or tell so little that it may be moves.
        instructions: (n,) float64, of the pipe, NaN where not counted.
        active_pct: (n,) float64, share of the time that the pipe was busy; NaN where not measured.
    """

    flop: Float64
    counted: Bool
    estimated: Bool
    active: Bool
    idle: Bool
    instructions: Float64
    active_pct: Float64


@dataclass(frozen=True, slots=True)
class _Counter:
    """One counter of operations: the parts of its name; "" for all of a kind."""

    base: str
    type: TensorType
    source: str
    op: str
    dst: str
    sparsity: str

    @property
    def _parts(self) -> tuple[str, str, str]:
        return self.op, self.dst, self.sparsity

    @property
    def detail(self) -> int:
        """How many parts narrow it down."""
        return sum(map(bool, self._parts))

    def is_apart_from(self, other: _Counter) -> bool:
        """Tells whether no operation counts in both."""
        if self.source != other.source:
            return True
        return any(
            mine and theirs and mine != theirs for mine, theirs in zip(self._parts, other._parts, strict=True)
        )


def tensor_work(counters: Counters) -> TensorWork:
    """Counts the operations of tensor cores as far as counters tell; opcodes come after it."""
    columns = [_counted(counters, data_type) for data_type in TENSOR_TYPES]
    flop = np.stack(columns, axis=1) if len(counters) else np.empty((0, len(TENSOR_TYPES)))
    instructions, active_pct = _instructions(counters), _active_pct(counters)
    active = (instructions > 0) | (active_pct >= _MOVES_PCT)
    idle = ~(instructions > 0) & ~(active_pct > 0) & ~(np.isnan(instructions) & np.isnan(active_pct))
    capability = counters.compute_capability
    counted = ~np.all(np.isnan(flop), axis=1) & ~(active & _lacks_types(flop, capability))
    by_pipe = ~counted & np.isin(capability, _VOLTA) & ~np.isnan(instructions)
    fp16 = TENSOR_TYPES.index("fp16")
    flop[by_pipe, fp16] = instructions[by_pipe] * _VOLTA_OPERATIONS
    return TensorWork(flop, counted | by_pipe, by_pipe, active, idle, instructions, active_pct)


def _lacks_types(flop: Float64, capability: Float64) -> Bool:
    """Tells where no work was counted, but not of every usual type: (n,) bool.

    Who collects the counter of one type learns nothing of a kernel that works in another.
    """
    missing = np.isnan(flop)
    first: Bool = missing[:, TENSOR_TYPES.index("fp16")]
    usual: Bool = np.any(missing[:, [TENSOR_TYPES.index(kind) for kind in _USUAL_TYPES]], axis=1)
    nothing: Bool = np.nansum(flop, axis=1) == 0
    return nothing & (first | (usual & ~(capability < _FIRST_SPARSE)))


def opcode_work(opcodes: Instances) -> Float64 | None:
    """Estimates the operations of tensor cores from instructions by opcode.

    Returns:
        (types,) float64 by ``TENSOR_TYPES``, all 0 where no such instruction ran; None where one ran
        whose shape its opcode does not tell, or there are no opcodes.
    """
    if not opcodes.key_texts:
        return None
    flop = np.zeros(len(TENSOR_TYPES))
    for text, count in zip(opcodes.key_texts, opcodes.number.tolist(), strict=True):
        name, *modifiers = text.split(".")
        if not name.endswith("MMA") or not count:
            continue
        shape = _shape(modifiers) if 0 < count < _MOST_COUNTED else None
        if shape is None or name not in ("HMMA", "IMMA", "BMMA", "DMMA") or "SP" in modifiers:
            return None
        rows, columns, depth = shape
        flop[TENSOR_TYPES.index(_type(name, modifiers))] += 2 * rows * columns * depth * count
    return flop


def tensor_peaks(counters: Counters) -> list[tuple[TensorType, bool, Float64]]:
    """Returns the most operations a second at the clock during profiling.

    Returns:
        Type, whether it is the peak with 2:4 sparsity, and (n,) float64, of each that was measured.
    """
    found: dict[tuple[TensorType, bool], Float64] = {}
    clock = counters.number(SM_CYCLES_PER_S)
    for counter in _counters_of(counters.names):
        peak = counters.number(f"{counter.base}.sum.peak_sustained") * clock
        before_sparse = counters.compute_capability < _FIRST_SPARSE
        never = counter.sparsity == "off" or counter.source in _NEVER_SPARSE
        # The peak of a total is that of the faster way: with sparsity, where the device has it.
        dense = np.where(before_sparse | never, peak, np.nan)
        for is_sparse, column in ((False, dense), (True, np.where(np.isnan(dense), peak, np.nan))):
            key = (counter.type, is_sparse)
            found[key] = np.fmax(found[key], column) if key in found else column
    return [(*key, column) for key, column in found.items() if not np.all(np.isnan(column))]


def _counted(counters: Counters, data_type: TensorType) -> Float64:
    """Adds up counters that have nothing in common, those of whole types first."""
    total = counters.nothing()
    taken: list[tuple[_Counter, Bool]] = []
    for counter in _counters_of(counters.names):
        if counter.type != data_type:
            continue
        value = _operations(counters, counter.base)
        usable = ~np.isnan(value)
        for other, used in taken:
            if not counter.is_apart_from(other):
                usable &= ~used
        total[usable] = np.nan_to_num(total[usable]) + value[usable]
        taken.append((counter, usable))
    return total


def _operations(counters: Counters, base: str) -> Float64:
    per_s = either(
        counters.number(f"{base}.sum.per_second"),
        counters.number(f"{base}.sum.per_cycle_elapsed") * counters.number(SM_CYCLES_PER_S),
    )
    return either(counters.number(f"{base}.sum"), per_s * counters.duration_s)


@lru_cache(maxsize=8)
def _counters_of(names: tuple[str, ...]) -> tuple[_Counter, ...]:
    """Finds the counters of operations among the metrics of a report, totals before their parts."""
    found: dict[str, _Counter] = {}
    for name in names:
        base = name.partition(".")[0]
        match = _OPERATIONS.fullmatch(base)
        if match is not None and base not in found:
            source = match["src"]
            parts = (match["op"] or "", match["dst"] or "", match["sparsity"] or "")
            found[base] = _Counter(base, _TYPES.get(source, "other"), source, *parts)
    return tuple(sorted(found.values(), key=lambda counter: counter.detail))


def _instructions(counters: Counters) -> Float64:
    return counters.first(*((1.0, f"{name}.sum") for name in _PIPE_INSTRUCTIONS))


def _active_pct(counters: Counters) -> Float64:
    """Returns the largest share that counters of kinds of instructions tell, else that of the whole pipe."""
    of_kinds, of_pipe = counters.nothing(), counters.nothing()
    for name, is_kind in _activity_of(counters.names):
        if is_kind:
            of_kinds = np.fmax(of_kinds, counters.number(name))
        else:
            of_pipe = np.fmax(of_pipe, counters.number(name))
    return either(of_kinds, of_pipe)


@lru_cache(maxsize=8)
def _activity_of(names: tuple[str, ...]) -> tuple[tuple[str, bool], ...]:
    """Returns counters of how busy the pipe was, and whether each is of one kind of instructions."""
    matches = ((name, _PIPE_ACTIVE_PCT.fullmatch(name)) for name in names)
    return tuple((name, match["kind"] is not None) for name, match in matches if match is not None)


def _shape(modifiers: list[str]) -> tuple[int, int, int] | None:
    return next((_SHAPES.get(each) for each in modifiers if each.isdecimal()), None)


def _type(name: str, modifiers: list[str]) -> TensorType:
    if name == "DMMA":
        return "fp64"
    if name == "HMMA":
        return "bf16" if "BF16" in modifiers else "tf32" if "TF32" in modifiers else "fp16"
    kinds = [each for each in modifiers if not each.isdecimal()]
    is_bytes = name == "IMMA" and any(each in ("S8", "U8") for each in kinds)
    return "int8" if is_bytes else "other"
