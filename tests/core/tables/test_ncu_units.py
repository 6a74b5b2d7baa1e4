"""Units of metrics by their names, as the tool prints them in base units."""

from __future__ import annotations

import pytest

from core.tables.ncu_units import unit_of


@pytest.mark.parametrize(
    ("name", "unit"),
    [
        ("gpu__time_duration.sum", "ns"),
        ("dram__bytes_read.sum", "byte"),
        ("dram__bytes.sum.per_second", "byte/s"),
        ("dram__bytes.sum.peak_sustained", "byte/cycle"),
        ("sm__cycles_elapsed.avg.per_second", "Hz"),
        ("sm__cycles_active.avg", "cycle"),
        ("sm__throughput.avg.pct_of_peak_sustained_elapsed", "%"),
        ("l1tex__t_sector_hit_rate.pct", "%"),
        ("smsp__inst_executed.sum", "inst"),
        ("smsp__inst_executed.avg.per_cycle_active", "inst/cycle"),
        ("pmsampling:sm__inst_executed_realtime.avg.per_cycle_active", "inst/cycle"),
        ("smsp__sass_thread_inst_executed_op_ffma_pred_on.sum.peak_sustained", "inst/cycle"),
        ("lts__t_sectors_op_read.sum", "sector"),
        ("l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum", "request"),
        ("sm__warps_active.avg.per_cycle_active", "warp/cycle"),
        ("smsp__average_warps_issue_stalled_barrier_per_issue_active.ratio", ""),
        ("smsp__sass_average_data_bytes_per_sector_mem_global_op_ld.max_rate", ""),
        ("smsp__cycles_active.avg.per_cycle_elapsed", ""),
        ("launch__registers_per_thread", "register/thread"),
        ("launch__shared_mem_per_block_static", "byte/block"),
        ("launch__occupancy_limit_warps", "block"),
        ("launch__grid_size", ""),
        ("device__attribute_clock_rate", ""),
        ("breakdown:sm__throughput.avg.pct_of_peak_sustained_elapsed", ""),
        ("derived__smsp__inst_executed_op_branch_pct", "%"),
        ("sm__ops_path_tensor_src_fp16_dst_fp32.sum.per_second", "1/s"),
        ("brand__new_metric.avg", ""),
        ("no metric at all", ""),
        ("", ""),
    ],
)
def test_the_name_tells_the_unit(name: str, unit: str) -> None:
    assert unit_of(name) == unit
