"""Makes a long trace out of a short one: its events again and again, each copy later than the one before.

The layout is Kineto's, whatever the source's is, so that a megabyte means the
same everywhere. Numbers stay the text they are, but for the whole microseconds of
a start and the ids that link events: every link stays inside its copy.
"""

from __future__ import annotations

import gzip
import itertools
import random
import re
from typing import TYPE_CHECKING, Any

import msgspec

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

IDS = ("External id", "correlation", "Python id", "Python parent id", "id")
# A quote inside a text is written with a backslash, so that this is a key wherever it is found.
NUMBERS = re.compile(rb'("(ts|' + "|".join(IDS).encode() + rb')":\s*)(\d+)(?=[\s,.}])')
LARGEST_ID = 2**31
GAP_US = 1000


class Event(msgspec.Struct):
    """What decides how an event is copied."""

    ph: str = ""
    cat: str = ""
    ts: float = 0.0
    dur: float = 0.0

    @property
    def is_copied(self) -> bool:
        return self.ph != "M" and self.cat != "Trace" and self.ts > 0


class Document(msgspec.Struct):
    """A trace of which only the text of each event is kept."""

    events: list[msgspec.Raw] = msgspec.field(name="traceEvents")


def kineto_layout(event: bytes) -> bytes:
    """The text of an event in the lines in which Kineto writes it."""
    values = msgspec.json.decode(event, type=dict[str, msgspec.Raw])
    arguments = values.pop("args", None)
    pairs = [_pair(key, value) for key, value in values.items()]
    lines = [b", ".join(line) for line in (pairs[:5], pairs[5:]) if line]
    if arguments is not None:
        inner = msgspec.json.decode(arguments, type=dict[str, msgspec.Raw])
        texts = b",".join(_pair(key, value) for key, value in inner.items())
        lines.append(b'"args": {\n      ' + texts + b"\n    }")
    return b"{\n    " + b",\n    ".join(lines) + b"\n  }"


def _pair(key: str, value: msgspec.Raw) -> bytes:
    return msgspec.json.encode(key) + b": " + msgspec.json.format(bytes(value), indent=-1)


class Template:
    """The text of one copy: what stays, and in between the numbers that move."""

    def __init__(self, events: list[bytes]) -> None:
        self._texts: list[bytes] = []
        self._numbers: list[int] = []
        self._is_time: list[bool] = []
        text = b",\n  ".join(events)
        end = 0
        for found in NUMBERS.finditer(text):
            is_time, number = found[2] == b"ts", int(found[3])
            if is_time or 0 < number < LARGEST_ID:
                self._texts.append(text[end : found.start(3)])
                self._numbers.append(number)
                self._is_time.append(is_time)
                end = found.end(3)
        self._last_text = text[end:]
        ids = (number for number, is_time in zip(self._numbers, self._is_time, strict=True) if not is_time)
        self._id_step = max(ids, default=0) + 1

    def copy(self, later_us: int, number: int) -> bytes:
        """One copy, the given time later than the source."""
        later = {True: later_us, False: number * self._id_step}
        numbers = [
            b"%d" % (value + later[is_time])
            for value, is_time in zip(self._numbers, self._is_time, strict=True)
        ]
        pairs = zip(self._texts, numbers, strict=True)
        return b"".join((*itertools.chain.from_iterable(pairs), self._last_text))


def scale(source: bytes, targets: dict[Path, int]) -> None:
    """Writes traces of so many copies each; the source is JSON, plain or gzip."""
    text = gzip.decompress(source) if source.startswith(b"\x1f\x8b") else source
    raw = [bytes(event) for event in msgspec.json.decode(text, type=Document).events]
    keys = msgspec.json.decode(text, type=dict[str, msgspec.Raw])
    del keys["traceEvents"]
    facts = [msgspec.json.decode(event, type=Event) for event in raw]
    copied = [fact for fact in facts if fact.is_copied]
    first_us = min(fact.ts for fact in copied)
    span_us = int(max(fact.ts + fact.dur for fact in copied) - first_us) + GAP_US
    layouts = [kineto_layout(event) for event in raw]
    fixed = [event for event, fact in zip(layouts, facts, strict=True) if not fact.is_copied]
    template = Template([event for event, fact in zip(layouts, facts, strict=True) if fact.is_copied])
    head = b"".join(b'  "%s": %s,\n' % (key.encode(), bytes(value)) for key, value in keys.items())
    for target, copies in targets.items():
        with target.open("wb") as file:
            file.write(b"{\n" + head + b'  "traceEvents": [\n  ')
            for number in range(copies):
                if number or fixed:
                    file.write(b",\n  ".join(fixed) + b",\n  " if not number else b",\n  ")
                file.write(template.copy(number * span_us, number))
            file.write(b"\n  ]\n}\n")


def made_trace(layers: int = 7500) -> bytes:
    """A made-up trace of one long step, about 38 MB: an operator in Python frames that launches a kernel."""
    rng = random.Random(3)
    events = [{"ph": "M", "name": "process_name", "pid": 100, "tid": 0, "ts": 0, "args": {"name": "python"}}]
    for layer in range(layers):
        events += _layer(rng, layer)
    document = {"schemaVersion": 1, "distributedInfo": {"rank": 0}, "traceEvents": events}
    return msgspec.json.encode(document)


def _layer(rng: random.Random, layer: int) -> Iterator[dict[str, Any]]:
    shapes = {"Input Dims": [[8, 64], [32, 64], [32]], "Input type": ["float", "float", "float"]}
    shapes["Concrete Inputs"] = ["", "", "[]"]
    kernel_at = 1_000_000.0 + 150 * layer
    for part in range(3):
        number, at = 3 * layer + part + 1, round(1_000_000 + 150 * layer + 48 * part + rng.random(), 3)
        host: dict[str, Any] = {"ph": "X", "pid": 100, "tid": 100}
        frame = {"Python parent id": number, "Python id": number + 1, "Python thread": 0}
        yield (
            host
            | {"cat": "python_function", "name": f"module.py({part}): f", "ts": at, "dur": 44}
            | {"args": frame}
        )
        ids = {"External id": number, "Record function id": 0, "Sequence number": number, "Ev Idx": number}
        for depth, name in enumerate(("aten::linear", "aten::addmm")):
            yield (
                host
                | {"cat": "cpu_op", "name": name, "ts": at + depth, "dur": 40 - 2 * depth}
                | {"args": ids | shapes}
            )
        link = {"External id": number, "correlation": number}
        yield (
            host
            | {"cat": "cuda_runtime", "name": "cudaLaunchKernel", "ts": at + 5, "dur": 4.2}
            | {"args": link | {"cbid": 211}}
        )
        flow = {"id": number, "cat": "ac2g", "name": "ac2g"}
        yield host | flow | {"ph": "s", "ts": at + 5}
        kernel_at = round(max(kernel_at, at + 12), 3)
        duration = round(rng.uniform(2, 40), 3)
        launch = {"grid": [8, 1, 1], "block": [128, 1, 1], "registers per thread": 64, "shared memory": 0}
        device: dict[str, Any] = {"ph": "X", "pid": 0, "tid": 7, "ts": kernel_at}
        yield (
            device
            | {"cat": "kernel", "name": f"gemm_{number % 50}<float>(float*)", "dur": duration}
            | {"args": link | launch | {"device": 0, "stream": 7, "est. achieved occupancy %": 50}}
        )
        yield device | flow | {"ph": "f", "bp": "e"}
        kernel_at += duration
