"""The file format of device peaks: reads one TOML file and checks it field by field.

Holds what a file says, in the file's own units; ``core.hardware.peaks`` makes
devices of it. The format is described at the head of ``resources/device_peaks.toml``
and in docs/devices.md. A file of the user is read in the same way, so every
complaint names the line and the field.
"""

from __future__ import annotations

import math
import re
import tomllib
from typing import TYPE_CHECKING, Annotated, Final, Literal

import msgspec

from core.errors import DashboardError
from core.files import printable, read_bytes_limited

if TYPE_CHECKING:
    from pathlib import Path

MOST_BYTES: Final = 4 * 2**20
"""A peaks file is not larger than this."""

HINT: Final = "docs/devices.md shows how an entry is written. Correct the file, or move it away."

_HEADERS: Final = {
    "device": re.compile(r"\s*\[\[\s*device\s*\]\]"),
    "figures": re.compile(r"\s*\[\[\s*device\s*\.\s*figures\s*\]\]"),
}

_ENTRY: Final = re.compile(r"\.(device|figures)\[(\d+)\]")
_TYPES: Final = {
    "float": "a number",
    "int": "a whole number",
    "str": "text",
    "bool": "true or false",
    "array": "a list",
    "object": "a table",
    "date": "a date",
    "time": "a time",
    "datetime": "a date with a time",
}

Basis = Literal["published", "computed", "measured"]
Rate = Annotated[float, msgspec.Meta(gt=0, le=1e6)]
Count = Annotated[int, msgspec.Meta(gt=0, le=1_000_000)]
Text = Annotated[str, msgspec.Meta(min_length=1, max_length=1000)]
Date = Annotated[str, msgspec.Meta(pattern=r"^\d{4}(-\d{2}){0,2}$")]


