"""The work of single calls: operations and bytes by hand, what they are computed with, and odd input."""

from __future__ import annotations

import json
import random
from typing import Any

import pytest

from core.analyses.op_work.call import LARGEST, UnknownWorkError, Work, read_call
from core.analyses.op_work.elements import Arithmetic
from core.analyses.op_work.models import MODELS, work_of

BF16, F32, I64 = "c10::BFloat16", "float", "long int"
CAT = (
    "void at::native::(anonymous namespace)::CatArrayBatchedCopy<at::native::OpaqueType<2u>, unsigned int, 3>"
)
ADAM = "void at::native::multi_tensor_apply_kernel<TensorListMetadata<4>, FusedAdamMathFunctor<float>>"


def work(
    name: str, dims: Any, types: list[str], concrete: list[str] | None = None, *, kernel: str = ""
) -> Work:
    given = "" if concrete is None else json.dumps(concrete)
    return work_of(read_call(f"aten::{name}", json.dumps(dims), json.dumps(types), given, kernel))


def figures(
    name: str, dims: Any, types: list[str], *concrete: str, kernel: str = ""
) -> tuple[int | None, int]:
    found = work(name, dims, types, list(concrete), kernel=kernel)
    return found.flop, found.moved_bytes


def why(name: str, dims: Any, types: list[str], *concrete: str) -> str:
    with pytest.raises(UnknownWorkError) as caught:
        work(name, dims, types, list(concrete))
    return str(caught.value)


def test_products_read_both_sides_and_write_the_result() -> None:
    assert figures("mm", [[5, 7], [7, 3]], [BF16, BF16]) == (2 * 5 * 7 * 3, 2 * (35 + 21 + 15))
    assert figures("addmm", [[3], [5, 7], [7, 3], [], []], [F32, F32, F32], "", "", "", "1", "1") == (
        210,
        4 * (3 + 35 + 21 + 15),
    )
    assert figures("baddbmm", [[9], [2, 5, 7], [2, 7, 3]], [F32] * 3, "", "", "", "0") == (
        420,
        4 * (70 + 42 + 30),
    )
    assert figures("linear", [[2, 4, 7], [3, 7], [3]], [F32] * 3) == (2 * 8 * 7 * 3, 4 * (56 + 21 + 3 + 24))
    assert figures("matmul", [[2, 1, 5, 7], [3, 7, 4]], [F32] * 2) == (
        2 * 6 * 5 * 7 * 4,
        4 * (70 + 84 + 120),
    )
    assert figures("matmul", [[7], [7]], [F32] * 2) == (14, 4 * 15)


def test_scaled_products_count_bytes_of_eight_and_four_bits() -> None:
    eight, four = "c10::Float8_e4m3fn", "c10::Float4_e2m1fn_x2"
    dims = [[16, 32], [32, 48], [1], [1]]
    written = ("", "", "", "", "", "", "15", "False")
    assert figures("_scaled_mm", dims, [eight, eight, F32, F32], *written) == (
        2 * 16 * 32 * 48,
        512 + 1536 + 8 + 2 * 16 * 48,
    )
    assert work("_scaled_mm", dims, [eight, eight, F32, F32]).arithmetic is Arithmetic.FP8_TENSOR
    packed = work("_scaled_mm", dims, [four, four, F32, F32])
    assert (packed.flop, packed.arithmetic) == (2 * 16 * 64 * 48, Arithmetic.FP4_TENSOR)


def test_grouped_products() -> None:
    assert figures("_grouped_mm", [[64, 16], [4, 16, 8], [4]], [BF16, BF16, "int"]) == (
        2 * 64 * 16 * 8,
        2 * (1024 + 512 + 512),
    )
    assert figures("_grouped_mm", [[8, 64], [64, 16], [4]], [BF16, BF16, "int"]) == (
        2 * 8 * 64 * 16,
        2 * (512 + 1024 + 4 * 8 * 16),
    )
    assert figures("_grouped_mm", [[4, 8, 16], [4, 16, 5]], [BF16, BF16])[0] == 4 * 2 * 8 * 16 * 5


