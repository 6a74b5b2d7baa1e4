"""What a user asks to run: the job spec, as it is kept in the manifest.

Pure data, and what its arguments say. ``core.launch.command`` turns it into an argv and an environment.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

DeviceKind = Literal["cuda", "cpu"]

MOST_RANKS = 4096
"""More ranks than this are a slip of the hand or a damaged file: everything is kept per rank."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CapturePlan:
    """A torch.profiler trace to take: which steps, on which ranks, with what.

    Attributes:
        first_step: Step at whose start the trace begins; None is the next one.
        steps: Number of steps in the trace.
        ranks: Global ranks that take it; None is all of them.
        with_stack: Record Python stacks (slower steps, larger file).
        with_memory: Record allocations.
    """

    first_step: int | None = None
    steps: int = 2
    ranks: tuple[int, ...] | None = None
    with_stack: bool = False
    with_memory: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class JobSpec:
    """One local torchrun job.

    Attributes:
        title: What the user calls it; shown, never interpreted.
        target: Path of a script, or a dotted module name if ``is_module``.
        is_module: Start ``target`` as ``python -m`` would.
        arguments: Passed to the script as they are; no shell sees them.
        interpreter: Path of the Python that runs torchrun and the ranks.
        ranks: Number of processes on this machine.
        device: What the ranks compute on. ``cpu`` hides every GPU from them.
        gpus: NVML indices ("0") or UUIDs ("GPU-...", "MIG-...") in rank order;
            None leaves CUDA_VISIBLE_DEVICES as it is.
        working_folder: Where the ranks start.
        environment: Variables set on top of the launching environment.
        profile: A capture taken without being asked for again.
        preset: Name of the preset it came from, if any.
        loss_pattern: The user's own rule for finding the loss in a log line: a
            regular expression whose first group is the number.
    """

    title: str
    target: str
    interpreter: str
    working_folder: str
    is_module: bool = False
    arguments: tuple[str, ...] = ()
    ranks: int = 1
    device: DeviceKind = "cpu"
    gpus: tuple[str, ...] | None = None
    environment: dict[str, str] = field(default_factory=dict)
    profile: CapturePlan | None = None
    preset: str | None = None
    loss_pattern: str | None = None


def flag_values(arguments: tuple[str, ...]) -> dict[str, str]:
    """Returns the script's ``--name value`` and ``--name=value`` flags; the last one of a name counts."""
    values: dict[str, str] = {}
    for place, part in enumerate(arguments):
        if not part.startswith("--"):
            continue
        name, equals, value = part[2:].partition("=")
        if equals:
            values[name] = value
        elif place + 1 < len(arguments) and not arguments[place + 1].startswith("--"):
            values[name] = arguments[place + 1]
    return values
