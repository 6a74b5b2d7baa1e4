"""Kept results: order, damage, other versions, the cap."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from core.edge import history
from core.edge.history import forget_result, keep_result, kept_results
from core.edge.result import EdgeProblem, EdgeResult
from core.files import app_folders


def made(started_ns: int) -> EdgeResult:
    return EdgeResult(
        started_ns=started_ns,
        state="agrees",
        backend="iree",
        backend_version="3.13.0",
        device="llvmpipe",
        device_key="vulkan:0",
        software=True,
        model="MiniLLM tiny",
        precision="fp32",
        problems=(EdgeProblem(code="a", message="b"),),
    )


def folder() -> Path:
    return app_folders().data / "edge"


def test_what_was_kept_comes_back_newest_first(private_folders: Path) -> None:
    assert kept_results() == ((), 0)
    first, second = keep_result(made(1_000)), keep_result(made(2_000))
    assert kept_results() == ((second, first), 0)
    assert first.id != second.id
    assert all((path.stat().st_mode & 0o777) == 0o600 for path in folder().iterdir())


def test_a_damaged_file_is_counted_and_the_others_stand(private_folders: Path) -> None:
    kept = keep_result(made(5))
    (folder() / f"{6:019d}-00000000.json").write_text('{"schema": 1, "state"')
    newer = msgspec.structs.replace(made(7), schema=99)
    (folder() / f"{7:019d}-00000000.json").write_bytes(msgspec.json.encode(newer))
    (folder() / "notes.txt").write_text("of the user")
    assert kept_results() == ((kept,), 2)


def test_a_forgotten_one_is_gone_and_no_name_leads_elsewhere(private_folders: Path) -> None:
    kept = keep_result(made(5))
    outside = folder().parent / "other.json"
    outside.write_text("{}")
    forget_result("../other")
    assert outside.exists()
    forget_result(kept.id)
    forget_result(kept.id)
    assert kept_results() == ((), 0)


def test_the_oldest_go_first(private_folders: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(history, "MOST_KEPT", 2)
    for started_ns in (3, 1, 2):
        keep_result(made(started_ns))
    assert [each.started_ns for each in kept_results()[0]] == [3, 2]