def test_products_of_eight_bits_by_groups_write_16() -> None:
    eight = "c10::Float8_e4m3fn"
    dims = [[64, 16], [4, 16, 8], [64], [4, 8], [4]]
    kinds = [eight, eight, F32, F32, "int"]
    for result in ("15", ""):
        written = ("", "", "", "", "", "", "", result, "False")
        assert figures("_scaled_grouped_mm", dims, kinds, *written) == (2 * 64 * 16 * 8, 1024 + 512 + 2 * 512)


def test_a_product_may_be_written_in_another_type() -> None:
    assert figures("mm", [[5, 7], [7, 3]], [BF16, BF16], "", "", "6") == (210, 2 * (35 + 21) + 4 * 15)
    assert figures("bmm", [[2, 5, 7], [2, 7, 3]], [BF16, BF16], "", "", "6") == (
        420,
        2 * (70 + 42) + 4 * 30,
    )


def test_a_convolution_reads_what_it_adds() -> None:
    dims = [[1, 3, 6, 6], [4, 3, 3, 3], [1, 4, 4, 4], [], [4]]
    given = ("", "", "", "1", "", "[1, 1]", "[0, 0]", "[1, 1]", "1")
    assert figures("cudnn_convolution_add_relu", dims, [F32, F32, F32, "Scalar", F32], *given) == (
        2 * 16 * 108,
        4 * (108 + 108 + 64 + 4 + 64),
    )


def test_gradients_of_a_convolution_by_another_back_end() -> None:
    dims = [[1, 4, 4, 4], [1, 3, 6, 6], [4, 3, 3, 3]]
    given = ("", "", "", "[1, 1]", "[0, 0]", "[1, 1]", "False", "[0, 0]", "1", "[True, True, False]")
    with_bias = (*given[:3], "[4]", *given[3:])
    found = figures("convolution_backward_overrideable", dims, [F32] * 3, *given)
    assert found == figures("convolution_backward", dims, [F32] * 3, *with_bias)
    assert found[0] == 2 * 2 * 16 * 108


def test_gradients_of_attention_by_another_back_end_read_the_output() -> None:
    four = [2, 3, 8, 4]
    dims = [four, four, four, four, [], [], four, [2, 3, 8]]
    kinds = [BF16, BF16, BF16, BF16, "", "ScalarList", BF16, F32]
    # The output, its gradient and three inputs are read, and the sums of the softmax; three are written.
    assert figures("_scaled_dot_product_fused_attention_overrideable_backward", dims, kinds)[1] == (
        2 * (5 + 3) * 192 + 4 * 48
    )


@pytest.mark.parametrize(
    ("kind", "kernel", "expected"),
    [
        (BF16, "", Arithmetic.BF16_TENSOR),
        ("c10::Half", "", Arithmetic.FP16_TENSOR),
        (F32, "void cutlass::Kernel<cutlass_80_tensorop_s1688gemm_64x64>", Arithmetic.TF32_TENSOR),
        (F32, "sm80_xmma_gemm_tf32f32_tf32f32_f32_tn_n", Arithmetic.TF32_TENSOR),
        (F32, "ampere_sgemm_32x32_sliced1x4_tn", Arithmetic.FP32),
        (F32, "some_gemm", Arithmetic.NONE),
        ("double", "cutlass_80_tensorop_d884gemm_64x64", Arithmetic.FP64_TENSOR),
        ("double", "volta_dgemm_64x64", Arithmetic.FP64),
        ("signed char", "", Arithmetic.INT8_TENSOR),
    ],
)
def test_what_a_product_is_computed_with(kind: str, kernel: str, expected: Arithmetic) -> None:
    assert work("mm", [[5, 7], [7, 3]], [kind, kind], kernel=kernel).arithmetic is expected


