"""The metrics behind the labels that the details page prints instead of their names.

Labels that stand for different metrics on different devices are not here: they
keep their own name, below that of their section.

Source: section files of Nsight Compute 2020.1 to 2026.2 as real reports carry
them; the labels in brackets ("SM [%]") and of "SOL FB", "SOL L2", "SOL TEX" from
printed output of 2020.
"""

from __future__ import annotations

from typing import Final

from core.tables.ncu_terms import DRAM_BYTES_PER_S, DURATION, GRID_SIZE, MEMORY_PCT, SM_PCT

_DRAM_PCT: Final = "gpu__dram_throughput.avg.pct_of_peak_sustained_elapsed"
_L2_PCT: Final = "lts__throughput.avg.pct_of_peak_sustained_elapsed"
_L1_PCT: Final = "l1tex__throughput.avg.pct_of_peak_sustained_active"
_DRAM_HZ: Final = "dram__cycles_elapsed.avg.per_second"

_METRICS: Final = {
    # GPU Speed Of Light Throughput
    "Compute (SM) Throughput": SM_PCT,
    "SM [%]": SM_PCT,
    "SOL SM": SM_PCT,
    "Memory [%]": MEMORY_PCT,
    "SOL Memory": MEMORY_PCT,
    "Duration": DURATION,
    "DRAM Throughput": _DRAM_PCT,
    "SOL DRAM": _DRAM_PCT,
    "SOL FB": _DRAM_PCT,
    "L2 Cache Throughput": _L2_PCT,
    "SOL L2 Cache": _L2_PCT,
    "SOL L2": _L2_PCT,
    "L1/TEX Cache Throughput": _L1_PCT,
    "SOL L1/TEX Cache": _L1_PCT,
    "SOL TEX": _L1_PCT,
    "DRAM Frequency": _DRAM_HZ,
    "Memory Frequency": _DRAM_HZ,
    "SM Frequency": "gpc__cycles_elapsed.avg.per_second",
    "Elapsed Cycles": "gpc__cycles_elapsed.max",
    "SM Active Cycles": "sm__cycles_active.avg",
    # Compute Workload Analysis
    "Executed Ipc Active": "sm__inst_executed.avg.per_cycle_active",
    "Executed Ipc Elapsed": "sm__inst_executed.avg.per_cycle_elapsed",
    "Issue Slots Busy": "sm__inst_issued.avg.pct_of_peak_sustained_active",
    "Issued Ipc Active": "sm__inst_issued.avg.per_cycle_active",
    "SM Busy": "sm__instruction_throughput.avg.pct_of_peak_sustained_active",
    # Memory Workload Analysis
    "L1/TEX Hit Rate": "l1tex__t_sector_hit_rate.pct",
    "L2 Hit Rate": "lts__t_sector_hit_rate.pct",
    "Max Bandwidth": "gpu__compute_memory_request_throughput.avg.pct_of_peak_sustained_elapsed",
    "Mem Busy": "gpu__compute_memory_access_throughput.avg.pct_of_peak_sustained_elapsed",
    "Mem Pipes Busy": "sm__memory_throughput.avg.pct_of_peak_sustained_elapsed",
    # GPU and Memory Workload Distribution
    "Average DRAM Active Cycles": "dram__cycles_active.avg",
    "Average L1 Active Cycles": "l1tex__cycles_active.avg",
    "Average L2 Active Cycles": "lts__cycles_active.avg",
    "Average SM Active Cycles": "sm__cycles_active.avg",
    "Average SMSP Active Cycles": "smsp__cycles_active.avg",
    "Total DRAM Elapsed Cycles": "dram__cycles_elapsed.sum",
    "Total L1 Elapsed Cycles": "l1tex__cycles_elapsed.sum",
    "Total L2 Elapsed Cycles": "lts__cycles_elapsed.sum",
    "Total SM Elapsed Cycles": "sm__cycles_elapsed.sum",
    "Total SMSP Elapsed Cycles": "smsp__cycles_elapsed.sum",
    # Instruction and Scheduler Statistics
    "Avg. Executed Instructions Per Scheduler": "smsp__inst_executed.avg",
    "Avg. Issued Instructions Per Scheduler": "smsp__inst_issued.avg",
    "Executed Instructions": "smsp__inst_executed.sum",
    "Issued Instructions": "smsp__inst_issued.sum",
    "Active Warps Per Scheduler": "smsp__warps_active.avg.per_cycle_active",
    "Eligible Warps Per Scheduler": "smsp__warps_eligible.avg.per_cycle_active",
    "Issued Warp Per Scheduler": "smsp__issue_active.avg.per_cycle_active",
    "No Eligible": "smsp__issue_inst0.avg.pct_of_peak_sustained_active",
    "One or More Eligible": "smsp__issue_active.avg.pct_of_peak_sustained_active",
    # Warp State Statistics and Source Counters
    "Avg. Active Threads Per Warp": "smsp__thread_inst_executed_per_inst_executed.ratio",
    "Avg. Not Predicated Off Threads Per Warp": "smsp__thread_inst_executed_pred_on_per_inst_executed.ratio",
    "Warp Cycles Per Executed Instruction": "smsp__average_warps_active_per_inst_executed.ratio",
    "Warp Cycles Per Issued Instruction": "smsp__average_warp_latency_per_inst_issued.ratio",
    "Avg. Divergent Branches": "smsp__sass_branch_targets_threads_divergent.avg",
    "Branch Efficiency": "smsp__sass_average_branch_targets_threads_uniform.pct",
    "Branch Instructions": "smsp__inst_executed_op_branch.sum",
    "Branch Instructions Ratio": "derived__smsp__inst_executed_op_branch_pct",
    # Launch Statistics
    "# SMs": "launch__sm_count",
    "# TPCs": "launch__tpc_count",
    "Block Size": "launch__block_size",
    "Cluster Size": "launch__cluster_size",
    "Cluster Scheduling Policy": "launch__cluster_scheduling_policy",
    "Driver Shared Memory Per Block": "launch__shared_mem_per_block_driver",
    "Dynamic Shared Memory Per Block": "launch__shared_mem_per_block_dynamic",
    "Static Shared Memory Per Block": "launch__shared_mem_per_block_static",
    "Function Cache Configuration": "launch__func_cache_config",
    "Grid Size": GRID_SIZE,
    "Registers Per Thread": "launch__registers_per_thread",
    "Shared Memory Configuration Size": "launch__shared_mem_config_size",
    "Stack Size": "launch__stack_size",
    "Threads": "launch__thread_count",
    "Uses Green Context": "launch__uses_green_context",
    "Waves Per SM": "launch__waves_per_multiprocessor",
    # Occupancy
    "Achieved Active Warps Per SM": "sm__warps_active.avg.per_cycle_active",
    "Achieved Occupancy": "sm__warps_active.avg.pct_of_peak_sustained_active",
    "Block Limit Barriers": "launch__occupancy_limit_barriers",
    "Block Limit Registers": "launch__occupancy_limit_registers",
    "Block Limit SM": "launch__occupancy_limit_blocks",
    "Block Limit Shared Mem": "launch__occupancy_limit_shared_mem",
    "Block Limit Warps": "launch__occupancy_limit_warps",
    "Cluster Occupancy": "launch__occupancy_cluster_pct",
    "Max Active Clusters": "launch__cluster_max_active",
    "Max Cluster Size": "launch__cluster_max_potential_size",
    "Overall GPU Occupancy": "launch__occupancy_cluster_gpu_pct",
    "Theoretical Active Warps per SM": "sm__maximum_warps_avg_per_active_cycle",
    "Theoretical Occupancy": "sm__maximum_warps_per_active_cycle_pct",
}
_BY_UNIT: Final = {("Memory Throughput", "%"): MEMORY_PCT, ("Memory Throughput", "byte/s"): DRAM_BYTES_PER_S}
"""One label, two metrics: of two sections, and told apart for certain by the unit."""

