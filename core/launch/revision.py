"""Which commit a training script is at, found without running anything that its repository names.

A repository can name programs in its configuration (filters, monitors, hooks,
helpers). The commit is read by hand. For the number of changed files git is
run with each of those turned off.
"""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Iterable
from pathlib import Path

from core.errors import DashboardError
from core.files import read_bytes_limited
from core.runs.manifest import Revision

_COMMIT = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")
_LIMIT_BYTES = 16 * 1024 * 1024
_HARMLESS = {
    "core.fsmonitor": "false",
    "core.hooksPath": "/dev/null",
    "core.sshCommand": "false",
    "core.askPass": "false",
    "credential.helper": "",
    "protocol.allow": "never",
    "status.submoduleSummary": "false",
    "submodule.recurse": "false",
}


def read_revision(folder: Path, *, limit_s: float = 3.0) -> Revision | None:
    """Returns the state of the repository that holds a folder, None if there is none.

    Args:
        folder: Need not exist.
        limit_s: For each of two calls of git; beyond it the count stays None.
    """
    for candidate in (folder.absolute(), *folder.absolute().parents):
        git_folder = _git_folder(candidate / ".git")
        if git_folder is None:
            continue
        commit = _read_commit(git_folder)
        if commit is None:
            return None
        return Revision(commit=commit, changed_files=_count_changed(candidate, limit_s))
    return None


def _git_folder(entry: Path) -> Path | None:
    """Follows the file that stands for a folder in a worktree or submodule.

    Source: gitrepository-layout(5).
    """
    if os.path.isdir(entry):  # pathlib raises where one may not look
        return entry if os.path.isfile(entry / "HEAD") else None
    text = _read_text(entry)
    if text is None or not text.startswith("gitdir:"):
        return None
    target = entry.parent / text.removeprefix("gitdir:").strip()
    return target if os.path.isfile(target / "HEAD") else None


def _read_commit(git_folder: Path) -> str | None:
    head = (_read_text(git_folder / "HEAD") or "").strip()
    if not head.startswith("ref:"):
        return head if _COMMIT.fullmatch(head) else None
    name = head.removeprefix("ref:").strip()
    if not name.startswith("refs/") or ".." in name:
        return None
    common = git_folder / (_read_text(git_folder / "commondir") or ".").strip()
    for folder in (git_folder, common):
        text = (_read_text(folder / name) or "").strip()
        if _COMMIT.fullmatch(text):
            return text
    for line in (_read_text(common / "packed-refs") or "").splitlines():
        commit, _, packed_name = line.partition(" ")
        if packed_name.strip() == name and _COMMIT.fullmatch(commit):
            return commit
    return None


def _read_text(path: Path) -> str | None:
    try:
        return read_bytes_limited(path, _LIMIT_BYTES).decode("utf-8", "surrogateescape")
    except (OSError, DashboardError):
        return None


def _count_changed(folder: Path, limit_s: float) -> int | None:
    listing = _git(folder, ["config", "--list", "--name-only", "-z"], _HARMLESS.items(), limit_s)
    if listing is None:
        return None
    settings = list(_HARMLESS.items())
    for name in set(listing.decode("utf-8", "surrogateescape").split("\0")):
        if name.startswith("filter.") and name.endswith((".clean", ".smudge", ".process")):
            settings.append((name, ""))
        elif name.startswith("filter.") and name.endswith(".required"):
            settings.append((name, "false"))
    arguments = ["status", "--porcelain=v1", "-z", "--untracked-files=no", "--ignore-submodules=all"]
    output = _git(folder, [*arguments, "--no-renames"], settings, limit_s)
    return None if output is None else output.count(b"\0")


def _git(
    folder: Path, arguments: list[str], settings: Iterable[tuple[str, str]], limit_s: float
) -> bytes | None:
    """Runs git with settings that outrank all files. Source: git-config(1), GIT_CONFIG_COUNT."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    pairs = list(settings)
    environment |= {"GIT_CONFIG_COUNT": str(len(pairs))}
    for number, (name, value) in enumerate(pairs):
        environment[f"GIT_CONFIG_KEY_{number}"] = name
        environment[f"GIT_CONFIG_VALUE_{number}"] = value
    environment |= {
        "GIT_OPTIONAL_LOCKS": "0",
        "GIT_NO_LAZY_FETCH": "1",
        "GIT_TERMINAL_PROMPT": "0",
        "GIT_ALLOW_PROTOCOL": "",
        "LC_ALL": "C",
    }
    try:
        done = subprocess.run(
            ["git", "--no-pager", "-C", str(folder), *arguments],  # noqa: S607 - the user's own git
            env=environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=limit_s,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout if done.returncode == 0 else None
