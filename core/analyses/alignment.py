"""One clock for the traces of several ranks.

First by what each file says of its clock, then by collectives: all ranks leave
one at nearly the same moment, so what is left between their ends is an error of
the clocks. Collectives of the CPU are matched too, but move no clock: they end
when a thread is woken, which on a busy machine is milliseconds late.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from core.analyses.categories import Category
from core.analyses.step_ranges import names_of
from core.tables.columns import MISSING, NO_ROW
from core.tables.trace import SliceKind

if TYPE_CHECKING:
    from collections.abc import Sequence

    from core.tables.columns import Int32, Int64, Uint8
    from core.tables.trace import Trace

_FEWEST_MATCHES: Final = 3
_MOST_SPREAD_NS: Final = 100_000
"""Half of all collectives must agree on an error of the clocks to within this, or they do not tell it."""
_EPOCH_NS: Final = 10**18
"""A clock that counts from 1970 is beyond this since 2001; one that counts from a boot is not."""
# From when a thread of gloo begins a collective to when it is through. What is sent to one rank is none.
# Source: torch/csrc/distributed/c10d/ProcessGroupGloo.cpp, AsyncWork::execute and the titles given to it.
_HOST_COLLECTIVE: Final = re.compile(r"gloo:(?!send|recv)")


@dataclass(frozen=True, slots=True, kw_only=True)
class Alignment:
    """How several traces were brought to one clock.

    Attributes:
        shifts_ns: What is added to the times of each.
        by_clock: Whether the files say enough of their clocks; without it times of two ranks say nothing
            of each other unless ``matched`` collectives joined them.
        matched: Collectives, each of all ranks, that corrected the clocks; 0 if there were too few.
        corrections_ns: What they added to each clock; the first rank's is 0.
        note: For people.
    """

    shifts_ns: tuple[int, ...]
    by_clock: bool
    matched: int
    corrections_ns: tuple[int, ...]
    note: str


def align(traces: Sequence[Trace], categories: Sequence[Uint8]) -> Alignment:
    """Finds the shift of each trace.

    Args:
        traces: One a rank.
        categories: Of each trace's device work.
    """
    starts_ns = [_clock_start_ns(trace) for trace in traces]
    by_clock = all(start is not None for start in starts_ns)
    known = [start for start in starts_ns if start is not None]
    shifts = [start - min(known) for start in known] if by_clock else [0] * len(traces)
    collectives = [collectives_of(trace, own) for trace, own in zip(traces, categories, strict=True)]
    rows = match_collectives(collectives)
    found = _corrections(collectives, rows, shifts)
    corrections = found or [0] * len(traces)
    matched = len(rows) if found else 0
    return Alignment(
        shifts_ns=tuple(shift + more for shift, more in zip(shifts, corrections, strict=True)),
        by_clock=by_clock,
        matched=matched,
        corrections_ns=tuple(corrections),
        note=_note(by_clock, matched, corrections, any(one.key for one in collectives)),
    )


def _corrections(
    collectives: Sequence[Collectives], rows: Int64, shifts_ns: Sequence[int]
) -> list[int] | None:
    """Returns what brings the ends of matched collectives together; None if they do not agree on it."""
    if len(collectives) < 2 or len(rows) < _FEWEST_MATCHES:
        return None
    ends = [one.end_ns[rows[:, rank]] + shifts_ns[rank] for rank, one in enumerate(collectives)]
    found = []
    for end_ns in ends:
        low, middle, high = np.percentile(end_ns - ends[0], (25, 50, 75), method="nearest").tolist()
        if high - low > _MOST_SPREAD_NS:
            return None
        found.append(-int(middle))
    return found


def _clock_start_ns(trace: Trace) -> int | None:
    """Returns the epoch time of the trace's origin; None if the file does not tell."""
    if trace.facts.base_time_ns is not None:
        return trace.facts.base_time_ns + trace.facts.origin_ns
    return trace.facts.origin_ns if trace.facts.origin_ns >= _EPOCH_NS else None


def _note(by_clock: bool, matched: int, corrections_ns: Sequence[int], on_device: bool) -> str:
    largest_us = max((abs(one) for one in corrections_ns), default=0) / 1000
    if matched:
        clock = "the files' clocks" if by_clock else "no common clock"
        return f"Aligned by {clock} and {matched:,} collectives, at most {largest_us:,.1f} us moved."
    if by_clock and not on_device:
        return "Aligned by the files' clocks alone: no rank ran a collective on a GPU."
    if by_clock:
        return "Aligned by the files' clocks alone: collectives that all ranks share are too few or disagree."
    return "Not aligned: the files say nothing of their clocks and share no collectives."


@dataclass(frozen=True, slots=True, eq=False)
class Collectives:
    """The collectives of one rank, on its device or on its CPU, by start. Columns (n,).

    Attributes:
        slice_row: int32.
        start_ns, end_ns: int64.
        key: What must be alike on all ranks for it to be the same collective: name, group, number, and which
            of those of that number; all differ.
    """

    slice_row: Int32
    start_ns: Int64
    end_ns: Int64
    key: tuple[tuple[str, str, int, int], ...]


NO_COLLECTIVES: Final = Collectives(np.empty(0, np.int32), np.empty(0, np.int64), np.empty(0, np.int64), ())
"""Of a rank that took part in none."""


