"""Writing to the terminal: lines, columns and JSON, also into a pipe that nobody reads any more."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TextIO

import msgspec
from rich.cells import cell_len

from core.errors import DashboardError


def prepare_streams() -> None:
    """Let no character that the terminal's encoding lacks, and no closed stream, end the program."""
    if sys.stdout is None:
        sys.stdout = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115 - for the life of the process
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115 - for the life of the process
    for stream in (sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(errors="replace")


def write_line(text: str = "") -> None:
    """Print one line at once; when the reader is gone, go on in silence.

    Raises:
        DashboardError: It cannot be written, to a full disk for instance.
    """
    with writing() as out:
        print(text, file=out)


@contextmanager
def writing() -> Iterator[TextIO]:
    """Give standard output to what writes much at once; as ``write_line`` in all else.

    Raises:
        DashboardError: It cannot be written.
    """
    try:
        yield sys.stdout
        sys.stdout.flush()
    except BrokenPipeError:
        silence_stdout()
    except OSError as error:
        silence_stdout()
        raise DashboardError(
            f"The output cannot be written: {error.strerror or error}.",
            "Send it elsewhere. A run that was started goes on: `runs` lists it.",
        ) from error


def write_json(value: object) -> None:
    """Print a value as indented JSON, in ASCII.

    Not encoded by msgspec: a path with bytes that are no text must survive, as an escape,
    and in a terminal of any encoding.
    """
    plain = msgspec.to_builtins(value)
    try:
        # Python's own encoder is several times as fast without an indentation.
        text = msgspec.json.format(json.dumps(plain), indent=2)
    except msgspec.DecodeError:
        text = json.dumps(plain, indent=2)
    write_line(text)


def silence_stdout() -> None:
    """Send what is still to be written nowhere, so that the end of the program does not fail either."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())
    os.close(nowhere)


def columns(header: Sequence[str], rows: Sequence[Sequence[str]], numbers: str = "") -> list[str]:
    """Align cells into lines: text to the left, numbers to the right.

    Args:
        header: Names of the columns.
        rows: One cell a column.
        numbers: One letter a column, "r" for right; columns beyond it are left.
    """
    widths = [max(cell_len(row[i]) for row in (header, *rows)) for i in range(len(header))]
    lines = []
    for row in (header, *rows):
        cells = []
        for i, cell in enumerate(row):
            padding = " " * (widths[i] - cell_len(cell))
            cells.append(padding + cell if numbers[i : i + 1] == "r" else cell + padding)
        lines.append("  ".join(cells).rstrip())
    return lines
