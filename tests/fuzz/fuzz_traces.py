"""Damages small traces in thousands of ways and reads them: no crash, no hang, bounded memory, same tables.

Run it with ``make fuzz``, or ``python -m tests.fuzz.fuzz_traces --cases 100000``.
Each case is made from the seed and its number alone: ``--only NUMBER`` makes one
again. What went wrong is written to a folder, file and report by file and report.
The work is done in a child, so that a crash of compiled code is a finding too.
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
from contextlib import nullcontext
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from types import FrameType

ROOT: Final = Path(__file__).parents[2]
LIMIT_S: Final = 5.0
HUNG_S: Final = 60
MOST_GROWTH_BYTES: Final = 64 * 2**20
GROWTH_PER_BYTE: Final = 400
MOST_ADDRESSES_BYTES: Final = 12 * 2**30
MOST_FINDINGS: Final = 40
FOUND: Final = 3
"""Exit status of a run that found something."""
OURS: Final = 0.75
"""Share of cases from our own seeds, which are small, where there are others."""
THREADED: Final = 16
"""One case in so many is scanned by several threads, as users' files are."""
MEMORY: Final = "/dev/shm" if os.path.isdir("/dev/shm") else None
MOST_PARTS: Final = 8
SIZES: Final = (64, 100, 256, 1000, 4096)


class TooSlowError(Exception):
    """A case took too long."""


def options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--cases", type=int, default=100_000)
    parser.add_argument("--first", type=int, default=0, help="number of the first case")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", type=int, help="makes this one case and shows what comes of it")
    parser.add_argument("--found", type=Path, default=Path("fuzz-findings"), help="where findings go")
    parser.add_argument("--seeds", type=Path, action="append", default=[], help="folders with more traces")
    parser.add_argument(
        "--analyses",
        type=int,
        default=1,
        help="everything behind the reader for one case in so many; 0: none",
    )
    parser.add_argument("--guard", choices=("start", "end"), help="forbidden pages around the scan's memory")
    parser.add_argument("--work", type=Path, help=argparse.SUPPRESS)
    return parser.parse_args()


def main() -> int:
    chosen = options()
    if chosen.work is not None or chosen.only is not None:
        return _work(chosen)
    with TemporaryDirectory(prefix="ridgeline-fuzz-", dir=MEMORY) as folder:
        return _drive(chosen, Path(folder))


def _drive(chosen: argparse.Namespace, folder: Path) -> int:
    """Runs children until all cases are done; one that dies has made a finding."""
    first, end, died = chosen.first, chosen.first + chosen.cases, 0
    while first < end and died < MOST_FINDINGS:
        given = [argument for argument in sys.argv[1:] if not argument.startswith(("--first", "--cases"))]
        command = [sys.executable, "-m", "tests.fuzz.fuzz_traces", *_without_values(given)]
        command += [f"--first={first}", f"--cases={end - first}", f"--work={folder}"]
        code = subprocess.run(command, cwd=ROOT, check=False).returncode
        if code in (0, FOUND):
            return code
        died += 1
        number = int((folder / "number").read_text())
        chosen.found.mkdir(parents=True, exist_ok=True)
        case = folder / "case.json"
        (chosen.found / f"{chosen.seed}-{number}.json").write_bytes(case.read_bytes())
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


def _work(chosen: argparse.Namespace) -> int:
    from tests.fuzz.checks import block_bytes  # noqa: F401  (compiles nothing, but loads the program once)

    if chosen.guard:
        from tests.fuzz.guarded import guard_the_scan

        guard_the_scan(chosen.guard == "start")
    faulthandler.enable()
    signal.signal(signal.SIGALRM, _too_slow)
    with TemporaryDirectory(prefix="ridgeline-fuzz-", dir=MEMORY) as passing:
        run = Run(chosen, chosen.work or Path(passing))
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


