"""A manifest comes back as it was written, whoever wrote it, or says why it does not."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from core.errors import DashboardError
from core.runs.job import CapturePlan, JobSpec
from core.runs.manifest import (
    MANIFEST_NAME,
    SCHEMA_VERSION,
    UPGRADERS,
    Host,
    Manifest,
    ProcessIdentity,
    Revision,
    read_manifest,
    write_manifest,
)

FULL = Manifest(
    schema=SCHEMA_VERSION,
    id="20261129-124103-tiny-7f3a",
    job=JobSpec(
        title="Größe <b>x</b>",
        target=os.fsdecode(b"/data/caf\xe9/train.py"),
        interpreter="/usr/bin/python3",
        working_folder="/data",
        arguments=("--name", "a b", "$HOME", ";", '"', "'", "-x", "", "日本"),
        ranks=4,
        device="cuda",
        gpus=("0", "GPU-1"),
        environment={"A": "1"},
        profile=CapturePlan(first_step=3, ranks=(0, 2)),
        preset="tiny",
        loss_pattern=r"loss=(\S+)",
    ),
    host=Host(name="vm", platform="Linux", cpu_count=2, memory_bytes=2**34),
    created_ns=1_795_960_248_884_919_054,
    status="failed",
    argv=("python", "-m", "torch.distributed.run"),
    environment={"OMP_NUM_THREADS": "1"},
    versions={"torch": "2.13.0"},
    revision=Revision(commit="0" * 40, changed_files=None),
    started_ns=1,
    ended_ns=2,
    launcher_exit_code=1,
    exit_codes={0: -15, 11: 0},
    supervisor=ProcessIdentity(pid=1, create_time_s=1023.26, boot_id="b"),
    launcher=ProcessIdentity(pid=2, create_time_s=1024.0, boot_id="b"),
    summary="Rank 1 killed by signal 9 (often out of memory).",
)


def write_raw(folder: Path, raw: dict[str, Any]) -> None:
    (folder / MANIFEST_NAME).write_text(json.dumps(raw))


def raw_of(folder: Path, manifest: Manifest) -> dict[str, Any]:
    write_manifest(folder, manifest)
    raw: dict[str, Any] = json.loads((folder / MANIFEST_NAME).read_text())
    return raw


def test_round_trip_keeps_everything(tmp_path: Path) -> None:
    write_manifest(tmp_path, FULL)
    assert read_manifest(tmp_path) == (FULL, ())
    assert (tmp_path / MANIFEST_NAME).stat().st_mode & 0o777 == 0o600


def test_current_version_has_an_upgrader_for_each_older_one() -> None:
    assert len(UPGRADERS) == SCHEMA_VERSION - 1


def test_older_layouts_go_through_every_upgrader(tmp_path: Path) -> None:
    raw = raw_of(tmp_path, replace(FULL, id="old"))
    raw["name"] = raw.pop("id")
    write_raw(tmp_path, raw)

    def rename(old: dict[str, Any]) -> dict[str, Any]:
        old["identifier"] = old.pop("name")
        return old

    def rename_again(old: dict[str, Any]) -> dict[str, Any]:
        assert old["schema"] == 2
        old["id"] = old.pop("identifier")
        return old

    manifest, notes = read_manifest(tmp_path, version=3, upgraders=(rename, rename_again))
    assert (manifest.id, manifest.schema) == ("old", 3)
    assert notes == ("This run was written in layout 1; it is shown as layout 3.",)


def test_newer_layout_is_read_as_far_as_understood_and_never_rewritten(tmp_path: Path) -> None:
    raw = raw_of(tmp_path, FULL)
    raw |= {"schema": 7, "cluster": {"nodes": 2}, "exit_codes": [0, 1]}
    write_raw(tmp_path, raw)
    manifest, (note,) = read_manifest(tmp_path)
    assert manifest.read_only
    assert (manifest.id, manifest.job, manifest.exit_codes) == (FULL.id, FULL.job, {})
    assert "newer Ridgeline (layout 7)" in note
    assert "cluster, exit_codes" in note
    before = (tmp_path / MANIFEST_NAME).read_bytes()
    with pytest.raises(DashboardError, match="newer Ridgeline"):
        write_manifest(tmp_path, replace(manifest, status="done"))
    assert (tmp_path / MANIFEST_NAME).read_bytes() == before


def test_newer_layout_without_what_is_needed(tmp_path: Path) -> None:
    raw = raw_of(tmp_path, FULL) | {"schema": 2, "status": "hibernating"}
    write_raw(tmp_path, raw)
    with pytest.raises(DashboardError, match="does not understand its status") as error:
        read_manifest(tmp_path)
    assert error.value.hint == "Update Ridgeline to open it."


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (b"", "Expecting value"),
        (b'{"schema": 1, "id": "x"', "delimiter"),
        (b"[1, 2]", "no JSON object"),
        (b"{}", "schema version is None"),
        (b'{"schema": "1"}', "schema version is '1'"),
        (b'{"schema": true}', "schema version is True"),
        (b'{"schema": 1, "id": "x"}', "missing required field"),
        (b"[" * 100_000, "recursion"),
        (b"\xff\xfe\x00", "decode"),
    ],
)
def test_damaged_manifest_says_what_is_wrong(tmp_path: Path, content: bytes, why: str) -> None:
    (tmp_path / MANIFEST_NAME).write_bytes(content)
    with pytest.raises(DashboardError, match=f"damaged: .*{why}"):
        read_manifest(tmp_path)


def test_wrong_type_names_the_field(tmp_path: Path) -> None:
    raw = raw_of(tmp_path, FULL)
    raw["job"]["ranks"] = "four"
    write_raw(tmp_path, raw)
    with pytest.raises(DashboardError, match=r"Expected `int`, got `str` - at `\$.job.ranks`"):
        read_manifest(tmp_path)


def test_no_manifest(tmp_path: Path) -> None:
    with pytest.raises(DashboardError, match="There is no run in"):
        read_manifest(tmp_path)
    os.mkfifo(tmp_path / MANIFEST_NAME)
    with pytest.raises(DashboardError, match="not a regular file"):
        read_manifest(tmp_path)


@pytest.mark.parametrize("schema", [SCHEMA_VERSION, SCHEMA_VERSION + 1])
@pytest.mark.parametrize(
    ("field", "value", "why"),
    [
        ("ranks", 0, "0 ranks"),
        ("ranks", 10**9, "1000000000 ranks"),
        ("created_ns", 10**300, "created_ns"),
        ("started_ns", -1, "started_ns"),
        ("ended_ns", 2**63, "ended_ns"),
    ],
)
def test_figures_that_nothing_could_be_made_of_are_damage(
    tmp_path: Path, schema: int, field: str, value: int, why: str
) -> None:
    write_manifest(tmp_path, FULL)
    raw = json.loads((tmp_path / MANIFEST_NAME).read_text())
    raw["schema"] = schema
    (raw["job"] if field == "ranks" else raw)[field] = value
    (tmp_path / MANIFEST_NAME).write_text(json.dumps(raw))
    with pytest.raises(DashboardError, match=why):
        read_manifest(tmp_path)
