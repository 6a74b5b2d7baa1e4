"""The table of the model's modules: how often each was called, its time on the host and on the device."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from core.analyses.answer_columns import number_column, own_text_column
from core.analyses.grouping import dense_pairs, times_by_group
from core.analyses.intervals import counts_by_key, sums_by_key
from core.tables.columns import MISSING, NO_ROW
from core.tables.result import ResultTable
from core.tables.selection import WHOLE, Selection

if TYPE_CHECKING:
    from core.analyses.index import TraceIndex
    from core.analyses.module_tree import ModuleTree
    from core.tables.columns import Bool, Int32, Int64

EMPTY: Final = "The trace names no modules. Record it with with_stack=True and with_modules=True."


def summarize_modules(index: TraceIndex, selection: Selection = WHOLE) -> ResultTable:
    """Makes a row for each module, from the outermost in, each followed by what it calls.

    A module called from two places has two rows. Device time is that of the work
    launched in the module, and by the backward of the operators in it.

    Args:
        index: The trace.
        selection: Calls and device work that start in it.
    """
    tree = index.modules
    if not len(tree.names):
        return ResultTable(name="modules", title="Modules", columns=(), empty=EMPTY)
    selected = selection.mask(index.trace.slices)
    calls, host_ns, host_self_ns, members, member_ends = _host(index, tree, selected)
    work_calls, work_ns = _device(index, tree, selected)
    order = _in_depth(tree)
    depth = _depths(tree)
    total_ns, total_calls = _with_inner(tree, work_ns), _with_inner(tree, work_calls)
    paths = [" / ".join(tree.names[each] for each in tree.path(node)) for node in order.tolist()]
    starts = member_ends - np.diff(member_ends, prepend=0)
    parts = [members[starts[node] : member_ends[node]] for node in order.tolist()]
    return ResultTable(
        name="modules",
        title="Modules",
        columns=(
            own_text_column(
                "name", "Module", "Class and number of the instance.", [tree.names[n] for n in order]
            ),
            own_text_column("path", "Path", "The modules that lead to it.", paths, shown=False),
            number_column("depth", "Depth", "id", "How many modules it lies in.", depth[order], shown=False),
            number_column(
                "calls", "Calls", "count", "Calls of the module.", calls[order], shown=tree.are_calls
            ),
            number_column("cpu_total_ns", "CPU total", "ns", "Its time on the host.", host_ns[order]),
            number_column(
                "cpu_self_ns", "CPU self", "ns", "Without the modules that it calls.", host_self_ns[order]
            ),
            number_column(
                "device_calls",
                "Launches",
                "count",
                "Kernels, copies and sets that it and its modules launched.",
                total_calls[order],
            ),
            number_column(
                "device_total_ns",
                "Device total",
                "ns",
                "Summed time of those kernels, copies and sets, forward and backward.",
                total_ns[order],
            ),
            number_column(
                "device_self_ns",
                "Device self",
                "ns",
                "Without what the modules that it calls launched.",
                work_ns[order],
            ),
        ),
        notes=_notes(index, selected),
        empty=EMPTY,
        members=np.concatenate(parts).astype(np.int32),
        member_ends=np.cumsum([len(part) for part in parts], dtype=np.int64),
    )


def _host(index: TraceIndex, tree: ModuleTree, selected: Bool) -> tuple[Int64, Int64, Int64, Int32, Int64]:
    """Returns calls, total and own time on the host by node, and the slices that make each node up."""
    slices, nodes = index.trace.slices, len(tree.names)
    rows = tree.span_rows[selected[tree.span_rows]]
    node = tree.node_of_slice[rows].astype(np.int64)
    nesting = index.nesting if tree.are_calls else index.calls
    outer_row = nesting.parent_row[rows]
    outer_span = np.where(outer_row == NO_ROW, NO_ROW, tree.span_of_slice[outer_row])
    outer = np.where(outer_span == NO_ROW, NO_ROW, tree.node_of_slice[outer_span]).astype(np.int64)
    # A call that began before the selection has no time here from which that of its calls could be taken.
    counted = (outer_span != NO_ROW) & selected[outer_span]
    times = times_by_group(node, nodes, slices.duration_ns[rows])
    calls = times.calls if tree.are_calls else np.full(nodes, MISSING, np.int64)
    total_ns = np.zeros(nodes, np.int64)
    self_ns = np.zeros(nodes, np.int64)
    kind_of = dense_pairs(dense_pairs(node, outer), counted.astype(np.int64))
    _, first = np.unique(kind_of, return_index=True)
    spent_ns = sums_by_key(kind_of, np.maximum(slices.duration_ns[rows], 0), len(first))
    for row, time_ns in zip(first.tolist(), spent_ns.tolist(), strict=True):
        # Time passes to the modules that are entered here, and is taken from the one they are entered from.
        already = set(tree.path(int(outer[row])))
        entered = [each for each in tree.path(int(node[row])) if each not in already]
        total_ns[entered] += time_ns
        self_ns[node[row]] += time_ns
        if counted[row]:
            self_ns[outer[row]] -= time_ns
    return calls, total_ns, self_ns, rows[times.order], times.ends


def _device(index: TraceIndex, tree: ModuleTree, selected: Bool) -> tuple[Int64, Int64]:
    """Returns how much device work each node itself launched, and its summed time."""
    work = index.trace.device_work
    chosen = selected[work.slice_row] & (index.node_of_work != NO_ROW)
    node = index.node_of_work[chosen].astype(np.int64)
    duration_ns = np.maximum(index.trace.slices.duration_ns[work.slice_row[chosen]], 0)
    return counts_by_key(node, len(tree.names)), sums_by_key(node, duration_ns, len(tree.names))


def _with_inner(tree: ModuleTree, values: Int64) -> Int64:
    """Adds to each node what the nodes in it have."""
    total = values.copy()
    for node in range(len(total) - 1, -1, -1):
        if tree.parent[node] != NO_ROW:
            total[tree.parent[node]] += total[node]
    return total


def _depths(tree: ModuleTree) -> Int64:
    depth = np.zeros(len(tree.names), np.int64)
    for node, parent in enumerate(tree.parent.tolist()):
        if parent != NO_ROW:
            depth[node] = depth[parent] + 1
    return depth


def _in_depth(tree: ModuleTree) -> Int64:
    """Returns the nodes, each followed by those in it, in the order in which they were met."""
    inner: list[list[int]] = [[] for _ in tree.names]
    waiting: list[int] = []
    for node, parent in enumerate(tree.parent.tolist()):
        (waiting if parent == NO_ROW else inner[parent]).append(node)
    waiting.reverse()
    order = []
    while waiting:
        node = waiting.pop()
        order.append(node)
        waiting += reversed(inner[node])
    return np.array(order, np.int64)


def _notes(index: TraceIndex, selected: Bool) -> tuple[str, ...]:
    outside = selected[index.trace.device_work.slice_row] & (index.node_of_work == NO_ROW)
    count = int(np.count_nonzero(outside))
    if not count:
        return ()
    what = "1 kernel, copy or set was" if count == 1 else f"{count:,} kernels, copies and sets were"
    return (f"{what} launched outside any module.",)
