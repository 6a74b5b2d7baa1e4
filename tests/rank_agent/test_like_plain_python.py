"""A script under the agent behaves as under plain Python, on every Python found.

The same small script is run twice, without and with the agent; exit status, output
and what it sees of its own start must be equal.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from core.runs.identity import identity
from core.telemetry.events import RankEvent, RankStarted
from core.telemetry.tail import EventTail
from tests.helpers.interpreters import Interpreter, plain_interpreters
from tests.helpers.torchrun import of_kind, read_rank, run_alone

SHOW = '''
"""What a script sees of its own start."""
import json, sys
main = sys.modules["__main__"]
print(json.dumps({
    "argv": sys.argv, "orig_argv": getattr(sys, "orig_argv", [])[1:], "path": sys.path,
    "names": sorted(name for name in vars(main) if name.startswith("__")),
    "file": __file__, "name": __name__, "package": __package__, "doc": __doc__,
    "spec": getattr(__spec__, "name", None), "loader": type(__loader__).__name__,
    "is_main": vars(main) is globals(), "builtins": type(__builtins__).__name__,
    "code": sys._getframe().f_code.co_filename, "modules": "core" in sys.modules,
}, indent=1))
'''

ENDS = {
    "returns": "print('done')",
    "raises": "def deep():\n    raise ValueError('label 32001 is out of range')\ndeep()",
    "chained": "try:\n    {}['a']\nexcept KeyError as error:\n    raise RuntimeError('second') from error",
    "in_context": "try:\n    1 / 0\nexcept ZeroDivisionError:\n    int('x')",
    "exits_3": "import sys; sys.exit(3)",
    "exits_text": "import sys; sys.exit('no data found')",
    "exits_none": "import sys; sys.exit()",
    "exits_hard": "import os; print('x', flush=True); os._exit(7)",
    "killed": "import os, signal; os.kill(os.getpid(), signal.SIGKILL)",
    "interrupted": "raise KeyboardInterrupt",
    "syntax_error": "x = = 1\n",
    "import_fails": "import broken_helper",
    "no_such_import": "import surely_not_installed_here",
    "own_excepthook": "import sys\nsys.excepthook = lambda *a: print('HOOK', a[0], a[2].tb_lineno)\n1 / 0",
    "at_exit": "import atexit; atexit.register(print, 'late'); raise SystemExit(4)",
    "thread_goes_on": "import threading, time\n"
    "threading.Thread(target=lambda: (time.sleep(0.1), print('thread'))).start()",
    "warns": "import warnings; warnings.warn('careful')",
    "not_utf8": "import os; os.write(1, b'caf\\xe9 \\xff\\n')",
    "recursion": "def f():\n    f()\nf()",
    "forked": "import os, sys\nif os.fork() == 0:\n    1 / 0\nos.wait()\nprint('parent')",
}

PYTHONS = [pytest.param(python, id=python.name) for python in plain_interpreters()]


def run_plain(python: Interpreter, target: list[str], cwd: Path) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run([python.path, *target], cwd=cwd, capture_output=True, timeout=60, check=False)


def comparable(text: bytes) -> bytes:
    """Leaves out the two things that the agent is known to change.

    Its frames take a few places of the recursion limit, and from Python 3.12 on a
    fork in ``__main__`` itself warns of the heartbeat thread.
    """
    text = re.sub(rb"repeated \d+ more", b"repeated N more", text)
    return re.sub(rb".*multi-threaded, use of fork.*\n.*\n", b"", text)


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A user's project: a script in a folder, a package, a zip, a link, an own ``core``."""
    folder = tmp_path / "project with 'quotes' und Ümlaut"
    for name in ("scripts", "package/inner", "folder", "core"):
        (folder / name).mkdir(parents=True)
    for name in ("scripts/show.py", "package/__main__.py", "package/inner/show.py", "folder/__main__.py"):
        (folder / name).write_text(SHOW)
    for name in ("package/__init__.py", "package/inner/__init__.py", "core/__init__.py"):
        (folder / name).touch()
    with zipfile.ZipFile(folder / "application.zip", "w") as archive:
        archive.write(folder / "folder/__main__.py", "__main__.py")
    (folder / "link.py").symlink_to("scripts/show.py")
    return folder


