"""All curves of a run, by name and rank, and the unchanging view of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from core.runs.skew import StepSkew
from core.runs.snapshot import ALL_RANKS, SERIES
from core.telemetry.series import POINT_LIMIT, GrowingSeries

if TYPE_CHECKING:
    from core.telemetry.views import Series

_TIME_POINT_LIMIT = POINT_LIMIT // 4


class Curves:
    """Growing curves; ``view`` is the same object until one of them has grown.

    The skew of the step times follows from these and is added by nobody else.
    """

    def __init__(self, ranks: int) -> None:
        self._curves: dict[str, dict[int, GrowingSeries]] = {name: {} for name in SERIES}
        self._views: dict[str, dict[int, Series]] = {}
        self._grown: set[str] = set()
        self._skew = StepSkew(ranks)

    def add(self, name: str, rank: int, x: float, y: float) -> None:
        """Adds a point; over steps, an earlier x replaces the curve from there on."""
        curve = self._curve(name, rank)
        if SERIES[name][0] == "s" and curve.last_x is not None and x < curve.last_x:
            x = curve.last_x  # a clock that was set back
        if name == "step_time" and curve.last_x is not None and x <= curve.last_x:
            self._skew.begin_again(x)
        curve.append(x, y)
        self._grown.add(name)

    def add_gap(self, name: str, rank: int, x: float) -> None:
        """Ends the line of a curve that has begun; further gaps add nothing."""
        curve = self._curves[name].get(rank)
        last_y = curve.last_y if curve is not None else None
        if last_y is not None and last_y == last_y:  # noqa: PLR0124 - not NaN
            self.add(name, rank, x, float("nan"))

    def last_x(self, name: str, rank: int) -> float | None:
        """X of the newest point of a curve."""
        curve = self._curves[name].get(rank)
        return None if curve is None else curve.last_x

    def clear(self, name: str, rank: int) -> None:
        """Forgets a curve."""
        if self._curves[name].pop(rank, None) is not None:
            self._grown.add(name)

    def view(self) -> dict[str, dict[int, Series]]:
        """By name, then by rank; curves without a point are absent."""
        if self._grown:
            self._views = dict(self._views)
            for name in self._grown:
                curves = self._curves[name]
                self._views.pop(name, None)
                if curves:
                    self._views[name] = {rank: curves[rank].view() for rank in sorted(curves)}
            if "step_time" in self._grown:
                self._view_skew()
            self._grown.clear()
        return self._views

    def _view_skew(self) -> None:
        self._views.pop("skew", None)
        skew = self._skew.follow(self._views["step_time"])
        if skew is not None:
            self._views["skew"] = {ALL_RANKS: skew}

    def _curve(self, name: str, rank: int) -> GrowingSeries:
        curves = self._curves[name]
        curve = curves.get(rank)
        if curve is None:
            limit = _TIME_POINT_LIMIT if SERIES[name][0] == "s" else POINT_LIMIT
            curve = curves[rank] = GrowingSeries(limit)
        return curve
