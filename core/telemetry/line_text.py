"""One raw line of a program's output as plain text: decoded, cleaned, classified.

Pure functions on a single line. Nothing in it is interpreted but colours:
markup stays literal, and control characters are shown as escapes.
"""

from __future__ import annotations

import codecs
import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from core.telemetry.views import Level

TEXT_LIMIT = 4_000
"""Characters of a line that are shown."""

Spans = tuple[tuple[int, int, int], ...]

_ESCAPE = re.compile(
    r"\x1b(?:\[([0-?]*)[ -/]*([@-~])"  # control sequence: parameters, final character
    r"|\][^\x07\x1b]*(?:\x07|\x1b\\|$)"  # operating system command (titles, links)
    r"|[()*+][0-9A-Za-z]|[=>78cDEHMNOZ])"  # character sets and single functions
)
"""Source: ECMA-48, 5th edition (1991), section 5.4; xterm control sequences (OSC)."""

_UNFINISHED = re.compile(r"\x1b(?:\[[0-?]*[ -/]*|\][^\x07\x1b]*|[()*+])?$")

_HIDDEN = re.compile(
    "[\x00-\x08\x0a-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff]"
)
"""Control characters but tab, line separators, and marks that change the direction of text."""


def show(raw: bytes, *, whole: bool = True) -> tuple[str, Spans]:
    r"""The text of a line, and the colours it asks for.

    Args:
        raw: The bytes of one line, without its newline.
        whole: False for a line that is still being written: a character or an
            escape sequence that its end cuts off is left out for now.

    Returns:
        Text without control sequences, bytes that are not UTF-8 as U+FFFD,
        other control characters as escapes such as \x07, and long lines cut;
        and (start, end, ANSI colour 0-15) of each coloured part.
    """
    if len(raw) <= TEXT_LIMIT and raw.isascii():
        text = raw.decode("ascii")
        if text.isprintable():
            return text, ()
    cut_bytes = max(0, len(raw) - 8 * TEXT_LIMIT)
    decoder = codecs.getincrementaldecoder("utf-8")("replace")
    text = decoder.decode(raw[: 8 * TEXT_LIMIT], final=whole and not cut_bytes)
    spans: Spans = ()
    if not text.isprintable():
        if not whole:
            text = _UNFINISHED.sub("", text)
        text, spans = _without_escapes(text)
    if len(text) > TEXT_LIMIT or cut_bytes:
        left_out = cut_bytes + max(0, len(text) - TEXT_LIMIT)
        text = f"{text[:TEXT_LIMIT]} \N{HORIZONTAL ELLIPSIS} (at least {left_out:,} more)"
        spans = tuple(
            (start, min(end, TEXT_LIMIT), colour) for start, end, colour in spans if start < TEXT_LIMIT
        )
    return text, spans


def _without_escapes(text: str) -> tuple[str, Spans]:
    """Takes control sequences out, keeps the foreground colour they set."""
    parts: list[str] = []
    spans: list[tuple[int, int, int]] = []
    length = position = 0
    colour: int | None = None
    for match in _ESCAPE.finditer(text):
        length = _add(parts, spans, (length, colour), text[position : match.start()])
        position = match.end()
        if match.group(2) == "m":
            colour = _colour(match.group(1), colour)
    _add(parts, spans, (length, colour), text[position:])
    return "".join(parts), tuple(spans)


def _add(
    parts: list[str], spans: list[tuple[int, int, int]], state: tuple[int, int | None], piece: str
) -> int:
    """Appends a piece in one colour; returns the length so far."""
    length, colour = state
    if not piece:
        return length
    piece = _HIDDEN.sub(_escaped, piece)
    if colour is not None:
        spans.append((length, length + len(piece), colour))
    parts.append(piece)
    return length + len(piece)


def _escaped(match: re.Match[str]) -> str:
    code = ord(match.group())
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}"


def _colour(parameters: str, colour: int | None) -> int | None:
    """Foreground after an SGR sequence; colours beyond the 16 named ones count as none."""
    codes = [int(code) if code.isdigit() and len(code) < 4 else 0 for code in parameters.split(";")]
    position = 0
    while position < len(codes):
        code = codes[position]
        if code in {0, 39}:
            colour = None
        elif 30 <= code <= 37:
            colour = code - 30
        elif 90 <= code <= 97:
            colour = code - 82
        elif code in {38, 48}:
            kind = codes[position + 1] if position + 1 < len(codes) else 0
            if code == 38:
                index = codes[position + 2] if position + 2 < len(codes) else 16
                colour = index if kind == 5 and index < 16 else None
            position += {5: 2, 2: 4}.get(kind, 0)
        position += 1
    return colour


