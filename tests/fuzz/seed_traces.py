"""Small sound traces of every kind, as bytes: what mutations begin from."""

from __future__ import annotations

import gzip
import json
from typing import TYPE_CHECKING, Any

from tests.helpers.traces import call, kernel, op
from tests.helpers.training_trace import training_events

if TYPE_CHECKING:
    from pathlib import Path

BASE_US = 1_750_000_000_000_000
MOST_SEED_BYTES = 12_000

Event = dict[str, Any]


def seeds() -> dict[str, bytes]:
    """Returns our own traces, by name."""
    found = {
        f"{name}, {layout}": text for name, events in _kinds().items() for layout, text in _texts(events)
    }
    training = _texts(training_events())
    found["training"] = training[1][1]
    cuda = found["cuda, compact"]
    found["cuda, gzip"] = gzip.compress(cuda, mtime=0)
    found["cuda, two members"] = gzip.compress(cuda[:900], mtime=0) + gzip.compress(cuda[900:], mtime=0)
    found["cuda, utf-16"] = b"\xff\xfe" + cuda.decode().encode("utf-16-le")
    found["cuda, utf-16 big"] = b"\xfe\xff" + cuda.decode().encode("utf-16-be")
    found["cuda, utf-8 with mark"] = b"\xef\xbb\xbf" + cuda
    return found


def plain_traces() -> list[bytes]:
    """Returns those that lie in the file as UTF-8 and hold complete slices with different names."""
    return [text for name, text in seeds().items() if name.startswith(("cuda, i", "cuda, c", "rocm", "npu"))]


def handed_seeds(folder: Path) -> dict[str, bytes]:
    """Returns the small traces of a folder, and the first events of its large ones."""
    found = {}
    for path in sorted(folder.iterdir()) if folder.is_dir() else ():
        data = path.read_bytes() if path.name.endswith((".json", ".json.gz")) else b""
        if len(data) > MOST_SEED_BYTES:
            text = gzip.decompress(data) if data.startswith(b"\x1f\x8b") else data
            data = _first_events(text)
        if data:
            found[path.name] = data
    return found


