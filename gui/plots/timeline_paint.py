"""Draws a timeline's headers, ruler and overview with Qt; the lanes themselves are an image."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np
from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QColor, QFont, QFontMetricsF, QImage, QPainter, QPen

from core.analyses.timeline_index import edges_ns
from core.units import format_count, format_duration_ns
from gui.plots.timeline_geometry import HEADER_PX, OVERVIEW_MARGIN_PX, OVERVIEW_PX, RULER_PX
from gui.plots.timeline_image import mixed
from gui.plots.timeline_ticks import TimeTick, time_ticks

if TYPE_CHECKING:
    from core.tables.timeline import TimelineIndex
    from gui.plots.timeline_content import TimelineContent
    from gui.plots.timeline_geometry import TimelineGeometry
    from gui.plots.timeline_layout import Strip
    from gui.plots.timeline_span import TimeSpan
    from gui.theme import Theme

PIN_PX: Final = 16
_PIN_LEFT_PX: Final = HEADER_PX - 22
_CARET_LEFT_PX: Final = 5
_INDENT_PX: Final = 24
_NOTE_SHARE: Final = 0.4
"""So much of a header a note may take from its name."""
_BETWEEN_PX: Final = 8
_TICK_EVERY_PX: Final = 66
_LEVELS: Final = 16
_NAMES_PX: Final = 26
"""What a lane's name takes up with the room around it."""


def pin_box(strip: Strip, top: float) -> QRectF:
    """Where a lane's pin is, in its header."""
    return QRectF(_PIN_LEFT_PX, top + min((strip.height - PIN_PX) / 2, 6), PIN_PX, PIN_PX)


def ruler_ticks(geometry: TimelineGeometry, origin_ns: int) -> tuple[TimeTick, ...]:
    """Ticks that fit on the ruler."""
    return time_ticks(geometry.span, origin_ns, geometry.plot_width / _TICK_EVERY_PX)


def draw_ruler(
    painter: QPainter, geometry: TimelineGeometry, ticks: tuple[TimeTick, ...], theme: Theme
) -> None:
    """Draws the ruler's words and the line below them."""
    painter.fillRect(QRectF(0, OVERVIEW_PX, geometry.width, RULER_PX), theme.color("surface1"))
    painter.setFont(theme.font(theme.px_small))
    painter.setPen(theme.color("text2"))
    metrics = QFontMetricsF(painter.font())
    for tick in ticks:
        x = round(geometry.x_of(tick.time_ns))
        if x < HEADER_PX or x + 4 + metrics.horizontalAdvance(tick.label) > geometry.width:
            continue
        painter.drawText(QPointF(x + 4, OVERVIEW_PX + 14), tick.label)
        painter.fillRect(QRectF(x, OVERVIEW_PX + RULER_PX - 4, 1, 4), theme.color("chart-grid"))
    border = theme.color("border")
    painter.fillRect(QRectF(0, geometry.lanes_top - 1, geometry.width, 1), border)
    painter.fillRect(QRectF(0, OVERVIEW_PX - 1, geometry.width, 1), border)


@dataclass(frozen=True, slots=True)
class HeaderLook:
    """What a header looks like beside its strip.

    Attributes:
        top: First pixel of the strip in the widget.
        visible_top: First pixel that is not behind what lies above the strips that scroll.
        hovered: The pointer is over it.
    """

    top: float
    visible_top: float
    hovered: bool


def names_top_px(strip: Strip, look: HeaderLook) -> float:
    """Where a lane's name begins: at its top, or where it begins to be seen, as far as it has room there."""
    hidden_px = max(0.0, look.visible_top - look.top)
    return look.top + min(hidden_px, max(0.0, strip.height - _NAMES_PX))


def draw_header(
    painter: QPainter, strip: Strip, look: HeaderLook, content: TimelineContent, theme: Theme
) -> None:
    """Draws the header of one strip."""
    box = QRectF(0, look.top, HEADER_PX, strip.height)
    painter.fillRect(box, theme.color("surface2" if strip.kind == "group" else "surface1"))
    if strip.kind == "group":
        _draw_group_header(painter, strip, look, content, theme)
        return
    if strip.kind == "counter":
        counter = content.counters[strip.number]
        _draw_names(painter, look.top, strip, counter.name, (counter.note,), theme, HEADER_PX - 8)
        return
    facts = content.index.lanes[strip.number]
    name = facts.name
    right = HEADER_PX - 8.0
    if strip.pinned:
        name = f"{content.index.groups[facts.group].name}, {name}"
    if look.hovered or strip.pinned:
        pin = pin_box(strip, look.top)
        icon = theme.pixmap(
            "push-pin", "accent" if strip.pinned else "text2", PIN_PX, painter.device().devicePixelRatio()
        )
        painter.drawPixmap(pin.topLeft(), icon)
        right = pin.left() - 4
    # A lane whose first rows are scrolled away keeps its name in sight.
    names_top = names_top_px(strip, look)
    if strip.can_fold:
        _draw_caret(painter, names_top + _name_middle(strip) - 8, not strip.closed, theme)
    notes: tuple[str, ...] = ("" if strip.pinned else facts.note,)
    if strip.hidden_rows:
        counted = f"{format_count(len(strip.rows))} of {format_count(len(strip.rows) + strip.hidden_rows)}"
        notes = (f"{counted} rows", counted)
    _draw_names(painter, names_top, strip, name, notes, theme, right)


