"""Units of metrics: by the metric's name, and what a printed unit is of a base unit.

Reports do not store units and keep values in base units; the command line of
the tool prints units, scaled to the value or to the column. Both come to the
same words, those that it prints with ``--print-units base``: "byte",
"inst/cycle", "Hz" for cycles a second.

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


# A printed part of a unit, in small letters: its base unit and the power of ten that it holds of it.
_TIMES: Final = {"s": 9, "ms": 6, "us": 3, "ns": 0, "second": 9, "msecond": 6, "usecond": 3, "nsecond": 0}
_SCALED: Final = ("byte", "hz", "inst", "cycle", "sector", "request", "warp", "thread", "block", "flop")
_PREFIXES: Final = {"": 0, "k": 3, "m": 6, "g": 9, "t": 12, "p": 15}
_PARTS: Final = {
    prefix + word: ("Hz" if word == "hz" else word, exponent)
    for word in _SCALED
    for prefix, exponent in _PREFIXES.items()
} | {word: ("ns", exponent) for word, exponent in _TIMES.items()}


@lru_cache(maxsize=4_096)
def base_unit(printed: str) -> tuple[str, int]:
    """Returns the base unit of a printed one, and the power of ten that makes a value one of it.

    "Gbyte/second" is ("byte/s", 9), "usecond" ("ns", 3), "cycle/nsecond" ("Hz", 9). All powers are
    decimal. A word that is not known is its own base unit.
    """
    above, slash, below = printed.strip().partition("/")
    unit, exponent = _PARTS.get(above.lower(), (above, 0))
    if not slash:
        return unit, exponent
    divisor, scale = _PARTS.get(below.lower(), (below, 0))
    if divisor == "ns":
        # A rate is by the second, a time alone in ns.
        divisor, scale = "s", scale - 9
    rate = "Hz" if (unit, divisor) == ("cycle", "s") else f"{unit}/{divisor}"
    return rate, exponent - scale
