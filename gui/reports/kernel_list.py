"""The kernels of a report as they are listed: names, figures, filters, and repeats as groups.

Pure: from a ``Report`` to columns, and from columns and a choice to the entries
of the list. Nothing here is computed that the report does not hold, but sums
and means of it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal

import numpy as np

from core.analyses.categories import categorize_name
from core.analyses.kernel_names import short_names
from core.files import printable
from core.tables.columns import MISSING, NO_ROW, Float64, Int64
from core.tables.ncu_terms import MEMORY_PCT, SM_PCT
from core.units import format_shape

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from core.tables.ncu import Report

SortKey = Literal["file", "duration", "sm", "memory", "name"]

SORTS: Final[tuple[tuple[SortKey, str], ...]] = (
    ("file", "In file order"),
    ("duration", "Longest first"),
    ("sm", "Highest SM first"),
    ("memory", "Highest memory first"),
    ("name", "By name"),
)
FILTERS: Final = (("nvtx", "NVTX ranges"), ("device", "Devices"), ("process", "Processes"))
"""What kernels can be chosen by beside their name: key and words for all of it."""


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class KernelList:
    """One row a launch, in the order of the file.

    Attributes:
        names: Full names, made printable.
        shown: Short names.
        searched: Full and short names in small letters.
        categories: As the theme calls their colours: "GEMM".
        sm_pct, memory_pct: (n,) float64, NaN where not measured.
        duration_ns: (n,) int64, MISSING where not measured.
        shapes: (grid, block) as texts, "" where not recorded.
        labels: For each of ``FILTERS`` the texts of each launch.
    """

    names: tuple[str, ...]
    shown: tuple[str, ...]
    searched: tuple[str, ...]
    categories: tuple[str, ...]
    sm_pct: Float64
    memory_pct: Float64
    duration_ns: Int64
    shapes: tuple[tuple[str, str], ...]
    labels: dict[str, tuple[tuple[str, ...], ...]]

    def __len__(self) -> int:
        return len(self.names)

    def place_words(self, row: int) -> str:
        """Which one of all a launch is, everywhere on the page: "Kernel 3 of 9"."""
        return f"Kernel {row + 1:,} of {len(self):,}"

    def choices(self, key: str) -> tuple[str, ...]:
        """The texts that a filter can choose from, each once, in the order of the file."""
        return tuple(dict.fromkeys(text for texts in self.labels[key] for text in texts))


@dataclass(frozen=True, slots=True, kw_only=True)
class KernelChoice:
    """What is listed, and how.

    Attributes:
        words: Small letters; each must occur in the name.
        labels: Filter to its text; a filter that is not in it chooses all.
        sort: What decides the order.
        is_grouped: Whether repeats of one kernel are one entry.
        open_groups: First rows of groups whose members are listed below them.
    """

    words: tuple[str, ...] = ()
    labels: tuple[tuple[str, str], ...] = ()
    sort: SortKey = "file"
    is_grouped: bool = True
    open_groups: frozenset[int] = frozenset()


@dataclass(frozen=True, slots=True, kw_only=True)
class KernelEntry:
    """One entry of the list: a launch, or repeats of one kernel.

    Attributes:
        rows: Launches, in the order of the file; several in a group.
        is_member: It is listed below its group.
    """

    rows: tuple[int, ...]
    is_member: bool = False

    @property
    def is_group(self) -> bool:
        """Whether it stands for several launches."""
        return len(self.rows) > 1


def list_kernels(report: Report) -> KernelList:
    """Makes the list of a report; takes some µs a launch."""
    launches = report.launches
    full = [report.strings[int(name_id)] for name_id in launches.name_id]
    distinct = list(dict.fromkeys(full))
    short = dict(zip(distinct, short_names(distinct), strict=True))
    kinds = {name: categorize_name(name).title for name in distinct}
    names = tuple(printable(name) for name in full)
    shown = tuple(printable(short[name]) for name in full)
    return KernelList(
        names=names,
        shown=shown,
        searched=tuple(f"{name} {less}".casefold() for name, less in zip(names, shown, strict=True)),
        categories=tuple(kinds[name] for name in full),
        sm_pct=report.column(SM_PCT),
        memory_pct=report.column(MEMORY_PCT),
        duration_ns=launches.duration_ns,
        shapes=tuple(
            (shape_text(grid), shape_text(block))
            for grid, block in zip(launches.grid.tolist(), launches.block.tolist(), strict=True)
        ),
        labels={
            "nvtx": _ranges(report),
            "device": tuple((_device(report, int(row)),) for row in launches.device_row),
            "process": tuple((_process(report, int(row)),) for row in launches.process_row),
        },
    )


def shape_text(sides: Sequence[int]) -> str:
    """A grid or block: "64 x 64 x 1"; "" if it was not recorded."""
    return "" if MISSING in sides else format_shape(sides)


def _ranges(report: Report) -> tuple[tuple[str, ...], ...]:
    found: list[dict[str, None]] = [{} for _ in range(len(report.launches))]
    for launch, name_id in zip(report.nvtx.launch_row.tolist(), report.nvtx.name_id.tolist(), strict=True):
        found[launch][printable(report.strings[name_id])] = None
    return tuple(tuple(each) for each in found)


def _device(report: Report, row: int) -> str:
    if row == NO_ROW:
        return "not named"
    device = report.devices[row]
    name = printable(device.name or "not named")
    alike = sum(each.name == device.name for each in report.devices) > 1
    return f"{name}, device {device.id if device.id is not None else row}" if alike else name


def _process(report: Report, row: int) -> str:
    if row == NO_ROW:
        return "not named"
    process = report.processes[row]
    name = printable((process.name or "").rsplit("/", maxsplit=1)[-1])
    number = "" if process.id is None else str(process.id)
    return " ".join(part for part in (name, number) if part) or "not named"


def arrange(kernels: KernelList, choice: KernelChoice) -> tuple[KernelEntry, ...]:
    """Returns the entries of a list, in order."""
    rows = [row for row in range(len(kernels)) if _is_chosen(kernels, row, choice)]
    groups = _grouped(kernels, rows) if choice.is_grouped else [(row,) for row in rows]
    entries: list[KernelEntry] = []
    for group in sorted(groups, key=lambda group: _order(kernels, group, choice.sort)):
        entries.append(KernelEntry(rows=group))
        if len(group) > 1 and group[0] in choice.open_groups:
            members = sorted(((row,) for row in group), key=lambda one: _order(kernels, one, choice.sort))
            entries += [KernelEntry(rows=member, is_member=True) for member in members]
    return tuple(entries)


def _is_chosen(kernels: KernelList, row: int, choice: KernelChoice) -> bool:
    return all(word in kernels.searched[row] for word in choice.words) and all(
        text in kernels.labels[key][row] for key, text in choice.labels
    )


def _grouped(kernels: KernelList, rows: Iterable[int]) -> list[tuple[int, ...]]:
    """Joins launches of one name, grid, block and device."""
    groups: dict[tuple[object, ...], list[int]] = {}
    for row in rows:
        key = (kernels.names[row], kernels.shapes[row], kernels.labels["device"][row])
        groups.setdefault(key, []).append(row)
    return [tuple(group) for group in groups.values()]


def _order(kernels: KernelList, group: tuple[int, ...], sort: SortKey) -> tuple[object, ...]:
    if sort == "file":
        return (group[0],)
    if sort == "name":
        return (kernels.shown[group[0]].casefold(), group[0])
    if sort == "duration":
        value = float(sum_ns(kernels, group) or 0)
    else:
        value = mean(kernels.sm_pct if sort == "sm" else kernels.memory_pct, group)
    # What was not measured comes last.
    return (np.isnan(value), -value, group[0])


def mean(values: Float64, rows: Sequence[int]) -> float:
    """The mean of what was measured, NaN if nothing was."""
    known = values[list(rows)]
    known = known[~np.isnan(known)]
    return float(known.mean()) if len(known) else float("nan")


def durations(kernels: KernelList, rows: Sequence[int]) -> Int64:
    """The durations that were measured: (k,) int64, ns."""
    values = kernels.duration_ns[list(rows)]
    known: Int64 = values[values != MISSING]
    return known


def sum_ns(kernels: KernelList, rows: Sequence[int]) -> int | None:
    """Summed duration, None if none was measured."""
    known = durations(kernels, rows)
    return int(known.sum()) if len(known) else None


def share_pct(kernels: KernelList, rows: Sequence[int], whole_ns: int | None) -> float | None:
    """Part of a summed duration that launches take, None if it is not known."""
    own_ns = sum_ns(kernels, rows)
    return 100 * own_ns / whole_ns if own_ns is not None and whole_ns else None


def longest(kernels: KernelList, entries: Sequence[KernelEntry]) -> int:
    """Place of the entry that takes the most time, the first among equals; 0 if none was measured."""
    sums_ns = [sum_ns(kernels, entry.rows) or 0 for entry in entries]
    return sums_ns.index(max(sums_ns))
