"""The inspector of the Trace page: everything known of the selected slice, or of the whole trace."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from PySide6.QtCore import Signal
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QHBoxLayout, QPushButton, QVBoxLayout, QWidget

from core.files import printable
from gui.plain_text import plain_label
from gui.theme import set_kind
from gui.widgets.inspector_head import InspectorHead
from gui.widgets.inspector_section import InspectorSection
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
from gui.widgets.wrapped_text import LONGEST_TEXT, WrappedText

if TYPE_CHECKING:
    from collections.abc import Callable

    from core.analyses.slice_facts import SliceFacts
    from core.roofline.verdict import Verdict
    from core.tables.trace import Trace
    from gui.theme import ThemeController
    from gui.traces.answers import Overview, PartFigures
    from gui.traces.document import EventArguments
    from gui.traces.kernel_extras import MeasuredCall
    from gui.widgets.step_words import ShownStep

MOST_ARGUMENTS: Final = 60
NAME_LINES: Final = 8
STACK_LINES: Final = 24


class TraceInspector(QWidget):
    """Sections of figures.

    Signals:
        same_asked: The slices of the same name should be selected.
        step_asked: The step of the slice should be shown.
        slice_asked: Row of a slice that should be selected: its operator or its launch.
        report_asked: ``MeasuredCall``: the kernel should be shown in the report that measured it.
        roofline_asked: The kernel should be shown on the roofline.
    """

    same_asked = Signal()
    step_asked = Signal()
    slice_asked = Signal(int)
    report_asked = Signal(object)
    roofline_asked = Signal()

    def __init__(self, theme: ThemeController, *, has_roofline: bool) -> None:
        """Args: ``has_roofline``: whether there is a page to show a kernel on."""
        super().__init__()
        self._has_roofline = has_roofline
        self._facts: SliceFacts | None = None
        self._shown_step: ShownStep | None = None
        self.head = InspectorHead(theme, "Trace")
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
        self.roofline = _button("Show on roofline", self.roofline_asked.emit)
        self.kernel = KernelSections(theme)
        self.kernel.report_asked.connect(lambda: self.report_asked.emit(self.kernel.call))
        self._sections = {
            "nothing": InspectorSection(theme, "", self._nothing),
            "name": InspectorSection(theme, "", self.name),
            "roofline": InspectorSection(theme, "", _line(self.roofline)),
            "parts": InspectorSection(
                theme,
                "Where its time went",
                self.pairs["parts"],
                _line(_button("Select this step", self.step_asked.emit)),
            ),
            "this": InspectorSection(theme, "This one", self.pairs["this"]),
            "collective": InspectorSection(theme, "Collective", self.pairs["collective"]),
            "caller": InspectorSection(
                theme, "Called by", self.pairs["caller"], _line(self._op, self._launch)
            ),
            "same": InspectorSection(theme, "Same name elsewhere", self.pairs["same"], _line(self._same)),
            "step": InspectorSection(theme, "In its step", self.pairs["step"], _line(self._step)),
            "stack": InspectorSection(theme, "Python stack", self.stack),
            "arguments": InspectorSection(
                theme, "All arguments in the file", self.pairs["arguments"], self._arguments_note
            ),
            "figures": InspectorSection(theme, "Whole trace", self.pairs["figures"]),
            "file": InspectorSection(theme, "File", self.pairs["file"]),
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
        self.head.show_words("Trace")
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
        shown += ["roofline"] if self._has_roofline and facts.is_kernel else []
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
            [(printable(key), printable(value[:LONGEST_TEXT]), "") for key, value in shown]
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
