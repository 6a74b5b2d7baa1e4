"""Which part of time a timeline shows, in whole nanoseconds: zoom, pan, limits and undo, without Qt.

``view_state`` does this for charts in float values that follow the newest point;
float64 cannot hold a nanosecond of an epoch time.
"""

from __future__ import annotations

from dataclasses import dataclass

_HISTORY = 100


@dataclass(frozen=True, slots=True)
class TimeSpan:
    """A half-open range of time.

    Attributes:
        start_ns: First nanosecond.
        end_ns: The one behind the last; above the start.
    """

    start_ns: int
    end_ns: int

    @property
    def length_ns(self) -> int:
        """End minus start."""
        return self.end_ns - self.start_ns


class SpanState:
    """The visible span of one timeline and the spans before it."""

    def __init__(self) -> None:
        self._all = TimeSpan(0, 1)
        self._least_ns = 1
        self._span = self._all
        self._before: list[TimeSpan] = []
        self._gesture: object = None

    @property
    def span(self) -> TimeSpan:
        """What is visible."""
        return self._span

    @property
    def whole(self) -> TimeSpan:
        """All there is, at least as long as the shortest span that can be shown."""
        return TimeSpan(self._all.start_ns, max(self._all.end_ns, self._all.start_ns + self._least_ns))

    @property
    def can_undo(self) -> bool:
        """There is an earlier span."""
        return bool(self._before)

    def set_all(self, everything: TimeSpan) -> None:
        """Tells the extent of the data, shows it and forgets the spans before."""
        self._all = everything
        self._before.clear()
        self._gesture = None
        self._span = self.whole

    def set_least(self, least_ns: int) -> None:
        """Tells the shortest span that can be shown: a nanosecond a pixel."""
        shown_whole = self._span == self.whole
        self._least_ns = max(1, least_ns)
        self._span = self.whole if shown_whole else self._limited(self._span)

    def zoom(self, centre_ns: int, factor: float, gesture: object = None) -> None:
        """Makes the span ``factor`` times as long; ``centre_ns`` keeps its place."""
        old_ns = self._span.length_ns
        new_ns = min(max(round(old_ns * factor), self._least_ns), self.whole.length_ns)
        start_ns = centre_ns - (centre_ns - self._span.start_ns) * new_ns // old_ns
        self._go(TimeSpan(start_ns, start_ns + new_ns), gesture)

    def pan(self, distance_ns: int, gesture: object = None) -> None:
        """Moves the span along time."""
        self._go(TimeSpan(self._span.start_ns + distance_ns, self._span.end_ns + distance_ns), gesture)

    def show(self, span: TimeSpan, gesture: object = None) -> None:
        """Shows a span, or what is possible of it."""
        self._go(span, gesture)

    def reset(self) -> None:
        """Shows everything."""
        self._go(self.whole, None)

    def undo(self) -> bool:
        """Back to the span before. False if there is none."""
        if not self._before:
            return False
        self._span = self._limited(self._before.pop())
        self._gesture = None
        return True

    def _limited(self, span: TimeSpan) -> TimeSpan:
        """Not shorter than possible, not longer than all, and a tenth of it on the data."""
        whole = self.whole
        length_ns = min(max(span.length_ns, self._least_ns), whole.length_ns)
        if length_ns == whole.length_ns:
            return whole
        start_ns = min(
            max(span.start_ns, whole.start_ns - length_ns * 9 // 10), whole.end_ns - length_ns // 10 - 1
        )
        return TimeSpan(start_ns, start_ns + length_ns)

    def _go(self, span: TimeSpan, gesture: object) -> None:
        span = self._limited(span)
        if span == self._span:
            return
        if gesture is None or gesture != self._gesture:
            self._before.append(self._span)
            del self._before[:-_HISTORY]
        self._gesture = gesture
        self._span = span