_LABEL = re.compile(r"^\[(?:default|trainer|rank) ?(\d{1,5})\]: ?")
_BARE_LABEL = re.compile(r"^ {0,4}(\d{1,5}): ?")


def split_label(text: str, *, bare: bool = False) -> tuple[int | None, int]:
    """The rank that a line is labelled with, and where the rest of it begins.

    Args:
        text: The line as shown.
        bare: Take "2: " as a label too, as ``srun --label`` writes it.

    Returns:
        (rank, start of the rest), (None, 0) without a label.

    Source: "[default0]:" torchrun --tee; "[trainer0]:" TorchX; "[rank0]:"
    torch's own exception hook and warnings; "0: " srun(1), --label.
    """
    match = _LABEL.match(text) or (_BARE_LABEL.match(text) if bare else None)
    return (None, 0) if match is None else (int(match.group(1)), match.end())


_GLOG = re.compile(r"^\[?([IWEFCD])\d{4} \d\d:\d\d:\d\d\.\d+ [^\]]*\] ?")
_PLAIN_LOG = re.compile(r"^(?:DEBUG|INFO|WARNING|ERROR|CRITICAL):[\w.]+:\s*")
"""What Python's logging puts first unless it is told otherwise: torchrun of 2.4 writes its banner so."""
_QUIET = re.compile(
    r"^[\s*]*$|^Setting OMP_NUM_THREADS |^Sending process \d+ closing signal "
    r"|^Received (?:\d+|Signals\.SIG\w+) death signal"  # by number from Python 3.11 on
    r"|^Memory block of unknown size was allocated before the profiling started"
)
_KINETO = re.compile(r"^([A-Z]+):\d{4}-\d\d-\d\d \d\d:\d\d:\d\d \d+:\d+ [\w.]+:\d+\] ?")
"""What torch's profiler puts first: level, time, process and thread, place.

Source: ILoggerObserver and Logger of libkineto, src/Logger.cpp.
"""
_KINETO_LEVELS: dict[str, Level] = {"WARNING": "warn", "ERROR": "error"}
_ERROR = re.compile(
    r"^Traceback \(most recent call last\)"
    r"|\b[A-Z]\w*(?:Error|Exception)\b(?::|$)"
    r"|\b(?:ERROR|FATAL|CRITICAL)\b"
    r"|^(?:\S+: )?(?:fatal )?error: "
    r"|CUDA error|[Ss]egmentation fault|Fatal Python error|core dumped"
)
_WARN = re.compile(r"\b\w*Warning\b|\bWARN(?:ING)?\b|^\W*(?i:warn(?:ing)?)\b(?![.(])")
_OUT_OF_MEMORY = re.compile(
    r"OutOfMemoryError|(?:CUDA|HIP|MPS(?: backend)?) out of memory|CUBLAS_STATUS_ALLOC_FAILED"
    r"|DefaultCPUAllocator: (?:can't|not enough)|^MemoryError\b"
)

NOTABLE = (b"rror", b"xception", b"arning", b"WARN", b"warn", b"raceback", b"ERROR", b"FATAL", b"memory")
"""Each line that is no plain information holds one of these."""


def level_of(text: str) -> Level:
    """How grave a line is by its words: "info" unless it says otherwise.

    Some that torchrun writes as warnings are information: its banner about
    OMP_NUM_THREADS, and that it ends ranks, after one has failed or as it was asked to.
    So is what every trace of memory begins with: blocks that were allocated before
    it have no known size, which no one can change. A line of torch's profiler is as
    grave as its own level says, and its notes of a start and an end (USDT) are not.
    """
    profiler = _KINETO.match(text)
    if profiler:
        return _KINETO_LEVELS.get(profiler.group(1), "info")
    logged = _GLOG.match(text)
    rest = text[logged.end() :] if logged else text
    plain = _PLAIN_LOG.match(rest)
    if _QUIET.match(rest[plain.end() :] if plain else rest):
        return "info"
    if _ERROR.search(rest) or is_out_of_memory(rest) or (logged and logged.group(1) in "EFC"):
        return "error"
    if _WARN.search(rest) or (logged and logged.group(1) == "W"):
        return "warn"
    return "info"


def message_of(text: str) -> str:
    """A line without the time, process and place that a logger puts before it."""
    logged = _GLOG.match(text) or _KINETO.match(text)
    return text[logged.end() :].strip() if logged else text.strip()


def is_out_of_memory(text: str) -> bool:
    """The line says that an allocation failed."""
    return _OUT_OF_MEMORY.search(text) is not None
