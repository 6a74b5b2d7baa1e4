"""What the Edge page says of a device and of a result: labels, figures, advice. Pure functions."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Final

from core.edge.agreement import REL_TOLERANCE
from core.edge.result_table import REFERENCE, STATE_WORDS, state_words
from core.units import (
    NOT_MEASURED,
    format_bytes_gib,
    format_bytes_per_s,
    format_count,
    format_duration_ns,
    format_file_bytes,
    format_flop_per_s,
    format_number,
    format_pct,
    gib,
)
from gui.widgets.evidence import EvidenceRow

if TYPE_CHECKING:
    from core.edge.backend import EdgeTarget
    from core.edge.result import EdgeResult, EdgeState
    from core.hardware.vulkan import VulkanDevice

Pair = tuple[str, str, str]
_NS: Final = 1e9

STATE_LOOKS: Final[dict[EdgeState, tuple[str, str]]] = {
    "agrees": ("check-circle", "ok"),
    "disagrees": ("warning-octagon", "error"),
    "ran_elsewhere": ("warning-octagon", "error"),
    "impossible": ("warning-octagon", "error"),
    "refused": ("info", "info"),
    "failed": ("warning-octagon", "error"),
    "cancelled": ("x", "none"),
}
"""Icon and level of a pill."""

_NO_ICON: Final = ("info", "text2")
_SOFTWARE: Final = ("warning", "warn")


def state_icon(words: str) -> tuple[str, str]:
    """Icon and colour of a state as the table of results words it."""
    if words.endswith(", software"):
        return _SOFTWARE
    states = {text: state for state, text in STATE_WORDS.items()}
    state = states.get(words, "ran_elsewhere" if words.startswith("ran on") else None)
    if state is None:
        return _NO_ICON
    icon, level = STATE_LOOKS[state]
    return icon, "text2" if level == "none" else level


def device_pairs(target: EdgeTarget) -> list[Pair]:
    """The facts on a device's card."""
    if target.vulkan is not None:
        return _vulkan_pairs(target.vulkan)
    if target.metal is not None:
        device = target.metal
        unified = {True: "unified", False: "own", None: NOT_MEASURED}[device.unified_memory]
        return [
            ("API", "Metal", ", ".join(device.sources)),
            ("Kind", unified, "Whether CPU and GPU share the memory."),
            ("Memory", _bytes(device.memory_bytes), ""),
            (
                "Working set",
                _bytes(device.recommended_working_set_bytes),
                "What may be used without slowing down.",
            ),
            ("Family", device.architecture or NOT_MEASURED, ""),
        ]
    return [
        ("API", "none", "The reference's own device."),
        ("Kind", "CPU", ""),
        ("Memory", "system memory", ""),
        ("Subgroup", NOT_MEASURED, "A CPU has none."),
        ("Coop. matrix", NOT_MEASURED, "A CPU has none."),
    ]


def _vulkan_pairs(device: VulkanDevice) -> list[Pair]:
    heaps = "\n".join(
        f"{gib(heap.size_bytes)} GiB{' near the device' if heap.device_local else ''}"
        for heap in device.heaps
    )
    local = max((heap.size_bytes for heap in device.heaps if heap.device_local), default=None)
    shared = " shared" if device.unified_memory else ""
    memory = "system memory" if device.software else f"{_bytes(local)}{shared}"
    shapes = "\n".join(
        f"{each.m}×{each.n}×{each.k} {each.a} to {each.result}" for each in device.cooperative_matrices
    )
    driver = " ".join(filter(None, (device.driver_name, device.driver_info or device.driver_version)))
    return [
        ("API", f"Vulkan {'.'.join(device.api_version.split('.')[:2])}", driver),
        (
            "Kind",
            "software" if device.software else device.kind,
            "It computes on the CPU." if device.software else "",
        ),
        ("Memory", memory, f"All heaps:\n{heaps}"),
        (
            "Subgroup",
            NOT_MEASURED if device.subgroup_size is None else str(device.subgroup_size),
            _range(device),
        ),
        ("Coop. matrix", "yes" if shapes else "no", shapes or "Without VK_KHR_cooperative_matrix."),
    ]


def _range(device: VulkanDevice) -> str:
    least, most = device.subgroup_size_min, device.subgroup_size_max
    return "" if least is None or most is None or least == most else f"A shader may choose {least} to {most}."


def agreement_rows(result: EdgeResult) -> tuple[EvidenceRow, ...]:
    """How near the answer is to the reference, and to what it may come."""
    if not result.cases or result.id == REFERENCE:
        return ()
    agreement = result.cases[0].agreement
    level = "error" if not agreement.agrees else "none"
    return (
        EvidenceRow(
            "Max abs error",
            format_number(agreement.max_abs_error, 2),
            f"≤ {format_number(agreement.tolerance, 1)} of the largest",
            level,
        ),
        EvidenceRow(
            "Relative error",
            format_number(agreement.rel_error, 2),
            f"≤ {format_number(REL_TOLERANCE[result.precision], 1)}",
            level if (agreement.rel_error or 0) > REL_TOLERANCE[result.precision] else "none",
        ),
        EvidenceRow(
            "Argmax equal",
            NOT_MEASURED
            if agreement.argmax_agreement is None
            else format_pct(100 * agreement.argmax_agreement, 1),
            "",
        ),
        EvidenceRow(
            "NaN or infinite",
            format_count(agreement.nan_count),
            "none",
            "error" if agreement.nan_count else "none",
        ),
    )


