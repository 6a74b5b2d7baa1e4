"""What would help a kernel of a trace, and by how much at most: what shapes, launches and the model carry."""

from __future__ import annotations

from typing import TYPE_CHECKING

from core.analyses.categories import Category
from core.analyses.op_work.call import UnknownWorkError
from core.roofline.verdict import VerdictKind
from core.roofline.verdict_gemm import gemm_remedies, gemm_size
from core.roofline.verdict_kernels import FUSIBLE
from core.roofline.verdict_precision import lower_arithmetic, lower_storage, stored_type
from core.units import format_count, format_duration_ns, format_file_bytes

if TYPE_CHECKING:
    from core.hardware.peaks import DataType, DevicePeaks
    from core.roofline.verdict import Remedy
    from core.roofline.verdict_kernels import Gaps, KernelFacts, Neighbour
    from core.roofline.verdict_standing import Standing

_MATRIX = frozenset({Category.GEMM, Category.CONVOLUTION, Category.ATTENTION})


def kernel_remedies(
    facts: KernelFacts, standing: Standing, kind: VerdictKind, peaks: DevicePeaks | None
) -> list[Remedy]:
    """Lists what would help a kernel of a trace, in no order.

    Args:
        facts: What the trace tells of it.
        standing: Its place on the roofline.
        kind: Its verdict.
        peaks: The data sheet of its device, None where it is not known.
    """
    if kind is VerdictKind.COMMUNICATION:
        return []
    found = [_launch_ahead(facts), _free_the_host(facts)]
    if kind in (VerdictKind.LATENCY_BOUND, VerdictKind.UNKNOWN):
        found.append(_fill(facts, standing))
    # Without a roof to compare with, nothing says that bytes or operations are what it waits for.
    if kind is not VerdictKind.UNKNOWN:
        found += _moving_less(facts, standing, kind, peaks)
        found += _gemm(facts, standing)
    if kind in (VerdictKind.COMPUTE_BOUND, VerdictKind.BALANCED):
        found.append(_compute_lower(facts, standing, peaks))
    return [each for each in found if each is not None]


def to_roof(standing: Standing) -> float | None:
    """Returns the part of a point's time between it and its roof, None where that is not known."""
    shares = [each for each in (standing.compute_pct, standing.traffic_pct) if each is not None]
    return max(0.0, 1 - max(shares) / 100) if shares else None


def _launch_ahead(facts: KernelFacts) -> Remedy | None:
    gaps = facts.launch_gaps
    if gaps is None or not gaps.calls:
        return None
    text = f"Launch ahead of the device (CUDA graphs, torch.compile): {_gap_words(gaps)}."
    share = facts.share_of_ns(gaps.time_ns, "this idle time")
    return share.remedy(text, 1.0, "no idle time before its launches")


def _free_the_host(facts: KernelFacts) -> Remedy | None:
    gaps = facts.host_gaps
    if gaps is None or not gaps.calls:
        return None
    text = (
        f"Look at what the host does in between: {_gap_words(gaps)}, which no launch takes. "
        "Loading data, waits for the device, first calls that compile or tune."
    )
    share = facts.share_of_ns(gaps.time_ns, "this idle time")
    return share.remedy(text, 1.0, "no idle time before its launches")


def _gap_words(gaps: Gaps) -> str:
    calls = "1 call" if gaps.calls == 1 else f"{format_count(gaps.calls)} calls"
    return (
        f"before {calls} its stream was idle for {format_duration_ns(gaps.time_ns)} "
        "until the launch had returned"
    )


def _fill(facts: KernelFacts, standing: Standing) -> Remedy | None:
    if not facts.is_underfilled or facts.blocks is None or not facts.sm_count:
        return None
    idle, distance = 1 - facts.blocks / facts.sm_count, to_roof(standing)
    text = (
        f"Launch more blocks: {format_count(facts.blocks)} for {format_count(facts.sm_count)} SMs. "
        "A larger batch, split-K, or several such kernels in one."
    )
    saved = idle if distance is None else min(idle, distance)
    return facts.share.remedy(text, saved, "the SMs without a block, not beyond its roof")


def _moving_less(
    facts: KernelFacts, standing: Standing, kind: VerdictKind, peaks: DevicePeaks | None
) -> list[Remedy | None]:
    if kind is VerdictKind.COMPUTE_BOUND or standing.is_below_ridge is False:
        return []
    fused = [_fuse(facts, each) for each in facts.neighbours] if facts.category in FUSIBLE else []
    return [*fused, _store_lower(facts, peaks)]


def _fuse(facts: KernelFacts, neighbour: Neighbour) -> Remedy:
    where = "before" if neighbour.is_before else "after"
    calls = f"{format_count(neighbour.calls)} of {format_count(facts.calls)} calls"
    bytes_saved = format_file_bytes(2 * neighbour.shared_bytes)
    text = (
        f"Fuse it with {neighbour.name}, which runs right {where} it in {calls} on the same shape "
        f"(torch.compile, Triton): {bytes_saved} less to move each time."
    )
    share = facts.share_of_ns(neighbour.saved_ns, "moving what they share")
    return share.remedy(text, 1.0, "the least bytes of both kernels, if nobody else reads what lies between")


def _store_lower(facts: KernelFacts, peaks: DevicePeaks | None) -> Remedy | None:
    stored = _stored(facts)
    lower = (
        None if stored is None else lower_storage(stored, peaks, is_matrix=facts.category is Category.GEMM)
    )
    if lower is None:
        return None
    text = f"Keep its data in {lower.lower} instead of {lower.now}, where the accuracy allows."
    return facts.share.remedy(text, lower.saved, lower.how)


def _stored(facts: KernelFacts) -> DataType | None:
    """Return the type of the largest of its inputs, None where it is not known."""
    call = facts.call
    if call is None:
        return None
    try:
        tensors = [call.optional(place) for place in range(len(call.shapes))]
    except UnknownWorkError:
        return None
    sizes = [0 if tensor is None else tensor.size_bytes for tensor in tensors]
    largest = max(range(len(sizes)), key=sizes.__getitem__, default=None)
    return stored_type(call.types[largest]) if largest is not None and sizes[largest] else None


def _gemm(facts: KernelFacts, standing: Standing) -> list[Remedy]:
    size = gemm_size(facts.call) if facts.category is Category.GEMM else None
    if size is None:
        return []
    return gemm_remedies(
        size,
        facts.name,
        facts.share,
        to_roof=to_roof(standing),
        waits_for_memory=standing.is_below_ridge is True,
    )


def _compute_lower(facts: KernelFacts, standing: Standing, peaks: DevicePeaks | None) -> Remedy | None:
    if not standing.flop_per_s:
        return None
    lower = lower_arithmetic(standing.work_type, peaks, is_matrix=facts.category in _MATRIX)
    if lower is None:
        return None
    text = f"Compute in {lower.lower} instead of {lower.now}, where the accuracy allows."
    return facts.share.remedy(text, lower.saved, lower.how)
