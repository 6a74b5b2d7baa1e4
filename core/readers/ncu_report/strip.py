"""A report without what is private: host names, addresses, paths, programs with their arguments, notes.

Everything else stays byte for byte as it was, also fields that are not known
here. Of paths the name of the file stays. Of the command line only how clocks
were controlled stays, as rates cannot be judged without it.
"""

from __future__ import annotations

import re
import struct
from collections import Counter
from typing import TYPE_CHECKING, Final

from core.readers.ncu_report.container import MAGIC, Blocks, Entry
from core.readers.ncu_report.schema import decode
from core.readers.ncu_report.wire import BrokenMessageError, rewrite

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from core.readers.ncu_report.container import Block
    from core.readers.ncu_report.wire import Rule

    DebugPlaces = Callable[[bytes], list[tuple[int, int]] | None]
    """From a device binary to (begin, end) of its parts that are not run; None if it cannot be read."""

_CLOCKS: Final = re.compile(rb"--clock-control[ =]+(base|boost|none)\b")
_PARTS: Final = re.compile(rb"[\\/]")
# An absolute path of any system: not behind a word, a colon or a slash, where it would be part of an address.
_PATH: Final = re.compile(rb"(?<![\w:/\\])(?:[A-Za-z]:)?(?:[\\/][^\x00-\x1f\x7f\"'<>|:*?\\/]{1,255})+[\\/]?")
# In what rules say a blank ends it: what follows is a sentence.
_PATH_IN_TEXT: Final = re.compile(
    rb"(?<![\w:/\\])(?:[A-Za-z]:)?(?:[\\/][^\s\x00-\x1f\x7f\"'<>|:*?\\/,;]{1,255})+[\\/]?"
)
_FILE: Final = re.compile(rb"[^\\/]*\.[A-Za-z0-9_]{1,12}$")
_NAME_BYTE: Final = re.compile(rb"[^\\/:]")


class _Stripping:
    """One report while private data are taken out of it.

    Attributes:
        removed: What was taken out, in words for people, to how often.
    """

    def __init__(self, debug_places: DebugPlaces) -> None:
        self.removed: Counter[str] = Counter()
        self._debug_places = debug_places

    def block(self, raw: bytes, block: Block, head: bytes) -> bytes:
        """Returns a block without private data; ``head`` is its header as stored."""
        sources = self._entries(raw, block.sources, "Source", self._source_rules())
        results = self._entries(raw, block.results, "Result", self._result_rules())
        known_end = max((entry.end for entry in (*block.sources, *block.results)), default=block.begin)
        is_whole = len(block.sources) + len(block.results) == block.header.sources + block.header.results
        # What stands behind the known entries of a block that is not whole would be half of one.
        rest = raw[known_end : block.end] if is_whole and block.end <= len(raw) else b""
        payload = b"".join(struct.pack("<I", len(each)) + each for each in (*sources, *results)) + rest
        header = rewrite(
            head,
            {3: self._message(self._session_rules()), 6: self._message(self._process_rules())},
            {1: len(sources), 2: len(results), 5: len(payload)},
        )
        return struct.pack("<I", len(header)) + header + payload

    def _entries(self, raw: bytes, entries: list[Entry], kind: str, rules: Mapping[int, Rule]) -> list[bytes]:
        """Returns the entries without private data; one that cannot be read is left out."""
        found = []
        for entry in entries:
            data = raw[entry.begin : entry.end]
            try:
                if decode(kind, data) is not None:
                    found.append(rewrite(data, rules))
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
        def rule(content: bytes) -> bytes | None:
            try:
                return rewrite(content, rules)
            except BrokenMessageError:
                self.removed["parts that cannot be read"] += 1
                return None

        return rule

    def _file_name(self, content: bytes) -> bytes:
        name = _PARTS.split(content)[-1]
        self.removed["folders"] += name != content
        return name

    def _plain_text(self, content: bytes) -> bytes:
        """Returns a text whose paths are names of files."""
        return _PATH_IN_TEXT.sub(lambda found: self._file_name(found[0]), content)

    def _command_line(self, content: bytes) -> bytes:
        self.removed["command lines"] += 1
        clocks = _CLOCKS.search(content)
        return b"ncu" if clocks is None else b"ncu --clock-control " + clocks[1]

    def _session_rules(self) -> dict[int, Rule]:
        system = self._message({5: self._out("host names"), 7: self._out("addresses")})
        return {
            3: system,
            4: system,
            7: self._out("notes"),
            9: self._out("programs with arguments and environment"),
            10: self._out("settings of the tool"),
            11: self._command_line,
        }

    def _process_rules(self) -> dict[int, Rule]:
        return {2: self._out("host names"), 3: self._file_name}

    def _result_rules(self) -> dict[int, Rule]:
        frame = self._message({1: self._file_name, 3: self._file_name})
        marker = self._message({4: self._plain_text, 6: self._file_name})
        text = self._message({1: self._plain_text, 4: self._plain_text})
        body = self._message({1: self._message({1: text})})
        return {
            12: self._out("notes"),
            18: self._out("notes"),
            19: self._message({3: body, 5: marker}),
            28: self._message({1: frame}),
        }

    def _source_rules(self) -> dict[int, Rule]:
        imported = self._message({1: self._file_name})
        return {4: self._binary, 8: self._message({1: imported})}

    def _binary(self, content: bytes) -> bytes | None:
        """Returns a binary whose debug information names no folder; nothing in it moves."""
        places = self._debug_places(content)
        if places is None:
            self.removed["binaries that cannot be read"] += 1
            return None
        data = bytearray(content)
        for begin, end in places:
            data[begin:end] = _PATH.sub(self._masked, bytes(data[begin:end]))
        return bytes(data)

    def _masked(self, found: re.Match[bytes]) -> bytes:
        path = found[0]
        name = _FILE.search(path)
        kept = len(path) - (0 if name is None else len(name[0]))
        self.removed["folders"] += 1
        return _NAME_BYTE.sub(b"x", path[:kept]) + path[kept:]


def strip_report(
    raw: bytes, debug_places: DebugPlaces, progress: Callable[[int, int], None] | None = None
) -> tuple[bytes, Counter[str]]:
    """Returns a report without private data, and what was taken out of it.

    What is cut off or cannot be read is left out: nobody could say what it holds.

    Args:
        raw: The report, unpacked.
        debug_places: Where a device binary holds what is not run.
        progress: Called with the bytes that are done and their number. What it raises ends the work.

    Raises:
        DashboardError: It is no report, or not even its first block is whole.
    """
    stripping = _Stripping(debug_places)
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