def _first_events(text: bytes) -> bytes:
    """Returns some events of a large trace as a small one: the first, and some out of its middle."""
    begin = text.find(b'"traceEvents"')
    first = text[begin : begin + MOST_SEED_BYTES // 2]
    middle = text[len(text) // 2 : len(text) // 2 + MOST_SEED_BYTES // 3]
    first, middle = first[: first.rfind(b"},")], middle[middle.find(b"{") : middle.rfind(b"},")]
    return b'{"schemaVersion": 1, ' + first + b"},\n" + middle + b"}]}"


def _texts(events: list[Event]) -> list[tuple[str, bytes]]:
    keys: dict[str, Any] = {
        "schemaVersion": 1,
        "deviceProperties": [{"id": 0, "name": "NVIDIA H100", "totalGlobalMem": 8 << 30, "computeMajor": 9}],
        "distributedInfo": {"backend": "nccl", "rank": 1, "world_size": 2},
        "baseTimeNanoseconds": 1_727_000_000_000_000_000,
    }
    return [
        ("indented", json.dumps({**keys, "traceEvents": events}, indent=1).encode()),
        ("compact", json.dumps({"traceEvents": events, **keys}, separators=(",", ":")).encode()),
        ("bare", json.dumps(events).encode()),
    ]


def _kinds() -> dict[str, list[Event]]:
    return {
        "cuda": _cuda(),
        "rocm": _rocm(),
        "npu": _npu(),
        "jax": _jax(),
        "pairs": _pairs(),
        "samples": _samples(),
        "graph": _graph(),
        "collectives": _collectives(),
        "ranks": _ranks(),
        "old schema": _old(),
    }


def _named(what: str, name: Any, pid: Any, tid: Any = 0) -> Event:
    key = {"process_labels": "labels", "process_sort_index": "sort_index"}.get(what, "name")
    return {"ph": "M", "name": what, "pid": pid, "tid": tid, "ts": BASE_US, "args": {key: name}}


def _args(arguments: Event) -> Event:
    return arguments


def _flow(phase: str, number: int, ts: float, pid: int, tid: int) -> Event:
    return {"ph": phase, "id": number, "cat": "ac2g", "name": "ac2g", "pid": pid, "tid": tid, "ts": ts}


def _cuda() -> list[Event]:
    shapes: Event = {
        "Input Dims": [[8, 64], [64, 32], []],
        "Input type": ["float", "c10::BFloat16", "Scalar"],
    }
    events = [
        _named("process_name", "python", 0),
        _named("process_labels", "GPU 0", 0),
        _named("process_sort_index", 5_000_000, 0),
        _named("thread_name", "stream 7", 0, 7),
    ]
    for step in range(2):
        at = BASE_US + 1000 * step + 0.125
        events += [
            {"ph": "X", "cat": "user_annotation", "name": f"ProfilerStep#{step}", "pid": 100, "tid": 1,
             "ts": at, "dur": 900},
            {"ph": "X", "cat": "python_function", "name": f"nn.Module: Linear_{step}", "pid": 100, "tid": 1,
             "ts": at + 5, "dur": 300, "args": {"Python id": 2, "Python parent id": 1}},
            op(f"aten::mm_{step}", at + 10, 100, **{"External id": 5 + step, **shapes}),
            call("cudaLaunchKernel", at + 20, 12.5, 9 + step),
            _flow("s", 9 + step, at + 20, 100, 1),
            kernel(f"gemm_{step}", at + 60, 71.001, correlation=9 + step, grid=[132, 1, 1], block=[384, 1, 1],
                   **_args({"External id": 5 + step, "est. achieved occupancy %": 31, "warps per SM": 7.75})),
            {**_flow("f", 9 + step, at + 60, 0, 7), "bp": "e"},
        ]  # fmt: skip
    return [*events, kernel("copy", BASE_US + 1500, 4, correlation=77, bytes=4096) | {"cat": "gpu_memcpy"}]


def _rocm() -> list[Event]:
    return [
        _named("thread_name", "stream 0", 2, 0),
        op("aten::add", BASE_US, 30, **{"External id": 1}),
        call("hipLaunchKernel", BASE_US + 5, 8, 11) | {"cat": "hip_runtime"},
        kernel("Cijk_Ailk_Bljk_HHS_BH", BASE_US + 40, 25, device=2, stream=0, correlation=11),
        kernel("CopyDeviceToHost", BASE_US + 70, 9, device=2, stream=0) | {"cat": "gpu_memcpy"},
    ]


def _npu() -> list[Event]:
    task: Event = {"Task Type": "AI_CORE", "Stream Id": 3}
    return [
        {"ph": "M", "name": "process_name", "pid": 1, "tid": 0, "args": {"name": "Ascend Hardware"}},
        {"ph": "M", "name": "thread_name", "pid": 1, "tid": 3, "args": {"name": "Stream 3"}},
        {"ph": "X", "name": "MatMulV2", "pid": 1, "tid": 3, "ts": "1750000000000010.500", "dur": 21.5,
         "args": task},
        {"ph": "X", "name": "Add", "pid": 1, "tid": 3, "ts": "1750000000000040.250", "dur": 2, "args": task},
        {"ph": "X", "name": "memcpy_async", "pid": 1, "tid": 3, "ts": "1750000000000050", "dur": 3,
         "args": {"Task Type": "SDMA_SQE"}},
    ]  # fmt: skip


def _jax() -> list[Event]:
    return [
        {"ph": "M", "name": "process_name", "pid": 2, "args": {"name": "/device:GPU:1"}},
        {"ph": "M", "name": "thread_name", "pid": 2, "tid": 118, "args": {"name": "Stream #118(Compute)"}},
        {"ph": "X", "name": "gemm_fusion", "pid": 2, "tid": 118, "ts": 10.5, "dur": 4, "args": {}},
        {"ph": "X", "name": "MemcpyD2H", "pid": 2, "tid": 118, "ts": 15.25, "dur": 1},
        {"ph": "X", "name": "jit_step", "pid": 2, "tid": 3, "ts": 9, "dur": 20},
        {},
    ]


def _pairs() -> list[Event]:
    def event(phase: str, name: str, ts: int, tid: int = 1) -> Event:
        return {"ph": phase, "name": name, "pid": 1, "tid": tid, "ts": ts, "cat": "cpu_op"}

    nested = [
        event("B", "outer", 10),
        event("B", "inner", 20),
        event("E", "inner", 50),
        event("E", "outer", 90),
    ]
    return [*nested, event("B", "open", 95), event("E", "stray", 5, tid=2)]


def _samples() -> list[Event]:
    memory: Event = {"Addr": 2**64 - 8, "Bytes": 512, "Total Allocated": 512, "Total Reserved": 1024,
                     "Device Type": 1, "Device Id": 0}  # fmt: skip
    moment: Event = {"ph": "i", "name": "[memory]", "cat": "cpu_instant_event", "pid": 1, "tid": 1, "s": "t"}
    return [
        op("aten::empty", 5, 20),
        {"ph": "C", "name": "GPU 0", "pid": 1, "ts": 5, "args": {"busy": 3, "rate": 0.5, "none": None}},
        {"ph": "C", "name": "GPU 0", "pid": 1, "ts": 6, "args": {"busy": -4}},
        {**moment, "ts": 7, "args": memory},
        {**moment, "ts": 9, "args": {**memory, "Bytes": -512, "Total Allocated": 0}},
        {"ph": "i", "name": "Iteration Start", "pid": 1, "tid": 1, "ts": 8, "s": "g"},
    ]


def _graph() -> list[Event]:
    return [
        call("cudaGraphLaunch", BASE_US, 15, 900),
        *(kernel(f"node_{n}", BASE_US + 20 + 9 * n, 8, correlation=900, **{"graph id": 3, "graph node id": n})
          for n in range(3)),
    ]  # fmt: skip


def _collectives() -> list[Event]:
    facts: Event = {
        "Collective name": "allreduce",
        "dtype": "BFloat16",
        "In msg nelems": 1024,
        "Out msg nelems": 1024,
        "Group size": 2,
        "Process Group Name": "0",
        "Process Group Description": "default_pg",
        "Process Group Ranks": "[0, 1]",
        "In split size": "[]",
        "Seq": 4,
    }
    return [
        op("record_param_comms", 10, 20, **facts),
        call("cudaLaunchKernelExC", 12, 4, 3),
        kernel("ncclDevKernel_AllReduce_Sum_bf16_RING_LL", 30, 50, stream=20, correlation=3, **facts),
        kernel(
            "ncclDevKernel_AllGather",
            90,
            50,
            stream=20,
            correlation=4,
            **facts,
            **_args({"Out split size": "[3]"}),
        ),
    ]


def _ranks() -> list[Event]:
    return [kernel(f"k{n}", 100 + 10 * n, 5, correlation=n, rank=n % 3) for n in range(5)]


def _old() -> list[Event]:
    return [
        {
            "ph": "X",
            "cat": "Operator",
            "name": "aten::mm",
            "pid": "CPU functions",
            "tid": 1,
            "ts": 1.5,
            "dur": 3,
        },
        {
            "ph": "X",
            "cat": "Kernel",
            "name": "sgemm",
            "pid": 0,
            "tid": "stream 7",
            "ts": 3,
            "dur": 3,
            "id": "0x1f",
        },
        {"ph": "s", "id": "flow-a", "cat": "async_gpu", "name": "x", "pid": 0, "tid": 1, "ts": 2},
        {"ph": "f", "id": "flow-a", "cat": "async_gpu", "name": "x", "pid": 0, "tid": "stream 7", "ts": 3},
    ]
