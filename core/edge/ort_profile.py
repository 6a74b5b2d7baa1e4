"""Reads what ONNX Runtime's own profile says: who ran each node, and what the device's clock says of kernels.

Source: ONNX Runtime 1.27, a JSON array of Chrome trace events. "Node" events that end
in "_kernel_time" name the provider and the kind of operator in ``args``. The WebGPU
provider adds "Api" events, a kernel each, named "node&operator&program", with start
and duration by timestamp queries of the device, rounded to microseconds; an adapter
without such queries adds none.
"""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Final

import msgspec

from core.edge.events import Dispatch, ProviderCount
from core.errors import DashboardError
from core.files import printable

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

WEBGPU: Final = "WebGpuExecutionProvider"
CPU: Final = "CPUExecutionProvider"


class _Args(msgspec.Struct):
    provider: str = ""
    op_name: str = ""
    node_index: str = ""


class ProfileEvent(msgspec.Struct):
    """An event of the profile, as far as it is read."""

    cat: str = ""
    name: str = ""
    ts: float = 0.0
    dur: float = 0.0
    args: _Args = msgspec.field(default_factory=_Args)


def read_profile(path: Path) -> list[ProfileEvent]:
    """Reads a profile.

    Raises:
        DashboardError: It is none.
    """
    try:
        return msgspec.json.decode(path.read_bytes(), type=list[ProfileEvent])
    except (OSError, msgspec.DecodeError) as error:
        raise DashboardError(
            f"ONNX Runtime's profile cannot be read: {printable(str(error))}.",
            "Nothing is known of who ran the model.",
        ) from error


def providers_of(events: Sequence[ProfileEvent]) -> tuple[ProviderCount, ...]:
    """Counts the nodes of each provider, however often they ran; most first."""
    kinds: dict[str, dict[tuple[str, str], str]] = defaultdict(dict)
    for event in events:
        if event.cat == "Node" and event.args.provider and event.name.endswith("_kernel_time"):
            kinds[event.args.provider][event.args.node_index, event.name] = event.args.op_name
    counts = [
        ProviderCount(provider=name, nodes=len(nodes), operators=tuple(sorted(set(nodes.values()))))
        for name, nodes in kinds.items()
    ]
    return tuple(sorted(counts, key=lambda each: -each.nodes))


def last_call(events: Sequence[ProfileEvent], calls: int) -> tuple[Dispatch, ...]:
    """The kernels of the last call of several, by the device's clock; empty if calls cannot be told apart.

    Args:
        events: Of a profile of at least two calls.
        calls: How many. The first may have kernels more, which prepare weights.
    """
    kernels = [event for event in events if event.cat == "Api" and event.name.count("&") >= 2]
    names = [event.name for event in kernels]
    size = next(
        (size for size in range(len(names) // calls, 0, -1) if names[-size:] == names[-2 * size : -size]), 0
    )
    if not size:
        return ()
    last = kernels[-size:]
    start_us = min(event.ts for event in last)
    return tuple(
        Dispatch(
            # The operator and the program: the node's own name is another for each.
            name=" ".join(event.name.split("&")[1:]),
            start_ns=round((event.ts - start_us) * 1000),
            # A duration of 0 is below what the profile writes, and a negative one is none.
            duration_ns=round(event.dur * 1000) if event.dur > 0 else None,
        )
        for event in last
    )
