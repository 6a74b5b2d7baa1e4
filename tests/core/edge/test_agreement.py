"""Agreement with the reference: what is rounding, what is wrong, and what cannot be compared."""

from __future__ import annotations

import numpy as np
import pytest

from core.edge import agreement
from core.edge.agreement import compare

RANDOM = np.random.default_rng(0)
SCORES = RANDOM.standard_normal((1, 16, 100)).astype(np.float32) * 3


def test_the_same_agrees_without_an_error() -> None:
    found = compare([SCORES], [SCORES.copy()], "fp32")
    assert found.agrees
    assert (found.max_abs_error, found.rel_error, found.nan_count) == (0.0, 0.0, 0)
    assert found.argmax_agreement == 1.0
    assert found.why == ""


def test_rounding_agrees_with_its_size() -> None:
    given = SCORES.copy()
    given[0, 3, 7] += np.float32(2e-6)
    found = compare([given], [SCORES], "fp32")
    assert found.agrees
    assert found.max_abs_error == pytest.approx(2e-6, rel=0.2)


def test_one_operator_that_adds_a_tenth_is_wrong() -> None:
    """Case E08."""
    found = compare([SCORES + np.float32(0.1)], [SCORES], "fp32")
    assert not found.agrees
    assert found.max_abs_error == pytest.approx(0.1, rel=1e-5)
    assert "largest difference is 1.00e-01" in found.why
    # All scores moved alike: what is chosen stays the same, and does not excuse it.
    assert found.argmax_agreement == 1.0


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_what_is_not_finite_is_counted_and_wrong(value: float) -> None:
    """Case E07."""
    given = SCORES.copy()
    given[0, 0, :5] = value
    found = compare([given], [SCORES], "fp16")
    assert not found.agrees
    assert found.nan_count == 5
    assert "5 elements are NaN or infinite" in found.why
    assert found.max_abs_error == 0.0
    if np.isnan(value):
        assert found.argmax_agreement == 15 / 16


def test_an_infinity_of_the_reference_is_no_error() -> None:
    wanted = SCORES.copy()
    wanted[0, 0, 0] = -np.inf
    assert compare([wanted.copy()], [wanted], "fp32").agrees
    flipped = wanted.copy()
    flipped[0, 0, 0] = np.inf
    assert compare([flipped], [wanted], "fp32").nan_count == 1


def test_all_nan_has_no_error_to_show() -> None:
    found = compare([np.full_like(SCORES, np.nan)], [SCORES], "fp32")
    assert (found.max_abs_error, found.rel_error) == (None, None)
    assert found.nan_count == SCORES.size
    assert not found.agrees
    assert found.argmax_agreement == 0.0


def test_half_precision_is_given_more_room_but_not_any() -> None:
    rounded = SCORES.astype(np.float16).astype(np.float32)
    assert compare([rounded], [SCORES], "fp16").agrees
    assert not compare([rounded], [SCORES], "fp32").agrees
    assert not compare([SCORES * np.float32(1.1)], [SCORES], "fp16").agrees


def test_many_small_errors_are_wrong_though_none_is_large() -> None:
    wanted = np.full((1, 1000), 1e-3, np.float32)
    wanted[0, 0] = 1.0
    given = wanted + np.float32(9e-5)
    found = compare([given], [wanted], "fp32")
    assert not found.agrees
    assert "relative error" in found.why


def test_other_shapes_and_missing_outputs_cannot_agree() -> None:
    found = compare([SCORES[:, :8]], [SCORES], "fp32")
    assert not found.agrees
    assert found.max_abs_error is None
    assert "1×8×100 instead of 1×16×100" in found.why
    assert not compare([], [SCORES], "fp32").agrees


def test_no_output_at_all_is_no_agreement() -> None:
    assert not compare([], [], "fp32").agrees


def test_blocks_do_not_change_the_figures(monkeypatch: pytest.MonkeyPatch) -> None:
    given = SCORES + RANDOM.standard_normal(SCORES.shape).astype(np.float32) * np.float32(1e-3)
    whole = compare([given], [SCORES], "fp32")
    monkeypatch.setattr(agreement, "_BLOCK", 17)
    cut = compare([given], [SCORES], "fp32")
    assert cut.max_abs_error == whole.max_abs_error
    assert cut.rel_error == pytest.approx(whole.rel_error, rel=1e-12)


def test_whole_numbers_are_compared_too() -> None:
    wanted = np.arange(6, dtype=np.int64).reshape(2, 3)
    found = compare([wanted], [wanted], "fp32")
    assert found.agrees
    assert found.argmax_agreement is None
    assert not compare([wanted + 1], [wanted], "fp32").agrees


def test_a_large_output_does_not_hide_a_small_one_that_is_wrong() -> None:
    large = SCORES * np.float32(1e4)
    found = compare([large, SCORES + np.float32(0.1)], [large, SCORES], "fp32")
    assert not found.agrees
    assert found.why.startswith("Output 2 of 2: The largest difference is 1.00e-01")
    assert found.rel_error is not None
    assert found.rel_error > 1e-2


def test_a_token_that_is_another_is_no_rounding() -> None:
    """Of tokens that are large numbers, the next one is near by any relative measure."""
    wanted = np.full((1, 64), 50_000, np.int64)
    given = wanted.copy()
    given[0, 3] += 1
    found = compare([given], [wanted], "fp16")
    assert not found.agrees
    assert found.why == "1 of 64 whole numbers are others."
