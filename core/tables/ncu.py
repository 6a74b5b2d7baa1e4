"""The tables of one Nsight Compute report or CSV, as any reader of them returns it.

Every profiled launch (or range of launches) is one row of ``LaunchTable``. What
was measured of it stands in ``MetricTable``, sparse: a metric that was not
collected has no row, one that was asked for and has no value is of kind
``MetricKind.NONE``; neither is ever 0. Metrics keep the vendor's names as keys
and are in base units (ns, byte, Hz, %). Sections, as the report lays them out,
are in ``core.tables.ncu_sections``, what its rules say in ``core.tables.ncu_rules``.

What is large and rarely looked at (values per instruction, binaries, imported
sources) stays in ``Report.raw`` and is decoded when asked for.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import IntEnum
from typing import TYPE_CHECKING, Literal

import numpy as np

from core.tables.columns import NO_ROW, Float64, Int32, Int64, Uint8, freeze_columns
from core.tables.strings import StringTable
from core.tables.trace import Problem

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from core.tables.ncu_rules import Rule
    from core.tables.ncu_sections import Section

ReportKind = Literal["ncu_report", "ncu_csv"]
MetricValue = int | float | str | None


class MetricKind(IntEnum):
    """What the value of a metric is. ``NONE``: there is none, though it was asked for ("n/a")."""

    NONE = 0
    FLOAT = 1
    INTEGER = 2
    TEXT = 3


@dataclass(frozen=True, slots=True, eq=False)
class LaunchTable:
    """Every profiled launch or range, in the order of the file. All columns (n,) unless said otherwise.

    Attributes:
        name_id: int32 text, the kernel's name as shown (demangled, else the shorter ones), or the range's.
        function_name_id: int32 text, the bare name of the function, NO_ROW.
        mangled_name_id: int32 text, NO_ROW.
        grid, block: (n, 3) int64, in blocks and in threads, MISSING where not recorded.
        duration_ns: int64, ``gpu__time_duration.sum``, MISSING.
        created_ns: int64, since the epoch, when it was profiled, MISSING.
        process_row: int32, row of ``Report.processes``, NO_ROW.
        device_row: int32, row of ``Report.devices``, NO_ROW.
        thread_id, context, stream: int64, MISSING.
        api_call_id: int64, the number of the call among those of its thread ("ID" of the tool), MISSING.
        source_reference: int64, joins with ``SourceFacts.reference``, MISSING.
        comment_id: int32 text, what the user noted, NO_ROW.
        raw_begin, raw_bytes: int64, where its message lies in ``Report.raw``, MISSING.
    """

    name_id: Int32
    function_name_id: Int32
    mangled_name_id: Int32
    grid: Int64
    block: Int64
    duration_ns: Int64
    created_ns: Int64
    process_row: Int32
    device_row: Int32
    thread_id: Int64
    context: Int64
    stream: Int64
    api_call_id: Int64
    source_reference: Int64
    comment_id: Int32
    raw_begin: Int64
    raw_bytes: Int64

    def __post_init__(self) -> None:
        freeze_columns(
            self,
            {
                "name_id": np.int32,
                "function_name_id": np.int32,
                "mangled_name_id": np.int32,
                "grid": np.int64,
                "block": np.int64,
                "duration_ns": np.int64,
                "created_ns": np.int64,
                "process_row": np.int32,
                "device_row": np.int32,
                "thread_id": np.int64,
                "context": np.int64,
                "stream": np.int64,
                "api_call_id": np.int64,
                "source_reference": np.int64,
                "comment_id": np.int32,
                "raw_begin": np.int64,
                "raw_bytes": np.int64,
            },
            {"grid": 3, "block": 3},
        )

    def __len__(self) -> int:
        return len(self.name_id)


@dataclass(frozen=True, slots=True, eq=False)
class MetricNames:
    """The metrics that occur, each once, by id.

    Attributes:
        texts: The vendor's names: ``gpu__time_duration.sum``.
        units: Of the values as stored here, in the vendor's words: "ns", "byte", "byte/s", "Hz", "%",
            "inst/cycle"; "" for a bare number or a text. Derived from the name, or given by the file.
    """

    texts: tuple[str, ...]
    units: tuple[str, ...]
    _ids: Mapping[str, int] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        ids = {text: place for place, text in enumerate(self.texts)}
        if len(ids) != len(self.texts) or len(self.units) != len(self.texts):
            raise ValueError(f"{len(ids)} names of {len(self.texts)} metrics, {len(self.units)} units")
        object.__setattr__(self, "_ids", ids)

    def __len__(self) -> int:
        return len(self.texts)

    def find(self, name: str) -> int:
        """Returns the id of a name, ``NO_ROW`` if it does not occur."""
        return self._ids.get(name, NO_ROW)


@dataclass(frozen=True, slots=True, eq=False)
class MetricTable:
    """What was measured, a row for each metric of each launch, by launch, then by name id. Columns (n,).

    Attributes:
        launch_row: int32, row of ``LaunchTable``.
        name_id: int32, id into ``MetricNames``; one name stands at most once in a launch.
        kind: uint8, ``MetricKind``.
        number: float64, of kinds FLOAT and INTEGER; NaN otherwise.
        integer: uint64, the exact value of kind INTEGER, 0 otherwise: they exceed 2**53.
        text_id: int32, of kind TEXT, NO_ROW otherwise.
        instances: int32, how many values it has beside its own (by instruction, opcode, time), decoded
            when asked for.
    """

    launch_row: Int32
    name_id: Int32
    kind: Uint8
    number: Float64
    integer: NDArray[np.uint64]
    text_id: Int32
    instances: Int32

    def __post_init__(self) -> None:
        freeze_columns(
            self,
            {
                "launch_row": np.int32,
                "name_id": np.int32,
                "kind": np.uint8,
                "number": np.float64,
                "integer": np.uint64,
                "text_id": np.int32,
                "instances": np.int32,
            },
        )
        order = self.launch_row.astype(np.int64) << 32 | self.name_id
        if np.any(order[1:] <= order[:-1]):
            raise ValueError("MetricTable is not ordered by launch and name")

    def __len__(self) -> int:
        return len(self.launch_row)

    def rows_of(self, launch_row: int) -> range:
        """Returns the rows of one launch."""
        # Of the column's own type: any other would be compared with a copy of the whole column.
        ends = np.array([launch_row, launch_row + 1], self.launch_row.dtype)
        first, last = np.searchsorted(self.launch_row, ends)
        return range(int(first), int(last))


@dataclass(frozen=True, slots=True, eq=False)
class Instances:
    """The values of one metric beside its own, in the order of the file. Columns (n,).

    Attributes:
        key: uint64, what each belongs to: an instruction's address, a small number, or for a time
            series nanoseconds since the epoch; 0 where it is a text.
        key_texts: Empty, or (n,) texts that the values belong to (opcodes), "" where it is a number.
        number: float64, NaN if it is none.
        integer: uint64, exact; 0 for a fraction.
        is_time_series: Whether keys are moments.
        texts: Empty, or (n,) values that are texts (names of devices), "" where it is a number.
    """

    key: NDArray[np.uint64]
    key_texts: tuple[str, ...]
    number: Float64
    integer: NDArray[np.uint64]
    is_time_series: bool
    texts: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        freeze_columns(self, {"key": np.uint64, "number": np.float64, "integer": np.uint64})
        for texts in (self.key_texts, self.texts):
            if len(texts) not in (0, len(self.key)):
                raise ValueError(f"Instances: {len(texts)} texts of {len(self.key)} keys")

    def __len__(self) -> int:
        return len(self.key)


@dataclass(frozen=True, slots=True, eq=False)
class NvtxTable:
    """NVTX ranges that were open at a launch, by ``launch_row``. Columns (n,).

    Attributes:
        launch_row: int32.
        name_id: int32 text.
        domain_id: int32 text, NO_ROW for the default domain.
        thread_id: int64, MISSING for a range that belongs to no thread.
        depth: int32, 0 is the outermost of a thread and domain; NO_ROW for a start/end range.
    """

    launch_row: Int32
    name_id: Int32
    domain_id: Int32
    thread_id: Int64
    depth: Int32

    def __post_init__(self) -> None:
        freeze_columns(
            self,
            {
                "launch_row": np.int32,
                "name_id": np.int32,
                "domain_id": np.int32,
                "thread_id": np.int64,
                "depth": np.int32,
            },
        )

    def __len__(self) -> int:
        return len(self.launch_row)


@dataclass(frozen=True, slots=True, eq=False)
class CallFrameTable:
    """Frames of the host's stack at a launch, by ``launch_row``, innermost first. Columns (n,).

    Attributes:
        launch_row: int32.
        symbol_id, module_id, file_id: int32 texts, NO_ROW.
        line: int64, MISSING.
        address: uint64, 0 if there is none.
    """

    launch_row: Int32
    symbol_id: Int32
    module_id: Int32
    file_id: Int32
    line: Int64
    address: NDArray[np.uint64]

    def __post_init__(self) -> None:
        freeze_columns(
            self,
            {
                "launch_row": np.int32,
                "symbol_id": np.int32,
                "module_id": np.int32,
                "file_id": np.int32,
                "line": np.int64,
                "address": np.uint64,
            },
        )

    def __len__(self) -> int:
        return len(self.launch_row)


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportDevice:
    """One device; None where the file does not say.

    Attributes:
        id: Its number in the report.
        name: "NVIDIA H100 PCIe".
        compute_capability: Ten times it: 90 for 9.0, as filters of sections count.
        sm_count: Multiprocessors.
        attributes: Further facts, name to value, as stored: ``device__attribute_*``.
    """

    id: int | None
    name: str | None
    compute_capability: int | None = None
    sm_count: int | None = None
    attributes: tuple[tuple[str, MetricValue], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportProcess:
    """One profiled process; None where the file does not say."""

    id: int | None
    name: str | None = None
    host: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class HostSystem:
    """The machine of the tool or of the program, as stored; "" where the file does not say."""

    os_name: str = ""
    os_build: str = ""
    processor: str = ""
    architecture: str = ""
    computer_name: str = ""
    addresses: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionFacts:
    """How the file came about. Host names, addresses, paths and environment are private.

    Attributes:
        tool_version: Of the tool on the target: "2025.1.0.0 (build 35237751) (public-release)".
        versions: Of everything that has one, provider to version.
        created_ns: Since the epoch, None.
        process_id: Of the profiled program, None.
        host, target: The machine of the tool and that of the program, None.
        executable, working_folder, arguments, environment, command_line: Of the program, "".
        comments: What the user noted.
    """

    tool_version: str | None = None
    versions: tuple[tuple[str, str], ...] = ()
    created_ns: int | None = None
    process_id: int | None = None
    host: HostSystem | None = None
    target: HostSystem | None = None
    executable: str = ""
    working_folder: str = ""
    arguments: str = ""
    environment: str = ""
    command_line: str = ""
    comments: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceFunction:
    """A function of a binary: its mangled name, and where its code lay on the device."""

    mangled_name: str
    base_address: int | None
    symbol_index: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceFacts:
    """One binary that launches came from. The binary itself is read when asked for.

    Attributes:
        reference: Launches name it. Not unique: the one whose functions hold the kernel is meant.
        sm_revision: Ten times the compute capability it was built for: 90, None.
        binary_bytes: Size of the cubin, 0 if it is not in the file.
        sass_level: As stored, None.
        functions: Empty in reports before 2022.4.
        imported_files: Paths of the source files whose text is in the report.
        raw_begin, raw_bytes: Where its message lies in ``Report.raw``.
    """

    reference: int
    sm_revision: int | None
    binary_bytes: int
    sass_level: int | None
    functions: tuple[SourceFunction, ...]
    imported_files: tuple[str, ...]
    raw_begin: int
    raw_bytes: int


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Report:
    """One report: its tables, its texts, what it says of itself, and what is wrong with it.

    Attributes:
        kind: What the file is.
        name: Of the file.
        strings: All texts but names of metrics.
        sections: Those that occur, each once; launches of one report mostly share theirs.
        launch_sections: For each launch, rows of ``sections``, in the order in which they are shown.
        rules: For each launch, in the order of the file.
        raw: The unpacked file; empty for a CSV.
        raw_names: Names of metrics by the numbers that results in ``raw`` give them; empty for a CSV.
    """

    kind: ReportKind
    name: str
    strings: StringTable
    launches: LaunchTable
    metric_names: MetricNames
    metrics: MetricTable
    nvtx: NvtxTable
    call_frames: CallFrameTable
    sections: tuple[Section, ...]
    launch_sections: tuple[tuple[int, ...], ...]
    rules: tuple[tuple[Rule, ...], ...]
    sources: tuple[SourceFacts, ...]
    devices: tuple[ReportDevice, ...]
    processes: tuple[ReportProcess, ...]
    session: SessionFacts
    problems: tuple[Problem, ...]
    raw: bytes = field(default=b"", repr=False)
    raw_names: tuple[str, ...] = field(default=(), repr=False)

    def __post_init__(self) -> None:
        if not len(self.launches) == len(self.launch_sections) == len(self.rules):
            raise ValueError(
                f"Report of {len(self.launches)} launches, {len(self.launch_sections)} lists of sections, "
                f"{len(self.rules)} of rules"
            )

    def metric_row(self, launch_row: int, name: str) -> int:
        """Returns the row of ``metrics`` that holds a metric of a launch, NO_ROW if it was not collected."""
        name_id = self.metric_names.find(name)
        if name_id == NO_ROW:
            return NO_ROW
        rows = self.metrics.rows_of(launch_row)
        names = self.metrics.name_id[rows.start : rows.stop]
        place = int(np.searchsorted(names, np.int32(name_id)))
        return rows.start + place if place < len(names) and names[place] == name_id else NO_ROW

    def value_at(self, metric_row: int) -> MetricValue:
        """Returns the value in a row of ``metrics``; integers are exact, None is not measured."""
        kind = self.metrics.kind[metric_row]
        if kind == MetricKind.FLOAT:
            return float(self.metrics.number[metric_row])
        if kind == MetricKind.INTEGER:
            return int(self.metrics.integer[metric_row])
        return self.strings[int(self.metrics.text_id[metric_row])] if kind == MetricKind.TEXT else None

    def metric(self, launch_row: int, name: str) -> MetricValue:
        """Returns a metric of a launch, None where it was not measured."""
        row = self.metric_row(launch_row, name)
        return None if row == NO_ROW else self.value_at(row)

    def column(self, name: str) -> Float64:
        """Returns a metric of all launches: (launches,) float64, NaN where it was not measured."""
        values = np.full(len(self.launches), np.nan)
        name_id = self.metric_names.find(name)
        if name_id != NO_ROW:
            rows = np.flatnonzero(self.metrics.name_id == name_id)
            values[self.metrics.launch_row[rows]] = self.metrics.number[rows]
        return values

    def device_of(self, launch_row: int) -> ReportDevice | None:
        """Returns the device that a launch ran on, None if the file does not say."""
        row = int(self.launches.device_row[launch_row])
        return None if row == NO_ROW else self.devices[row]
