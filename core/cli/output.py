"""Writing to the terminal: lines, columns and JSON, also into a pipe that nobody reads any more."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

import msgspec
from rich.cells import cell_len


def prepare_streams() -> None:
    """Let no character that the terminal's encoding lacks end the program."""
    for stream in (sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(errors="replace")


def write_line(text: str = "") -> None:
    """Print one line at once; when the reader is gone, go on in silence."""
    try:
        print(text, flush=True)
    except BrokenPipeError:
        silence_stdout()


def write_json(value: object) -> None:
    """Print a value as indented JSON."""
    write_line(msgspec.json.format(msgspec.json.encode(value), indent=2).decode())


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
