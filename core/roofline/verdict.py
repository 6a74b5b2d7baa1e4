"""What a verdict on a kernel is made of: its kind, its evidence, what would help and by how much at most."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Literal

Confidence = Literal["measured", "estimated", "modelled"]
"""Of counters; of counters by what an instruction does or of launch facts alone; of operators' shapes."""


class VerdictKind(StrEnum):
    """What holds a kernel back."""

    MEMORY_BOUND = "memory-bound"
    COMPUTE_BOUND = "compute-bound"
    BALANCED = "balanced"
    """Both are near what the device can do."""
    LATENCY_BOUND = "latency-bound"
    """Neither is: it waits, or does not fill the device."""
    COMMUNICATION = "communication"
    UNKNOWN = "unknown"
    """What it takes to tell was not collected; the words say how to collect it."""

    @property
    def word(self) -> str:
        """As columns and lists show it: "Memory-bound"; "" of an unknown one."""
        return "" if self is VerdictKind.UNKNOWN else self.value.capitalize()


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """One figure that a verdict rests on.

    Attributes:
        label: What it is: "SM throughput".
        value: None is not measured.
        unit: As in ``core.tables.result.Unit``: "pct", "ns", "bytes_per_s", "flop_per_s", "flop_per_byte",
            "count", "" for a text or a bare number.
        against: What it is held against, in words: "compute-bound above 75 %"; "" for nothing.
    """

    label: str
    value: float | int | str | None
    unit: str = ""
    against: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Remedy:
    """Something that would help this kernel.

    Attributes:
        text: What to do, in one or two sentences.
        gain_pct: At most so much of the step's time is saved, or, without a step, of the summed time of
            all kernels (Amdahl); None where the evidence carries no bound.
        basis: From what the bound is computed.
        whole: What ``gain_pct`` is a part of, in words: "the report's kernel time"; "" without a bound.
    """

    text: str
    gain_pct: float | None
    basis: str
    whole: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """What holds a kernel back, how that is known, and what would help.

    Attributes:
        kind: The verdict.
        words: It in one or two sentences.
        confidence: How the evidence is known.
        evidence: In the order of weight; never empty unless ``kind`` is unknown.
        remedies: The largest gain first; those without a bound last.
    """

    kind: VerdictKind
    words: str
    confidence: Confidence
    evidence: tuple[Evidence, ...]
    remedies: tuple[Remedy, ...] = ()
