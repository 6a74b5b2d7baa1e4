"""Words of a verdict: its kind as a state, and its evidence as texts. No widgets."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from core.units import (
    NOT_MEASURED,
    format_bytes_per_s,
    format_count,
    format_duration_ns,
    format_flop_per_s,
    format_number,
    format_pct,
)
from gui.plain_text import visible_text
from gui.widgets.evidence import EvidenceRow

if TYPE_CHECKING:
    from collections.abc import Callable

    from core.roofline.verdict import Evidence, Verdict

LEVELS: Final = {
    "memory-bound": "info",
    "compute-bound": "ok",
    "balanced": "ok",
    "latency-bound": "warn",
    "communication": "info",
    "unknown": "none",
}
ICONS: Final = {"latency-bound": "warning", "unknown": "question", "compute-bound": "check-circle"}
_FORMATS: Final[dict[str, Callable[[float], str]]] = {
    "pct": format_pct,
    "ns": format_duration_ns,
    "bytes_per_s": format_bytes_per_s,
    "flop_per_s": format_flop_per_s,
}


def evidence_rows(verdict: Verdict) -> tuple[EvidenceRow, ...]:
    """What a verdict rests on."""
    return tuple(
        EvidenceRow(visible_text(each.label), evidence_text(each), visible_text(each.against))
        for each in verdict.evidence
    )


def evidence_text(evidence: Evidence) -> str:
    """One figure with its unit."""
    return figure_text(evidence.value, evidence.unit)


def figure_text(value: float | str | None, unit: str) -> str:
    """A figure with its unit, as in ``core.tables.result.Unit``."""
    if value is None or isinstance(value, str):
        return visible_text(value) if isinstance(value, str) else NOT_MEASURED
    scaled = _FORMATS.get(unit)
    if scaled is not None:
        return scaled(value)
    if unit == "count" and float(value).is_integer():
        return format_count(int(value))
    text = format_number(value, 4)
    return f"{text} FLOP/B" if unit == "flop_per_byte" else text
