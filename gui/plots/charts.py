"""The charts of a run, and how each takes its curves out of a snapshot.

``CHARTS`` is the one list. A chart may show one of several series ("Allocated",
"Reserved", ...); only those that a run has are offered.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from core.runs.snapshot import ALL_RANKS, SERIES
from core.units import format_count
from gui.plots.curves import ChartData, Curve
from gui.plots.words import with_unit

if TYPE_CHECKING:
    from core.runs.snapshot import RunSnapshot


@dataclass(frozen=True, slots=True)
class Option:
    """One series that a chart can show.

    Attributes:
        series: Name in ``RunSnapshot.series``.
        label: On the switch.
        tip: What the figure is.
    """

    series: str
    label: str
    tip: str = ""


@dataclass(frozen=True, slots=True)
class ChartSpec:
    """One chart that the page can show.

    Attributes:
        id: Stable name, kept in the settings.
        chip: Word on the chip that adds it.
        title: Over the chart.
        options: Series to choose from, the preferred one first.
        zero_based: The y axis starts at zero.
        has_log: A logarithmic axis makes sense.
        has_smooth: Noise hides the course: offer a smoothed line.
        marks_non_finite: A NaN in it was measured.
        comes_with: What brings its first point, for a chart without any.
        missing_as: Why it never got one.
    """

    id: str
    chip: str
    title: str
    options: tuple[Option, ...]
    zero_based: bool = False
    has_log: bool = False
    has_smooth: bool = False
    marks_non_finite: bool = False
    comes_with: str = ""
    missing_as: str = ""


_MEMORY = (
    Option("allocated", "Allocated", "What tensors hold, as PyTorch's allocator counts it."),
    Option(
        "reserved",
        "Reserved",
        "What PyTorch's allocator has taken from the driver: allocated and cached.",
    ),
    Option(
        "driver",
        "Driver",
        "What the driver counts for the rank's process: reserved, context, kernels.",
    ),
    Option("gpu_used", "Device", "In use on the whole GPU, other processes included."),
    Option("resident", "Resident", "Resident memory of the rank's process in the host's memory."),
)

CHARTS: tuple[ChartSpec, ...] = (
    ChartSpec(
        "memory",
        "Memory",
        "Memory per rank",
        _MEMORY,
        zero_based=True,
        comes_with="ranks report it once they have started",
        missing_as="no rank came to report it",
    ),
    ChartSpec(
        "loss",
        "Loss",
        "Loss per rank",
        (Option("loss", "Loss"),),
        has_log=True,
        has_smooth=True,
        marks_non_finite=True,
        comes_with="it comes with the first backward pass, or with a line of the log that names a loss",
        missing_as="no backward pass was seen and no line of the log names a loss",
    ),
    ChartSpec(
        "step_time",
        "Step time",
        "Step time",
        (
            Option("step_time", "Step", "Time from one optimizer step to the next."),
            Option("own_time", "Own work", "Step time less the time the rank is known to have waited."),
            Option("skew", "Skew", "Largest minus smallest step time over the ranks."),
        ),
        zero_based=True,
        comes_with="it takes two optimizer steps",
        missing_as="no rank ended two optimizer steps",
    ),
    ChartSpec(
        "grad_norm",
        "Grad norm",
        "Gradient norm",
        (Option("grad_norm", "Norm"),),
        has_log=True,
        has_smooth=True,
        marks_non_finite=True,
    ),
    ChartSpec(
        "learning_rate", "Learning rate", "Learning rate", (Option("learning_rate", "Rate"),), has_log=True
    ),
    ChartSpec(
        "utilization",
        "Utilization",
        "GPU utilization",
        (Option("utilization", "Utilization", "Share of time in which a kernel ran, as NVML says it."),),
        zero_based=True,
    ),
    ChartSpec("clocks", "Clocks", "SM clock", (Option("sm_clock", "SM clock"),)),
    ChartSpec("power", "Power", "Power", (Option("power", "Power"),), zero_based=True),
    ChartSpec("temperature", "Temperature", "Temperature", (Option("temperature", "Temperature"),)),
    ChartSpec("nvlink", "NVLink", "NVLink traffic", (Option("nvlink", "In and out"),), zero_based=True),
)

ALWAYS_OFFERED = ("memory", "loss", "step_time")
PREFERRED = ("memory", "loss", "step_time", "clocks", "grad_norm", "learning_rate")
"""Which charts a page shows by itself, as many as fit."""


def options_of(spec: ChartSpec, snapshot: RunSnapshot) -> tuple[Option, ...]:
    """The options that this run has points for; resident memory only where it is all there is."""
    found = tuple(option for option in spec.options if snapshot.series.get(option.series))
    return tuple(option for option in found if option.series != "resident") or found


def offered(snapshot: RunSnapshot) -> tuple[ChartSpec, ...]:
    """Charts with data, and those that every run gets data for."""
    return tuple(spec for spec in CHARTS if spec.id in ALWAYS_OFFERED or options_of(spec, snapshot))


def chart_data(spec: ChartSpec, option: Option, snapshot: RunSnapshot) -> ChartData:
    """Takes the curves of one chart out of a snapshot; arrays are not copied."""
    name = option.series
    curves = tuple(
        Curve(rank, series.x, series.y, series.generation)
        for rank, series in sorted(snapshot.series.get(name, {}).items())
    )
    x_name, unit = SERIES[name]
    x: Literal["step", "s"] = "s" if x_name == "s" else "step"
    return ChartData(
        name=name,
        curves=curves,
        x_name=x,
        unit=unit,
        zero_based=spec.zero_based,
        marks_non_finite=spec.marks_non_finite,
        note=skew_words(snapshot) if name == "step_time" else "",
    )


def empty_words(spec: ChartSpec, snapshot: RunSnapshot) -> str:
    """What is missing in a chart without a point, and what brings it or why it never came."""
    name = spec.title.removesuffix(" per rank")
    name = name if name[:2].isupper() else name[0].lower() + name[1:]
    what, why = (
        (f"No {name} yet", spec.comes_with) if snapshot.alive else (f"No {name} measured", spec.missing_as)
    )
    return f"{what}: {why}" if why else what


def skew_words(snapshot: RunSnapshot) -> str:
    """Skew of the newest step that all ranks have ended: "skew 1.2 ms at step 1,248"."""
    skew = snapshot.series.get("skew", {}).get(ALL_RANKS)
    if skew is None:
        return ""
    return f"skew {with_unit(float(skew.y[-1]), 'ms')} at step {format_count(round(float(skew.x[-1])))}"


def caption_of(spec: ChartSpec, option: Option, snapshot: RunSnapshot) -> str:
    """Unit and meaning of what a chart shows, beside its title."""
    if spec.id == "loss":
        sources = {rank.loss_source for rank in snapshot.ranks if rank.loss_source is not None}
        words = {"autograd": "sum of micro-losses", "log": "from log lines", "rule": "by your rule"}
        return ", ".join(words[source] for source in ("autograd", "log", "rule") if source in sources)
    if spec.id == "grad_norm":
        return "local part of each rank" if any(rank.grad_norm_partial for rank in snapshot.ranks) else ""
    unit = SERIES[option.series][1]
    if option.series == "resident":
        return f"{unit}, resident"
    return unit
