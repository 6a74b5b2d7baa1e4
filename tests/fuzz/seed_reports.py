"""Small reports and tables of Nsight Compute to be damaged: every kind of message, every layout."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import zstandard

from tests.helpers import ncu_reports as made

if TYPE_CHECKING:
    from pathlib import Path

MOST_SEED_BYTES: Final = 100_000
ENDS: Final = (".ncu-rep", ".ncu-repz", ".csv")
_KERNEL: Final = (
    *("ID", "Process ID", "Process Name", "Host Name", "Kernel Name", "Context", "Stream", "Block Size"),
    *("Grid Size", "Device", "CC"),
)
COUNTERS: Final = {
    "sm__cycles_elapsed.avg.per_second": 1.1e9,
    "smsp__cycles_elapsed.avg.per_second": 1.1e9,
    "dram__cycles_elapsed.avg.per_second": 1.6e9,
    "sm__sass_thread_inst_executed_op_ffma_pred_on.sum.peak_sustained": 14592.0,
    "smsp__sass_thread_inst_executed_op_fadd_pred_on.sum.per_cycle_elapsed": 3.5,
    "smsp__sass_thread_inst_executed_op_fmul_pred_on.sum.per_cycle_elapsed": 2.25,
    "smsp__sass_thread_inst_executed_op_ffma_pred_on.sum.per_cycle_elapsed": 120.0,
    "dram__bytes.sum.per_second": 1.5e12,
    "dram__bytes.sum.peak_sustained": 1270.0,
    "sm__ops_path_tensor_src_bf16_dst_fp32.sum": 1.2e9,
    "sm__ops_path_tensor_op_hgmma_src_bf16_dst_fp32_sparsity_off.sum.peak_sustained": 466944.0,
    "sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_elapsed": 12.5,
    "sass__inst_executed_per_opcode_with_modifier_selective": 60.0,
    "launch__waves_per_multiprocessor": 0.5,
    "launch__registers_per_thread": 40.0,
}


def seeds() -> dict[str, bytes]:
    """Returns files by name; the name's end says what they are."""
    full = made.full_report()
    details = _details()
    return {
        "full.ncu-rep": full,
        "counted.ncu-rep": counted_report(),
        "packed.ncu-repz": zstandard.compress(full),
        "raw.csv": _raw().encode(),
        "raw-16.csv": _raw().encode("utf-16"),
        "comma.csv": _raw(comma=True).encode(),
        "details.csv": details.encode(),
        "around.csv": (f"==PROF== Connected\nloss, 1.5\n{details}\n==PROF== Disconnected\n").encode(),
    }


def counted_report() -> bytes:
    """Writes a report of three launches with all that a roofline needs, by counters and by instructions."""
    texts = (*made.NAMES, *COUNTERS)
    first = len(made.NAMES)
    opcodes = [
        made.instance(made.text_value("HMMA.16816.F32.BF16"), made.integer(400_000)),
        made.instance(made.text_value("IMMA.16832.S8.S8"), made.double(20.0)),
    ]
    counters = [
        made.metric(first + place, made.double(value), opcodes if name.startswith("sass__") else ())
        for place, (name, value) in enumerate(COUNTERS.items())
    ]
    few = [each for each, name in zip(counters, COUNTERS, strict=True) if "ops_path" not in name]
    results = [
        made.result([*made.usual_metrics(), *counters], [made.section()], [made.rule()], f21=made.nvtx()),
        made.result([*made.usual_metrics(), *few], f7="void gemm_s16816<float, 4>(int)"),
        made.result(made.usual_metrics()),
    ]
    return made.report(
        made.block(session=made.session(), texts=texts),
        *(
            made.block(sources=[made.source()] if not place else (), results=[each])
            for place, each in enumerate(results)
        ),
    )


def handed_seeds(folder: Path) -> dict[str, bytes]:
    """Returns the small reports and tables of a folder."""
    found = {}
    for path in sorted(folder.iterdir()) if folder.is_dir() else ():
        if path.suffix in ENDS and 0 < path.stat().st_size <= MOST_SEED_BYTES:
            found[path.name] = path.read_bytes()
    return found


def _raw(*, comma: bool = False) -> str:
    """Writes a table as the raw page has it; with commas as some locales write decimals."""
    swapped = str.maketrans(",.", ".,") if comma else {}
    counted = list(COUNTERS.items())[:-2]
    names = ["gpu__time_duration.sum", "dram__bytes.sum", *(name for name, _ in counted)]
    header = [*_KERNEL, *names, "device__attribute_display_name"]
    units = [*[""] * len(_KERNEL), "us", "Mbyte", *["inst"] * len(counted), ""]
    values = [
        f"{value:,.2f}".translate(swapped) for value in (1250.25, 134.5, *(each for _, each in counted))
    ]
    kernels = ("void norm<float, 4>(int, float*)", "sm90_gemm", "sm90_gemm")
    rows = [
        [str(number), *_start(kernel), *values, "NVIDIA H100 PCIe"] for number, kernel in enumerate(kernels)
    ]
    return _written([header, units, *rows])


def _details() -> str:
    header = [*_KERNEL, "Section Name", "Metric Name", "Metric Unit", "Metric Value"]
    header += ["Rule Name", "Rule Type", "Rule Description", "Estimated Speedup Type", "Estimated Speedup"]
    start = ["0", *_start("norm(int)")]
    speed = "GPU Speed Of Light Throughput"
    values = (
        ("Duration", "us", "50.00"),
        ("Memory Throughput", "%", "80.10"),
        ("Memory Throughput", "Tbyte/s", "2.68"),
        ("SM Frequency", "Ghz", "1.20"),
    )
    rows = [[*start, speed, name, unit, value, "", "", "", "", ""] for name, unit, value in values]
    rows.append(
        [*start, "SpeedOfLight", "", "", "", "SOLBottleneck", "OPT", "Look at memory.", "local", "12.5"]
    )
    return _written([header, *rows])


def _start(kernel: str) -> list[str]:
    return ["42", "python", "host", kernel, "1", "7", "(128, 1, 1)", "(64, 2, 1)", "0", "9.0"]


def _written(rows: list[list[str]]) -> str:
    return "".join(",".join(f'"{cell}"' for cell in row) + "\n" for row in rows)
