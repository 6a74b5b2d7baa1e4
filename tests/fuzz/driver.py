"""Makes damaged files by number and has them checked: no crash, no hang, bounded memory.

Each case is made from the seed and its number alone: ``--only NUMBER`` makes one
again. What went wrong is written to a folder, file and report by file and report.
The work is done in a child, so that a crash of compiled code is a finding too.
What the cases are is said by ``fuzz_traces`` and ``fuzz_reports``.
"""

from __future__ import annotations

import argparse
import faulthandler
import os
import re
import resource
import signal
import subprocess
import sys
import time
import traceback
from abc import ABC, abstractmethod
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import FrameType

ROOT: Final = Path(__file__).parents[2]
LIMIT_S: Final = 5.0
"""Time of the processor for one case: a busy machine is no finding."""
HUNG_S: Final = 120
"""Time on the clock after which a case is taken to wait for ever."""
MOST_GROWTH_BYTES: Final = 64 * 2**20
GROWTH_PER_BYTE: Final = 400
MOST_ADDRESSES_BYTES: Final = 12 * 2**30
MOST_FINDINGS: Final = 40
FOUND: Final = 3
"""Exit status of a run that found something."""
MEMORY: Final = "/dev/shm" if os.path.isdir("/dev/shm") else None


class TooSlowError(Exception):
    """A case took too long."""


def parser_of(about: str) -> argparse.ArgumentParser:
    """Returns a parser of the options that all kinds of cases share."""
    parser = argparse.ArgumentParser(description=about)
    parser.add_argument("--cases", type=int, default=100_000)
    parser.add_argument("--first", type=int, default=0, help="number of the first case")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", type=int, help="makes this one case and shows what comes of it")
    parser.add_argument("--found", type=Path, default=Path("fuzz-findings"), help="where findings go")
    parser.add_argument("--seeds", type=Path, action="append", default=[], help="folders with more files")
    parser.add_argument("--work", type=Path, help=argparse.SUPPRESS)
    return parser


def drive(chosen: argparse.Namespace, module: str, begin: Callable[[argparse.Namespace, Path], Run]) -> int:
    """Runs all cases in children, or in this process if it is one.

    Args:
        chosen: Options.
        module: That a child is started with.
        begin: Makes the cases; gets the options and the folder for the file of a case.
    """
    if chosen.work is not None or chosen.only is not None:
        return _work(chosen, begin)
    with TemporaryDirectory(prefix="ridgeline-fuzz-", dir=MEMORY) as folder:
        return _in_children(chosen, module, Path(folder))


def _in_children(chosen: argparse.Namespace, module: str, folder: Path) -> int:
    """Runs children until all cases are done; one that dies has made a finding."""
    first, end, died = chosen.first, chosen.first + chosen.cases, 0
    while first < end and died < MOST_FINDINGS:
        given = [argument for argument in sys.argv[1:] if not argument.startswith(("--first", "--cases"))]
        command = [sys.executable, "-m", module, *_without_values(given)]
        command += [f"--first={first}", f"--cases={end - first}", f"--work={folder}"]
        code = subprocess.run(command, cwd=ROOT, check=False).returncode
        if code in (0, FOUND):
            return code
        died += 1
        number = int((folder / "number").read_text())
        chosen.found.mkdir(parents=True, exist_ok=True)
        for case in folder.glob("case.*"):
            (chosen.found / f"{chosen.seed}-{number}{case.suffix}").write_bytes(case.read_bytes())
        (chosen.found / f"{chosen.seed}-{number}.txt").write_text(f"the process ended with {code}\n")
        print(f"case {number}: the process ended with {code}", flush=True)
        first = number + 1
    return FOUND if died else 0


def _without_values(given: list[str]) -> list[str]:
    """Drops the numbers that stood behind ``--first`` and ``--cases``."""
    kept: list[str] = []
    for argument, before in zip(given, ["", *given], strict=False):
        if not argument.lstrip("-").isdigit() or before in ("--seed", "--analyses"):
            kept.append(argument)
    return kept


def _work(chosen: argparse.Namespace, begin: Callable[[argparse.Namespace, Path], Run]) -> int:
    faulthandler.enable()
    signal.signal(signal.SIGPROF, _too_slow)
    with TemporaryDirectory(prefix="ridgeline-fuzz-", dir=MEMORY) as passing:
        run = begin(chosen, chosen.work or Path(passing))
        run.warm_up()
        resource.setrlimit(resource.RLIMIT_AS, (MOST_ADDRESSES_BYTES, MOST_ADDRESSES_BYTES))
        numbers = (
            [chosen.only] if chosen.only is not None else range(chosen.first, chosen.first + chosen.cases)
        )
        for number in numbers:
            run.one(number)
            if run.findings >= MOST_FINDINGS:
                break
        run.report()
    return FOUND if run.findings else 0


