"""Dispatches by name: what the names of a compiler tell, sums by the device's clock, what has no time."""

from __future__ import annotations

import pytest

from core.analyses.categories import Category
from core.edge.dispatch_table import dispatch_table, work_of
from core.edge.events import Dispatch
from core.edge.result import EdgeResult, EdgeState

PREFIX = "main_graph$async_dispatch_"


def result(*dispatches: tuple[str, int | None], state: EdgeState = "agrees") -> EdgeResult:
    return EdgeResult(
        state=state,
        backend="iree",
        backend_version="3.13.0",
        device="made",
        device_key="vulkan:0",
        software=False,
        model="made",
        precision="fp32",
        dispatches=tuple(
            Dispatch(name=f"{PREFIX}{name}", start_ns=place, duration_ns=duration_ns)
            for place, (name, duration_ns) in enumerate(dispatches)
        ),
    )


@pytest.mark.parametrize(
    ("name", "title", "category", "flop", "least_bytes"),
    [
        (
            f"{PREFIX}4_matmul_16x192x64_f32",
            "matmul 16×192×64",
            Category.GEMM,
            2 * 16 * 192 * 64,
            4 * (16 * 64 + 64 * 192 + 16 * 192),
        ),
        (
            f"{PREFIX}8_batch_matmul_8x128x128x32_f32",
            "batch_matmul 8×128×128×32",
            Category.GEMM,
            2 * 8 * 128 * 128 * 32,
            4 * 8 * (128 * 32 + 32 * 128 + 128 * 128),
        ),
        (
            f"{PREFIX}8_matmul_4x8x16_f16xf16xf32",
            "matmul 4×8×16",
            Category.GEMM,
            2 * 4 * 8 * 16,
            2 * (4 * 16 + 16 * 8) + 4 * 4 * 8,
        ),
        (f"{PREFIX}1_reduction_16x64_f32", "reduction 16×64", Category.REDUCTION, None, None),
        (
            f"{PREFIX}9_softmax_4x16x16xf32_dispatch_tensor_store",
            "softmax 4×16×16",
            Category.REDUCTION,
            None,
            None,
        ),
        (
            f"{PREFIX}0_elementwise_broadcast_16x64_i64xf32",
            "elementwise_broadcast 16×64",
            Category.ELEMENTWISE,
            None,
            None,
        ),
        ("/head/MatMul_kernel_time", "/head/MatMul_kernel_time", Category.OTHER, None, None),
        ("", "", Category.OTHER, None, None),
    ],
)
def test_a_name_tells_kind_sizes_and_the_work_of_products(
    name: str, title: str, category: Category, flop: int | None, least_bytes: int | None
) -> None:
    work = work_of(name)
    assert (work.title, work.category) == (title, category)
    assert (work.flop, work.least_bytes) == (flop, least_bytes)


def test_those_of_one_name_are_one_row_and_the_longest_stands_first() -> None:
    table = dispatch_table(
        result(("1_reduction_4x4_f32", 100), ("0_matmul_4x4x4_f32", 3_000), ("1_reduction_4x4_f32", 900))
    )
    assert [table.column("name").value(row) for row in range(2)] == ["matmul 4×4×4", "reduction 4×4"]
    assert [table.column("calls").value(row) for row in range(2)] == [1, 2]
    assert [table.column("sum_ns").value(row) for row in range(2)] == [3_000, 1_000]
    assert [table.column("mean_ns").value(row) for row in range(2)] == [3_000, 500]
    assert [table.column("share_pct").value(row) for row in range(2)] == [75.0, 25.0]
    assert table.column("flop_per_s").value(0) == pytest.approx(128 / 3e-6)
    assert table.column("intensity").value(0) == pytest.approx(128 / (3 * 16 * 4))
    assert table.column("flop_per_s").value(1) is None
    assert table.notes == ("1 of 2 names tell no work: only products of matrices have FLOP",)


def test_what_has_no_time_is_not_zero() -> None:
    table = dispatch_table(result(("0_matmul_4x4x4_f32", None), ("1_reduction_4x4_f32", 10)))
    assert table.column("name").value(1) == "matmul 4×4×4"
    assert table.column("sum_ns").value(1) is None
    assert table.column("share_pct").value(1) is None
    assert table.column("share_pct").value(0) == 100.0
    assert "1 of 2 dispatches have no valid time" in table.notes


def test_none_says_why() -> None:
    assert "does not time dispatches" in dispatch_table(result()).empty
    assert dispatch_table(result(state="failed")).empty == "It did not come so far."