def collectives_of(trace: Trace, categories: Uint8) -> Collectives:
    """Finds the collective kernels of a trace of one rank.

    Two ranks' kernels are the same collective if they are the same number in the
    row of those of one name and group; the number is the file's own where it has
    one. A group is its name and its members.
    """
    rows, identities = _device_collectives(trace, categories)
    return _numbered(trace, rows, identities)


def collectives_by_rank(trace: Trace, categories: Uint8) -> dict[int, Collectives]:
    """Finds the collective kernels of each rank of a trace; ranks without one are left out."""
    return _by_rank(trace, *_device_collectives(trace, categories))


def host_collectives_by_rank(trace: Trace) -> dict[int, Collectives]:
    """Finds the collectives that ran on the CPU, of each rank of a trace; ranks without one are left out.

    They name no group: two ranks' are the same collective if they are the same
    number in the row of those of one name, and the ranks ``share_one_group``.
    """
    slices = trace.slices
    chosen = slices.kind == SliceKind.ANNOTATION
    named = [text_id for text_id, text in names_of(trace, chosen) if _HOST_COLLECTIVE.match(text)]
    rows = np.flatnonzero(chosen & np.isin(slices.name_id, named) & (slices.duration_ns > 0))
    rows = rows[np.argsort(slices.start_ns[rows], kind="stable")]
    names = [trace.strings[text_id] for text_id in slices.name_id[rows].tolist()]
    return _by_rank(trace, rows, [(name, "", MISSING) for name in names])


def _device_collectives(trace: Trace, categories: Uint8) -> tuple[Int32, list[tuple[str, str, int]]]:
    """Returns the collective kernels of all ranks by start, and what identifies each."""
    slices, work = trace.slices, trace.device_work
    chosen = (categories == Category.COMMUNICATION) & (slices.kind[work.slice_row] == SliceKind.KERNEL)
    chosen &= slices.duration_ns[work.slice_row] > 0
    places = np.flatnonzero(chosen)
    places = places[np.argsort(slices.start_ns[work.slice_row[places]], kind="stable")]
    return work.slice_row[places], [_identity(trace, place) for place in places.tolist()]


def _by_rank(
    trace: Trace, rows: Int64 | Int32, identities: list[tuple[str, str, int]]
) -> dict[int, Collectives]:
    rank = trace.tracks.rank[trace.slices.track[rows]]
    order = np.argsort(rank, kind="stable")
    ranks, firsts = np.unique(rank[order], return_index=True)
    parts = np.split(order, firsts[1:])
    return {
        one: _numbered(trace, rows[part], [identities[place] for place in part.tolist()])
        for one, part in zip(ranks.tolist(), parts, strict=False)
    }


def share_one_group(trace: Trace) -> bool:
    """Whether the (first) file says that its rank is in one process group, that of all ranks.

    Source: ``distributedInfo``, which torch/profiler/profiler.py (2.13) writes in _get_distributed_info.
    """
    try:
        told = json.loads(dict(trace.facts.metadata).get("distributedInfo", ""))
        groups = told["pg_config"]
        return bool(told["pg_count"] == len(groups) == 1 and groups[0]["pg_size"] == told["world_size"])
    except (ValueError, TypeError, KeyError, IndexError):
        return False


def _numbered(trace: Trace, rows: Int64 | Int32, identities: Sequence[tuple[str, str, int]]) -> Collectives:
    """Numbers collectives that have no number of their own within their name and group, else within it.

    Several have one number where a call was coalesced from several and ran as several kernels.
    """
    keys: list[tuple[str, str, int, int]] = []
    seen: dict[tuple[str, str, int], int] = {}
    for identity in identities:
        order = seen.get(identity, 0)
        seen[identity] = order + 1
        keys.append((*identity, order))
    start_ns = trace.slices.start_ns[rows]
    return Collectives(
        rows.astype(np.int32), start_ns, start_ns + trace.slices.duration_ns[rows], tuple(keys)
    )


def _identity(trace: Trace, place: int) -> tuple[str, str, int]:
    work = trace.device_work
    row = int(work.collective_row[place])
    kernel = trace.strings[int(trace.slices.name_id[work.slice_row[place]])]
    if row == NO_ROW:
        return kernel, "", MISSING
    table = trace.collectives
    name = trace.strings[int(table.name_id[row])] or kernel
    # Groups that split_group() made of one parent may bear one name on all its ranks: their members differ.
    # Source: torch/distributed/distributed_c10d.py, which hashes the members into the name in newer versions
    # and only counts the groups in older ones.
    group = " ".join(trace.strings[int(each[row])] for each in (table.group_name_id, table.group_ranks_id))
    return name, group, int(table.sequence[row])


def match_collectives(ranks: Sequence[Collectives]) -> Int64:
    """Returns (m, ranks) int64: the place of each collective of all ranks in the list of each.

    Those that the file does not number, and whose name and group do not occur equally often on all ranks,
    are left out: then the first of one rank need not be the first of another.
    """
    counts: list[dict[tuple[str, str, int], int]] = []
    places: list[dict[tuple[str, str, int, int], int]] = []
    for one in ranks:
        count: dict[tuple[str, str, int], int] = {}
        for key in one.key:
            count[key[:3]] = count.get(key[:3], 0) + 1
        counts.append(count)
        places.append({key: place for place, key in enumerate(one.key)})
    rows = [
        [own[key] for own in places]
        for key in (ranks[0].key if ranks else ())
        if all(key in own for own in places) and len({count[key[:3]] for count in counts}) == 1
    ]
    return np.array(rows, np.int64).reshape(-1, len(ranks))
