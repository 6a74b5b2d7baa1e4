"""Damages small reports and tables of Nsight Compute in thousands of ways, reads them and makes every table.

Run it with ``make fuzz``, or ``python -m tests.fuzz.fuzz_reports --cases 100000``.
"""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Final

from tests.fuzz.driver import Run, drive, parser_of

if TYPE_CHECKING:
    import argparse
    from pathlib import Path
    from random import Random

OURS: Final = 0.75
"""Share of cases from our own seeds, which are small, where there are others."""


def main() -> int:
    parser = parser_of("Damages small reports and tables in thousands of ways and reads them.")
    return drive(parser.parse_args(), "tests.fuzz.fuzz_reports", ReportRun)


class ReportRun(Run):
    """Damaged reports and tables."""

    def __init__(self, chosen: argparse.Namespace, folder: Path) -> None:
        super().__init__(chosen, folder)
        from tests.fuzz.seed_reports import handed_seeds, seeds

        self._ours = list(seeds().items())
        self._seeds = list(self._ours)
        for more in chosen.seeds:
            self._seeds += handed_seeds(more).items()

    def warm_up(self) -> None:
        """Loads everything, so that no case is blamed for it."""
        from tests.fuzz.report_checks import check_report

        for name, data in self._seeds:
            check_report(self.put(0, data, "." + name.rpartition(".")[2]))

    def make_and_check(self, number: int, random: Random) -> bytes:
        """Makes a damaged file and checks it."""
        from tests.fuzz.report_checks import check_report
        from tests.fuzz.report_mutations import damaged

        suffix, data = damaged(self._ours if random.random() < OURS else self._seeds, random)
        self.opened += check_report(self.put(number, data, suffix)) is not None
        return data


if __name__ == "__main__":
    os.environ.setdefault("PYTHONHASHSEED", "0")
    sys.exit(main())
