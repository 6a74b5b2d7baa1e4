"""What helps a launch: each remedy where its evidence is, its bound, and not where it is not."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from core.roofline.verdicts import Remedy, VerdictKind, verdicts_of_report
from tests.helpers.made_launches import (
    ACHIEVED,
    DURATION,
    MEMORY,
    POSSIBLE,
    SM,
    WAVES,
    breakdown,
    report_of,
    spoken_rule,
    stalls,
    throughputs,
)

if TYPE_CHECKING:
    from pathlib import Path

DRAM = breakdown(MEMORY, dram__cycles_active=80.0)
L1 = breakdown(MEMORY, l1tex__data_pipe_lsu_wavefronts=80.0, dram__cycles_active=10.0)


def remedies(tmp_path: Path, launch: dict[str, Any], **more: Any) -> tuple[Remedy, ...]:
    return verdicts_of_report(report_of(tmp_path, launch, **more))[0].remedies


def only(found: tuple[Remedy, ...], begin: str) -> Remedy:
    (remedy,) = [each for each in found if each.text.startswith(begin)]
    return remedy


def begins(found: tuple[Remedy, ...]) -> list[str]:
    return [" ".join(each.text.split()[:2]) for each in found]


def plain(text: str) -> str:
    return text.replace("\N{NO-BREAK SPACE}", " ")


def test_a_memory_bound_launch_is_fused_and_kept_in_fewer_bytes(tmp_path: Path) -> None:
    launch = throughputs(10.0, 80.0, kernel="silu(float *, const float *, int)", **DRAM)
    launch["dram__bytes.sum"] = 524_000_000
    found = remedies(tmp_path, launch)
    fuse, keep = found
    assert "It moves 524.0 MB through DRAM." in fuse.text
    assert fuse.whole == "the report's kernel time"
    assert (fuse.gain_pct, plain(fuse.basis)) == (
        100.0,
        "all of its time, if none of its data had to leave the chip; "
        "the launch is 100.0 % of the report's kernel time",
    )
    assert keep.text == "Keep its data in BF16 instead of FP32, where the accuracy allows."
    assert (keep.gain_pct, keep.basis.split(";")[0]) == (50.0, "2 instead of 4 bytes a value")


def test_by_amdahl_a_bound_is_of_all_launches(tmp_path: Path) -> None:
    first = throughputs(10.0, 80.0, kernel="silu(float *)", **DRAM, **{DURATION: 30_000})
    report = report_of(tmp_path, first, {DURATION: 90_000}, {DURATION: None})
    judged = verdicts_of_report(report)
    assert [each.gain_pct for each in judged[0].remedies] == [25.0, 12.5]
    assert "the launch is 25.0" in judged[0].remedies[0].basis


def test_gains_of_repeats_add_up(tmp_path: Path) -> None:
    alike = throughputs(10.0, 80.0, kernel="silu(float *)", **DRAM, **{DURATION: 30_000})
    # Its share alone is not worth a word; the last has no time, so it adds none.
    short, untimed = {**alike, DURATION: 10}, {**alike, DURATION: None}
    judged = verdicts_of_report(report_of(tmp_path, alike, alike, {DURATION: 40_000 - 10}, short, untimed))
    assert not judged[3].remedies
    group = judged.of_group((0, 1, 3, 4))
    assert [each.gain_pct for each in group.remedies] == [pytest.approx(60.01), pytest.approx(30.005)]
    assert plain(group.remedies[0].basis).endswith(
        "; all 4 launches together are 60.0 % of the report's kernel time"
    )
    assert group.words == judged[0].words
    assert [each.gain_pct for each in judged.of_group((4,)).remedies] == [None, None]


def test_many_repeats_gain_as_those_of_them_that_are_judged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("core.roofline.verdict_groups.MOST_JUDGED", 3)
    alike = throughputs(10.0, 80.0, kernel="silu(float *)", **DRAM)
    judged = verdicts_of_report(report_of(tmp_path, *([alike] * 9), {DURATION: 10_000}))
    fuse, _ = judged.of_group(range(9)).remedies
    assert fuse.gain_pct == pytest.approx(90.0)
    assert fuse.basis.endswith("of the report's kernel time, as of 3 of them")


def test_without_a_time_a_remedy_has_no_bound(tmp_path: Path) -> None:
    found = remedies(tmp_path, throughputs(10.0, 80.0, **DRAM, **{DURATION: None}))
    assert [each.gain_pct for each in found] == [None, None]


@pytest.mark.parametrize(
    ("kernel", "device", "lower"),
    [
        ("f(double *, int)", "NVIDIA H100 PCIe", "Keep its data in FP32 instead of FP64"),
        ("gemm(__half *)", "NVIDIA H100 PCIe", "Keep its data in FP8 instead of FP16"),
        ("gemm(c10::BFloat16 const*)", "NVIDIA H100 PCIe", "Keep its data in FP8 instead of BF16"),
        # Only products are quantized below 16 bits.
        ("f(__half *)", "NVIDIA H100 PCIe", ""),
        # No FP8 before Hopper and Ada; no BF16 on V100.
        ("gemm(__half *)", "NVIDIA A100-SXM4-80GB", ""),
        ("f(int *)", "NVIDIA H100 PCIe", ""),
        ("f(float *, double *)", "NVIDIA H100 PCIe", ""),
        ("silu_kernel", "NVIDIA H100 PCIe", ""),
        ("f(float *)", "Some Future GPU 9000", ""),
    ],
)
def test_a_lower_type_only_where_the_name_tells_the_type_and_the_device_has_the_lower_one(
    tmp_path: Path, kernel: str, device: str, lower: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The made device has the SMs of an H100 PCIe, whatever its name.
    monkeypatch.setattr("tests.helpers.made_launches.SM_COUNT", 108 if "A100" in device else 114)
    found = remedies(tmp_path, throughputs(10.0, 80.0, kernel=kernel, **DRAM), device=device)
    kept = [each.text for each in found if each.text.startswith("Keep its data")]
    assert [text.split(",")[0] for text in kept] == ([lower] if lower else [])


def test_a_launch_that_l1_holds_back_reuses_its_registers_and_is_not_fused(tmp_path: Path) -> None:
    found = remedies(tmp_path, throughputs(30.0, 80.0, **L1, **breakdown(SM, sm__issue_active=30.0)))
    assert begins(found)[0] == "Load each"
    assert not [each for each in found if each.text.startswith("Fuse")]
    # Until instruction issue, at 30 %, is the limit.
    assert only(found, "Load each").gain_pct == pytest.approx(70.0)


def test_a_memory_bound_gemm_serves_more_rows_with_its_weights(tmp_path: Path) -> None:
    batch = only(
        remedies(tmp_path, throughputs(10.0, 80.0, kernel="ampere_sgemm_128x32_tn", **DRAM)), "Use a larger"
    )
    assert batch.gain_pct is None
    assert "each row" in batch.basis
    norm = remedies(tmp_path, throughputs(10.0, 80.0, kernel="layer_norm(float *)", **DRAM))
    assert not [each for each in norm if each.text.startswith("Use a larger")]


def test_a_compute_bound_launch_computes_in_a_lower_type(tmp_path: Path) -> None:
    pipe = breakdown(SM, sm__pipe_fp64_cycles_active=90.0)
    (found,) = remedies(tmp_path, throughputs(90.0, 30.0, **pipe))
    assert found.text == "Compute in FP32 instead of FP64, where the accuracy allows."
    # H100 PCIe: 25.6 and 51.2 TFLOP/s.
    assert found.gain_pct == pytest.approx(50.0, abs=1)
    (found,) = remedies(tmp_path, throughputs(90.0, 74.0, **pipe))
    assert found.gain_pct == pytest.approx(26.0)
    assert remedies(tmp_path, throughputs(90.0, 30.0)) == ()
    assert remedies(tmp_path, throughputs(90.0, 30.0, **pipe), device="Some Future GPU 9000") == ()


@pytest.mark.parametrize(
    ("counter", "kernel", "lower"),
    [
        (
            "sm__ops_path_tensor_src_bf16_dst_fp32.sum",
            "gemm",
            "FP8 on tensor cores instead of BF16 on tensor",
        ),
        (
            "sm__ops_path_tensor_src_tf32_dst_fp32.sum",
            "gemm",
            "BF16 on tensor cores instead of TF32 on tensor",
        ),
        (
            "smsp__sass_thread_inst_executed_op_ffma_pred_on.sum",
            "sgemm",
            "TF32 on tensor cores instead of FP32",
        ),
    ],
)
def test_the_counted_type_of_work_tells_the_next_lower_one(
    tmp_path: Path, counter: str, kernel: str, lower: str
) -> None:
    (found,) = remedies(tmp_path, throughputs(90.0, 30.0, kernel=kernel, **{counter: 1e9}))
    assert found.text.startswith(f"Compute in {lower}")


def test_without_tensor_cores_in_sight_a_plain_kernel_stays_off_them(tmp_path: Path) -> None:
    counted = {"smsp__sass_thread_inst_executed_op_ffma_pred_on.sum": 1e9}
    found = remedies(tmp_path, throughputs(90.0, 30.0, kernel="softmax_kernel", **counted))
    assert not [each for each in found if "tensor" in each.text]


def test_bytes_read_and_written_count_where_their_sum_is_not_stored(tmp_path: Path) -> None:
    launch = throughputs(10.0, 80.0, kernel="silu(float *, const float *, int)", **DRAM)
    launch |= {"dram__bytes_read.sum": 500_000_000, "dram__bytes_write.sum": 24_000_000}
    assert "It moves 524.0 MB through DRAM." in only(remedies(tmp_path, launch), "Fuse").text
    del launch["dram__bytes_write.sum"]
    assert "through DRAM" not in only(remedies(tmp_path, launch), "Fuse").text


def test_an_underfilled_launch_gets_more_blocks(tmp_path: Path) -> None:
    (found,) = remedies(tmp_path, throughputs(5.0, 20.0, grid=(57, 1, 1)))
    assert found.text.startswith("Launch more blocks: 57 for 114 SMs.")
    assert found.gain_pct == pytest.approx(50.0)
    (found,) = remedies(tmp_path, throughputs(5.0, 70.0, grid=(57, 1, 1), kernel="f(int *)"))[-1:]
    assert found.gain_pct == pytest.approx(30.0)
    unknown = remedies(tmp_path, {"grid": (57, 1, 1)})
    assert [each.gain_pct for each in unknown] == [None]
    # Near a roof, more blocks bring nothing.
    assert remedies(tmp_path, throughputs(90.0, 20.0, grid=(57, 1, 1))) == ()


@pytest.mark.parametrize(
    ("waves", "gain_pct"), [(1.25, 37.5), (9.5, 5.0), (4.0, None), (20.8, None), (1.0, None), (None, None)]
)
def test_a_last_wave_that_is_partly_empty_costs_its_empty_part(
    tmp_path: Path, waves: float | None, gain_pct: float | None
) -> None:
    found = remedies(tmp_path, throughputs(5.0, 20.0, **{WAVES: waves}))
    tails = [each.gain_pct for each in found if each.text.startswith("Choose a grid")]
    assert tails == ([] if gain_pct is None else [pytest.approx(gain_pct)])


def limits(**blocks: float) -> dict[str, Any]:
    return {f"launch__occupancy_limit_{name}": limit for name, limit in blocks.items()}


@pytest.mark.parametrize(
    ("limited_by", "words"),
    [
        (limits(registers=4.0, warps=8.0, blocks=32.0), "limited by registers (62 a thread). Use fewer"),
        (limits(registers=8.0, shared_mem=2.0, warps=8.0), "limited by shared memory. Use less"),
        # Of shared memory that is not used the limit is that of blocks.
        (
            limits(shared_mem=16.0, blocks=16.0, warps=32.0),
            "limited by how many blocks an SM takes. Use larger",
        ),
        (limits(warps=1.0, registers=1.0), "limited by how many warps an SM takes. Choose a block size"),
    ],
)
def test_low_occupancy_names_what_limits_it(tmp_path: Path, limited_by: dict[str, Any], words: str) -> None:
    more = {**limited_by, POSSIBLE: 50.0, "launch__registers_per_thread": 62.0}
    (found,) = remedies(tmp_path, throughputs(20.0, 30.0, **more))
    assert words in found.text
    assert "50 % of its warps" in plain(found.text)
    assert found.gain_pct == pytest.approx(50.0)
    (found,) = remedies(tmp_path, throughputs(20.0, 55.0, **more))
    assert found.gain_pct == pytest.approx(45.0)
    assert remedies(tmp_path, throughputs(20.0, 30.0, **{**more, POSSIBLE: 80.0})) == ()
    # Too few blocks to fill what an SM holds as it is.
    few = remedies(tmp_path, throughputs(20.0, 30.0, grid=(8, 1, 1), **more))
    assert begins(few) == ["Launch more"]


def test_uneven_work_is_evened_out(tmp_path: Path) -> None:
    (found,) = remedies(tmp_path, throughputs(20.0, 30.0, **{POSSIBLE: 100.0, ACHIEVED: 60.0}))
    assert found.text.startswith("Even out the work of blocks and warps")
    assert found.gain_pct == pytest.approx(40.0)
    assert remedies(tmp_path, throughputs(20.0, 30.0, **{POSSIBLE: 100.0, ACHIEVED: 90.0})) == ()


def test_the_longest_wait_is_named_with_what_helps(tmp_path: Path) -> None:
    (found,) = remedies(tmp_path, throughputs(20.0, 30.0, **stalls(barrier=6.0, wait=3.0, selected=1.0)))
    assert found.text.startswith("Even out the work between barriers")
    assert found.gain_pct == pytest.approx(60.0)
    assert "Warps wait 60 % of the time for other warps at a barrier." in plain(found.text)
    # Waiting to be selected is no wait.
    assert remedies(tmp_path, throughputs(20.0, 30.0, **stalls(not_selected=9.0, selected=1.0))) == ()
    # The tool's own figure for the time between two instructions goes first.
    total = {"smsp__average_warp_latency_per_inst_issued.ratio": 30.0}
    assert remedies(tmp_path, throughputs(20.0, 30.0, **stalls(barrier=6.0), **total)) == ()


def test_blocks_of_part_of_a_warp_are_filled_up(tmp_path: Path) -> None:
    (found,) = remedies(tmp_path, throughputs(14.8, 53.3, block=(8, 1, 1)))
    assert found.text.startswith("Launch blocks of whole warps: 8 threads a block occupy 32 lanes.")
    assert found.gain_pct == pytest.approx(75.0)
    assert remedies(tmp_path, throughputs(14.8, 53.3, block=(96, 1, 1))) == ()


NEW_WORDS = "Uncoalesced global accesses: a total of 9 excessive sectors ({}% of the total 52 sectors)."
OLD_WORDS = "Uncoalesced global access, expected 100 sectors, got {} (x) at PC 0x14a9a94cf630"


@pytest.mark.parametrize(
    ("text", "speedup", "memory_pct", "gain_pct"),
    [
        (NEW_WORDS.format(40), (2, 12.5), 30.0, 12.5),
        (NEW_WORDS.format(40), (1, 99.0), 30.0, None),
        (NEW_WORDS.format(40), None, 30.0, None),
        # What is moved in vain costs its share only where memory is the limit.
        (NEW_WORDS.format(40), None, 80.0, 40.0),
        (OLD_WORDS.format(400), None, 80.0, 75.0),
        (NEW_WORDS.format(9), None, 80.0, "silent"),
        (OLD_WORDS.format(101), None, 80.0, "silent"),
    ],
)
def test_uncoalesced_access_comes_from_the_reports_own_rule(
    tmp_path: Path,
    text: str,
    speedup: tuple[int, float] | None,
    memory_pct: float,
    gain_pct: float | str | None,
) -> None:
    rule = spoken_rule("UncoalescedGlobalAccess", text, speedup)
    found = remedies(tmp_path, throughputs(20.0, memory_pct, rules=[rule]))
    told = [each.gain_pct for each in found if each.text.startswith("Let the threads of a warp read")]
    if gain_pct == "silent":
        assert told == []
    elif gain_pct is None:
        assert told == [None]
    else:
        assert told == [pytest.approx(gain_pct)]


def test_rules_give_the_same_advice_once_and_silent_ones_none(tmp_path: Path) -> None:
    rules = [
        spoken_rule("SharedMemoryConflicts", "Conflicts.", (2, 20.0)),
        spoken_rule("UncoalescedSharedAccess", "Uncoalesced.", (2, 10.0)),
        spoken_rule("SOLBottleneck", "High.", (2, 30.0)),
        spoken_rule("FPInstructions", "Fuse.", (2, 0.01)),
    ]
    (found,) = remedies(tmp_path, throughputs(20.0, 30.0, rules=rules))
    assert found.text.startswith("Spread accesses to shared memory")
    assert (found.gain_pct, found.basis.split(";")[0]) == (
        20.0,
        "the report's own estimate (SharedMemoryConflicts)",
    )


def test_the_largest_bound_stands_first_and_none_is_above_the_launch_itself(tmp_path: Path) -> None:
    launch = throughputs(
        20.0,
        30.0,
        **{POSSIBLE: 25.0, **limits(registers=2.0), WAVES: 1.25},
        **stalls(barrier=5.0, selected=5.0),
        rules=[spoken_rule("ThreadDivergence", "Divergent.")],
    )
    gains = [each.gain_pct for each in remedies(tmp_path, launch)]
    assert gains == [pytest.approx(70.0), pytest.approx(50.0), pytest.approx(37.5), None]


def test_a_leaning_launch_gets_what_helps_at_that_roof(tmp_path: Path) -> None:
    report = report_of(tmp_path, throughputs(25.0, 67.0, kernel="f(int *)", **DRAM))
    (judged,) = verdicts_of_report(report)
    assert judged.kind is VerdictKind.LATENCY_BOUND
    assert begins(judged.remedies) == ["Fuse it"]
    assert remedies(tmp_path, throughputs(25.0, 59.0, kernel="f(int *)", **DRAM)) == ()
