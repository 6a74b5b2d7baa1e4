"""What a device can do at most: ceilings of work and of traffic, each with where it comes from.

A data sheet, the counters of a report (at the clock during profiling) and a
measurement on this machine give other figures for the same ceiling. None
replaces another: the plot shows which it draws. A roof takes both its lines from
one of them.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum
from typing import TYPE_CHECKING, Final, NamedTuple, TypeVar

from core.analyses.ncu_counters import Counters
from core.analyses.ncu_roofline import PRECISIONS, peak_traffic, peak_work
from core.analyses.ncu_tensor import tensor_peaks
from core.hardware.peaks import DevicePeaks, devices_named, find_device, shipped_devices
from core.roofline.points import LEVEL_TITLES, LEVELS, WorkType
from core.tables.ncu_terms import SM_CYCLES_PER_S
from core.units import format_bytes_per_s, format_flop_per_s, format_number

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from core.analyses.ncu_roofline import Level
    from core.hardware.peaks import Figure, Peak
    from core.roofline.points import PointTable
    from core.tables.columns import Float64
    from core.tables.ncu import Report


class CeilingOrigin(StrEnum):
    """Where a ceiling comes from."""

    DATA_SHEET = "data sheet"
    PROFILED = "profiled clock"
    MEASURED = "measured here"
    OWN = "own entry"


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkCeiling:
    """The most operations a second of one type.

    Attributes:
        work_type: Of the operations.
        flop_per_s: Dense, unless ``is_sparse``.
        is_sparse: Whether it counts 2:4 sparsity: shown as an extra, never the roof of a kernel.
        is_fp16_accumulate: Whether sums are FP16 too, where that is faster (GeForce): an extra as well.
        origin: Where it comes from.
        source: In words: document and date, or file and clock.
        remark: What to mind, "".
    """

    work_type: WorkType
    flop_per_s: float
    is_sparse: bool = False
    is_fp16_accumulate: bool = False
    origin: CeilingOrigin
    source: str
    remark: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class TrafficCeiling:
    """The most bytes a second of one level of memory; further fields as in ``WorkCeiling``."""

    level: Level
    bytes_per_s: float
    origin: CeilingOrigin
    source: str
    remark: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ceilings:
    """All ceilings of one device.

    Attributes:
        device: Its name, as reported.
        work: In any order; several of one type differ in origin.
        traffic: The same.
        note: In one sentence, why there are none or what to mind; "".
    """

    device: str
    work: tuple[WorkCeiling, ...] = ()
    traffic: tuple[TrafficCeiling, ...] = ()
    note: str = ""


ROOF_ORIGINS: Final = (
    CeilingOrigin.OWN,
    CeilingOrigin.DATA_SHEET,
    CeilingOrigin.MEASURED,
    CeilingOrigin.PROFILED,
)
"""Which ceilings make the roof of a kernel, the first that there is of a type and level."""

SCALAR_WORK: Final[dict[str, WorkType]] = {
    "fp64": WorkType.FP64,
    "fp32": WorkType.FP32,
    "fp16": WorkType.FP16,
    "bf16": WorkType.BF16,
}
"""Work of scalar units by ``Precision`` or ``DataType``."""

TENSOR_WORK: Final[dict[str, WorkType]] = {
    "fp64": WorkType.FP64_TENSOR,
    "tf32": WorkType.TF32_TENSOR,
    "fp16": WorkType.FP16_TENSOR,
    "bf16": WorkType.BF16_TENSOR,
    "fp8": WorkType.FP8_TENSOR,
    "fp4": WorkType.FP4_TENSOR,
    "int8": WorkType.INT8_TENSOR,
    "other": WorkType.OTHER_TENSOR,
}
"""Work of tensor cores by ``TensorType`` or ``DataType``."""


_Ceiling = TypeVar("_Ceiling", WorkCeiling, TrafficCeiling)

_TOLERANCE: Final = 1.01
"""Clocks vary by this much: a point counts as above a ceiling from here on."""


class RidgePoint(NamedTuple):
    """Where a roof bends: below this intensity the memory is the limit."""

    intensity: float
    flop_per_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class AboveRoof:
    """A ceiling that a point lies above, which cannot be.

    Attributes:
        row: Of the points.
        times: What it reaches, as a multiple of the ceiling: 4.4.
        text: What to say: "4.4 times the BF16 tensor ceiling of 312 TFLOP/s (data sheet)".
    """

    row: int
    times: float
    text: str


def ceilings_of_device(
    device: DevicePeaks | str | None, *, memory_bytes: int | None = None, sm_count: int | None = None
) -> Ceilings:
    """Returns the ceilings of a data sheet and of the user's own entries; nothing is guessed.

    Reads the files of peaks at the first call: not for the window's thread.

    Args:
        device: A device, or the name that its driver reports; None where a file does not say.
        memory_bytes: The device's total memory as reported, if known.
        sm_count: Its multiprocessors as reported, if known.

    Raises:
        DashboardError: The user's own file of peaks is not as it should be.
    """
    if device is None:
        return Ceilings(device="", note="The file does not name its device: no data sheet can be found.")
    if isinstance(device, DevicePeaks):
        return _of_sheet(device.name, device)
    found = find_device(device, memory_bytes=memory_bytes, sm_count=sm_count)
    if found is not None:
        return _of_sheet(device, found)
    return Ceilings(device=device, note=_why_none(device, sm_count))


def _why_none(name: str, sm_count: int | None) -> str:
    """Returns why a name has no data sheet."""
    several = devices_named(name)
    if not several:
        return "No data sheet is known for it: measure its ceilings, or enter figures of your own."
    if len(several) > 1:
        return f"Several products have this name: {', '.join(each.name for each in several)}."
    counts = " or ".join(map(str, several[0].sm_counts))
    if sm_count is not None and counts and sm_count not in several[0].sm_counts:
        return f"The data sheet of this name is of a device with {counts} SMs, and this one has {sm_count}."
    return "The data sheet of this name is of a device with another size of memory."


def ceilings_of_report(report: Report, launch_row: int) -> Ceilings:
    """Returns the ceilings of the device of a launch, at the clock during its profiling."""
    counters = Counters(report, launch_row)
    device = report.device_of(launch_row)
    name = (device.name if device else None) or ""
    clock = _one(counters.number(SM_CYCLES_PER_S))
    if clock is None:
        return Ceilings(device=name, note="Peak rates were not collected: run ncu --set roofline.")
    ghz = f"SM clock {format_number(clock / 1e9, 4)} GHz"
    source = f"{report.name}, {ghz}"
    work = tuple(
        WorkCeiling(
            work_type=kind,
            flop_per_s=rate,
            is_sparse=is_sparse,
            origin=CeilingOrigin.PROFILED,
            source=source,
        )
        for (kind, is_sparse), peak in profiled_work(counters).items()
        if (rate := _one(peak)) is not None
    )
    traffic = tuple(
        TrafficCeiling(level=level, bytes_per_s=rate, origin=CeilingOrigin.PROFILED, source=source)
        for level in LEVELS
        if (rate := _one(peak_traffic(counters, level))) is not None
    )
    note = f"At the clocks during profiling ({ghz}), which ncu locks to the base clock unless told otherwise."
    if not work and not traffic:
        note = "Peak rates were not collected: run ncu --set roofline."
    return Ceilings(device=name, work=work, traffic=traffic, note=note)


def profiled_work(counters: Counters) -> dict[tuple[WorkType, bool], Float64]:
    """Returns the most operations a second at the clock during profiling, of many launches.

    Returns:
        By type of work, and whether it counts 2:4 sparsity: (n,) float64, NaN where not measured.
    """
    scalar = {(SCALAR_WORK[each], False): peak_work(counters, each) for each in PRECISIONS}
    # What mixes types, as 1-bit and 4-bit integers, has no ceiling that is one.
    tensor = {
        (TENSOR_WORK[kind], is_sparse): peak
        for kind, is_sparse, peak in tensor_peaks(counters)
        if kind != "other"
    }
    return scalar | tensor


def joined(*several: Ceilings) -> Ceilings:
    """Returns the ceilings of one device from several origins as one; its name is the first given."""
    return Ceilings(
        device=next((each.device for each in several if each.device), ""),
        work=tuple(ceiling for each in several for ceiling in each.work),
        traffic=tuple(ceiling for each in several for ceiling in each.traffic),
        note=" ".join(dict.fromkeys(each.note for each in several if each.note)),
    )


def work_ceiling(ceilings: Ceilings, work_type: WorkType, origin: CeilingOrigin) -> WorkCeiling | None:
    """Returns the dense ceiling of a type of work from one origin, None if there is none."""
    return next(
        (
            each
            for each in ceilings.work
            if each.work_type == work_type
            and each.origin is origin
            and not each.is_sparse
            and not each.is_fp16_accumulate
        ),
        None,
    )


def traffic_ceiling(ceilings: Ceilings, level: Level, origin: CeilingOrigin) -> TrafficCeiling | None:
    """Returns the ceiling of a level of memory from one origin, None if there is none."""
    return next((each for each in ceilings.traffic if each.level == level and each.origin is origin), None)


def roof_lines(
    ceilings: Ceilings,
    work_type: WorkType,
    level: Level = "dram",
    origins: tuple[CeilingOrigin, ...] = ROOF_ORIGINS,
) -> tuple[WorkCeiling, TrafficCeiling] | None:
    """Returns the two lines of a roof, both from the first origin that has both; None if none has."""
    for origin in origins:
        work, traffic = work_ceiling(ceilings, work_type, origin), traffic_ceiling(ceilings, level, origin)
        if work is not None and traffic is not None:
            return work, traffic
    return None


def roof_flop_per_s(
    ceilings: Ceilings,
    work_type: WorkType,
    level: Level,
    intensity: float,
    origins: tuple[CeilingOrigin, ...] = ROOF_ORIGINS,
) -> float | None:
    """Returns the most that work of this type and intensity (FLOP/B at the level) can reach.

    None where either line is not known: half a roof would flatter every point.
    """
    lines = roof_lines(ceilings, work_type, level, origins)
    return None if lines is None else min(lines[0].flop_per_s, lines[1].bytes_per_s * intensity)


def ridge_point(
    ceilings: Ceilings,
    work_type: WorkType,
    level: Level = "dram",
    origins: tuple[CeilingOrigin, ...] = ROOF_ORIGINS,
) -> RidgePoint | None:
    """Returns where the roof of a type of work bends, None where either line is not known."""
    lines = roof_lines(ceilings, work_type, level, origins)
    if lines is None:
        return None
    work, traffic = lines
    return RidgePoint(work.flop_per_s / traffic.bytes_per_s, work.flop_per_s)


def above_roof(points: PointTable, row: int, ceilings: Ceilings) -> AboveRoof | None:
    """Tells whether a point lies above a ceiling of its device, which cannot be; the worst one is told.

    Every dense ceiling counts, also that of sums in FP16; what only 2:4 sparsity would allow is said so.
    """
    duration_s = float(points.sum_ns[row]) / 1e9
    if duration_s <= 0:
        return None
    work_type = WorkType(int(points.work_type[row]))
    found = [_above_work(row, work_type, float(points.flop[row]) / duration_s, ceilings)]
    for place, level in enumerate(LEVELS):
        moved_per_s = float(points.moved_bytes[row, place]) / duration_s
        found.append(_above_traffic(row, level, moved_per_s, ceilings))
    known = [each for each in found if each is not None]
    return max(known, key=lambda each: each.times, default=None)


def _above_work(row: int, work_type: WorkType, rate: float, ceilings: Ceilings) -> AboveRoof | None:
    of_type = [each for each in ceilings.work if each.work_type == work_type]
    dense = _first_origin([each for each in of_type if not each.is_sparse])
    if not dense:
        return None
    most = max(dense, key=lambda each: each.flop_per_s)
    if not rate > most.flop_per_s * _TOLERANCE:
        return None
    times = rate / most.flop_per_s
    text = (
        f"{format_number(times, 3)} times the {work_type.title} ceiling of "
        f"{format_flop_per_s(most.flop_per_s)} ({most.origin.value})"
    )
    is_sparse = any(rate <= each.flop_per_s * _TOLERANCE for each in of_type if each.is_sparse)
    return AboveRoof(row=row, times=times, text=f"{text}; 2:4 sparsity would allow it" if is_sparse else text)


def _above_traffic(row: int, level: Level, rate: float, ceilings: Ceilings) -> AboveRoof | None:
    limits = _first_origin([each for each in ceilings.traffic if each.level == level])
    if not limits or not rate > limits[0].bytes_per_s * _TOLERANCE:
        return None
    times = rate / limits[0].bytes_per_s
    limit = f"{format_bytes_per_s(limits[0].bytes_per_s)} ({limits[0].origin.value})"
    text = f"{format_number(times, 3)} times the {LEVEL_TITLES[level]} ceiling of {limit}"
    return AboveRoof(row=row, times=times, text=text)


def _first_origin(ceilings: list[_Ceiling]) -> list[_Ceiling]:
    """Returns those of the first origin of ``ROOF_ORIGINS`` that has any."""
    for origin in ROOF_ORIGINS:
        found = [each for each in ceilings if each.origin is origin]
        if found:
            return found
    return []


def _of_sheet(name: str, device: DevicePeaks) -> Ceilings:
    shipped = next((each for each in shipped_devices() if each.name == device.name), None)
    known = set() if shipped is None else set(_figures(shipped))
    work = tuple(each for peak in device.peaks for each in _work_ceilings(peak, known))
    levels: tuple[tuple[Level, Figure | None], ...] = (
        ("dram", device.memory_bandwidth_bytes_per_s),
        ("l2", device.l2_bandwidth_bytes_per_s),
    )
    traffic = tuple(
        TrafficCeiling(
            level=level,
            bytes_per_s=figure.value,
            origin=_origin(figure, known),
            source=_source(figure),
            remark=_remark(figure, format_bytes_per_s),
        )
        for level, figure in levels
        if figure is not None
    )
    return Ceilings(device=name, work=work, traffic=traffic, note=device.note)


def _work_ceilings(peak: Peak, known: set[Figure]) -> Iterator[WorkCeiling]:
    types = SCALAR_WORK if peak.unit == "vector" else TENSOR_WORK
    work_type = types.get(peak.data_type)
    if work_type is None:
        return
    for figure, is_sparse in ((peak.dense_flop_per_s, False), (peak.sparse_flop_per_s, True)):
        if figure is not None:
            yield WorkCeiling(
                work_type=work_type,
                flop_per_s=figure.value,
                is_sparse=is_sparse,
                is_fp16_accumulate=peak.accumulator == "fp16",
                origin=_origin(figure, known),
                source=_source(figure),
                remark=_remark(figure, format_flop_per_s),
            )


def _figures(device: DevicePeaks) -> Iterator[Figure]:
    """Yields the figures of a data sheet that ceilings are made of, without what other documents say."""
    figures = [device.memory_bandwidth_bytes_per_s, device.l2_bandwidth_bytes_per_s]
    figures += [each for peak in device.peaks for each in (peak.dense_flop_per_s, peak.sparse_flop_per_s)]
    yield from (replace(each, alternatives=()) for each in figures if each is not None)


def _origin(figure: Figure, known: set[Figure]) -> CeilingOrigin:
    """Returns whose figure it is: one that the shipped file does not have is the user's."""
    return CeilingOrigin.DATA_SHEET if replace(figure, alternatives=()) in known else CeilingOrigin.OWN


def _source(figure: Figure) -> str:
    return ", ".join(filter(None, [figure.source.document, figure.source.date]))


def _remark(figure: Figure, shown: Callable[[float], str]) -> str:
    """Returns what is known of a figure beside its source, in sentences."""
    how = f"It was {figure.basis}, not published." if figure.basis != "published" else ""
    doubt = "It is doubtful." if figure.doubtful and not figure.remark else ""
    others = [f"{shown(each.value)} by {_source(each)}" for each in figure.alternatives]
    also = f"Other documents say {'; '.join(others)}." if others else ""
    return " ".join(filter(None, [figure.remark, how, doubt, also]))


def _one(values: Float64) -> float | None:
    """Returns the value of the only launch; None where it was not measured, or is no rate."""
    value = float(values[0])
    return value if value > 0 else None