@pytest.mark.parametrize("python", PYTHONS)
def test_the_script_sees_the_same_start(python: Interpreter, project: Path, tmp_path: Path) -> None:
    targets = [
        ["scripts/show.py", "-m", "two words", "$HOME;", "-- x", "é"],
        [str(project / "scripts/show.py")],
        ["link.py"],
        ["folder", "a"],
        ["application.zip"],
        ["-m", "package", "--nproc", "2"],
        ["-m", "package.inner.show"],
    ]
    for number, target in enumerate(targets):
        run_dir = tmp_path / f"run{number}"
        plain = run_plain(python, target, project)
        ours = run_alone(target, run_dir, python=python.path, cwd=project)
        assert ours.returncode == plain.returncode == 0, plain.stderr
        assert (run_dir / "logs/0.out").read_bytes() == plain.stdout
        assert (run_dir / "logs/0.err").read_bytes() == plain.stderr
        assert ours.stdout + ours.stderr == ""


@pytest.mark.parametrize("python", PYTHONS)
def test_the_script_ends_the_same_way(python: Interpreter, tmp_path: Path) -> None:
    (tmp_path / "broken_helper.py").write_text("import json\nraise ImportError('helper is broken')\n")
    differences = []
    for name, text in ENDS.items():
        script = tmp_path / f"{name}.py"
        script.write_text(text)
        run_dir = tmp_path / f"run_{name}"
        plain = run_plain(python, [script.name], tmp_path)
        ours = run_alone([script.name], run_dir, python=python.path, cwd=tmp_path)
        said = [(run_dir / f"logs/0.{stream}").read_bytes() for stream in ("out", "err")]
        seen = (ours.returncode, *map(comparable, said))
        if seen != (plain.returncode, *map(comparable, (plain.stdout, plain.stderr))):
            differences.append((name, seen, plain))
    assert differences == []


