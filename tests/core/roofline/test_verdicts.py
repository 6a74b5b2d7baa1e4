"""Verdicts on launches of reports: each kind, the edges of its limits, and what is not measured."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from core.readers.ncu_csv.reader import read_csv
from core.roofline.verdict_kinds import CONFIDENCES, KINDS
from core.roofline.verdicts import ReportVerdicts, Verdict, VerdictKind, verdicts_of_report
from tests.helpers.made_launches import (
    ACHIEVED,
    MEMORY,
    POSSIBLE,
    SM,
    WAVES,
    breakdown,
    report_of,
    stalls,
    throughputs,
)

if TYPE_CHECKING:
    from pathlib import Path

MEMORY_BOUND, COMPUTE_BOUND = VerdictKind.MEMORY_BOUND, VerdictKind.COMPUTE_BOUND
BALANCED, LATENCY_BOUND = VerdictKind.BALANCED, VerdictKind.LATENCY_BOUND
UNKNOWN = VerdictKind.UNKNOWN


def judged(tmp_path: Path, launch: dict[str, Any]) -> Verdict:
    return verdicts_of_report(report_of(tmp_path, launch))[0]


def plain(words: str) -> str:
    return words.replace("\N{NO-BREAK SPACE}", " ")


def figures(verdict: Verdict) -> dict[str, Any]:
    return {each.label: each.value for each in verdict.evidence}


@pytest.mark.parametrize(
    ("sm_pct", "memory_pct", "kind"),
    [
        (12.0, 80.1, MEMORY_BOUND),
        (75.0, 75.1, MEMORY_BOUND),
        (92.1, 40.0, COMPUTE_BOUND),
        (75.1, 75.0, COMPUTE_BOUND),
        (75.1, 75.1, BALANCED),
        (75.0, 75.0, LATENCY_BOUND),
        (20.0, 30.0, LATENCY_BOUND),
        (0.0, 0.0, LATENCY_BOUND),
        (0.0, 90.0, MEMORY_BOUND),
    ],
)
def test_the_two_throughputs_decide(
    tmp_path: Path, sm_pct: float, memory_pct: float, kind: VerdictKind
) -> None:
    verdict = judged(tmp_path, throughputs(sm_pct, memory_pct))
    assert (verdict.kind, verdict.confidence) == (kind, "measured")
    assert verdict.words.lower().startswith(kind)
    first, second = verdict.evidence[:2]
    assert (first.label, first.value, second.label, second.value) == (
        "SM throughput",
        sm_pct,
        "Memory throughput",
        memory_pct,
    )
    assert first.unit == second.unit == "pct"
    assert "above 75" in first.against
    assert "above 75" in second.against


@pytest.mark.parametrize(
    ("launch", "missing"),
    [
        (throughputs(None, None), "SM throughput and memory throughput were"),
        (throughputs(None, 90.0), "SM throughput was"),
        (throughputs(90.0, None), "memory throughput was"),
        ({SM: None, MEMORY: 90.0}, "SM throughput was"),
        ({SM: "n/a", MEMORY: 90.0}, "SM throughput was"),
        ({SM: float("nan"), MEMORY: 90.0}, "SM throughput was"),
        ({SM: float("inf"), MEMORY: 90.0}, "SM throughput was"),
    ],
)
def test_what_was_not_measured_is_unknown_and_never_0(
    tmp_path: Path, launch: dict[str, Any], missing: str
) -> None:
    verdict = judged(tmp_path, launch)
    assert verdict.kind is UNKNOWN
    assert verdict.words == f"Unknown: {missing} not collected. Run `ncu --set roofline`."
    assert any(each.value is None for each in verdict.evidence[:2])
    assert verdict.remedies == ()


def test_the_words_name_the_part_that_works_most(tmp_path: Path) -> None:
    memory = breakdown(MEMORY, dram__cycles_active=88.4, l1tex__lsuin_requests=27.8, fbpa__dram_sectors=60.0)
    sm = breakdown(SM, sm__inst_executed=20.0, sm__pipe_fma_cycles_active=20.0, unheard__of=99.0)
    verdict = judged(tmp_path, throughputs(20.0, 88.4, **memory, **sm))
    assert plain(verdict.words) == "Memory-bound: DRAM works at 88 % of its peak; the SMs do little (20 %)."
    assert figures(verdict)["Busiest part of the SMs"] == "FMA pipe"
    assert figures(verdict)["Busiest part of memory"] == "DRAM"
    compute = judged(tmp_path, throughputs(85.3, 55.0, **breakdown(SM, sm__pipe_fp64_cycles_active=85.3)))
    assert plain(compute.words) == (
        "Compute-bound: the FP64 pipe of the SMs works at 85 % of the peak; memory has room (55 %)."
    )


def test_two_throughputs_that_count_the_same_say_so(tmp_path: Path) -> None:
    sm = breakdown(SM, sm__inst_executed_pipe_lsu=83.0, sm__issue_active=24.0)
    verdict = judged(tmp_path, throughputs(83.0, 83.0, **sm))
    assert verdict.kind is BALANCED
    assert plain(verdict.words).endswith(
        "Both count the same: the load and store unit. "
        "What computes works at 24 %, so it is data that it waits for."
    )
    sm = breakdown(SM, sm__pipe_fma_cycles_active=83.0, sm__inst_executed_pipe_lsu=80.0)
    assert "count the same" not in judged(tmp_path, throughputs(83.0, 83.0, **sm)).words


@pytest.mark.parametrize(
    ("more", "why"),
    [
        ({"grid": (5, 1, 1)}, "The launch does not fill the device: 5 blocks for 114 SMs."),
        ({"grid": (1, 1, 1)}, "The launch does not fill the device: 1 block for 114 SMs."),
        (
            {"grid": (256, 1, 1), WAVES: 0.5},
            "The launch does not fill the device: 256 blocks, 0.5 of a full wave.",
        ),
        (
            stalls(long_scoreboard=7.6, wait=4.7, selected=1.0),
            "Warps wait for data from global or local memory 57 % of the time.",
        ),
        (stalls(long_scoreboard=2.9, wait=2.9, barrier=2.9, selected=1.3), ""),
        ({ACHIEVED: 47.5, POSSIBLE: 100.0}, "Of 100 % possible occupancy it reaches 48 %."),
        ({ACHIEVED: 90.0, POSSIBLE: 100.0}, ""),
        # Half of the time idle weighs more than a third of it in barriers.
        (
            {"grid": (256, 1, 1), WAVES: 0.5, **stalls(barrier=4.0, selected=6.0)},
            "The launch does not fill the device: 256 blocks, 0.5 of a full wave.",
        ),
        (
            {"grid": (512, 1, 1), WAVES: 0.94, **stalls(barrier=4.0, selected=6.0)},
            "Warps wait for other warps at a barrier 40 % of the time.",
        ),
    ],
)
def test_what_is_near_no_roof_says_why(tmp_path: Path, more: dict[str, Any], why: str) -> None:
    verdict = judged(tmp_path, throughputs(20.0, 30.0, **more))
    base = "Latency-bound: neither the SMs (20 %) nor memory (30 %) are near their roof."
    assert plain(verdict.words) == f"{base} {why}".strip()


@pytest.mark.parametrize(
    ("sm_pct", "memory_pct", "words"),
    [
        (25.4, 67.1, "; memory is the nearer."),
        (67.5, 42.2, "; the SMs are the nearer."),
        (50.0, 60.0, "; memory is the nearer."),
        (50.1, 60.0, "near their roof."),
        (20.0, 59.9, "near their roof."),
    ],
)
def test_what_leans_to_a_roof_says_to_which(
    tmp_path: Path, sm_pct: float, memory_pct: float, words: str
) -> None:
    assert judged(tmp_path, throughputs(sm_pct, memory_pct)).words.endswith(words)


def test_a_kernel_of_communication_is_told_by_its_name(tmp_path: Path) -> None:
    launch = throughputs(5.0, 90.0, kernel="ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgs)")
    verdict = judged(tmp_path, launch)
    assert verdict.kind is VerdictKind.COMMUNICATION
    assert verdict.remedies == ()


ROOFLINE = {
    "sm__sass_thread_inst_executed_op_ffma_pred_on.sum.peak_sustained": 16_384.0,
    "sm__cycles_elapsed.avg.per_second": 1e9,
    "smsp__cycles_elapsed.avg.per_second": 1e9,
    "dram__bytes.sum.peak_sustained": 1_000.0,
    "dram__cycles_elapsed.avg.per_second": 2e9,
}
"""Peaks of 32.8 TFLOP/s and 2 TB/s: the ridge lies at 16.4 FLOP/B."""


def work(fma_per_cycle: float, dram_bytes_per_s: float) -> dict[str, Any]:
    operation = "smsp__sass_thread_inst_executed_op_{}_pred_on.sum.per_cycle_elapsed"
    return {
        **ROOFLINE,
        operation.format("fadd"): 0.0,
        operation.format("fmul"): 0.0,
        operation.format("ffma"): fma_per_cycle,
        "dram__bytes.sum.per_second": dram_bytes_per_s,
    }


@pytest.mark.parametrize(
    ("fma_per_cycle", "bytes_per_s", "kind"),
    [
        (100.0, 1.6e12, MEMORY_BOUND),
        (14_000.0, 1e11, COMPUTE_BOUND),
        (14_000.0, 1.6e12, BALANCED),
        # Far from both: what nobody counted may be the limit.
        (100.0, 1e11, UNKNOWN),
        (100.0, 1.5e12, UNKNOWN),
    ],
)
def test_near_the_roof_the_roofline_alone_tells(
    tmp_path: Path, fma_per_cycle: float, bytes_per_s: float, kind: VerdictKind
) -> None:
    verdict = judged(tmp_path, work(fma_per_cycle, bytes_per_s))
    assert verdict.kind is kind
    assert verdict.confidence == ("measured" if kind is UNKNOWN else "estimated")
    found = {each.label: each for each in verdict.evidence}
    intensity = found["Arithmetic intensity"]
    assert intensity.value == pytest.approx(2 * fma_per_cycle * 1e9 / bytes_per_s)
    assert intensity.against == "ridge point at 16.38 FLOP/B, profiled clock"
    assert found["DRAM bytes/s of the peak"].value == pytest.approx(100 * bytes_per_s / 2e12)


def test_every_launch_gets_its_own_verdict(tmp_path: Path) -> None:
    report = report_of(tmp_path, throughputs(90.0, 10.0), {}, throughputs(10.0, 90.0))
    kinds = [each.kind for each in verdicts_of_report(report)]
    assert kinds == [COMPUTE_BOUND, UNKNOWN, MEMORY_BOUND]
    assert tuple(verdicts_of_report(report_of(tmp_path))) == ()


def test_the_handed_csv_has_one_kernel_of_each_kind(shared_cases: Path) -> None:
    gemm, norm = verdicts_of_report(read_csv(shared_cases / "N00_healthy_raw.csv"))
    assert (gemm.kind, norm.kind) == (COMPUTE_BOUND, MEMORY_BOUND)
    (alone,) = verdicts_of_report(read_csv(shared_cases / "R01_tensor_only.csv"))
    assert alone.kind is COMPUTE_BOUND
    assert figures(alone)["Arithmetic intensity"] == 1024


def test_kinds_of_all_launches_are_those_of_each_in_full(tmp_path: Path) -> None:
    clocks = {
        "smsp__cycles_elapsed.avg.per_second": 1e9,
        "sm__cycles_elapsed.avg.per_second": 1e9,
        "dram__cycles_elapsed.avg.per_second": 1e9,
        "dram__bytes.sum.peak_sustained": 2000.0,
    }
    near_memory, far = ({**clocks, "dram__bytes.sum": moved} for moved in (19e6, 1e6))
    report = report_of(
        tmp_path,
        throughputs(90.0, 10.0),
        throughputs(10.0, 90.0),
        throughputs(80.0, 80.0),
        throughputs(75.0, 75.0),
        throughputs(90.0, None),
        {**near_memory},
        {**far},
        throughputs(90.0, 10.0, kernel="ncclDevKernel_AllReduce_Sum_f32"),
        throughputs(10.0, None, **near_memory),
    )
    verdicts = verdicts_of_report(report)
    kinds = [(KINDS[kind], CONFIDENCES[how]) for kind, how in _pairs(verdicts)]
    assert kinds == [(each.kind, each.confidence) for each in verdicts]
    assert kinds == [
        (COMPUTE_BOUND, "measured"),
        (MEMORY_BOUND, "measured"),
        (BALANCED, "measured"),
        (LATENCY_BOUND, "measured"),
        (UNKNOWN, "measured"),
        (MEMORY_BOUND, "estimated"),
        (UNKNOWN, "measured"),
        (VerdictKind.COMMUNICATION, "measured"),
        (MEMORY_BOUND, "estimated"),
    ]
    assert verdicts.kinds.words[:5] == ("Compute-bound", "Memory-bound", "Balanced", "Latency-bound", "")


def _pairs(verdicts: ReportVerdicts) -> list[tuple[int, int]]:
    kinds = verdicts.kinds
    return list(zip(kinds.kind.tolist(), kinds.confidence.tolist(), strict=True))
