"""Which module of the model each slice and each kernel belongs to.

Modules are known from the Python frames of their calls (``with_stack``), named
"nn.Module: Linear_3", or else from the ``Module Hierarchy`` of operators
(TorchScript, ``with_modules``). The backward pass has neither: its operators carry
the sequence number of the forward operator they undo.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

import numpy as np

from core.analyses.grouping import dense_ids, dense_pairs
from core.analyses.nesting import nearest_where
from core.tables.columns import MISSING, NO_ROW, freeze_columns
from core.tables.trace import SliceKind

if TYPE_CHECKING:
    from core.analyses.nesting import Nesting
    from core.tables.columns import Bool, Int32, Int64
    from core.tables.trace import Trace

# Source: torch/csrc/autograd/profiler_python.cpp (1.12 to 2.13).
_FRAME: Final = "nn.Module: "
MOST_DEPTH: Final = 128
"""Deeper modules count as the one that they lie in: Python itself ends calls at a thousand frames."""


@dataclass(frozen=True, slots=True, eq=False)
class ModuleTree:
    """The modules of a trace. A node is a module called from a certain place: a path of modules.

    Attributes:
        names: Name of each node: "Linear_3", or "conv1 (Conv2d)".
        parent: (nodes,) int32, node of the caller, NO_ROW. Parents come before their children.
        node_of_slice: (slices,) int32, the innermost node each slice of the host ran in, NO_ROW.
        span_rows: (spans,) int32, slices that are calls of modules, or operators that name theirs.
        span_of_slice: (slices,) int32, the innermost of them that each slice lies in or is, NO_ROW.
        are_calls: Whether spans are calls of modules.
    """

    names: tuple[str, ...]
    parent: Int32
    node_of_slice: Int32
    span_rows: Int32
    span_of_slice: Int32
    are_calls: bool

    def __post_init__(self) -> None:
        freeze_columns(self, {"parent": np.int32})
        freeze_columns(self, {"node_of_slice": np.int32, "span_of_slice": np.int32})
        freeze_columns(self, {"span_rows": np.int32})

    def path(self, node: int) -> list[int]:
        """Returns the nodes from the outermost to this one."""
        found = []
        while node != NO_ROW:
            found.append(node)
            node = int(self.parent[node])
        return found[::-1]


def find_modules(trace: Trace, nesting: Nesting, calls: Nesting) -> ModuleTree:
    """Finds the modules of a trace.

    Args:
        trace: The trace.
        nesting: Its tree of all slices of the host.
        calls: Its tree without Python frames.
    """
    frames = _module_frames(trace)
    tree = _from_frames(trace, nesting, frames) if frames.any() else _from_hierarchies(trace, calls)
    node_of_slice = tree.node_of_slice.copy()
    forward = _forward_ops(trace, calls)
    undone = (node_of_slice == NO_ROW) & (forward != NO_ROW)
    node_of_slice[undone] = tree.node_of_slice[forward[undone]]
    return replace(tree, node_of_slice=node_of_slice)


def nodes_of_work(tree: ModuleTree, launch_row: Int32, op_row: Int32) -> Int32:
    """Returns (device work,) int32: the node that launched each piece of device work, NO_ROW."""
    origin = np.where(launch_row == NO_ROW, op_row, launch_row)
    if not len(tree.node_of_slice):
        return origin.astype(np.int32)
    return np.where(origin == NO_ROW, NO_ROW, tree.node_of_slice[origin]).astype(np.int32)


def _module_frames(trace: Trace) -> Bool:
    """Returns (slices,) bool."""
    slices = trace.slices
    python: Bool = slices.kind == SliceKind.PYTHON
    names, _ = dense_ids(slices.name_id[python])
    modules = [name for name in names.tolist() if trace.strings[name].startswith(_FRAME)]
    return python & np.isin(slices.name_id, modules)


def _from_frames(trace: Trace, nesting: Nesting, frames: Bool) -> ModuleTree:
    slices = trace.slices
    around = nearest_where(nesting, frames)
    rows = np.flatnonzero(frames & (around != NO_ROW)).astype(np.int32)
    outer_row = nesting.parent_row[rows]
    outer = np.where(outer_row == NO_ROW, NO_ROW, around[outer_row])
    node = np.full(len(slices), NO_ROW, np.int32)
    names: list[str] = []
    # Frames whose times are impossible have no place: there may be nodes of none.
    parents = [np.empty(0, np.int32)]
    # Level by level: there are few levels, and may be many frames.
    here = outer == NO_ROW
    levels = 0
    while here.any() and levels < MOST_DEPTH:
        levels += 1
        parent = np.where(outer[here] == NO_ROW, NO_ROW, node[outer[here]]).astype(np.int64)
        name_id = slices.name_id[rows[here]]
        place = dense_pairs(parent, name_id.astype(np.int64))
        _, first = np.unique(place, return_index=True)
        node[rows[here]] = place + len(names)
        names += [trace.strings[each].removeprefix(_FRAME) for each in name_id[first].tolist()]
        parents.append(parent[first].astype(np.int32))
        here = (node[rows] == NO_ROW) & (outer != NO_ROW) & (node[outer] != NO_ROW)
    placed = node[rows] != NO_ROW
    if not placed.all():
        frames = frames & (node != NO_ROW)
        around, rows = nearest_where(nesting, frames), rows[placed]
    return ModuleTree(
        tuple(names),
        np.concatenate(parents),
        np.where(around == NO_ROW, NO_ROW, node[around]).astype(np.int32),
        rows,
        around,
        are_calls=True,
    )


def _from_hierarchies(trace: Trace, calls: Nesting) -> ModuleTree:
    """Reads "top(ResNet)::forward.layer1(Sequential)::forward", one text for each place in the model."""
    ops = trace.ops
    texts, place = dense_ids(ops.module_hierarchy_id)
    nodes: dict[tuple[int, str], int] = {}
    node_of_text = np.full(len(texts), NO_ROW, np.int32)
    for at, text_id in enumerate(texts.tolist()):
        node = NO_ROW
        # Source: ModuleInstanceInfo of torch/csrc/jit: name(Class)::method, joined by dots.
        for part in filter(None, trace.strings[text_id].split(".", MOST_DEPTH)[:MOST_DEPTH]):
            instance, _, kind = part.partition("::")[0].partition("(")
            name = f"{instance} ({kind.removesuffix(')')})" if kind else instance
            node = nodes.setdefault((node, name), len(nodes))
        node_of_text[at] = node
    node_of_op = node_of_text[place]
    named = node_of_op != NO_ROW
    rows = ops.slice_row[named]
    node_of_slice = np.full(len(trace.slices), NO_ROW, np.int32)
    node_of_slice[rows] = node_of_op[named]
    around = nearest_where(calls, node_of_slice != NO_ROW)
    return ModuleTree(
        tuple(name for _, name in nodes),
        np.array([parent for parent, _ in nodes], np.int32),
        np.where(around == NO_ROW, NO_ROW, node_of_slice[around]).astype(np.int32),
        rows,
        around,
        are_calls=False,
    )


def _forward_ops(trace: Trace, calls: Nesting) -> Int32:
    """Returns (slices,) int32: the forward operator that the backward operator around each slice undoes.

    Both carry one sequence number, the backward one also a forward thread. Of
    several forward operators with the number the last to begin made the node of
    the graph: it is the one before the number went up.

    Source: torch/csrc/profiler/kineto (fwd-bwd links), torch 1.9 to 2.13.
    """
    found = np.full(len(trace.slices), NO_ROW, np.int32)
    ops, slices = trace.ops, trace.slices
    numbered = ops.sequence_number >= 0
    backward = np.flatnonzero(numbered & (ops.forward_thread_id > 0))
    forward = np.flatnonzero(numbered & (ops.forward_thread_id <= 0))
    if not len(backward) or not len(forward):
        return found
    rank = trace.tracks.rank[slices.track]
    number = dense_pairs(rank[ops.slice_row], ops.sequence_number)
    start_ns = slices.start_ns[ops.slice_row]
    undoes = np.full(len(ops), NO_ROW, np.int32)
    place = _last_before(number, start_ns, forward, backward)
    undoes[backward[place >= 0]] = ops.slice_row[forward[place[place >= 0]]]
    of_slice = np.full(len(slices), NO_ROW, np.int32)
    of_slice[ops.slice_row] = undoes
    around = nearest_where(calls, of_slice != NO_ROW)
    known = around != NO_ROW
    found[known] = of_slice[around[known]]
    return found


def _last_before(number: Int64, start_ns: Int64, known: Int64, asked: Int64) -> Int64:
    """Returns for each of ``asked`` the position in ``known`` of the last of its number that began before."""
    order = np.lexsort((start_ns[known], number[known]))
    both = np.concatenate((known[order], asked))
    is_asked = np.arange(len(both)) >= len(known)
    merged = np.lexsort((is_asked, start_ns[both], number[both]))
    last = np.maximum.accumulate(np.where(is_asked[merged], -1, merged))
    place = np.full(len(both), -1, np.int64)
    place[merged] = last
    answer = place[len(known) :]
    sound = (answer >= 0) & (number[both[answer]] == number[asked])
    return np.where(sound, order[answer], MISSING)
