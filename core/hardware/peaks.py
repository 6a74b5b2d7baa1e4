"""What a device can do at most, by its data sheet: FLOP/s, bandwidth, L2, power, each with its source.

A device is found by the name that its driver reports, compared whole. Where
several products share a name, memory size and number of SMs tell them apart; if
they are not given or do not, the answer is None: nothing is ever guessed. The
figures come from ``resources/device_peaks.toml`` and, before those, from the
user's own ``device_peaks.toml`` in the folder of settings. Measured ceilings
are kept elsewhere. The first look-up reads the files (about 0.1 s): not for
the window's thread.
"""

from __future__ import annotations

from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Final, Literal

from core.errors import DashboardError
from core.files import RESOURCES, app_folders
from core.hardware.peaks_file import read_peaks_file

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from core.hardware.peaks_file import Basis, DeviceEntry, FigureBlock, TensorRates, VectorRates

PEAKS_FILE: Final = RESOURCES / "device_peaks.toml"
OWN_FILE_NAME: Final = "device_peaks.toml"
_own_is_left_out: ContextVar[bool] = ContextVar("own_is_left_out", default=False)
"""Of the user's own entries, in the folder of settings."""

LEAST_MEMORY, MOST_MEMORY = 0.85, 1.05
"""Share of the size sold (in GiB) that a driver may report: ECC and reserves take up to 15%."""

Unit = Literal["vector", "tensor"]
Accumulator = Literal["fp16", "fp32", "other"]


class DataType(StrEnum):
    """Types of numbers that have a peak of their own."""

    FP64 = "fp64"
    FP32 = "fp32"
    TF32 = "tf32"
    FP16 = "fp16"
    BF16 = "bf16"
    FP8 = "fp8"
    FP4 = "fp4"
    INT8 = "int8"


