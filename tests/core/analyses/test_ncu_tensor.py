"""Work of tensor cores: totals and their parts, sparsity, Volta's pipe, opcodes, and what is not known."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

from core.analyses.ncu_counters import Counters
from core.analyses.ncu_tensor import TENSOR_TYPES, opcode_work, tensor_peaks, tensor_work
from core.tables.ncu import Instances
from tests.helpers.counted_launches import counted

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from core.analyses.ncu_tensor import TensorType

OPS = "sm__ops_path_tensor"


def flop(folder: Path, *launches: Mapping[str, float], capability: int = 90) -> list[dict[str, float]]:
    """What is counted of each launch, without what is not."""
    found = tensor_work(Counters(counted(folder, *map(dict, launches), capability=capability))).flop
    return [
        {kind: value for kind, value in zip(TENSOR_TYPES, row, strict=True) if not np.isnan(value)}
        for row in found.tolist()
    ]


def opcodes(**counts: int) -> Instances:
    texts = tuple(text.replace("_", ".") for text in counts)
    numbers = np.array(list(counts.values()), np.float64)
    return Instances(
        np.zeros(len(texts), np.uint64), texts, numbers, numbers.astype(np.uint64), is_time_series=False
    )


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        ({"src_bf16_dst_fp32": 5.0}, {"bf16": 5.0}),
        ({"src_tf32_dst_fp32_sparsity_off": 5.0, "src_tf32_dst_fp32_sparsity_on": 2.0}, {"tf32": 7.0}),
        ({"src_fp16_dst_fp16": 5.0, "src_fp16_dst_fp32": 2.0}, {"fp16": 7.0}),
        # What stands in the total is not added again.
        ({"op_hmma_src_int8_sparsity_off": 3.0, "src_int8": 7.0}, {"int8": 7.0}),
        ({"op_igmma_src_int8_sparsity_on": 4.0, "op_imma_src_int8_sparsity_off": 3.0}, {"int8": 7.0}),
        ({"op_hgmma_src_fp16_sparsity_off": 3.0, "op_hmma_src_fp16_dst_fp32": 4.0}, {"fp16": 7.0}),
        ({"src_fp64": 1.0, "src_fp4_dst_fp32": 2.0}, {"fp64": 1.0, "fp4": 2.0}),
        ({"src_fp4_fp6_fp8_dst_fp32": 3.0}, {"fp8": 3.0}),
        ({"src_int1": 1.0, "src_int4_sparsity_off": 2.0}, {"other": 3.0}),
        ({"src_bf16_dst_fp32": 0.0}, {"bf16": 0.0}),
    ],
)
def test_operations_are_counted_once_by_type(
    tmp_path: Path, names: dict[str, float], expected: dict[str, float]
) -> None:
    launch = {f"{OPS}_{name}.sum": value for name, value in names.items()}
    assert flop(tmp_path, launch) == [expected]


def test_parts_serve_where_the_total_was_not_collected(tmp_path: Path) -> None:
    parts = {f"{OPS}_src_bf16_dst_fp32_sparsity_off.sum": 3.0}
    total = {f"{OPS}_src_bf16_dst_fp32.sum": 5.0}
    assert flop(tmp_path, total | parts, parts, {}) == [{"bf16": 5.0}, {"bf16": 3.0}, {}]


def test_rates_become_operations_with_the_duration(tmp_path: Path) -> None:
    """10 us: 4 operations a cycle at 1 GHz are 40,000."""
    clock = {"sm__cycles_elapsed.avg.per_second": 1e9}
    by_cycle = clock | {f"{OPS}_src_fp64.sum.per_cycle_elapsed": 4.0}
    assert flop(tmp_path, by_cycle, {f"{OPS}_src_fp64.sum.per_second": 1e9}) == [
        {"fp64": 40_000.0},
        {"fp64": 10_000.0},
    ]


@pytest.mark.parametrize(
    ("capability", "expected"), [(70, {"fp16": 5120.0}), (72, {"fp16": 5120.0}), (75, {})]
)
def test_an_instruction_of_volta_does_512_operations(
    tmp_path: Path, capability: int, expected: dict[str, float]
) -> None:
    launch = {"sm__inst_executed_pipe_tensor.sum": 10}
    assert flop(tmp_path, launch, capability=capability) == [expected]
    found = tensor_work(Counters(counted(tmp_path, launch, capability=capability)))
    assert (found.estimated[0], found.counted[0], found.active[0]) == (bool(expected), bool(expected), True)


@pytest.mark.parametrize(
    ("metrics", "active", "idle"),
    [
        ({}, False, False),
        ({"sm__inst_executed_pipe_tensor.sum": 3}, True, False),
        ({"smsp__inst_executed_pipe_tensor.sum": 0}, False, True),
        ({"sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_elapsed": 31.0}, True, False),
        ({"sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_elapsed": 0.0}, False, True),
        # Moves of registers keep the pipe a little busy: that says neither.
        ({"sm__inst_executed_pipe_tensor_op_hmma.avg.pct_of_peak_sustained_active": 0.8}, False, False),
        # What kinds of instructions say counts before the pipe as a whole.
        (
            {
                "sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_elapsed": 31.0,
                "sm__pipe_tensor_op_dmma_cycles_active.avg.pct_of_peak_sustained_elapsed": 0.0,
            },
            False,
            True,
        ),
    ],
)
def test_counters_of_the_pipe_tell_whether_it_was_used(
    tmp_path: Path, metrics: dict[str, float], active: bool, idle: bool
) -> None:
    found = tensor_work(Counters(counted(tmp_path, metrics)))
    assert (found.active[0], found.idle[0], found.counted[0]) == (active, idle, False)


@pytest.mark.parametrize(
    ("opcode", "kind", "operations"),
    [
        ("HMMA.16816.F32", "fp16", 4096),
        ("HMMA.16816.F32.BF16", "bf16", 4096),
        ("HMMA.1688.F32", "fp16", 2048),
        ("HMMA.1688.F32.TF32", "tf32", 2048),
        ("HMMA.1684.F32.TF32", "tf32", 1024),
        ("HMMA.884.F32.F32.STEP0", "fp16", 512),
        ("IMMA.16832.S8.S8", "int8", 8192),
        ("IMMA.16832.U8.S8.SAT", "int8", 8192),
        ("IMMA.8816.S8.S8", "int8", 2048),
        ("IMMA.16864.S4.S4", "other", 16384),
        ("BMMA.168256.AND.POPC", "other", 65536),
        ("DMMA.884", "fp64", 512),
        ("DMMA.1688", "fp64", 2048),
    ],
)
def test_an_opcode_says_what_an_instruction_does(opcode: str, kind: TensorType, operations: int) -> None:
    found = opcode_work(opcodes(**{opcode.replace(".", "_"): 3, "FFMA": 9, "HFMA2_MMA": 7}))
    assert found is not None
    assert found[TENSOR_TYPES.index(kind)] == 3 * operations == found.sum()


@pytest.mark.parametrize(
    "opcode",
    ["HGMMA_64x256x16_F32", "QMMA_16832_F32_E4M3_E4M3", "UTCHMMA", "HMMA_SP_16832_F32", "HMMA_999", "IMMA"],
)
def test_what_an_opcode_does_not_tell_is_not_guessed(opcode: str) -> None:
    assert opcode_work(opcodes(**{opcode: 1, "HMMA_16816_F32": 5})) is None
    assert opcode_work(opcodes(**{opcode: 0, "FFMA": 5})) is not None


@pytest.mark.parametrize("count", [float("nan"), float("inf"), -1.0])
def test_a_count_that_cannot_be_makes_no_work(count: float) -> None:
    texts, numbers = ("HMMA.16816.F32", "IMMA.16832.S8.S8"), np.array([5.0, count])
    none = np.zeros(2, np.uint64)
    assert opcode_work(Instances(none, texts, numbers, none.copy(), is_time_series=False)) is None


def test_no_matrix_instruction_is_no_work_and_no_opcode_is_not_known() -> None:
    found = opcode_work(opcodes(FFMA=5))
    assert found is not None
    assert not found.any()
    assert opcode_work(opcodes()) is None


def peaks(folder: Path, capability: int, **values: float) -> dict[tuple[str, bool], float]:
    launch = {f"{OPS}_{name}.sum.peak_sustained": peak for name, peak in values.items()}
    launch |= {"sm__cycles_elapsed.avg.per_second": 2.0}
    found = tensor_peaks(Counters(counted(folder, launch, capability=capability)))
    return {(kind, is_sparse): float(peak[0]) for kind, is_sparse, peak in found}


def test_the_peak_of_a_total_is_that_with_sparsity(tmp_path: Path) -> None:
    """As an H100 reports it: the total's peak is twice that of its dense part; Turing has no sparsity."""
    assert peaks(
        tmp_path,
        90,
        src_bf16_dst_fp32=800.0,
        op_hmma_src_bf16_dst_fp32_sparsity_off=300.0,
        op_hgmma_src_bf16_dst_fp32_sparsity_off=400.0,
        op_hgmma_src_bf16_dst_fp32_sparsity_on=800.0,
        src_fp64=30.0,
    ) == {("bf16", False): 800.0, ("bf16", True): 1600.0, ("fp64", False): 60.0}
    assert peaks(tmp_path, 75, src_fp16_dst_fp32=9.0) == {("fp16", False): 18.0}
    assert peaks(tmp_path, 90, src_fp16_dst_fp32=9.0) == {("fp16", True): 18.0}
