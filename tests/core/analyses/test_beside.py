"""A kernel that shared its device with communication says so."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from core.analyses.index import TraceIndex
from core.analyses.slice_facts import describe_slice
from core.readers.torch_trace.reader import read_trace
from gui.widgets.trace_words import this_pairs
from tests.helpers.traces import kernel, trace_of

if TYPE_CHECKING:
    from core.analyses.beside import BesideCommunication
    from core.tables.trace import Trace


def beside(name: str, *events: dict[str, Any]) -> BesideCommunication | None:
    return beside_in(trace_of(*events), name)


def beside_in(trace: Trace, name: str) -> BesideCommunication | None:
    names = [trace.strings[int(text_id)] for text_id in trace.slices.name_id]
    return describe_slice(TraceIndex(trace), names.index(name)).beside


def test_r13_a_kernel_that_overlapped_a_collective_says_so(shared_cases: Path, tmp_path: Path) -> None:
    text = (shared_cases / "T26.json").read_text(encoding="utf-8")
    path = tmp_path / "R13.json"
    path.write_text(text.replace('"compute_b"', '"ncclDevKernel_AllReduce"'), encoding="utf-8")
    trace = read_trace(path)
    names = [trace.strings[int(text_id)] for text_id in trace.slices.name_id]
    facts = describe_slice(TraceIndex(trace), names.index("compute_a"))
    assert facts.beside is not None
    assert (facts.beside.overlap_ns, facts.beside.share_pct) == (100_000_000, 100.0)
    assert facts.beside.words == (
        "Communication ran beside it for 100.0 ms (100\N{NO-BREAK SPACE}% of its time): "
        "ncclDevKernel_AllReduce. Both share the device, so it may be faster alone."
    )
    assert ("Beside communication", "100.0 ms", facts.beside.words) in this_pairs(facts)
    assert beside_in(read_trace(shared_cases / "T26.json"), "compute_a") is None


def test_collectives_that_overlap_each_other_count_once() -> None:
    found = beside(
        "gemm",
        kernel("gemm", 10, 40, stream=7),
        kernel("ncclDevKernel_AllReduce_Sum_bf16", 0, 20, stream=8),
        kernel("ncclDevKernel_AllGather", 15, 10, stream=9),
        kernel("ncclDevKernel_AllGather", 45, 100, stream=9),
        kernel("ncclDevKernel_ReduceScatter", 49, 1, stream=10),
    )
    assert found is not None
    # 10 to 25 and 45 to 50 us.
    assert (found.overlap_ns, found.share_pct) == (20_000, 50.0)
    assert len(found.kernels) == 3
    assert "and 1 more" in found.words


def test_what_only_touches_it_or_runs_elsewhere_is_not_beside_it() -> None:
    around = (
        kernel("ncclDevKernel_AllReduce", 0, 10, stream=8),
        kernel("ncclDevKernel_AllReduce", 50, 10, stream=8),
        kernel("ncclDevKernel_AllReduce", 10, 40, device=1, stream=8),
        kernel("ncclDevKernel_AllReduce", 20, -5, stream=8),
        kernel("relu", 10, 40, stream=8),
    )
    assert beside("gemm", kernel("gemm", 10, 40), *around) is None
    assert beside("odd", kernel("odd", 10, -40), kernel("ncclDevKernel_AllReduce", 0, 90, stream=8)) is None


def test_a_collective_is_not_told_of_itself() -> None:
    one = kernel("ncclDevKernel_AllReduce", 0, 10, stream=8)
    assert beside("ncclDevKernel_AllGather", one, kernel("ncclDevKernel_AllGather", 0, 10, stream=9)) is None
