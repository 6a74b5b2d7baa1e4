"""Machine instructions: what nvdisasm writes, and what happens if it fails, hangs, or is not there.

The tool is a fake that writes what the real one of CUDA 13 wrote for a test's binary.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from core.errors import DashboardError
from core.files import app_folders
from core.launch.disassembly import disassemble, find_disassembler

SAID = """\t.target\tsm_75

//--------------------- .text._Z5saxpyifPKfPf --------------------------
\t.section\t.text._Z5saxpyifPKfPf,"ax",@progbits
\t.align\t128
.text._Z5saxpyifPKfPf:
        /*0000*/                   IMAD.MOV.U32 R1, RZ, RZ, c[0x0][0x28] ;
        /*0010*/              @!P0 BRA `(.L_x_1) ;
.L_x_1:
\t.section\t.text.other,"ax",@progbits
        /*0000*/                   EXIT ;
"""


def tool(folder: Path, script: str) -> Path:
    path = folder / "nvdisasm"
    path.write_text(f"#!/bin/sh\n# A fake.\n{script}\n")
    path.chmod(0o755)
    return path


def test_instructions_are_told_by_function_and_offset(tmp_path: Path) -> None:
    (tmp_path / "said").write_text(SAID)
    fake = tool(
        tmp_path, f'test "$1" = -c || exit 9\ncmp -s "$2" {tmp_path}/sent || exit 8\ncat {tmp_path}/said'
    )
    (tmp_path / "sent").write_bytes(b"\x7fELF binary")
    assert disassemble(b"\x7fELF binary", fake) == {
        ("_Z5saxpyifPKfPf", 0): "IMAD.MOV.U32 R1, RZ, RZ, c[0x0][0x28]",
        ("_Z5saxpyifPKfPf", 16): "@!P0 BRA `(.L_x_1)",
        ("other", 0): "EXIT",
    }
    assert list(app_folders().cache.iterdir()) == []


@pytest.mark.parametrize(
    ("script", "words"),
    [
        ("echo 'nvdisasm fatal : bad file' >&2; exit 255", "nvdisasm failed: nvdisasm fatal : bad file"),
        ("sleep 60 & sleep 60", "did not end within 0.2 s"),
        ("exit 1", "it said nothing"),
    ],
)
def test_a_tool_that_fails_or_hangs_is_said_so(tmp_path: Path, script: str, words: str) -> None:
    with pytest.raises(DashboardError, match=words):
        disassemble(b"x", tool(tmp_path, script), timeout_s=0.2 if "sleep" in script else 30)


def test_it_can_be_cancelled(tmp_path: Path) -> None:
    with pytest.raises(DashboardError, match="cancelled"):
        disassemble(b"x", tool(tmp_path, "sleep 60"), cancelled=lambda: True)


def test_a_tool_that_is_no_program_is_said_so(tmp_path: Path) -> None:
    with pytest.raises(DashboardError, match="cannot be started"):
        disassemble(b"x", tmp_path / "nothing")


def test_without_the_tool_there_is_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert find_disassembler() is None
    fake = tool(tmp_path, "")
    assert find_disassembler() == fake
    assert os.access(fake, os.X_OK)