def provider_rows(result: EdgeResult) -> tuple[EvidenceRow, ...]:
    """Who ran the nodes."""
    whole = sum(each.nodes for each in result.providers)
    return tuple(
        EvidenceRow(
            each.provider.removesuffix("ExecutionProvider"),
            format_count(each.nodes),
            f"of {format_count(whole)}",
            "none" if each.provider == result.asked_provider else "warn",
        )
        for each in result.providers
    )


def stage_pairs(result: EdgeResult) -> list[Pair]:
    """What each stage took."""
    cached = set(result.cached)
    rows = (
        ("Export", "export", result.export_s, "From PyTorch to ONNX, all lengths."),
        ("Compile", "compile", result.compile_s, "All lengths."),
        ("Load", "load", result.load_s, "Program and weights, onto the device."),
    )
    pairs = [
        (title, _seconds(value) + (" (cached)" if key in cached else ""), told)
        for title, key, value, told in rows
    ]
    no_speed = "Only a result that agrees has speeds."
    return [
        *pairs,
        ("First call", _seconds(result.first_call_s), no_speed),
        ("Warm call", _seconds(result.warm_call_s), f"The median. {no_speed}"),
        ("Reference, warm call", _seconds(result.reference_call_s), "fp32 on the CPU, the median."),
    ]


def speed_pairs(result: EdgeResult) -> list[Pair]:
    """Tokens a second at each length, of what agrees."""
    if result.state != "agrees":
        return []
    pairs: list[Pair] = []
    for case in result.cases:
        if case.tokens is None or not case.warm_calls_s:
            continue
        calls = sorted(case.warm_calls_s)
        middle = calls[len(calls) // 2]
        decode = case.case == "decode"
        title = "Decode, causal variant" if decode else f"Prefill, {format_count(case.tokens)} tokens"
        told = f"{format_count(len(calls))} warm calls, {_seconds(calls[0])} to {_seconds(calls[-1])}"
        pairs.append((title, f"{format_number(case.tokens / middle, 4)} tokens/s", told))
    return pairs


def memory_pairs(result: EdgeResult) -> list[Pair]:
    """What the weights and the process take."""
    return [
        ("Weights", _file_bytes(result.weight_bytes), ""),
        ("Copied to the device", _file_bytes(result.copied_bytes), "Before the first call."),
        ("Mapped, not copied", _file_bytes(result.mapped_bytes), "Read where the host has them."),
        ("Peak, on the device", _file_bytes(result.device_peak_bytes), "The runtime's own allocations."),
        ("Peak, this process", _file_bytes(result.peak_bytes), "Resident memory of the worker."),
    ]


def ceiling_pairs(result: EdgeResult) -> list[Pair]:
    """What the same backend reached on this device."""
    pairs = []
    for each in result.ceilings:
        if each.what == "gemm":
            told = f"A product of {each.size} x {each.size} matrices."
            pairs.append((f"Product, {each.type}", format_flop_per_s(each.per_s), told))
        else:
            told = f"{format_file_bytes(each.size)} read and written."
            pairs.append(("Copy", format_bytes_per_s(each.per_s), told))
    return pairs


def fact_pairs(result: EdgeResult) -> list[Pair]:
    """What was run, where and when."""
    stamp = time.strftime("%d %b %Y %H:%M:%S", time.localtime(result.started_ns / 1e9)).lstrip("0")
    return [
        ("Model", result.model, ""),
        ("Parameters", format_count(result.parameters), ""),
        ("Type", result.precision, ""),
        ("Tokens", format_count(result.tokens), ""),
        ("Reference", result.reference or NOT_MEASURED, ""),
        ("Run at", stamp, ""),
    ]


def why_and_what(result: EdgeResult) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """What stands behind the state, and what to do, each once."""
    whys = tuple(dict.fromkeys(each.message for each in result.problems if each.message))
    hints = tuple(dict.fromkeys(each.hint for each in result.problems if each.hint))
    return whys, hints


def result_lines(result: EdgeResult) -> list[str]:
    """All of it as text, for the clipboard."""
    lines = [f"{result.backend} on {result.device}: {state_words(result)}"]
    for pairs in (
        fact_pairs(result),
        stage_pairs(result),
        speed_pairs(result),
        memory_pairs(result),
        ceiling_pairs(result),
    ):
        lines += [f"{key}\t{value}" for key, value, _ in pairs]
    lines += [
        f"{row.what}\t{row.value}\t{row.against}" for row in (*agreement_rows(result), *provider_rows(result))
    ]
    whys, hints = why_and_what(result)
    return [*lines, *whys, *hints]


def _bytes(value: int | None) -> str:
    return format_bytes_gib(value, 1)


def _file_bytes(value: int | None) -> str:
    return NOT_MEASURED if value is None else format_file_bytes(value)


def _seconds(value_s: float | None) -> str:
    return format_duration_ns(None if value_s is None else value_s * _NS)
