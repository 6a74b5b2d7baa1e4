"""The unit of a metric by its name: reports do not store it, and keep values in base units.

Units are in the vendor's words, as its command line prints them with
``--print-units base``: "byte", "inst/cycle", "Hz" for cycles a second.

Source: Nsight Compute documentation, "Metrics Structure" (2025.1); checked against values of real reports.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final

# Of what is counted; the first pattern that is found in the counter's name.
_COUNTERS: Final = tuple(
    (re.compile(pattern), unit)
    for pattern, unit in (
        (r"_throughput|_pct$|^pct_", "%"),
        (r"cycles", "cycle"),
        (r"bytes|writeback_mem|_size_bytes$", "byte"),
        (r"(^|_)time(_|$)|timestamp", "ns"),
        (r"pcsamp", "sample"),
        (r"thread_inst|inst_executed|inst_issued|^inst|_inst_", "inst"),
        (r"sectors", "sector"),
        (r"requests", "request"),
        (r"wavefronts", ""),
        (r"warps_", "warp"),
        (r"threads_launched|thread_count", "thread"),
        (r"ctas|blocks_launched", "block"),
    )
)
_LAUNCH: Final = tuple(
    (re.compile(pattern), unit)
    for pattern, unit in (
        (r"registers_per_thread", "register/thread"),
        (r"shared_mem_per_block", "byte/block"),
        (r"shared_mem_config_size|stack_size|cache_size", "byte"),
        (r"occupancy_limit", "block"),
        (r"occupancy_per", "warp"),
        (r"_pct$", "%"),
        (r"thread_count", "thread"),
        (r"sm_count", "SM"),
        (r"tpc_count", "TPC"),
    )
)
_WITHOUT: Final = ("device__", "breakdown:", "group:", "nvlink__", "numa__", "c2clink__")
_PER: Final = (
    ("per_second", "s"),
    ("per_cycle", "cycle"),
    ("max_rate", "cycle"),
    ("peak_sustained", "cycle"),
)


@lru_cache(maxsize=16_384)
def unit_of(name: str) -> str:
    """Returns the unit of a metric, "" for a bare number, a text, or where the name does not say."""
    if name.startswith(_WITHOUT):
        return ""
    if name.startswith("launch__"):
        return _first(_LAUNCH, name)
    counter, *suffixes = name.rsplit("__", maxsplit=1)[-1].split(".")
    suffix = suffixes[-1] if suffixes else ""
    if suffix.startswith("pct"):
        return "%"
    if suffix.startswith("ratio") or "average" in counter:
        return ""
    per = next((divisor for word, divisor in _PER if suffix.startswith(word)), "")
    return _per(_first(_COUNTERS, counter), per)


def _per(unit: str, divisor: str) -> str:
    if not divisor or unit == "%":
        return unit
    if (unit, divisor) == ("cycle", "s"):
        return "Hz"
    return "" if unit == divisor else f"{unit or '1'}/{divisor}"


def _first(patterns: tuple[tuple[re.Pattern[str], str], ...], text: str) -> str:
    return next((unit for pattern, unit in patterns if pattern.search(text)), "")
