"""The commit of a script's repository is found, and nothing that the repository names is run."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from core.launch.revision import read_revision

pytestmark = pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")


def git(folder: Path, *arguments: str) -> str:
    environment = {
        **{name: value for name, value in os.environ.items() if not name.startswith("GIT_")},
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_AUTHOR_NAME": "a",
        "GIT_AUTHOR_EMAIL": "a@example.org",
        "GIT_COMMITTER_NAME": "a",
        "GIT_COMMITTER_EMAIL": "a@example.org",
    }
    command = ["git", "-C", str(folder), *arguments]
    return subprocess.run(command, env=environment, check=True, capture_output=True, text=True).stdout.strip()


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    folder = tmp_path / "with space"
    (folder / "pkg").mkdir(parents=True)
    git(folder, "init", "-q", "-b", "main")
    (folder / "train.py").write_text("1\n")
    (folder / "pkg" / "b.py").write_text("1\n")
    git(folder, "add", ".")
    git(folder, "commit", "-q", "-m", "first")
    return folder


def test_commit_and_changes(repository: Path) -> None:
    commit = git(repository, "rev-parse", "HEAD")
    found = read_revision(repository / "pkg")
    assert found is not None
    assert (found.commit, found.changed_files) == (commit, 0)
    (repository / "train.py").write_text("22\n")
    (repository / "pkg" / "b.py").unlink()
    (repository / "untracked.py").write_text("")
    found = read_revision(repository)
    assert found is not None
    assert (found.commit, found.changed_files) == (commit, 2)


def test_packed_refs_detached_head_and_worktree(repository: Path, tmp_path: Path) -> None:
    commit = git(repository, "rev-parse", "HEAD")
    git(repository, "pack-refs", "--all")
    assert not (repository / ".git" / "refs" / "heads" / "main").exists()
    git(repository, "worktree", "add", "-q", str(tmp_path / "tree"), "-b", "side")
    git(repository, "pack-refs", "--all")
    for folder in (repository, tmp_path / "tree"):
        found = read_revision(folder)
        assert found is not None
        assert found.commit == commit
    git(repository, "checkout", "-q", "--detach")
    found = read_revision(repository)
    assert found is not None
    assert found.commit == commit


def test_no_repository(tmp_path: Path) -> None:
    assert read_revision(tmp_path / "does" / "not" / "exist") is None
    (tmp_path / ".git").mkdir()
    (tmp_path / ".git" / "HEAD").write_text("ref: ../../etc/passwd\n")
    assert read_revision(tmp_path) is None


def test_repository_without_a_commit(tmp_path: Path) -> None:
    git(tmp_path, "init", "-q")
    assert read_revision(tmp_path) is None


def test_nothing_that_the_repository_names_is_run(repository: Path, tmp_path: Path) -> None:
    """Filters, monitors and hooks are programs of whoever made the repository."""
    mark = tmp_path / "was run"
    program = tmp_path / "program"
    program.write_text(f"#!/bin/sh\ntouch '{mark}'\ncat\n")
    program.chmod(0o755)
    (repository / ".gitattributes").write_text("*.py filter=evil\n*.txt filter=a=b\n")
    for name in ("clean", "smudge", "process"):
        git(repository, "config", f"filter.evil.{name}", f"'{program}'")
        git(repository, "config", f"filter.a=b.{name}", f"'{program}'")
    git(repository, "config", "filter.evil.required", "true")
    git(repository, "config", "core.fsmonitor", str(program))
    hooks = repository / ".git" / "hooks"
    hooks.mkdir(exist_ok=True)
    for name in ("post-index-change", "fsmonitor-watchman", "reference-transaction"):
        shutil.copy(program, hooks / name)
    (repository / "x.txt").write_text("1\n")
    (repository / "train.py").write_text("22\n")
    os.utime(repository / "pkg" / "b.py", (1, 1))
    found = read_revision(repository)
    assert found is not None
    assert found.changed_files == 1
    assert not mark.exists()
    subprocess.run(["git", "-C", str(repository), "status"], capture_output=True, check=False)
    assert mark.exists(), "the trap of this test does not work"