_BY_SECTION: Final = {
    ("Memory Throughput", "GPU Speed Of Light Throughput"): MEMORY_PCT,
    ("Memory Throughput", "Memory Workload Analysis"): DRAM_BYTES_PER_S,
}
"""The same, for a value that is absent and therefore printed without a unit."""

_SECTIONS: Final = {
    "GPU Speed Of Light Throughput": "SpeedOfLight",
    "GPU Speed Of Light": "SpeedOfLight",
    "Compute Workload Analysis": "ComputeWorkloadAnalysis",
    "Memory Workload Analysis": "MemoryWorkloadAnalysis",
    "GPU and Memory Workload Distribution": "WorkloadDistribution",
    "Instruction Statistics": "InstructionStats",
    "Scheduler Statistics": "SchedulerStats",
    "Warp State Statistics": "WarpStateStats",
    "Source Counters": "SourceCounters",
    "Launch Statistics": "LaunchStats",
    "Occupancy": "Occupancy",
    "PM Sampling": "PmSampling",
}


def metric_of_label(section: str, label: str, unit: str) -> str:
    """Returns the name of the metric that a row of the details page is about.

    Args:
        section: Title of its section.
        label: As printed: a label, or the name itself where the user chose single metrics.
        unit: Base unit of the row.
    """
    known = _METRICS.get(label) or _BY_UNIT.get((label, unit))
    if not known and not unit:
        known = _BY_SECTION.get((label, section))
    if known or "__" in label:
        return known or label
    return f"{section}: {label}" if section else label


def section_identifier(title: str) -> str:
    """Returns the name that rules give to the section of a title; the title itself if it is not known."""
    return _SECTIONS.get(title, title)
