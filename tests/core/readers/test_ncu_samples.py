"""Every handed report against its known figures, through the command line (needs the handed samples)."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import pytest

from core.cli import main

REPORTS = Path(__file__).parents[4] / "shared" / "data" / "ncu"


def expected() -> dict[str, list[dict[str, str]]]:
    path = REPORTS / "expected.tsv"
    text = path.read_text() if path.is_file() else ""
    rows = list(csv.DictReader(text.splitlines(), delimiter="\t"))
    by_file: dict[str, list[dict[str, str]]] = {}
    for row in rows:
        by_file.setdefault(row["file"], []).append(row)
    return by_file


def summary(path: Path, capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
    assert main(["summary", str(path), "--json"]) == 0
    printed = capsys.readouterr()
    assert printed.err == ""
    found: dict[str, Any] = json.loads(printed.out)
    return found


def number(text: str) -> float | None:
    return None if text == "n/a" else float(text)


def shape(text: str) -> list[int]:
    return [int(side) for side in text.split("x")]


@pytest.mark.skipif(not expected(), reason="the handed reports are not on this machine")
@pytest.mark.parametrize("name", expected())
def test_a_report_holds_the_known_figures(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    found = summary(REPORTS / name, capsys)
    rows = expected()[name]
    assert (found["kind"], found["problems"], len(found["results"])) == ("ncu_report", [], len(rows))
    for result, row in zip(found["results"], rows, strict=True):
        assert result["kernel"][:160] == row["kernel"]
        grid, block = result["grid"], result["block"]
        assert block == shape(row["block"])
        # Reports up to 2020.2 store, and the table quotes, threads where later ones have blocks.
        threads = [blocks * side for blocks, side in zip(grid, block, strict=True)]
        assert (threads if found["tool_version"] is None else grid) == shape(row["grid"])
        counts = [result["metrics"], result["sections"], result["rules"]]
        assert counts == [int(row["n_metrics"]), int(row["n_sections"]), int(row["n_rules"])]
        duration = number(row["duration_ns"])
        assert duration is not None
        # The figures there are rounded to six digits.
        assert float(f"{result['duration_ns']:.6g}") == duration
        roofline = result["rooflines"]["fp32"]
        rates = {
            "sm_pct": result["sm_pct"],
            "memory_pct": result["memory_pct"],
            "dram_bytes_per_s": result["dram_bytes_per_s"],
            "fp32_peak_flop_per_s": roofline["peak_flop_per_s"],
            "dram_peak_bytes_per_s": roofline["peak_bytes_per_s"],
            "fp32_flop_per_s": roofline["flop_per_s"],
            "fp32_ai_dram": roofline["intensity"],
        }
        for key, value in rates.items():
            wanted = number(row[key])
            assert value == (None if wanted is None else pytest.approx(wanted, rel=1e-5)), key
