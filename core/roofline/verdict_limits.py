"""The limits that verdicts and remedies are decided by, each with where it comes from."""

from __future__ import annotations

from typing import Final

NEAR_ROOF_PCT: Final = 75.0
"""Above it, what was measured is near its roof.

Source: DESIGN.md, "The seed", point 3: memory-bound with memory above 75 %, compute-bound with SM above 75 %.
"""

LOW_SM_PCT: Final = 25.0
"""Below it, the SMs of a memory-bound kernel do little. Source: the same table."""

LOW_MEMORY_PCT: Final = 50.0
"""Below it, the memory of a compute-bound kernel does little. Source: the same table."""

NEAR_MODEL_PCT: Final = 60.0
"""The same as ``NEAR_ROOF_PCT`` for what a model holds against a data sheet.

A data sheet's peak is at the boost clock, which no long kernel keeps: a cuBLAS GEMM on H100 whose SMs are
busy at 92 % makes 69 % of it (case R01). Source: 60 % is the limit of Nsight Compute's rule SOLBottleneck.
"""

LEANING_PCT: Final = 60.0
"""From it on, what is not near its roof is at least worth what helps at that roof.

Source: Nsight Compute, SOLBottleneck: "below 60.0% of peak typically indicate latency issues".
"""

LEANING_BY_PCT: Final = 10.0
"""By how much it must exceed the other throughput. Source: the same rule ("67.110 - 25.403 >= 10.000")."""

WARP: Final = 32
"""Threads of a warp. Source: CUDA C++ Programming Guide, "SIMT Architecture"."""

FULL_WAVES: Final = 1.0
"""With fewer waves of blocks, some SMs get none. Source: Nsight Compute, SOLBottleneck, "Small Grid"."""

LEAST_TAIL: Final = 0.05
"""A last wave that leaves less of the device's time idle is not worth a word. Source: ours."""

LOW_OCCUPANCY_PCT: Final = 80.0
"""Below it, what limits the theoretical occupancy is named.

Source: Nsight Compute, IssueSlotUtilization ("8.0 / 16.0 < 0.8") and TheoreticalOccupancy.
"""

UNEVEN_OCCUPANCY_PCT: Final = 10.0
"""By how much the achieved occupancy is below the theoretical one before it counts as uneven work.

Source: Nsight Compute, AchievedOccupancy.
"""

STALL_PCT: Final = 30.0
"""Share of the time between two instructions of a warp from which a reason to stall is named.

Source: Nsight Compute, CPIStall ("8.10 / 17.98 > 0.3").
"""

EXCESS_PCT: Final = 10.0
"""Share of sectors fetched in vain from which access counts as uncoalesced. Source: ours."""

LEAST_GAIN_PCT: Final = 0.1
"""A remedy that saves less at most is not worth a word. Source: ours."""

ALIGNED_BYTES: Final = 16
"""Rows of a matrix begin at multiples of it, so that tensor cores get data at full rate: 8 of 2 bytes.

Source: NVIDIA, Deep Learning Performance, "Matrix Multiplication Background", Tensor Core requirements.
"""

TILE: Final = 128
"""Rows and columns of a tile where the kernel's name gives none; the seed's table names 64 and 128."""

LEAST_PADDING_PCT: Final = 2.0
"""A tile that computes less for nothing is not worth a word. Source: ours."""

FEW_ROWS: Final = 64
"""A GEMM of fewer rows than half a tile reads its weights for little work (decode). Source: ``TILE``."""

LONGEST_LAUNCH_NS: Final = 1_000_000
"""A longer idle time is not the cost of launches: the host was at something else.

Source: ours; eager PyTorch launches a kernel every 5 to 50 us.
"""

BESIDE_PCT: Final = 10.0
"""Share of a kernel's time beside communication from which the verdict says so. Source: ours (case R13)."""
