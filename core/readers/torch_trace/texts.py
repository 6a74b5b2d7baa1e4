"""From the bytes between two quotes to a text, with a word on what had to be repaired.

JSON's rules are kept where the writer kept them. Writers that never escaped
their strings at all (Windows paths) are recognised by an escape that JSON does
not know: then every backslash of that string is meant literally.
"""

from __future__ import annotations

import contextlib
import json
import re
from typing import Final

BAD_ESCAPE: Final = "bad_escape"
CONTROL_CHARACTER: Final = "control_character"
BAD_UTF8: Final = "bad_utf8"

# Source: RFC 8259, section 7.
_LEGAL: Final = re.compile(r'[^\\]*(?:\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})[^\\]*)*')
_SURROGATE: Final = re.compile("[\ud800-\udfff]")
_OPEN_QUOTE: Final = re.compile(r'(?<!\\)(?:\\\\)*"')
_CONTROL: Final = re.compile(r"[\x00-\x1f]")


def decode_text(raw: bytes) -> tuple[str, tuple[str, ...]]:
    """Returns the text and the codes of what was repaired in it.

    A quote that no backslash protects cannot stand inside a string: such a text
    is the JSON of a list or an object, and stays as it is but for line breaks. Bytes that are no
    UTF-8 and lone surrogates become U+FFFD. Raw control characters stay, and are
    shown as escapes wherever text is shown.
    """
    if raw[:1] in (b"[", b"{") and b"\n" in raw:
        with contextlib.suppress(ValueError, RecursionError):
            text = json.dumps(json.loads(raw), ensure_ascii=False, separators=(",", ":"))
            return without_surrogates(text), (BAD_UTF8,) if _SURROGATE.search(text) else ()
    codes: list[str] = []
    try:
        text = raw.decode("utf-8")
    except UnicodeDecodeError:
        text = raw.decode("utf-8", "replace")
        codes.append(BAD_UTF8)
    if _CONTROL.search(text):
        codes.append(CONTROL_CHARACTER)
    if "\\" in text and not _OPEN_QUOTE.search(text):
        if _LEGAL.fullmatch(text):
            text = json.loads(f'"{text}"', strict=False)
            if _SURROGATE.search(text):
                text = without_surrogates(text)
                codes.append(BAD_UTF8)
        else:
            text = text.replace('\\"', '"')
            codes.append(BAD_ESCAPE)
    return text, tuple(codes)


def encode_text(text: str) -> bytes:
    """Returns a text as it would stand between quotes; ``decode_text`` gives it back."""
    return json.dumps(without_surrogates(text), ensure_ascii=False)[1:-1].encode("utf-8")


def without_surrogates(text: str) -> str:
    """Returns a text in which halves of surrogate pairs, which no file can hold, are U+FFFD."""
    return _SURROGATE.sub("\N{REPLACEMENT CHARACTER}", text)


def json_text(value: object) -> str:
    """Returns the compact JSON of what was read; fractions are ``Decimal``. What nests too deeply is dots."""
    try:
        return json.dumps(value, ensure_ascii=False, separators=(",", ":"), default=str)
    except RecursionError:
        return "\N{HORIZONTAL ELLIPSIS}"
