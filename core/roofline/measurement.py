"""Ceilings that were measured on this machine: what is kept of them, and how they become ceilings.

One file in the user's data folder, by machine and device: a data folder may be
shared by several machines. How they are measured is in ``core.launch.ceiling_measurement``.
"""

from __future__ import annotations

import json
import math
import platform
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final

import msgspec

from core.errors import DashboardError
from core.files import app_folders, ensure_private_folder, printable, read_bytes_limited, write_atomic
from core.roofline.ceilings import CeilingOrigin, Ceilings, TrafficCeiling, WorkCeiling
from core.roofline.points import WorkType
from core.units import format_bytes_per_s, format_file_bytes, format_flop_per_s

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

FILE: Final = "measured_ceilings.json"
SCHEMA_VERSION: Final = 1
COPY: Final = "copy"
MOST_PER_S: Final = 1e18
"""Above it no device is: a rate beyond was no measurement."""

_LIMIT_BYTES: Final = 4 * 2**20
_NS_PER_S: Final = 1_000_000_000
_MOST_NS: Final = 253_402_300_799 * _NS_PER_S
_PLAIN: Final = {
    "fp64": WorkType.FP64,
    "fp32": WorkType.FP32,
    "fp16": WorkType.FP16,
    "bf16": WorkType.BF16,
}
_TENSOR: Final = {
    "tf32": WorkType.TF32_TENSOR,
    "fp16": WorkType.FP16_TENSOR,
    "bf16": WorkType.BF16_TENSOR,
    "fp8": WorkType.FP8_TENSOR,
}
# Compute capabilities, as (major, minor), whose FP64 products run on tensor cores.
# Source: CUDA C++ Programming Guide 13.0, "Compute Capabilities", technical specifications.
_FP64_TENSOR: Final = frozenset({(8, 0), (9, 0), (10, 0)})
_FIRST_TENSOR: Final = (7, 0)


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasuredRate:
    """What was reached with one data type, or by a copy.

    Attributes:
        type: "fp32", "tf32", ... of a product; "copy".
        size: Of the square matrices; of a copy its bytes.
        repeats: How often it was measured.
        best_per_s, median_per_s: FLOP/s; of a copy bytes/s, read and written together.
    """

    type: str
    size: int
    repeats: int
    best_per_s: float
    median_per_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Measurement:
    """One device of one machine, measured once.

    Attributes:
        device: Name that its driver reports.
        kind: "cuda", "mps" or "cpu".
        capability: Compute capability of an NVIDIA GPU as (major, minor), else (0, 0).
        torch: Version of PyTorch that measured.
        measured_ns: Since the epoch.
        rates: Of what could be measured.
        refused: (type, why not) of the rest.
    """

    device: str
    kind: str
    capability: tuple[int, int]
    torch: str
    measured_ns: int
    rates: tuple[MeasuredRate, ...]
    refused: tuple[tuple[str, str], ...] = ()


def ceilings_measured(device: str) -> Ceilings | None:
    """Returns the ceilings that were measured of a device on this machine, None if none were.

    Reads a file: not for the window's thread. A file that is damaged counts as none.

    Args:
        device: Name that its driver reports.
    """
    found = measurement_of(device)
    return None if found is None else as_ceilings(found)


def measurement_of(device: str) -> Measurement | None:
    """Returns what was measured of a device on this machine last, None if nothing was."""
    try:
        stored = _read(_path())["machines"][platform.node()][device]
        return msgspec.convert(stored, Measurement)
    except (KeyError, TypeError, msgspec.ValidationError):
        return None


def keep_measurement(measurement: Measurement) -> None:
    """Keeps a measurement, in place of an older one of the device on this machine.

    Raises:
        DashboardError: It cannot be written, or the file is of a newer Ridgeline.
    """
    path = _path()
    whole = _read(path)
    schema = whole.get("schema", SCHEMA_VERSION)
    if schema != SCHEMA_VERSION:
        raise DashboardError(
            f"The measured ceilings on this machine were written by another Ridgeline (layout {schema}).",
            "Update Ridgeline to measure again.",
        )
    machines = whole.get("machines")
    machines = machines if isinstance(machines, dict) else {}
    own = machines.get(platform.node())
    machines[platform.node()] = (own if isinstance(own, dict) else {}) | {
        measurement.device: asdict(measurement)
    }
    ensure_private_folder(path.parent)
    text = json.dumps({"schema": SCHEMA_VERSION, "machines": machines}, indent=1)
    try:
        write_atomic(path, text.encode("utf-8") + b"\n")
    except OSError as error:
        raise DashboardError(
            f"{printable(str(path))} cannot be written: {error.strerror or error}.",
            "Check its permissions and free space.",
        ) from error


def as_ceilings(measurement: Measurement) -> Ceilings:
    """Returns a measurement as ceilings: the best of its repeats; rates that cannot be are left out."""
    work, traffic = [], []
    for rate in measurement.rates:
        if not is_plausible(rate):
            continue
        source = f"PyTorch {measurement.torch}, {_date(measurement.measured_ns)}"
        if rate.type == COPY:
            traffic.append(
                TrafficCeiling(
                    level="dram",
                    bytes_per_s=rate.best_per_s,
                    origin=CeilingOrigin.MEASURED,
                    source=f"Copy of {format_file_bytes(rate.size)}, {source}",
                    remark=_remark(rate, format_bytes_per_s(rate.median_per_s)),
                )
            )
        for work_type in _work_types(measurement, rate.type):
            work.append(
                WorkCeiling(
                    work_type=work_type,
                    flop_per_s=rate.best_per_s,
                    origin=CeilingOrigin.MEASURED,
                    source=f"Product of {rate.size} × {rate.size} matrices, {source}",
                    remark=_remark(rate, format_flop_per_s(rate.median_per_s)),
                )
            )
    return Ceilings(device=measurement.device, work=tuple(work), traffic=tuple(traffic))


def is_plausible(rate: MeasuredRate) -> bool:
    """Tells whether a rate can have been measured."""
    rates = (rate.median_per_s, rate.best_per_s)
    return all(math.isfinite(each) and 0 < each <= MOST_PER_S for each in rates) and rates[0] <= rates[1]


def _work_types(measurement: Measurement, data_type: str) -> Iterator[WorkType]:
    """Yields the type of work that a product of a data type is on a device."""
    capability = measurement.capability
    if measurement.kind == "cuda" and capability >= _FIRST_TENSOR and data_type in _TENSOR:
        # BF16 came to tensor cores with 8.0; before it is computed in FP32, which is no ceiling of BF16.
        if data_type == "fp16" or capability >= (8, 0):
            yield _TENSOR[data_type]
    elif data_type == "fp64" and capability in _FP64_TENSOR:
        yield WorkType.FP64_TENSOR
    elif data_type in _PLAIN:
        yield _PLAIN[data_type]


def _remark(rate: MeasuredRate, median: str) -> str:
    return f"Best of {rate.repeats}, median {median}."


def _date(since_epoch_ns: int) -> str:
    if not 0 < since_epoch_ns < _MOST_NS:
        return "no date"
    return f"{datetime.fromtimestamp(since_epoch_ns // _NS_PER_S, UTC):%Y-%m-%d}"


def _path() -> Path:
    return app_folders().data / FILE


def _read(path: Path) -> dict[str, Any]:
    """Returns the file's content; an empty one where it is absent or damaged, as it can be made anew."""
    try:
        whole = json.loads(read_bytes_limited(path, _LIMIT_BYTES))
    except (OSError, ValueError, RecursionError, DashboardError):
        return {}
    return whole if isinstance(whole, dict) else {}
