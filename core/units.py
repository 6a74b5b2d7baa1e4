"""Figures as people read them, and numbers as people write them.

Every figure that the window or the terminal shows goes through here, so that a
unit, a missing value and a minus sign look the same everywhere and do not
depend on the system's locale. Holds no quantities of its own.

"n/a" stands for "not measured"; a zero is a measured zero. GiB is 2**30 bytes
(memory), MB and GB are powers of ten (files, rates). Minus is U+2212, and a
percent sign follows a no-break space.
"""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING

from core.errors import DashboardError

if TYPE_CHECKING:
    from collections.abc import Iterable

GIB = 2**30
"""Bytes in a GiB."""

GB = 10**9
"""Bytes in a GB."""

NOT_MEASURED = "n/a"
MINUS = "\N{MINUS SIGN}"
NO_BREAK_SPACE = "\N{NO-BREAK SPACE}"
_TIMES = " \N{MULTIPLICATION SIGN} "

DURATION_UNITS = (("ns", 1), ("\N{MICRO SIGN}s", 1_000), ("ms", 1_000_000), ("s", 1_000_000_000))
"""Names and how many ns each is, small to large."""

DECIMAL_PREFIXES = (("", 1), ("k", 10**3), ("M", 10**6), ("G", 10**9), ("T", 10**12), ("P", 10**15))
"""Prefixes of rates and of FLOP, small to large."""


def _with_minus(text: str) -> str:
    return text.replace("-", MINUS, 1) if text.startswith("-") else text


def _fixed(value: float, decimals: int) -> str:
    """Thousands with a comma, a fixed number of decimals, no minus before zero."""
    text = f"{value:,.{decimals}f}"
    if text.startswith("-") and not text.strip("-0.,"):
        text = text[1:]
    return _with_minus(text)


def _four_digits(value: float) -> str:
    """At most four digits: 1.234, 12.34, 123.4, 1,234."""
    rounded = float(f"{value:.4g}")
    magnitude = abs(rounded)
    digits_before_point = 1 if magnitude < 1 else int(math.log10(magnitude)) + 1
    return _fixed(rounded, max(0, 4 - digits_before_point))


def format_fixed(value: float | None, decimals: int) -> str:
    """A number with a fixed number of decimals, for a column that names its unit: "1,204.0"."""
    if value is None or math.isnan(value):
        return NOT_MEASURED
    return format_number(value) if math.isinf(value) else _fixed(value, decimals)


def gib(value_bytes: float | None, decimals: int = 2) -> str:
    """A number of bytes in GiB, without the unit (for a column that names it).

    Args:
        value_bytes: Bytes; None or NaN is not measured.
        decimals: Fixed number of decimals.
    """
    if value_bytes is None or math.isnan(value_bytes):
        return NOT_MEASURED
    return _fixed(value_bytes / GIB, decimals)


def format_bytes_gib(value_bytes: float | None, decimals: int = 2) -> str:
    """A number of bytes of memory: "8.42 GiB" or "n/a"."""
    text = gib(value_bytes, decimals)
    return text if text == NOT_MEASURED else f"{text} GiB"


def format_file_bytes(value_bytes: int | None) -> str:
    """Size of a file: "512 bytes", "4.7 MB", "1.2 GB" (powers of ten)."""
    if value_bytes is None:
        return NOT_MEASURED
    if abs(value_bytes) < 1_000:
        return f"{value_bytes} bytes"
    for unit, scale in (("kB", 10**3), ("MB", 10**6)):
        if abs(value_bytes) < scale * 999.95:
            return f"{_fixed(value_bytes / scale, 1)} {unit}"
    return f"{_fixed(value_bytes / GB, 1)} GB"


def format_duration_ns(value_ns: float | None) -> str:
    """A duration with four digits at most: "108.2 ms", "812 ns", "0.1 ns"; over 100 s "2 min 14 s"."""
    if value_ns is None or math.isnan(value_ns):
        return NOT_MEASURED
    if math.isinf(value_ns):
        return format_number(value_ns)
    if abs(value_ns) > 100e9:
        return _long_duration(value_ns / 1e9)
    for name, scale in DURATION_UNITS:
        if abs(float(f"{value_ns / scale:.4g}")) < 1_000 or name == "s":
            if name == "ns":
                return f"{_whole_or_four_digits(value_ns)} ns"
            return f"{_four_digits(value_ns / scale)} {name}"
    raise AssertionError("the last unit takes every value")


def _whole_or_four_digits(value: float) -> str:
    """Whole numbers bare, others with what four digits tell: 812, 812.3, 0.1, 3e-5."""
    if float(value).is_integer():
        return _fixed(value, 0)
    text = format_number(value, 4)
    return text.rstrip("0").rstrip(".") if "." in text and "e" not in text else text


