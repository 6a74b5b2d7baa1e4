"""Writes small Nsight Compute reports, message by message, by other code than the reader's.

Fields are given by number, as the format has them: ``message({1: 7, 5: b"x"})``.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

NAMES = (
    "launch__grid_size",
    "gpu__time_duration.sum",
    "sm__throughput.avg.pct_of_peak_sustained_elapsed",
    "gpu__compute_memory_throughput.avg.pct_of_peak_sustained_elapsed",
    "device__attribute_display_name",
    "device__attribute_compute_capability_major",
    "device__attribute_compute_capability_minor",
    "inst_executed",
    "pmsampling:sm__cycles_active.avg",
    "sass__inst_executed_per_opcode",
)


def varint(value: int) -> bytes:
    parts = bytearray()
    while value > 127:
        parts.append(value & 127 | 128)
        value >>= 7
    parts.append(value)
    return bytes(parts)


def message(fields: dict[int, Any]) -> bytes:
    """Encodes a message: an int as varint, a float in 64 bits, texts and bytes with a length."""
    parts = []
    for number, values in fields.items():
        for value in values if isinstance(values, list) else [values]:
            if isinstance(value, int):
                parts.append(varint(number << 3) + varint(value))
            elif isinstance(value, float):
                parts.append(varint(number << 3 | 1) + struct.pack("<d", value))
            else:
                data = value.encode() if isinstance(value, str) else value
                parts.append(varint(number << 3 | 2) + varint(len(data)) + data)
    return b"".join(parts)


def single(number: int, value: float) -> bytes:
    """Encodes a field of 32 bits."""
    return varint(number << 3 | 5) + struct.pack("<f", value)


def sized(data: bytes) -> bytes:
    return struct.pack("<I", len(data)) + data


def block(
    *,
    sources: Sequence[bytes] = (),
    results: Sequence[bytes] = (),
    session: bytes | None = None,
    texts: Sequence[str] = (),
    process: bytes | None = None,
    rest: Sequence[bytes] = (),
) -> bytes:
    """Writes a block; ``rest`` are entries of kinds that no header counts."""
    payload = b"".join(sized(entry) for entry in (*sources, *results, *rest))
    header: dict[int, Any] = {1: len(sources), 2: len(results), 5: len(payload), 10: 0}
    header[4] = message({1: list(texts)})
    if session is not None:
        header[3] = session
    if process is not None:
        header[6] = process
    return sized(message(header)) + payload


def report(*blocks: bytes, version: int = 7) -> bytes:
    """Writes a file of blocks."""
    return b"NVR\x00" + sized(message({1: version})) + b"".join(blocks)


def metric(name: int, value: bytes | None, instances: Sequence[bytes] = (), kind: int = 0) -> bytes:
    """Encodes a metric; 0, the first name, is written as an absent field."""
    fields: dict[int, Any] = {1: name} if name else {}
    if value is not None:
        fields[2] = value
    return message(fields | {3: list(instances), 4: kind})


def text_value(text: str) -> bytes:
    return message({1: text})


def double(number: float) -> bytes:
    return message({3: number})


def integer(number: int) -> bytes:
    return message({5: number})


def instance(key: bytes, value: bytes) -> bytes:
    return message({1: key, 2: value})


def usual_metrics(duration_ns: int = 25_792, grid_size: int = 4096) -> list[bytes]:
    """The first seven of ``NAMES``."""
    return [
        metric(0, integer(grid_size)),
        metric(1, integer(duration_ns)),
        metric(2, double(31.5)),
        metric(3, single(2, 26.25)),
        metric(4, text_value("NVIDIA H100 PCIe")),
        metric(5, message({4: 9})),
        metric(6, message({4: 0})),
    ]


def result(
    metrics: Sequence[bytes] = (),
    sections: Sequence[bytes] = (),
    rules: Sequence[bytes] = (),
    **more: Any,
) -> bytes:
    """Encodes a launch of ``gemm`` on a grid of 64 x 64 blocks of 256 threads; ``more`` by ``f<number>``."""
    fields: dict[int, Any] = {
        1: 77,
        2: 5,
        5: "_Z4gemmPf",
        6: "gemm",
        7: "gemm(float *)",
        10: message({1: 64, 2: 64, 3: 1}),
        11: message({1: 256, 2: 1, 3: 1}),
        13: list(metrics or usual_metrics()),
        14: 1_700_000_000,
        15: message({1: 900, 5: 7}),
        17: list(sections),
        19: list(rules),
        22: 1,
        23: 7,
    }
    fields |= {int(key[1:]): value for key, value in more.items()}
    return message({number: value for number, value in fields.items() if value is not None})


def session() -> bytes:
    """Encodes every part of a session, private ones too."""
    system = message(
        {
            1: "Linux",
            2: "#1 SMP",
            3: "A CPU\nmodel 1",
            4: "x86_64",
            5: "host-7",
            6: 2,
            7: [message({1: "::1"})],
        }
    )
    attributes = [
        message({1: "device__attribute_compute_capability_major", 2: integer(9)}),
        message({1: "device__attribute_compute_capability_minor", 2: integer(0)}),
        message({1: "device__attribute_multiprocessor_count", 2: integer(114)}),
        message({1: "device__attribute_display_name", 2: text_value("NVIDIA H100 PCIe")}),
    ]
    return message(
        {
            1: 4242,
            2: 1_700_000_001,
            3: system,
            4: system,
            5: b"",
            6: [message({1: 0, 2: "NVIDIA H100 PCIe", 3: attributes})],
            7: "a note",
            8: [
                message({1: "CUDA Version", 2: "12.8"}),
                message({1: "Nsight Compute Target", 2: "2025.1.0.0 (build 1)"}),
            ],
            9: message({1: "/app/train", 2: "/app", 3: ["--lr", "1"], 4: ["A=1"]}),
            10: message({1: 1}),
            11: "ncu --set full app",
        }
    )


def place(name: str, label: str = "", **more: Any) -> bytes:
    """Encodes a metric of a section; ``more`` by ``f<number>``."""
    fields: dict[int, Any] = {1: name} if name else {}
    if label:
        fields[2] = label
    return message(fields | {int(key[1:]): value for key, value in more.items()})


def _rate(metrics: list[bytes], clock: str) -> bytes:
    return message({3: message({1: metrics, 2: place(clock)})})


def section() -> bytes:
    """Encodes a section with an item of every kind."""
    old = place("dram__bytes.sum", "Bytes", f6=message({2: 72}))
    options = [
        message({1: "a__old.sum", 3: message({2: 75})}),
        message({1: "a__new.sum", 2: "New", 3: message({3: [message({1: 80, 2: 86}), message({1: 90})]})}),
    ]
    chosen = place("", "Chosen", f7=options, f13=0.5, f4=1, f5="thing", f9=["group_a"])
    axis = message({1: "Pipe", 2: message({1: 0, 2: 100}), 3: 11, 5: 0})
    label = message({1: "Label"})
    roof = message(
        {
            1: _rate([place("peak")], "clock"),
            2: _rate([place("peak")], "clock"),
            3: message({1: "Roof", 5: message({2: place("tensor")})}),
        }
    )
    point = message(
        {
            1: _rate([place("done"), place("done")], "clock"),
            2: message({2: place("traffic")}),
            3: message({1: "Point"}),
        }
    )
    items = [
        message({1: message({1: "Table", 2: 2, 3: 3, 4: 1, 5: [old, chosen], 6: 1})}),
        message({2: message({1: "Bars", 3: label, 4: axis, 5: [old], 6: 1, 9: "help"})}),
        message({4: message({1: "Line", 2: axis, 3: axis, 4: [chosen], 5: message({1: [old]})})}),
        message({5: message({1: [message({1: message({1: "Inner", 5: [old]}), 200: message({1: 90})})]})}),
        message({6: message({1: "Roofline", 2: label, 3: label, 4: [roof], 5: [point]})}),
        message({7: message({1: "Hot spots", 3: [place("inst_executed", "Executed")]})}),
        message(
            {
                8: message(
                    {
                        1: "Suffixes",
                        2: message({1: [message({1: ".avg", 2: "Average"})]}),
                        3: message({1: [place("sm__cycles_active", "SM")]}),
                    }
                )
            }
        ),
        *[message({number: label}) for number in (101, 104, 105, 106, 107, 108, 109, 110, 111, 112)],
        message({113: message({2: [message({1: "SM", 3: 1, 4: [message({4: [chosen]})]})]})}),
        message({150: label}),
    ]
    return message(
        {
            1: "SpeedOfLight",
            2: "GPU Speed Of Light Throughput",
            3: 10,
            4: message({1: 2, 2: [old]}),
            5: [message({1: items, 2: "Chart", 3: 1})],
            6: message({1: [place("further")]}),
            7: "What it is.",
            8: [message({1: "full"})],
            9: "Parent",
            10: message({1: [message({1: "derived__x", 2: "a * 2", 3: message({1: 80})})]}),
            12: [message({1: "group_a", 2: "Group A"})],
            13: message({1: [place("by_source")]}),
        }
    )


def rule() -> bytes:
    """Encodes a rule with a body item of every kind that is met."""
    text = "See @section:SchedulerStats:Scheduler Statistics@ at @source:14a9:0x14a9@, @url:the guide:https://x.y/z@."
    items = [
        message({1: message({1: text, 2: 4, 3: 1, 4: "Latency"})}),
        message({8: message({1: 1, 2: "inst_executed", 3: 8.5, 4: 2, 5: "8.5 < 16"})}),
        message({9: message({1: "Lines", 3: [message({1: "inst_executed"})]})}),
        message({10: message({1: 2, 2: 12.5})}),
    ]
    marker = message({1: 1, 2: 31, 3: 0x14A9, 4: "Half of it.", 5: 2, 6: "/a/gemm.cu"})
    return message({1: "Latency", 2: "Issue Latency", 3: message({1: items}), 4: "SpeedOfLight", 5: [marker]})


def nvtx() -> bytes:
    stack = message({1: 1, 3: [message({1: "step 3", 3: 9}), message({1: "forward"})]})
    return message(
        {
            1: [message({1: 0, 2: "<default domain>"}), message({1: 1, 2: "torch"})],
            2: [message({1: 77, 2: [stack, message({1: 0})]})],
            3: [message({1: 1, 3: [message({1: 5, 2: "epoch"})]})],
            4: 0,
        }
    )


def call_stack() -> bytes:
    frame = message({1: "libtorch.so", 2: 2**63 + 5, 3: "/a/b.cpp", 4: "at::mm", 5: 31})
    return message({1: [frame, message({4: "main"})]})


def source() -> bytes:
    function = message({1: "_Z4gemmPf", 2: 0x7F00_0000_0000, 3: 12})
    imported = message({1: [message({1: "/a/gemm.cu", 2: "__global__ void gemm"})]})
    return message(
        {1: 900, 4: b"\x7fELF cubin", 5: 9, 6: 0x90000, 7: 0, 8: imported, 9: message({1: [function]})}
    )


def full_report() -> bytes:
    """Writes a report with every kind of message, in the usual order of blocks."""
    process = message({1: 4242, 2: "host-7", 3: "/app/train"})
    opcodes = [instance(text_value("HMMA"), integer(40)), instance(text_value("MOV"), integer(2))]
    addresses = [instance(integer(0x7F00_0000_0000 + 16 * n), integer(10 + n)) for n in range(3)]
    samples = [instance(integer(1_700_000_000_000_000_000 + n), double(n / 2)) for n in range(4)]
    metrics = [
        *usual_metrics(),
        metric(7, integer(33), addresses),
        metric(8, None, samples, kind=1),
        metric(9, integer(42), opcodes),
    ]
    first = result(
        metrics,
        [section()],
        [rule(), message({1: "Silent", 4: "SpeedOfLight"})],
        f12="mine",
        f21=nvtx(),
        f28=call_stack(),
    )
    whole = session()
    return report(
        block(session=message({1: 4242}), process=process),
        block(sources=[source()], process=process),
        block(results=[first], texts=NAMES, session=whole, process=process, rest=[b"unknown"]),
        block(results=[result(f5=None, f6=None, f7=None, f10=None, f11=None)], process=process),
    )


Value = float | int | str | None


@dataclass(frozen=True, kw_only=True)
class Launch:
    """A launch of 1,000 ns on an H100 whose metrics are given by name; they may say otherwise.

    Attributes:
        values: None is a metric without a value.
        instances: Keys and values of a metric; a key is a number or a text.
        samples: The same, with moments as keys.
        more: Fields of the result by number.
    """

    values: Mapping[str, Value] = field(default_factory=dict)
    instances: Mapping[str, Mapping[int | str, Value]] = field(default_factory=dict)
    samples: Mapping[str, Mapping[int, float]] = field(default_factory=dict)
    sections: Sequence[bytes] = ()
    rules: Sequence[bytes] = ()
    more: Mapping[str, Any] = field(default_factory=dict)


def launch_report(*launches: Launch, **parts: Any) -> bytes:
    """Writes a report of launches; ``parts`` are further parts of its block."""
    names = [
        name for each in launches for part in (each.values, each.instances, each.samples) for name in part
    ]
    known = {name: place for place, name in enumerate(dict.fromkeys([*NAMES, *names]))}
    results = [_launch(each, known) for each in launches]
    return report(block(results=results, texts=list(known), **parts))


def _launch(launch: Launch, known: Mapping[str, int]) -> bytes:
    usual: dict[str, Value] = {NAMES[1]: 1_000, NAMES[4]: "NVIDIA H100 PCIe", NAMES[5]: 9, NAMES[6]: 0}
    metrics = []
    for name in dict.fromkeys([*usual, *launch.values, *launch.instances, *launch.samples]):
        value = launch.values.get(name, usual.get(name))
        pairs: dict[int | str, Value] = dict(launch.instances.get(name, {}))
        pairs.update(launch.samples.get(name, {}).items())
        parts = [instance(encoded(key), encoded(each)) for key, each in pairs.items()]
        stored = None if value is None else encoded(value)
        metrics.append(metric(known[name], stored, parts, kind=int(name in launch.samples)))
    return result(metrics, launch.sections, launch.rules, **launch.more)


def encoded(value: Value) -> bytes:
    """Encodes a value as the kind that it is; None as one that holds nothing."""
    if value is None:
        return b""
    if isinstance(value, str):
        return text_value(value)
    return integer(value) if isinstance(value, int) else double(value)


def section_of(*items: bytes, **more: Any) -> bytes:
    """Encodes a section with items in one body; ``more`` by ``f<number>``."""
    fields: dict[int, Any] = {1: "Made", 2: "Made section", 5: [message({1: list(items), 2: "Body", 3: 1})]}
    return message(fields | {int(key[1:]): value for key, value in more.items()})


def item(number: int, fields: dict[int, Any], only: dict[int, int] | None = None) -> bytes:
    """Encodes an item of a kind by its number; ``only`` is the filter of devices."""
    return message({number: message(fields)} | ({200: message(dict(only))} if only else {}))


def histogram() -> bytes:
    """Encodes a section with the kinds of items that no report at hand has."""
    bars = {1: "Spread", 5: [place("inst_executed", f4=1)]}
    label = {1: "Old table"}
    return section_of(item(3, bars), item(102, label), item(103, label), f1="Rare")