@pytest.mark.parametrize("python", PYTHONS)
def test_a_target_that_is_not_there_is_refused_as_by_python(python: Interpreter, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    for number, (target, kind) in enumerate(
        [
            (["missing.py"], "FileNotFoundError"),
            (["empty"], "FileNotFoundError"),
            (["-m", "no_such_module_here"], "ModuleNotFoundError"),
            (["-m", "no_such_package.inner"], "ModuleNotFoundError"),
        ]
    ):
        run_dir = tmp_path / f"run{number}"
        plain = run_plain(python, target, tmp_path)
        ours = run_alone(target, run_dir, python=python.path, cwd=tmp_path)
        assert ours.returncode == plain.returncode != 0
        said = (run_dir / "logs/0.err").read_text()
        assert said.partition(": ")[2] == plain.stderr.decode().partition(": ")[2]
        records = read_rank(run_dir)
        assert [record["type"] for record in of_kind(records, "exception")] == [kind]
        assert of_kind(records, "end")[0]["exit_code"] == plain.returncode


def test_what_the_rank_file_says_of_an_end(tmp_path: Path) -> None:
    expected = {
        "returns": (None, 0),
        "raises": ("ValueError", 1),
        "chained": ("RuntimeError", 1),
        "exits_3": (None, 3),
        "exits_text": ("SystemExit", 1),
        "exits_none": (None, 0),
        "exits_hard": (None, None),
        "killed": (None, None),
        "interrupted": ("KeyboardInterrupt", -2),
        "syntax_error": ("SyntaxError", 1),
        "no_such_import": ("ModuleNotFoundError", 1),
        "at_exit": (None, 4),
        "forked": (None, 0),
    }
    for name, (kind, code) in expected.items():
        script = tmp_path / f"{name}.py"
        script.write_text(ENDS[name])
        run_alone([str(script)], tmp_path / name)
        records = read_rank(tmp_path / name)
        assert [record["type"] for record in of_kind(records, "exception")] == ([kind] if kind else [])
        assert [record["exit_code"] for record in of_kind(records, "end")] == ([] if code is None else [code])
        assert [record["seq"] for record in records] == list(range(1, len(records) + 1))
        for record in of_kind(records, "exception"):
            text = str(record["traceback"])
            assert "rank_agent" not in text
            assert "runpy" not in text


def test_the_words_of_an_exit_are_kept_with_their_place(tmp_path: Path) -> None:
    script = tmp_path / "exits_text.py"
    script.write_text(ENDS["exits_text"])
    error_file = tmp_path / "e/error.json"
    run_alone([str(script)], tmp_path / "run", env={"TORCHELASTIC_ERROR_FILE": str(error_file)})
    [record] = of_kind(read_rank(tmp_path / "run"), "exception")
    assert (record["type"], record["message"]) == ("SystemExit", "no data found")
    assert f'File "{script}", line 1' in str(record["traceback"])
    assert not error_file.exists(), "torchrun is told nothing that plain Python would not tell it"


def test_the_chain_of_an_exception_is_kept(tmp_path: Path) -> None:
    script = tmp_path / "chained.py"
    script.write_text(ENDS["chained"])
    run_alone(
        [str(script)], tmp_path / "run", env={"TORCHELASTIC_ERROR_FILE": str(tmp_path / "e/error.json")}
    )
    [record] = of_kind(read_rank(tmp_path / "run"), "exception")
    assert record["message"] == "second"
    assert "KeyError: 'a'" in str(record["traceback"])
    assert "direct cause" in str(record["traceback"])
    assert "RuntimeError: second" in (tmp_path / "e/error.json").read_text()


def test_a_script_without_torch_stays_light(tmp_path: Path) -> None:
    script = tmp_path / "light.py"
    script.write_text("import sys; print('torch' in sys.modules, 'traceback' in sys.modules)")
    run_alone([str(script)], tmp_path / "run")
    assert (tmp_path / "run/logs/0.out").read_text() == "False False\n"
    records = read_rank(tmp_path / "run")
    assert [record["kind"] for record in records if record["kind"] != "heartbeat"] == ["start", "end"]


def test_files_are_private(tmp_path: Path) -> None:
    script = tmp_path / "x.py"
    script.write_text("print(1)")
    run_alone([str(script)], tmp_path / "run")
    for name in ("ranks/0.jsonl", "logs/0.out", "logs/0.err"):
        assert (tmp_path / "run" / name).stat().st_mode & 0o777 == 0o600
    for name in ("ranks", "logs"):
        assert (tmp_path / "run" / name).stat().st_mode & 0o777 == 0o700


def test_a_folder_that_cannot_be_written_does_not_stop_the_script(tmp_path: Path) -> None:
    script = tmp_path / "x.py"
    script.write_text("print('trained')")
    blocked = tmp_path / "run"
    blocked.write_text("a file, not a folder")
    result = run_alone([str(script)], blocked)
    assert result.returncode == 0
    assert result.stdout == "trained\n"
    assert "this rank is not recorded" in result.stderr


def test_a_restarted_rank_goes_on_in_its_file(tmp_path: Path) -> None:
    script = tmp_path / "x.py"
    script.write_text("import time; time.sleep(0.3)")
    run_dir = tmp_path / "run"
    run_alone([str(script)], run_dir)
    with open(run_dir / "control.jsonl", "w") as file:
        file.write('{"kind":"capture_request","seq":0,"t_ns":1,"request":"old","what":"stacks"}\n')
    with open(run_dir / "ranks/0.jsonl", "a") as file:
        file.write('{"kind":"torn')
    run_alone([str(script)], run_dir, env={"TORCHELASTIC_RESTART_COUNT": "1"})
    tail: EventTail[RankEvent] = EventTail(run_dir / "ranks/0.jsonl", RankEvent)
    events = tail.read()
    assert [event.seq for event in events] == list(range(1, len(events) + 1))
    assert tail.problems.keys() == {"broken_line"}
    starts = [event for event in events if isinstance(event, RankStarted)]
    assert [start.restart for start in starts] == [0, 1]
    own = identity(os.getpid())
    assert own is not None
    if sys.platform == "linux":
        times_s = [start.create_time_s for start in starts]
        assert all(time_s is not None and time_s >= own.create_time_s for time_s in times_s)
    assert not (run_dir / "stacks").exists()


ASKING = """
import json, os, time

def waits_here():
    time.sleep(0.8)

with open(os.path.join(os.environ["RIDGELINE_RUN_DIR"], "control.jsonl"), "w") as file:
    for fields in (
        {"kind": "capture_request", "request": "../x", "what": "stacks"},
        {"kind": "capture_request", "request": "b", "what": "hologram"},
        {"kind": "capture_request", "request": "c", "what": "trace", "steps": "many"},
        {"kind": "capture_request", "request": "d", "what": "stacks", "ranks": [1]},
        {"kind": "stop", "now": False},
    ):
        file.write(json.dumps({"seq": 0, "t_ns": 1, **fields}) + "\\n")
waits_here()
"""


def test_stacks_of_a_script_without_torch(tmp_path: Path) -> None:
    script = tmp_path / "x.py"
    script.write_text(ASKING)
    run_dir = tmp_path / "run"
    run_alone([str(script)], run_dir)
    records = read_rank(run_dir)
    [ready] = of_kind(records, "capture")
    assert ready["file"] == "stacks/step0_rank0.txt"
    assert "waits_here" in (run_dir / "stacks/step0_rank0.txt").read_text()
    [failed] = of_kind(records, "capture_failed")
    assert failed["request"] == "b"
    assert len(of_kind(records, "problem")) == 1
