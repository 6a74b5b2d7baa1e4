"""Tables on standard output: for a terminal, and for a file or another program."""

from __future__ import annotations

import argparse
import io

import numpy as np
import pytest

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
