"""Verdicts on the kernels of a trace: what the model carries, and what launches and shapes add."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from core.analyses.categories import Category, categorize_name
from core.analyses.index import TraceIndex
from core.analyses.op_work.call import OpCall
from core.roofline.ceilings import CeilingOrigin, Ceilings, TrafficCeiling, WorkCeiling
from core.roofline.points import PointOrigin, PointTable, WorkType
from core.roofline.verdict_gemm import gemm_size, tile_of
from core.roofline.verdict_kernels import TraceKernels
from core.roofline.verdicts import Remedy, Verdict, VerdictKind, verdict_of_point, verdicts_of_points
from core.tables.columns import NO_ROW
from core.tables.strings import string_table
from core.tables.trace import DeviceFacts
from tests.helpers.traces import annotation, call, kernel, op, trace_of

H100 = "NVIDIA H100 80GB HBM3"
CEILINGS = Ceilings(
    device=H100,
    work=tuple(
        WorkCeiling(work_type=kind, flop_per_s=rate, origin=CeilingOrigin.DATA_SHEET, source="sheet")
        for kind, rate in ((WorkType.BF16_TENSOR, 1000e12), (WorkType.FP32, 60e12))
    ),
    traffic=(
        TrafficCeiling(level="dram", bytes_per_s=3e12, origin=CeilingOrigin.DATA_SHEET, source="sheet"),
    ),
)
"""Ridge points at 333 and 20 FLOP/B."""

NAN = float("nan")
ADD, NORM = "vectorized_elementwise_kernel<4, CUDAFunctor_add>", "vectorized_layer_norm_kernel<float>"
GEMM = "ampere_bf16_s16816gemm_bf16_128x64_ldg8_f2f_tn"


def points(**columns: Any) -> PointTable:
    """Returns one point; FLOP and bytes of all calls, times in us."""
    told: dict[str, Any] = {"name": ADD, "flop": NAN, "moved": NAN, "us": 100.0, "why": "", **columns}
    texts = dict.fromkeys((told["name"], *filter(None, [told["why"]])))
    return PointTable(
        strings=string_table(texts),
        name_id=np.zeros(1, np.int32),
        short_name_id=np.zeros(1, np.int32),
        category=np.array([categorize_name(told["name"])], np.uint8),
        origin=np.array([told.get("origin", PointOrigin.MODELLED)], np.uint8),
        work_type=np.array([told.get("kind", WorkType.FP32)], np.uint8),
        flop=np.array([told["flop"]], np.float64),
        moved_bytes=np.array([[told["moved"], NAN, NAN]]),
        sum_ns=np.array([round(told["us"] * 1000)], np.int64),
        calls=np.ones(1, np.int64),
        reason_id=np.array([1 if told["why"] else NO_ROW], np.int32),
        origin_row=np.zeros(1, np.int32),
    )


def plain(words: str) -> str:
    return words.replace("\N{NO-BREAK SPACE}", " ")


@pytest.mark.parametrize(
    ("columns", "kind"),
    [
        # 61 and 60 % of 3 TB/s, at 0.1 FLOP/B.
        ({"flop": 0.0183e9, "moved": 183e6}, VerdictKind.MEMORY_BOUND),
        ({"flop": 0.018e9, "moved": 180e6}, VerdictKind.LATENCY_BOUND),
        # 69 % of 1000 TFLOP/s at 1024 FLOP/B.
        (
            {"flop": 69e9, "moved": 67e6, "kind": WorkType.BF16_TENSOR, "name": GEMM},
            VerdictKind.COMPUTE_BOUND,
        ),
        (
            {"flop": 60e9, "moved": 59e6, "kind": WorkType.BF16_TENSOR, "name": GEMM},
            VerdictKind.LATENCY_BOUND,
        ),
        ({"flop": 69e9, "moved": 200e6, "kind": WorkType.BF16_TENSOR, "name": GEMM}, VerdictKind.BALANCED),
        ({"name": "ncclDevKernel_AllReduce_Sum_bf16"}, VerdictKind.COMMUNICATION),
        ({"why": "Input shapes not recorded"}, VerdictKind.UNKNOWN),
        ({"flop": 1e9, "moved": 1e6, "kind": WorkType.FP64}, VerdictKind.LATENCY_BOUND),
        ({"moved": 183e6, "kind": WorkType.NONE}, VerdictKind.MEMORY_BOUND),
    ],
)
def test_the_model_is_held_against_the_data_sheet(columns: dict[str, Any], kind: VerdictKind) -> None:
    verdict = verdict_of_point(points(**columns), 0, CEILINGS)
    assert verdict.kind is kind
    if kind is not VerdictKind.COMMUNICATION:
        assert verdict.confidence == "modelled"


def test_without_ceilings_or_work_the_reason_is_given() -> None:
    why = verdict_of_point(points(why="Input shapes not recorded"), 0, CEILINGS)
    assert why.words == "Unknown: Input shapes not recorded."
    assert why.evidence == ()
    bare = verdict_of_point(points(flop=1e9, moved=1e9), 0, Ceilings(device="Some Future GPU 9000"))
    assert bare.words == "Unknown: the ceilings of its device are not known."


def test_what_is_far_from_the_roof_says_what_the_model_cannot_tell() -> None:
    slow = verdict_of_point(points(flop=1e6, moved=30e6), 0, CEILINGS)
    assert plain(slow.words) == (
        "Latency-bound: by the model it reaches 10 % of its roof, that of memory, "
        "if it moves no more than its inputs and outputs. Counters (ncu) would tell."
    )
    found = {each.label: each for each in slow.evidence}
    assert found["Arithmetic intensity at most"].value == pytest.approx(1 / 30)
    assert found["DRAM bytes/s of the peak"].against == "of 3.000 TB/s (sheet); near above 60"
    heavy = verdict_of_point(points(flop=1e9, moved=1e6), 0, CEILINGS)
    assert plain(heavy.words) == "Latency-bound: by the model it reaches 17 % of its roof, that of FLOP/s."


def step(*events: dict[str, Any]) -> list[dict[str, Any]]:
    return [annotation("ProfilerStep#1", 0, 1000), *events]


class Made:
    """Events of a trace, one launch after the other."""

    def __init__(self) -> None:
        self.events: list[dict[str, Any]] = []
        self.number = 0

    def add(
        self, name: str, ts: float, dur: float, operator: str, *inputs: tuple[list[int], str], **more: Any
    ) -> Made:
        """Adds a kernel with its operator and its launch, which returns ``late`` us before it begins."""
        self.number += 1
        launched = ts - more.pop("late", 20)
        told: dict[str, Any] = {
            "Input Dims": [each[0] for each in inputs],
            "Input type": [each[1] for each in inputs],
        }
        host = more.pop("host", self.number * 0.01)
        self.events += [
            op(operator, host, max(launched - host, 0.008), **told),
            call("cudaLaunchKernel", host + 0.002, max(launched - host - 0.002, 0.004), self.number),
            kernel(name, ts, dur, correlation=self.number, **more),
        ]
        return self


def kernels_of(*events: dict[str, Any]) -> TraceKernels:
    devices = (DeviceFacts(id=0, name=H100, sm_count=132),)
    return TraceKernels(TraceIndex(trace_of(*events, devices=devices)))


def judged(made: Made, steps: bool = True, **columns: Any) -> Verdict:
    events = step(*made.events) if steps else made.events
    return verdict_of_point(points(**columns), 0, CEILINGS, kernels_of(*events))


def only(verdict: Verdict, begin: str) -> Remedy:
    (remedy,) = [each for each in verdict.remedies if each.text.startswith(begin)]
    return remedy


def begins(verdict: Verdict) -> list[str]:
    return [" ".join(each.text.split()[:2]) for each in verdict.remedies]


BIG = ([1024, 1024], "float")
SMALL = ([16], "float")


def test_neighbours_of_one_shape_are_fused_and_the_bytes_counted() -> None:
    made = Made()
    made.add(NORM, 100, 40, "aten::native_layer_norm", BIG)
    made.add(ADD, 140, 60, "aten::add", BIG, BIG)
    made.add("relu_elementwise_kernel", 200, 20, "aten::relu", SMALL)
    verdict = judged(made, flop=1e6, moved=111e6, us=60.0)
    fuse = only(verdict, "Fuse it with")
    assert fuse.text == (
        f"Fuse it with {NORM}, which runs right before it in 1 of 1 calls on the same shape "
        "(torch.compile, Triton): 8.4 MB less to move each time."
    )
    # A third of the sum's bytes (2 inputs, 1 result), half of the norm's: 20 + 20 of 1000 us.
    assert fuse.gain_pct == pytest.approx(4.0)
    assert plain(fuse.basis).endswith("moving what they share is 4.0 % of the steps' time")


@pytest.mark.parametrize(
    ("before", "operator", "inputs"),
    [
        (NORM, "aten::native_layer_norm", SMALL),
        (NORM, "aten::native_layer_norm", ([1024, 1024], "c10::Unheard")),
        (GEMM, "aten::mm", BIG),
        ("ncclDevKernel_AllReduce", "c10d::allreduce_", BIG),
    ],
)
def test_what_does_not_fit_is_not_fused(before: str, operator: str, inputs: tuple[list[int], str]) -> None:
    made = Made().add(before, 100, 40, operator, inputs).add(ADD, 140, 60, "aten::add", BIG, BIG)
    assert "Fuse it" not in begins(judged(made, flop=1e6, moved=111e6, us=60.0))


def test_another_stream_is_no_neighbour() -> None:
    made = Made().add(NORM, 100, 40, "aten::native_layer_norm", BIG, stream=8)
    made.add(ADD, 140, 60, "aten::add", BIG, BIG)
    assert "Fuse it" not in begins(judged(made, flop=1e6, moved=111e6, us=60.0))


def test_idle_time_until_a_launch_returned_is_what_graphs_can_save() -> None:
    made = Made()
    made.add(ADD, 100, 10, "aten::add", SMALL)
    # Its launch returns at 148, 38 us after the kernel before has ended.
    made.add(ADD, 150, 10, "aten::add", SMALL, late=2, host=120)
    # Launched in time: the stream is idle for another reason.
    made.add(ADD, 300, 10, "aten::add", SMALL, late=200, host=90)
    verdict = judged(made, flop=1e6, moved=1e6, us=30.0)
    launch = only(verdict, "Launch ahead")
    assert "before 1 call its stream was idle for 38.00 \N{MICRO SIGN}s" in launch.text
    assert launch.gain_pct == pytest.approx(3.8)
    found = {each.label: each.value for each in verdict.evidence}
    assert found["Idle until its launch returned"] == 38_000
    assert found["Idle while the host did something else"] == 0
    # Without steps, idle time is part of nothing that is summed.
    alone = judged(made, steps=False, flop=1e6, moved=1e6, us=30.0)
    assert "Launch ahead" not in begins(alone)
    assert "Idle until its launch returned" not in [each.label for each in alone.evidence]


def test_a_launch_of_the_next_step_does_not_wait_for_this_one() -> None:
    made = Made().add(ADD, 900, 10, "aten::add", SMALL)
    events = step(*made.events)
    later = Made()
    later.number = 7
    later.add(ADD, 1_500, 10, "aten::add", SMALL, late=2, host=1_100)
    events += [annotation("ProfilerStep#2", 1_000, 1_000), *later.events]
    verdict = verdict_of_point(points(flop=1e6, moved=1e6, us=20.0), 0, CEILINGS, kernels_of(*events))
    assert {each.label: each.value for each in verdict.evidence}["Idle until its launch returned"] == 0


def test_fewer_blocks_than_sms_is_said_and_filled() -> None:
    made = Made().add(ADD, 100, 200, "aten::add", SMALL, grid=[33, 1, 1])
    verdict = judged(made, flop=1e6, moved=1e6, us=200.0)
    assert verdict.words.startswith("Latency-bound: the launch does not fill the device")
    fill = only(verdict, "Launch more blocks: 33 for 132 SMs.")
    # Three of four SMs idle, of a kernel that is a fifth of the step.
    assert fill.gain_pct == pytest.approx(15.0)
    full = judged(Made().add(ADD, 100, 200, "aten::add", SMALL, grid=[132, 1, 1]), flop=1e6, moved=1e6)
    assert "Launch more" not in begins(full)
    unknown = judged(Made().add(ADD, 100, 200, "aten::add", SMALL), flop=1e6, moved=1e6)
    assert "Launch more" not in begins(unknown)


def test_a_longer_idle_time_than_a_launch_takes_is_the_hosts_own() -> None:
    made = Made().add(ADD, 100, 10, "aten::add", SMALL)
    made.add(ADD, 800, 10, "aten::add", SMALL, late=2, host=120)
    made.add(ADD, 2_900, 10, "aten::add", SMALL, late=2, host=850)
    events = [annotation("ProfilerStep#1", 0, 10_000), *made.events]
    verdict = verdict_of_point(points(flop=1e6, moved=1e6, us=30.0), 0, CEILINGS, kernels_of(*events))
    assert only(verdict, "Launch ahead").gain_pct == pytest.approx(6.88)
    host = only(verdict, "Look at what the host does")
    assert "before 1 call its stream was idle for 2.088 ms until" in host.text
    assert host.gain_pct == pytest.approx(20.88)


def test_a_memory_bound_kernel_keeps_its_data_in_the_next_lower_type() -> None:
    made = Made().add(ADD, 100, 100, "aten::add", ([1024], "float"), ([1024], "float"))
    keep = only(judged(made, flop=1e6, moved=250e6), "Keep its data")
    assert keep.text.startswith("Keep its data in BF16 instead of FP32")
    assert keep.gain_pct == pytest.approx(5.0)
    whole = judged(made, steps=False, flop=1e6, moved=250e6)
    assert only(whole, "Keep its data").gain_pct == pytest.approx(50.0)
    assert "the trace's kernel time" in only(whole, "Keep its data").basis
    ints = Made().add(ADD, 100, 100, "aten::add", ([1024], "long int"))
    assert "Keep its" not in begins(judged(ints, flop=1e6, moved=250e6))


def test_below_16_bits_only_products_are_quantized() -> None:
    made = Made().add(ADD, 100, 100, "aten::add", ([1024], "c10::BFloat16"))
    assert "Keep its" not in begins(judged(made, flop=1e6, moved=250e6))
    decode = judged(product(1, 4096, 4096), flop=0.1e9, moved=250e6, **BF16)
    assert only(decode, "Keep its data").text.startswith("Keep its data in FP8 instead of BF16")


def product(rows: int, inner: int, columns: int, kind: str = "c10::BFloat16") -> Made:
    return Made().add(GEMM, 100, 100, "aten::mm", ([rows, inner], kind), ([inner, columns], kind))


BF16: dict[str, Any] = {"name": GEMM, "kind": WorkType.BF16_TENSOR}


def test_dimensions_that_are_not_aligned_and_tiles_that_are_not_full_are_named_with_their_cost() -> None:
    verdict = judged(product(1024, 1000, 4097), flop=50e9, moved=50e6, **BF16)
    align = only(verdict, "Make its columns")
    assert align.text == (
        "Make its columns (4,097) a multiple of 8, so that rows begin at multiples of 16 bytes: "
        "4,104 would do."
    )
    assert align.gain_pct == pytest.approx(5.0)
    tiles = only(verdict, "Choose sizes")
    assert "the kernel's tiles of 128 × 64" in tiles.text
    assert "1,024 × 4,097, inner 1,000" in tiles.text
    # 4,097 of 4,224 columns at the worse of both directions.
    assert tiles.gain_pct == pytest.approx(10 * (1 - 4097 / 4224))
    even = judged(product(1024, 1024, 4096), flop=50e9, moved=50e6, **BF16)
    assert begins(even) == []


def test_a_kernel_that_names_its_poor_alignment_is_quoted() -> None:
    name = "cutlass_75_tensorop_bf16_s1688gemm_bf16_256x128_nn_align1"
    kind = "c10::BFloat16"
    made = Made().add(name, 100, 100, "aten::bmm", ([16, 512, 64], kind), ([16, 64, 513], kind))
    verdict = judged(made, name=name, kind=WorkType.BF16_TENSOR, flop=1e9, moved=30e6)
    assert "The kernel's name says align1." in only(verdict, "Make its columns (513)").text
    assert "16 of 512 × 513, inner 64" in {each.against for each in verdict.evidence}


def test_alignment_counts_bytes_not_elements() -> None:
    four = judged(product(128, 132, 132, "float"), flop=50e9, moved=50e6, **BF16)
    assert "Make its" not in begins(four)
    both = judged(product(128, 130, 131, "float"), flop=50e9, moved=50e6, **BF16)
    assert (
        "Make its columns (131) and its inner dimension (130) a multiple of 4" in only(both, "Make its").text
    )


def test_few_rows_ask_for_a_larger_batch_only_where_memory_is_the_limit() -> None:
    decode = judged(product(1, 4096, 4096), flop=0.1e9, moved=250e6, **BF16)
    assert decode.kind is VerdictKind.MEMORY_BOUND
    batch = only(decode, "Use a larger batch")
    assert plain(batch.text) == "Use a larger batch: 100 % of its bytes are weights, read for 1 row."
    assert batch.gain_pct is None
    busy = judged(product(1, 4096, 4096), flop=70e9, moved=60e6, **BF16)
    assert "Use a" not in begins(busy)


def test_a_compute_bound_product_computes_in_the_next_lower_type_of_its_device() -> None:
    lower = only(judged(product(4096, 4096, 4096), flop=70e9, moved=60e6, **BF16), "Compute in")
    assert lower.text.startswith("Compute in FP8 on tensor cores instead of BF16 on tensor cores")
    assert lower.gain_pct == pytest.approx(5.0, abs=0.05)


@pytest.mark.parametrize(("collective_us", "told"), [(50, True), (9, False)])
def test_a_kernel_that_shared_its_device_with_a_collective_says_so(collective_us: int, told: bool) -> None:
    nccl = "ncclDevKernel_AllReduce_Sum_bf16"
    made = product(4096, 4096, 4096)
    made.add(nccl, 90, 10 + collective_us, "c10d::allreduce_", SMALL, stream=9)
    made.add(nccl, 100, 5, "c10d::allreduce_", SMALL, stream=10)
    verdict = judged(made, flop=70e9, moved=60e6, **BF16)
    found = {each.label: each for each in verdict.evidence}
    assert found["Beside communication"].value == collective_us * 1000
    assert plain(found["Beside communication"].against) == f"{collective_us}.0 % of its time"
    assert verdict.kind is VerdictKind.COMPUTE_BOUND
    words = f"Communication ran beside it for {collective_us} % of its time, which may slow it down."
    assert plain(verdict.words).endswith(words) is told


def test_a_collective_on_another_device_is_not_beside_a_kernel() -> None:
    made = product(4096, 4096, 4096)
    made.add("ncclDevKernel_AllReduce", 90, 100, "c10d::allreduce_", SMALL, device=1, stream=9)
    verdict = judged(made, flop=70e9, moved=60e6, **BF16)
    assert "Beside communication" not in [each.label for each in verdict.evidence]


def test_communication_is_left_alone_and_an_unknown_kernel_keeps_what_its_launches_tell() -> None:
    made = Made().add("ncclDevKernel_AllReduce", 100, 100, "c10d::allreduce_", BIG, grid=[2, 1, 1])
    assert judged(made, name="ncclDevKernel_AllReduce").remedies == ()
    made = (
        Made().add("odd", 100, 10, "aten::odd", BIG).add("odd", 150, 10, "aten::odd", BIG, late=2, host=120)
    )
    assert begins(judged(made, name="odd", why="No model of it")) == ["Launch ahead"]


def test_a_kernel_that_the_trace_does_not_hold_is_judged_by_the_model_alone() -> None:
    verdict = judged(Made().add("other", 100, 10, "aten::add", BIG), flop=1e6, moved=250e6)
    assert (verdict.kind, verdict.remedies) == (VerdictKind.MEMORY_BOUND, ())
    assert kernels_of().facts("other") is None
    assert kernels_of(kernel("odd", 0, -5)).facts("odd") is None


def test_every_point_gets_its_own_verdict() -> None:
    (verdict,) = verdicts_of_points(points(flop=1e6, moved=250e6), CEILINGS)
    assert verdict.kind is VerdictKind.MEMORY_BOUND


@pytest.mark.parametrize(
    ("name", "tile"),
    [
        ("ampere_sgemm_128x64_tn", (128, 64)),
        ("sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn_n_tilesize128x256x64_cublas", (128, 256)),
        ("Cijk_Ailk_Bljk_HB_MT128x96x32_SN", (128, 96)),
        ("cutlass_80_tensorop_s1688gemm_256x128_16x3_nn_align4", (256, 128)),
        ("gemv2T_kernel_val<int, int, 128, 16, 2>", None),
        ("sgemm_1280x64", None),
        ("", None),
    ],
)
def test_a_tile_is_read_from_the_name(name: str, tile: tuple[int, int] | None) -> None:
    assert tile_of(name) == tile


def test_categories_of_these_tests_are_what_they_say() -> None:
    assert [categorize_name(name) for name in (ADD, NORM, GEMM)] == [
        Category.ELEMENTWISE,
        Category.NORMALISATION,
        Category.GEMM,
    ]
    assert gemm_size(None) is None


@pytest.mark.parametrize(
    ("name", "kind", "concrete", "result_bytes"),
    [
        ("_scaled_mm", "c10::Float8_e4m3fn", {6: "15"}, 2),
        ("_scaled_mm", "c10::Float8_e4m3fn", {6: "6"}, 4),
        ("_scaled_mm", "c10::Float8_e4m3fn", {}, 1),
        ("_int_mm", "signed char", {}, 4),
        ("mm", "c10::BFloat16", {2: "6"}, 4),
        ("mm", "c10::BFloat16", {}, 2),
    ],
)
def test_the_result_of_a_product_takes_the_bytes_of_its_own_type(
    name: str, kind: str, concrete: dict[int, str], result_bytes: int
) -> None:
    said = tuple(concrete.get(place, "") for place in range(8))
    found = gemm_size(OpCall(f"aten::{name}", ([16, 32], [32, 48]), (kind, kind), said))
    assert found is not None
    of_inputs = found.element_bytes * (16 * 32 + 32 * 48)
    assert found.least_bytes == of_inputs + result_bytes * 16 * 48
    assert found.weight_bytes == found.element_bytes * 32 * 48
