"""How much a remedy saves at most: of a kernel, and by Amdahl of what the kernel is a part of."""

from __future__ import annotations

from dataclasses import dataclass

from core.roofline.verdict import Remedy
from core.roofline.verdict_limits import LEAST_GAIN_PCT
from core.units import format_pct


@dataclass(frozen=True, slots=True, kw_only=True)
class Share:
    """What a kernel is a part of.

    Attributes:
        part: Its time as a part of the whole, 0 to 1; None where a time is not known.
        what: The kernel in words: "the launch", "the kernel"; "" where a basis need not say it.
        whole: The whole in words: "the report's kernel time", "the steps' time".
    """

    part: float | None
    what: str
    whole: str

    def remedy(self, text: str, saved: float | None, how: str) -> Remedy:
        """Makes a remedy.

        Args:
            text: What to do.
            saved: Part of the kernel's own time that it saves at most, None where nothing bounds it.
            how: From what ``saved`` follows.
        """
        if saved is None or self.part is None:
            return Remedy(text=text, gain_pct=None, basis=how)
        gain_pct = 100 * min(max(saved, 0.0), 1.0) * min(self.part, 1.0)
        of = f"; {self.what} is {part_words(self.part, self.whole)}" if self.what else ""
        return Remedy(text=text, gain_pct=gain_pct, basis=f"{how}{of}", whole=self.whole)


def part_words(part: float, whole: str) -> str:
    """Says which part of a whole something is: "25.0 % of the report's kernel time"."""
    return f"{format_pct(100 * part)} of {whole}"


def in_order(remedies: list[Remedy]) -> tuple[Remedy, ...]:
    """Returns the remedies that are worth a word: the largest gain first, those without a bound last."""
    worth = [each for each in remedies if each.gain_pct is None or each.gain_pct >= LEAST_GAIN_PCT]
    return tuple(sorted(worth, key=lambda each: (each.gain_pct is None, -(each.gain_pct or 0.0))))
