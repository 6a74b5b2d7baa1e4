"""Facts about this machine."""

from __future__ import annotations

import platform
from pathlib import Path

import psutil
import pytest

from core.hardware import host


def test_host_has_a_name_processors_and_memory() -> None:
    facts = host.read_host()
    assert facts.name == platform.node()
    assert 1 <= facts.cpu_count <= (psutil.cpu_count() or 1)
    assert 0 < facts.memory_bytes <= psutil.virtual_memory().total


@pytest.mark.parametrize(("text", "limited"), [("1073741824\n", True), ("max\n", False), (None, False)])
def test_memory_is_cut_to_the_limit_of_the_container(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str | None, limited: bool
) -> None:
    limit = tmp_path / "memory.max"
    if text is not None:
        limit.write_text(text)
    monkeypatch.setattr(host, "CGROUP_LIMITS", (limit,))
    memory = host.read_host.__wrapped__().memory_bytes
    assert memory == (2**30 if limited else psutil.virtual_memory().total)
