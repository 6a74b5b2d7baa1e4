"""Metrics that sections compute from others: names, numbers, + - * / and parentheses.

Reports store the results; this is for the few that they leave out.
"""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable

_TOKEN: Final = re.compile(r"\s*(?:(\d+(?:\.\d*)?(?:[eE][+-]?\d+)?)|([A-Za-z_][\w.:]*)|([-+*/()]))")
_MOST_TOKENS: Final = 200
_DEEPEST: Final = 30
_WRAPPERS: Final = frozenset({"simplify"})


class _NoValueError(Exception):
    """An operand was not measured, a divisor is 0, or the text is no expression."""


def evaluate(expression: str, number_of: Callable[[str], float | None]) -> float | None:
    """Evaluates an expression of a section.

    Args:
        expression: "thread_inst_executed / inst_executed".
        number_of: The value of a metric, None where it was not measured.

    Returns:
        None where a part has no value, by division by 0, and for what is no expression.

    Source: Nsight Compute Customization Guide, "Derived Metrics" (2025.1).
    """
    tokens = _tokens(expression)
    if tokens is None:
        return None
    try:
        parser = _Parser(tokens, number_of)
        value = parser.sum(0)
    except (_NoValueError, OverflowError):
        return None
    return value if math.isfinite(value) and parser.is_at_end else None


def _tokens(expression: str) -> list[str] | None:
    tokens: list[str] = []
    place = 0
    text = expression.rstrip()
    while place < len(text) and len(tokens) < _MOST_TOKENS:
        found = _TOKEN.match(text, place)
        if found is None:
            return None
        tokens.append(found[1] or found[2] or found[3])
        place = found.end()
    return tokens if tokens and place == len(text) else None


class _Parser:
    """Reads tokens from the left and computes on the way."""

    def __init__(self, tokens: list[str], number_of: Callable[[str], float | None]) -> None:
        self._tokens = tokens
        self._place = 0
        self._number_of = number_of

    @property
    def is_at_end(self) -> bool:
        return self._place == len(self._tokens)

    def _next(self) -> str:
        return "" if self.is_at_end else self._tokens[self._place]

    def _take(self, expected: str) -> bool:
        taken = self._next() == expected
        self._place += taken
        return taken

    def sum(self, depth: int) -> float:
        value = self._product(depth)
        while self._next() in ("+", "-"):
            sign = -1.0 if self._take("-") else 1.0
            if sign > 0:
                self._take("+")
            value += sign * self._product(depth)
        return value

    def _product(self, depth: int) -> float:
        value = self._term(depth)
        while self._next() in ("*", "/"):
            if self._take("*"):
                value *= self._term(depth)
                continue
            self._take("/")
            divisor = self._term(depth)
            if divisor == 0:
                raise _NoValueError
            value /= divisor
        return value

    def _term(self, depth: int) -> float:
        if depth > _DEEPEST:
            raise _NoValueError
        if self._take("-"):
            return -self._term(depth + 1)
        if self._next() in _WRAPPERS:
            self._place += 1
        if self._take("("):
            value = self.sum(depth + 1)
            if not self._take(")"):
                raise _NoValueError
            return value
        return self._operand()

    def _operand(self) -> float:
        token = self._next()
        self._place += 1
        if token[:1].isdigit():
            return float(token)
        value = self._number_of(token) if token[:1].isalpha() or token[:1] == "_" else None
        if value is None:
            raise _NoValueError
        return value
