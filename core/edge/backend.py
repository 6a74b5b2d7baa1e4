"""What every backend offers the program: where it runs, what stands in its way, how its worker is started.

This side imports no runtime and no torch: it is asked in the window's process.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Literal, Protocol

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from core.edge.models import Precision, PreparedModel
    from core.hardware.metal import MetalDevice
    from core.hardware.vulkan import VulkanDevice

Api = Literal["Vulkan", "Metal", "CPU"]


@dataclass(frozen=True, slots=True, kw_only=True)
class EdgeTarget:
    """A device that a model can be run on.

    Attributes:
        key: "vulkan:0", "metal:0", "cpu".
        name: As its driver calls it.
        api: How it is reached.
        software: It computes on the CPU though it looks like a GPU.
        default: It is the one that is used if nobody chooses.
        vulkan: Its facts, where it is reached by Vulkan.
        metal: Its facts, where it is reached by Metal.
    """

    key: str
    name: str
    api: Api
    software: bool
    default: bool = False
    vulkan: VulkanDevice | None = None
    metal: MetalDevice | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Missing:
    """Why a backend cannot be used here, and what to do."""

    message: str
    hint: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """What the preflight found.

    Attributes:
        code: For programs.
        fatal: A run would fail or be wrong: it is not started.
        message: With figures, in one sentence.
        hint: What to do.
    """

    code: str
    fatal: bool
    message: str
    hint: str = ""


class Backend(Protocol):
    """One way to run a model.

    Class attributes:
        NAME: For the command line: "iree".
        TITLE: For people: "IREE".
        PACKAGES: Distributions that it needs, the one that names its version first.
        PRECISIONS: Those that it offers.
    """

    NAME: ClassVar[str]
    TITLE: ClassVar[str]
    PACKAGES: ClassVar[tuple[str, ...]]
    PRECISIONS: ClassVar[tuple[Precision, ...]]

    def missing(self) -> Missing | None:
        """Why it cannot be used on this machine; None if it can."""

    def version(self) -> str | None:
        """Of its first package; None where that is not installed."""

    def takes(self, target: EdgeTarget) -> bool:
        """Whether it can reach such a device."""

    def preflight(self, model: PreparedModel, target: EdgeTarget) -> Sequence[Finding]:
        """What stands in the way of this model on this device; checked before anything starts."""

    def options(self, target: EdgeTarget, precision: Precision) -> tuple[str, ...]:
        """For its worker, from what was probed of the device."""

    def worker(self, job: Path, interpreter: str) -> list[str]:
        """The command that does a ``WorkerJob``.

        Args:
            job: The file that holds it.
            interpreter: The Python of the user's jobs, for backends that run the model in torch.
        """
