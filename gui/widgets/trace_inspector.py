"""The inspector of the Trace page: everything known of the selected slice, or of the whole trace."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from PySide6.QtCore import QSize, Qt, Signal
from PySide6.QtGui import QGuiApplication, QPainter, QResizeEvent, QTextOption
from PySide6.QtWidgets import (
    QFrame,
    QHBoxLayout,
    QLabel,
    QPlainTextEdit,
    QPushButton,
    QToolButton,
    QVBoxLayout,
    QWidget,
)

from core.files import printable
from gui.plain_text import plain_label
from gui.theme import set_kind
from gui.widgets.category_swatch import category_swatch
from gui.widgets.elided_label import ElidedLabel
from gui.widgets.key_values import KeyValues
from gui.widgets.trace_kernel import KernelSections
from gui.widgets.trace_words import (
    KIND_WORDS,
    caller_pairs,
    figure_pairs,
    file_pairs,
    head_words,
    part_pairs,
    same_pairs,
    step_pairs,
    this_pairs,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from PySide6.QtGui import QPaintEvent

    from core.analyses.slice_facts import SliceFacts
    from core.roofline.verdict import Verdict
    from core.tables.trace import Trace
    from gui.theme import Theme, ThemeController
    from gui.traces.answers import Overview, PartFigures
    from gui.traces.document import EventArguments
    from gui.traces.kernel_extras import MeasuredCall
    from gui.widgets.step_words import ShownStep

LONGEST_NAME: Final = 4_096
MOST_ARGUMENTS: Final = 60
NAME_LINES: Final = 8
STACK_LINES: Final = 24


class TraceInspectorHead(QWidget):
    """Names the selection in the dock's head.

    Signals:
        copy_asked: Everything shown should be copied.
    """

    copy_asked = Signal()

    def __init__(self, theme: ThemeController) -> None:
        super().__init__()
        self._theme = theme
        self._category = ""
        self._swatch = QLabel()
        self._name = plain_label("Trace")
        set_kind(self._name, kind="section")
        self._detail = ElidedLabel()
        set_kind(self._detail, kind="secondary")
        self.copy = QToolButton()
        self.copy.setToolTip("Copy all of this")
        self.copy.setAccessibleName("Copy all of this")
        self.copy.setIconSize(QSize(16, 16))
        self.copy.clicked.connect(self.copy_asked)
        row = QHBoxLayout(self)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(8)
        row.addWidget(self._swatch)
        row.addWidget(self._name)
        row.addWidget(self._detail)
        row.addStretch(1)
        row.addWidget(self.copy)
        theme.changed.connect(self._draw)
        self._draw(theme.theme)

    @property
    def text(self) -> str:
        """Name and place of the selection."""
        return f"{self._name.text()} {self._detail.full_text}".strip()

    def show_words(self, name: str, detail: str, category: str = "") -> None:
        """Names something; ``category`` gives it a swatch."""
        self._category = category
        self._name.setText(name)
        self._detail.set_full_text(detail)
        self._swatch.setVisible(bool(category))
        self._draw(self._theme.theme)

    def _draw(self, theme: Theme) -> None:
        self.copy.setIcon(theme.icon("copy"))
        if self._category:
            self._swatch.setPixmap(category_swatch(theme, self._category, self.devicePixelRatioF()))


class TraceInspector(QWidget):
    """Sections of figures.

    Signals:
        same_asked: The slices of the same name should be selected.
        step_asked: The step of the slice should be shown.
        slice_asked: Row of a slice that should be selected: its operator or its launch.
        report_asked: ``MeasuredCall``: the kernel should be shown in the report that measured it.
    """

    same_asked = Signal()
    step_asked = Signal()
    slice_asked = Signal(int)
    report_asked = Signal(object)

    def __init__(self, theme: ThemeController) -> None:
        super().__init__()
        self._facts: SliceFacts | None = None
        self._shown_step: ShownStep | None = None
        self.head = TraceInspectorHead(theme)
        self.head.copy_asked.connect(self._copy)
        self.name = WrappedText("Full name", NAME_LINES)
        self.stack = WrappedText("Python stack", STACK_LINES)
        self._nothing = plain_label("Nothing is selected.")
        set_kind(self._nothing, kind="secondary")
        self._arguments_note = plain_label(wrap=True)
        set_kind(self._arguments_note, kind="secondary")
        names = ("parts", "this", "collective", "caller", "same", "step", "arguments", "figures", "file")
        self.pairs = {name: KeyValues() for name in names}
        self._same = _button("Select all", self.same_asked.emit)
        self._step = _button("Select this step", self.step_asked.emit)
        self._op = _button("Go to the operator", self._go_to_operator)
        self._launch = _button("Go to the launch", self._go_to_launch)
        self.kernel = KernelSections(theme)
        self.kernel.report_asked.connect(lambda: self.report_asked.emit(self.kernel.call))
        self._sections = {
            "nothing": _Section(theme, "", self._nothing),
            "name": _Section(theme, "", self.name),
            "parts": _Section(
                theme,
                "Where its time went",
                self.pairs["parts"],
                _line(_button("Select this step", self.step_asked.emit)),
            ),
            "this": _Section(theme, "This one", self.pairs["this"]),
            "collective": _Section(theme, "Collective", self.pairs["collective"]),
            "caller": _Section(theme, "Called by", self.pairs["caller"], _line(self._op, self._launch)),
            "same": _Section(theme, "Same name elsewhere", self.pairs["same"], _line(self._same)),
            "step": _Section(theme, "In its step", self.pairs["step"], _line(self._step)),
            "stack": _Section(theme, "Python stack", self.stack),
            "arguments": _Section(
                theme, "All arguments in the file", self.pairs["arguments"], self._arguments_note
            ),
            "figures": _Section(theme, "Whole trace", self.pairs["figures"]),
            "file": _Section(theme, "File", self.pairs["file"]),
        }
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(0)
        for name, section in self._sections.items():
            layout.addWidget(section)
            if name == "name":
                layout.addWidget(self.kernel)
        layout.addStretch(1)
        self.show_nothing()

    @property
    def facts(self) -> SliceFacts | None:
        """The slice that is shown."""
        return self._facts

    @property
    def step(self) -> ShownStep | None:
        """The step that is shown."""
        return self._shown_step

    @property
    def figures_title(self) -> str:
        """What the figures are of: the whole trace or a part of it."""
        return self._sections["figures"].title

    def show_nothing(self) -> None:
        """No trace is open."""
        self._facts = self._shown_step = None
        self.head.show_words("Trace", "")
        self._nothing.setText("No trace is open.")
        self._show("nothing")

    def show_trace(
        self, name: str, trace: Trace | None, overview: Overview | None, part: PartFigures | None = None
    ) -> None:
        """No slice is selected: the selected part, else the whole trace."""
        self._facts = self._shown_step = None
        self.head.show_words("Trace", name)
        shown = []
        if trace is not None:
            self.pairs["file"].set_pairs(
                file_pairs(trace, () if overview is None else overview.device_numbers)
            )
            shown.append("file")
        if trace is not None and (overview is not None or part is not None):
            self._sections["figures"].set_title("Whole trace" if part is None else part.title)
            pairs = part_pairs(part) if part is not None else figure_pairs(overview) if overview else []
            self.pairs["figures"].set_pairs(pairs)
            shown.append("figures")
        self._nothing.setText("Nothing is selected." if shown else "It is being read.")
        self._show(*(shown or ["nothing"]))

    def show_step(self, step: ShownStep) -> None:
        """Shows what the time of a step went to."""
        self._facts, self._shown_step = None, step
        self.head.show_words(f"Step {step.number}", "" if step.rank is None else f"rank {step.rank}")
        self.pairs["parts"].set_pairs(step.figures)
        self._show("parts")

    def show_slice(self, facts: SliceFacts) -> None:
        """Shows a slice."""
        self._facts, self._shown_step = facts, None
        self.head.show_words(KIND_WORDS[facts.kind], head_words(facts), facts.category)
        self.name.set_text(facts.name or "(no name)")
        self.stack.set_text("\n".join(facts.caller.stack))
        self.pairs["this"].set_pairs(this_pairs(facts))
        self.pairs["collective"].set_pairs([(key, printable(value), "") for key, value in facts.collective])
        caller = caller_pairs(facts)
        self.pairs["caller"].set_pairs(caller)
        self.pairs["same"].set_pairs(same_pairs(facts))
        self.pairs["step"].set_pairs(step_pairs(facts))
        self.pairs["arguments"].set_pairs([])
        self._arguments_note.setText("Reading them from the file")
        self._same.setText(f"Select all {len(facts.same.rows):,}")
        self._same.setEnabled(len(facts.same.rows) > 1)
        self._op.setVisible(facts.caller.op_row is not None)
        self._launch.setVisible(facts.caller.launch_row is not None)
        shown = ["name", "this", "same", "arguments"]
        shown += ["collective"] if facts.collective else []
        shown += ["caller"] if caller else []
        shown += ["stack"] if facts.caller.stack else []
        shown += ["step"] if facts.step is not None else []
        self._show(*shown)

    def show_kernel(self, verdict: Verdict | None, call: MeasuredCall | None) -> None:
        """Adds to the slice that is shown what a model and a report say of its kernel."""
        self.kernel.show_kernel(verdict, call)

    def show_arguments(self, arguments: EventArguments) -> None:
        """Adds what the file says of the slice, if it is still the one that is shown."""
        if self._facts is None or self._facts.row != arguments.row:
            return
        shown = arguments.pairs[:MOST_ARGUMENTS]
        self.pairs["arguments"].set_pairs(
            [(printable(key), printable(value[:LONGEST_NAME]), "") for key, value in shown]
        )
        more = len(arguments.pairs) - len(shown)
        words = arguments.problem or ("" if arguments.pairs else "The event has none.")
        self._arguments_note.setText(f"And {more:,} more." if more else words)
        self._arguments_note.setVisible(bool(self._arguments_note.text()))

    def _show(self, *names: str) -> None:
        self.kernel.show_kernel(None, None)
        for name, section in self._sections.items():
            section.setVisible(name in names)
        self._arguments_note.setVisible("arguments" in names)

    def _go_to_operator(self) -> None:
        if self._facts is not None and self._facts.caller.op_row is not None:
            self.slice_asked.emit(self._facts.caller.op_row)

    def _go_to_launch(self) -> None:
        if self._facts is not None and self._facts.caller.launch_row is not None:
            self.slice_asked.emit(self._facts.caller.launch_row)

    def _copy(self) -> None:
        lines = [self.head.text]
        if self._facts is not None:
            lines += [self._facts.name, *self.kernel.lines]
        for name, values in self.pairs.items():
            if not self._sections[name].isHidden():
                lines += [f"{key}\t{value}" for key, value in values.pairs]
        if self._facts is not None:
            lines += self._facts.caller.stack
        QGuiApplication.clipboard().setText("\n".join(lines))


class WrappedText(QPlainTextEdit):
    """Text to read and copy that breaks anywhere, as high as its lines up to a number; then it scrolls."""

    def __init__(self, name: str, most_lines: int) -> None:
        super().__init__()
        self._most_lines = most_lines
        self.setAccessibleName(name)
        self.setReadOnly(True)
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setWordWrapMode(QTextOption.WrapMode.WrapAnywhere)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setTabChangesFocus(True)
        self.document().setDocumentMargin(0)
        set_kind(self, kind="name")

    def set_text(self, text: str) -> None:
        """Replaces the text; controls show as escapes, line ends stay."""
        self.setPlainText("\n".join(printable(line) for line in text[:LONGEST_NAME].split("\n")))
        self._fit()

    def resizeEvent(self, event: QResizeEvent) -> None:  # noqa: N802
        """Breaks anew."""
        super().resizeEvent(event)
        self._fit()

    def _fit(self) -> None:
        # A plain text document measures its height in lines.
        lines = min(max(1, round(self.document().size().height())), self._most_lines)
        self.setFixedHeight(lines * self.fontMetrics().lineSpacing() + 6)


class _Section(QWidget):
    """A part of the inspector with a line below it."""

    def __init__(self, theme: ThemeController, title: str, *contents: QWidget) -> None:
        super().__init__()
        self._theme = theme
        layout = QVBoxLayout(self)
        layout.setContentsMargins(12, 9, 12, 11)
        layout.setSpacing(6)
        self._heading = plain_label(title)
        set_kind(self._heading, kind="heading")
        self._heading.setVisible(bool(title))
        layout.addWidget(self._heading)
        for content in contents:
            layout.addWidget(content)
        theme.changed.connect(lambda _: self.update())

    @property
    def title(self) -> str:
        """What its figures are of."""
        return self._heading.text()

    def set_title(self, title: str) -> None:
        """Says what its figures are of."""
        self._heading.setText(title)

    def paintEvent(self, _event: QPaintEvent) -> None:  # noqa: N802
        """Draws the line."""
        painter = QPainter(self)
        painter.fillRect(0, self.height() - 1, self.width(), 1, self._theme.theme.color("border"))
        painter.end()


def _line(*buttons: QPushButton) -> QWidget:
    line = QWidget()
    row = QHBoxLayout(line)
    row.setContentsMargins(0, 2, 0, 0)
    row.setSpacing(8)
    for button in buttons:
        row.addWidget(button)
    row.addStretch(1)
    return line


def _button(text: str, run: Callable[[], object]) -> QPushButton:
    button = QPushButton(text)
    set_kind(button, size="small")
    button.clicked.connect(lambda _=False: run())
    return button