def _long_duration(seconds: float) -> str:
    sign = MINUS if seconds < 0 else ""
    whole_s = round(abs(seconds))
    hours, rest_s = divmod(whole_s, 3600)
    minutes, rest_s = divmod(rest_s, 60)
    if hours:
        return f"{sign}{hours:,} h {minutes:02d} min"
    return f"{sign}{minutes} min {rest_s:02d} s"


def format_ms(value_ns: float | None, decimals: int = 1) -> str:
    """A duration in ms without its unit (for a column that names it)."""
    if value_ns is None or math.isnan(value_ns):
        return NOT_MEASURED
    return _fixed(value_ns / 1e6, decimals)


def format_elapsed(seconds: float | None) -> str:
    """A running clock: "02:14", with hours "1:02:14"."""
    if seconds is None or math.isnan(seconds):
        return NOT_MEASURED
    whole_s = int(max(0.0, seconds))
    hours, rest_s = divmod(whole_s, 3600)
    minutes, rest_s = divmod(rest_s, 60)
    return f"{hours}:{minutes:02d}:{rest_s:02d}" if hours else f"{minutes:02d}:{rest_s:02d}"


def format_count(value: int | None) -> str:
    """A count with commas: "1,248"."""
    return NOT_MEASURED if value is None else _fixed(value, 0)


def format_pct(value_pct: float | None, decimals: int = 1) -> str:
    """A percentage: "81.3 %" with a no-break space."""
    if value_pct is None or math.isnan(value_pct):
        return NOT_MEASURED
    return f"{_fixed(value_pct, decimals)}{NO_BREAK_SPACE}%"


def format_number(value: float | None, digits: int = 5) -> str:
    """A loss, norm or rate: "10.374", "2.1e-6", "2,345.6", "NaN", "inf".

    Args:
        value: None is not measured; NaN and the infinities are measured values.
        digits: Significant digits between 1e-3 and 1e7; three at most elsewhere.
    """
    if value is None:
        return NOT_MEASURED
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "inf" if value > 0 else f"{MINUS}inf"
    if value == 0:
        return "0"
    rounded = float(f"{value:.{digits}g}")
    if not 1e-3 <= abs(rounded) < 1e7:
        mantissa, exponent = f"{value:.2e}".split("e")
        return _with_minus(f"{mantissa.rstrip('0').rstrip('.')}e{int(exponent)}")
    decimals = max(0, digits - 1 - math.floor(math.log10(abs(rounded))))
    return _fixed(value, decimals)


def format_bytes_per_s(value_bytes_per_s: float | None) -> str:
    """A data rate in powers of ten: "2.684 TB/s", "671.1 GB/s"."""
    return _with_prefix(value_bytes_per_s, "B/s")


def format_flop_per_s(value_flop_per_s: float | None) -> str:
    """A rate of arithmetic: "989.4 TFLOP/s"."""
    return _with_prefix(value_flop_per_s, "FLOP/s")


def _with_prefix(value: float | None, unit: str) -> str:
    if value is None or math.isnan(value):
        return NOT_MEASURED
    if value == 0:
        return f"0 {unit}"
    for prefix, scale in DECIMAL_PREFIXES:
        if abs(float(f"{value / scale:.4g}")) < 1_000 or prefix == "P":
            return f"{_four_digits(value / scale)} {prefix}{unit}"
    raise AssertionError("the last prefix takes every value")


def format_shape(sides: Iterable[int]) -> str:
    """Formats a grid, a block or a tile: "64 × 64 × 1". Sides are identifiers: no commas."""
    return _TIMES.join(map(str, sides))


_NUMBER = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?|[+-]?inf|nan", re.IGNORECASE)


def parse_float(text: str) -> float:
    """Reads a number that a person typed, with a decimal point or a decimal comma.

    Of two different separators the last one is the decimal one: "2,345.6" and
    "2.345,6" are 2345.6. The same one more than once groups thousands. A single
    comma is a decimal comma: "1,234" is 1.234, as in the locales that write it.

    Raises:
        DashboardError: The text is no number.
    """
    bare = re.sub(r"[\s\u00a0\u202f']", "", text).replace(MINUS, "-")
    comma, point = bare.rfind(","), bare.rfind(".")
    if comma >= 0 and point >= 0:
        grouping, decimal = (",", ".") if comma < point else (".", ",")
        whole, _, fraction = bare.rpartition(decimal)
        bare = _ungrouped(whole, grouping) + "." + fraction
    elif bare.count(",") > 1 or bare.count(".") > 1:
        bare = _ungrouped(bare, "," if comma >= 0 else ".")
    else:
        bare = bare.replace(",", ".")
    if not _NUMBER.fullmatch(bare):
        raise DashboardError(f"{text.strip()!r} is not a number.", "Enter a number such as 3.5 or 3,5.")
    return float(bare)


def _ungrouped(whole: str, separator: str) -> str:
    """Without its thousands separators; as it is if they do not stand at thousands."""
    head, *groups = whole.split(separator)
    if len(head.lstrip("+-")) <= 3 and all(len(group) == 3 for group in groups):
        return whole.replace(separator, "")
    return whole
