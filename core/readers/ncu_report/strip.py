"""A report without what is private: host names, addresses, paths, programs with their arguments, notes.

Of the session, its machines and processes only what is known to be harmless
stays. Elsewhere fields that are not known stay, but folders and private words in
them are x, as they are in what a binary holds beside its code. Of paths the name of
the file stays. Of the command line only how clocks were controlled stays, as rates
cannot be judged without it. Sections may be the user's own: their labels and
descriptions are texts like any other, and so are names unless a metric has them.
Imported sources go whole.
"""

from __future__ import annotations

import re
import struct
from collections import Counter
from contextlib import suppress
from typing import TYPE_CHECKING, Final

from google.protobuf.message import DecodeError

from core.readers.ncu_private import FOLDERS, PrivateText, host_words, user_words, value_words
from core.readers.ncu_report.container import MAGIC, Blocks, Entry
from core.readers.ncu_report.instances import may_hold_texts
from core.readers.ncu_report.schema import decode, empty, sized_fields
from core.readers.ncu_report.wire import BrokenMessageError, rewrite

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping

    from core.readers.ncu_report.container import Block
    from core.readers.ncu_report.wire import Rule

    PlacesWithTexts = Callable[[bytes], list[tuple[int, int]] | None]
    """From a device binary to (begin, end) of its parts that may hold texts; None if it cannot be read."""

_CLOCKS: Final = re.compile(rb"--clock-control[ =]+(base|boost|none)\b")
_PARTS: Final = re.compile(rb"[\\/]")
_METRIC: Final = re.compile(rb"[A-Za-z]\w*(?:[.:]\w+)*")
_EXPRESSION: Final = "expression"
_DEVICE_NAME: Final = b"display_name"


class _Stripping:
    """One report while private data are taken out of it.

    Attributes:
        removed: What was taken out, in words for people, to how often.
    """

    def __init__(self, places: PlacesWithTexts, words: set[bytes], names: set[bytes]) -> None:
        self.removed: Counter[str] = Counter()
        self._names = names
        self._sections: dict[bytes, bytes | None] = {}
        self._private = PrivateText(words, self.removed)
        self._places = places

    def block(self, raw: bytes, block: Block, head: bytes) -> bytes:
        """Returns a block without private data; ``head`` is its header as stored."""
        sources = self._entries(raw, block.sources, "Source", self._source)
        results = self._entries(raw, block.results, "Result", self._result)
        known_end = max((entry.end for entry in (*block.sources, *block.results)), default=block.begin)
        is_whole = len(block.sources) + len(block.results) == block.header.sources + block.header.results
        # What stands behind the known entries of a block that is not whole would be half of one.
        rest = self._private.mask(raw[known_end : block.end]) if is_whole and block.end <= len(raw) else b""
        payload = b"".join(struct.pack("<I", len(each)) + each for each in (*sources, *results)) + rest
        header = rewrite(
            head,
            {
                3: self._session(),
                4: self._message({1: self._name}),
                6: self._only((1,), {2: self._out("host names"), 3: self._file_name}),
            },
            {1: len(sources), 2: len(results), 5: len(payload)},
            others=self._private.mask,
        )
        return struct.pack("<I", len(header)) + header + payload

    def _entries(
        self, raw: bytes, entries: list[Entry], kind: str, strip: Callable[[bytes], bytes]
    ) -> list[bytes]:
        """Returns the entries without private data; one that cannot be read is left out."""
        found = []
        for entry in entries:
            data = raw[entry.begin : entry.end]
            try:
                if decode(kind, data) is not None:
                    found.append(strip(data))
                    continue
            except BrokenMessageError:
                pass
            self.removed["entries that cannot be read"] += 1
        return found

    def _out(self, what: str) -> Rule:
        def rule(content: bytes) -> bytes | None:
            if content:
                self.removed[what] += 1
            return None

        return rule

    def _message(self, rules: Mapping[int, Rule]) -> Rule:
        """Returns the rule for a message; in fields that are not known folders are masked."""
        return self._whole(lambda content: rewrite(content, rules, others=self._private.mask))

    def _only(self, kept: Collection[int], rules: Mapping[int, Rule]) -> Rule:
        """Returns the rule for a message of which nothing stays but what is known to be harmless."""
        return self._whole(
            lambda content: rewrite(content, rules, kept=kept, others=self._out("unknown fields"))
        )

    def _whole(self, change: Callable[[bytes], bytes]) -> Rule:
        def rule(content: bytes) -> bytes | None:
            try:
                return change(content)
            except BrokenMessageError:
                self.removed["parts that cannot be read"] += 1
                return None

        return rule

    def _file_name(self, content: bytes) -> bytes:
        name = _PARTS.split(content)[-1]
        self.removed[FOLDERS] += name != content
        return name

    def _name(self, content: bytes) -> bytes:
        """Returns a name that others are found by: as it is if a metric has it."""
        return content if content in self._names else self._private.clean(content)

    def _command_line(self, content: bytes) -> bytes:
        self.removed["command lines"] += 1
        clocks = _CLOCKS.search(content)
        return b"ncu" if clocks is None else b"ncu --clock-control " + clocks[1]

    def _session(self) -> Rule:
        clean = self._private.clean
        system = self._only(
            (),
            {1: clean, 2: clean, 3: clean, 4: clean, 5: self._out("host names"), 7: self._out("addresses")},
        )
        attribute = self._only((), {1: bytes, 2: self._value()})
        return self._only(
            (1, 2),
            {
                3: system,
                4: system,
                6: self._only((1,), {2: clean, 3: attribute}),
                7: self._out("notes"),
                8: self._only((), {1: clean, 2: clean}),
                9: self._out("programs with arguments and environment"),
                10: self._out("settings of the tool"),
                11: self._command_line,
            },
        )

    def _value(self) -> Rule:
        return self._message({1: self._private.clean})

    def _result(self, data: bytes) -> bytes:
        clean, paths = self._private.clean, self._private.clean_paths
        frame = self._message({1: self._file_name, 3: self._file_name, 4: clean})
        nvtx_stack = self._message({3: self._message({1: clean})})
        nvtx = self._message(
            {
                1: self._message({2: clean}),
                2: self._message({2: nvtx_stack}),
                3: self._message({3: self._message({2: clean})}),
            }
        )
        rules: dict[int, Rule] = {
            5: paths,
            6: paths,
            7: paths,
            12: self._out("notes"),
            13: self._metric,
            18: self._out("notes"),
            19: self._rule(),
            21: nvtx,
            28: self._message({1: frame}),
        }
        # Of shapes and the source's number all that is known is a number.
        rules |= {10: self._message({}), 11: self._message({}), 15: self._message({}), 17: self._section}
        return rewrite(data, rules, others=self._private.mask)

    def _section(self, content: bytes) -> bytes | None:
        """Returns a section without private texts; what all launches repeat is counted once."""
        if content not in self._sections:
            self._sections[content] = self._texts_of("Section")(content)
        return self._sections[content]

    def _texts_of(self, message: str) -> Rule:
        """Returns the rule for a message all of whose texts may be private, in what lies within it too."""

        def rule(content: bytes) -> bytes | None:
            return self._message(
                {number: each(name, inner) for number, name, inner in sized_fields(message)}
            )(content)

        def each(name: str, inner: str) -> Rule:
            if inner:
                return self._texts_of(inner)
            return self._private.clean_words if name == _EXPRESSION else self._name

        return rule

    def _rule(self) -> Rule:
        clean = self._private.clean
        item = self._message(
            {
                1: self._message({1: clean, 4: clean}),
                2: self._message({1: clean, 5: self._texts_of("Place")}),
                8: self._message({2: self._name, 5: clean}),
                9: self._message({1: clean, 3: self._texts_of("Place")}),
                10: self._message({}),
            },
        )
        marker = self._message({4: clean, 6: self._file_name})
        body = self._message({1: item})
        return self._message({1: self._name, 2: clean, 3: body, 4: self._name, 5: marker})

    def _metric(self, content: bytes) -> bytes | None:
        stored = decode("Metric", content)
        if stored is not None and not stored.value.text and not may_hold_texts(stored.instances):
            return content
        instance = self._message({1: self._value(), 2: self._value()})
        return self._message({2: self._value(), 3: instance})(content)

    def _source(self, data: bytes) -> bytes:
        paths = self._private.clean_paths
        functions = self._message({1: self._message({1: paths})})
        return rewrite(
            data,
            {4: self._binary, 8: self._out("imported sources"), 9: functions},
            others=self._private.mask,
        )

    def _binary(self, content: bytes) -> bytes | None:
        """Returns a binary in whose texts no folder is named; nothing in it moves."""
        places = self._places(content)
        if places is None:
            self.removed["binaries that cannot be read"] += 1
            return None
        data = bytearray(content)
        for begin, end in places:
            data[begin:end] = self._private.mask(bytes(data[begin:end]))
        return bytes(data)


