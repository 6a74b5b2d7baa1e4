"""What the commands print: tables, plain lines, lists, devices; from snapshots and stores made here."""

from __future__ import annotations

import io
import json
import os
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from rich.console import Console

from core.cli import demo
from core.cli import launch as cli_launch
from core.cli.arguments import split_launch
from core.cli.demo import render_pages
from core.cli.devices import as_object, environment_problems
from core.cli.figures import planned_steps
from core.cli.follow import follow
from core.cli.launch import make_choice, run_launch
from core.cli.live import LiveDisplay, render
from core.cli.plain import PlainDisplay, figures_line
from core.cli.runs import list_runs, stop
from core.cli.summary import write_summary
from core.errors import DashboardError
from core.hardware.metal_probe import MetalDevices
from core.hardware.probe import Devices
from core.hardware.readings import GpuInfo, GpuReading
from core.hardware.vulkan import VulkanDevices
from core.launch.preflight import Preflight
from core.runs.capture_start import common_first_step
from core.runs.job import JobSpec
from core.runs.manifest import Host, Manifest, ProcessIdentity, write_manifest
from core.runs.snapshot import Alert, RankState, RankStatus, RunSnapshot, Series
from core.runs.store import RunFolder, RunStore, default_store

if TYPE_CHECKING:
    from pathlib import Path

GIB = 2**30
SECOND_NS = 1_000_000_000


def job(**changes: Any) -> JobSpec:
    spec = JobSpec(
        title="tiny",
        target="train.py",
        interpreter="/usr/bin/python3",
        working_folder="/",
        ranks=2,
        preset="tiny",
    )
    return replace(spec, arguments=("--steps", "200", "--steps", "40"), **changes)


def series(*values: float) -> Series:
    return Series(x=np.arange(len(values), dtype=np.float64), y=np.array(values))


def snapshot(*ranks: RankState, **changes: Any) -> RunSnapshot:
    spec = changes.pop("job", job())
    manifest = Manifest(
        schema=1,
        id="20261129-120000-tiny-0001",
        job=spec,
        host=Host(name="here", platform="Linux", cpu_count=2, memory_bytes=8 * GIB),
        created_ns=0,
        started_ns=10 * SECOND_NS,
        ended_ns=84 * SECOND_NS,
        status=changes.pop("status", "done"),
    )
    fields: dict[str, Any] = {
        "version": 1,
        "manifest": manifest,
        "alive": False,
        "headline": "Training: step 29",
        "ranks": ranks or tuple(rank(number) for number in range(2)),
        "alerts": (),
        "series": {
            "loss": {0: series(6.9, 2.5), 1: series(7.0, float("nan"))},
            "resident": {0: series(0.5, 0.75)},
        },
    }
    return RunSnapshot(**(fields | changes))


def rank(number: int, **changes: Any) -> RankState:
    state = RankState(
        rank=number,
        status=RankStatus.RUNNING,
        step=29,
        loss=2.5 + number,
        step_time_ns=108_200_000,
        resident_bytes=GIB // 2,
    )
    return replace(state, **changes)


def drawn(shown: RunSnapshot, most_rows: int = 20) -> str:
    console = Console(file=io.StringIO(), width=110, markup=False, highlight=False, color_system=None)
    console.print(render(shown, "Ctrl+C stops the job", most_rows))
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


def test_live_table_has_a_row_a_rank_with_units() -> None:
    lines = drawn(snapshot()).splitlines()
    assert lines[0].startswith("01:14  Training: step 29")
    assert "30 of 40 steps" in lines[1]
    assert lines[2].split() == ["rank", "state", "step", "loss", "step", "ms", "resident", "GiB"]
    assert lines[3].split() == ["0", "running", "29", "2.5000", "108.2", "0.50"]
    assert lines[-1].strip() == "Ctrl+C stops the job"


def test_planned_steps_of_a_preset_are_the_ones_that_the_script_will_read() -> None:
    """The words behind ``--preset tiny`` come after its own flags, with an equals sign or without."""
    asked = replace(job(), arguments=("--steps", "200", "--steps=50"))
    assert planned_steps(asked) == 50
    assert "30 of 50 steps" in drawn(snapshot(job=asked))
    assert planned_steps(replace(asked, preset=None)) is None


