"""What IREE's programs print where they fail, in one sentence. Pure."""

from __future__ import annotations

import re
from typing import Final

_ERROR: Final = re.compile(r"^(?:\S+:\d+(?::\d+)?: )?error: (?P<words>.+)$", re.MULTILINE)
_FOLLOWS: Final = re.compile(r"failed to (run translation|serialize|translate|compile) ")
"""Errors that say that there was one before; which one is printed first is left to chance."""
_IR: Final = re.compile(r"( that was explicitly marked illegal)?: %\d+.*")
_OPERATOR: Final = re.compile(r'torch\.operator "onnx\.([A-Za-z0-9_.]+)"|\b(torch\.aten\.[a-z0-9_]+)')
_EXCEPTION: Final = re.compile(r"^(?:[\w.]+\.)?(\w*(?:Error|Exception)): (.+)$", re.MULTILINE)
_SOURCE_PLACE: Final = re.compile(r"^(?:Error \w+ \w+: )?c/runtime/src/\S+:\d+: ")
_MOST_CHARACTERS: Final = 300


def compiler_words(code: int, errors: str) -> str:
    """The first error that the compiler names, and the operator it stands at.

    Args:
        code: Its exit code.
        errors: What it wrote to stderr.
    """
    found = list(_ERROR.finditer(errors))
    if not found:
        if code < 0:
            return f"iree-compile was ended by signal {-code}"
        return _last_line(errors) or f"iree-compile ended with exit code {code} and said nothing"
    first = next((each for each in found if not _FOLLOWS.match(each["words"])), found[0])
    # The line of the graph stands below the error.
    below = ["".join(errors[each.end() :].splitlines(keepends=True)[1:2]) for each in (first, *found)]
    operators = [operator for line in below if (operator := _OPERATOR.search(line))]
    words = _short(_IR.sub("", first["words"]).rstrip(". "))
    return f"{words} (at {operators[0][1] or operators[0][2]})" if operators else words


def importer_words(code: int, errors: str) -> str:
    """What the importer of ONNX graphs says: an error of MLIR, or the last exception."""
    found = _ERROR.search(errors)
    if found is not None:
        return _short(found["words"].rstrip(". "))
    exceptions = _EXCEPTION.findall(errors)
    if exceptions:
        return _short(exceptions[-1][1].strip().rstrip("."))
    return (
        _last_line(errors) or f"the importer ended with {'signal' if code < 0 else 'exit code'} {abs(code)}"
    )


def runtime_words(error: Exception | str) -> str:
    """What the runtime says, without the place in its own source that it begins with."""
    text = str(error).strip()
    line = text.splitlines()[0] if text else type(error).__name__
    return _short(_SOURCE_PLACE.sub("", line).rstrip("."))


def _short(words: str) -> str:
    return words if len(words) <= _MOST_CHARACTERS else f"{words[:_MOST_CHARACTERS]}…"


def _last_line(text: str) -> str:
    lines = text.strip().splitlines()
    return _short(lines[-1].strip().rstrip(".")) if lines else ""
