"""What several analyses need of one trace, computed at first use and kept.

It holds no answers of its own: each property is the answer of one module here.
One worker uses it at a time; two that meet compute a thing twice and get the same.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from core.analyses.categories import categorize
from core.analyses.kernel_names import short_names
from core.analyses.kernel_work import find_kernel_work
from core.analyses.links import link_device_work
from core.analyses.module_tree import find_modules, nodes_of_work
from core.analyses.nesting import CALL_KINDS, nest_slices
from core.analyses.step_ranges import find_steps, steps_of_work
from core.tables.columns import NO_ROW
from core.tables.strings import string_table

if TYPE_CHECKING:
    from core.analyses.kernel_work import KernelWork
    from core.analyses.links import Links
    from core.analyses.module_tree import ModuleTree
    from core.analyses.nesting import Nesting
    from core.analyses.step_ranges import Steps
    from core.tables.columns import Int32, Uint8
    from core.tables.strings import StringTable
    from core.tables.trace import Trace


class TraceIndex:
    """A trace, and what is found out about it once for all analyses."""

    def __init__(self, trace: Trace) -> None:
        self.trace = trace

    @cached_property
    def nesting(self) -> Nesting:
        """The tree of all slices of the host."""
        return nest_slices(self.trace.slices, self.trace.tracks)

    @cached_property
    def calls(self) -> Nesting:
        """The tree of operators, annotations and runtime calls, as if there were no Python frames."""
        return nest_slices(self.trace.slices, self.trace.tracks, CALL_KINDS)

    @cached_property
    def links(self) -> Links:
        """What launched each piece of device work."""
        return link_device_work(self.trace, self.calls)

    @cached_property
    def categories(self) -> Uint8:
        """(device work,) uint8, ``Category``."""
        return categorize(self.trace)

    @cached_property
    def steps(self) -> Steps:
        """The training steps."""
        return find_steps(self.trace)

    @cached_property
    def step_of_work(self) -> Int32:
        """(device work,) int32: row of ``steps`` that launched each piece of device work, NO_ROW."""
        return steps_of_work(self.trace, self.steps, self.links.launch_row)

    @cached_property
    def short_name_of(self) -> dict[str, str]:
        """The short name of device work by its full name: the same in every table, whatever part it is of."""
        name_id = self.trace.slices.name_id[self.trace.device_work.slice_row]
        full = [self.trace.strings[text_id] for text_id in np.unique(name_id).tolist()]
        return dict(zip(full, short_names(full), strict=True))

    @cached_property
    def short_names(self) -> tuple[Int32, StringTable]:
        """The short name of each piece of device work, as ids (device work,) int32, and their texts."""
        name_id = self.trace.slices.name_id[self.trace.device_work.slice_row]
        distinct, place = np.unique(name_id, return_inverse=True)
        short = [self.short_name_of[self.trace.strings[text_id]] for text_id in distinct.tolist()]
        ids: dict[str, int] = {}
        moved = np.array([ids.setdefault(text, len(ids)) for text in short], np.int32)
        return moved[place], string_table(ids)

    @cached_property
    def modules(self) -> ModuleTree:
        """The modules of the model."""
        return find_modules(self.trace, self.nesting, self.calls)

    @cached_property
    def node_of_work(self) -> Int32:
        """(device work,) int32: node of ``modules`` that launched each piece of device work, NO_ROW."""
        return nodes_of_work(self.modules, self.links.launch_row, self.links.op_row)

    @cached_property
    def module_of_work(self) -> tuple[Int32, tuple[str, ...]]:
        """The name of that module, as ids (device work,) int32, NO_ROW, and the names, each once."""
        ids: dict[str, int] = {}
        id_of_node = np.array([ids.setdefault(name, len(ids)) for name in self.modules.names], np.int32)
        if not ids:
            return self.node_of_work, ()
        names = np.where(self.node_of_work == NO_ROW, NO_ROW, id_of_node[self.node_of_work])
        return names.astype(np.int32), tuple(ids)

    @cached_property
    def kernel_work(self) -> KernelWork:
        """Whose work each kernel does, and how much it is at least."""
        return find_kernel_work(self)

    def op_arguments(self, rows: Int32) -> tuple[Int32, Int32]:
        """Returns the text ids of input shapes and input types of some slices, NO_ROW where there are none.

        Args:
            rows: (m,) int32, rows of ``SliceTable``, NO_ROW for none.
        """
        ops = self.trace.ops
        if not len(ops):
            return np.full(len(rows), NO_ROW, np.int32), np.full(len(rows), NO_ROW, np.int32)
        place = np.minimum(np.searchsorted(ops.slice_row, rows), len(ops) - 1)
        known = (ops.slice_row[place] == rows) & (rows != NO_ROW)
        dims = np.where(known, ops.input_dims_id[place], NO_ROW).astype(np.int32)
        types = np.where(known, ops.input_types_id[place], NO_ROW).astype(np.int32)
        return dims, types
