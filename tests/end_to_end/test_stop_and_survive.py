"""Runs live without the window, end when they are told to, and leave nothing behind: proven by pids.

Real torchrun, real ranks, real signals. The scripts are small and need no
torch, so that each run takes seconds.
"""

from __future__ import annotations

import json
import os
import pty
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from core.launch import processes
from core.launch.client import end_left_behind, launch, left_behind, request_stop
from core.runs.job import JobSpec
from core.runs.manifest import ENDED, Manifest, ProcessIdentity
from core.runs.store import RunFolder, RunStore, effective_status

pytestmark = pytest.mark.torchrun

ROOT = Path(__file__).parents[2]
LIMIT_S = 90.0

WORKER = """
import json, os, signal, subprocess, sys, time
here = os.getcwd() + '/' + sys.argv[1] + '.' + os.environ['RANK']
pids = [os.getpid(), os.getppid()]
"""
REPORT = """
with open(here + '.tmp', 'w') as file:
    json.dump({'pids': pids}, file)
os.rename(here + '.tmp', here)
"""
SLEEP = WORKER + REPORT + "time.sleep(600)\n"
STUBBORN = (
    WORKER
    + """
for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
    signal.signal(number, signal.SIG_IGN)
sleep = 'import signal, time; signal.signal(15, 1); signal.signal(2, 1); print(1, flush=True); '
for detached in (False, True):
    child = subprocess.Popen(
        [sys.executable, '-c', sleep + 'time.sleep(600)'],
        stdout=subprocess.PIPE,
        start_new_session=detached,
    )
    child.stdout.readline()
    pids.append(child.pid)
"""
    + REPORT
    + "time.sleep(600)\n"
)


def until(condition: Callable[[], Any], what: str) -> Any:
    """Waits for a condition to become true, and returns it."""
    deadline = time.monotonic() + LIMIT_S
    while not (value := condition()):
        assert time.monotonic() < deadline, f"never came: {what}"
        time.sleep(0.05)
    return value


class Lab:
    """A folder to work in and a store of its own."""

    def __init__(self, folder: Path) -> None:
        self.work = folder / "work"
        self.work.mkdir()
        self.store = RunStore(folder / "runs")

    def job(self, name: str, code: str, ranks: int = 2) -> JobSpec:
        (self.work / f"{name}.py").write_text(code)
        return JobSpec(
            title=name,
            target=f"{name}.py",
            arguments=(name,),
            interpreter=sys.executable,
            ranks=ranks,
            working_folder=str(self.work),
        )

    def launch(self, name: str, code: str, ranks: int = 2) -> RunFolder:
        return launch(self.job(name, code, ranks), self.store)

    def pids(self, name: str, ranks: int = 2) -> list[ProcessIdentity]:
        """Waits until all ranks are up; returns them, their parents and their helpers."""
        files = [self.work / f"{name}.{rank}" for rank in range(ranks)]
        until(lambda: all(file.exists() for file in files), f"ranks of {name}")
        pids = [pid for file in files for pid in json.loads(file.read_text())["pids"]]
        found = [processes.identity(pid) for pid in dict.fromkeys(pids)]
        return [process for process in found if process is not None]


def status(folder: RunFolder) -> str:
    return effective_status(folder, folder.read())


def ended(folder: RunFolder) -> Manifest:
    until(lambda: status(folder) in ENDED, f"end of {folder.id}")
    return folder.read()


def events(folder: RunFolder, kind: str) -> list[dict[str, Any]]:
    lines = folder.supervisor_path.read_bytes().splitlines()
    return [event for line in lines if line and (event := json.loads(line))["kind"] == kind]


def alive(identities: list[ProcessIdentity]) -> list[int]:
    return [process.pid for process in identities if processes.is_alive(process)]


