"""Reports of launches with counters by name and instructions by opcode, read by the real reader."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from core.analyses.ncu_tensor import OPCODES
from core.readers.ncu_report.reader import read_report
from tests.helpers import ncu_reports as made

if TYPE_CHECKING:
    from pathlib import Path

    from core.tables.ncu import Report

FP32_NONE = {f"smsp__sass_thread_inst_executed_op_{name}_pred_on.sum": 0 for name in ("fadd", "fmul", "ffma")}
DRAM = {"dram__bytes.sum": 1_000_000}


def fp32(multiply_adds: int) -> dict[str, Any]:
    """Returns FP32 work, all of it multiply-adds, of two operations each."""
    return FP32_NONE | {"smsp__sass_thread_inst_executed_op_ffma_pred_on.sum": multiply_adds}


def counted(
    folder: Path, *launches: dict[str, Any], capability: int = 90, device: str = "NVIDIA H100 PCIe"
) -> Report:
    """Returns a report of launches.

    Args:
        folder: Where it is written.
        launches: Metrics by name; ``kernel`` names it, ``opcodes`` are warp-level instructions by opcode,
            ``grid`` is in blocks, ``rules`` and ``nvtx`` are encoded.
        capability: Ten times the compute capability.
        device: Its name.
    """
    names: list[str] = []
    results = [_result(launch, capability, device, names) for launch in launches]
    path = folder / "counted.ncu-rep"
    path.write_bytes(made.report(made.block(texts=names, results=results)))
    return read_report(path)


def _result(launch: dict[str, Any], capability: int, device: str, names: list[str]) -> bytes:
    told = dict(launch)
    more: dict[str, Any] = {"f7": told.pop("kernel", "work(float *)"), "f21": told.pop("nvtx", None)}
    grid, rules, opcodes = told.pop("grid", 64), told.pop("rules", ()), told.pop("opcodes", {})
    told = {
        "gpu__time_duration.sum": 10_000,
        "launch__grid_size": grid,
        "launch__device_id": 0,
        "device__attribute_display_name": device,
        "device__attribute_compute_capability_major": capability // 10,
        "device__attribute_compute_capability_minor": capability % 10,
    } | told
    metrics = [made.metric(_place(name, names), _value(value)) for name, value in told.items()]
    if opcodes:
        instances = [
            made.instance(made.text_value(text), made.integer(count)) for text, count in opcodes.items()
        ]
        metrics.append(made.metric(_place(OPCODES, names), made.integer(sum(opcodes.values())), instances))
    more |= {"f10": made.message({1: grid, 2: 1, 3: 1})}
    return made.result(metrics, rules=list(rules), **more)


def _place(name: str, names: list[str]) -> int:
    if name not in names:
        names.append(name)
    return names.index(name)


def _value(value: float | str | None) -> bytes | None:
    if value is None:
        return None
    if isinstance(value, str):
        return made.text_value(value)
    return made.integer(value) if isinstance(value, int) else made.double(value)