def _draw_group_header(
    painter: QPainter, strip: Strip, look: HeaderLook, content: TimelineContent, theme: Theme
) -> None:
    facts = content.index.groups[strip.number]
    _draw_caret(painter, look.top + strip.height / 2 - 8, not strip.closed, theme)
    left = float(_INDENT_PX)
    middle = look.top + (strip.height - 1) / 2
    if facts.rank is not None:
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(theme.rank_color(facts.rank))
        painter.drawRoundedRect(QRectF(left, middle - 4, 8, 8), 1, 1)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing, False)
        left += 14
    note_font = theme.font(theme.px_small)
    name_font = theme.font(theme.px_small, bold=True)
    _draw_pair(
        painter,
        QRectF(left, look.top, HEADER_PX - 8 - left, strip.height),
        (facts.name, name_font, theme.color("text")),
        ((facts.note,), note_font, theme.color("text2")),
    )


def _draw_caret(painter: QPainter, top: float, opened: bool, theme: Theme) -> None:
    name = "caret-down" if opened else "caret-right"
    icon = theme.pixmap(name, "text2", 16, painter.device().devicePixelRatio())
    painter.drawPixmap(QPointF(_CARET_LEFT_PX, round(top)), icon)


def _name_middle(strip: Strip) -> float:
    """Names stand beside the first row."""
    top, height = strip.row_box(0)
    return top - strip.top + height / 2 if strip.rows else 13


def _draw_names(  # noqa: PLR0913, PLR0917  (where, what, how)
    painter: QPainter,
    top: float,
    strip: Strip,
    name: str,
    notes: tuple[str, ...],
    theme: Theme,
    right: float,
) -> None:
    font = theme.font(theme.px_small)
    colour = theme.color("text2")
    middle = top + _name_middle(strip)
    box = QRectF(_INDENT_PX, middle - 8, right - _INDENT_PX, 16)
    _draw_pair(painter, box, (name, font, colour), (notes, font, colour))


def _draw_pair(
    painter: QPainter,
    box: QRectF,
    left: tuple[str, QFont, QColor],
    right: tuple[tuple[str, ...], QFont, QColor],
) -> None:
    """Draws a name at the left and a note at the right of a box."""
    name, name_font, name_colour = left
    notes, note_font, note_colour = right
    middle = Qt.AlignmentFlag.AlignVCenter
    name, note = fitted_pair(box.width(), (name, QFontMetricsF(name_font)), (notes, QFontMetricsF(note_font)))
    painter.setFont(name_font)
    painter.setPen(name_colour)
    painter.drawText(box, middle, name)
    painter.setFont(note_font)
    painter.setPen(note_colour)
    painter.drawText(box, middle | Qt.AlignmentFlag.AlignRight, note)


def fitted_pair(
    width: float, left: tuple[str, QFontMetricsF], right: tuple[tuple[str, ...], QFontMetricsF]
) -> tuple[str, str]:
    """Returns name and note as they fit beside each other.

    Args:
        width: Room for both, in pixels.
        left: The name and its font.
        right: Ways to write the note, the longest first, and its font. The first that leaves the name whole
            is taken, or that takes no more than its share; if none does, the last is cut to that.
    """
    name, name_metrics = left
    notes, note_metrics = right
    cut = Qt.TextElideMode.ElideRight
    room = max(width - name_metrics.horizontalAdvance(name) - _BETWEEN_PX, width * _NOTE_SHARE)
    fitting = (each for each in notes if note_metrics.horizontalAdvance(each) <= room)
    note = next(fitting, note_metrics.elidedText(notes[-1], cut, room))
    taken = note_metrics.horizontalAdvance(note) + _BETWEEN_PX if note else 0
    # A pixel more: rounding must not cut what just fits.
    return name_metrics.elidedText(name, cut, width - taken + 1), note


