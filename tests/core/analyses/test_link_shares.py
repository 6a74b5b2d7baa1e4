"""How much of each handed trace is linked, and how: old numbering, eager, graph replay, no operators."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

from core.analyses.index import TraceIndex
from core.analyses.launches import list_launches
from core.analyses.links import LinkKind
from core.readers.torch_trace.reader import read_trace
from core.tables.columns import NO_ROW

if TYPE_CHECKING:
    from pathlib import Path

# Device work linked by External id, correlation, graph launch, not at all; and how much has an operator.
SHARES = {
    "a100_alexnet.json.gz": (0, 98, 0, 0, 98),
    "a100_nccl_args.json.gz": (3774, 0, 0, 0, 3774),
    "a100_triton.json.gz": (1, 0, 0, 0, 1),
    "b200_vllm_tp8.json.gz": (927, 2, 0, 0, 929),
    "ddp_rank0.json.gz": (0, 1204, 0, 0, 1204),
    "ddp_rank1.json.gz": (0, 1154, 0, 0, 1154),
    "diff_after_v100.json.gz": (0, 9972, 5046, 614, 15018),
    "diff_before_a100.json.gz": (0, 9450, 0, 0, 9450),
    "h100_owlv2_large.json.gz": (5165, 0, 0, 0, 5165),
    "h100_qwen_0.5b.json.gz": (1198, 0, 0, 509, 1198),
    "mi210_gpu_only.json.gz": (0, 562, 0, 0, 0),
    "mi250_minitoy.json.gz": (16, 0, 0, 0, 16),
    "mi300_bert_small.json.gz": (61, 0, 0, 0, 61),
    "mi300_sglang_graph_decode.json.gz": (11, 3, 544, 0, 558),
    "mi300_torch_compile_triton.json.gz": (12, 0, 0, 0, 12),
    "mi300_vllm_piecewise_graph.json.gz": (62, 0, 361, 0, 423),
    "ns_resolution.json.gz": (6095, 0, 0, 0, 6095),
}


@pytest.mark.parametrize("name", SHARES)
def test_the_handed_traces_are_linked_as_far_as_they_say_what_launched_what(
    shared_cases: Path, name: str
) -> None:
    path = shared_cases.parents[1] / "data" / "traces" / name
    if not path.is_file():
        pytest.skip("the handed traces are not on this machine")
    links = TraceIndex(read_trace(path)).links
    counts = np.bincount(links.how, minlength=len(LinkKind)).tolist()
    kinds = (LinkKind.EXTERNAL_ID, LinkKind.CORRELATION, LinkKind.GRAPH, LinkKind.NONE)
    found = (*(counts[kind] for kind in kinds), int(np.count_nonzero(links.op_row != NO_ROW)))
    assert found == SHARES[name]
    # Every launch of a sound file comes before its work.
    assert "clock_skew" not in {problem.code for problem in links.problems}


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("T31.json", [("relu_kernel", "aten::relu", 7_000), ("gemm_kernel", "aten::mm", 90_000)]),
        (
            "T32.json",
            [("ncclDevKernel_SendRecv(ncclDevKernelArgsStorage<4096ul>)", "c10d::alltoall_", 25_000)],
        ),
        ("T43.json", [("volta_sgemm_64x64_nt", "aten::conv2d", 30_000)]),
        (
            "T41.json",
            [("gemm_fusion_dot_7", None, 40_250), ("ncclDevKernel_AllGather_RING_LL", None, 20_000)],
        ),
    ],
)
def test_the_kernels_of_the_handed_cases_have_the_operators_that_launched_them(
    shared_cases: Path, name: str, expected: list[tuple[str, str | None, int]]
) -> None:
    table = list_launches(TraceIndex(read_trace(shared_cases / name)))
    keys = ("full_name", "op", "duration_ns")
    assert [tuple(table.column(key).value(row) for key in keys) for row in range(len(table))] == expected
