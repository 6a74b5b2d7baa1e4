"""Short names of kernels: those of the frameworks, and any text that a file may hold."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.analyses.kernel_names import NO_NAME, SHOWN_LENGTH, short_name, short_names, split_name

ATEN = "at::native::(anonymous namespace)::"
COPY = (
    "void at::native::unrolled_elementwise_kernel<at::native::direct_copy_kernel_cuda("
    "at::TensorIteratorBase&)::{lambda()#3}::operator()() const::{lambda()#%d}::operator()() const"
    "::{lambda(%s)#1}, std::array<char*, 2ul>, 4, TrivialOffsetCalculator<1, unsigned int>, "
    "TrivialOffsetCalculator<1, unsigned int>, at::native::memory::LoadWithCast<1>, "
    "at::native::memory::StoreWithCast<1> >(int, std::array<char*, 2ul>)"
)


@pytest.mark.parametrize(
    ("full", "expected"),
    [
        (
            "void at::native::vectorized_elementwise_kernel<4, at::native::silu_backward_kernel("
            "TensorIteratorBase&)::{lambda(BFloat16, BFloat16)#1}, std::array<char*, 3ul>>(int)",
            "vectorized_elementwise_kernel<4, silu_backward_kernel>",
        ),
        (
            f"void {ATEN}multi_tensor_apply_kernel<{ATEN}FusedOptimizerTensorListMetadata<4>, "
            f"{ATEN}FusedAdamMathFunctor<float, 4, ({ATEN}ADAM_MODE)0, false> >(int)",
            "multi_tensor_apply_kernel<FusedAdamMathFunctor<float, 4, 0, …>>",
        ),
        (
            "void at::native::reduce_kernel<512, 1, at::native::ReduceOp<float, at::native::NormTwoOps<"
            "float, float, float>, unsigned int, float, 4> >(at::native::ReduceOp<float>)",
            "reduce_kernel<512, 1, ReduceOp<float, NormTwoOps, …>>",
        ),
        (
            "void at::native::vectorized_elementwise_kernel<4, at::native::BinaryFunctor<float, float, "
            "float, at::native::binary_internal::MulFunctor<float> >, at::detail::Array<char*, 3> >(int)",
            "vectorized_elementwise_kernel<4, BinaryFunctor<float, MulFunctor>>",
        ),
        (
            "void at::native::elementwise_kernel<128, 4, at::native::gpu_kernel_impl<at::native::"
            "direct_copy_kernel_cuda(at::TensorIteratorBase&)::{lambda(float)#1}>(at::TensorIteratorBase&)"
            "::{lambda(int)#1}>(int)",
            "elementwise_kernel<128, 4, direct_copy_kernel_cuda>",
        ),
        (
            "void pytorch_flash::flash_fwd_kernel<pytorch_flash::Flash_fwd_kernel_traits<64, 128, 128, 4, "
            "false, false, cutlass::bfloat16_t>, false, true>(pytorch_flash::Flash_fwd_params)",
            "pytorch_flash::flash_fwd_kernel<Flash_fwd_kernel_traits<64, 128, 128, …>, false, true>",
        ),
        (
            f"void {ATEN}CatArrayBatchedCopy_contig<{ATEN}OpaqueType<2u>, unsigned int, 1, 128, 1>(int)",
            "CatArrayBatchedCopy_contig<OpaqueType<2>, unsigned int, 1, 128, 1>",
        ),
        (
            "void cudnn::ops::nchwToNhwcKernel<float, float, float, false, true, "
            "(cudnnKernelDataType_t)2>(int)",
            "cudnn::ops::nchwToNhwcKernel<float, float, float, false, true, …>",
        ),
        (
            "std::enable_if<(((8)>(0)))&&vllm::_typeConvert<c10::BFloat16>::exists, void>::type "
            "vllm::fused_add_rms_norm_kernel<c10::BFloat16, 8>(c10::BFloat16*, long)",
            "vllm::fused_add_rms_norm_kernel<BFloat16, 8>",
        ),
        ("ncclDevKernel_Generic(ncclDevComm*, channelMasks, ncclWork*)", "ncclDevKernel_Generic"),
        ("__amd_rocclr_copyBuffer.kd", "__amd_rocclr_copyBuffer"),
        ("volta_sgemm_128x32_nt", "volta_sgemm_128x32_nt"),
        ("triton_poi_fused_mul_silu_7", "triton_poi_fused_mul_silu_7"),
        ("Memcpy HtoD (Pinned -> Device)", "Memcpy HtoD (Pinned -> Device)"),
        (
            "Cijk_Alik_Bljk_BBS_BH_Bias_HA_S_SAV_UserArgs_MT256x192x64_MI16x16x1_SN_LDSB1_AFC1_AFEM1",
            "Cijk_Alik_Bljk_BBS_BH_MT256x192x64_MI16x16x1…",
        ),
        (
            "_ZN7ck_tile6kentryILi1ENS_12Rmsnorm2dFwdINS_27Rmsnorm2dFwdPipelineOnePassINS_4NoneEEEEEEvT_",
            "ck_tile::kentry<Rmsnorm2dFwd, Rmsnorm2dFwdPipelineOnePass, …>",
        ),
        (
            "_ZN5aiter24add_rmsnorm_quant_kernelIDF16bDF16bLi256EEEvPT0_S4_",
            "aiter::add_rmsnorm_quant_kernel<…>",
        ),
    ],
)
def test_kernels_of_frameworks(full: str, expected: str) -> None:
    assert short_name(full) == expected


@pytest.mark.parametrize(
    ("full", "expected"),
    [
        ("", NO_NAME),
        ("void cutlass::Kernel<Foo<Bar<float>>, 3>(Params)", "cutlass::Kernel<Foo<Bar>, 3>"),
        ("void at::native::(anonymous namespace)::k<{lambda(float)#1}>(int)", "k<{lambda(float)#1}>"),
        ('void f<(int)452, "str\\"q">(char const*)', 'f<452, "str\\"q">'),
        ("<b>bold</b><img src=x onerror=1>&amp;kernel", "<b>bold</b><img src=x onerror=1>&amp;kernel"),
        ('=HYPERLINK("http://127.0.0.1")', '=HYPERLINK("http://127.0.0.1")'),
        ("k,with,commas\tand\ttabs", "k,with,commas\\tand\\ttabs"),
        ("line1\nline2", "line1\\nline2"),
        ("核函数_矩阵乘", "核函数_矩阵乘"),
        ("\u202egnp.exe", "\\u202egnp.exe"),
        ("a" * 4096, "a" * 79 + "…" + "a" * 40),
        ("std::pair<int,int>>>shift", "std::pair<int,int>>>shift"),
        ("void f<at::native::g<4, fl", "f<g<4, fl>>"),
        ("void ", "void "),
        (" ", " "),
        ("(", "("),
        ("::", "::"),
        ("_ZN", "_ZN"),
        ("_ZN9999999", "_ZN9999999"),
        ("Cijk_", "Cijk_…"),
    ],
)
def test_any_text(full: str, expected: str) -> None:
    assert short_name(full) == expected


def test_the_path_of_a_name_has_no_arguments() -> None:
    signature = split_name("void fbgemm_gpu::(anonymous namespace)::f<a::b<1>, 2>(at::Tensor)")
    assert signature.is_code
    assert signature.name == "fbgemm_gpu::(anonymous namespace)::f<a::b<1>, 2>"
    assert signature.path == "fbgemm_gpu::f"


def test_names_that_would_read_the_same_say_their_types_or_get_a_number() -> None:
    names = [COPY % (7, "float"), COPY % (12, "c10::BFloat16"), COPY % (9, "float"), "g", COPY % (7, "float")]
    plain = "unrolled_elementwise_kernel<direct_copy_kernel_cuda, 4>"
    assert {short_name(name) for name in names} == {plain, "g"}
    assert short_names(names) == [
        f"{plain} (float) #1",
        f"{plain} (BFloat16)",
        f"{plain} (float) #2",
        "g",
        f"{plain} (float) #1",
    ]


def test_a_number_does_not_make_a_new_collision() -> None:
    assert short_names(["f(int)", "f(float)", "f #1", "f #2"]) == ["f #3", "f #4", "f #1", "f #2"]


PIECES = [
    *("void ", "at::", "(anonymous namespace)::", "f", "float", "4ul", ", ", "::", "operator()", "->", " "),
    *("<", ">", "(", ")", "{", "}", "{lambda("),
    *("Cijk_", "_ZN", "3foo", "I", "L", "E"),
    *("\n", "\\", "\u202e", "…"),
]
cpp_like = st.lists(st.sampled_from(PIECES), max_size=60).map("".join)


@settings(max_examples=400, deadline=None)
@given(st.lists(st.one_of(cpp_like, st.text(max_size=200)), max_size=12))
def test_short_names_can_be_shown_and_differ_where_names_differ(names: list[str]) -> None:
    shown = short_names(names)
    assert all(name.isprintable() and name for name in shown)
    assert len(set(shown)) == len(set(names))


@pytest.mark.parametrize(
    "piece",
    [
        "<",
        ">",
        "(",
        ")",
        "{",
        "(<",
        "a<",
        "a::",
        "(a",
        "(a,",
        "1a",
        "L",
        "{lambda(",
        "_",
        " ",
        "func_wrapper_t<",
    ],
)
@pytest.mark.parametrize("start", ["", "void f<", "_ZN", "_ZN1aI", "Cijk_", "void f<("])
def test_hostile_names_of_full_length(start: str, piece: str) -> None:
    full = (start + piece * 4096)[:4096]
    assert 0 < len(short_name(full)) <= SHOWN_LENGTH
    assert 0 < len(short_name(full * 10)) <= SHOWN_LENGTH
    assert short_names([full, full + "x"])[0]
