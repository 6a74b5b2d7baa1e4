"""The kernel breakdown of Holistic Trace Analysis (HTA); runs in an interpreter that has it, without ours.

Usage: ``python trace_way_hta.py FILE``; prints a line as ``trace_ways`` does. HTA
leaves out the last step and cuts durations to whole microseconds, so that its sum
is another.
"""

from __future__ import annotations

import importlib
import json
import logging
import os
import resource
import sys
import tempfile
import time
from pathlib import Path


def main(path: Path) -> None:
    """Measures one breakdown."""
    logging.disable(logging.WARNING)
    analysis = importlib.import_module("hta.trace_analysis").TraceAnalysis
    with tempfile.TemporaryDirectory() as folder:
        link = Path(folder) / f"rank-0{path.suffix}"
        link.symlink_to(path.absolute())
        cpu_s, began = sum(os.times()[:4]), time.perf_counter()
        read = analysis(trace_files={0: str(link)}, trace_dir=folder)
        kinds, _ = read.get_gpu_kernel_breakdown(visualize=False, num_kernels=1_000_000)
        wall_s, cpu_s = time.perf_counter() - began, sum(os.times()[:4]) - cpu_s
    status = Path("/proc/self/status").read_text(encoding="ascii")
    children_bytes = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024
    peak_bytes = max(int(status.split("VmHWM:")[1].split()[0]) * 1024, children_bytes)
    found = {"kernel_sum_us": float(kinds.loc[kinds["kernel_type"] != "MEMORY", "sum"].sum())}
    print(json.dumps({"wall_s": wall_s, "cpu_s": cpu_s, "peak_bytes": peak_bytes, "found": found}))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
