"""Writes small tables as ``ncu --csv --page raw`` prints them."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

COLUMNS = (
    ("ID", ""),
    ("Process ID", ""),
    ("Process Name", ""),
    ("Host Name", ""),
    ("Kernel Name", ""),
    ("Context", ""),
    ("Stream", ""),
    ("Block Size", ""),
    ("Grid Size", ""),
    ("Device", ""),
    ("CC", ""),
    ("gpu__time_duration.sum", "ns"),
    ("sm__throughput.avg.pct_of_peak_sustained_elapsed", "%"),
    ("gpu__compute_memory_throughput.avg.pct_of_peak_sustained_elapsed", "%"),
)

Kernel = tuple[str, int, float, float]
"""Name, duration in ns, SM and memory in %."""


def write_kernel_csv(path: Path, *kernels: Kernel, processes: tuple[int, ...] = (7,)) -> Path:
    """Writes a row for each kernel; processes take turns."""
    lines = [[name for name, _ in COLUMNS], [unit for _, unit in COLUMNS]]
    for place, (name, duration_ns, sm_pct, memory_pct) in enumerate(kernels):
        process = processes[place % len(processes)]
        lines.append(
            [
                *(str(place), str(process), f"app{process}", "127.0.0.1", name, "1", "7"),
                *("(256, 1, 1)", "(64, 1, 1)", "0", "9.0"),
                *(str(duration_ns), str(sm_pct), str(memory_pct)),
            ]
        )
    path.write_text("".join(",".join(f'"{cell}"' for cell in line) + "\n" for line in lines))
    return path
