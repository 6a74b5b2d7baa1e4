"""Writes tables of ncu with what a roofline needs: device, time, DRAM bytes, tensor and FP32 work."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

_COLUMNS = (
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
    ("dram__bytes.sum", "byte"),
    ("sm__throughput.avg.pct_of_peak_sustained_elapsed", "%"),
    ("gpu__compute_memory_throughput.avg.pct_of_peak_sustained_elapsed", "%"),
    ("smsp__sass_thread_inst_executed_op_fadd_pred_on.sum", "inst"),
    ("smsp__sass_thread_inst_executed_op_fmul_pred_on.sum", "inst"),
    ("smsp__sass_thread_inst_executed_op_ffma_pred_on.sum", "inst"),
    ("sm__ops_path_tensor_src_bf16_dst_fp32.sum", ""),
    ("sm__inst_executed_pipe_tensor.sum", "inst"),
    ("device__attribute_display_name", ""),
)


@dataclass(frozen=True)
class Counted:
    """One launch.

    Attributes:
        name: Of the kernel.
        device: As its driver reports it, "" for none.
        duration_ns: Of the launch.
        dram_bytes: Read and written.
        ffma: Multiply-adds in FP32, two operations each.
        tensor_flop: Operations of tensor cores in BF16.
    """

    name: str
    device: str
    duration_ns: int
    dram_bytes: int
    ffma: int = 0
    tensor_flop: int = 0


def write_roofline_csv(path: Path, *launches: Counted) -> Path:
    """Writes a row for each launch."""
    lines = [[name for name, _ in _COLUMNS], [unit for _, unit in _COLUMNS]]
    for place, each in enumerate(launches):
        lines.append(
            [
                *(str(place), "7", "app", "127.0.0.1", each.name, "1", "7", "(256, 1, 1)", "(64, 1, 1)"),
                *(str(place if each.device else 0), "9.0", str(each.duration_ns), str(each.dram_bytes)),
                *("50", "50", "0", "0", str(each.ffma), str(each.tensor_flop)),
                *(str(each.tensor_flop // 32768), each.device),
            ]
        )
    if not any(each.device for each in launches):
        lines = [line[:-1] for line in lines]
    path.write_text("".join(",".join(f'"{cell}"' for cell in line) + "\n" for line in lines))
    return path