def test_elements_of_16_bits_are_computed_in_float() -> None:
    assert work("add", [[8, 4], [4]], [BF16, BF16]).arithmetic is Arithmetic.FP32
    assert work("exp", [[8]], ["double"]).arithmetic is Arithmetic.FP64


def test_elements_broadcast_and_promote() -> None:
    assert figures("add", [[8, 1], [4], []], [BF16, F32, "Scalar"], "", "", "1") == (
        32,
        2 * 8 + 4 * 4 + 4 * 32,
    )
    assert figures("add", [[8], [8], []], [F32, F32, "Scalar"], "", "", "2") == (16, 4 * 24)
    assert figures("mul", [[8, 4], []], [BF16, "double"]) == (32, 2 * 64)
    assert figures("mul", [[8], []], [I64, "double"]) == (8, 8 * 8 + 4 * 8)
    assert figures("add", [[8], [8]], [I64, I64]) == (0, 3 * 64)
    assert figures("eq", [[8], [8]], [F32, F32]) == (8, 64 + 8)
    assert figures("add_", [[8], [8]], [BF16, F32]) == (8, 16 + 32 + 16)
    assert figures("where", [[8], [8], [1]], ["bool", F32, F32]) == (0, 8 + 32 + 4 + 32)
    assert figures("fill_", [[8, 4], []], [F32, "Scalar"]) == (0, 128)
    assert figures("native_dropout", [[8]], [F32], "", "0.1", "True") == (16, 64 + 8)


def test_norms_and_softmax() -> None:
    layer = [[2, 8], [], [8], [8], []]
    kinds = [BF16, "ScalarList", BF16, BF16, "Scalar"]
    assert figures("native_layer_norm", layer, kinds, "", "[8]", "", "", "1e-5") == (8 * 16, 2 * (32 + 16))
    batch = [[2, 4, 3], [4], [4], [4], [4], [], [], []]
    kinds = [F32] * 5 + ["Scalar"] * 3
    assert figures("native_batch_norm", batch, kinds, *[""] * 5, "False", "0.1", "1e-5")[0] == 4 * 24
    assert figures("native_batch_norm", batch, kinds, *[""] * 5, "True", "0.1", "1e-5")[0] == 8 * 24
    assert figures("_softmax", [[4, 8]], [BF16], "", "-1", "True") == (5 * 32, 32 * 2 + 32 * 4)


def test_reductions_write_what_is_left() -> None:
    assert figures("sum", [[4, 8]], [F32], "", "[-1]", "False", "") == (32, 128 + 16)
    assert figures("sum", [[4, 8]], [F32], "", "") == (32, 128 + 4)
    assert figures("sum", [[4, 8]], ["bool"], "", "[0]") == (0, 32 + 64)
    assert figures("max", [[4, 8]], [F32], "", "1", "False") == (32, 128 + 16 + 32)
    assert figures("argmax", [[4, 8]], [F32], "", "1", "False") == (32, 128 + 32)
    apart = ("", "[3, 3]", "[1, 1]", "[0, 0]", "[2, 2]", "False")
    assert figures("max_pool2d_with_indices", [[1, 1, 8, 8]], [F32], *apart) == (16 * 9, 256 + 16 * 12)
    assert figures("max_pool2d_with_indices", [[1, 2, 8, 8]], [F32], "", "[2, 2]", "[]", "[0]") == (
        128,
        512 + 32 * (4 + 8),
    )


def test_an_index_that_may_be_a_mask_is_no_size() -> None:
    rows = figures("index", [[64, 8], [[5]]], [F32, "TensorList"])
    assert rows == (0, 5 * 8 + 2 * 4 * 40)
    assert "mask" in why("index", [[64, 8], [[64, 8]]], [F32, "TensorList"])


