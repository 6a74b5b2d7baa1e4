"""The wheel: installed beside a project that has its own ``core``, nobody gets in the other's way."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import sysconfig
import zipfile
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def run(*argv: str | Path, cwd: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [str(argument) for argument in argv],
        cwd=cwd,
        env={**os.environ, **environment},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


@dataclass(frozen=True)
class Installed:
    """A wheel, the environment that it is installed in, and the user's project beside it."""

    wheel: Path
    python: Path
    command: Path
    project: Path


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Installed:
    base = tmp_path_factory.mktemp("wheel in a folder with spaces")
    built = run(sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", base / "dist", cwd=ROOT)
    assert built.returncode == 0, built.stdout + built.stderr
    (wheel,) = (base / "dist").glob("*.whl")

    environment = base / "environment"
    made = run(sys.executable, "-m", "venv", "--without-pip", environment, cwd=base)
    assert made.returncode == 0, made.stderr
    python = environment / "bin" / "python"
    pip = (sys.executable, "-m", "pip", "--python", python, "install", "--quiet")
    done = run(*pip, "--no-deps", "--no-index", wheel, cwd=base)
    assert done.returncode == 0, done.stdout + done.stderr
    # What we depend on comes from this environment: the test needs no network.
    found = run(python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))", cwd=base)
    (Path(found.stdout.strip()) / "dependencies.pth").write_text(sysconfig.get_path("purelib") + "\n")

    project = base / "project"
    for name in ("core", "gui"):
        (project / name).mkdir(parents=True)
        (project / name / "__init__.py").write_text(f"OWNER = 'the user'\nprint('{name} of the user')\n")
    return Installed(wheel, python, environment / "bin" / "ridgeline", project)


def test_holds_the_program_in_one_folder_and_nothing_beside_it(installed: Installed) -> None:
    with zipfile.ZipFile(installed.wheel) as archive:
        names = archive.namelist()
    tops = {name.split("/")[0] for name in names}
    assert {top for top in tops if not top.endswith(".dist-info")} == {"ridgeline"}
    tracked = run("git", "ls-files", "main.py", "core", "gui", "resources", cwd=ROOT).stdout.splitlines()
    assert tracked
    held = {name.removeprefix("ridgeline/") for name in names}
    missing = [name for name in tracked if name not in held and not name.startswith("resources/wheel/")]
    assert not missing
    assert not [name for name in names if "__pycache__" in name or "/tests/" in name]


@pytest.mark.parametrize("variables", [(), ("PYTHONPATH",), ("PYTHONPATH", "PYTHONSAFEPATH")])
def test_command_runs_ours_in_a_project_that_has_its_own_core(
    installed: Installed, variables: tuple[str, ...]
) -> None:
    environment = dict.fromkeys(variables, str(installed.project))
    runs = run(installed.command, "runs", "--json", cwd=installed.project, **environment)
    assert (runs.returncode, runs.stderr) == (0, "")
    assert json.loads(runs.stdout) == []
    words = run(installed.command, "--help", cwd=installed.project, **environment)
    assert words.returncode == 0, words.stderr
    assert "launch" in words.stdout
    assert "of the user" not in words.stdout


@pytest.mark.parametrize("where", ["core", "gui"])
def test_the_projects_packages_stay_theirs(installed: Installed, where: str) -> None:
    theirs = run(installed.python, "-c", f"import {where}; print({where}.OWNER)", cwd=installed.project)
    assert theirs.stdout.splitlines()[-1] == "the user", theirs.stderr
    elsewhere = run(installed.python, "-c", f"import {where}", cwd=installed.project.parent)
    assert "ModuleNotFoundError" in elsewhere.stderr


def test_a_refusal_keeps_its_exit_code_and_two_lines(installed: Installed) -> None:
    refused = run(installed.command, "attach", "no-such-run", cwd=installed.project)
    assert refused.returncode == 2
    error, hint = refused.stderr.splitlines()
    assert error.startswith("error: ")
    assert hint.startswith("hint: ")
