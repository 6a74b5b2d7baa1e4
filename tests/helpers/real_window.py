"""A real window of the program under X, driven by keys and clicks from outside."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

ROOT = Path(__file__).parents[2]
LIMIT_S = 60.0


class Picture:
    """What a window showed: (height, width, 3) uint8, red, green, blue."""

    def __init__(self, pixels: NDArray[np.uint8]) -> None:
        self.pixels = pixels

    def part(self, left: float, top: float, right: float, bottom: float) -> Picture:
        """The part between these shares of width and height."""
        height, width, _ = self.pixels.shape
        rows = slice(round(top * height), round(bottom * height))
        return Picture(self.pixels[rows, round(left * width) : round(right * width)])

    def places_of(self, color: str) -> NDArray[np.intp]:
        """(n, 2) row and column of each pixel of exactly this colour, "#RRGGBB"."""
        wanted = np.frombuffer(bytes.fromhex(color[1:]), dtype=np.uint8)
        return np.argwhere((self.pixels == wanted).all(axis=2))


class RealWindow:
    """One process of main.py and the window it shows."""

    def __init__(self, display: str, arguments: tuple[str, ...], errors: Path) -> None:
        self._environment = {**os.environ, "DISPLAY": display}
        self._environment.pop("QT_QPA_PLATFORM", None)
        self._errors = errors
        with errors.open("wb") as sink:
            self.process = subprocess.Popen(
                [sys.executable, str(ROOT / "main.py"), *arguments],
                env=self._environment,
                stdin=subprocess.DEVNULL,
                stdout=sink,
                stderr=subprocess.STDOUT,
            )
        self.id = self.wait_for(self._find)
        # There is no window manager that would give it the keyboard.
        self.xdotool("windowfocus", "--sync", self.id)

    def wait_for(self, look: Callable[[], str]) -> str:
        """Looks again and again until something is there."""
        end = time.monotonic() + LIMIT_S
        while time.monotonic() < end:
            if found := look():
                return found
            assert self.process.poll() is None, self.output
            time.sleep(0.05)
        raise AssertionError(f"nothing came within {LIMIT_S} s: {self.output}")

    def xdotool(self, *words: str) -> str:
        done = subprocess.run(
            ["xdotool", *words],
            env=self._environment,
            capture_output=True,
            text=True,
            timeout=30,
            check=False,
        )
        return done.stdout.strip()

    def key(self, *keys: str) -> None:
        self.xdotool("key", *keys)

    def type(self, text: str) -> None:
        """Types characters of the display's keyboard: others need a key borrowed and may come too late."""
        assert text.isascii()
        self.xdotool("type", "--delay", "20", text)

    @property
    def title(self) -> str:
        return self.xdotool("getwindowname", self.id)

    @property
    def output(self) -> str:
        return self._errors.read_text(errors="replace")

    def _find(self) -> str:
        shown = self.xdotool("search", "--onlyvisible", "--pid", str(self.process.pid), "--name", "Ridgeline")
        return shown.splitlines()[-1] if shown else ""

    def wait_for_title(self, start: str) -> None:
        self.wait_for(lambda: self.title if self.title.startswith(start) else "")

    def end(self) -> int:
        return self.process.wait(LIMIT_S)

    def resize(self, width: int, height: int) -> None:
        """Makes the window cover that much of the screen, from its top left corner on."""
        self.xdotool("windowsize", "--sync", self.id, str(width), str(height))
        self.xdotool("windowmove", self.id, "0", "0")

    def picture(self) -> Picture:
        """What the window shows now."""
        done = subprocess.run(
            ["import", "-window", self.id, "-depth", "8", "rgb:-"],
            env=self._environment,
            capture_output=True,
            timeout=30,
            check=True,
        )
        size = dict(
            line.split("=") for line in self.xdotool("getwindowgeometry", "--shell", self.id).splitlines()
        )
        shape = (int(size["HEIGHT"]), int(size["WIDTH"]), 3)
        return Picture(np.frombuffer(done.stdout, dtype=np.uint8).reshape(shape))

    def click(self, x: int, y: int) -> None:
        """Presses the left button there, in pixels of the window."""
        self.xdotool("mousemove", "--window", self.id, str(x), str(y), "click", "1")
