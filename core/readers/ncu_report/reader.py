"""The way in: from a path to a ``Report``."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING, Any, Final

from google.protobuf.message import DecodeError

from core.errors import DashboardError
from core.files import printable
from core.readers.ncu_report.columns import Frames, Metrics, Ranges, as_int64, optional
from core.readers.ncu_report.container import Block, Blocks, Entry, read_unpacked
from core.readers.ncu_report.problems import Oddities
from core.readers.ncu_report.rules import decode_rule
from core.readers.ncu_report.schema import decode, empty, text_of
from core.readers.ncu_report.sections import decode_section
from core.readers.ncu_report.session import Devices, created_ns, session_facts
from core.readers.ncu_rows import Launches, Texts
from core.tables.columns import MISSING, NO_ROW
from core.tables.ncu import (
    MetricValue,
    Report,
    ReportProcess,
    SourceFacts,
    SourceFunction,
)
from core.tables.ncu_terms import DURATION, GRID_SIZE

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from core.tables.ncu_rules import Rule
    from core.tables.ncu_sections import Section

_KNOWN_VERSION: Final = 7
_NO_SHAPE: Final = (MISSING, MISSING, MISSING)
_LAST: Final = 2**31


def read_report(path: Path, progress: Callable[[int, int], None] | None = None) -> Report:
    """Reads a report, packed or not.

    Args:
        path: The file; its name does not matter.
        progress: Called with the bytes that are read and their number, once a block. What it raises
            ends the reading.

    Raises:
        DashboardError: It cannot be read, is no report, or holds nothing whole.
    """
    try:
        raw = read_unpacked(path)
    except OSError as error:
        raise DashboardError(
            f"{printable(path.name)} cannot be read: {error.strerror or error}.",
            "Check the path and its permissions.",
        ) from error
    return _Reading(raw).read(path.name, progress)


class _Reading:
    """One report while it is read, in the order of the file: strings and processes precede their use."""

    def __init__(self, raw: bytes) -> None:
        self._raw = raw
        self._oddities = Oddities()
        self._texts = Texts()
        self._launches = Launches()
        self._metrics = Metrics(self._texts)
        self._ranges = Ranges(self._texts)
        self._frames = Frames(self._texts)
        self._session = empty("Session")
        self._processes: dict[ReportProcess, int] = {}
        self._sources: list[SourceFacts] = []
        self._section_ids: dict[bytes, int | None] = {}
        self._sections: list[Section] = []
        self._launch_sections: list[tuple[int, ...]] = []
        self._rules: list[tuple[Rule, ...]] = []
        self._facts: list[dict[str, MetricValue]] = []

    def read(self, name: str, progress: Callable[[int, int], None] | None) -> Report:
        blocks = Blocks(self._raw)
        if blocks.version > _KNOWN_VERSION:
            self._oddities.add("newer_format")
        for block in blocks:
            self._add_block(block)
            if progress is not None:
                progress(block.end, len(self._raw))
        if blocks.damage is not None:
            self._oddities.add("cut_report" if blocks.damage.cut else "broken_block", blocks.damage.place)
        if not len(self._launches):
            self._oddities.add("no_results")
        devices = Devices(self._session)
        for row, facts in zip(self._launches.rows, self._facts, strict=True):
            row["device_row"] = devices.row_of(facts)
        return Report(
            kind="ncu_report",
            name=name,
            launches=self._launches.table(),
            metric_names=self._metrics.names(),
            metrics=self._metrics.table(),
            nvtx=self._ranges.table(),
            call_frames=self._frames.table(),
            strings=self._texts.table(),
            sections=tuple(self._sections),
            launch_sections=tuple(self._launch_sections),
            rules=tuple(self._rules),
            sources=tuple(self._sources),
            devices=devices.table(),
            processes=tuple(self._processes),
            session=session_facts(self._session),
            problems=self._oddities.problems(),
            raw=self._raw,
            raw_names=self._metrics.stored_names(),
        )

    def _add_block(self, block: Block) -> None:
        for fragment in block.header.session:
            try:
                self._session.MergeFromString(fragment)
            except DecodeError:
                self._oddities.add("broken_session", block.begin)
        self._metrics.add_names([text_of(text) for text in block.header.texts.texts])
        process_row = self._process_row(block.header)
        for entry in block.sources:
            self._add_source(entry)
        for entry in block.results:
            self._add_result(entry, process_row)

    def _process_row(self, header: Any) -> int:
        if not header.HasField("process"):
            return NO_ROW
        process = ReportProcess(
            id=header.process.id if header.process.HasField("id") else None,
            name=text_of(header.process.name) or None,
            host=text_of(header.process.host) or None,
        )
        return self._processes.setdefault(process, len(self._processes))

    def _add_source(self, entry: Entry) -> None:
        source = decode("Source", memoryview(self._raw)[entry.begin : entry.end])
        if source is None:
            self._oddities.add("broken_source", entry.begin)
            return
        revision = source.revision if source.HasField("revision") else None
        functions = tuple(
            SourceFunction(
                mangled_name=text_of(each.mangled_name),
                base_address=each.base_address if each.HasField("base_address") else None,
                symbol_index=each.symbol_index if each.HasField("symbol_index") else None,
            )
            for each in source.functions.functions
        )
        self._sources.append(
            SourceFacts(
                reference=source.reference,
                # 0x90000 is sm_90.
                sm_revision=10 * (revision >> 16) + (revision & 0xFFFF) if revision is not None else None,
                binary_bytes=len(source.binary),
                sass_level=source.sass_level if source.HasField("sass_level") else None,
                functions=functions,
                imported_files=tuple(text_of(each.path) for each in source.imported.files),
                raw_begin=entry.begin,
                raw_bytes=entry.end - entry.begin,
            )
        )

    def _add_result(self, entry: Entry, process_row: int) -> None:
        result = decode("Result", memoryview(self._raw)[entry.begin : entry.end])
        if result is None:
            self._oddities.add("broken_result", entry.begin)
            return
        launch_row = len(self._launches)
        nameless = self._metrics.add_launch(launch_row, result.metrics)
        if nameless:
            self._oddities.add("nameless_metric", entry.begin, nameless)
        facts = self._metrics.facts
        self._launches.rows.append(
            self._columns(result, facts)
            | {"process_row": process_row, "raw_begin": entry.begin, "raw_bytes": entry.end - entry.begin}
        )
        self._facts.append(facts)
        self._add_context(launch_row, result, entry)
        self._add_sections(result, entry)
        self._add_rules(result, entry)

    def _columns(self, result: Any, facts: dict[str, MetricValue]) -> dict[str, Any]:
        names = (result.name, result.function_name, result.mangled_name)
        duration = facts.get(DURATION)
        if not isinstance(duration, int | float):
            self._oddities.add("no_duration")
        grid, block = _shape(result, "grid"), _shape(result, "block")
        return {
            "name_id": self._texts.add(next((text_of(each) for each in names if each), "range")),
            "function_name_id": self._texts.add_bytes(result.function_name),
            "mangled_name_id": self._texts.add_bytes(result.mangled_name),
            "grid": _in_blocks(grid, block, facts.get(GRID_SIZE)),
            "block": block,
            "duration_ns": _nanoseconds(duration),
            "created_ns": created_ns(result),
            "thread_id": optional(result, "thread_id"),
            "context": optional(result, "context"),
            "stream": optional(result, "stream"),
            "api_call_id": optional(result, "api_call_id"),
            "source_reference": optional(result.source, "id"),
            "comment_id": self._texts.add_bytes(result.comments),
            "device_row": NO_ROW,
        }

    def _add_context(self, launch_row: int, result: Any, entry: Entry) -> None:
        """Adds NVTX ranges and the call stack; broken ones cost the result nothing else."""
        for field, message, rows in (
            (result.nvtx, "Nvtx", self._ranges),
            (result.call_stack, "CallStack", self._frames),
        ):
            decoded = decode(message, field) if field else None
            if decoded is not None:
                rows.add_launch(launch_row, decoded)
            elif field:
                self._oddities.add("broken_context", entry.begin)

    def _add_sections(self, result: Any, entry: Entry) -> None:
        rows = []
        for data in result.sections:
            if data not in self._section_ids:
                section = decode_section(data)
                self._section_ids[data] = None if section is None else len(self._sections)
                if section is not None:
                    self._sections.append(section)
            row = self._section_ids[data]
            if row is None:
                self._oddities.add("broken_section", entry.begin)
            else:
                rows.append(row)
        self._launch_sections.append(tuple(sorted(rows, key=self._order_of)))

    def _order_of(self, section_row: int) -> int:
        order = self._sections[section_row].order
        return _LAST if order is None else order

    def _add_rules(self, result: Any, entry: Entry) -> None:
        decoded = [decode_rule(data) for data in result.rules]
        broken = decoded.count(None)
        if broken:
            self._oddities.add("broken_rule", entry.begin, broken)
        self._rules.append(tuple(rule for rule in decoded if rule is not None))


def _shape(result: Any, field: str) -> tuple[int, int, int]:
    if not result.HasField(field):
        return _NO_SHAPE
    shape = getattr(result, field)
    sides = (as_int64(shape.x), as_int64(shape.y), as_int64(shape.z))
    return sides if any(sides) else _NO_SHAPE


def _in_blocks(
    grid: tuple[int, int, int], block: tuple[int, int, int], grid_size: MetricValue
) -> tuple[int, int, int]:
    """Returns the grid in blocks: up to 2020.2 it was stored in threads.

    The metric tells which. Without it the grid is taken as it is.
    """
    if MISSING in (*grid, *block) or 0 in block or not isinstance(grid_size, int | float):
        return grid
    if prod(grid) != grid_size and prod(grid) == grid_size * prod(block):
        x, y, z = (side // threads for side, threads in zip(grid, block, strict=True))
        return x, y, z
    return grid


def _nanoseconds(duration: MetricValue) -> int:
    if not isinstance(duration, int | float) or not abs(duration) < 2**63:
        return MISSING
    return round(duration)