def overview_image(index: TimelineIndex, width_px: int, theme: Theme) -> QImage:
    """How busy each group was over the whole trace: a row a group; any busy time is not idle."""
    bins = index.overview_busy_ns.shape[1]
    length_ns = np.diff(edges_ns(index.start_of_all_ns, index.end_of_all_ns, bins)).astype(np.float64)
    edges = np.minimum(np.arange(width_px + 1) * bins // width_px, bins)
    first, last = edges[:-1], np.maximum(edges[1:], edges[:-1] + 1)
    busy = np.concatenate(([[0.0]] * len(index.groups), index.overview_busy_ns.cumsum(axis=1)), axis=1)
    total = np.concatenate(([0.0], length_ns.cumsum()))
    share = (busy[:, last] - busy[:, first]) / (total[last] - total[first])
    level = np.minimum(np.ceil(share * _LEVELS), _LEVELS).astype(np.int64)
    stops = [QColor(colour) for colour in theme.heat[1:]]
    lut = np.empty(_LEVELS + 1, np.uint32)
    lut[0] = theme.color("chart-bg").rgb()
    for number in range(_LEVELS):
        part = number / (_LEVELS - 1) * (len(stops) - 1)
        below = min(int(part), len(stops) - 2)
        lut[number + 1] = mixed(stops[below], stops[below + 1], part - below).rgb()
    pixels = np.ascontiguousarray(lut[level])
    image = QImage(pixels.data, width_px, len(pixels), 4 * width_px, QImage.Format.Format_RGB32)
    return image.copy()


def draw_overview(
    painter: QPainter, geometry: TimelineGeometry, image: QImage, content: TimelineContent, theme: Theme
) -> None:
    """Draws the strip at the top with the frame of what is visible."""
    painter.fillRect(QRectF(0, 0, geometry.width, OVERVIEW_PX - 1), theme.color("surface1"))
    painter.setFont(theme.font(theme.px_small, bold=True))
    painter.setPen(theme.color("text"))
    painter.drawText(QPointF(12, 18), "Overview")
    painter.setFont(theme.font(theme.px_small))
    painter.setPen(theme.color("text2"))
    note = QFontMetricsF(painter.font()).elidedText(
        content.overview_note, Qt.TextElideMode.ElideRight, HEADER_PX - 16
    )
    painter.drawText(QPointF(12, 34), note)
    rows = image.height()
    room = OVERVIEW_PX - 2 * OVERVIEW_MARGIN_PX
    step = max(1, min(8, room // max(rows, 1)))
    if rows * step <= room:
        gap = 1 if step >= 3 else 0
        for row in range(rows):
            target = QRectF(HEADER_PX, OVERVIEW_MARGIN_PX + row * step, geometry.plot_width, step - gap)
            painter.drawImage(target, image, QRectF(0, row, image.width(), 1))
    else:
        painter.drawImage(QRectF(HEADER_PX, OVERVIEW_MARGIN_PX, geometry.plot_width, room), image)
    dashed = QPen(theme.color("text2"), 1, Qt.PenStyle.CustomDashLine)
    dashed.setDashPattern([3, 3])
    painter.setPen(dashed)
    for time_ns in content.boundaries_ns if len(content.boundaries_ns) <= geometry.plot_width / 8 else ():
        x = round(geometry.overview_x_of(time_ns)) + 0.5
        painter.drawLine(QPointF(x, 4), QPointF(x, OVERVIEW_PX - 4))
    _draw_frame(painter, geometry, geometry.span, theme)


def _draw_frame(painter: QPainter, geometry: TimelineGeometry, span: TimeSpan, theme: Theme) -> None:
    left = min(max(geometry.overview_x_of(span.start_ns), HEADER_PX + 1.0), geometry.width - 4.0)
    right = max(min(geometry.overview_x_of(span.end_ns), geometry.width - 1.0), left + 3)
    accent = theme.color("accent")
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    painter.setPen(QPen(accent, 1.5))
    painter.setBrush(Qt.BrushStyle.NoBrush)
    painter.drawRect(QRectF(left, 2.5, right - left, OVERVIEW_PX - 6))
    painter.setPen(Qt.PenStyle.NoPen)
    painter.setBrush(accent)
    if right - left > 16:
        for x in (left, right):
            painter.drawRoundedRect(QRectF(x - 2, OVERVIEW_PX / 2 - 8, 4, 14), 1, 1)
    painter.setRenderHint(QPainter.RenderHint.Antialiasing, False)


def draw_range(painter: QPainter, geometry: TimelineGeometry, chosen: TimeSpan, theme: Theme) -> None:
    """Draws the selected range: a tint over the lanes, its ends, its length on the ruler."""
    left = max(geometry.x_of(chosen.start_ns), HEADER_PX - 2.0)
    right = min(geometry.x_of(chosen.end_ns), geometry.width + 2.0)
    if right < HEADER_PX or left > geometry.width:
        return
    accent = theme.color("accent")
    tint = QColor(accent)
    tint.setAlphaF(0.14)
    painter.fillRect(QRectF(left, OVERVIEW_PX, right - left, geometry.height - OVERVIEW_PX), tint)
    for x in (left, right - 1):
        painter.fillRect(QRectF(round(x), OVERVIEW_PX, 1, geometry.height - OVERVIEW_PX), accent)
    words = format_duration_ns(chosen.length_ns)
    painter.setFont(theme.font(theme.px_small, bold=True))
    width = QFontMetricsF(painter.font()).horizontalAdvance(words) + 10
    middle = (max(left, HEADER_PX) + min(right, geometry.width)) / 2
    x = min(max(middle - width / 2, HEADER_PX + 1.0), geometry.width - width)
    box = QRectF(round(x), OVERVIEW_PX + 2, width, RULER_PX - 4)
    painter.fillRect(box, theme.color("accent-fill"))
    painter.setPen(theme.color("on-accent"))
    painter.drawText(box, Qt.AlignmentFlag.AlignCenter, words)