@dataclass(frozen=True, slots=True)
class Source:
    """Where a figure was read.

    Attributes:
        document: Its title, and who quotes it if it was not at hand.
        date: Year, or year and month: of the document, else of the launch of its
            part, else of the reading.
    """

    document: str
    date: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """One number and what is known of it.

    Attributes:
        value: In the unit that the field's name says.
        basis: "published", "computed" by arithmetic, or "measured".
        source: Where it was read.
        confirmed_by: Further listings that agree.
        doubtful: Whether it is to be used with care; ``remark`` says why.
        remark: In one sentence; "" if there is nothing to say.
        alternatives: What other documents say, in the file's order.
    """

    value: float
    basis: Basis
    source: Source
    confirmed_by: tuple[Source, ...] = ()
    doubtful: bool = False
    remark: str = ""
    alternatives: tuple[Figure, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Peak:
    """What one kind of unit does at most in one data type.

    Attributes:
        data_type: Of the inputs.
        unit: "vector" (CUDA cores and their like) or "tensor" (matrix units).
        accumulator: "fp16" or "fp32" for FP16, BF16 and FP8 on tensor units, else "other".
        dense_flop_per_s: The roof; operations/s for INT8. An FMA is two.
        sparse_flop_per_s: With 2:4 sparsity; never a roof of a dense kernel. None: not stated.
    """

    data_type: DataType
    unit: Unit
    accumulator: Accumulator
    dense_flop_per_s: Figure
    sparse_flop_per_s: Figure | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class DevicePeaks:
    """The data sheet of one product in one form.

    Attributes:
        name: Ours, unique.
        reported_names: What drivers and profilers call it.
        vendor, architecture, form: As people say them: "NVIDIA", "Hopper GH100", "SXM5".
        target: Compute capability ("9.0") or LLVM target ("gfx942"); "" if not stated.
        memory_sizes_gb: Sizes it is sold with; empty where it varies.
        sm_counts: SMs or compute units, as software may count them; empty if not stated.
        memory_bandwidth_bytes_per_s, l2_bytes, l2_bandwidth_bytes_per_s, power_w,
            boost_clock_mhz: Figures; None where not known.
        tensor_clock_mhz: Clock of the tensor peaks, where it is not the boost clock.
        peaks: One for each unit, data type and accumulator that is known.
        note: What to mind, in a sentence or two.
    """

    name: str
    reported_names: tuple[str, ...]
    vendor: str
    architecture: str
    form: str
    target: str
    memory_sizes_gb: tuple[float, ...]
    sm_counts: tuple[int, ...]
    memory_bandwidth_bytes_per_s: Figure | None
    l2_bytes: Figure | None
    l2_bandwidth_bytes_per_s: Figure | None
    power_w: Figure | None
    boost_clock_mhz: Figure | None
    tensor_clock_mhz: Figure | None
    peaks: tuple[Peak, ...]
    note: str

    def peak(self, data_type: DataType, unit: Unit, *, fp16_accumulate: bool = False) -> Peak | None:
        """The peak of a data type on a kind of unit; None if it is not known or there is none.

        ``fp16_accumulate`` asks for the rate with FP16 accumulation, which is stated only
        where it is another one (GeForce, Orin); torch accumulates in FP32.
        """
        for peak in self.peaks:
            wanted = (peak.accumulator == "fp16") == fp16_accumulate
            if peak.data_type is data_type and peak.unit == unit and wanted:
                return peak
        return None


def find_device(
    name: str, *, memory_bytes: int | None = None, sm_count: int | None = None
) -> DevicePeaks | None:
    """Finds a device by the name that CUDA, HIP, NVML, Nsight Compute or a trace reports.

    Letter case, repeated spaces and a leading "NVIDIA " (drivers before R470 leave it
    out) do not count; all else does, so "RTX 4090 Laptop GPU" is not "RTX 4090".

    Args:
        name: As reported.
        memory_bytes: The device's total memory as reported, if known.
        sm_count: SMs or compute units as reported, if known.

    Returns:
        The device, with the user's own figures before the data sheets'. None if the name
        is unknown, if memory or SMs contradict every product of that name, or if
        several products remain (``devices_named`` lists them).

    Raises:
        DashboardError: The user's own file is not as it should be.
    """
    own = _only(_matching(_own_devices(), name, memory_bytes, sm_count))
    shipped = _only(_matching(shipped_devices(), name, memory_bytes, sm_count))
    if own is None or shipped is None:
        return own or shipped
    return _own_first(own, shipped)


def devices_named(name: str) -> tuple[DevicePeaks, ...]:
    """All products that report a name, the user's own first; for asking which one it is.

    Raises:
        DashboardError: The user's own file is not as it should be.
    """
    return (*_matching(_own_devices(), name, None, None), *_matching(shipped_devices(), name, None, None))


@cache
def shipped_devices() -> tuple[DevicePeaks, ...]:
    """All devices of the file that comes with the program; read at the first call."""
    return read_devices(PEAKS_FILE)


def read_devices(path: Path) -> tuple[DevicePeaks, ...]:
    """Reads the devices of a peaks file.

    Raises:
        DashboardError: It is not as it should be; the message names line and field.
    """
    content = read_peaks_file(path)
    sources = {key: Source(text.document, text.date) for key, text in content.sources.items()}
    return tuple(_device_of(entry, sources) for entry in content.device)


@contextmanager
def without_broken_own_file() -> Iterator[DashboardError | None]:
    """Goes on with the shipped devices within where the user's own file is not as it should be.

    Yields:
        What is wrong with it, None if nothing is.
    """
    problem = None
    try:
        _own_devices()
    except DashboardError as error:
        problem = error
    token = _own_is_left_out.set(problem is not None)
    try:
        yield problem
    finally:
        _own_is_left_out.reset(token)


def _own_devices() -> tuple[DevicePeaks, ...]:
    if _own_is_left_out.get():
        return ()
    path = app_folders().config / OWN_FILE_NAME
    try:
        state = path.stat()
    except OSError:
        return ()
    return _read_own(path, state.st_mtime_ns, state.st_size)


@lru_cache(maxsize=1)
def _read_own(path: Path, _changed_ns: int, _size_bytes: int) -> tuple[DevicePeaks, ...]:
    """Reads the user's file anew only after it has changed."""
    return read_devices(path)


def _plain(name: str) -> str:
    return " ".join(name.split()).casefold().removeprefix("nvidia ")


def _matching(
    devices: Iterable[DevicePeaks], name: str, memory_bytes: int | None, sm_count: int | None
) -> tuple[DevicePeaks, ...]:
    wanted = _plain(name)
    return tuple(
        device
        for device in devices
        if wanted in map(_plain, (device.name, *device.reported_names))
        and (sm_count is None or not device.sm_counts or sm_count in device.sm_counts)
        and (
            memory_bytes is None or not device.memory_sizes_gb or _fits(memory_bytes, device.memory_sizes_gb)
        )
    )


def _fits(memory_bytes: int | None, sizes_gb: tuple[float, ...]) -> bool:
    if memory_bytes is None or not sizes_gb:
        return True
    return any(LEAST_MEMORY <= memory_bytes / (size * 2**30) <= MOST_MEMORY for size in sizes_gb)


def _only(devices: tuple[DevicePeaks, ...]) -> DevicePeaks | None:
    return devices[0] if len(devices) == 1 else None


def _vector_rates(rates: VectorRates) -> dict[DataType, float | None]:
    return {DataType.FP64: rates.fp64, DataType.FP32: rates.fp32, DataType.FP16: rates.fp16}


def _tensor_rates(rates: TensorRates) -> dict[tuple[DataType, Accumulator], float | None]:
    return {
        (DataType.FP64, "other"): rates.fp64,
        (DataType.TF32, "other"): rates.tf32,
        (DataType.FP16, "fp32"): rates.fp16,
        (DataType.FP16, "fp16"): rates.fp16_acc16,
        (DataType.BF16, "fp32"): rates.bf16,
        (DataType.FP8, "fp32"): rates.fp8,
        (DataType.FP8, "fp16"): rates.fp8_acc16,
        (DataType.FP4, "other"): rates.fp4,
        (DataType.INT8, "other"): rates.int8,
    }


def _device_of(entry: DeviceEntry, sources: dict[str, Source]) -> DevicePeaks:
    def figure(stated: Iterable[float | None], factor: float = 1.0) -> Figure | None:
        return _figure(entry.figures, stated, sources, factor)

    blocks = entry.figures
    return DevicePeaks(
        name=entry.name,
        reported_names=entry.names or (entry.name,),
        vendor=entry.vendor,
        architecture=entry.architecture,
        form=entry.form,
        target=entry.target,
        memory_sizes_gb=entry.memory_gb,
        sm_counts=entry.sm_counts,
        memory_bandwidth_bytes_per_s=figure((block.memory_bandwidth_gb_per_s for block in blocks), 1e9),
        l2_bytes=figure((block.l2_mb for block in blocks), 2.0**20),
        l2_bandwidth_bytes_per_s=figure((block.l2_bandwidth_gb_per_s for block in blocks), 1e9),
        power_w=figure(block.power_w for block in blocks),
        boost_clock_mhz=figure(block.boost_clock_mhz for block in blocks),
        tensor_clock_mhz=figure(block.tensor_clock_mhz for block in blocks),
        peaks=(*_vector_peaks(blocks, sources), *_tensor_peaks(blocks, sources)),
        note=entry.note,
    )


def _vector_peaks(blocks: tuple[FigureBlock, ...], sources: dict[str, Source]) -> Iterator[Peak]:
    stated = [_vector_rates(block.vector_tflop_per_s) for block in blocks]
    for data_type in stated[0] if stated else ():
        dense = _figure(blocks, (rates[data_type] for rates in stated), sources, 1e12)
        if dense is not None:
            yield Peak(data_type=data_type, unit="vector", accumulator="other", dense_flop_per_s=dense)


def _tensor_peaks(blocks: tuple[FigureBlock, ...], sources: dict[str, Source]) -> Iterator[Peak]:
    stated = [_tensor_rates(block.tensor_tflop_per_s) for block in blocks]
    extra = [_tensor_rates(block.sparse_tflop_per_s) for block in blocks]
    for key in stated[0] if stated else ():
        dense = _figure(blocks, (rates[key] for rates in stated), sources, 1e12)
        if dense is not None:
            yield Peak(
                data_type=key[0],
                unit="tensor",
                accumulator=key[1],
                dense_flop_per_s=dense,
                sparse_flop_per_s=_figure(blocks, (rates[key] for rates in extra), sources, 1e12),
            )


def _figure(
    blocks: Iterable[FigureBlock], stated: Iterable[float | None], sources: dict[str, Source], factor: float
) -> Figure | None:
    """The figure that the first block gives, with those of later blocks as alternatives.

    ``stated`` is what each of the blocks says, in the file's unit; ``factor`` makes it ours.
    """
    found = [
        Figure(
            value=value * factor,
            basis=block.basis,
            source=_source_of(block, sources),
            confirmed_by=tuple(sources[key] for key in block.confirmed_by),
            doubtful=block.doubtful,
            remark=block.remark,
        )
        for block, value in zip(blocks, stated, strict=True)
        if value is not None
    ]
    return replace(found[0], alternatives=tuple(found[1:])) if found else None


def _source_of(block: FigureBlock, sources: dict[str, Source]) -> Source:
    if block.source is not None:
        return sources[block.source]
    return Source(block.document or "", block.date or "")


def _own_first(own: DevicePeaks, shipped: DevicePeaks) -> DevicePeaks:
    """The shipped device with the user's figures in front; what they replace stays as an alternative."""
    peaks = {(peak.data_type, peak.unit, peak.accumulator): peak for peak in shipped.peaks}
    for peak in own.peaks:
        key = (peak.data_type, peak.unit, peak.accumulator)
        peaks[key] = _peak_over(peak, peaks.get(key))
    return replace(
        shipped,
        memory_bandwidth_bytes_per_s=_over(
            own.memory_bandwidth_bytes_per_s, shipped.memory_bandwidth_bytes_per_s
        ),
        l2_bytes=_over(own.l2_bytes, shipped.l2_bytes),
        l2_bandwidth_bytes_per_s=_over(own.l2_bandwidth_bytes_per_s, shipped.l2_bandwidth_bytes_per_s),
        power_w=_over(own.power_w, shipped.power_w),
        boost_clock_mhz=_over(own.boost_clock_mhz, shipped.boost_clock_mhz),
        tensor_clock_mhz=_over(own.tensor_clock_mhz, shipped.tensor_clock_mhz),
        peaks=tuple(peaks.values()),
        note=own.note or shipped.note,
    )


def _peak_over(own: Peak, shipped: Peak | None) -> Peak:
    """The user's peak; a sparse figure of the data sheet does not belong to the user's dense one."""
    if shipped is None:
        return own
    before = shipped.dense_flop_per_s
    return replace(own, dense_flop_per_s=_in_front(own.dense_flop_per_s, before))


def _over(own: Figure | None, shipped: Figure | None) -> Figure | None:
    if own is None or shipped is None:
        return own or shipped
    return _in_front(own, shipped)


def _in_front(own: Figure, shipped: Figure) -> Figure:
    others = (*own.alternatives, replace(shipped, alternatives=()), *shipped.alternatives)
    return replace(own, alternatives=others)
