"""One kernel under the names that a trace and a report give it: what is spelled in two ways becomes one.

A trace holds what the C++ runtime makes of a mangled name, a report what the
vendor's demangler does: constants with or without a cast, ``const`` before or
behind its type, lambdas in braces or brackets, types of parameters spelled out
or as ``T3``. Any text is allowed; all of it is linear in the text's length.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

_LOOKED_AT: Final = 1 << 16
_REPLACED: Final = (
    (re.compile(r"<unnamed>|\(anonymous namespace\)|\{anonymous\}"), "@"),
    (re.compile(r"\[lambda\("), "{lambda("),
    (re.compile(r" ?\(instance (\d{1,9})\)\]"), r"#\1}"),
    # A constant's cast: "(int)4", "(cutlass::arch::CacheOperation::Kind)1".
    (re.compile(r"\([\w:]{1,200}(?: [\w:]{1,200}){0,3}\)(?=-?\d)"), ""),
    (re.compile(r"\btrue\b"), "1"),
    (re.compile(r"\bfalse\b"), "0"),
    (re.compile(r"\b(\d{1,20})(?:ull|ul|ll|u|l)\b", re.IGNORECASE), r"\1"),
    (re.compile(r"\bconst\b|\bvoid (?=[\w@])"), ""),
    (re.compile(r"\s+"), ""),
)
_BARE: Final = re.compile(r"\w+")


@dataclass(frozen=True, slots=True)
class Spelling:
    """A name in three forms, from the strict to the loose.

    Attributes:
        strict: Without what is only another way to write the same.
        loose: Without any parameters too, whose types a report does not always spell out.
        bare: The function's own name, without scope, template arguments and parameters.
    """

    strict: str
    loose: str
    bare: str


def spell(name: str) -> Spelling:
    """Returns the forms of a name."""
    text = name[:_LOOKED_AT]
    for pattern, replacement in _REPLACED:
        text = pattern.sub(replacement, text)
    loose = _without_parameters(text)
    return Spelling(text, loose, _last_part(loose))


def _without_parameters(text: str) -> str:
    """Leave out all that stands in round brackets; one that does not close takes the rest with it."""
    kept = []
    depth = 0
    for mark in text:
        if mark == "(":
            depth += 1
        elif mark == ")":
            depth = max(0, depth - 1)
        elif not depth:
            kept.append(mark)
    return "".join(kept)


def _last_part(text: str) -> str:
    """Return what follows the last scope outside template arguments, without its own."""
    begin, end, depth = 0, len(text), 0
    for place, mark in enumerate(text):
        if mark == "<":
            if not depth:
                end = place
            depth += 1
        elif mark == ">":
            depth = max(0, depth - 1)
        elif mark == ":" and not depth:
            begin, end = place + 1, len(text)
    return text[begin:end]


def same_kernels(names: Sequence[str], others: Iterable[str]) -> list[tuple[str, ...]]:
    """Finds, for each name, which of other names mean the same kernel.

    A looser form counts only where nothing stricter matches and it stands for one kernel on either side:
    two instances of a template that differ where a form does not look are never taken for each other.

    Args:
        names: Each once.
        others: Each once.

    Returns:
        For each name the matching ones of ``others``; empty where none does, or where it cannot be told.
    """
    mine, theirs = [spell(name) for name in names], {other: spell(other) for other in others}
    strict: dict[str, list[str]] = {}
    loose: dict[str, list[str]] = {}
    bare: dict[str, list[str]] = {}
    for other, form in theirs.items():
        strict.setdefault(form.strict, []).append(other)
        loose.setdefault(form.loose, []).append(other)
        # Only a name that says no more may be matched by so little.
        if _BARE.fullmatch(form.strict):
            bare.setdefault(form.bare, []).append(other)
    my_loose, my_bare = _counted(mine)
    found: list[tuple[str, ...]] = []
    for form in mine:
        by_loose = loose.get(form.loose, [])
        is_one = len(my_loose[form.loose]) == 1 and len({theirs[each].strict for each in by_loose}) == 1
        if form.strict in strict:
            found.append(tuple(strict[form.strict]))
        elif by_loose and is_one:
            found.append(tuple(by_loose))
        elif not by_loose and len(my_bare[form.bare]) == 1:
            found.append(tuple(bare.get(form.bare, ())))
        else:
            found.append(())
    return found


def _counted(forms: Iterable[Spelling]) -> tuple[dict[str, set[str]], dict[str, set[str]]]:
    """Return which strict forms stand behind each loose and each bare one."""
    loose: dict[str, set[str]] = {}
    bare: dict[str, set[str]] = {}
    for form in forms:
        loose.setdefault(form.loose, set()).add(form.strict)
        bare.setdefault(form.bare, set()).add(form.strict)
    return loose, bare
