"""What kind of work a kernel does, told from its name.

The rules are data: ``resources/kernel_categories.toml``, tried in order, the
first that matches decides. What this module adds is how a rule matches: literal
pieces only, on a bounded part of the name, so that no name can make it slow.
"""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from enum import IntEnum
from functools import cache
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from core.analyses.kernel_names import split_name
from core.files import RESOURCES
from core.tables.columns import NO_ROW
from core.tables.trace import SliceKind

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from core.tables.columns import Uint8
    from core.tables.trace import Trace

RULES_FILE: Final = RESOURCES / "kernel_categories.toml"
_LOOKED_AT: Final = 2048
"""Characters of a name that are looked at: names of kernels say early what they are."""


class Category(IntEnum):
    """Kinds of device work, in the order of their colours."""

    GEMM = 0
    ATTENTION = 1
    CONVOLUTION = 2
    NORMALISATION = 3
    ELEMENTWISE = 4
    REDUCTION = 5
    OPTIMIZER = 6
    EMBEDDING = 7
    COMMUNICATION = 8
    MEMCPY = 9
    MEMSET = 10
    TRITON = 11
    OTHER = 12

    @property
    def title(self) -> str:
        """As tables and legends show it."""
        return "GEMM" if self is Category.GEMM else self.name.capitalize()


@dataclass(frozen=True, slots=True)
class Pattern:
    """Pieces of text that must follow each other in a name.

    Attributes:
        pieces: Lower case, in order; anything may stand between two.
        at_start, at_end: Whether the name must begin with the first or end with the last piece.
        whole_word: Whether the only piece must not touch other letters.
    """

    pieces: tuple[str, ...]
    at_start: bool = False
    at_end: bool = False
    whole_word: bool = False

    def matches(self, text: str) -> bool:
        """Whether it occurs in a text in lower case; linear in the text's length."""
        if self.whole_word:
            return _has_word(text, self.pieces[0])
        first, last = self.pieces[0], self.pieces[-1]
        if (self.at_start and not text.startswith(first)) or (self.at_end and not text.endswith(last)):
            return False
        place = 0
        for piece in self.pieces[:-1]:
            found = text.find(piece, place)
            if found < 0:
                return False
            place = found + len(piece)
        if self.at_start and len(self.pieces) == 1:
            return not self.at_end or text == first
        return len(text) - len(last) >= place if self.at_end else text.find(last, place) >= 0


def _has_word(text: str, word: str) -> bool:
    found = text.find(word)
    while found >= 0:
        end = found + len(word)
        if not text[found - 1 : found].isalpha() and not text[end : end + 1].isalpha():
            return True
        found = text.find(word, end)
    return False


@dataclass(frozen=True, slots=True)
class Patterns:
    """Several patterns; the plain ones apart, as searching for them is the fast path.

    Attributes:
        literals: Text that must occur, in lower case.
        others: All that ask for more.
    """

    literals: tuple[str, ...]
    others: tuple[Pattern, ...]

    def match(self, text: str) -> bool:
        """Whether any of them occurs in a text in lower case."""
        # A plain loop: twice as fast as any() with a generator.
        for literal in self.literals:
            if literal in text:
                return True
        return bool(self.others) and any(pattern.matches(text) for pattern in self.others)


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule of the file.

    Attributes:
        category: What a name that matches is.
        names: Patterns for the scoped name without return type, template arguments and parameters.
        texts: Patterns for the name with its template arguments.
        unless: Patterns for the latter that make the rule not apply.
    """

    category: Category
    names: Patterns
    texts: Patterns
    unless: Patterns

    def matches(self, name: str, text: str) -> bool:
        """Whether it applies to a name, given in both forms in lower case."""
        return (self.names.match(name) or self.texts.match(text)) and not self.unless.match(text)


def parse_pattern(text: str) -> Pattern:
    """Reads a pattern: literal text with ``*`` between pieces, ``^`` start, ``$`` end, or ``~word~``.

    Raises:
        ValueError: It is empty, not in lower case, or marks a word and something else.
    """
    if text.startswith("~") or text.endswith("~"):
        word = text[1:-1]
        if len(text) < 3 or text[0] != text[-1] or "*" in word:
            raise ValueError(f"pattern {text!r} marks no whole word")
        return Pattern((word,), whole_word=True)
    pieces = tuple(text.removeprefix("^").removesuffix("$").split("*"))
    if not all(pieces) or text != text.lower():
        raise ValueError(f"pattern {text!r} has an empty piece or capitals")
    return Pattern(pieces, at_start=text.startswith("^"), at_end=text.endswith("$"))


def _patterns(texts: list[str]) -> Patterns:
    parsed = [parse_pattern(text) for text in texts]
    plain = [p for p in parsed if len(p.pieces) == 1 and not (p.at_start or p.at_end or p.whole_word)]
    return Patterns(tuple(p.pieces[0] for p in plain), tuple(p for p in parsed if p not in plain))


def _rule(entry: dict[str, Any]) -> Rule:
    unknown = entry.keys() - {"category", "names", "texts", "unless", "why"}
    if unknown or not entry.get("why"):
        raise ValueError(f"rule {entry} has unknown keys or says not why")
    return Rule(
        Category[entry["category"].upper()],
        *(_patterns(entry.get(key, [])) for key in ("names", "texts", "unless")),
    )


@cache
def read_rules(path: Path = RULES_FILE) -> tuple[Rule, ...]:
    """Reads the rules, once.

    Raises:
        ValueError: A rule is malformed.
        KeyError: A rule names no category, or one that is none.
    """
    with path.open("rb") as file:
        return tuple(map(_rule, tomllib.load(file)["rule"]))


def categorize_name(full: str) -> Category:
    """Returns what kind of work a kernel of this name does; any text is allowed."""
    looked_at = full[:_LOOKED_AT]
    signature = split_name(looked_at)
    name, text = signature.path.lower(), signature.name.lower()
    if looked_at.startswith("_ZN"):
        text = looked_at.lower()
    for rule in read_rules():
        if rule.matches(name, text):
            return rule.category
    return Category.OTHER


def categorize_names(texts: Iterable[str]) -> Uint8:
    """Returns the category of each name.

    Args:
        texts: Full names; give each name once.

    Returns:
        (n,) uint8, ``Category``.
    """
    return np.fromiter((categorize_name(text) for text in texts), np.uint8)


def categorize(trace: Trace) -> Uint8:
    """Returns the category of all device work of a trace.

    Copies and sets of the driver are what the file calls them, whatever their
    name; a kernel whose name says nothing but which carries the arguments of a
    collective is communication.

    Returns:
        (n,) uint8, ``Category``, a row for each of ``trace.device_work``.
    """
    rows = trace.device_work.slice_row
    ids, of_row = np.unique(trace.slices.name_id[rows], return_inverse=True)
    found: Uint8 = categorize_names(trace.strings[int(each)] for each in ids)[of_row]
    nameless = found >= Category.TRITON
    found[nameless & (trace.device_work.collective_row != NO_ROW)] = Category.COMMUNICATION
    kinds = trace.slices.kind[rows]
    found[kinds == SliceKind.MEMCPY] = Category.MEMCPY
    found[kinds == SliceKind.MEMSET] = Category.MEMSET
    return found
