"""Growing curves: views that never change, bounded memory, smoothing."""

from __future__ import annotations

import numpy as np
import pytest

from core.telemetry.series import GrowingSeries, Smoother
from core.telemetry.views import Series


def test_a_view_stays_as_it_was_while_the_curve_grows() -> None:
    curve = GrowingSeries()
    for step in range(50):
        curve.append(step, step * 2.0)
    early = curve.view()
    for step in range(50, 5000):
        curve.append(step, step * 2.0)
    assert early.x.tolist() == list(range(50))
    assert early.y.tolist() == [2.0 * step for step in range(50)]
    assert len(curve.view().x) == 5000
    assert (curve.last_x, curve.last_y) == (4999.0, 9998.0)
    with pytest.raises(ValueError, match="read-only"):
        early.y[0] = 1.0


def test_the_view_is_the_same_object_until_a_point_comes() -> None:
    curve = GrowingSeries()
    curve.append(0, 1.0)
    first = curve.view()
    assert curve.view() is first
    curve.append(1, 2.0)
    assert curve.view() is not first
    assert curve.view().generation == first.generation


def test_an_earlier_step_replaces_the_rest_of_the_curve() -> None:
    """A restarted rank counts from the beginning again."""
    curve = GrowingSeries()
    for step in range(10):
        curve.append(step, 1.0)
    before = curve.view()
    curve.append(4, 7.0)
    after = curve.view()
    assert after.x.tolist() == [0, 1, 2, 3, 4]
    assert after.y[-1] == 7.0
    assert before.x.tolist() == list(range(10))
    assert set(before.y.tolist()) == {1.0}
    assert after.generation != before.generation


def test_equal_steps_are_both_kept() -> None:
    curve = GrowingSeries()
    curve.append(3, 1.0)
    curve.append(3, 2.0)
    assert curve.view().y.tolist() == [1.0, 2.0]


def test_extend_is_many_appends() -> None:
    rng = np.random.default_rng(1)
    x, y = np.arange(10_000.0), rng.normal(size=10_000)
    one, other = GrowingSeries(limit=1024), GrowingSeries(limit=1024)
    for position in range(len(x)):
        one.append(x[position], y[position])
    for start in range(0, len(x), 333):
        other.extend(x[start : start + 333], y[start : start + 333])
    assert one.view().x.tolist() == other.view().x.tolist()
    assert one.view().y.tolist() == other.view().y.tolist()


def test_a_full_curve_is_thinned_and_keeps_its_spikes() -> None:
    curve = GrowingSeries(limit=4096)
    for step in range(100_000):
        curve.append(step, 50.0 if step == 61_803 else 2.0 + (step % 7) * 0.001)
    view = curve.view()
    assert len(view.x) <= 4096
    assert view.y.max() == 50.0
    assert view.x[view.y.argmax()] == 61_803
    assert (np.diff(view.x) >= 0).all()
    assert view.x[-1] == 99_999


def _smoothed_one_by_one(y: np.ndarray, weight: float) -> np.ndarray:
    total = mass = 0.0
    result = np.full(len(y), np.nan)
    for position, value in enumerate(y):
        if np.isfinite(value):
            total = weight * total + (1 - weight) * value
            mass = weight * mass + (1 - weight)
            result[position] = total / mass
    return result


@pytest.mark.parametrize("weight", [0.0, 1e-9, 0.5, 0.9, 0.999])
def test_smoothing_equals_the_plain_recurrence(weight: float) -> None:
    rng = np.random.default_rng(2)
    y = rng.normal(2.0, 0.3, 3000)
    y[[5, 700, 701]] = np.nan
    y[900] = np.inf
    x = np.arange(3000.0)
    smoother = Smoother(weight)
    for end in (1, 40, 1000, 3000):
        result = smoother.update(Series(x=x[:end], y=y[:end]))
    np.testing.assert_allclose(result.y, _smoothed_one_by_one(y, weight), rtol=1e-9)


def test_smoothing_recovers_from_a_huge_spike() -> None:
    y = np.full(20_000, 2.0)
    y[100] = 1e25
    result = Smoother(0.9).update(Series(x=np.arange(20_000.0), y=y)).y
    assert result[99] == pytest.approx(2.0)
    assert result[-1] == pytest.approx(2.0)


def test_smoothing_begins_anew_with_a_replaced_curve() -> None:
    curve = GrowingSeries()
    for step in range(100):
        curve.append(step, 5.0)
    smoother = Smoother(0.9)
    first = smoother.update(curve.view())
    curve.append(0, 1.0)
    second = smoother.update(curve.view())
    assert second.y.tolist() == [1.0]
    assert first.y[0] == pytest.approx(5.0)


def test_a_weight_of_one_is_refused() -> None:
    with pytest.raises(ValueError, match="weight"):
        Smoother(1.0)
