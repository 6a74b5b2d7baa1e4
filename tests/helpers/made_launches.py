"""Reports made of launches whose metrics a test writes down by name, read by the real reader."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from core.readers.ncu_report.reader import read_report
from tests.helpers import ncu_reports as made

if TYPE_CHECKING:
    from pathlib import Path

    from core.tables.ncu import Report

SM = "sm__throughput.avg.pct_of_peak_sustained_elapsed"
MEMORY = "gpu__compute_memory_throughput.avg.pct_of_peak_sustained_elapsed"
DURATION = "gpu__time_duration.sum"
WAVES = "launch__waves_per_multiprocessor"
ACHIEVED = "sm__warps_active.avg.pct_of_peak_sustained_active"
POSSIBLE = "sm__maximum_warps_per_active_cycle_pct"
DEVICE = "NVIDIA H100 PCIe"
SM_COUNT = 114

Value = float | int | str | None


def report_of(tmp_path: Path, *launches: dict[str, Any], device: str = DEVICE) -> Report:
    """Returns a report of launches.

    Args:
        tmp_path: Where it is written.
        launches: Metrics by name, None for one without a value. ``kernel``, ``grid``, ``block`` and ``rules``
            (encoded) say more; a launch has 4096 blocks of 256 threads and takes 10 us unless told otherwise.
        device: Its name; it has 114 SMs of compute capability 9.0.
    """
    names: list[str] = []
    results = [_result(launch, names) for launch in launches]
    session = _session(device)
    path = tmp_path / "made.ncu-rep"
    path.write_bytes(made.report(made.block(session=session, texts=names, results=results)))
    return read_report(path)


def throughputs(sm_pct: float | None, memory_pct: float | None, **more: Any) -> dict[str, Any]:
    """Returns a launch with both throughputs; None leaves one out."""
    known = {name: value for name, value in ((SM, sm_pct), (MEMORY, memory_pct)) if value is not None}
    return {**known, **more}


def breakdown(throughput: str, **parts: float) -> dict[str, Any]:
    """Returns what a throughput is the maximum of: counters by the beginning of their names."""
    counters = {f"{name}.avg.pct_of_peak_sustained_elapsed": pct for name, pct in parts.items()}
    return {f"breakdown:{throughput}": ",".join(counters), **counters}


def stalls(**ratios: float) -> dict[str, Any]:
    """Returns for how many cycles a warp waits between two instructions, by reason."""
    return {
        f"smsp__average_warps_issue_stalled_{reason}_per_issue_active.ratio": ratio
        for reason, ratio in ratios.items()
    }


def spoken_rule(identifier: str, text: str, speedup: tuple[int, float] | None = None) -> bytes:
    """Encodes a rule that spoke; ``speedup`` is its scope (1 local, 2 global) and percent."""
    items = [made.message({1: made.message({1: text, 2: 4})})]
    if speedup is not None:
        items.append(made.message({10: made.message({1: speedup[0], 2: speedup[1]})}))
    return made.message({1: identifier, 2: identifier, 3: made.message({1: items}), 4: "Section"})


def _result(launch: dict[str, Any], names: list[str]) -> bytes:
    told = dict(launch)
    kernel = told.pop("kernel", "work(float *)")
    grid, block = told.pop("grid", (4096, 1, 1)), told.pop("block", (256, 1, 1))
    rules = told.pop("rules", ())
    told.setdefault(DURATION, 10_000)
    told.setdefault("launch__grid_size", grid[0] * grid[1] * grid[2])
    told.setdefault("launch__block_size", block[0] * block[1] * block[2])
    metrics = []
    for name, value in told.items():
        if name not in names:
            names.append(name)
        metrics.append(made.metric(names.index(name), _value(value)))
    sides = [made.message(dict(enumerate(each, 1))) for each in (grid, block)]
    return made.result(metrics, rules=list(rules), f5=None, f6=None, f7=kernel, f10=sides[0], f11=sides[1])


def _value(value: Value) -> bytes | None:
    if value is None:
        return None
    if isinstance(value, str):
        return made.text_value(value)
    return made.integer(value) if isinstance(value, int) else made.double(value)


def _session(device: str) -> bytes:
    attributes = [
        made.message({1: "device__attribute_compute_capability_major", 2: made.integer(9)}),
        made.message({1: "device__attribute_compute_capability_minor", 2: made.integer(0)}),
        made.message({1: "device__attribute_multiprocessor_count", 2: made.integer(SM_COUNT)}),
        made.message({1: "device__attribute_display_name", 2: made.text_value(device)}),
    ]
    return made.message({1: 1, 6: [made.message({1: 0, 2: device, 3: attributes})]})
