"""Run folders are private, their names are unique, and lists survive what lies between them."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest

from core.errors import DashboardError
from core.runs import identity
from core.runs.job import JobSpec
from core.runs.manifest import ProcessIdentity, Status, write_manifest
from core.runs.store import RunFolder, RunStore, default_store, effective_status

JOB = JobSpec(title="tiny", target="train.py", interpreter=sys.executable, working_folder="/")


def store_in(tmp_path: Path) -> RunStore:
    return RunStore(tmp_path / "runs")


def test_new_run_is_private_whatever_the_umask(tmp_path: Path) -> None:
    old = os.umask(0)
    try:
        folder = store_in(tmp_path).create(JOB)
    finally:
        os.umask(old)
    modes = {path.name: path.stat().st_mode & 0o777 for path in [folder.path, *folder.path.rglob("*")]}
    assert modes == {folder.id: 0o700, "manifest.json": 0o600, "control.jsonl": 0o600} | dict.fromkeys(
        ("ranks", "logs", "traces", "snapshots", "stacks"), 0o700
    )
    assert folder.read().job == JOB
    assert folder.read().status == "created"


@pytest.mark.parametrize(
    ("title", "slug"),
    [("tiny", "tiny"), ("Größe 2 / ../x", "groe-2-x"), ("日本", "run"), ("", "run"), ("a" * 80, "a" * 24)],
)
def test_id_is_made_of_time_and_title(tmp_path: Path, title: str, slug: str) -> None:
    folder = store_in(tmp_path).create(replace(JOB, title=title))
    assert re.fullmatch(rf"\d{{8}}-\d{{6}}-{slug}-[0-9a-f]{{4}}", folder.id)
    assert folder.path.parent == tmp_path / "runs"


def test_simultaneous_launches_get_folders_of_their_own(tmp_path: Path) -> None:
    store = store_in(tmp_path)
    with ThreadPoolExecutor(8) as pool:
        folders = list(pool.map(lambda _: store.create(JOB), range(40)))
    assert len({folder.id for folder in folders}) == 40
    assert len(store.list()) == 40


def make_run(store: RunStore, name: str, status: Status = "done") -> RunFolder:
    made = store.create(JOB)
    path = made.path.rename(store.root / name)
    folder = RunFolder(path)
    write_manifest(path, replace(folder.read(), id=name, status=status))
    return folder


def test_list_is_newest_first_and_counts_what_it_skips(tmp_path: Path) -> None:
    store = store_in(tmp_path)
    for name in ("20260101-000000-a-0000", "20260301-000000-c-0000", "20260201-000000-b-0000"):
        make_run(store, name)
    (store.root / "20260102-000000-broken-0000").mkdir()
    (store.root / "20260103-000000-torn-0000").mkdir()
    (store.root / "20260103-000000-torn-0000" / "manifest.json").write_bytes(b'{"schema": 1')
    (store.root / "stray.txt").write_bytes(b"x")
    assert [run.id[-6:-5] for run in store.list()] == ["c", "b", "a"]
    assert [name for name, _ in store.problems] == [
        "20260103-000000-torn-0000",
        "20260102-000000-broken-0000",
    ]
    assert [run.id[-6:-5] for run in store.list(limit=2)] == ["c", "b"]
    assert store.list()[0].size_bytes > 0


def test_empty_store(tmp_path: Path) -> None:
    assert store_in(tmp_path).list() == []
    assert default_store().list() == []


def test_find_by_id_prefix_and_path(tmp_path: Path) -> None:
    store = store_in(tmp_path)
    first = make_run(store, "20260101-000000-a-0000")
    second = make_run(store, "20260101-000000-a-0000-longer")
    assert store.find("20260101-000000-a-0000") == first
    assert store.find("20260101-000000-a-0000-l") == second
    assert store.find(str(second.path)) == second
    assert store.find(str(second.manifest_path)) == second
    with pytest.raises(DashboardError, match="2 runs start with 2026: "):
        store.find("2026")
    for absent in ("2027", "", "/nowhere", "a\0b"):
        with pytest.raises(DashboardError, match="There is no run"):
            store.find(absent)


@pytest.mark.parametrize("text", ["~no-such-user/run", "a" * 5000, "\udce9", ""])
def test_what_can_be_no_path_is_no_run_either(tmp_path: Path, text: str) -> None:
    with pytest.raises(DashboardError, match="There is no run"):
        store_in(tmp_path).find(text)


def test_folder_of_runs_that_cannot_be_read_is_no_empty_one(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    store = RunStore(tmp_path / "file")
    assert store.list() == []
    assert store.problems == ((str(tmp_path / "file"), "The folder cannot be read: Not a directory."),)


def test_link_that_leads_nowhere_hides_no_run(tmp_path: Path) -> None:
    store = store_in(tmp_path)
    folder = make_run(store, "20260101-000000-a-0000")
    (store.root / "loop").symlink_to("loop")
    (store.root / "dangling").symlink_to("nothing")
    assert store.folders() == (folder.path,)


def test_copied_folder_is_found_by_path(tmp_path: Path) -> None:
    folder = make_run(store_in(tmp_path), "20260101-000000-a-0000")
    copy = tmp_path / "sent by mail"
    folder.path.rename(copy)
    assert store_in(tmp_path).find(str(copy)).read().id == "20260101-000000-a-0000"


def test_status_is_checked_against_the_supervisor(tmp_path: Path) -> None:
    """A supervisor that is gone, or whose pid another process has now, cannot write an end any more."""
    folder = store_in(tmp_path).create(JOB)
    here = identity.identity(os.getpid())
    assert here is not None
    others = {
        "lives": (here, "running"),
        "other create time": (replace(here, create_time_s=here.create_time_s - 1), "lost"),
        "other boot": (replace(here, boot_id="another"), "lost"),
        "no such pid": (replace(here, pid=2**22 + 1), "lost"),
    }
    for name, (supervisor, expected) in others.items():
        manifest = replace(folder.read(), status="running", supervisor=supervisor)
        write_manifest(folder.path, manifest)
        assert effective_status(folder, manifest) == expected, name
    ended = replace(folder.read(), status="done", supervisor=None)
    assert effective_status(folder, ended) == "done"


def test_end_that_is_written_meanwhile_is_seen(tmp_path: Path) -> None:
    folder = store_in(tmp_path).create(JOB)
    gone = ProcessIdentity(pid=2**22 + 1, create_time_s=1.0, boot_id=identity.boot_id())
    read_before = replace(folder.read(), status="running", supervisor=gone)
    write_manifest(folder.path, replace(read_before, status="done"))
    assert effective_status(folder, read_before) == "done"


def write_supervisor(folder: RunFolder, *records: str) -> None:
    """As the supervisor writes them; a write that failed was torn, and the next begins with a newline."""
    folder.supervisor_path.write_text("".join(records))


STARTED = '{"kind":"launcher_started","seq":1,"t_ns":5,"pid":7,"create_time_s":1.0}\n'
EXITED = '{"kind":"launcher_exited","seq":2,"t_ns":6,"exit_code":1}\n'
ENDED = '{"kind":"supervisor_ended","seq":3,"t_ns":8,"status":"failed"}\n'
FULL = '{"kind":"supervisor_problem","seq":4,"t_ns":9,"message":"The manifest could not be wri'


@pytest.mark.parametrize(
    ("records", "expected"),
    [
        ((STARTED, EXITED, ENDED), ("failed", 8)),
        ((STARTED, EXITED, ENDED, FULL), ("failed", 8)),
        ((STARTED, EXITED, ENDED.replace("failed", "done"), FULL), ("done", 8)),
        ((STARTED, EXITED), ("lost", None)),
        ((STARTED, EXITED, ENDED[:40]), ("lost", None)),
        ((STARTED, ENDED.replace("failed", "evaporated")), ("lost", None)),
        ((), ("lost", None)),
    ],
)
def test_end_that_only_the_records_hold_counts(
    tmp_path: Path, records: tuple[str, ...], expected: tuple[Status, int | None]
) -> None:
    """The disk was full: the manifest could not be replaced, the short record still found room."""
    store = store_in(tmp_path)
    folder = store.create(JOB)
    gone = ProcessIdentity(pid=2**22 + 1, create_time_s=1.0, boot_id=identity.boot_id())
    manifest = replace(folder.read(), status="running", supervisor=gone)
    write_manifest(folder.path, manifest)
    write_supervisor(folder, *records)
    assert effective_status(folder, manifest) == expected[0]
    (listed,) = store.list()
    assert (listed.status, listed.ended_ns) == expected
    here = identity.identity(os.getpid())
    alive = replace(manifest, supervisor=here)
    write_manifest(folder.path, alive)
    assert effective_status(folder, alive) == "running", "its supervisor may still write the manifest"


def test_run_that_never_got_a_supervisor(tmp_path: Path) -> None:
    folder = store_in(tmp_path).create(JOB)
    manifest = folder.read()
    assert effective_status(folder, manifest) == "created"
    old = replace(manifest, created_ns=manifest.created_ns - 10**12)
    write_manifest(folder.path, old)
    assert effective_status(folder, old) == "lost"


def test_run_of_another_machine_lives_while_its_files_change(tmp_path: Path) -> None:
    folder = store_in(tmp_path).create(JOB)
    manifest = folder.read()
    supervisor = ProcessIdentity(pid=1, create_time_s=1.0, boot_id="theirs")
    manifest = replace(
        manifest, status="running", supervisor=supervisor, host=replace(manifest.host, name="node7")
    )
    write_manifest(folder.path, manifest)
    assert effective_status(folder, manifest) == "running"
    hour_ago = time.time() - 3600
    os.utime(folder.manifest_path, (hour_ago, hour_ago))
    assert effective_status(folder, manifest) == "lost"
    folder.rank_file(0).write_bytes(b"{}\n")
    assert effective_status(folder, manifest) == "running"


def test_zombie_is_not_alive() -> None:
    child = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    known = identity.identity(child.pid)
    assert known is not None
    assert identity.is_alive(known)
    child.kill()
    os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
    assert Path(f"/proc/{child.pid}").exists() or sys.platform != "linux"
    assert not identity.is_alive(known)
    assert identity.identity(child.pid) is None
    child.communicate()


@pytest.mark.skipif(sys.platform != "linux", reason="threads of a process are told by /proc")
def test_process_whose_first_thread_has_ended_is_alive() -> None:
    code = (
        "import ctypes, sys, threading, time\n"
        "threading.Thread(target=lambda: time.sleep(600)).start()\n"
        "print('up', flush=True)\n"
        "ctypes.CDLL(None).pthread_exit(None)\n"
    )
    child = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE)
    assert child.stdout is not None
    child.stdout.readline()
    stat = Path(f"/proc/{child.pid}/stat")
    while b") Z " not in stat.read_bytes():
        time.sleep(0.01)
    known = identity.identity(child.pid)
    assert known is not None
    child.kill()
    child.communicate()
    assert not identity.is_alive(known)
