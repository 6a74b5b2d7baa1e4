"""``demo``: the window's one click in the terminal, then pictures of the pages.

The pictures are rendered by a child, so that this command works to its end
where Qt cannot start, and says so.
"""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from core.cli.follow import Interrupts, follow
from core.cli.launch import start
from core.cli.output import write_line
from core.errors import DashboardError
from core.files import MAIN, printable
from core.hardware.probe import detect_devices
from core.launch.presets import Choice, choose_preset

if TYPE_CHECKING:
    from core.runs.store import RunFolder

RENDER_LIMIT_S = 300.0
NO_PICTURES = 1


def run_demo(out: str, steps: int) -> int:
    """Train the one-click choice, show it live, summarise it, and render the pages.

    Args:
        out: Folder of the pictures.
        steps: Training steps.

    Returns:
        0; 1 if only the pictures failed; the code of ``follow`` if the job failed.

    Raises:
        DashboardError: The job cannot run, or the folder cannot be made.
    """
    try:
        folder_out = Path(out).absolute()
        folder_out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise DashboardError(
            f"The folder {printable(out)} cannot be made: {error.strerror or error}.",
            "Name another with --out.",
        ) from error
    with Interrupts().caught() as interrupts:
        devices = detect_devices()

        def choose(torch_without_cuda: str = "") -> Choice:
            choice = choose_preset(devices.gpus, torch_without_cuda=torch_without_cuda)
            arguments = (*choice.spec.arguments, "--steps", str(steps))
            return Choice(replace(choice.spec, arguments=arguments), choice.why)

        folder = start(choose(), devices, interrupts, choose)
        code = follow(folder, owner=True, interrupts=interrupts)
    if code != 0:
        return code
    return render_pages(folder, folder_out)


def render_pages(folder: RunFolder, out: Path) -> int:
    """Render the pages with this run in a child and print the pictures' paths.

    Returns:
        0; 1 where the child failed, with its last words printed.
    """
    before = {path: path.stat().st_mtime_ns for path in out.glob("*.png")}
    write_line(f"Rendering the pages into {printable(str(out))}")
    command = [sys.executable, os.fspath(MAIN), "--render-pages", os.fspath(out), "--run", folder.id]
    try:
        child = subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            env=os.environ | {"QT_QPA_PLATFORM": "offscreen"},
            timeout=RENDER_LIMIT_S,
            check=False,
        )
    except subprocess.TimeoutExpired:
        write_line(
            f"error: The pages were not rendered within {RENDER_LIMIT_S:.0f} s; the run itself is whole."
        )
        return NO_PICTURES
    pictures = [path for path in sorted(out.glob("*.png")) if before.get(path) != path.stat().st_mtime_ns]
    for path in pictures:
        write_line(printable(str(path)))
    if child.returncode == 0 and pictures:
        return 0
    write_line("error: The pages could not be rendered; the run itself is whole. The renderer said:")
    for line in child.stderr.decode(errors="replace").strip().splitlines()[-5:] or ["nothing"]:
        write_line(f"  {printable(line)}")
    return NO_PICTURES
