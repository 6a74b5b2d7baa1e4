"""One event as it stands in the file, read again when somebody asks for all of it.

The tables keep the arguments that analyses need; every other one is here. A
plain file is read from the event's place; a packed one must be unpacked up to it.
"""

from __future__ import annotations

import json
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from core.errors import DashboardError
from core.files import printable
from core.readers.torch_trace.container import Container
from core.readers.torch_trace.raw import Oddities
from core.readers.torch_trace.scan import find_boundary, skip_value
from core.readers.torch_trace.tolerant import MOST_BYTES, NotReadableError, read_value

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

_FIRST_BYTES: Final = 2**16
_MARKS: Final = (b"\x1f\x8b", b"\xff\xfe", b"\xfe\xff", b"\xef\xbb\xbf")


def read_event(path: Path, offset: int, check: Callable[[], None] = lambda: None) -> dict[str, Any]:
    """Reads one event of a trace file.

    Args:
        path: The file.
        offset: ``SliceTable.source_offset``: where its object begins in the unpacked UTF-8 text.
        check: Called now and then; what it raises ends the reading.

    Returns:
        The event as the file has it; fractions are ``Decimal``, what is no number is None.

    Raises:
        DashboardError: The file cannot be read, or no event stands there any more.
    """
    name = printable(path.name)
    try:
        text = _text_at(path, offset, check)
    except OSError as error:
        raise DashboardError(
            f"{name} cannot be read: {error.strerror or error}.", "Check that the file is still there."
        ) from error
    event = _parse(text)
    if event is None:
        raise DashboardError(
            f"The event is not at its place in {name} any more.",
            "The file has changed since it was opened: open it again.",
        )
    return event


def argument_texts(event: dict[str, Any]) -> list[tuple[str, str]]:
    """Returns (name, value) of each argument of an event, as text; nested values are JSON."""
    arguments = event.get("args")
    return (
        [(str(key), _as_text(value)) for key, value in arguments.items()]
        if isinstance(arguments, dict)
        else []
    )


def _as_text(value: object) -> str:
    if isinstance(value, str):
        return value
    if value is None:
        return "n/a"
    # A fraction is a Decimal; within a list its nearest float reads as well.
    return str(value) if isinstance(value, Decimal) else json.dumps(value, ensure_ascii=False, default=float)


def _text_at(path: Path, offset: int, check: Callable[[], None]) -> bytes:
    """Returns the text from an event on: its object, or ``MOST_BYTES`` of it."""
    with path.open("rb", buffering=0) as file:
        if not file.read(3).startswith(_MARKS):
            file.seek(offset)
            text = file.read(_FIRST_BYTES)
            return text if _end(text) > 0 else text + file.read(MOST_BYTES)
    container = Container(path, Oddities())
    try:
        return _from_blocks(container, offset, check)
    finally:
        container.close()


def _from_blocks(container: Container, offset: int, check: Callable[[], None]) -> bytes:
    text, place = b"", 0
    for block in container.blocks():
        check()
        if place + len(block) > offset:
            text += block[max(offset - place, 0) :]
            if _end(text) > 0 or len(text) > MOST_BYTES:
                break
        place += len(block)
    return text


def _end(text: bytes) -> int:
    """Returns the index behind the object at the start of a text, -1 if it does not end in it."""
    if not text.startswith(b"{"):
        return -1
    return skip_value(np.frombuffer(text, np.uint8), 0)


def _parse(text: bytes) -> dict[str, Any] | None:
    if not text.startswith(b"{"):
        return None
    # Quotes that were not escaped mislead the search for the end: then the next event's begin tells it.
    for end in (_end(text), find_boundary(np.frombuffer(text, np.uint8), 1), len(text)):
        if end <= 0:
            continue
        try:
            event = read_value(text[:end].rstrip(b", \t\r\n"), 0, Oddities())
        except NotReadableError:
            continue
        if isinstance(event, dict):
            return event
    return None
