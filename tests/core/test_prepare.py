"""Compiling ahead leaves nothing behind, whether it ends or is ended."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from core import prepare
from core.files import app_folders
from core.prepare import SCRATCH, prepare_in_child

if TYPE_CHECKING:
    from pathlib import Path


class WindowClosedError(Exception):
    """The window was closed."""


def scratch_folders() -> list[Path]:
    return list(app_folders().cache.glob(f"{SCRATCH}*"))


def test_a_child_that_is_ended_leaves_no_folder(
    private_folders: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(private_folders / "compiled"))
    monkeypatch.setattr(prepare, "_POLL_S", 0.01)
    seen: list[list[Path]] = []

    def check() -> None:
        folders = scratch_folders()
        seen.append([path for folder in folders for path in folder.iterdir()])
        # The child has begun to write by then.
        if seen[-1]:
            raise WindowClosedError

    with pytest.raises(WindowClosedError):
        prepare_in_child(check)
    assert [path.name for path in seen[-1]] == ["trace.json"]
    assert scratch_folders() == []