def test_what_only_moves_has_no_operations() -> None:
    assert figures("copy_", [[8, 4], [4]], [F32, BF16], "", "", "False") == (0, 128 + 8)
    assert figures("embedding", [[100, 16], [2, 3]], [BF16, I64]) == (0, 48 + 2 * 2 * 96)
    assert figures("embedding", [[2, 16], [50]], [BF16, I64]) == (0, 400 + 2 * (32 + 800))
    assert figures("index_select", [[10, 4, 3], [], [6]], [F32, "Scalar", I64], "", "1") == (
        0,
        48 + 4 * (120 + 180),
    )
    assert figures("constant_pad_nd", [[4, 6]], [F32], "", "[0, 2]") == (0, 4 * (24 + 32))
    assert figures("embedding_dense_backward", [[6, 16], [6]], [F32, I64], "", "", "100") == (
        96,
        384 + 48 + 6400,
    )


def test_lists_have_the_type_of_their_kernel() -> None:
    assert figures("cat", [[[4, 8], [2, 8]], []], ["TensorList", "Scalar"], kernel=CAT) == (0, 2 * 2 * 48)
    lists = [[[10]], [[10]], [[10]], [[10]], [], [[]]]
    assert figures("_fused_adamw_", lists, ["TensorList"] * 6, kernel=ADAM) == (160, 4 * (20 + 10 + 40))
    assert figures("_foreach_add_", [[[10], [5]], []], ["TensorList", "Scalar"], kernel=ADAM) == (15, 120)
    assert why("cat", [[[4, 8]], []], ["TensorList", "Scalar"]) == "Types of its inputs are not known"
    assert "30 at most" in why("cat", [[], []], ["TensorList", "Scalar"])


def test_losses() -> None:
    assert figures("nll_loss_forward", [[6, 10], [6]], [F32, I64], "", "", "", "1") == (12, 48 + 24 + 4)
    assert figures("nll_loss_backward", [[], [6, 10], [6]], [F32, F32, I64]) == (6, 4 + 48 + 240)
    assert figures("mse_loss", [[6], [6]], [F32, F32], "", "", "0") == (12, 72)


def test_sequences_of_one_length_are_known_and_others_are_not() -> None:
    kinds = [BF16] * 3 + ["int", "int", "Scalar", "Scalar"]
    even = [[48, 4, 64], [48, 4, 64], [48, 4, 64], [4], [4]]
    longest = ("", "", "", "", "", "16", "16")
    assert figures("_flash_attention_forward", even, kinds, *longest)[0] == 3 * 4 * 16 * 16 * 2 * 128
    assert (
        work_of(
            read_call(
                "flash_attn::_flash_attn_varlen_forward",
                json.dumps(even),
                json.dumps(kinds),
                json.dumps(list(longest)),
                "",
            )
        ).flop
        == 3 * 4 * 16 * 16 * 2 * 128
    )
    uneven = [[40, 4, 64]] * 3 + [[4], [4]]
    assert "several lengths" in why("_flash_attention_forward", uneven, kinds, *longest)


def test_generated_kernels_give_bytes_alone() -> None:
    kinds = json.dumps([F32, F32, "Scalar"])
    whole = work_of(read_call("triton_poi_fused_add_cos_0", "[[10, 10], [10, 10], []]", kinds, "", ""))
    assert (whole.flop, whole.moved_bytes) == (None, 800)
    with pytest.raises(UnknownWorkError, match="parts"):
        work_of(read_call("triton_poi_fused_embedding_0", "[[10, 10], [10, 10], []]", kinds, "", ""))


def test_what_is_missing_is_said() -> None:
    with pytest.raises(UnknownWorkError, match="record_shapes"):
        read_call("aten::mm", "", "", "", "")
    assert why("something", [[5, 7]], [F32]) == "No model for this operator"
    assert why("convolution", [[1, 2, 8, 8], [4, 2, 3, 3]], [F32, F32]) == (
        "Arguments that decide its size are not recorded"
    )
    assert why("mul", [[8], [8]], ["c10::complex<float>"] * 2) == (
        "Operations on complex numbers are not modelled"
    )


