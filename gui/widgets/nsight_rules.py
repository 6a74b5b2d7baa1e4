"""What the rules of a report say: how grave, what, how much could be gained; links lead to sections."""

from __future__ import annotations

import html
from typing import TYPE_CHECKING, Final

from PySide6.QtCore import QSize, Qt, Signal
from PySide6.QtGui import QPainter
from PySide6.QtWidgets import QGridLayout, QLabel, QSizePolicy, QVBoxLayout, QWidget

from core.units import format_pct
from gui.plain_text import LINE_HEIGHT_PCT, plain_label, visible_text
from gui.theme import set_kind
from gui.widgets.nsight_grid import GridCell, GridColumn, GridTable, WideArea
from gui.widgets.nsight_parts import PAD_PX, grid_cell, part_widget

if TYPE_CHECKING:
    from collections.abc import Sequence

    from PySide6.QtGui import QPaintEvent

    from core.analyses.report_view.facts import RuleText, RuleView, Severity, TextRun
    from gui.theme import Theme
    from gui.widgets.nsight_parts import PartTools

ICON_PX: Final = 16
_GAIN_PX: Final = 108
_LOOKS: Final[dict[Severity, tuple[str, str, str]]] = {
    "error": ("warning-octagon", "error", "Error"),
    "warning": ("warning", "warn", "Warning"),
    "optimization": ("warning", "warn", "Optimization"),
    "info": ("info", "info", "Information"),
    "note": ("check-circle", "ok", "Note"),
}
"""Icon, colour and word."""


