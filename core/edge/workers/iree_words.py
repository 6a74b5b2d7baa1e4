"""What IREE's programs print where they fail, in one sentence. Pure."""

from __future__ import annotations

import re
from typing import Final

_ERROR: Final = re.compile(r"^(?:(?P<place>\S+):\d+:\d+: )?error: (?P<words>.+)$", re.MULTILINE)
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
    found = _ERROR.search(errors)
    if found is None:
        if code < 0:
            return f"iree-compile was ended by signal {-code}"
        return _last_line(errors) or f"iree-compile ended with exit code {code} and said nothing"
    rest = errors[found.end() :].splitlines()[1:2]
    operator = _OPERATOR.search(rest[0]) if rest else None
    words = _short(found["words"].rstrip(". "))
    return f"{words} (at {operator[1] or operator[2]})" if operator else words


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