def test_live_table_on_gpus_tells_three_memories_and_the_limits_of_a_card_apart() -> None:
    """Case M01: allocated, reserved, the driver's figure; and the device's in its own table."""
    gpu = GpuReading(
        index=0,
        uuid="GPU-0",
        name="H100",
        total_bytes=80 * GIB,
        used_bytes=10 * GIB,
        utilization_pct=50.0,
        throttle_reasons=["Idle", "SW Power Cap"],
    )
    ranks = [rank(0, allocated_bytes=4 * GIB, reserved_bytes=6 * GIB, driver_bytes=None)]
    lines = drawn(snapshot(*ranks, job=job(device="cuda"), gpus=(gpu,))).splitlines()
    assert lines[3].split()[-3:] == ["4.00", "6.00", "n/a"]
    (row,) = [line.split() for line in lines if "SW Power Cap" in line]
    assert row[:6] == ["0", "10.00", "80.00", "50", "n/a", "n/a"]
    assert "Idle" not in row


def test_live_table_shows_ranks_in_trouble_first_when_there_are_many() -> None:
    ranks = [rank(number) for number in range(64)]
    ranks[50] = rank(50, status=RankStatus.SILENT)
    text = drawn(snapshot(*ranks), most_rows=4)
    assert text.splitlines()[3].split()[:2] == ["50", "silent"]
    assert "and 60 more ranks" in text


def test_live_table_shows_the_gravest_alerts_where_there_are_more_than_fit() -> None:
    """A snapshot names the gravest first; warnings of a library must not push the error out of sight."""
    warnings = [Alert(key=f"w{n}", level="warn", t_ns=0, message=f"a library warns {n}") for n in range(5)]
    error = Alert(key="oom-1", level="error", t_ns=0, message="Rank 1 ran out of memory")
    text = drawn(snapshot(alerts=(error, *warnings)))
    assert "error: Rank 1 ran out of memory" in text
    assert text.count("a library warns") == 2


def test_text_of_a_job_is_never_interpreted() -> None:
    """Case G14 in the terminal: no markup, no control characters."""
    nasty = "[red]x[/red] \x1b[31m <b>hi</b> :smile:"
    alert = Alert(key="a", level="error", t_ns=0, message=nasty)
    text = drawn(snapshot(headline=nasty, alerts=(alert,)))
    assert text.count("[red]x[/red] \\x1b[31m <b>hi</b> :smile:") == 2
    assert "\x1b" not in text


def test_live_display_leaves_the_last_table() -> None:
    console = Console(file=io.StringIO(), width=100, force_terminal=True, markup=False, color_system=None)
    display = LiveDisplay(console)
    display.show(snapshot(), "note")
    display.close()
    assert isinstance(console.file, io.StringIO)
    assert "running" in console.file.getvalue()


def test_plain_lines_tell_what_is_new_once(capsys: pytest.CaptureFixture[str]) -> None:
    display = PlainDisplay()
    first = snapshot()
    alert = Alert(key="nan 1", level="warn", t_ns=0, message="Rank 1: NaN loss at step 2")
    second = snapshot(alerts=(alert,), version=2)
    later = snapshot(headline="Training: step 30", version=2)
    for shown in (first, first, later, second, second):
        display.show(shown, "Ctrl+C stops the job")
    display.show(second, "stopping; Ctrl+C again kills it")
    assert capsys.readouterr().out.splitlines() == [
        "01:14  Training: step 29  step 29 (30 of 40)  loss 2.500 to 3.500  step time 108.2 ms  "
        "resident 0.50 to 0.50 GiB",
        "01:14  warn: Rank 1: NaN loss at step 2",
        "01:14  stopping; Ctrl+C again kills it",
    ]


def test_plain_figures_show_a_nan_and_no_figures_before_the_first_step() -> None:
    assert "loss NaN" in figures_line(snapshot(rank(0), rank(1, loss=float("nan"))))
    assert figures_line(snapshot(rank(0, step=None))) == ""