class SourceText(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A document, and its date (or its part's launch, or the year in which it was read)."""

    document: Text
    date: Date


class VectorRates(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Dense TFLOP/s of the plain units, per data type."""

    fp64: Rate | None = None
    fp32: Rate | None = None
    fp16: Rate | None = None


class TensorRates(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """TFLOP/s (TOP/s for int8) of the matrix units, per data type; ``_acc16`` accumulates in FP16."""

    fp64: Rate | None = None
    tf32: Rate | None = None
    fp16: Rate | None = None
    fp16_acc16: Rate | None = None
    bf16: Rate | None = None
    fp8: Rate | None = None
    fp8_acc16: Rate | None = None
    fp4: Rate | None = None
    int8: Rate | None = None


class FigureBlock(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Figures of one source: either ``source`` names it, or ``document`` and ``date`` do."""

    source: Text | None = None
    document: Text | None = None
    date: Date | None = None
    basis: Basis = "published"
    confirmed_by: tuple[Text, ...] = ()
    doubtful: bool = False
    remark: str = ""
    memory_bandwidth_gb_per_s: Rate | None = None
    l2_mb: Rate | None = None
    l2_bandwidth_gb_per_s: Rate | None = None
    power_w: Rate | None = None
    boost_clock_mhz: Rate | None = None
    tensor_clock_mhz: Rate | None = None
    vector_tflop_per_s: VectorRates = VectorRates()
    tensor_tflop_per_s: TensorRates = TensorRates()
    sparse_tflop_per_s: TensorRates = TensorRates()


class DeviceEntry(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One product in one form, as a file describes it."""

    name: Text
    figures: tuple[FigureBlock, ...]
    names: tuple[Text, ...] = ()
    vendor: str = ""
    architecture: str = ""
    form: str = ""
    target: str = ""
    memory_gb: tuple[Rate, ...] = ()
    sm_counts: tuple[Count, ...] = ()
    note: str = ""


class PeaksFile(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A whole file."""

    device: tuple[DeviceEntry, ...] = ()
    sources: dict[str, SourceText] = {}


def read_peaks_file(path: Path) -> PeaksFile:
    """Reads and checks a peaks file.

    Raises:
        DashboardError: It cannot be read, or a field is not as the format has it; the
            message names the file, the line and the field.
    """
    try:
        text = read_bytes_limited(path, MOST_BYTES).decode("utf-8-sig")
    except OSError as error:
        raise _complaint(path, f"it cannot be read: {error.strerror or error}") from error
    except UnicodeDecodeError as error:
        raise _complaint(path, "it is not UTF-8 text") from error
    try:
        content = msgspec.convert(tomllib.loads(text.replace("\r\n", "\n")), PeaksFile)
    except tomllib.TOMLDecodeError as error:
        raise _complaint(path, f"it is not valid TOML: {error}") from error
    except RecursionError as error:
        raise _complaint(path, "its lists or tables are nested too deeply") from error
    except msgspec.ValidationError as error:
        reason, place = _in_words(str(error))
        raise _complaint(path, reason, text, place) from error
    except ValueError as error:
        # Python's own limit: a whole number of thousands of digits.
        raise _complaint(path, "a number in it has too many digits") from error
    _check_sources(path, text, content)
    _check_sparse(path, text, content)
    _check_names(path, text, content)
    return content


def _check_sources(path: Path, text: str, content: PeaksFile) -> None:
    """Every block has one source that exists, and says it in one way."""
    for row, entry in enumerate(content.device):
        for index, block in enumerate(entry.figures):
            place = f".device[{row}].figures[{index}]"
            named, written = block.source is not None, block.document is not None and block.date is not None
            if named == written or (named and (block.document or block.date)):
                raise _complaint(path, "it needs either source, or document and date", text, place)
            unknown = [
                key for key in (block.source, *block.confirmed_by) if key and key not in content.sources
            ]
            if unknown:
                raise _complaint(path, f'no [sources."{printable(unknown[0])}"] is in the file', text, place)


def _check_sparse(path: Path, text: str, content: PeaksFile) -> None:
    """A sparse figure stands beside the dense one that it belongs to, and is not below it."""
    for row, entry in enumerate(content.device):
        for index, block in enumerate(entry.figures):
            dense = msgspec.structs.asdict(block.tensor_tflop_per_s)
            for key, value in msgspec.structs.asdict(block.sparse_tflop_per_s).items():
                if value is not None and value < (dense[key] or math.inf):
                    place = f".device[{row}].figures[{index}].sparse_tflop_per_s"
                    raise _complaint(
                        path, f"{key} needs a dense figure beside it that is not above it", text, place
                    )


def _check_names(path: Path, text: str, content: PeaksFile) -> None:
    """No two entries have the same name."""
    seen: set[str] = set()
    for row, entry in enumerate(content.device):
        if entry.name in seen:
            raise _complaint(path, "an entry above has the same name", text, f".device[{row}].name")
        seen.add(entry.name)


def _in_words(message: str) -> tuple[str, str]:
    """What msgspec complains of in plain words, and the place as a path like ``.device[1].name``."""
    reason, _, place = message.partition(" - at `$")
    place = place.rstrip("`")
    unknown = re.search(r"unknown field `(.+)`", reason)
    if unknown:
        return f"there is no field {printable(unknown[1])}", f"{place}.{unknown[1]}"
    return re.sub(r"`([^`]*)`", _type_in_words, reason), place


def _type_in_words(found: re.Match[str]) -> str:
    """A type as msgspec writes it, such as ``float | null``; a field that is not there has no value."""
    names = [name for name in found[1].split(" | ") if name != "null"]
    return " or ".join(_TYPES.get(name, name) for name in names)


def _complaint(path: Path, reason: str, text: str = "", place: str = "") -> DashboardError:
    """The error for one place of a file, given as a path like ``.device[1].figures[0].l2_mb``."""
    where = ""
    if place:
        field = _ENTRY.sub("", place).lstrip(".")
        where = f", line {_line_of(text, place)}" + (f", {printable(field)}" if field else "")
    return DashboardError(f"{printable(path.name)}{where}: {reason.rstrip('.')}.", HINT)


def _line_of(text: str, place: str) -> int:
    """Line (from 1) of a field, or else of the block or entry that it is missing from."""
    lines = text.splitlines()
    row = 0
    for key, index in _ENTRY.findall(place):
        starts = [number for number in range(row, len(lines)) if _HEADERS[key].match(lines[number])]
        if int(index) >= len(starts):
            return row + 1
        row = starts[int(index)]
    field = _ENTRY.sub("", place).lstrip(".").partition(".")[0]
    return _line_of_key(lines, row, field) if field else row + 1


def _line_of_key(lines: list[str], row: int, key: str) -> int:
    """Line (from 1) of a key in the block that begins at ``row``; the block's first if it is not there."""
    stated = re.compile(rf"\s*(\[.*\b)?\"?{re.escape(key)}\b")
    for number in range(row, len(lines)):
        if stated.match(lines[number]):
            return number + 1
        if number > row and lines[number].lstrip().startswith("[["):
            break
    return row + 1
