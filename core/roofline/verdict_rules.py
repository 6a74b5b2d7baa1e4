"""What the report's own rules advise that our figures do not say already, in our words."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from core.roofline.verdict import VerdictKind
from core.roofline.verdict_limits import EXCESS_PCT
from core.units import format_pct

if TYPE_CHECKING:
    from collections.abc import Iterable

    from core.roofline.verdict import Remedy
    from core.roofline.verdict_gains import Share
    from core.tables.ncu_rules import Rule

_ADVICE: Final = {
    "UncoalescedGlobalAccess": (
        "Let the threads of a warp read and write neighbouring addresses of global memory: "
        "many sectors are moved in vain."
    ),
    "UncoalescedSharedAccess": "Spread accesses to shared memory over its banks: padding, another order.",
    "SharedMemoryConflicts": "Spread accesses to shared memory over its banks: padding, another order.",
    "MemoryCacheAccessPattern": "Use all bytes of the lines that are moved: stride 1, wider loads.",
    "ThreadDivergence": "Let the threads of a warp take the same branches: many are idle.",
    "FPInstructions": "Write multiplications and additions so that they become one instruction (FMA).",
}
_SPEAKS: Final = frozenset({"warning", "error", "optimization"})
_TOTAL_EXCESS: Final = re.compile(r"(\d{1,3}(?:\.\d{1,9})?)% of the total \d+ sectors")
_EXPECTED: Final = re.compile(r"expected (\d{1,18}) sectors, got (\d{1,18})")


def rule_remedies(rules: Iterable[Rule], kind: VerdictKind, share: Share) -> list[Remedy]:
    """Makes remedies of the rules that spoke; the same advice once.

    Args:
        rules: Of one launch.
        kind: The verdict: what is moved in vain costs its share of the time only if memory is the limit.
        share: What the launch is a part of.
    """
    found: dict[str, Remedy] = {}
    for rule in rules:
        advice = _ADVICE.get(rule.identifier)
        texts = [each.text for each in rule.messages if each.kind in _SPEAKS]
        if advice is None or not texts or advice in found:
            continue
        excess = _excess(texts) if rule.identifier == "UncoalescedGlobalAccess" else None
        if excess is not None and 100 * excess < EXCESS_PCT:
            continue
        found[advice] = _remedy(rule, advice, excess, kind, share)
    return list(found.values())


def _remedy(rule: Rule, advice: str, excess: float | None, kind: VerdictKind, share: Share) -> Remedy:
    if rule.speedup_pct is not None and rule.speedup_scope == "global":
        return share.remedy(advice, rule.speedup_pct / 100, f"the report's own estimate ({rule.identifier})")
    if excess is not None:
        in_vain = f"{format_pct(100 * excess, 0)} of its sectors are moved in vain ({rule.identifier})"
        return share.remedy(advice, excess if kind is VerdictKind.MEMORY_BOUND else None, in_vain)
    return share.remedy(
        advice, None, f"the report's rule {rule.identifier} gives no gain of the whole launch"
    )


def _excess(texts: list[str]) -> float | None:
    """Return the part of sectors that are moved in vain, None where the rule does not say."""
    total = next(filter(None, map(_TOTAL_EXCESS.search, texts)), None)
    if total is not None:
        return float(total[1]) / 100
    pairs = [(int(match[1]), int(match[2])) for text in texts if (match := _EXPECTED.search(text))]
    got = sum(each for _, each in pairs)
    return 1 - sum(expected for expected, _ in pairs) / got if got else None
