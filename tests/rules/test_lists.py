"""Every format, analysis, page and backend is one file and one line in its list."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
LISTS = {
    "core/readers": "READERS",
    "core/edge/backends": "BACKENDS",
    "gui/pages": "PAGES",
}
SHARED = {
    "gui/pages/page.py",
    "core/readers/cache.py",
    "core/readers/ncu_private.py",
    "core/readers/ncu_rows.py",
    "core/readers/trace_set.py",
    "core/readers/worker.py",
}
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
        for path in (*package.glob("*.py"), *(init.parent for init in package.glob("*/__init__.py")))
        if path.name != "__init__.py" and str(path.relative_to(ROOT)) not in SHARED
    ]
    assert files
    # An entry imports its file, or names it to be loaded when it is first needed.
    assert not [stem for stem in files if f".{stem}" not in listed and f"'{stem}'" not in listed]


def answers(path: Path, to: str = "") -> list[str]:
    """Return the public functions of a module that answer with a table; ``to`` is what they are asked of."""
    return [
        node.name
        for node in ast.parse(path.read_bytes()).body
        if isinstance(node, ast.FunctionDef)
        and not node.name.startswith("_")
        and node.returns is not None
        and ast.unparse(node.returns) == "ResultTable"
        and to in ("", *(ast.unparse(each.annotation) for each in node.args.args if each.annotation))
    ]


def test_every_analysis_is_listed_and_has_a_golden_case(python_files: list[Path]) -> None:
    package = ROOT / "core/analyses"
    registry = package / "registry.py"
    tree = ast.parse(registry.read_bytes())
    listed = [node for node in tree.body if isinstance(node, ast.AnnAssign)]
    assert [ast.unparse(node.target) for node in listed] == ["ANALYSES"]
    assert isinstance(listed[0].value, ast.Tuple), "ANALYSES is not a plain tuple"
    entries = [entry for entry in listed[0].value.elts if isinstance(entry, ast.Call)]
    used = {node.id for entry in entries for node in ast.walk(entry) if isinstance(node, ast.Name)}
    modules = [ROOT / path for path in python_files if path.parent == Path("core/analyses")]
    found = {name for path in modules if path != registry for name in answers(path)}
    assert found
    assert not found - used
    names = [ast.literal_eval(entry.args[0]) for entry in entries]
    assert len(set(names)) == len(names)
    golden = ROOT / "tests/data/golden/analyses"
    assert {path.stem for path in golden.glob("*.csv")} == set(names)


def test_every_table_of_reports_is_listed_and_has_a_golden_case(python_files: list[Path]) -> None:
    package = ROOT / "core/report_tables"
    tree = ast.parse((package / "registry.py").read_bytes())
    (listed,) = [node.value for node in tree.body if isinstance(node, ast.AnnAssign)]
    assert isinstance(listed, ast.Tuple), "REPORT_ANALYSES is not a plain tuple"
    entries = [entry for entry in listed.elts if isinstance(entry, ast.Call)]
    used = {node.id for entry in entries for node in ast.walk(entry) if isinstance(node, ast.Name)}
    modules = [ROOT / path for path in python_files if path.parent == Path("core/report_tables")]
    found = {name for path in modules for name in answers(path, "ReportIndex")}
    assert found
    assert not found - used
    names = [ast.literal_eval(entry.args[0]) for entry in entries]
    golden = ROOT / "tests/data/golden/report_tables"
    assert {path.stem for path in golden.glob("*.csv")} == set(names)
