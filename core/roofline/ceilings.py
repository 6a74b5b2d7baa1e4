"""What a device can do at most: ceilings of work and of traffic, each with where it comes from.

A data sheet, the counters of a report (at the clock during profiling) and a
measurement on this machine give other figures for the same ceiling. None
replaces another: the plot shows which it draws.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from core.analyses.ncu_roofline import Level
    from core.roofline.points import WorkType


class CeilingOrigin(StrEnum):
    """Where a ceiling comes from."""

    DATA_SHEET = "data sheet"
    PROFILED = "profiled clock"
    MEASURED = "measured here"
    OWN = "own entry"


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkCeiling:
    """The most operations a second of one type.

    Attributes:
        work_type: Of the operations.
        flop_per_s: Dense, unless ``is_sparse``.
        is_sparse: Whether it counts 2:4 sparsity: shown as an extra, never the roof of a kernel.
        origin: Where it comes from.
        source: In words: document and date, or file and clock.
        remark: What to mind, "".
    """

    work_type: WorkType
    flop_per_s: float
    is_sparse: bool = False
    origin: CeilingOrigin
    source: str
    remark: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class TrafficCeiling:
    """The most bytes a second of one level of memory; further fields as in ``WorkCeiling``."""

    level: Level
    bytes_per_s: float
    origin: CeilingOrigin
    source: str
    remark: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ceilings:
    """All ceilings of one device.

    Attributes:
        device: Its name, as reported.
        work: In any order; several of one type differ in origin.
        traffic: The same.
        note: In one sentence, why there are none or what to mind; "".
    """

    device: str
    work: tuple[WorkCeiling, ...] = ()
    traffic: tuple[TrafficCeiling, ...] = ()
    note: str = ""
