"""Where files may lie, and what may not stand in them."""

from __future__ import annotations

import ast
import re
from pathlib import Path

ROOT = Path(__file__).parents[2]

# Put together from parts, so that this file passes its own rule.
MACHINE_PATHS = re.compile(r"/(?:work|root)/|/tmp/" + "rl" + r"\b")
LEFT_FOR_LATER = re.compile(r"\b(?:TO" + "DO|FIX" + "ME|XX" + r"X)\b|NotImplemented" + "Error")
DRAWERS = {"utils", "util", "misc", "common", "manager", "handler", "helper"}
PICTURES = Path("docs/pictures")
"""Made from the running program; a tree that has none yet may name them all the same."""

CATCHES_ALL = {
    Path("gui/tasks.py"),
    Path("gui/app.py"),
    Path("resources/rank_agent/rank_agent.py"),
}


def text_of(path: Path) -> str | None:
    """Return the file's text, or None if it is a picture or another binary file."""
    try:
        text = (ROOT / path).read_text(encoding="utf-8")
    except UnicodeDecodeError:
        return None
    return None if "\0" in text else text


def tree_of(path: Path) -> ast.Module:
    return ast.parse((ROOT / path).read_bytes(), filename=str(path))


def test_tests_and_resources_are_no_packages(project_files: list[Path]) -> None:
    """With tests/core/__init__.py, ``import core`` would be the tests; resources are data."""
    packages = [path for path in project_files if path.name == "__init__.py"]
    assert not [path for path in packages if path.parts[0] in ("tests", "resources")]
    assert {path.parts[0] for path in packages} == {"core", "gui"}


def test_the_rank_agent_lies_alone(project_files: list[Path]) -> None:
    """Its folder is on the path of users' programs: whatever lies beside it could shadow their modules."""
    folder = Path("resources/rank_agent")
    assert [path for path in project_files if folder in path.parents] == [folder / "rank_agent.py"]


def test_every_module_says_what_it_holds(python_files: list[Path]) -> None:
    silent = [path for path in python_files if not ast.get_docstring(tree_of(path))]
    assert not silent


def test_no_file_is_a_drawer(python_files: list[Path]) -> None:
    assert not [path for path in python_files if DRAWERS & set(path.stem.split("_"))]


def test_no_file_knows_the_machine_it_was_written_on(project_files: list[Path]) -> None:
    found = [
        f"{path}: {match.group()}"
        for path in project_files
        if (text := text_of(path)) and (match := MACHINE_PATHS.search(text))
    ]
    assert not found


def test_nothing_is_left_for_later(project_files: list[Path]) -> None:
    found = [
        f"{path}: {match.group()}"
        for path in project_files
        if (text := text_of(path)) and (match := LEFT_FOR_LATER.search(text))
    ]
    assert not found


def catches_all(node: ast.AST) -> bool:
    """Whether it catches every error and keeps it; cleaning up and raising on is no catching."""
    if not isinstance(node, ast.ExceptHandler):
        return False
    last = node.body[-1]
    if isinstance(last, ast.Raise) and last.exc is None:
        return False
    caught = node.type.elts if isinstance(node.type, ast.Tuple) else [node.type]
    names = {getattr(each, "id", None) for each in caught}
    return node.type is None or bool(names & {"Exception", "BaseException"})


def test_only_the_outermost_places_catch_everything(python_files: list[Path]) -> None:
    ours = [path for path in python_files if path.parts[0] in ("main.py", "core", "gui", "resources")]
    found = [path for path in ours if any(catches_all(node) for node in ast.walk(tree_of(path)))]
    assert set(found) <= CATCHES_ALL, sorted(set(found) - CATCHES_ALL)


def test_every_document_that_is_linked_is_there(project_files: list[Path]) -> None:
    known = set(project_files)
    missing = []
    for path in project_files:
        if path.suffix != ".md":
            continue
        links = re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)|src(?:set)?=\"([^\":]+)\"", text_of(path) or "")
        for target in (Path(first or second) for first, second in links):
            resolved = (ROOT / path.parent / target).resolve().relative_to(ROOT)
            if resolved.parent == PICTURES and not (ROOT / PICTURES).is_dir():
                continue
            if resolved not in known and not (ROOT / resolved).is_dir():
                missing.append(f"{path}: {target}")
    assert not missing
