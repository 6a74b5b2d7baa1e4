"""The index of a timeline: slices laid into rows that do not overlap, ready to be drawn at any zoom.

A lane (a stream, a thread) has one row or more: its first row, and one further
row for each slice that was still running when another began. So nested calls
take a row a depth, and overlapping kernels lie below each other; nothing is
dropped. Rows of one lane follow each other; slices of one row are sorted and
touch at most.

A row is cut into blocks of ``block_size`` slices. Between the blocks of each
pair the busy time so far is noted for each colour. The busy time up to any
moment is then a note plus or minus what the slices of one block add to it,
which makes a picture exact at every zoom at the same cost.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from core.tables.columns import Float64, Int32, Int64, Uint8, freeze_columns

IDLE: Final = 255
"""Colour of a pixel in which nothing ran."""

MOST_COLOURS: Final = 255
"""Colours are numbers below this."""


@dataclass(frozen=True, slots=True)
class LaneFacts:
    """What a lane is.

    Attributes:
        name: "Stream 7".
        note: What it does: "all-gather".
        group: Number of its group.
        host: It belongs to the host: its rows are depths of calls.
        tall: It is the main lane of its group and drawn higher.
        in_overview: It counts for what the overview shows as busy.
    """

    name: str
    note: str = ""
    group: int = 0
    host: bool = False
    tall: bool = False
    in_overview: bool = True


@dataclass(frozen=True, slots=True)
class GroupFacts:
    """What lanes are grouped by: a rank, a process, a device.

    Attributes:
        name: "Rank 0".
        note: "GPU 0".
        rank: Its number if it is a rank, for its colour.
    """

    name: str
    note: str = ""
    rank: int | None = None


@dataclass(frozen=True, slots=True, eq=False)
class TimelineSlices:
    """What an index is built from. Columns (n,), in any order.

    Attributes:
        start_ns: int64.
        duration_ns: int64 as recorded: may be negative or MISSING.
        lane: int32, number of the lane.
        colour: uint8, below MOST_COLOURS.
    """

    start_ns: Int64
    duration_ns: Int64
    lane: Int32
    colour: Uint8

    def __post_init__(self) -> None:
        freeze_columns(
            self, {"start_ns": np.int64, "duration_ns": np.int64, "lane": np.int32, "colour": np.uint8}
        )

    def __len__(self) -> int:
        return len(self.start_ns)


@dataclass(frozen=True, slots=True, eq=False)
class TimelineMarks:
    """Slices without a possible length: negative, missing, or past the end of time. Columns (n,).

    Attributes:
        time_ns: int64, their start; ascending.
        lane: int32.
        slice_row: int32, row of ``TimelineSlices``.
    """

    time_ns: Int64
    lane: Int32
    slice_row: Int32

    def __post_init__(self) -> None:
        freeze_columns(self, {"time_ns": np.int64, "lane": np.int32, "slice_row": np.int32})

    def __len__(self) -> int:
        return len(self.time_ns)


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class TimelineIndex:
    """Slices in rows, and what a picture of them needs.

    ``x_first[i] : x_first[i + 1]`` are the entries of row (or lane) ``i``.

    Attributes:
        lanes: What each lane is.
        groups: What the lanes' groups are.
        colour_count: Colours in use are below this.
        block_size: Slices of a block; only a row's last has fewer.
        lane_first: (lanes + 1,) int64, rows of a lane.
        row_lane: (rows,) int32.
        row_longest_ns: (rows,) int64, duration of the longest slice, 0 if there is none.
        row_first: (rows + 1,) int64, slices of a row.
        start_ns, end_ns: (n,) int64; a slice without length starts where it ends.
        colour: (n,) uint8.
        slice_row: (n,) int32, row of ``TimelineSlices``.
        block_first: (rows + 1,) int64, blocks of a row.
        block_start_ns: (blocks,) int64, start of the block's first slice.
        block_slices: (blocks, block_size) uint64, its slices once more, each in one word, because
            reading them is what a crowded picture waits for: start since the block's << 36, duration << 8,
            colour. All bits are set in blocks with a slice that does not fit.
        note_first: (rows + 1,) int64, notes of a row, one for each two blocks.
        note_busy_ns: (notes, colour_count), busy time of the row up to the end of the pair's first block;
            uint32 if that holds all of them, because half as much has to be read then, else int64.
        tick_first: (rows + 1,) int64, slices without length of a row.
        tick_ns: (ticks,) int64.
        tick_colour: (ticks,) uint8.
        marks: Slices that cannot be drawn with a length.
        unplaced_count: Slices without a start; they are nowhere in the index.
        start_of_all_ns, end_of_all_ns: Extent of slices and marks, at least 1 ns.
        overview_busy_ns: (groups, bins) int64, time in which any lane of the group that counts was busy,
            in equal parts of the extent (see ``edges_ns``).
    """

    lanes: tuple[LaneFacts, ...]
    groups: tuple[GroupFacts, ...]
    colour_count: int
    block_size: int
    lane_first: Int64
    row_lane: Int32
    row_longest_ns: Int64
    row_first: Int64
    start_ns: Int64
    end_ns: Int64
    colour: Uint8
    slice_row: Int32
    block_first: Int64
    block_start_ns: Int64
    block_slices: NDArray[np.uint64]
    note_first: Int64
    note_busy_ns: Int64 | NDArray[np.uint32]
    tick_first: Int64
    tick_ns: Int64
    tick_colour: Uint8
    marks: TimelineMarks
    unplaced_count: int
    start_of_all_ns: int
    end_of_all_ns: int
    overview_busy_ns: Int64

    def __post_init__(self) -> None:
        if any(not 0 <= lane.group < len(self.groups) for lane in self.lanes):
            raise ValueError("a lane belongs to no group")
        freeze_columns(self, {"lane_first": np.int64})
        freeze_columns(self, {"row_lane": np.int32, "row_longest_ns": np.int64})
        firsts = ("row_first", "block_first", "note_first", "tick_first")
        freeze_columns(self, dict.fromkeys(firsts, np.int64))
        freeze_columns(
            self, {"start_ns": np.int64, "end_ns": np.int64, "colour": np.uint8, "slice_row": np.int32}
        )
        freeze_columns(
            self,
            {"block_start_ns": np.int64, "block_slices": np.uint64},
            {"block_slices": self.block_size},
        )
        noted = np.uint32 if self.note_busy_ns.dtype == np.uint32 else np.int64
        freeze_columns(self, {"note_busy_ns": noted}, {"note_busy_ns": self.colour_count})
        freeze_columns(self, {"tick_ns": np.int64, "tick_colour": np.uint8})
        bins = self.overview_busy_ns.shape[-1]
        freeze_columns(self, {"overview_busy_ns": np.int64}, {"overview_busy_ns": bins})

    def __len__(self) -> int:
        return len(self.start_ns)

    @property
    def row_count(self) -> int:
        """Rows of all lanes."""
        return len(self.row_lane)

    def rows_of_lane(self, lane: int) -> range:
        """The rows of a lane; one at least."""
        return range(int(self.lane_first[lane]), int(self.lane_first[lane + 1]))


@dataclass(frozen=True, slots=True, eq=False)
class CounterLane:
    """A value over time, such as allocated memory; it holds from one sample to the next.

    Attributes:
        name: "Memory".
        note: What stands beside it: its largest value in words.
        group: Number of its group.
        time_ns: (n,) int64, ascending.
        value: (n,) float64, finite.
    """

    name: str
    note: str
    group: int
    time_ns: Int64
    value: Float64

    def __post_init__(self) -> None:
        freeze_columns(self, {"time_ns": np.int64, "value": np.float64})
        if not np.isfinite(self.value).all() or (np.diff(self.time_ns) < 0).any():
            raise ValueError(f"{self.name}: samples are finite and in the order of time")
