"""Points of a trace: a row a kernel name, its work from shapes, and why others have none."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from core.analyses.categories import Category
from core.analyses.index import TraceIndex
from core.analyses.kernel_work import HELPS, NO_OPERATIONS_KNOWN, NO_OPERATOR
from core.analyses.kernels import summarize_kernels
from core.analyses.op_work.elements import Arithmetic
from core.readers.torch_trace.reader import read_trace
from core.roofline.modelled import NO_BYTES, NO_OPERATIONS, NO_TIME, modelled_points, modelled_share
from core.roofline.points import PointOrigin, WorkType
from core.tables.columns import NO_ROW
from core.tables.selection import Selection
from tests.helpers.traces import call, kernel, op, trace_of

if TYPE_CHECKING:
    from pathlib import Path

    from core.roofline.points import PointTable

GEMM = "cutlass_80_tensorop_s1688gemm_64x64_nn_align4"
ADD = "void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<float> >(int)"
MM: dict[str, Any] = {"Input Dims": [[64, 32], [32, 16]], "Input type": ["float", "float"]}
SUM: dict[str, Any] = {"Input Dims": [[8], [8], []], "Input type": ["float", "float", "Scalar"]}
COPY: dict[str, Any] = {"Input Dims": [[8], [8], []], "Input type": ["float", "float", "Scalar"]}
NOTHING: dict[str, Any] = {"Input Dims": [[0, 32], [32, 16]], "Input type": ["float", "float"]}


def index_of(*launches: tuple[str, dict[str, Any], str, float]) -> TraceIndex:
    """A trace of operators that launch a kernel each: (operator, inputs, kernel, duration)."""
    events = []
    for place, (name, inputs, launched, duration) in enumerate(launches):
        at = 20 * place
        events += [
            op(name, at, 15, **inputs),
            call("cudaLaunchKernel", at + 1, 5, place + 1),
            kernel(launched, at + 8, duration, correlation=place + 1),
        ]
    return TraceIndex(trace_of(*events))


def by_name(points: PointTable) -> dict[str, tuple[float, float, int, int, str | None]]:
    """Returns operations, bytes, time, calls and reason of each name."""
    reasons = [None if each == NO_ROW else points.strings[each] for each in points.reason_id.tolist()]
    columns = (points.flop.tolist(), points.moved_bytes[:, 0].tolist(), points.sum_ns.tolist())
    names = [points.strings[each] for each in points.name_id.tolist()]
    rows = zip(*columns, points.calls.tolist(), reasons, strict=True)
    return dict(zip(names, rows, strict=True))


def test_a_name_is_one_point_with_all_its_work() -> None:
    index = index_of(
        ("aten::mm", MM, GEMM, 5),
        ("aten::add", SUM, ADD, 2),
        ("aten::mm", MM, GEMM, 7),
        ("other", {}, GEMM, 9),
    )
    points = modelled_points(index)
    assert by_name(points) == {
        # The call of the unknown operator is in no figure: its work is not known.
        GEMM: (2 * 2 * 64 * 32 * 16, 2 * 4 * (2048 + 512 + 1024), 12_000, 2, None),
        ADD: (8, 96, 2_000, 1, None),
    }
    assert set(points.origin.tolist()) == {PointOrigin.MODELLED}
    assert [WorkType(each) for each in points.work_type] == [WorkType.TF32_TENSOR, WorkType.FP32]
    assert [Category(each) for each in points.category] == [Category.GEMM, Category.ELEMENTWISE]
    assert np.isnan(points.moved_bytes[:, 1:]).all()
    kernels = summarize_kernels(index).column("full_name")
    assert [kernels.value(row) for row in points.origin_row.tolist()] == [GEMM, ADD]


def test_what_has_no_place_says_why() -> None:
    points = modelled_points(
        index_of(
            ("aten::copy_", COPY, "copy_kernel", 5),
            ("aten::mm", NOTHING, "empty_kernel", 5),
            ("aten::mm", MM, "unfinished_kernel", -5),
            ("triton_poi_fused_add_0", SUM, "triton_poi_fused_add_0", 5),
            ("aten::mm", {}, "shapeless_kernel", 5),
        )
    )
    found = {name: (row[1], row[-1]) for name, row in by_name(points).items()}
    assert found["copy_kernel"] == (64, NO_OPERATIONS)
    assert found["empty_kernel"] == (2048, NO_OPERATIONS)
    assert found["unfinished_kernel"][1] == NO_TIME
    assert found["triton_poi_fused_add_0"] == (64, NO_OPERATIONS_KNOWN)
    assert found["shapeless_kernel"][1] == "Input shapes not recorded (record_shapes=True records them)"
    none = modelled_points(index_of(("aten::copy_", {**COPY, "Input Dims": [[0], [0], []]}, "k", 5)))
    assert by_name(none)["k"][-1] == NO_BYTES


def test_a_part_of_a_trace_has_its_own_points() -> None:
    index = index_of(("aten::mm", MM, GEMM, 5), ("aten::mm", MM, GEMM, 7), ("other", {}, "late_kernel", 9))
    points = modelled_points(index, Selection(0, 20_000))
    assert by_name(points) == {GEMM: (2 * 64 * 32 * 16, 4 * (2048 + 512 + 1024), 5_000, 1, None)}
    assert modelled_share(index, Selection(0, 20_000)).pct == 100
    assert modelled_share(index).pct == pytest.approx(100 * 12 / 21)
    assert len(modelled_points(index, Selection(10**9, None))) == 0
    assert len(modelled_points(TraceIndex(trace_of()))) == 0
    assert modelled_share(TraceIndex(trace_of())).pct is None


def test_a_helper_has_the_time_of_its_calls() -> None:
    trace = trace_of(
        op("aten::mm", 0, 30, **MM),
        call("cudaLaunchKernel", 1, 5, 1),
        kernel(GEMM, 8, 5, correlation=1),
        call("cudaLaunchKernel", 8, 5, 2),
        kernel("void splitKreduce_kernel<32, 16>()", 18, 3, correlation=2),
        kernel("early_kernel", 0, 1, correlation=9),
    )
    found = by_name(modelled_points(TraceIndex(trace)))
    assert found["void splitKreduce_kernel<32, 16>()"][2:] == (3_000, 1, HELPS)
    assert found["early_kernel"][2:] == (1_000, 1, NO_OPERATOR)


def test_every_arithmetic_has_its_type_of_work() -> None:
    for each in Arithmetic:
        assert WorkType[each.name].title in {each.value, ""}


def test_points_of_a_recording(shared_cases: Path) -> None:
    path = shared_cases.parents[1] / "data" / "traces" / "h100_owlv2_large.json.gz"
    if not path.is_file():
        pytest.skip("the handed traces are not on this machine")
    index = TraceIndex(read_trace(path))
    points = modelled_points(index)
    placed = points.reason_id == NO_ROW
    assert len(set(points.name_id.tolist())) == len(points) == 54
    assert int(np.count_nonzero(placed)) == 29
    # The batched products of attention: 16 heads of 5,185 tokens and 64 channels.
    rows = [
        row for row in range(len(points)) if "256x128_tn_align1" in points.strings[int(points.name_id[row])]
    ]
    assert [points.flop[row] for row in rows] == [120 * 2 * 16 * 5185 * 5185 * 64]
    assert [WorkType(int(points.work_type[row])) for row in rows] == [WorkType.BF16_TENSOR]
