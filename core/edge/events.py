"""What a worker is asked and what it answers: one JSON object a line, ``event`` says which.

A worker is a process of its own, so that what a driver does to it is done to
nothing else. Scripts under the user's interpreter speak the same lines without
importing this module.
"""

from __future__ import annotations

from typing import Literal

import msgspec

from core.edge.models import Precision

Stage = Literal["export", "compile", "load", "run", "profile", "ceilings"]


class WorkerJob(msgspec.Struct, frozen=True, kw_only=True):
    """What a worker is asked to do; written to a file whose path is its argument."""

    backend: str
    device: str
    """Key of the target: "vulkan:0", "cpu", "mps"."""
    device_uuid: str | None = None
    """32 hex digits; tells devices apart whatever order a runtime has."""
    model_folder: str
    precision: Precision
    work_folder: str
    """Outputs and profiles go there; emptied by whoever asks."""
    cache_folder: str
    """Compiled programs are kept there, keyed by model, target and version."""
    cases: tuple[str, ...]
    """Names of ``PreparedCase``, the judged one first."""
    options: tuple[str, ...] = ()
    """For the compiler, from what was probed: a target."""
    warm_ups: int = 1
    fewest_calls: int = 3
    most_calls: int = 50
    budget_s: float = 10.0
    """Of warm calls of a case: repeats end when it is used up and ``fewest_calls`` are done."""
    profile: bool = True
    ceilings: bool = True


class Began(msgspec.Struct, frozen=True, kw_only=True, tag_field="event", tag="began"):
    """A stage begins; the words are for people."""

    stage: Stage
    words: str = ""
    case: str = ""


class Ended(msgspec.Struct, frozen=True, kw_only=True, tag_field="event", tag="ended"):
    """A stage is done."""

    stage: Stage
    seconds: float
    case: str = ""
    cached: bool = False
    """It was found in the cache: ``seconds`` says what looking took."""


class Called(msgspec.Struct, frozen=True, kw_only=True, tag_field="event", tag="called"):
    """What the calls of a case took, by the host's clock, each until the device was done."""

    case: str
    first_s: float
    warm_s: tuple[float, ...]
    output: str
    """.npz in the work folder, its arrays in the order of the reference's."""
    output_names: tuple[str, ...] = ()


class Dispatch(msgspec.Struct, frozen=True, kw_only=True):
    """One kernel that the device ran in one call of the judged case."""

    name: str
    start_ns: int
    duration_ns: int | None
    """None where the device gave no valid time."""
    workgroups: tuple[int, int, int] | None = None
    workgroup_size: tuple[int, int, int] | None = None


class Dispatched(msgspec.Struct, frozen=True, kw_only=True, tag_field="event", tag="dispatched"):
    """What the device ran in one warm call, in its order, by its own clock."""

    case: str
    dispatches: tuple[Dispatch, ...]


class ProviderCount(msgspec.Struct, frozen=True, kw_only=True):
    """How many nodes of a graph a provider ran, and which kinds of operators they were."""

    provider: str
    nodes: int
    operators: tuple[str, ...] = ()


class Provided(msgspec.Struct, frozen=True, kw_only=True, tag_field="event", tag="provided"):
    """Who really ran the nodes, read from the runtime's profile."""

    case: str
    asked: str
    """The provider that stands for the device."""
    providers: tuple[ProviderCount, ...]


class Memory(msgspec.Struct, frozen=True, kw_only=True, tag_field="event", tag="memory"):
    """Memory of the worker; None where nothing tells."""

    peak_bytes: int | None = None
    """Largest resident memory of the process."""
    device_peak_bytes: int | None = None
    """Largest sum of the runtime's own allocations on the device."""
    copied_bytes: int | None = None
    """From host to device before the first call: weights that were copied."""
    mapped_bytes: int | None = None
    """Weights that the device reads where the host has them."""


class Ceiling(msgspec.Struct, frozen=True, kw_only=True, tag_field="event", tag="ceiling"):
    """A rate that this backend reached on this device."""

    what: Literal["gemm", "copy"]
    type: str
    """Data type; "" for a copy."""
    per_s: float
    """FLOP/s, or bytes/s read and written."""
    size: int
    """Rows of the square matrix, or bytes copied."""


class Noted(msgspec.Struct, frozen=True, kw_only=True, tag_field="event", tag="noted"):
    """Something that limits the answer."""

    code: str
    message: str
    hint: str = ""
    count: int = 1


class Refused(msgspec.Struct, frozen=True, kw_only=True, tag_field="event", tag="refused"):
    """The worker cannot go on, for a reason that can be told; it ends."""

    code: str
    message: str
    hint: str


class Finished(msgspec.Struct, frozen=True, kw_only=True, tag_field="event", tag="finished"):
    """All was done; nothing comes after it."""

    backend_version: str
    device_name: str = ""
    """As the runtime itself calls the device."""


Event = Began | Ended | Called | Dispatched | Provided | Memory | Ceiling | Noted | Refused | Finished