def test_summary_tells_first_and_last_loss_and_peak(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_summary(RunFolder(tmp_path), snapshot(), "done")
    lines = capsys.readouterr().out.splitlines()
    assert lines[1] == "done after 01:14: Training: step 29"
    assert lines[3].split() == ["0", "running", "29", "6.9000", "2.5000", "0.75"]
    assert lines[4].split() == ["1", "running", "29", "7.0000", "NaN", "n/a"]
    assert lines[-1] == f"Everything is in {tmp_path}"


def test_summary_takes_no_peak_of_a_log_for_resident_memory(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Case M17: "Peak VRAM/GPU: 12.34 GB" is what the script says, not what was measured."""
    write_summary(RunFolder(tmp_path), snapshot(rank(0), rank(1, peak_bytes=12_340_000_000)), "done")
    lines = capsys.readouterr().out.splitlines()
    assert lines[3].endswith(" 0.75")
    assert lines[4].endswith(" 11.49 (by its log)")


def test_summary_of_a_failure_holds_the_frames_of_the_rank_that_failed_first(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Case L08: others raise too, because the connection is gone."""
    message = "Rank 1 raised ValueError at step 4: label 32001"
    follower = rank(0, status=RankStatus.STOPPED, traceback="RuntimeError: Connection closed by peer")
    failed = rank(1, status=RankStatus.FAILED, traceback='File "train.py", line 3\nValueError: label 32001')
    alert = Alert(key="failure", level="error", t_ns=0, message=message)
    ended = snapshot(follower, failed, status="failed", headline=message, alerts=(alert,))
    write_summary(RunFolder(tmp_path), ended, "failed")
    text = capsys.readouterr().out
    assert f"failed after 01:14: {message}" in text
    assert 'rank 1:\n  File "train.py", line 3\n  ValueError: label 32001\n' in text
    assert "Connection closed" not in text
    assert text.count(message) == 1, "the alert says nothing new"


def test_summary_shows_no_frames_of_others_where_a_rank_was_killed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Case L07: the killed rank left no traceback."""
    follower = rank(0, status=RankStatus.STOPPED, traceback="RuntimeError: Connection closed by peer")
    ended = snapshot(follower, rank(1, status=RankStatus.FAILED), headline="Rank 1 killed by signal 9")
    write_summary(RunFolder(tmp_path), ended, "failed")
    assert "Connection closed" not in capsys.readouterr().out


def test_runs_are_listed_newest_first(capsys: pytest.CaptureFixture[str]) -> None:
    store = default_store()
    older = store.create(job(title="older"))
    newer = store.create(job(title="newer"))
    list_runs(as_json=True, limit=None)
    found = json.loads(capsys.readouterr().out)
    assert {entry["id"] for entry in found} == {older.id, newer.id}
    assert found == sorted(found, key=lambda entry: str(entry["id"]), reverse=True)
    assert found[0].keys() >= {"id", "status", "ranks", "started", "script"}
    assert (found[0]["ranks"], found[0]["script"]) == (2, "train.py")
    assert found[0]["started"].endswith("Z")
    list_runs(as_json=False, limit=1)
    header, row = capsys.readouterr().out.splitlines()
    assert header.split()[:3] == ["id", "status", "ranks"]
    assert row.split()[0] == found[0]["id"]


def test_traces_of_all_ranks_begin_at_one_step_that_none_has_reached() -> None:
    """0.5 s to read the request, at 108.2 ms a step, is 5 steps; 2 more, as ranks may be one apart."""
    assert common_first_step(snapshot(rank(0, step=10), rank(1, step=11))) == 11 + 2 + 5
    assert common_first_step(snapshot(rank(0, step=None))) is None


def test_broken_run_is_told_and_the_list_goes_on(capsys: pytest.CaptureFixture[str]) -> None:
    store = RunStore(default_store().root)
    broken = store.create(job(title="broken"))
    whole = store.create(job(title="whole"))
    broken.manifest_path.write_text("{")
    list_runs(as_json=False, limit=None)
    text = capsys.readouterr().out
    assert whole.id in text
    assert f"skipped {broken.id}: " in text
    list_runs(as_json=True, limit=None)
    assert [entry["id"] for entry in json.loads(capsys.readouterr().out)] == [whole.id]


def test_names_with_odd_bytes_are_listed_and_survive_as_json(capsys: pytest.CaptureFixture[str]) -> None:
    store = RunStore(default_store().root)
    target = os.fsdecode(b"/data/caf\xe9 \xc3\xa9/train.py")
    folder = store.create(replace(job(), target=target))
    folder.path.rename(folder.path.with_name("odd\x1b[31m\nname"))
    list_runs(as_json=False, limit=None)
    _, row = capsys.readouterr().out.splitlines()
    assert row.startswith(r"odd\x1b[31m\nname ")
    list_runs(as_json=True, limit=None)
    text = capsys.readouterr().out
    assert text.isascii()
    (entry,) = json.loads(text)
    assert (entry["id"], entry["script"]) == ("odd\x1b[31m\nname", target)


def test_damaged_run_is_not_said_to_be_stopped() -> None:
    folder = RunStore(default_store().root).create(job())
    folder.manifest_path.write_text("{")
    with pytest.raises(DashboardError, match="is damaged"):
        stop(folder, now=False)


def test_lost_run_took_as_long_as_its_last_sign_tells(capsys: pytest.CaptureFixture[str]) -> None:
    """Nobody wrote when it ended; that it is looked at now does not make it longer."""
    last_sign_ns = 25 * SECOND_NS
    lost = snapshot(rank(0, last_sign_ns=last_sign_ns), rank(1), status="running")
    lost = replace(lost, manifest=replace(lost.manifest, ended_ns=None))
    write_summary(default_store().create(job()), lost, lost.status)
    assert capsys.readouterr().out.splitlines()[1].startswith("lost after 00:15:")


def test_lost_run_outside_the_store_is_named_by_its_path(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = RunStore(tmp_path / "my runs").create(job())
    manifest = replace(
        folder.read(),
        status="running",
        supervisor=ProcessIdentity(pid=1, create_time_s=0.0, boot_id="another boot"),
    )
    write_manifest(folder.path, manifest)
    assert follow(folder, owner=False) == 3
    assert f"`stop '{folder.path}'` ends them" in capsys.readouterr().out


def gpus(count: int, name: str = "H100") -> tuple[GpuInfo, ...]:
    return tuple(
        GpuInfo(index=i, uuid=f"GPU-{i:08d}", name=name, pci_bus_id=f"00000000:{i:02d}:00.0")
        for i in range(count)
    )


def test_script_takes_a_rank_a_gpu_and_the_active_python(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    python = tmp_path / "venv" / "bin" / "python"
    python.parent.mkdir(parents=True)
    python.write_text("")
    python.chmod(0o755)
    monkeypatch.chdir(tmp_path)
    words = split_launch("main.py", ["--env", "A=1", "my train.py", "--lr", "$x;"])
    devices = Devices(gpus=gpus(4))
    environment = {"CUDA_VISIBLE_DEVICES": "2,0", "VIRTUAL_ENV": str(tmp_path / "venv")}
    spec = make_choice(words, devices, environment).spec
    assert (spec.device, spec.ranks) == ("cuda", 2)
    assert spec.interpreter == str(python)
    assert spec.target == str(tmp_path / "my train.py")
    assert spec.arguments == ("--lr", "$x;")
    assert spec.environment == {"A": "1"}
    assert spec.working_folder == str(tmp_path)
    assert spec.title == "my train.py"


def test_script_without_a_gpu_runs_on_one_cpu_rank() -> None:
    spec = make_choice(split_launch("main.py", ["-m", "pkg.train"]), Devices(), {}).spec
    assert (spec.device, spec.ranks, spec.target, spec.is_module) == ("cpu", 1, "pkg.train", True)


def test_preset_with_options_and_arguments() -> None:
    words = split_launch("main.py", ["--preset", "tiny", "--nproc", "3", "--device", "cpu", "--steps", "7"])
    choice = make_choice(words, Devices(gpus=gpus(4)), {})
    assert (choice.spec.preset, choice.spec.ranks, choice.spec.device) == ("tiny", 3, "cpu")
    assert choice.spec.arguments[-2:] == ("--steps", "7")
    assert "3 CPU ranks" in choice.why


@pytest.mark.parametrize("target", [["train.py"], ["--preset", "seed"], []])
def test_named_gpus_are_used_one_a_rank(target: list[str]) -> None:
    words = split_launch("main.py", ["--gpus", "2, 0", *target])
    spec = make_choice(words, Devices(), {}).spec
    assert (spec.device, spec.ranks, spec.gpus) == ("cuda", 2, ("2", "0"))


def test_named_gpus_and_the_cpu_contradict_each_other() -> None:
    words = split_launch("main.py", ["--gpus", "0", "--device", "cpu", "train.py"])
    with pytest.raises(DashboardError, match="--device cpu hides them"):
        make_choice(words, Devices(gpus=gpus(1)), {})


def test_unknown_preset_is_refused() -> None:
    with pytest.raises(DashboardError) as caught:
        make_choice(split_launch("main.py", ["--preset", "huge"]), Devices(), {})
    assert caught.value.message == "There is no preset huge."
    assert "seed, tiny" in caught.value.hint


def launch_with_a_cpu_torch(monkeypatch: pytest.MonkeyPatch) -> list[JobSpec]:
    """A machine of 4 GPUs with a torch that cannot use them; returns what is started there."""
    started: list[JobSpec] = []

    def check(spec: JobSpec, **_: Any) -> Preflight:
        if spec.device == "cuda":
            raise DashboardError("PyTorch 2.13.0+cpu was built without CUDA.", "Choose device cpu.")
        return Preflight(python="3.11.7", torch="2.13.0+cpu", cuda=None, nccl=None, gloo=True, gpu_count=0)

    def start(spec: JobSpec, store: RunStore, **_: Any) -> RunFolder:
        started.append(spec)
        return store.create(spec)

    for module in (cli_launch, demo):
        monkeypatch.setattr(module, "detect_devices", lambda: Devices(gpus=gpus(4)))
    monkeypatch.setattr(demo, "follow", lambda *_, **__: 1)
    monkeypatch.setattr(cli_launch, "run_preflight", check)
    monkeypatch.setattr(cli_launch, "launch", start)
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    return started


def test_one_click_falls_back_to_cpu_ranks_as_the_window_does(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    started = launch_with_a_cpu_torch(monkeypatch)
    assert run_launch(split_launch("main.py", ["--detach", "--title", "mine"])) == 0
    demo.run_demo(str(tmp_path), 9)
    said = "4 GPUs found, but torch 2.13.0+cpu is built without CUDA: the tiny model on 4 CPU ranks (gloo)."
    assert capsys.readouterr().out.splitlines().count(said) == 2
    assert [(spec.preset, spec.device, spec.ranks) for spec in started] == [("tiny", "cpu", 4)] * 2
    assert started[1].arguments[-2:] == ("--steps", "9")
    assert started[0].title == "mine"


@pytest.mark.parametrize("said", [["--device", "cuda"], ["--preset", "seed"], ["--gpus", "0"]])
def test_what_was_asked_for_on_gpus_is_refused_without_cuda(
    monkeypatch: pytest.MonkeyPatch, said: list[str]
) -> None:
    started = launch_with_a_cpu_torch(monkeypatch)
    with pytest.raises(DashboardError, match="built without CUDA"):
        run_launch(split_launch("main.py", said))
    assert started == []


def test_hidden_gpus_and_an_open_order_are_problems() -> None:
    devices = Devices(gpus=(*gpus(1, "H100"), *gpus(2, "RTX 4090")[1:]))
    problems = environment_problems(devices, {"CUDA_VISIBLE_DEVICES": "1"})
    assert [problem.code for problem in problems] == ["gpus_hidden", "gpu_order"]
    assert "hides 1 of 2 GPUs" in problems[0].message
    assert environment_problems(devices, {"CUDA_DEVICE_ORDER": "PCI_BUS_ID"}) == []


def test_devices_as_an_object_keep_facts_and_figures_apart() -> None:
    reading = GpuReading(index=0, uuid="GPU-00000000", name="H100", total_bytes=80 * GIB, used_bytes=0)
    devices = Devices(gpus=gpus(1), readings=(reading,), driver="575.1", cuda="12.9")
    found = as_object(devices, VulkanDevices(), MetalDevices(), [])
    assert found["vulkan"] == []
    (gpu,) = json.loads(json.dumps(found["gpus"]))
    assert (gpu["index"], gpu["name"], gpu["now"]["used_bytes"], gpu["now"]["fan_pct"]) == (
        0,
        "H100",
        0,
        None,
    )
    assert "uuid" not in gpu["now"]


def test_demo_says_so_where_qt_cannot_start(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The run was whole, so only the pictures are missing."""
    broken = tmp_path / "broken" / "PySide6"
    broken.mkdir(parents=True)
    (broken / "__init__.py").write_text("raise ImportError('libGL.so.1: cannot open shared object file')\n")
    monkeypatch.setenv("PYTHONPATH", str(broken.parent))
    assert render_pages(default_store().create(job()), tmp_path) == 1
    lines = capsys.readouterr().out.splitlines()
    assert lines[1].startswith("error: The pages could not be rendered; the run itself is whole.")
    assert "libGL.so.1: cannot open shared object file" in lines[-1]
