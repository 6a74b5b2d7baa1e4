"""A verdict for every kernel, with its evidence: the way in, for reports and for traces."""

from __future__ import annotations

from core.roofline.verdict import Confidence, Evidence, Remedy, Verdict, VerdictKind

__all__ = ["Confidence", "Evidence", "Remedy", "Verdict", "VerdictKind"]
