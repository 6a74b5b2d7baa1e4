"""Every format, analysis, page and backend is one file and one line in its list."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
LISTS = {
    "core/readers": "READERS",
    "core/analyses": "ANALYSES",
    "core/edge": "BACKENDS",
    "gui/pages": "PAGES",
}
SHARED = {"gui/pages/page.py"}
"""Files of those packages that others build upon; they are no entry themselves."""


def names_in_list(package: Path, name: str) -> str:
    """Return the source of the package's list with the imports that feed it."""
    tree = ast.parse((package / "__init__.py").read_bytes())
    imports = {
        alias.asname or alias.name: f"{node.module}.{alias.name}"
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    for node in tree.body:
        targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
        if any(isinstance(target, ast.Name) and target.id == name for target in targets):
            value = getattr(node, "value", None)
            assert isinstance(value, ast.Tuple), f"{name} is not a plain tuple"
            entries = [ast.unparse(entry) for entry in value.elts]
            return " ".join(entries + [imports.get(entry, "") for entry in entries])
    pytest.fail(f"{package} has no {name}")


@pytest.mark.parametrize(
    ("folder", "name"), [(folder, name) for folder, name in LISTS.items() if (ROOT / folder).is_dir()]
)
def test_no_file_is_missing_from_its_list(folder: str, name: str) -> None:
    package = ROOT / folder
    listed = names_in_list(package, name)
    files = [
        path.stem
        for path in package.glob("*.py")
        if path.name != "__init__.py" and str(path.relative_to(ROOT)) not in SHARED
    ]
    assert files
    # An entry imports its file, or names it to be loaded when it is first needed.
    assert not [stem for stem in files if f".{stem}" not in listed and f"'{stem}'" not in listed]
