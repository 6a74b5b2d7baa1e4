"""Whose work each kernel does: launching operators, those around them, main kernels and helpers, repeats."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from core.analyses.index import TraceIndex
from core.analyses.kernel_repeats import IN_A_ROW
from core.analyses.kernel_work import (
    HELPS,
    NO_OPERATIONS_KNOWN,
    NO_OPERATOR,
    OF_ANOTHER,
    REPLAYED,
    Role,
)
from core.analyses.op_work.models import NO_MODEL
from core.analyses.work import summarize_work, work_share
from core.readers.torch_trace.reader import read_trace
from core.tables.columns import NO_ROW
from core.tables.selection import Selection
from tests.helpers.traces import call, kernel, op, trace_of

if TYPE_CHECKING:
    from pathlib import Path

GEMM = "ampere_sgemm_128x64_tn"
OTHER_GEMM = "cutlass_80_tensorop_s1688gemm_64x64_nn_align4"
REDUCE = "void splitKreduce_kernel<32, 16, int, float>(cublasSplitKParams<float>)"
ADD = "void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<float> >(int)"
DGRAD = "sm80_xmma_dgrad_implicit_gemm_f32f32_tf32f32_f32_nhwckrsc_nhwc_tilesize128x128x16"
WGRAD = "sm80_xmma_wgrad_implicit_gemm_indexed_tf32f32_tf32f32_f32_nhwckrsc_nhwc_tilesize128x64x32"
MM = {"Input Dims": [[64, 32], [32, 16]], "Input type": ["float", "float"]}
GRID = [8, 1, 1]
MM_FLOP = 2 * 64 * 32 * 16
SUM = {"Input Dims": [[8], [8], []], "Input type": ["float", "float", "Scalar"]}


class Made:
    """A trace that grows by operators that launch kernels one after the other."""

    def __init__(self) -> None:
        self.events: list[dict[str, Any]] = []
        self.at = 0.0

    def run(self, names: list[tuple[str, dict[str, Any]]], *kernels: tuple[str, float]) -> Made:
        """Adds operators, each in the one before, the innermost of which launches kernels."""
        begin = self.at
        for depth, (name, inputs) in enumerate(names):
            length = 10 * len(kernels) + 2 * (len(names) - depth)
            self.events.append(op(name, begin + depth, length, **inputs))
        for place, (name, duration) in enumerate(kernels):
            number = len(self.events)
            launched = begin + len(names) + 10 * place
            self.events.append(call("cudaLaunchKernel", launched, 5, number))
            self.events.append(kernel(name, launched + 5, duration, correlation=number, grid=GRID))
        self.at = begin + 10 * len(kernels) + 20
        return self

    def index(self) -> TraceIndex:
        return TraceIndex(trace_of(*self.events))


def found(index: TraceIndex) -> list[tuple[str, str, int | None, str]]:
    """Returns the role, the operator, the operations given and the reason of each kernel."""
    work, trace = index.kernel_work, index.trace
    rows = []
    for place in range(len(work)):
        given, reason, owner = (int(column[place]) for column in (work.work_row, work.reason_id, work.op_row))
        rows.append(
            (
                Role(int(work.role[place])).name,
                "" if owner == NO_ROW else trace.strings[int(trace.slices.name_id[owner])],
                None if given == NO_ROW else work.works[given].flop,
                "" if reason == NO_ROW else work.reasons[reason],
            )
        )
    return rows


def test_a_kernel_does_the_work_of_what_launched_it() -> None:
    index = Made().run([("aten::linear", MM), ("aten::mm", MM)], (GEMM, 5)).index()
    assert found(index) == [("MODELLED", "aten::mm", MM_FLOP, "")]


def test_work_is_given_once_and_the_rest_help() -> None:
    index = Made().run([("aten::mm", MM)], (ADD, 9), (GEMM, 5), (REDUCE, 7), (GEMM, 4)).index()
    assert found(index) == [
        ("HELPER", "aten::mm", None, HELPS),
        ("MODELLED", "aten::mm", MM_FLOP, ""),
        ("HELPER", "aten::mm", None, HELPS),
        ("MODELLED", "aten::mm", None, ""),
    ]
    share = work_share(index)
    assert (share.modelled_ns, share.helper_ns, share.kernel_ns) == (9_000, 16_000, 25_000)
    assert share.pct == 100


def test_without_shapes_of_its_own_the_operator_around_it_counts() -> None:
    index = Made().run([("aten::mm", MM), ("my::gemm", {}), ("aten::mm", {})], (GEMM, 5)).index()
    assert found(index) == [("MODELLED", "aten::mm", MM_FLOP, "")]
    nothing = Made().run([("my::step", {}), ("my::gemm", MM)], (GEMM, 5)).index()
    assert found(nothing) == [("UNKNOWN", "my::gemm", None, NO_MODEL)]


def test_work_of_inner_operators_is_not_counted_again_around_them() -> None:
    made = Made().run(
        [("aten::linear", {**MM, "Input Dims": [[64, 32], [16, 32]]}), ("aten::mm", MM)], (GEMM, 5)
    )
    begin = made.events[0]
    begin["dur"] = 100
    made.at = 40
    made.run([("my::bias", {})], (ADD, 3))
    assert found(made.index()) == [
        ("MODELLED", "aten::mm", MM_FLOP, ""),
        ("UNKNOWN", "my::bias", None, OF_ANOTHER),
    ]


def test_two_gradients_have_their_own_kernels() -> None:
    inputs = {
        "Input Dims": [[2, 6, 7, 10], [2, 4, 9, 11], [6, 4, 3, 2]],
        "Input type": ["float"] * 3,
        "Concrete Inputs": [
            *[""] * 4,
            "[1, 1]",
            "[0, 0]",
            "[1, 1]",
            "False",
            "[0, 0]",
            "1",
            "[True, True, False]",
        ],
    }
    index = Made().run([("aten::convolution_backward", inputs)], (WGRAD, 5), (ADD, 1), (DGRAD, 8)).index()
    one = 2 * 2 * 7 * 10 * 6 * 4 * 3 * 2
    name = "aten::convolution_backward"
    assert found(index) == [
        ("MODELLED", name, one, ""),
        ("HELPER", name, None, HELPS),
        ("MODELLED", name, one, ""),
    ]
    alone = Made().run([(name, inputs)], (DGRAD, 8), (ADD, 1)).index()
    assert found(alone)[0] == ("MODELLED", name, 2 * one, "")


def test_the_main_kernel_is_the_one_that_usually_takes_longest() -> None:
    made = Made()
    for first, second in ((10, 2), (10, 2), (1, 2)):
        made.run([("aten::add", SUM)], ("first_kernel", first), ("second_kernel", second))
    assert [role for role, *_ in found(made.index())] == ["MODELLED", "HELPER"] * 3


def test_kernels_without_operators_and_of_graphs_say_why() -> None:
    events = [
        kernel("early", 0, 5, correlation=1),
        call("cudaGraphLaunch", 10, 5, 2),
        kernel(GEMM, 20, 5, correlation=2),
        op("record_param_comms", 30, 20),
        call("cudaLaunchKernelExC", 32, 5, 3),
        kernel("ncclDevKernel_AllReduce_Sum_f32_RING_LL", 40, 5, correlation=3),
    ]
    index = TraceIndex(trace_of(*events))
    assert found(index) == [
        ("UNKNOWN", "", None, NO_OPERATOR),
        ("UNKNOWN", "", None, REPLAYED),
        ("APART", "record_param_comms", None, "Communication"),
    ]
    share = work_share(index)
    assert (share.kernel_ns, share.communication_ns, share.pct) == (10_000, 5_000, 0)
    assert [(each.reason, each.sum_ns) for each in share.missing] == [(NO_OPERATOR, 5_000), (REPLAYED, 5_000)]


def test_generated_kernels_are_not_counted_as_modelled() -> None:
    inputs = {"Input Dims": [[8], [8], []], "Input type": ["float", "float", "Scalar"]}
    index = Made().run([("triton_poi_fused_add_0", inputs)], ("triton_poi_fused_add_0", 4)).index()
    assert found(index) == [("BYTES_ONLY", "triton_poi_fused_add_0", None, NO_OPERATIONS_KNOWN)]
    assert work_share(index).pct == 0
    table = summarize_work(index)
    assert (table.column("moved_bytes").value(0), table.column("flop").value(0)) == (64, None)


def layer(made: Made, mm: dict[str, Any] = MM) -> Made:
    return made.run([("aten::mm", mm)], (GEMM, 5)).run([("aten::add", SUM)], (ADD, 2))


def lone(count: int, at: float, **arguments: Any) -> list[dict[str, Any]]:
    """Kernels of layers whose launches are not in the trace."""
    return [
        kernel(
            (GEMM, ADD)[place % 2],
            at + 10 * place,
            5 - 3 * (place % 2),
            correlation=10_000 + place,
            **arguments,
        )
        for place in range(count)
    ]


@pytest.mark.parametrize(("count", "expected"), [(IN_A_ROW, 1), (IN_A_ROW - 1, 0), (3 * IN_A_ROW + 1, 1)])
def test_a_sequence_without_operators_is_what_it_repeats(count: int, expected: int) -> None:
    made = Made()
    for _ in range(IN_A_ROW):
        layer(made)
    made.events += lone(count, made.at + 100, grid=GRID)
    index = made.index()
    repeats = index.kernel_work.repeats
    assert not repeats[: 2 * IN_A_ROW].any()
    assert repeats[2 * IN_A_ROW :].tolist() == [bool(expected)] * count
    share = work_share(index)
    assert bool(share.repeated_ns) == bool(expected)
    if expected:
        assert found(index)[-count:] == found(index)[:count] or count > 2 * IN_A_ROW
        assert share.pct == 100


@pytest.mark.parametrize("arguments", [{}, {"grid": [9, 1, 1]}, {"grid": GRID, "block": [64, 1, 1]}])
def test_a_sequence_with_other_grids_or_none_repeats_nothing(arguments: dict[str, Any]) -> None:
    made = Made()
    for _ in range(IN_A_ROW):
        layer(made)
    made.events += lone(IN_A_ROW, made.at + 100, **arguments)
    assert not made.index().kernel_work.repeats.any()


def test_a_sequence_that_was_recorded_with_different_work_repeats_nothing() -> None:
    made = Made()
    wide = {**MM, "Input Dims": [[64, 64], [64, 16]]}
    for place in range(4 * IN_A_ROW):
        layer(made, MM if place < 2 * IN_A_ROW else wide)
    made.events += lone(IN_A_ROW, made.at + 100, grid=GRID)
    index = made.index()
    assert not index.kernel_work.repeats.any()
    assert found(index)[-1] == ("UNKNOWN", "", None, NO_OPERATOR)


def test_the_table_adds_up_exactly_and_takes_a_part() -> None:
    big = {"Input Dims": [[2**20, 2**20], [2**20, 2**20]], "Input type": ["float", "float"]}
    made = (
        Made()
        .run([("aten::mm", big)], (GEMM, 5))
        .run([("aten::mm", big)], (GEMM, 5))
        .run([("aten::mm", {**big, "Input Dims": [[2**40, 2**40], [2**40, 1]]})], (OTHER_GEMM, 5))
    )
    table = summarize_work(made.index())
    rows = {
        table.column("name").value(row): [table.column(key).value(row) for key in ("calls", "flop", "reason")]
        for row in range(len(table))
    }
    assert rows[GEMM] == [2, 2 * 2 * 2**60, None]
    assert rows[OTHER_GEMM] == [1, None, "Input shapes are too large to be real"]
    first = summarize_work(made.index(), Selection(0, 20_000))
    assert first.column("calls").values.tolist() == [1]


SAMPLES = {"h100_owlv2_large": 551_451_628, "h100_qwen_0.5b": 45_432_698, "mi300_bert_small": 388_344}


@pytest.mark.parametrize("name", SAMPLES)
def test_nearly_all_kernel_time_of_recordings_with_shapes_is_modelled(shared_cases: Path, name: str) -> None:
    path = shared_cases.parents[1] / "data" / "traces" / f"{name}.json.gz"
    if not path.is_file():
        pytest.skip("the handed traces are not on this machine")
    index = TraceIndex(read_trace(path))
    share = work_share(index)
    assert share.kernel_ns == SAMPLES[name]
    assert share.pct is not None
    assert share.pct > 99.9
    covered = share.modelled_ns + share.helper_ns
    assert covered + sum(each.sum_ns for each in share.missing) == share.kernel_ns
    assert len(share.missing) <= 2
    table = summarize_work(index)
    assert table.notes[0].startswith("Modelled: ")
    assert int(np.asarray(table.column("sum_ns").values).sum()) == share.kernel_ns
    # No kernel computes or moves more than a device of its time can.
    assert float(np.nanmax(table.column("flop_per_s").values)) < 1e15
    assert float(np.nanmax(table.column("bytes_per_s").values)) < 5e12


def test_the_first_step_of_a_recording_is_known_by_the_others(shared_cases: Path) -> None:
    """A third of this trace's kernels were launched before it begins."""
    path = shared_cases.parents[1] / "data" / "traces" / "h100_qwen_0.5b.json.gz"
    if not path.is_file():
        pytest.skip("the handed traces are not on this machine")
    index = TraceIndex(read_trace(path))
    assert int(np.count_nonzero(index.kernel_work.repeats)) == 436
    assert work_share(index).repeated_ns == 13_672_640