def _too_slow(number: int, frame: FrameType | None) -> None:
    raise TooSlowError


def _peak_bytes() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


class Run(ABC):
    """Many cases, one after the other, and what was found.

    Attributes:
        chosen: Options.
        findings: How many were written down.
        opened: Cases that were read, not refused.
    """

    def __init__(self, chosen: argparse.Namespace, folder: Path) -> None:
        self.chosen = chosen
        self.findings = self.opened = 0
        self._folder = folder
        self._path = folder / "case.none"
        self._number = os.open(folder / "number", os.O_RDWR | os.O_CREAT)
        self._kinds: dict[str, int] = {}
        self._slowest: tuple[float, int] = (0.0, -1)
        self._done = 0
        self._began = time.perf_counter()

    @abstractmethod
    def warm_up(self) -> None:
        """Compiles and loads everything, so that no case is blamed for it."""

    @abstractmethod
    def make_and_check(self, number: int, random: Random) -> bytes:
        """Makes a case, puts it down with ``put``, checks it and returns what it holds."""

    def one(self, number: int) -> None:
        """Makes one case and checks it."""
        random = Random(f"{self.chosen.seed}:{number}")
        before = _peak_bytes()
        data = b""
        began = time.process_time()
        faulthandler.dump_traceback_later(HUNG_S, exit=True)
        signal.setitimer(signal.ITIMER_PROF, LIMIT_S)
        try:
            data = self.make_and_check(number, random)
        except TooSlowError:
            self._find(number, f"longer than {LIMIT_S} s", traceback.format_exc())
        except Exception as error:  # noqa: BLE001  (whatever it is, it is what is looked for)
            last = traceback.extract_tb(error.__traceback__)[-1]
            place = f"{Path(last.filename).name}:{last.name}"
            words = re.sub(r"[0-9]+", "#", str(error).split("\n")[0])[:70]
            self._find(number, f"{type(error).__name__} at {place}: {words}", traceback.format_exc())
        finally:
            signal.setitimer(signal.ITIMER_PROF, 0)
            faulthandler.cancel_dump_traceback_later()
        took_s = time.process_time() - began
        self._slowest = max(self._slowest, (took_s, number))
        grown = _peak_bytes() - before
        if grown > MOST_GROWTH_BYTES + GROWTH_PER_BYTE * len(data):
            self._find(number, "memory", f"{grown:,} bytes for a file of {len(data):,}")
        self._done += 1
        if self._done % 5000 == 0:
            self.report()

    def put(self, number: int, data: bytes, suffix: str) -> Path:
        """Writes the file of a case, so that it is kept if the process dies."""
        if self._path.suffix != suffix:
            self._path.unlink(missing_ok=True)
        self._path = self._folder / f"case{suffix}"
        self._path.write_bytes(data)
        os.pwrite(self._number, f"{number:012d}".encode(), 0)
        return self._path

    def _find(self, number: int, kind: str, report: str) -> None:
        self._kinds[kind] = self._kinds.get(kind, 0) + 1
        if self._kinds[kind] > 2:
            return
        self.findings += 1
        found = self.chosen.found
        found.mkdir(parents=True, exist_ok=True)
        name = f"{self.chosen.seed}-{number}"
        if self._path.is_file():
            (found / f"{name}{self._path.suffix}").write_bytes(self._path.read_bytes())
        (found / f"{name}.txt").write_text(f"{kind}\n\n{report}")
        print(f"case {number}: {kind}", flush=True)
        if self.chosen.only is not None:
            print(report)

    def report(self) -> None:
        """Prints how far it is."""
        took_s = time.perf_counter() - self._began
        figures: dict[str, Any] = {
            "cases": self._done,
            "opened": self.opened,
            "findings": sum(self._kinds.values()),
            "slowest": f"{self._slowest[0]:.2f} s (case {self._slowest[1]})",
            "peak": f"{_peak_bytes() / 2**20:.0f} MiB",
            "seconds": f"{took_s:.0f}",
        }
        print(", ".join(f"{name} {value}" for name, value in figures.items()), flush=True)
        if self._kinds and self._done % 5000:
            for kind, count in sorted(self._kinds.items(), key=lambda each: -each[1]):
                print(f"  {count:6} {kind}")