@pytest.fixture(autouse=True)
def short_grace(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RIDGELINE_GRACE_S", "0.4")


@pytest.fixture(scope="module")
def bystander(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunFolder]:
    """Another user's job, as it were: whatever the tests do, it goes on (cases L03, L05)."""
    lab = Lab(tmp_path_factory.mktemp("bystander"))
    folder = lab.launch("bystander", SLEEP, ranks=1)
    known = lab.pids("bystander", ranks=1)
    until(lambda: status(folder) == "running", "running")
    yield folder
    assert len(alive(known)) == len(known) == 2
    assert status(folder) == "running"
    assert left_behind(lab.store) == []
    request_stop(folder, now=True)
    assert ended(folder).status == "stopped"


@pytest.fixture
def lab(tmp_path: Path, bystander: RunFolder) -> Lab:
    assert status(bystander) == "running"
    return Lab(tmp_path)


def test_stop_ends_workers_that_ignore_signals_and_their_helpers(lab: Lab) -> None:
    """Case L01: helpers in the rank's session and in one of their own."""
    folder = lab.launch("stubborn", STUBBORN)
    known = lab.pids("stubborn")
    assert len(alive(known)) == 7
    until(lambda: status(folder) == "running", "running")
    assert request_stop(folder)
    manifest = ended(folder)
    assert alive(known) == []
    assert manifest.status == "stopped"
    assert [event["signal"] for event in events(folder, "signal")][:3] == ["SIGINT", "SIGTERM", "SIGKILL"]
    assert manifest.exit_codes == {0: -9, 1: -9}
    assert manifest.summary.startswith("Stopped; ")


def test_forced_stop_does_not_wait(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RIDGELINE_GRACE_S", "600")
    folder = lab.launch("forced", STUBBORN)
    known = lab.pids("forced")
    request_stop(folder)
    until(lambda: events(folder, "signal"), "the first signal")
    request_stop(folder, now=True)
    assert ended(folder).status == "stopped"
    assert alive(known) == []
    assert [event["why"] for event in events(folder, "signal")][:2] == ["stop", "kill"]


GRACEFUL = (
    WORKER
    + REPORT
    + """
try:
    time.sleep(600)
except KeyboardInterrupt:
    time.sleep(0.2)
    print('saved', flush=True)
    raise SystemExit(0)
"""
)


def test_graceful_script_gets_one_interrupt_and_the_time_to_save(
    lab: Lab, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RIDGELINE_GRACE_S", "60")
    folder = lab.launch("graceful", GRACEFUL)
    known = lab.pids("graceful")
    request_stop(folder)
    manifest = ended(folder)
    assert (manifest.status, manifest.summary) == ("stopped", "Stopped")
    assert [event["signal"] for event in events(folder, "signal")] == ["SIGINT"]
    for rank in range(2):
        assert folder.log_file(rank, "out").read_text() == "saved\n"
        assert "Traceback" not in folder.log_file(rank, "err").read_text()
    assert manifest.exit_codes == {0: 0, 1: 0}
    assert alive(known) == []


def test_stop_during_start_and_stop_twice(lab: Lab) -> None:
    """Case L23."""
    folder = lab.launch("hasty", SLEEP)
    assert request_stop(folder)
    assert request_stop(folder) in (True, False)
    manifest = ended(folder)
    assert manifest.status == "stopped"
    assert not request_stop(folder)
    assert processes.carriers("RIDGELINE_RUN_DIR").get(str(folder.path), []) == []


def test_killed_torchrun_leaves_no_orphan(lab: Lab) -> None:
    folder = lab.launch("orphans", STUBBORN)
    known = lab.pids("orphans")
    launcher = folder.read().launcher
    assert launcher is not None
    assert processes.send_signal(launcher, signal.SIGKILL)
    manifest = ended(folder)
    assert alive(known) == []
    assert (manifest.status, manifest.launcher_exit_code) == ("failed", -9)
    assert manifest.exit_codes == {0: -9, 1: -9}
    assert {event["why"] for event in events(folder, "signal")} == {"orphans"}


def test_a_stop_that_comes_after_the_failure_does_not_hide_it(lab: Lab) -> None:
    folder = lab.launch("late", STUBBORN)
    known = lab.pids("late")
    launcher = folder.read().launcher
    assert launcher is not None
    assert processes.send_signal(launcher, signal.SIGKILL)
    until(lambda: events(folder, "signal"), "clean-up of the ranks that outlive torchrun")
    request_stop(folder)
    manifest = ended(folder)
    assert alive(known) == []
    assert (manifest.status, manifest.summary.partition(" (")[0]) == ("failed", "torchrun killed by signal 9")


KILLED = WORKER + REPORT + "os.kill(os.getpid(), 9) if os.environ['RANK'] == '1' else time.sleep(600)\n"


def test_rank_that_is_killed_ends_the_job_and_is_named(lab: Lab) -> None:
    """Case L07."""
    folder = lab.launch("killed", KILLED)
    manifest = ended(folder)
    assert manifest.status == "failed"
    assert manifest.exit_codes == {0: -15, 1: -9}
    assert manifest.summary == "Rank 1 killed by signal 9 (often out of memory)"
    assert events(folder, "signal") == []


WARNS = (
    WORKER
    + REPORT
    + """
import warnings
warnings.warn('the process group was not destroyed')
print('Step 0 | Loss: 1.0')
while not os.path.exists('go'):
    time.sleep(0.05)
raise SystemExit(int(sys.argv[2]) if len(sys.argv) > 2 else 0)
"""
)


def test_two_jobs_side_by_side_on_taken_ports(lab: Lab) -> None:
    """Cases L03, L04, L05, L25: one is stopped, the other ends by itself, warnings and all."""
    taken = []
    for port in (29500, 29400):
        with_port = socket.socket()
        with_port.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            with_port.bind(("0.0.0.0", port))
            with_port.listen()
        except OSError:
            pass  # somebody else holds it, which is as good
        taken.append(with_port)
    first = lab.launch("first", SLEEP)
    second = lab.launch("second", WARNS)
    first_pids, second_pids = lab.pids("first"), lab.pids("second")
    request_stop(first)
    assert ended(first).status == "stopped"
    assert alive(first_pids) == []
    assert len(alive(second_pids)) == len(second_pids)
    (lab.work / "go").touch()
    manifest = ended(second)
    assert (manifest.status, manifest.exit_codes) == ("done", {0: 0, 1: 0})
    assert manifest.summary == "All 2 ranks ended with exit code 0"
    assert "Loss: 1.0" in second.log_file(0, "out").read_text()
    assert "not destroyed" in second.log_file(1, "err").read_text()
    assert first.log_file(0, "out").read_text() == ""
    for held in taken:
        held.close()


def test_exit_code_after_all_is_well(lab: Lab) -> None:
    """Case L25."""
    (lab.work / "go").touch()
    job = lab.job("three", WARNS, ranks=1)
    folder = launch(replace(job, arguments=("three", "3")), lab.store)
    manifest = ended(folder)
    assert (manifest.status, manifest.exit_codes, manifest.launcher_exit_code) == ("failed", {0: 3}, 1)
    assert manifest.summary == "Rank 0 ended with exit code 3"


def test_foreign_core_on_the_path_is_the_job_s_and_not_ours(
    lab: Lab, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The user's project has a package named core; the supervisor starts all the same."""
    for name in ("core", "gui"):
        package = tmp_path / "theirs" / name
        package.mkdir(parents=True)
        (package / "__init__.py").write_text("WHO = 'theirs'\n")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path / "theirs"))
    monkeypatch.setenv("PYTHONSAFEPATH", "1")
    folder = lab.launch("foreign", WORKER + REPORT + "import core\nprint(core.WHO)\n", ranks=1)
    assert ended(folder).summary == "1 rank ended with exit code 0"
    assert folder.log_file(0, "out").read_text() == "theirs\n"


LEFTOVER = (
    WORKER
    + """
child = subprocess.Popen(['sleep', '600'], start_new_session=True)
pids.append(child.pid)
"""
    + REPORT
    + "os._exit(0)\n"
)


def test_daemon_that_a_finished_job_leaves_is_ended(lab: Lab) -> None:
    folder = lab.launch("leftover", LEFTOVER, ranks=1)
    known = lab.pids("leftover", ranks=1)
    manifest = ended(folder)
    assert (manifest.status, manifest.exit_codes) == ("done", {0: 0})
    assert alive(known) == []
    assert [event["why"] for event in events(folder, "signal")] == ["orphans"]


def test_killed_supervisor_and_what_it_left(lab: Lab) -> None:
    """Case L02: found by pid and creation time, ended on request, exactly those."""
    folder = lab.launch("left", STUBBORN)
    known = lab.pids("left")
    until(lambda: status(folder) == "running", "running")
    assert left_behind(lab.store) == []
    supervisor, launcher = folder.read().supervisor, folder.read().launcher
    assert supervisor is not None
    assert launcher is not None
    os.kill(supervisor.pid, signal.SIGKILL)
    until(lambda: status(folder) == "lost", "loss of the supervisor")
    os.kill(launcher.pid, signal.SIGKILL)
    until(lambda: alive([launcher]) == [], "end of torchrun")
    assert len(alive(known)) == 6
    (item,) = left_behind(lab.store)
    assert item.folder.id == folder.id
    assert sorted(process.pid for process in item.processes) == sorted(alive(known))
    assert end_left_behind(item) == ()
    assert alive(known) == []
    assert left_behind(lab.store) == []
    assert folder.read().status == "lost"
    assert folder.read().summary == "The supervisor ended unexpectedly; 6 processes were ended later"


def test_handed_cases(lab: Lab, shared_cases: Path) -> None:
    """Cases L01 and L07 as they were handed, side by side."""
    folders = {}
    for case in ("L01_stubborn", "L07_rank_killed"):
        job = replace(lab.job(case, ""), target=str(shared_cases / f"{case}.py"), arguments=())
        folders[case] = launch(job, lab.store)
    stubborn, killed = folders.values()
    logs = [stubborn.log_file(rank, "out") for rank in (0, 1)]
    until(lambda: all(log.exists() and b"Loss" in log.read_bytes() for log in logs), "words of L01")
    assert ended(killed).summary.startswith("Rank 1 killed by signal 9 (often out of memory)")
    assert killed.read().exit_codes[1] == -9
    words = [word for log in logs for word in log.read_text().split()]
    pids = [int(words[i + 1]) for i, word in enumerate(words) if word in ("pid", "helper")]
    known = [process for pid in pids if (process := processes.identity(pid)) is not None]
    assert len(known) == 4
    request_stop(stubborn)
    assert ended(stubborn).status == "stopped"
    assert alive(known) == []


PROBE = (
    WORKER
    + """
mask = os.umask(0o22)
try:
    os.close(os.open('/dev/tty', os.O_RDWR))
    terminal = True
except OSError:
    terminal = False
facts = {
    'pids': pids,
    'arguments': sys.argv[2:],
    'cwd': os.getcwd(),
    'umask': mask,
    'interrupt': signal.getsignal(signal.SIGINT) is signal.default_int_handler,
    'blocked': len(signal.pthread_sigmask(signal.SIG_BLOCK, ())),
    'files': sorted(os.readlink('/proc/self/fd/' + fd) for fd in os.listdir('/proc/self/fd')[:-1]),
    'terminal': terminal,
    'value': os.environ['VALUE'],
    'run': os.environ['RIDGELINE_RUN_DIR'],
}
with open(here + '.tmp', 'w') as file:
    json.dump(facts, file)
os.rename(here + '.tmp', here)
while not os.path.exists('go'):
    time.sleep(0.05)
"""
)
DRIVER = """
import fcntl, json, os, signal, sys, termios, time
sys.path.insert(0, sys.argv[1])
import msgspec
from pathlib import Path
from core.launch.client import launch
from core.runs.job import JobSpec
from core.runs.store import RunStore
fcntl.ioctl(0, termios.TIOCSCTTY, 0)
signal.signal(signal.SIGHUP, signal.SIG_DFL)  # whoever runs the tests under nohup hands SIG_IGN down
signal.signal(signal.SIGINT, signal.SIG_IGN)
signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGTERM, signal.SIGUSR2])
os.umask(0o027)
os.set_inheritable(os.open(sys.argv[3], os.O_RDONLY), True)
job = msgspec.json.decode(sys.argv[2], type=JobSpec)
folder = launch(job, RunStore(Path(sys.argv[4])))
print('launched', folder.path, flush=True)
time.sleep(600)
"""


def test_job_outlives_window_and_terminal_and_gets_nothing_of_them(lab: Lab, tmp_path: Path) -> None:
    """The starting process ignores and blocks signals, holds files open, and dies with its terminal."""
    import msgspec

    awkward = ("a b", 'quo"te', "$HOME", ";x", "日本", "--nnodes=3", "-x", "")
    job = lab.job("probe", PROBE, ranks=1)
    job = replace(job, arguments=("probe", *awkward), environment={"VALUE": "$A `b` ; 日本"})
    secret = tmp_path / "open in the window"
    secret.write_text("x")
    master, slave = pty.openpty()
    words = [str(ROOT), msgspec.json.encode(job).decode(), str(secret), str(lab.store.root)]
    driver = subprocess.Popen(
        [sys.executable, "-c", DRIVER, *words],
        stdin=slave,
        stdout=slave,
        stderr=slave,
        start_new_session=True,
        cwd="/",
    )
    os.close(slave)
    said = b""
    while b"\n" not in said:
        said += os.read(master, 4096)
    assert said.startswith(b"launched "), said
    os.close(master)
    assert driver.wait() == -signal.SIGHUP
    folder = lab.store.find(lab.store.list()[0].id)
    known = lab.pids("probe", ranks=1)
    facts = json.loads((lab.work / "probe.0").read_text())
    files = facts.pop("files")
    assert str(secret) not in files
    assert files.count("/dev/null") == 1
    assert not [name for name in files if "/dev/pt" in name or name == "socket"]
    assert facts == {
        "pids": facts["pids"],
        "arguments": list(awkward),
        "cwd": str(lab.work),
        "umask": 0o027,
        "interrupt": True,
        "blocked": 0,
        "terminal": False,
        "value": "$A `b` ; 日本",
        "run": str(folder.path),
    }
    until(lambda: status(folder) == "running", "running")
    assert len(alive(known)) == 2
    (lab.work / "go").touch()
    manifest = ended(folder)
    assert manifest.status == "done"
    assert manifest.argv[-len(awkward) :] == awkward
    for path in [folder.path, *folder.path.rglob("*")]:
        assert path.stat().st_mode & 0o077 == 0, path


@pytest.mark.parametrize("fault", ["ok", "hang"])
def test_gpus_are_sampled_while_the_job_lives(lab: Lab, monkeypatch: pytest.MonkeyPatch, fault: str) -> None:
    """A driver that hangs holds up neither the job nor its end. The driver is a fake one."""
    monkeypatch.setenv("PYTHONPATH", str(ROOT / "tests" / "helpers" / "fake_nvml"))
    monkeypatch.setenv("FAKE_NVML", fault)
    job = lab.job("gpus", WORKER + REPORT + "print(os.environ['CUDA_VISIBLE_DEVICES'])\ntime.sleep(600)\n", 1)
    folder = launch(replace(job, device="cuda", gpus=("GPU-00000002",)), lab.store)
    known = lab.pids("gpus", ranks=1)
    sampler = until(lambda: samplers(folder), "the sampler")
    if fault == "ok":
        until(lambda: folder.gpus_path.exists() and b'"gpus":[' in folder.gpus_path.read_bytes(), "a sample")
    assert folder.log_file(0, "out").read_text() == "GPU-00000002\n"
    request_stop(folder)
    assert ended(folder).status == "stopped"
    assert alive(known + sampler) == []
    recorded = [pid for event in events(folder, "processes") for pid, _ in event["started"]]
    assert not {process.pid for process in sampler} & set(recorded)


def samplers(folder: RunFolder) -> list[ProcessIdentity]:
    supervisor = folder.read().supervisor
    assert supervisor is not None
    return [
        process
        for process in processes.descendants(supervisor.pid)
        if b"_sample-gpus" in Path(f"/proc/{process.pid}/cmdline").read_bytes()
    ]


def test_a_gpu_sampler_that_dies_is_missed(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its last figures would look like those of now. That it is ended with the job is no news."""
    monkeypatch.setenv("PYTHONPATH", str(ROOT / "tests" / "helpers" / "fake_nvml"))
    monkeypatch.setenv("FAKE_NVML", "ok")
    folders = [launch(replace(lab.job(name, SLEEP, 1), device="cuda"), lab.store) for name in ("a", "b")]
    for name in ("a", "b"):
        lab.pids(name, ranks=1)
    (victim,) = until(lambda: samplers(folders[0]), "the sampler")
    assert processes.send_signal(victim, signal.SIGKILL)
    until(lambda: events(folders[0], "supervisor_problem"), "a word on it")
    for folder in folders:
        request_stop(folder)
        ended(folder)
    said = [[event["message"] for event in events(folder, "supervisor_problem")] for folder in folders]
    assert said == [
        ["GPU figures stand still from here on: sampler killed by signal 9 (often out of memory)."],
        [],
    ]


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 1 MiB."""
    folder = tmp_path / "disk"
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(folder)]
    if os.geteuid() != 0 or subprocess.run(mount, capture_output=True, check=False).returncode != 0:
        pytest.skip("a small file system cannot be mounted here")
    yield folder
    # Whoever wrote there may be about to end: it is busy until then.
    end_s = time.monotonic() + 10
    while subprocess.run(["umount", str(folder)], capture_output=True, check=False).returncode != 0:
        assert time.monotonic() < end_s, "somebody still uses the full disk"
        time.sleep(0.2)


def test_full_disk_ends_no_job_and_can_be_stopped(lab: Lab, small_disk: Path) -> None:
    """Records are lost and counted, the job is not; a stop arrives although it cannot be written."""
    store = RunStore(small_disk / "runs")
    folder = launch(lab.job("full", SLEEP), store)
    known = lab.pids("full")
    until(lambda: status(folder) == "running", "running")
    filler = small_disk / "filler"
    with open(filler, "wb", buffering=0) as file:
        for size in (65536, 512, 1):
            try:
                while file.write(b"x" * size):
                    pass
            except OSError:
                continue
    time.sleep(0.5)
    assert len(alive(known)) == len(known)
    assert request_stop(folder)
    until(lambda: alive(known) == [], "end of the ranks")
    filler.unlink()
    assert ended(folder).status == "stopped"
    assert events(folder, "supervisor_problem")
    sequence = [json.loads(line)["seq"] for line in folder.supervisor_path.read_bytes().splitlines() if line]
    assert sequence == sorted(set(sequence))


def test_interpreter_that_vanished_after_the_check(lab: Lab) -> None:
    job = replace(lab.job("gone", SLEEP), interpreter=str(lab.work / "no python"))
    manifest = ended(launch(job, lab.store))
    assert manifest.status == "failed"
    assert manifest.summary.startswith(f"{lab.work}/no python cannot be started: ")
