"""The verdicts on the kernels of a trace by their full name, modelled below the data sheet of its device."""

from __future__ import annotations

from typing import TYPE_CHECKING

from core.roofline.ceilings import ceilings_of_device
from core.roofline.modelled import modelled_points
from core.roofline.verdict_kernels import TraceKernels
from core.roofline.verdicts import verdicts_of_points

if TYPE_CHECKING:
    from core.analyses.index import TraceIndex
    from core.roofline.ceilings import Ceilings
    from core.roofline.verdict import Verdict


def verdicts_by_kernel(index: TraceIndex) -> dict[str, Verdict]:
    """Judges every kernel of a trace.

    Raises:
        DashboardError: The user's own file of peaks is not as it should be.
    """
    points = modelled_points(index)
    names = [points.strings[text_id] for text_id in points.name_id.tolist()]
    return dict(
        zip(names, verdicts_of_points(points, ceilings_of_trace(index), TraceKernels(index)), strict=True)
    )


def ceilings_of_trace(index: TraceIndex) -> Ceilings:
    """Returns the ceilings of a trace's device, none where it has no name.

    The first device stands for all: ranks of one job run on the same kind of device.

    Raises:
        DashboardError: The user's own file of peaks is not as it should be.
    """
    device = next(iter(index.trace.facts.devices), None)
    if device is None:
        return ceilings_of_device(None)
    return ceilings_of_device(device.name, memory_bytes=device.total_memory_bytes, sm_count=device.sm_count)
