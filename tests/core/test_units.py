"""Figures as they are shown, and numbers as they are typed."""

from __future__ import annotations

import locale
import math

import pytest

from core.errors import DashboardError
from core.units import (
    GIB,
    format_bytes_gib,
    format_bytes_per_s,
    format_count,
    format_duration_ns,
    format_elapsed,
    format_file_bytes,
    format_flop_per_s,
    format_ms,
    format_number,
    format_pct,
    format_shape,
    gib,
    parse_float,
)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (None, "n/a"),
        (0, "0.00 GiB"),
        (int(8.42 * GIB), "8.42 GiB"),
        (-GIB, "\u22121.00 GiB"),
        (math.nan, "n/a"),
    ],
)
def test_memory_is_in_gib(value: float | None, expected: str) -> None:
    assert format_bytes_gib(value) == expected
    assert gib(value) == expected.removesuffix(" GiB")


def test_a_decimal_gb_figure_is_shown_in_gib() -> None:
    """Case M02: 12.34 GB is 11.49 GiB."""
    assert format_bytes_gib(12_340_000_000) == "11.49 GiB"


@pytest.mark.parametrize(
    ("value_ns", "expected"),
    [
        (None, "n/a"),
        (0, "0 ns"),
        (812, "812 ns"),
        (812.0, "812 ns"),
        (0.1, "0.1 ns"),
        (812.345, "812.3 ns"),
        (12.999999, "13 ns"),
        (-0.25, "\u22120.25 ns"),
        (3e-5, "3e-5 ns"),
        (999.96, "1.000 \u00b5s"),
        (4_123, "4.123 \u00b5s"),
        (61_982_000, "61.98 ms"),
        (108_240_000, "108.2 ms"),
        (999_960_000, "1.000 s"),
        (999_940_000, "999.9 ms"),
        (12_500_000_000, "12.50 s"),
        (100_000_000_000, "100.0 s"),
        (134_000_000_000, "2 min 14 s"),
        (3_725_000_000_000, "1 h 02 min"),
        (-1_500_000, "\u22121.500 ms"),
    ],
)
def test_durations_have_four_digits_at_most(value_ns: int | None, expected: str) -> None:
    assert format_duration_ns(value_ns) == expected


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (None, "n/a"),
        (10.374, "10.374"),
        (2345.6, "2,345.6"),
        (2.5, "2.5000"),
        (0.25, "0.25000"),
        (99999.96, "100,000"),
        (2.1e-6, "2.1e-6"),
        (3e-4, "3e-4"),
        (-1e-5, "\u22121e-5"),
        (123456.0, "123,456"),
        (1.5e9, "1.5e9"),
        (0.0, "0"),
        (-0.0, "0"),
        (math.nan, "NaN"),
        (math.inf, "inf"),
        (-math.inf, "\u2212inf"),
    ],
)
def test_losses(value: float | None, expected: str) -> None:
    assert format_number(value) == expected


def test_other_figures() -> None:
    assert format_count(1248) == "1,248"
    assert format_count(None) == "n/a"
    assert format_pct(81.34) == "81.3\u00a0%"
    assert format_pct(-0.04) == "0.0\u00a0%"
    assert format_pct(None) == "n/a"
    assert format_elapsed(134.9) == "02:14"
    assert format_elapsed(3734) == "1:02:14"
    assert format_bytes_per_s(2.6844e12) == "2.684 TB/s"
    assert format_bytes_per_s(999.96e9) == "1.000 TB/s"
    assert format_flop_per_s(989.4e12) == "989.4 TFLOP/s"
    assert format_ms(1_234_500_000) == "1,234.5"
    assert [format_file_bytes(n) for n in (512, 4_700, 4_700_000, 999_960_000)] == [
        "512 bytes",
        "4.7 kB",
        "4.7 MB",
        "1.0 GB",
    ]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("3.5", 3.5),
        ("3,5", 3.5),
        (" 2,345.6 ", 2345.6),
        ("2.345,6", 2345.6),
        ("1,234,567", 1234567.0),
        ("1.234.567", 1234567.0),
        ("1\u202f234,5", 1234.5),
        ("\u22122,5e-3", -2.5e-3),
        ("989", 989.0),
        ("-inf", -math.inf),
    ],
)
def test_numbers_are_read_with_point_or_comma(text: str, expected: float) -> None:
    """Case G17."""
    assert parse_float(text) == expected


@pytest.mark.parametrize(
    "text", ["", "abc", "1.2.3,4,5x", "--1", "1e", "0x10", "1_000", "1.2.3", "12,34,567"]
)
def test_what_is_no_number_is_refused(text: str) -> None:
    with pytest.raises(DashboardError, match="not a number") as caught:
        parse_float(text)
    assert "3,5" in caught.value.hint


def test_a_comma_decimal_locale_changes_nothing() -> None:
    """Case G17: the figures are the same under every locale."""
    before = locale.setlocale(locale.LC_ALL)
    for name in ("de_DE.UTF-8", "de_DE.utf8", "fr_FR.UTF-8"):
        try:
            locale.setlocale(locale.LC_ALL, name)
        except locale.Error:
            continue
        break
    try:
        assert format_number(10.374) == "10.374"
        assert format_count(1248) == "1,248"
        assert parse_float("3.5") == parse_float("3,5") == 3.5
    finally:
        locale.setlocale(locale.LC_ALL, before)


def test_a_shape_has_a_sign_between_its_sides_and_no_commas() -> None:
    assert format_shape((131072, 1, 1)) == "131072 \N{MULTIPLICATION SIGN} 1 \N{MULTIPLICATION SIGN} 1"