def _words_and_names(raw: bytes, blocks: Iterable[Block]) -> tuple[set[bytes], set[bytes]]:
    """Returns the private words (hosts, users, arguments, values of variables) and the metrics' names."""
    session = empty("Session")
    hosts: set[bytes] = set()
    public: set[bytes] = set()
    for block in blocks:
        hosts.add(block.header.process.host)
        public.update(text for text in block.header.texts.texts if _METRIC.fullmatch(text))
        for fragment in block.header.session:
            with suppress(DecodeError):
                session.MergeFromString(fragment)
    for system in (session.host, session.target):
        hosts.add(system.computer_name)
        hosts.update(part for each in system.addresses for part in (each.first, each.second))
    devices = [device.name for device in session.devices]
    attributes = [each for device in session.devices for each in device.attributes]
    devices += [each.value.text for each in attributes if each.name.endswith(_DEVICE_NAME)]
    run = session.executable
    words = value_words((run.path, run.working_folder, *run.arguments, *run.environment))
    words = {word for word in words if not any(word in text for text in public)}
    words |= {word for host in hosts for word in host_words(host)} | user_words(raw)
    # By its name a device is found again.
    words = {word for word in words if not any(word in text for text in devices)}
    return words, public


def strip_report(
    raw: bytes, places: PlacesWithTexts, progress: Callable[[int, int], None] | None = None
) -> tuple[bytes, Counter[str]]:
    """Returns a report without private data, and what was taken out of it.

    What is cut off or cannot be read is left out: nobody could say what it holds.

    Args:
        raw: The report, unpacked.
        places: Where a device binary holds texts.
        progress: Called with the bytes that are done and their number. What it raises ends the work.

    Raises:
        DashboardError: It is no report, or not even its first block is whole.
    """
    stripping = _Stripping(places, *_words_and_names(raw, Blocks(raw)))
    blocks = Blocks(raw)
    length = struct.unpack_from("<I", raw, len(MAGIC))[0]
    at = 2 * len(MAGIC) + length
    parts = [raw[:at]]
    for block in blocks:
        try:
            parts.append(stripping.block(raw, block, raw[at + 4 : block.begin]))
        except BrokenMessageError:
            stripping.removed["blocks that cannot be read"] += 1
        at = block.end
        if progress is not None:
            progress(block.end, len(raw))
    if blocks.damage is not None:
        stripping.removed["ends that are cut off or damaged"] += 1
    return b"".join(parts), +stripping.removed
