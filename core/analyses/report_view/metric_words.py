"""What metrics are called and what they are, told from their names.

A name is unit, counter and what was made of it: ``lts__t_sectors.sum.per_second``
is the sum over all slices of the L2 cache of the sectors that its tags looked
up, a second.

Source: Nsight Compute documentation, "Metrics Structure" and "Metrics Decoder" (2025.1).
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final

_UNITS: Final = {
    "sm": "SM",
    "smsp": "SM",
    "tpc": "TPC",
    "gpc": "GPC",
    "gpu": "GPU",
    "gr": "GPU",
    "l1tex": "L1",
    "lts": "L2",
    "ltc": "L2",
    "lrc": "L2",
    "dram": "DRAM",
    "dramc": "DRAM",
    "fbpa": "DRAM",
    "idc": "Constant cache",
    "gcc": "Constant cache",
    "pcie": "PCIe",
    "nvlrx": "NVLink",
    "nvltx": "NVLink",
    "nvlink": "NVLink",
    "launch": "Launch",
    "device": "Device",
    "sys": "System",
    "mcc": "Memory",
}
_WHERE: Final = {
    "sm": "of the multiprocessors",
    "smsp": "of the schedulers of the multiprocessors",
    "tpc": "of the TPCs",
    "gpc": "of the GPCs",
    "gpu": "of the GPU",
    "l1tex": "of the L1/TEX caches",
    "lts": "of the slices of the L2 cache",
    "lrc": "between the L2 cache and the crossbar",
    "dram": "of the device memory",
    "fbpa": "of the controllers of the device memory",
    "idc": "of the constant caches",
    "pcie": "of PCIe",
    "nvlrx": "received over NVLink",
    "nvltx": "sent over NVLink",
}
_CAPITALS: Final = {
    word: word.upper()
    for word in re.findall(
        r"\w+",
        "adu alu cbu dram ecc fma fp16 fp32 fp64 ipa ipc l1 l2 lsu mio pq sm tc tex tma "
        "bgmma bmma dmma gmma hgmma hmma igmma imma qgmma",
    )
} | {
    "inst": "instructions",
    "xu": "XU",
    "l1tex2xbar": "L1 to crossbar",
    "xbar2l1tex": "crossbar to L1",
    "lts2xbar": "L2 to crossbar",
    "xbar2lts": "crossbar to L2",
    "mio2rf": "MIO to registers",
    "fmaheavy": "FMA heavy",
    "fmalite": "FMA lite",
    "texin": "texture input",
    "lsuin": "LSU input",
    "ld": "loads",
    "st": "stores",
    "red": "reductions",
    "atom": "atomics",
    "mem": "memory",
    "pred": "predicated",
    "t": "tag",
    "d": "data",
    "m": "",
    "f": "filter",
    "dshared": "distributed shared memory",
    "req": "request",
    "sm2tex": "SM to texture",
    "sysmem": "system memory",
    "tmain": "texture main",
    "op": "",
    "rf": "registers",
}
_STALL: Final = re.compile(r"issue_stalled_(\w+?)(?:_not_issued|_per_issue_active)?(?:\.|$)")
_ROLL_UPS: Final = {
    "sum": "Sum over all instances of the unit",
    "avg": "Average over all instances of the unit",
    "min": "Least of all instances of the unit",
    "max": "Largest of all instances of the unit",
}
_MADE: Final = (
    ("pct_of_peak_sustained_elapsed", "in % of the peak that can be sustained, over the whole launch"),
    ("pct_of_peak_sustained_active", "in % of the peak that can be sustained, while the unit was active"),
    ("pct_of_peak_burst_elapsed", "in % of the peak of a burst, over the whole launch"),
    ("pct_of_peak_burst_active", "in % of the peak of a burst, while the unit was active"),
    ("peak_sustained_elapsed.per_second", "the peak that can be sustained, a second"),
    ("peak_sustained", "the peak that can be sustained, a cycle"),
    ("peak_burst", "the peak of a burst, a cycle"),
    ("per_cycle_active", "for each cycle in which the unit was active"),
    ("per_cycle_elapsed", "for each cycle of the launch"),
    ("per_second", "a second"),
)
_KNOWN: Final = {
    "gpu__time_duration.sum": "How long the launch ran on the GPU, at the clocks during profiling.",
    "sm__throughput.avg.pct_of_peak_sustained_elapsed": (
        "The most used of the counters of the multiprocessors, in % of its peak."
    ),
    "gpu__compute_memory_throughput.avg.pct_of_peak_sustained_elapsed": (
        "The most used of all counters of caches and memory, in % of its peak."
    ),
    "launch__registers_per_thread": "Registers that one thread uses.",
    "launch__grid_size": "Blocks of the launch.",
    "launch__block_size": "Threads in a block.",
    "launch__waves_per_multiprocessor": (
        "Blocks of the launch over those that fit on the device at a time; a fraction is a last wave in part."
    ),
    "launch__occupancy_limit_registers": "Blocks that fit on a multiprocessor by their registers.",
    "launch__occupancy_limit_shared_mem": "Blocks that fit on a multiprocessor by their shared memory.",
    "launch__occupancy_limit_warps": "Blocks that fit on a multiprocessor by their warps.",
    "launch__occupancy_limit_blocks": "Blocks that a multiprocessor holds at most.",
    "launch__occupancy_limit_barriers": "Blocks that fit on a multiprocessor by their barriers.",
    "sm__maximum_warps_per_active_cycle_pct": (
        "Theoretical occupancy: warps that fit on a multiprocessor, of those that it holds at most."
    ),
    "sm__warps_active.avg.pct_of_peak_sustained_active": (
        "Achieved occupancy: warps that were on a multiprocessor on average, of those that it holds at most."
    ),
}
_PREFIXES: Final = {
    "breakdown": "Names of the counters that the metric is the largest of.",
    "group": "Names of the metrics of a group.",
    "pmsampling": "Sampled over time while the launch ran.",
}


def label_parts(name: str) -> tuple[str, str]:
    """Returns unit and words of a metric: ("L2", "Tag sectors") of ``lts__t_sectors.sum``."""
    stall = _STALL.search(name)
    if stall is not None:
        return "", f"Stalled, {stall[1].replace('_', ' ')}"
    unit, separator, rest = name.rpartition(":")[2].partition("__")
    if not separator:
        unit, rest = "", unit
    words = [_CAPITALS.get(word, word) for word in rest.partition(".")[0].split("_")]
    pairs = zip(words, ["", *words[:-1]], strict=True)
    text = " ".join(word for word, before in pairs if word not in ("", before))
    return _UNITS.get(unit, unit.upper()), text[:1].upper() + text[1:] or rest


@lru_cache(maxsize=16_384)
def describe(name: str) -> str:
    """Returns what a metric is in one sentence, "" where its name does not say."""
    known = _KNOWN.get(name)
    if known is not None:
        return known
    prefix, colon, plain = name.partition(":")
    if colon and prefix != "pmsampling":
        return _PREFIXES.get(prefix, "")
    sampled = f" {_PREFIXES[prefix]}" if colon else ""
    unit, counter = _split(plain if colon else name)
    counter, *made = counter.split(".")
    if not made or not unit:
        return sampled.strip()
    _, words = label_parts(name)
    where = _WHERE.get(unit, "")
    start = _ROLL_UPS.get(made[0], "")
    what = f"{words} {where}".strip()
    rest = next((text for ending, text in _MADE if ".".join(made).endswith(ending)), "")
    parts = [part for part in (start, rest) if part]
    return f"{what}. {', '.join(parts)}." + sampled if parts else f"{what}.{sampled}"


def _split(name: str) -> tuple[str, str]:
    unit, separator, counter = name.partition("__")
    return (unit, counter) if separator else ("", name)
