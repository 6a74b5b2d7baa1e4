"""Long curves on screens of more pixels: what keeps drawing them quick. How quick is for tests/benchmarks."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
RANKS, POINTS = 4, 100_000
SPIKE = ("61803", "50.0")


def drawn_at(scale: str) -> dict[str, Any]:
    words = [sys.executable, "-m", "tests.helpers.scaled_chart", str(RANKS), str(POINTS), *SPIKE]
    done = subprocess.run(
        words,
        cwd=ROOT,
        env={**os.environ, "QT_SCALE_FACTOR": scale},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    facts: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return facts


@pytest.mark.parametrize("scale", ["1", "2"])
def test_few_points_of_a_long_curve_are_drawn_and_the_spike_is_one(scale: str) -> None:
    """Case G10, as M16 at scale 2: pens wider than a pixel must not meet more points than pixels need."""
    facts = drawn_at(scale)
    assert facts["ratio"] == float(scale)
    assert max(facts["widths"]) > 1
    assert len(facts["points"]) == RANKS
    # The lowest and the highest of each pixel column, and a neighbour on either side.
    assert max(facts["points"]) <= 2 * facts["width_px"] + 2
    assert min(facts["points"]) >= facts["width_px"] / float(scale)
    assert facts["highest"] == 50.0
    assert facts["spike_color_distance"] < 90