class Run:
    """Many cases, one after the other, and what was found."""

    def __init__(self, chosen: argparse.Namespace, folder: Path) -> None:
        from tests.fuzz.seed_traces import handed_seeds, plain_traces, seeds

        self._chosen = chosen
        self._folder = folder
        self._ours = list(seeds().values())
        self._seeds = list(self._ours)
        for more in chosen.seeds:
            self._seeds += handed_seeds(more).values()
        self._plain = plain_traces()
        self._number = os.open(folder / "number", os.O_RDWR | os.O_CREAT)
        self.findings = 0
        self._kinds: dict[str, int] = {}
        self._slowest: tuple[float, int] = (0.0, -1)
        self._opened = self._done = 0
        self._began = time.perf_counter()

    def warm_up(self) -> None:
        """Compiles and loads everything, so that no case is blamed for it."""
        from tests.fuzz.checks import check_file

        path = self._folder / "warm.json"
        for data in self._seeds:
            path.write_bytes(data)
            check_file(path, (256,))

    def one(self, number: int) -> None:
        """Makes one case and checks it."""
        random = Random(f"{self._chosen.seed}:{number}")
        path = self._folder / "case.json"
        before = _peak_bytes()
        data = b""
        from tests.fuzz.checks import without_threads

        began = time.perf_counter()
        faulthandler.dump_traceback_later(HUNG_S, exit=True)
        signal.setitimer(signal.ITIMER_REAL, LIMIT_S)
        try:
            with nullcontext() if number % THREADED == 0 else without_threads():
                data = self._make_and_check(number, random, path)
        except TooSlowError:
            self._find(number, f"longer than {LIMIT_S} s", traceback.format_exc())
        except Exception as error:  # noqa: BLE001  (whatever it is, it is what is looked for)
            last = traceback.extract_tb(error.__traceback__)[-1]
            place = f"{Path(last.filename).name}:{last.name}"
            words = re.sub(r"[0-9]+", "#", str(error).split("\n")[0])[:70]
            self._find(number, f"{type(error).__name__} at {place}: {words}", traceback.format_exc())
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
            faulthandler.cancel_dump_traceback_later()
        took_s = time.perf_counter() - began
        self._slowest = max(self._slowest, (took_s, number))
        grown = _peak_bytes() - before
        if grown > MOST_GROWTH_BYTES + GROWTH_PER_BYTE * len(data):
            self._find(number, "memory", f"{grown:,} bytes for a file of {len(data):,}")
        self._done += 1
        if self._done % 5000 == 0:
            self.report()

    def _make_and_check(self, number: int, random: Random, path: Path) -> bytes:
        from tests.fuzz.checks import check_file
        from tests.fuzz.mutations import damaged

        if number % 8 == 0:
            return self._wound(number, random, path)
        data = damaged(self._ours if random.random() < OURS else self._seeds, random)
        self._put(number, path, data)
        # Small parts, but not so many that a case takes long.
        sizes = (max(random.choice(SIZES), len(data) // MOST_PARTS),) if number % 2 else ()
        self._opened += check_file(path, sizes, self._behind(number)) is not None
        return data

    def _wound(self, number: int, random: Random, path: Path) -> bytes:
        """Damages one text of one event: no other event may be lost."""
        from tests.fuzz.checks import check_file, kernel_names, read_or_refusal, require
        from tests.fuzz.mutations import wounded_value

        sound = random.choice(self._plain)
        data, at = wounded_value(sound, random)
        self._put(number, path, sound)
        before = read_or_refusal(path)
        assert not isinstance(before, str)
        self._put(number, path, data)
        after = check_file(path, (random.choice(SIZES),), self._behind(number))
        require(after is not None, f"not opened for a wound at {at}")
        assert after is not None
        lost = set(kernel_names(before)) - set(kernel_names(after))
        require(len(lost) <= 1, f"{len(lost)} slices lost by a wound at {at}: {sorted(lost)[:3]}")
        self._opened += 1
        return data

    def _behind(self, number: int) -> bool:
        every = self._chosen.analyses
        return bool(every) and number // 8 % every == 0

    def _put(self, number: int, path: Path, data: bytes) -> None:
        path.write_bytes(data)
        os.pwrite(self._number, f"{number:012d}".encode(), 0)

    def _find(self, number: int, kind: str, report: str) -> None:
        self._kinds[kind] = self._kinds.get(kind, 0) + 1
        if self._kinds[kind] > 2:
            return
        self.findings += 1
        found = self._chosen.found
        found.mkdir(parents=True, exist_ok=True)
        name = f"{self._chosen.seed}-{number}"
        (found / f"{name}.json").write_bytes((self._folder / "case.json").read_bytes())
        (found / f"{name}.txt").write_text(f"{kind}\n\n{report}")
        print(f"case {number}: {kind}", flush=True)
        if self._chosen.only is not None:
            print(report)

    def report(self) -> None:
        """Prints how far it is."""
        took_s = time.perf_counter() - self._began
        figures: dict[str, Any] = {
            "cases": self._done,
            "opened": self._opened,
            "findings": sum(self._kinds.values()),
            "slowest": f"{self._slowest[0]:.2f} s (case {self._slowest[1]})",
            "peak": f"{_peak_bytes() / 2**20:.0f} MiB",
            "seconds": f"{took_s:.0f}",
        }
        print(", ".join(f"{name} {value}" for name, value in figures.items()), flush=True)
        if self._kinds and self._done % 5000:
            for kind, count in sorted(self._kinds.items(), key=lambda each: -each[1]):
                print(f"  {count:6} {kind}")


if __name__ == "__main__":
    os.environ.setdefault("PYTHONHASHSEED", "0")
    sys.exit(main())
