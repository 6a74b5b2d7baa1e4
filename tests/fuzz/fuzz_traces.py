"""Damages small traces in thousands of ways and reads them: no crash, no hang, bounded memory, same tables.

Run it with ``make fuzz``, or ``python -m tests.fuzz.fuzz_traces --cases 100000``.
"""

from __future__ import annotations

import os
import sys
from contextlib import nullcontext
from typing import TYPE_CHECKING, Final

from tests.fuzz.driver import Run, drive, parser_of

if TYPE_CHECKING:
    import argparse
    from pathlib import Path
    from random import Random

OURS: Final = 0.75
"""Share of cases from our own seeds, which are small, where there are others."""
THREADED: Final = 16
"""One case in so many is scanned by several threads, as users' files are."""
MOST_PARTS: Final = 8
SIZES: Final = (64, 100, 256, 1000, 4096)


def main() -> int:
    parser = parser_of("Damages small traces in thousands of ways and reads them.")
    parser.add_argument(
        "--analyses",
        type=int,
        default=1,
        help="everything behind the reader for one case in so many; 0: none",
    )
    parser.add_argument("--guard", choices=("start", "end"), help="forbidden pages around the scan's memory")
    return drive(parser.parse_args(), "tests.fuzz.fuzz_traces", TraceRun)


class TraceRun(Run):
    """Damaged traces."""

    def __init__(self, chosen: argparse.Namespace, folder: Path) -> None:
        super().__init__(chosen, folder)
        from tests.fuzz.checks import block_bytes  # noqa: F401  (loads the program once)
        from tests.fuzz.seed_traces import handed_seeds, plain_traces, seeds

        if chosen.guard:
            from tests.fuzz.guarded import guard_the_scan

            guard_the_scan(chosen.guard == "start")
        self._ours = list(seeds().values())
        self._seeds = list(self._ours)
        for more in chosen.seeds:
            self._seeds += handed_seeds(more).values()
        self._plain = plain_traces()

    def warm_up(self) -> None:
        """Compiles and loads everything, so that no case is blamed for it."""
        from tests.fuzz.checks import check_file

        for data in self._seeds:
            check_file(self.put(0, data, ".json"), (256,))

    def make_and_check(self, number: int, random: Random) -> bytes:
        """Makes a damaged trace and checks it."""
        from tests.fuzz.checks import without_threads

        with nullcontext() if number % THREADED == 0 else without_threads():
            return self._checked(number, random)

    def _checked(self, number: int, random: Random) -> bytes:
        from tests.fuzz.checks import check_file
        from tests.fuzz.mutations import damaged

        if number % 8 == 0:
            return self._wound(number, random)
        data = damaged(self._ours if random.random() < OURS else self._seeds, random)
        path = self.put(number, data, ".json")
        # Small parts, but not so many that a case takes long.
        sizes = (max(random.choice(SIZES), len(data) // MOST_PARTS),) if number % 2 else ()
        self.opened += check_file(path, sizes, self._behind(number)) is not None
        return data

    def _wound(self, number: int, random: Random) -> bytes:
        """Damages one text of one event: no other event may be lost."""
        from tests.fuzz.checks import check_file, kernel_names, read_or_refusal, require
        from tests.fuzz.mutations import wounded_value

        sound = random.choice(self._plain)
        data, at = wounded_value(sound, random)
        path = self.put(number, sound, ".json")
        before = read_or_refusal(path)
        assert not isinstance(before, str)
        self.put(number, data, ".json")
        after = check_file(path, (random.choice(SIZES),), self._behind(number))
        require(after is not None, f"not opened for a wound at {at}")
        assert after is not None
        lost = set(kernel_names(before)) - set(kernel_names(after))
        require(len(lost) <= 1, f"{len(lost)} slices lost by a wound at {at}: {sorted(lost)[:3]}")
        self.opened += 1
        return data

    def _behind(self, number: int) -> bool:
        every = self.chosen.analyses
        return bool(every) and number // 8 % every == 0


if __name__ == "__main__":
    os.environ.setdefault("PYTHONHASHSEED", "0")
    sys.exit(main())
