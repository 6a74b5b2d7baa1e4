"""What must not be imported, at any depth and at any time."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
HEAVY = ("PySide6", "shiboken6", "pyqtgraph", "qtawesome", "torch")


def modules_named_in(tree: ast.Module) -> set[str]:
    """Return the top-level names that are imported, lazily or by ``import_module`` too."""
    names = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            names.add(node.module)
        elif isinstance(node, ast.Call) and ast.unparse(node.func).endswith(("import_module", "__import__")):
            names |= {str(arg.value) for arg in node.args if isinstance(arg, ast.Constant)}
    return {name.split(".")[0] for name in names}


def test_torch_is_never_imported_by_the_program(python_files: list[Path]) -> None:
    ours = [path for path in python_files if path.parts[0] in ("main.py", "core", "gui")]
    assert ours
    found = [path for path in ours if "torch" in modules_named_in(ast.parse((ROOT / path).read_bytes()))]
    assert not found


@pytest.mark.parametrize("arguments", [["runs"], ["--help"]], ids=" ".join)
def test_the_command_line_loads_no_window(arguments: list[str]) -> None:
    done = subprocess.run(
        [sys.executable, "-X", "importtime", "main.py", *arguments],
        cwd=ROOT,
        env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1"},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    imported = {line.rsplit("|", 1)[-1].strip().split(".")[0] for line in done.stderr.splitlines()}
    assert "core" in imported
    assert not imported & set(HEAVY)
