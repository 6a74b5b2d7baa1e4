"""The inspector of the Roofline page: verdict, distance to the roof, what to do, ceilings with sources."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from PySide6.QtCore import QRectF, Qt, Signal
from PySide6.QtGui import QColor, QGuiApplication, QPainter
from PySide6.QtWidgets import QHBoxLayout, QPushButton, QSizePolicy, QVBoxLayout, QWidget

from core.analyses.categories import Category
from core.roofline.ceilings import ROOF_ORIGINS, CeilingOrigin, roof_lines
from core.roofline.points import LEVEL_TITLES, PointOrigin, WorkType
from core.units import (
    DECIMAL_PREFIXES,
    format_bytes_per_s,
    format_count,
    format_duration_ns,
    format_flop_per_s,
    format_number,
    format_pct,
)
from gui.plain_text import Paragraph, plain_label, visible_text
from gui.theme import set_kind
from gui.widgets.inspector_head import InspectorHead
from gui.widgets.inspector_section import InspectorSection
from gui.widgets.key_values import KeyValues
from gui.widgets.verdict_view import VerdictView
from gui.widgets.wrapped_text import WrappedText

if TYPE_CHECKING:
    from PySide6.QtGui import QPaintEvent

    from core.roofline.ceilings import Ceilings, TrafficCeiling, WorkCeiling
    from gui.rooflines.board import Board
    from gui.theme import Theme, ThemeController

NAME_LINES: Final = 5
_BAR_HEIGHT_PX: Final = 8
_ORIGINS: Final = {
    CeilingOrigin.DATA_SHEET: "",
    CeilingOrigin.OWN: ", own entry",
    CeilingOrigin.PROFILED: ", profiled clock",
    CeilingOrigin.MEASURED: ", measured here",
}


class RooflineInspector(QWidget):
    """Sections of one kernel, and of the device.

    Signals:
        open_asked: The kernel should be shown on the page of its document.
    """

    open_asked = Signal()

    def __init__(self, theme: ThemeController) -> None:
        super().__init__()
        self.head = InspectorHead(theme, "Kernel")
        self.head.copy_asked.connect(self.copy)
        self._theme = theme
        self._nothing = plain_label("Select a point or a row.", wrap=True)
        set_kind(self._nothing, kind="secondary")
        self.name = WrappedText("Full name of the kernel", NAME_LINES)
        self.verdict = VerdictView(theme)
        self.facts, self.ceilings = KeyValues(), KeyValues()
        self.bar = RoofBar(theme)
        self._reached, self._gain = plain_label(), plain_label()
        set_kind(self._gain, kind="secondary")
        self.above = Paragraph()
        set_kind(self.above, kind="secondary", level="warn")
        self.open = QPushButton()
        set_kind(self.open, kind="primary", size="small")
        self.open.clicked.connect(lambda _=False: self.open_asked.emit())
        self._sources = Paragraph()
        set_kind(self._sources, kind="caption")
        self._sections = {
            "nothing": InspectorSection(theme, "", self._nothing),
            "name": InspectorSection(theme, "", self.name),
            "verdict": InspectorSection(theme, "", self.verdict),
            "place": InspectorSection(theme, "On the roofline", self.facts),
            "distance": InspectorSection(
                theme, "Distance to the roof", self.bar, self._reached, self._gain, self.above
            ),
            "do": InspectorSection(theme, "What to do", self.verdict.remedies),
            "open": InspectorSection(theme, "", _row(self.open)),
            "ceilings": InspectorSection(theme, "Ceilings", self.ceilings, self._sources),
        }
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(0)
        for section in self._sections.values():
            layout.addWidget(section)
        layout.addStretch(1)
        self.show_nothing(None)

    def show_nothing(self, board: Board | None) -> None:
        """No kernel is selected: only the ceilings of the device."""
        self.head.show_words("Kernel")
        shown = ["nothing"]
        if board is not None:
            self._show_ceilings(board)
            shown += ["ceilings"] if self.ceilings.pairs else []
        self._show(*shown)

    def show_kernel(self, board: Board, row: int, above: str, page: str) -> None:
        """Shows one row of a board.

        Args:
            board: The board.
            row: Of it.
            above: What it lies above, in words; "".
            page: The page of its document, "trace" or "nsight".
        """
        points = board.points
        category = Category(int(points.category[row])).title
        origin = PointOrigin(int(points.origin[row])).name.lower()
        calls = int(points.calls[row])
        counted = f"{format_count(calls)} {'call' if calls == 1 else 'calls'}"
        self.head.show_words("Kernel", f"{origin}, {counted}", category)
        self.name.set_text(points.strings[int(points.name_id[row])] or "(no name)")
        self.facts.set_pairs(place_pairs(board, row))
        self.open.setText("Show in trace" if page == "trace" else "Open in Nsight")
        self._show_ceilings(board)
        shown = ["name", "place", "open", *(["ceilings"] if self.ceilings.pairs else [])]
        verdict = board.verdicts[row] if board.verdicts else None
        if verdict is not None:
            self.verdict.show_verdict(verdict)
            shown += ["verdict", *(["do"] if verdict.remedies else [])]
        if self._show_distance(board, row, above):
            shown.append("distance")
        self._show(*shown)

    def copy(self) -> None:
        """Copies everything that is shown."""
        lines = [self.head.text]
        if not self._sections["name"].isHidden():
            lines.append(self.name.text)
        if not self._sections["verdict"].isHidden():
            lines += self.verdict.lines
        if not self._sections["do"].isHidden():
            lines += self.verdict.remedies.lines
        for name, values in (("place", self.facts), ("ceilings", self.ceilings)):
            if not self._sections[name].isHidden():
                lines += [f"{key}\t{value}" for key, value in values.pairs]
        QGuiApplication.clipboard().setText("\n".join(lines))

    def _show_distance(self, board: Board, row: int, above: str) -> bool:
        rate, roof = float(board.places.flop_per_s[row]), float(board.places.roof_flop_per_s[row])
        if not (rate > 0 and roof > 0):
            return False
        self.bar.set_share(rate / roof, Category(int(board.points.category[row])).name.lower())
        self._reached.setText(reached_words(rate, roof))
        gain = roof / rate
        self._gain.setText(
            f"This kernel alone: at most {format_number(gain, 3)}\N{MULTIPLICATION SIGN} faster"
            if gain > 1
            else ""
        )
        self._gain.setVisible(gain > 1)
        self.above.set_plain(f"Above a ceiling, which cannot be: {above}." if above else "")
        self.above.setVisible(bool(above))
        return True

    def _show_ceilings(self, board: Board) -> None:
        ceilings = board.ceilings
        pairs = ceiling_pairs(ceilings, sparse=board.ask.sparse)
        self.ceilings.set_pairs(pairs)
        several = [*(each.source for each in ceilings.work), *(each.source for each in ceilings.traffic)]
        sources = [source for source in dict.fromkeys(several) if source]
        # Without any, the strip that asks for figures says why.
        note = visible_text(ceilings.note) if sources else ""
        words = [*(f"{visible_text(source)}." for source in sources), note]
        self._sources.set_plain("\n".join(word for word in words if word))

    def _show(self, *names: str) -> None:
        for name, section in self._sections.items():
            section.setVisible(name in names)


class RoofBar(QWidget):
    """How much of its roof a kernel reaches, in the colour of its category."""

    def __init__(self, theme: ThemeController) -> None:
        super().__init__()
        self._theme = theme
        self._share, self._category = 0.0, "other"
        self.setFixedHeight(_BAR_HEIGHT_PX)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        theme.changed.connect(self._redraw)

    def set_share(self, share: float, category: str) -> None:
        """Shows a share, 0 to 1 or more, of a category by its name in the theme."""
        self._share, self._category = min(max(share, 0.0), 1.0), category
        self.setAccessibleName(f"{format_pct(share * 100)} of its roof")
        self.update()

    def paintEvent(self, _event: QPaintEvent) -> None:  # noqa: N802
        """Draws the track and the part that is reached."""
        theme = self._theme.theme
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(Qt.PenStyle.NoPen)
        whole = QRectF(self.rect())
        painter.setBrush(theme.color("surface3"))
        painter.drawRoundedRect(whole, 2, 2)
        painter.setBrush(QColor(theme.categories.get(self._category, theme.categories["other"])))
        painter.drawRoundedRect(QRectF(0, 0, max(2.0, whole.width() * self._share), whole.height()), 2, 2)
        painter.end()

    def _redraw(self, _theme: Theme) -> None:
        self.update()


def reached_words(flop_per_s: float, roof_flop_per_s: float) -> str:
    """A rate and its roof in one unit: "5.83 of 7.17 TFLOP/s"."""
    whole = format_flop_per_s(roof_flop_per_s)
    scale = next(scale for prefix, scale in DECIMAL_PREFIXES if whole.endswith(f" {prefix}FLOP/s"))
    return f"{format_number(flop_per_s / scale, 4)} of {whole}"


def place_pairs(board: Board, row: int) -> list[tuple[str, str, str]]:
    """Where a kernel stands: label, value, and what it means."""
    points, places = board.points, board.places
    modelled = points.origin[row] == PointOrigin.MODELLED
    bound = "\N{LESS-THAN OR EQUAL TO} " if modelled and points.flop[row] > 0 else ""
    level = LEVEL_TITLES[board.ask.level]
    intensity, rate = float(places.intensity[row]), float(places.flop_per_s[row])
    shown = f"{bound}{format_number(intensity, 4)} FLOP/B" if intensity >= 0 else "n/a"
    why = "Bytes are the least that must move, so this is the most it can be." if modelled else ""
    share = float(places.of_roof_pct[row])
    reason = visible_text(str(board.table.column("reason").value(row) or ""))
    return [
        ("Type", WorkType(int(points.work_type[row])).title or "n/a", ""),
        (f"Intensity, {level}", shown, why),
        ("Rate", format_flop_per_s(rate), ""),
        (f"{level} rate", format_bytes_per_s(float(places.bytes_per_s[row])), ""),
        (f"Of its roof{_whose(board, row)}", format_pct(share) if share > 0 else "n/a", ""),
        ("Time", format_duration_ns(int(points.sum_ns[row])) if points.sum_ns[row] >= 0 else "n/a", ""),
        *([("Not plotted", reason, reason)] if reason else []),
    ]


def _whose(board: Board, row: int) -> str:
    """Say of which ceilings the roof of a point is, "" without one."""
    lines = roof_lines(board.ceilings, WorkType(int(board.points.work_type[row])), board.ask.level)
    return "".join(f", {each}" for each in dict.fromkeys(line.origin.value for line in lines or ()))


def ceiling_pairs(ceilings: Ceilings, *, sparse: bool) -> list[tuple[str, str, str]]:
    """All ceilings: label, value, and where it comes from; dense before sparse ones, if those are wanted."""

    def order(each: WorkCeiling | TrafficCeiling) -> int:
        return ROOF_ORIGINS.index(each.origin)

    dense = [each for each in ceilings.work if sparse or not each.is_sparse]
    work = sorted(dense, key=lambda each: (each.is_sparse, order(each), -each.flop_per_s))
    rows = [
        (
            each.work_type.title
            + (", FP16 sums" if each.is_fp16_accumulate else "")
            + (", sparse" if each.is_sparse else "")
            + _ORIGINS[each.origin],
            format_flop_per_s(each.flop_per_s),
            _why(each),
        )
        for each in work
    ]
    rows += [
        (
            LEVEL_TITLES[each.level] + _ORIGINS[each.origin],
            format_bytes_per_s(each.bytes_per_s),
            _why(each),
        )
        for each in sorted(ceilings.traffic, key=order)
    ]
    return rows


def _why(ceiling: WorkCeiling | TrafficCeiling) -> str:
    return "\n".join(word for word in (ceiling.source, ceiling.remark) if word)


def _row(*widgets: QWidget) -> QWidget:
    line = QWidget()
    row = QHBoxLayout(line)
    row.setContentsMargins(0, 0, 0, 0)
    row.setSpacing(8)
    for widget in widgets:
        row.addWidget(widget)
    row.addStretch(1)
    return line
