"""Which of the vendor's metrics stand for a term of ours: the one place where they are chosen."""

from __future__ import annotations

from typing import Final

DURATION: Final = "gpu__time_duration.sum"
GRID_SIZE: Final = "launch__grid_size"
SM_PCT: Final = "sm__throughput.avg.pct_of_peak_sustained_elapsed"
MEMORY_PCT: Final = "gpu__compute_memory_throughput.avg.pct_of_peak_sustained_elapsed"
DRAM_BYTES_PER_S: Final = "dram__bytes.sum.per_second"
DRAM_BYTES: Final = "dram__bytes.sum"
DRAM_READ_BYTES: Final = "dram__bytes_read.sum"
DRAM_WRITTEN_BYTES: Final = "dram__bytes_write.sum"
SM_CYCLES_PER_S: Final = "sm__cycles_elapsed.avg.per_second"
REGISTERS: Final = "launch__registers_per_thread"
SHARED_MEMORY_BYTES: Final = "launch__shared_mem_per_block"
WAVES: Final = "launch__waves_per_multiprocessor"
THEORETICAL_OCCUPANCY_PCT: Final = "sm__maximum_warps_per_active_cycle_pct"
ACHIEVED_OCCUPANCY_PCT: Final = "sm__warps_active.avg.pct_of_peak_sustained_active"