@pytest.mark.parametrize(
    "dims",
    [
        [[5, 7], [8, 3]],
        [[5, -7], [-7, 3]],
        [[5, 7]],
        [[5, 7], [7, 3.0]],
        [[5, 7], [7, True]],
        [[5, 7], [[7, 3]]],
        [[5, 7], "3"],
        [[1] * 100, [7, 3]],
        [[5, 2**70], [2**70, 3]],
        [None, None],
        {"a": 1},
        5,
    ],
)
def test_shapes_without_sense_are_refused(dims: Any) -> None:
    assert why("mm", dims, [F32, F32]) == "Input shapes make no sense"


def test_arguments_without_sense_are_refused() -> None:
    image = ([[1, 2, 8, 8], [4, 2, 3, 3]], [F32, F32], "", "", "")
    rest = ("[1, 1]", "False", "[0, 0]", "1")
    for stride, padding in (("[0, 0]", "[0, 0]"), ("[1, 1]", "[-1, 0]"), ("[1, 1]", f"[{2**70}, 0]")):
        assert why("convolution", *image, stride, padding, *rest) == "Input shapes make no sense"
    for kernel in ("[-1, -1]", "[9, 9]"):
        assert why("avg_pool2d", [[1, 2, 8, 8]], [F32], "", kernel, "", "[0]") == "Input shapes make no sense"
    assert why("index", [[8, 4], [3]], [F32, "TensorList"]) == "Input shapes make no sense"
    assert why("embedding_dense_backward", [[6, 16], [6]], [F32, I64], "", "", "-5") == (
        "Input shapes make no sense"
    )


def test_sizes_are_exact_and_absurd_ones_are_refused() -> None:
    big = 2**20 + 1
    assert work("mm", [[big, big], [big, 1]], [BF16, BF16]).flop == 2 * big * big
    assert why("mm", [[2**62, 2], [2, 2]], [F32, F32]) == "Input shapes are too large to be real"
    assert why("add", [[2**62, 2**62]], [F32]) == "Input shapes are too large to be real"
    for text in ("[[1,2]", "nonsense", "[" * 100_000):
        with pytest.raises(UnknownWorkError, match="no sense"):
            read_call("aten::mm", text, "[]", "", "")


def test_no_input_breaks_a_model() -> None:
    """Whatever stands where an input is expected: a work without negative figures, or a reason."""
    random.seed(1)
    shapes: list[Any] = [[], [0], [3], [2, 3], [3, 2], [2, 3, 4], [1, 2, 5, 5], [2**62], [-1], None, "x", 3]
    shapes += [[[2, 3], [3]], [[]], [[2], "y"], {"a": []}, [2**62, 2**62, 4], [1.5], True]
    kinds = [F32, BF16, I64, "bool", "TensorList", "Scalar", "ScalarList", "", "GenericList", "strange"]
    values = ["", "1", "[1, 1]", "True", "[True, False, True]", "-1", "[0]", "1e400", "[]", "[,]", "9" * 5000]
    kernels = ("", CAT, ADAM, "OpaqueType<999999999u>")
    known = 0
    for name in sorted(MODELS) * 12:
        count = random.randrange(13)
        dims, types, concrete = (
            json.dumps([random.choice(choices) for _ in range(count)]) for choices in (shapes, kinds, values)
        )
        try:
            found = work_of(read_call(name, dims, types, concrete, random.choice(kernels)))
        except UnknownWorkError:
            continue
        known += 1
        assert found.flop is not None
        assert 0 <= found.flop <= LARGEST, (name, dims, types, concrete)
        assert 0 <= found.moved_bytes <= LARGEST, (name, dims, types, concrete)
    assert known > 100
