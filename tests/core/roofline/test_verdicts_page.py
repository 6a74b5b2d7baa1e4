"""docs/verdicts.md is what our code says of the handed reports (--update-golden writes it)."""

from __future__ import annotations

from pathlib import Path

import pytest

from core.readers.ncu_report.reader import read_report
from tests.helpers.verdicts_page import write_page

ROOT = Path(__file__).parents[3]
PAGE = ROOT / "docs" / "verdicts.md"


def test_the_page_says_of_the_handed_reports_what_the_code_does(
    shared_cases: Path, request: pytest.FixtureRequest
) -> None:
    folder = shared_cases.parents[1] / "data" / "ncu"
    page = write_page(read_report(path) for path in sorted(folder.glob("*.ncu-rep")))
    if request.config.getoption("--update-golden"):
        PAGE.write_text(page, encoding="utf-8")
    assert PAGE.read_text(encoding="utf-8") == page
    rows = [line for line in page.splitlines() if line.startswith("| ncu")]
    assert len(rows) >= 30
    assert not [line for line in rows if "nothing to compare" in line]