class RuleRow(QWidget):
    """One rule.

    Signals:
        section_asked: Identifier of a section that a link names.
        source_asked: Address of an instruction, in hex digits.
    """

    section_asked = Signal(str)
    source_asked = Signal(str)

    def __init__(self, rule: RuleView, tools: PartTools, *, is_whole: bool) -> None:
        """Builds the row.

        Args:
            rule: What it says.
            tools: For its metrics.
            is_whole: Whether all messages, metrics and tables are shown, else the first message alone.
        """
        super().__init__()
        self.rule = rule
        self._tools = tools
        icon, self._token, word = _LOOKS[rule.severity]
        self._icon_name = icon
        self._texts: list[QLabel] = []
        self._icon = QLabel()
        self._icon.setAccessibleName(word)
        self._icon.setToolTip(word)
        self._icon.setFixedSize(QSize(ICON_PX, ICON_PX + 2))
        title = plain_label(visible_text(rule.title), wrap=True)
        set_kind(title, kind="section")
        grid = QGridLayout(self)
        grid.setContentsMargins(PAD_PX, 7, PAD_PX, 8)
        grid.setHorizontalSpacing(8)
        grid.setVerticalSpacing(2)
        grid.setColumnStretch(1, 1)
        grid.addWidget(self._icon, 0, 0, Qt.AlignmentFlag.AlignTop)
        grid.addWidget(title, 0, 1)
        grid.addWidget(self._gain(), 0, 2, 2, 1, Qt.AlignmentFlag.AlignTop)
        messages = rule.messages if is_whole else rule.messages[:1]
        for place, message in enumerate(messages):
            grid.addWidget(self._text(message, rule.title if place == 0 else ""), 1 + place, 1)
        if is_whole:
            focus = self._focus()
            if focus is not None:
                grid.addWidget(focus, 2 + len(messages), 1, 1, 2)
            for place, table in enumerate(rule.tables):
                grid.addWidget(part_widget(table, tools), 3 + len(messages) + place, 1, 1, 2)
        local = "local " if rule.speedup_scope == "local" else ""
        gain = (
            "" if rule.speedup_pct is None else f", estimated {local}speedup {format_pct(rule.speedup_pct)}"
        )
        self.setAccessibleName(f"{word}: {rule.title}{gain}")
        tools.theme.changed.connect(self._draw)
        self._draw(tools.theme.theme)

    def _gain(self) -> QWidget:
        box = QWidget()
        box.setFixedWidth(_GAIN_PX)
        layout = QVBoxLayout(box)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(1)
        pct = self.rule.speedup_pct
        figure = plain_label(format_pct(pct, 1 if pct is None or pct < 100 else 0))
        set_kind(figure, kind="secondary" if pct is None else "table-text")
        layout.addWidget(figure, 0, Qt.AlignmentFlag.AlignRight)
        if pct is not None:
            local = self.rule.speedup_scope == "local"
            caption = plain_label("est. local speedup" if local else "est. speedup")
            caption.setToolTip(
                "Estimated by the tool, of this aspect alone"
                if local
                else "Estimated by the tool, of the launch"
            )
            set_kind(caption, kind="caption")
            layout.addWidget(caption, 0, Qt.AlignmentFlag.AlignRight)
        return box

    def _text(self, message: RuleText, title: str) -> QLabel:
        lead = message.title if message.title and message.title != title else ""
        label = QLabel()
        label.setTextFormat(Qt.TextFormat.RichText)
        label.setWordWrap(True)
        label.setOpenExternalLinks(False)
        label.setTextInteractionFlags(
            Qt.TextInteractionFlag.TextSelectableByMouse
            | Qt.TextInteractionFlag.LinksAccessibleByMouse
            | Qt.TextInteractionFlag.LinksAccessibleByKeyboard
        )
        label.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Minimum)
        set_kind(label, kind="secondary")
        has_links = any(run.kind in ("section", "source") for run in message.runs)
        label.setFocusPolicy(Qt.FocusPolicy.StrongFocus if has_links else Qt.FocusPolicy.NoFocus)
        label.setText(rich_text(message.runs, lead))
        label.setAccessibleName(" ".join((lead, "".join(run.text for run in message.runs))).strip())
        label.linkActivated.connect(self._follow)
        self._texts.append(label)
        return label

    def _focus(self) -> QWidget | None:
        focus = self.rule.focus
        if not focus:
            return None
        columns = (
            GridColumn(title="Metric it points at", is_label=True),
            GridColumn(title="Value"),
            GridColumn(title="Why", is_label=True),
        )
        rows = [
            [
                GridCell(text=visible_text(each.cell.label), tip=each.cell.cell.metric),
                grid_cell(each.cell.cell, self._tools.differences),
                GridCell(text=visible_text(each.info) or "\N{EN DASH}", tip=visible_text(each.info)),
            ]
            for each in focus
        ]
        return WideArea(GridTable(self._tools.theme, "Metrics that the rule points at", columns, rows))

    def _follow(self, link: str) -> None:
        kind, _, target = link.partition(":")
        if kind == "section":
            self.section_asked.emit(target)
        elif kind == "source":
            self.source_asked.emit(target)

    def _draw(self, theme: Theme) -> None:
        self._icon.setPixmap(theme.pixmap(self._icon_name, self._token, ICON_PX, self.devicePixelRatioF()))
        for label in self._texts:
            # A link keeps the colour that it was laid out with.
            text = label.text()
            label.clear()
            label.setText(text)
        self.update()

    def paintEvent(self, _event: QPaintEvent) -> None:  # noqa: N802
        """Draws the line below it."""
        painter = QPainter(self)
        painter.fillRect(0, self.height() - 1, self.width(), 1, self._tools.theme.theme.color("border"))
        painter.end()


def rich_text(runs: Sequence[TextRun], lead: str = "") -> str:
    """A message with its links, everything in it literal; an address of the web is text to copy."""
    parts = [f"{html.escape(lead)}: "] if lead else []
    for run in runs:
        # Line ends are the report's own; other controls show as escapes.
        words = "<br>".join(html.escape(visible_text(line)) for line in run.text.split("\n"))
        if run.kind in ("section", "source"):
            target = html.escape(f"{run.kind}:{run.target}", quote=True)
            parts.append(f'<a href="{target}">{words}</a>')
        elif run.kind == "url":
            shown = html.escape(visible_text(run.target))
            parts.append(words if words == shown else f"{words} ({shown})")
        else:
            parts.append(words)
    return f'<div style="line-height:{LINE_HEIGHT_PCT}%">{"".join(parts)}</div>'
