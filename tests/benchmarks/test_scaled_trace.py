"""The traces that the benchmarks are measured on: copies in a row, each with its own links."""

from __future__ import annotations

import gzip
from typing import TYPE_CHECKING

import numpy as np
import pytest

from core.analyses.index import TraceIndex
from core.readers.torch_trace.reader import read_trace
from tests.benchmarks.scaled_trace import made_trace, scale

if TYPE_CHECKING:
    from pathlib import Path

SOURCE = b"""{"schemaVersion": 1, "traceEvents": [
  {"ph": "M", "name": "process_name", "pid": 1, "tid": 0, "ts": 0, "args": {"name": "python"}},
  {"ph": "X", "cat": "cpu_op", "name": "a \\"ts\\": 7 name", "pid": 1, "tid": 1, "ts": 1000.125, "dur": 50,
   "args": {"External id": 4, "Input Dims": [[ 8, 64 ]]}},
  {"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 1, "tid": 1, "ts": 1010, "dur": 5,
   "args": {"correlation": 9}},
  {"ph": "X", "cat": "kernel", "name": "gemm", "pid": 0, "tid": 7, "ts": 1020.001, "dur": 30.002,
   "args": {"External id": 0, "correlation": 9, "stream": 7}}
], "traceName": "x"}"""


@pytest.mark.parametrize("pack", [bytes, gzip.compress])
def test_every_copy_is_later_and_linked_in_itself(tmp_path: Path, pack: type[bytes]) -> None:
    scale(pack(SOURCE), {tmp_path / "t1.json": 1, tmp_path / "t3.json": 3})
    one, three = (read_trace(tmp_path / name) for name in ("t1.json", "t3.json"))
    assert (len(one.slices), len(three.slices), three.facts.event_count) == (3, 9, 10)
    assert three.problems == ()
    copies = three.slices.start_ns.reshape(3, 3)
    assert copies[0].tolist() == one.slices.start_ns.tolist() == [0, 9_875, 19_876]
    assert np.diff(copies, axis=0).tolist() == [[1_050_000] * 3] * 2
    assert TraceIndex(three).links.op_row.tolist() == [0, 3, 6]
    assert three.strings[int(three.slices.name_id[3])] == 'a "ts": 7 name'


def test_a_made_up_source_is_linked_too(tmp_path: Path) -> None:
    scale(made_trace(layers=10), {tmp_path / "t2.json": 2})
    links = TraceIndex(read_trace(tmp_path / "t2.json")).links
    assert len(links) == 60
    assert (links.launch_row >= 0).all()
    assert (links.op_row >= 0).all()
