"""The kernels of a trace, launch by launch: when, how wide, and who asked for it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from core.analyses.answer_columns import number_column, text_column
from core.analyses.grouping import dense_pairs
from core.analyses.kernels import CATEGORY_TITLES, KERNELS_ONLY, choose_work, linking_notes, why_no_kernels
from core.tables.columns import MISSING, NO_ROW
from core.tables.result import Column, ResultTable
from core.tables.selection import WHOLE, Selection
from core.units import format_shape

if TYPE_CHECKING:
    from collections.abc import Collection

    from numpy.typing import NDArray

    from core.analyses.categories import Category
    from core.analyses.index import TraceIndex
    from core.tables.columns import Int32, Int64
    from core.tables.trace import SliceKind


def list_launches(
    index: TraceIndex,
    selection: Selection = WHOLE,
    *,
    categories: Collection[Category] | None = None,
    kinds: Collection[SliceKind] = KERNELS_ONLY,
) -> ResultTable:
    """Lists kernels one by one, by start.

    Args:
        index: The trace.
        selection: Kernels that start in it.
        categories: Only these; None for all.
        kinds: Kinds of device work that count: kernels, or copies and sets too.
    """
    places = choose_work(index, selection, kinds)
    if categories is not None:
        places = places[np.isin(index.categories[places], list(map(int, categories)))]
    rows = index.trace.device_work.slice_row[places]
    in_time = np.argsort(index.trace.slices.start_ns[rows], kind="stable")
    places, rows = places[in_time], rows[in_time]
    return ResultTable(
        name="launches",
        title="Launches",
        columns=(
            *_what_and_when(index, places, rows),
            *_launch_shape(index, places),
            *_caller(index, places),
            *_where(index, places, rows),
        ),
        notes=linking_notes(index, places),
        empty="" if len(places) else why_no_kernels(index),
        members=rows,
        member_ends=np.arange(1, len(rows) + 1, dtype=np.int64),
    )


def _what_and_when(index: TraceIndex, places: Int64, rows: Int32) -> tuple[Column, ...]:
    slices, links = index.trace.slices, index.links
    short, short_texts = index.short_names
    category = index.categories[places].astype(np.int32)
    return (
        text_column(
            "name", "Kernel", "Short name; names that differ stay different.", short[places], short_texts
        ),
        text_column(
            "full_name",
            "Full name",
            "Name as it stands in the trace.",
            slices.name_id[rows],
            index.trace.strings,
            shown=False,
        ),
        text_column(
            "category", "Category", "Kind of work, told from the kernel's name.", category, CATEGORY_TITLES
        ),
        number_column("start_ns", "Start", "ns", "Since the begin of the trace.", slices.start_ns[rows]),
        number_column(
            "duration_ns",
            "Duration",
            "ns",
            "As recorded; a negative or missing one is in no sum.",
            slices.duration_ns[rows],
        ),
        number_column(
            "launch_delay_ns",
            "Launch delay",
            "ns",
            "From the begin of the launching call to the begin of the kernel.",
            links.launch_delay_ns[places],
        ),
        number_column(
            "clock_skew_ns",
            "Clock skew",
            "ns",
            "How long before its own launch the kernel begins, which cannot be.",
            links.clock_skew_ns[places],
            shown=False,
        ),
    )


def _launch_shape(index: TraceIndex, places: Int64) -> tuple[Column, ...]:
    work = index.trace.device_work
    registers, shared = work.registers_per_thread[places], work.shared_memory_bytes[places]
    return (
        text_column("grid", "Grid", "Blocks in x, y and z.", *_triples(work.grid[places])),
        text_column("block", "Block", "Threads of a block in x, y and z.", *_triples(work.block[places])),
        number_column("registers", "Registers", "count", "Registers of a thread.", registers, shown=False),
        number_column(
            "shared_memory_bytes", "Shared memory", "bytes", "Shared memory of a block.", shared, shown=False
        ),
        number_column(
            "occupancy_pct",
            "Occupancy",
            "pct",
            "The profiler's estimate, not a measurement.",
            work.occupancy_pct[places],
            shown=False,
        ),
    )


def _triples(values: NDArray[np.int64]) -> tuple[Int32, tuple[str, ...]]:
    """Returns ids of the texts of three numbers each, every text formed once."""
    place = dense_pairs(dense_pairs(values[:, 0], values[:, 1]), values[:, 2])
    _, first = np.unique(place, return_index=True)
    distinct = values[first].tolist()
    texts = tuple(format_shape(each) for each in distinct)
    known = np.array([MISSING not in each for each in distinct], np.bool_)
    ids = np.where(known, np.arange(len(distinct)), NO_ROW).astype(np.int32)
    return ids[place], texts


def _caller(index: TraceIndex, places: Int64) -> tuple[Column, ...]:
    strings = index.trace.strings
    op_row = index.links.op_row[places]
    name_id = np.where(op_row == NO_ROW, NO_ROW, index.trace.slices.name_id[op_row]).astype(np.int32)
    dims, types = index.op_arguments(op_row)
    module, modules = index.module_of_work
    explained = "Of the operator (record_shapes)."
    return (
        text_column("op", "Operator", "Operator that launched it.", name_id, strings),
        text_column("input_dims", "Input shapes", explained, dims, strings, shown=False),
        text_column("input_types", "Input types", explained, types, strings, shown=False),
        text_column(
            "module", "Module", "Module of the model that launched it.", module[places], modules, shown=False
        ),
    )


def _where(index: TraceIndex, places: Int64, rows: Int32) -> tuple[Column, ...]:
    work = index.trace.device_work
    step = index.step_of_work[places]
    number = np.full(len(places), MISSING, np.int64)
    number[step != NO_ROW] = index.steps.number[step[step != NO_ROW]]
    rank = index.trace.tracks.rank[index.trace.slices.track[rows]]
    has_rank, has_steps = bool((rank != MISSING).any()), len(index.steps) > 0
    return (
        number_column("step", "Step", "id", "Step that launched it.", number, shown=has_steps),
        number_column("rank", "Rank", "id", "Rank of its process.", rank, shown=has_rank),
        number_column("device", "Device", "id", "Number of the device.", work.device[places]),
        number_column("stream", "Stream", "id", "Number of the stream.", work.stream[places]),
        number_column(
            "slice_row", "Row", "id", "Row of the trace's slices.", rows.astype(np.int64), shown=False
        ),
    )
