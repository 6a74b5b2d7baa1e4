"""The form for a job: what to run, where, with what, and what to watch.

It holds a ``JobDraft``, shows the exact argument list and command, marks what
cannot be understood, and asks for the launch; it starts nothing itself.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import PurePath
from typing import TYPE_CHECKING

from PySide6.QtCore import Qt, QTimer, Signal
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import (
    QCheckBox,
    QComboBox,
    QFileDialog,
    QFrame,
    QHBoxLayout,
    QLabel,
    QLineEdit,
    QPlainTextEdit,
    QPushButton,
    QScrollArea,
    QSizePolicy,
    QVBoxLayout,
    QWidget,
)

from core.errors import DashboardError, FieldError
from core.launch.presets import PRESETS
from gui.models.job_draft import (
    JobDraft,
    command_text,
    default_working_folder,
    split_arguments,
    to_spec,
)
from gui.plain_text import plain_label
from gui.theme import set_kind
from gui.widgets.banner import BannerStack
from gui.widgets.form_fields import (
    FormCard,
    PathField,
    VariableTable,
    in_a_row,
    number_field,
    quiet_words,
)
from gui.widgets.segmented import Segmented

if TYPE_CHECKING:
    from collections.abc import Sequence

    from core.launch.presets import Choice
    from core.runs.job import JobSpec
    from gui.theme import ThemeController

KINDS = ("preset", "script", "module")
DEVICES = ("cuda", "cpu")
STYLES = ("shell", "lines")
PRESET_WORDS = {
    "tiny": "tiny: 0.2 million parameters, fp32, first loss within seconds",
    "seed": "seed: MiniLLM with 12 layers of width 2048, bf16, batch 8 x 1,024",
}
FORM_PX = 860
LARGEST_NUMBER = 1_000_000
"""Numbers beyond what can run are taken as typed and refused in words, not turned into others."""
LAUNCHING_WORDS = (
    "Checking the interpreter, then starting the ranks. The first import of torch takes a while."
)


class LaunchForm(QWidget):
    """Describes one job.

    Signals:
        launch_asked: The ``JobSpec`` to launch.
        changed: The draft is another one.
        run_asked: The run that is shown should come back into view.
    """

    launch_asked = Signal(object)
    changed = Signal()
    run_asked = Signal()

    def __init__(self, theme: ThemeController) -> None:
        super().__init__()
        self._theme = theme
        self._versions: tuple[str, str, str] = ("", "", "")
        self._blocked = ""
        self._launching = False
        self._filling = False
        self.edited_by_user = False
        self.problems = BannerStack(theme)
        self._build_fields(theme)
        column = QWidget()
        cards = QVBoxLayout(column)
        cards.setContentsMargins(12, 12, 12, 12)
        cards.setSpacing(8)
        cards.addWidget(self._intro())
        for card in (self._what_card(), self._where_card(), self._with_card(), self._watch_card()):
            cards.addWidget(card)
        cards.addWidget(self._command_card())
        cards.addStretch(1)
        column.setMaximumWidth(FORM_PX)
        area = QScrollArea()
        area.setWidgetResizable(True)
        area.setFrameShape(QFrame.Shape.NoFrame)
        area.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        area.setAlignment(Qt.AlignmentFlag.AlignLeft)
        area.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        area.setWidget(column)
        self._area = area
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(0)
        layout.addWidget(area, 1)
        layout.addWidget(self.problems)
        layout.addWidget(self._foot())
        self._connect()
        self.set_draft(JobDraft())

    # --- fields

    def _build_fields(self, theme: ThemeController) -> None:
        self.kind = Segmented("What to run", ("Preset", "Script", "Module"))
        self.preset = QComboBox()
        self.preset.setAccessibleName("Preset")
        for name in PRESETS:
            self.preset.addItem(PRESET_WORDS.get(name, name), name)
        self.script = PathField("Script", self._browse_script)
        self.script.edit.setPlaceholderText("Path of a .py file; it can be dropped here")
        self.module = QLineEdit()
        self.module.setPlaceholderText("package.train")
        self.module.setAccessibleName("Module")
        self.interpreter = PathField("Interpreter", self._browse_interpreter, with_recent=True)
        self.ranks = number_field("Ranks", 0, LARGEST_NUMBER)
        self.device = Segmented("Device", ("GPU (NCCL)", "CPU (gloo)"))
        self.gpus = QLineEdit()
        self.gpus.setPlaceholderText("All that are visible; or indices or UUIDs, such as 0, 1")
        self.gpus.setAccessibleName("GPUs")
        self.folder = PathField("Working folder", self._browse_folder)
        self.arguments = QPlainTextEdit()
        self.arguments.setAccessibleName("Arguments")
        self.arguments.setTabChangesFocus(True)
        self.arguments.setFixedHeight(64)
        self.arguments.setFont(theme.theme.font(mono=True))
        self.style_choice = Segmented("How arguments are split", ("By spaces and quotes", "One a line"))
        self.argument_list = plain_label(wrap=True)
        set_kind(self.argument_list, kind="caption")
        self.environment = VariableTable(theme)
        self.profile = QCheckBox("Take a torch.profiler trace by itself")
        self.first_step = number_field("First step", 0, 10_000_000)
        self.first_step.setSpecialValueText("next")
        self.profile_steps = number_field("Steps", 0, 1000)
        self.profile_ranks = QLineEdit()
        self.profile_ranks.setPlaceholderText("all ranks")
        self.profile_ranks.setAccessibleName("Ranks that take the trace")
        self.with_stack = QCheckBox("With Python stacks (slower steps, larger file)")
        self.loss_rule = QLineEdit()
        self.loss_rule.setPlaceholderText("Only if the loss is not found; such as  my_loss: ([0-9.e+-]+)")
        self.loss_rule.setAccessibleName("Loss rule")

    def _intro(self) -> QWidget:
        box = QWidget()
        row = QHBoxLayout(box)
        row.setContentsMargins(0, 0, 0, 4)
        row.setSpacing(12)
        words = QVBoxLayout()
        words.setSpacing(2)
        heading = plain_label("Launch a job")
        set_kind(heading, kind="page-heading")
        self._why = plain_label("No run is shown.", wrap=True)
        set_kind(self._why, kind="secondary")
        words.addWidget(heading)
        words.addWidget(self._why)
        self._beside = plain_label(wrap=True)
        set_kind(self._beside, kind="secondary")
        self._beside.hide()
        words.addWidget(self._beside)
        self._back = QPushButton("Show the run")
        self._back.clicked.connect(self.run_asked)
        self._back.hide()
        row.addLayout(words, 1)
        row.addWidget(self._back, 0, Qt.AlignmentFlag.AlignTop)
        return box

    def _what_card(self) -> FormCard:
        self._what = FormCard("What to run")
        self._what.add_row("kind", "Kind", in_a_row(self.kind), focus=self.kind)
        self._what.add_row("preset", "Preset", self.preset)
        self._what.add_row("script", "Script", self.script, focus=self.script.edit)
        self._what.add_row("module", "Module", self.module)
        return self._what

    def _where_card(self) -> FormCard:
        self._where = FormCard("Where")
        self._where.add_row("interpreter", "Interpreter", self.interpreter, focus=self.interpreter.edit)
        self._where.add_row("ranks", "Ranks", in_a_row(self.ranks, self.device), focus=self.ranks)
        self._where.add_row("gpus", "GPUs", self.gpus)
        return self._where

    def _with_card(self) -> FormCard:
        self._with = FormCard("With")
        arguments = QWidget()
        column = QVBoxLayout(arguments)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(4)
        column.addWidget(self.arguments)
        column.addWidget(in_a_row(self.style_choice))
        column.addWidget(self.argument_list)
        self._with.add_row("arguments", "Arguments", arguments, focus=self.arguments)
        self._with.add_row("working_folder", "Working folder", self.folder, focus=self.folder.edit)
        self._with.add_row("environment", "Environment", self.environment, focus=self.environment.add)
        return self._with

    def _watch_card(self) -> FormCard:
        self._watch = FormCard("Watch")
        self._watch.add_row("profile", "Capture", self.profile)
        self._plan = QWidget()
        row = QHBoxLayout(self._plan)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(8)
        for widget in (
            quiet_words("from step"),
            self.first_step,
            quiet_words("for"),
            self.profile_steps,
            quiet_words("steps on ranks"),
            self.profile_ranks,
        ):
            row.addWidget(widget)
        self._watch.add_row("profile_ranks", "", self._plan, focus=self.profile_ranks)
        self._watch.add_row("with_stack", "", self.with_stack)
        self._watch.add_row("loss_rule", "Loss rule", self.loss_rule)
        return self._watch

    def _command_card(self) -> FormCard:
        self._command_box = FormCard("Command")
        self.command = QLabel()
        self.command.setTextFormat(Qt.TextFormat.PlainText)
        self.command.setWordWrap(True)
        self.command.setFont(self._theme.theme.font(mono=True))
        self.command.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        self.command.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.MinimumExpanding)
        self.command.setAccessibleName("Command")
        box = QWidget()
        column = QVBoxLayout(box)
        column.setContentsMargins(0, 4, 0, 0)
        column.setSpacing(6)
        column.addWidget(self.command)
        self.copy = QPushButton("Copy command")
        set_kind(self.copy, size="small")
        self.copy.clicked.connect(self.copy_command)
        column.addWidget(self.copy, 0, Qt.AlignmentFlag.AlignLeft)
        self._command_box.add_row("command", "What is started", box, focus=self.copy)
        return self._command_box

    def _foot(self) -> QWidget:
        foot = QWidget()
        set_kind(foot, kind="form-foot")
        row = QHBoxLayout(foot)
        row.setContentsMargins(12, 8, 12, 8)
        row.setSpacing(8)
        self.launch_button = QPushButton("Launch")
        set_kind(self.launch_button, kind="primary")
        self.launch_button.clicked.connect(self.ask_to_launch)
        self._summary = plain_label()
        set_kind(self._summary, kind="secondary")
        row.addWidget(self.launch_button)
        row.addWidget(self._summary, 1)
        return foot

    def _connect(self) -> None:
        for segments in (self.kind, self.device, self.style_choice):
            segments.chosen.connect(self._edited)
        self.preset.activated.connect(self._edited)
        for field in (self.script, self.interpreter, self.folder):
            field.changed.connect(self._edited)
        for edit in (self.module, self.gpus, self.profile_ranks, self.loss_rule):
            edit.textChanged.connect(self._edited)
        for number in (self.ranks, self.first_step, self.profile_steps):
            number.valueChanged.connect(self._edited)
        for box in (self.profile, self.with_stack):
            box.toggled.connect(self._edited)
        self.arguments.textChanged.connect(self._edited)
        self.environment.changed.connect(self._edited)

    # --- the draft

    def draft(self) -> JobDraft:
        """The fields as they are."""
        kind = KINDS[max(0, self.kind.current)]
        return JobDraft(
            kind=kind,  # type: ignore[arg-type]  # one of the literal's words
            preset=str(self.preset.currentData()),
            target=self.module.text() if kind == "module" else self.script.text,
            interpreter=self.interpreter.text,
            ranks=self.ranks.value(),
            device=DEVICES[max(0, self.device.current)],  # type: ignore[arg-type]  # as above
            gpus=self.gpus.text(),
            working_folder=self.folder.text,
            arguments=self.arguments.toPlainText(),
            argument_style=STYLES[max(0, self.style_choice.current)],  # type: ignore[arg-type]  # as above
            environment=self.environment.pairs,
            profile=self.profile.isChecked(),
            first_step=self.first_step.value(),
            profile_steps=self.profile_steps.value(),
            profile_ranks=self.profile_ranks.text(),
            with_stack=self.with_stack.isChecked(),
            loss_rule=self.loss_rule.text(),
        )

    def leave_preset(self) -> None:
        """Turns from a preset to a script; what was typed stays."""
        draft = self.draft()
        if draft.kind == "preset":
            self.set_draft(replace(draft, kind="script"))

    def set_draft(self, draft: JobDraft) -> None:
        """Fills the fields."""
        self._filling = True
        self.kind.set_current(KINDS.index(draft.kind))
        self.preset.setCurrentIndex(max(0, self.preset.findData(draft.preset)))
        if draft.kind == "module":
            self.module.setText(draft.target)
        else:
            self.script.set_text(draft.target)
        self.interpreter.set_text(draft.interpreter)
        self.ranks.setValue(draft.ranks)
        self.device.set_current(DEVICES.index(draft.device))
        self.gpus.setText(draft.gpus)
        self.folder.set_text(draft.working_folder)
        self.arguments.setPlainText(draft.arguments)
        self.style_choice.set_current(STYLES.index(draft.argument_style))
        self.environment.set_pairs(draft.environment)
        self.profile.setChecked(draft.profile)
        self.first_step.setValue(draft.first_step)
        self.profile_steps.setValue(draft.profile_steps)
        self.profile_ranks.setText(draft.profile_ranks)
        self.with_stack.setChecked(draft.with_stack)
        self.loss_rule.setText(draft.loss_rule)
        self._filling = False
        self._follow()

    def set_choice(self, choice: Choice) -> None:
        """Says what one click starts here, and fills an untouched form with it."""
        self._why.setText(choice.why)
        draft = self.draft()
        spec = choice.spec
        if draft.kind == "preset" and not self.edited_by_user:
            self.set_draft(
                replace(
                    draft,
                    preset=spec.preset or draft.preset,
                    interpreter=draft.interpreter or spec.interpreter,
                    ranks=spec.ranks,
                    device=spec.device,
                    gpus=", ".join(spec.gpus or ()),
                )
            )

    def set_interpreters(self, paths: Sequence[str]) -> None:
        """Offers these interpreters; the first one is taken if none is typed."""
        self.interpreter.set_recent(paths)
        if not self.interpreter.text and paths:
            self._filling = True
            self.interpreter.set_text(paths[0])
            self._filling = False
            self._follow()

    def set_versions(self, interpreter: str, torch: str, python: str) -> None:
        """What is known of an interpreter: the previewed command depends on it."""
        self._versions = (interpreter, torch, python)
        self._show_command(self.draft())

    def set_blocked(self, reason: str, *, launching: bool = False) -> None:
        """Why nothing can be launched now, "" if it can; while it is launched, that is said."""
        self._blocked = reason
        if launching != self._launching:
            self._launching = launching
            self._show_command(self.draft())
        self._show_launch()

    def set_run_shown(self, title: str, *, going_on: bool) -> None:
        """The run that one can go back to, "" for none, and whether it goes on beside another job."""
        self._back.setVisible(bool(title))
        self._beside.setVisible(bool(title) and going_on)
        self._beside.setText(f"{title} goes on, whatever is launched here, and stays in Recent on Home.")

    @property
    def summary(self) -> str:
        """What stands beside the button."""
        return self._summary.text()

    @property
    def beside(self) -> str:
        """What is said of the run that goes on, "" for nothing."""
        return "" if self._beside.isHidden() else self._beside.text()

    # --- problems and launch

    def show_error(self, error: DashboardError) -> None:
        """Shows what forbids the launch: at its field if it has one, else above the button."""
        if isinstance(error, FieldError) and self._mark(error):
            return
        self.problems.show_banner("launch", "error", error.message, error.hint)

    def clear_problems(self) -> None:
        """Nothing is wrong any more."""
        self.problems.dismiss("launch")
        for card in self._cards:
            for name in card.row_names():
                card.set_problem(name, "")

    def problem_of(self, name: str) -> str:
        """What is said below a line of the form."""
        return next((text for card in self._cards if (text := card.problem_of(name))), "")

    @property
    def _cards(self) -> tuple[FormCard, ...]:
        return (self._what, self._where, self._with, self._watch)

    def _mark(self, error: FieldError) -> bool:
        name = error.field
        if name == "target":
            name = ("preset", "script", "module")[self.kind.current]
        text = f"{error.message} {error.hint}"
        card = next((card for card in self._cards if card.set_problem(name, text)), None)
        if card is None:
            return False
        # The line is laid out first: only then it has a place to scroll to.
        QTimer.singleShot(0, self, lambda: self._area.ensureWidgetVisible(card.problem_line(name)))
        card.focus_row(name)
        return True

    def ask_to_launch(self) -> None:
        """Launches what the fields say, or marks what is wrong."""
        self.clear_problems()
        if self._blocked:
            return
        try:
            spec = to_spec(self.draft())
        except DashboardError as error:
            self.show_error(error)
            return
        self.launch_asked.emit(spec)

    def copy_command(self) -> None:
        """Copies the command."""
        QGuiApplication.clipboard().setText(self.command.text())

    # --- what follows from the draft

    def _edited(self, *_: object) -> None:
        if self._filling:
            return
        self.edited_by_user = True
        self.clear_problems()
        self._follow()

    def _follow(self) -> None:
        """Shows what follows from the fields."""
        draft = self.draft()
        self._show_rows(draft)
        self._show_arguments(draft)
        self._show_command(draft)
        self._show_launch()
        self.changed.emit()

    def _show_rows(self, draft: JobDraft) -> None:
        self._what.set_row_shown("preset", draft.kind == "preset")
        self._what.set_row_shown("script", draft.kind == "script")
        self._what.set_row_shown("module", draft.kind == "module")
        self._where.set_row_shown("gpus", draft.device == "cuda")
        self._with.set_row_shown("working_folder", draft.kind != "preset")
        self._with.set_row_label("arguments", "More arguments" if draft.kind == "preset" else "Arguments")
        self.folder.edit.setPlaceholderText(default_working_folder(draft))
        for name in ("profile_ranks", "with_stack"):
            self._watch.set_row_shown(name, draft.profile)

    def _show_arguments(self, draft: JobDraft) -> None:
        try:
            parts = split_arguments(draft.arguments, draft.argument_style)
        except FieldError as error:
            self.argument_list.setText(error.message)
            set_kind(self.argument_list, kind="caption", level="error")
            return
        set_kind(self.argument_list, kind="caption", level="none")
        shown = "  ".join(f"[{part}]" for part in parts)
        what = "argument" if len(parts) == 1 else "arguments"
        self.argument_list.setText(f"{len(parts)} {what}: {shown}" if parts else "no arguments")

    def _show_command(self, draft: JobDraft) -> None:
        try:
            spec = to_spec(draft)
        except FieldError as error:
            self.command.setText("")
            self.copy.setEnabled(False)
            self._summary.setText(f"{error.message} {error.hint}")
            if error.field == "ranks":
                self._where.set_problem("ranks", f"{error.message} {error.hint}")
            return
        interpreter, torch, python = self._versions
        known = interpreter == spec.interpreter
        self.command.setText(command_text(spec, torch if known else "", python if known else ""))
        self.copy.setEnabled(True)
        self._summary.setText(LAUNCHING_WORDS if self._launching else summary_of(spec))

    def _show_launch(self) -> None:
        self.launch_button.setEnabled(not self._blocked)
        self.launch_button.setText("Launching" if self._launching else "Launch")
        self.launch_button.setToolTip(self._blocked[:1].upper() + self._blocked[1:])

    # --- dialogs

    def _browse_script(self) -> str:
        path, _ = QFileDialog.getOpenFileName(
            self, "Choose a script", self.script.text, "Python scripts (*.py);;All files (*)"
        )
        return path

    def _browse_interpreter(self) -> str:
        path, _ = QFileDialog.getOpenFileName(self, "Choose an interpreter", self.interpreter.text)
        return path

    def _browse_folder(self) -> str:
        return QFileDialog.getExistingDirectory(self, "Choose the working folder", self.folder.text)


def summary_of(spec: JobSpec) -> str:
    """One line on what Launch starts: "train.py on 4 CPU ranks"."""
    what = spec.preset or (f"-m {spec.target}" if spec.is_module else PurePath(spec.target).name)
    device = "GPU" if spec.device == "cuda" else "CPU"
    ranks = "1 rank" if spec.ranks == 1 else f"{spec.ranks} ranks"
    return f"{what} on {ranks}, {device}"
