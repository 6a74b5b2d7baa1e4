"""Traces that are hostile by size: twice as much must take about twice as long, in the reader and behind it.

Run it with ``python -m tests.fuzz.growth [NAME ...]``: it prints the time of each
at one size and at four times that size, and what grows faster than it should.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, Final

from core.analyses.index import TraceIndex
from core.analyses.quality import judge
from core.analyses.registry import ANALYSES
from core.analyses.totals import summarize_totals
from core.errors import DashboardError
from core.readers.torch_trace.reader import read_trace
from core.tables.selection import WHOLE
from tests.fuzz.checks import block_bytes

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

SIZE: Final = 4_000
TIMES: Final = 4
MOST_RATIO: Final = 8.0
"""Four times as much, sorted, and noise."""
IGNORED_S: Final = 0.3
PART_BYTES: Final = 2**16

Event = dict[str, Any]


def event(n: int, **more: Any) -> Event:
    return {
        "ph": "X",
        "cat": "cpu_op",
        "name": "aten::mm",
        "pid": 1,
        "tid": 1,
        "ts": 10 * n,
        "dur": 5,
        **more,
    }


def kernel(n: int, **more: Any) -> Event:
    return event(n, **{"cat": "kernel", "name": "k", "pid": 0, "tid": 7, "args": {"correlation": n}, **more})


def trace(events: Iterable[Event], **keys: Any) -> bytes:
    return json.dumps({"traceEvents": list(events), **keys}).encode()


def rows(row: bytes, n: int) -> bytes:
    return b'{"traceEvents": [' + b",\n".join([row] * n) + b"]}"


def _row(more: bytes) -> bytes:
    return b'{"ph": "X", "cat": "kernel", "name": "k", "ts": 1, "dur": 1' + more + b"}"


CASES: Final[dict[str, Callable[[int], bytes]]] = {
    "usual": lambda n: trace(kernel(k) for k in range(n)),
    "a category each": lambda n: trace(event(k, cat=f"c{k}") for k in range(n)),
    "a process each": lambda n: trace(kernel(k, pid=k) for k in range(n)),
    "a thread each": lambda n: trace(event(k, tid=k) for k in range(n)),
    "a rank each": lambda n: trace(kernel(k, args={"rank": k}) for k in range(n)),
    "a rank and a thread each": lambda n: trace(kernel(k, tid=k, args={"rank": k}) for k in range(n)),
    "a name each": lambda n: trace(kernel(k, name=f"void f<{k}>(int)") for k in range(n)),
    "a copy name each, no category": lambda n: trace(
        kernel(k, name=f"f{k}", cat=None, pid="GPU 0") for k in range(n)
    ),
    "a step each": lambda n: trace(
        e
        for k in range(n // 2)
        for e in (event(k, name=f"ProfilerStep#{k}", cat="user_annotation"), kernel(k))
    ),
    "a step each, a thread each": lambda n: trace(
        event(k, name=f"ProfilerStep#{k}", cat="user_annotation", tid=k) for k in range(n)
    ),
    "all at once": lambda n: trace(event(0) for _ in range(n)),
    "kernels all at once": lambda n: trace(kernel(0) for _ in range(n)),
    "nested all in all": lambda n: trace(event(0, ts=k, dur=4 * n - 2 * k) for k in range(n)),
    "kernels nested": lambda n: trace(kernel(0, ts=k, dur=4 * n - 2 * k) for k in range(n)),
    "modules nested": lambda n: trace(
        event(0, ts=k, dur=4 * n - 2 * k, cat="python_function", name=f"nn.Module: L_{k}") for k in range(n)
    ),
    "one correlation": lambda n: trace(
        e
        for k in range(n // 2)
        for e in (
            kernel(k, args={"correlation": 1}),
            event(k, cat="cuda_runtime", name="cudaLaunchKernel", args={"correlation": 1}),
        )
    ),
    "one flow": lambda n: trace(
        {"ph": "sf"[k % 2], "id": 1, "cat": "ac2g", "ts": k, "name": "f"} for k in range(n)
    ),
    "begins without ends": lambda n: trace(event(k, ph="B") for k in range(n)),
    "a group each": lambda n: trace(
        kernel(
            k,
            name="ncclDevKernel_AllReduce",
            args={
                "Collective name": "allreduce",
                "Process Group Name": str(k),
                "In msg nelems": k,
                "dtype": "Float",
                "Group size": k,
                "Process Group Ranks": f"[{k}]",
                "rank": k % 9,
            },
        )
        for k in range(n)
    ),
    "one address": lambda n: trace(
        [
            event(0),
            *(
                {
                    "ph": "i",
                    "name": "[memory]",
                    "ts": k,
                    "pid": 1,
                    "tid": 1,
                    "args": {"Addr": 8, "Bytes": 512, "Device Type": 1, "Device Id": 0, "Total Allocated": k},
                }
                for k in range(n)
            ),
        ]
    ),
    "a device each": lambda n: trace(
        [
            event(0),
            *(
                {
                    "ph": "i",
                    "name": "[memory]",
                    "ts": k,
                    "pid": 1,
                    "tid": 1,
                    "args": {"Addr": k, "Bytes": 512, "Device Type": 1, "Device Id": k, "Total Allocated": k},
                }
                for k in range(n)
            ),
        ]
    ),
    "a shape each": lambda n: trace(
        event(k, args={"Input Dims": [[k]], "Sequence number": k}) for k in range(n)
    ),
    "a hierarchy each": lambda n: trace(
        event(k, args={"Module Hierarchy": f"a(B).{k}(C)"}) for k in range(n)
    ),
    "a series each": lambda n: trace([event(0), event(0, ph="C", args={f"s{k}": k for k in range(n)})]),
    "names of threads": lambda n: trace(
        [
            event(0),
            *(
                {"ph": "M", "name": "thread_name", "pid": 0, "tid": k, "args": {"name": "a"}}
                for k in range(n)
            ),
        ]
    ),
    "keys behind": lambda n: trace([kernel(0)], **{f"key{k}": k for k in range(n)}),
    "keys before": lambda n: json.dumps(
        {**{f"key{k}": k for k in range(n)}, "traceEvents": [kernel(0)]}
    ).encode(),
    "a huge key before": lambda n: json.dumps(
        {"a": [k for k in range(20 * n)], "traceEvents": [kernel(0)]}
    ).encode(),
    "events never come": lambda n: b'{"a": "' + b"x" * (100 * n),
    "brackets never close": lambda n: b'{"a": ' + b"[" * (100 * n),
    "broken rows": lambda n: rows(_row(b', "a": oops oops'), n),
    "rows with an open quote": lambda n: rows(_row(b', "a": "'), n),
    "rows with inner quotes": lambda n: rows(_row(b', "a": "b "c" d"'), n),
    "rows that do not close": lambda n: rows(_row(b', "args": {"a": 1'), n),
    "rows that look like the end": lambda n: rows(_row(b', "a" 1}],"b": [{}'), n),
    "nulls": lambda n: rows(b"null", n),
    "commas": lambda n: rows(b",", n),
    "an event of no numbers": lambda n: rows(_row(b', "a": [' + b",".join([b"inf"] * n) + b"]"), 1),
    "an event of inner quotes": lambda n: rows(_row(b', "a": [' + b",".join([b'"b "c" d"'] * n) + b"]"), 1),
    "an event of escapes": lambda n: rows(_row(b', "a": "' + b"\\" * (20 * n) + b'"'), 1),
    "an event with a bad escape": lambda n: rows(_row(b', "a": "' + b"\\\\" * (20 * n) + b'\\q"'), 1),
    "an event that never ends": lambda n: b'{"traceEvents": [' + _row(b', "a": [' + b"1," * (50 * n)),
    "an array in the array": lambda n: b'{"traceEvents": [[' + b",\n".join([_row(b"")] * n) + b"]]}",
    "events in an event": lambda n: rows(_row(b', "a": [' + b",\n".join([_row(b"")] * n) + b"]"), 1),
    "events in a text": lambda n: rows(
        _row(b', "a": "' + b",\n".join([_row(b"").replace(b'"', b'\\"')] * n) + b'"'), 1
    ),
    "opening brackets in a name": lambda n: trace(kernel(k, name="f" + "<" * n + str(k)) for k in range(3)),
    "round brackets in a name": lambda n: trace(kernel(k, name="f" + "(" * n + str(k)) for k in range(3)),
    "brackets in a name": lambda n: trace(kernel(k, name="f" + "<a(b>" * n + str(k)) for k in range(3)),
    "colons in a name": lambda n: trace(kernel(k, name="a::" * n + str(k)) for k in range(3)),
    "underscores in a name": lambda n: trace(kernel(k, name="_0" * n + "_" + str(k)) for k in range(3)),
    "letters in a name": lambda n: trace(kernel(k, name="nccl" * n + str(k)) for k in range(3)),
    "spaces in a name": lambda n: trace(
        kernel(k, name=" " * n + "void" + " " * n + str(k)) for k in range(3)
    ),
    "a huge shape": lambda n: trace(
        event(k, args={"Input Dims": [[1] * n], "Input type": ["x"] * n}) for k in range(3)
    ),
    "huge groups": lambda n: trace(
        kernel(
            k,
            name="ncclDevKernel",
            args={"Process Group Ranks": "[" + "1, " * n + "1]", "In split size": [1] * n},
        )
        for k in range(3)
    ),
}


def seconds(data: bytes, path: Path) -> dict[str, float]:
    """Returns how long reading took, in small parts, and each thing behind it."""
    path.write_bytes(data)
    took: dict[str, float] = {}
    began = time.perf_counter()
    try:
        with block_bytes(PART_BYTES):
            found = read_trace(path)
    except DashboardError:
        return {"refused": time.perf_counter() - began}
    took["read"] = time.perf_counter() - began
    index = TraceIndex(found)
    steps: dict[str, Callable[[], object]] = {
        **{each.name: lambda each=each: each.summarize(index, WHOLE) for each in ANALYSES},  # type: ignore[misc]
        "totals": lambda: summarize_totals(index),
        "judge": lambda: judge(index),
    }
    for name, step in steps.items():
        began = time.perf_counter()
        step()
        took[name] = time.perf_counter() - began
    return took


def main(wanted: list[str]) -> int:
    """Measures the cases whose names hold a wanted word, or all; returns 1 if one grows too fast."""
    bad = 0
    with TemporaryDirectory(prefix="ridgeline-growth-") as folder:
        path = Path(folder) / "t.json"
        seconds(CASES["usual"](100), path)
        for name, make in CASES.items():
            if wanted and not any(word in name for word in wanted):
                continue
            small, large = seconds(make(SIZE), path), seconds(make(TIMES * SIZE), path)
            grown = {
                step: f"{small.get(step, 0):.2f} -> {took:.2f} s"
                for step, took in large.items()
                if took > IGNORED_S and took > MOST_RATIO * small.get(step, 0)
            }
            bad += bool(grown)
            print(
                f"{name}: {sum(small.values()):.2f} -> {sum(large.values()):.2f} s {grown or ''}", flush=True
            )
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
