"""Tables on standard output: for a terminal, and for a file or another program."""

from __future__ import annotations

import argparse
import io
import json

import numpy as np
import pytest

from core.cli.output import write_json
from core.cli.table_output import write_table
from core.tables.result import Column, ResultTable


class _Screen(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize("kind", ["csv", "json"])
def test_a_terminal_gets_no_control_of_a_name_and_a_file_gets_all(
    monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    name = "gemm\x1b]0;mine\x07\x9b31m\u202e"
    column = Column(key="name", title="Kernel", unit="", help="", values=np.zeros(1, np.int32), texts=(name,))
    table = ResultTable(name="kernels", title="Kernels", columns=(column,))
    options = argparse.Namespace(csv=kind == "csv", json=kind == "json")
    for out in (_Screen(newline=""), io.StringIO(newline="")):
        monkeypatch.setattr("sys.stdout", out)
        write_table(table, options)
        text = out.getvalue()
        if out.isatty():
            assert all(line.isprintable() for line in text.splitlines())
            assert "gemm" in text
        else:
            assert "\x9b31m\u202e" in text
        assert ("\r\n" in text) == (kind == "csv")


@pytest.mark.parametrize(
    "value",
    [
        {"a": [], "b": {}, "c": [[1, 2], [{}]], "d": None, "": True},
        {"text": '\u00e9 \u2028 \U0001f600 " \\ / \x00', "small": 1e-5, "large": 2**70, "zero": -0.0},
        {"path": "no text: \udcff"},
    ],
)
def test_json_is_indented_ascii_whatever_the_way_it_is_made(
    monkeypatch: pytest.MonkeyPatch, value: dict[str, object]
) -> None:
    out = io.StringIO(newline="")
    monkeypatch.setattr("sys.stdout", out)
    write_json(value)
    assert out.getvalue() == json.dumps(value, indent=2) + "\n"
    assert out.getvalue().isascii()
