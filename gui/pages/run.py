"""The Run page: the form for a job while no run is shown, else the ranks, charts and log of one run.

Everything on it is made of the newest ``RunSnapshot``; the page keeps no figure
of its own. It draws at most 20 times a second, and less often if drawing is slow.
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from PySide6.QtCore import Qt, QTimer, QUrl
from PySide6.QtGui import QDesktopServices
from PySide6.QtWidgets import QFileDialog, QScrollArea, QStackedLayout, QVBoxLayout, QWidget

from core.errors import DashboardError
from core.files import FileDescription, write_atomic
from core.runs.store import RunFolder
from gui.models.job_draft import JobDraft, draft_for_script, from_json, interpreters_near, to_json
from gui.models.log import LogModel
from gui.pages.page import Page
from gui.plots.export import save_png, save_svg, to_csv
from gui.plots.export import to_json as chart_json
from gui.run_alerts import actions_of, banner_alerts
from gui.widgets.chart_board import ChartBoard
from gui.widgets.dock import LogDock
from gui.widgets.gpu_panel import GpuPanel
from gui.widgets.inspector_rank import RankInspector
from gui.widgets.launch_form import LaunchForm
from gui.widgets.log_view import LogView
from gui.widgets.problems_view import ProblemsView
from gui.widgets.rank_grid import RankOverview
from gui.widgets.run_bar import RunBar

if TYPE_CHECKING:
    from collections.abc import Callable

    from core.runs.job import JobSpec
    from core.runs.snapshot import Alert, LogLine, RunSnapshot
    from gui.context import PageContext
    from gui.models.problems import ProblemRow
    from gui.run_alerts import AlertAction
    from gui.widgets.chart_card import ChartCard

LEAST_INTERVAL_S = 0.05
INTERVAL_PER_COST = 2.0
CLOCK_MS = 500
RECENT_INTERPRETERS = 8
LOG_TAB, PROBLEMS_TAB = 0, 1


class RunPage(Page):
    """Launches and follows one run."""

    NAME: ClassVar[str] = "run"
    TITLE: ClassVar[str] = "Run"
    ICON: ClassVar[str] = "activity"

    def __init__(self, context: PageContext) -> None:
        super().__init__(context)
        self._snapshot: RunSnapshot | None = None
        self._drawn_version: int | None = None
        self._next_draw_s = 0.0
        self._closed_alerts: set[str] = set()
        self._shown_alerts: dict[str, str] = {}
        self._form_wanted = False
        self._found_interpreters: list[str] = []
        self._build()
        self._due = QTimer(self)
        self._due.setSingleShot(True)
        self._due.timeout.connect(self._refresh)
        self._clock = QTimer(self)
        self._clock.setInterval(CLOCK_MS)
        self._clock.timeout.connect(self._show_clock)
        self._connect()
        self._fill_form()
        self._show_content()
        if context.session.folder is not None:
            self._attached(context.session.folder)

    # --- parts

    def _build(self) -> None:
        theme = self.context.theme
        self.bar = RunBar(theme)
        self.set_bar(self.bar)
        self.form = LaunchForm(theme)
        self.overview = RankOverview(theme)
        chosen = self.context.settings.page_value(self.NAME, "charts")
        known = [name for name in chosen if isinstance(name, str)] if isinstance(chosen, list) else None
        self.board = ChartBoard(theme, known)
        view = QWidget()
        column = QVBoxLayout(view)
        column.setContentsMargins(12, 12, 12, 10)
        column.setSpacing(8)
        column.addWidget(self.overview)
        column.addWidget(self.board, 1)
        self._area = QScrollArea()
        self._area.setWidgetResizable(True)
        self._area.setFrameShape(QScrollArea.Shape.NoFrame)
        self._area.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self._area.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self._area.setWidget(view)
        self._stack = QStackedLayout(self.body)
        self._stack.addWidget(self.form)
        self._stack.addWidget(self._area)
        self.log = LogView(LogModel(parent=self), theme)
        self.problems = ProblemsView(theme)
        self.gpus = GpuPanel(theme)
        self.rank_inspector = RankInspector(theme)

    def _connect(self) -> None:
        session = self.context.session
        session.snapshot_changed.connect(self._take)
        session.lines_changed.connect(self._take_lines)
        session.attached.connect(self._attached)
        session.detached.connect(self._detached)
        session.failed.connect(self._failed)
        session.selection_changed.connect(self._selection_changed)
        session.launching_changed.connect(self._show_launchable)
        self.context.machine.changed.connect(self._show_machine)
        self.overview.chosen.connect(self._toggle_rank)
        for clicked in (self.board.rank_clicked, self.log.rank_clicked, self.gpus.rank_clicked):
            clicked.connect(session.select_rank)
        self.problems.place_asked.connect(self._show_place)
        self.problems.folder_asked.connect(self._open_capture)
        self.problems.count_changed.connect(self._show_problem_count)
        self.board.chosen_changed.connect(self._remember_charts)
        self.board.export_asked.connect(self._export_chart)
        self.log.save_asked.connect(self._save_log)
        self.log.whole_log_asked.connect(self._open_whole_log)
        self.bar.folder_asked.connect(lambda: self.context.actions.trigger("run.folder"))
        self.bar.new_job_asked.connect(self.show_form)
        self.bar.again_asked.connect(self._launch_again)
        self.form.launch_asked.connect(self._launch)
        self.form.script.changed.connect(self._look_for_interpreters)
        self.form.run_asked.connect(self.show_run)

    @property
    def drawn_version(self) -> int | None:
        """Version of the snapshot that was drawn last."""
        return self._drawn_version

    # --- what the window asks of a page

    def subtitle(self) -> str:
        """The run's id."""
        folder = self.context.session.folder
        return "" if folder is None else folder.id

    def inspector(self) -> QWidget:
        """The rank that is selected, or the run."""
        return self.rank_inspector

    def inspector_head(self) -> QWidget:
        """Its name."""
        return self.rank_inspector.head

    def dock_tabs(self) -> list[tuple[str, QWidget]]:
        """Log, problems, GPUs."""
        return [("Log", self.log), (self._problems_title(), self.problems), ("GPUs", self.gpus)]

    def wants_docks(self) -> bool:
        """Not beside the form: they are about a run."""
        return self._stack.currentWidget() is self._area

    def dock_corner(self) -> QWidget:
        """Filter of the log."""
        return self.log.corner

    def shown(self) -> None:
        """Draws what happened meanwhile."""
        self._show_launchable()
        self._due.start(0)

    def launch(self) -> bool:
        """Launches the form's job; while another run is shown, the form comes first."""
        if self._stack.currentWidget() is self.form:
            self.form.ask_to_launch()
        else:
            self.show_form()
        return True

    def show_form(self, *, own_script: bool = False) -> None:
        """Shows the form; a run that goes on goes on."""
        if own_script:
            self.form.leave_preset()
        self._form_wanted = True
        self._show_content()

    def open_path(self, path: Path, description: FileDescription) -> bool:
        """A run folder is shown, a script fills the form."""
        if description.kind == "run":
            self.context.session.attach(RunFolder(path))
            return True
        if description.kind == "script":
            self.form.set_draft(draft_for_script(self.form.draft(), str(path)))
            self.show_form()
            return True
        return False

    # --- the session

    def _attached(self, _folder: RunFolder) -> None:
        self._snapshot = None
        self._drawn_version = None
        self._closed_alerts.clear()
        for key in list(self._shown_alerts):
            self.banners.dismiss(key)
        self._shown_alerts.clear()
        self._form_wanted = False
        self.log.start_again()
        self.board.start_again()
        self.clear_error()
        self.form.clear_problems()
        self._clock.start()
        self._show_content()
        self.subtitle_changed.emit()
        snapshot = self.context.session.snapshot
        if snapshot is not None:
            self._take(snapshot)

    def _detached(self) -> None:
        self._snapshot = None
        self._clock.stop()
        for key in list(self._shown_alerts):
            self.banners.dismiss(key)
        self._shown_alerts.clear()
        self.log.start_again()
        self.problems.set_rows(())
        self.rank_inspector.show_nothing()
        self._show_content()
        self.subtitle_changed.emit()

    def _take(self, snapshot: RunSnapshot) -> None:
        """Keeps the newest snapshot and draws it when it is time."""
        self._snapshot = snapshot
        if not self._due.isActive():
            wait_s = max(0.0, self._next_draw_s - time.monotonic())
            self._due.start(round(wait_s * 1000))

    def _take_lines(self, lines: list[LogLine]) -> None:
        self.log.add(lines)

    def _refresh(self) -> None:
        snapshot = self._snapshot
        if snapshot is None:
            return
        began_s = time.monotonic()
        self.problems.show_snapshot(snapshot)
        self._show_alerts(snapshot)
        self.log.set_ranks(snapshot.manifest.job.ranks)
        if self.isVisible():
            self._show_snapshot(snapshot)
            # Whether it goes on is said in the form too.
            self._show_launchable()
        # A slow machine draws less often instead of falling behind.
        cost_s = time.monotonic() - began_s
        self._next_draw_s = began_s + max(LEAST_INTERVAL_S, INTERVAL_PER_COST * cost_s)

    def _show_snapshot(self, snapshot: RunSnapshot) -> None:
        selected = self.context.session.selected_rank
        if self._drawn_version is None:
            self._show_content()
        self._drawn_version = snapshot.version
        self.bar.show_snapshot(snapshot)
        self.overview.show_snapshot(snapshot, selected)
        self.rank_inspector.show_snapshot(snapshot, selected)
        self.gpus.show_snapshot(snapshot)
        if self._stack.currentWidget() is self._area:
            self.board.show_snapshot(snapshot)

    def _show_clock(self) -> None:
        if self._snapshot is not None:
            self.bar.show_elapsed(self._snapshot)

    def _show_content(self) -> None:
        has_run = self.context.session.folder is not None
        show_run = has_run and not self._form_wanted
        self._stack.setCurrentWidget(self._area if show_run else self.form)
        self.bar.setVisible(show_run)
        self._show_launchable()
        self.docks_changed.emit()
        if show_run and self._snapshot is not None:
            self.board.show_snapshot(self._snapshot)

    def show_run(self) -> None:
        """Shows the run in place of the form."""
        self._form_wanted = False
        self._show_content()

    def _toggle_rank(self, rank: int) -> None:
        """Selects a rank; the selected one again means none."""
        session = self.context.session
        session.select_rank(None if session.selected_rank == rank else rank)

    def _show_place(self, row: ProblemRow) -> None:
        """Selects the rank that a finding is about and shows its step in the charts."""
        if row.rank is not None:
            self.context.session.select_rank(row.rank)
        if row.step is not None:
            self.show_run()
            self.board.show_step(row.step)

    def _selection_changed(self, rank: int | None) -> None:
        self.board.set_selected(rank)
        if self._snapshot is not None:
            self.overview.show_snapshot(self._snapshot, rank)
            self.rank_inspector.show_snapshot(self._snapshot, rank)

    def _failed(self, error: DashboardError) -> None:
        """An error of launching belongs to the form, one of a run to the run."""
        if self._stack.currentWidget() is self.form:
            self.form.show_error(error)
        else:
            self.show_error(error)

    # --- alerts

    def _show_alerts(self, snapshot: RunSnapshot) -> None:
        for key in [key for key in self._shown_alerts if key not in self.banners.keys]:
            # The user has closed it.
            del self._shown_alerts[key]
            self._closed_alerts.add(key)
        wanted = banner_alerts(snapshot, self._closed_alerts)
        for key in [key for key in self._shown_alerts if key not in {alert.key for alert in wanted}]:
            del self._shown_alerts[key]
            self.banners.dismiss(key)
        for alert in reversed(wanted):
            self._show_alert(alert, snapshot)

    def _show_alert(self, alert: Alert, snapshot: RunSnapshot) -> None:
        words = actions_of(alert, snapshot)
        state = f"{alert.level} {[word.text for word in words]}"
        known = self._shown_alerts.get(alert.key) == state
        actions = [] if known else [(word.text, self._alert_action(word.action, alert)) for word in words]
        if not known:
            self.banners.dismiss(alert.key)
        self.banners.show_banner(alert.key, alert.level, alert.message, alert.hint, actions)
        self._shown_alerts[alert.key] = state

    def _alert_action(self, action: AlertAction, alert: Alert) -> Callable[[], None]:
        rank = alert.rank if alert.rank is not None else 0
        session = self.context.session
        calls: dict[AlertAction, Callable[[], None]] = {
            "capture": lambda: session.capture("trace", ranks=[rank]),
            "stacks": lambda: session.capture("stacks", ranks=[rank]),
            "log": lambda: self._show_log_of(rank),
            "rank": lambda: session.select_rank(rank),
            "clocks": lambda: self.board.show_chart("clocks"),
        }
        return calls[action]

    def _show_log_of(self, rank: int) -> None:
        self.log.show_rank(rank)
        dock = self.log.parentWidget()
        while dock is not None and not isinstance(dock, LogDock):
            dock = dock.parentWidget()
        if dock is not None:
            dock.show_tab(LOG_TAB)

    def _problems_title(self) -> str:
        count = self.problems.count
        return f"Problems  {count}" if count else "Problems"

    def _show_problem_count(self, _count: int) -> None:
        self.tab_text_changed.emit(PROBLEMS_TAB, self._problems_title())

    # --- the form

    def _fill_form(self) -> None:
        settings = self.context.settings
        stored = from_json(settings.page_value(self.NAME, "draft"))
        self.form.set_draft(stored or JobDraft())
        # What was launched before is not replaced by what one click would launch.
        self.form.edited_by_user = stored is not None
        self._show_machine()

    def _show_machine(self) -> None:
        machine = self.context.machine
        stored = self.context.settings.page_value(self.NAME, "interpreters")
        recent = [path for path in stored if isinstance(path, str)] if isinstance(stored, list) else []
        self.form.set_interpreters([machine.interpreter, *recent, *self._found_interpreters])
        self.form.set_choice(machine.choice)
        facts = machine.facts
        if facts is not None:
            self.form.set_versions(facts.interpreter, facts.torch, facts.python)

    def _look_for_interpreters(self, script: str) -> None:
        """Offers the virtual environments beside a script; it chooses none by itself."""

        def found(paths: list[str]) -> None:
            self._found_interpreters = paths
            self._show_machine()

        self.context.tasks.start(
            title="Looking for interpreters",
            work=lambda _: interpreters_near(script),
            done=found,
            failed=self.form.show_error,
            key="interpreters near the script",
            shown=False,
        )

    def _show_launchable(self, _launching: bool = False) -> None:
        session = self.context.session
        self.form.set_blocked(session.why_not_launch() or "", launching=session.launching)
        title = "" if session.folder is None else session.folder.id
        if self._snapshot is not None:
            title = self._snapshot.manifest.job.title
        self.form.set_run_shown(title, going_on=session.running)

    def _launch(self, spec: JobSpec) -> None:
        settings = self.context.settings
        settings.set_page_value(self.NAME, "draft", to_json(self.form.draft()))
        stored = settings.page_value(self.NAME, "interpreters")
        recent = [path for path in stored if isinstance(path, str)] if isinstance(stored, list) else []
        kept = list(dict.fromkeys([spec.interpreter, *recent]))[:RECENT_INTERPRETERS]
        settings.set_page_value(self.NAME, "interpreters", kept)
        self.context.session.launch(spec)

    def _launch_again(self) -> None:
        """Launches the shown run's job as it was."""
        if self._snapshot is not None:
            self.context.session.launch(self._snapshot.manifest.job)

    def _remember_charts(self, names: list[str]) -> None:
        self.context.settings.set_page_value(self.NAME, "charts", names)

    # --- files

    def _ask_path(self, title: str, name: str, kind: str) -> Path | None:
        text, _ = QFileDialog.getSaveFileName(self, title, name, f"{kind.upper()} (*.{kind})")
        return Path(text) if text else None

    def _export_chart(self, card: ChartCard, kind: str) -> None:
        folder = self.context.session.folder
        name = f"{'' if folder is None else folder.id}-{card.option.series}.{kind}"
        path = self._ask_path(f"Save {card.spec.title.lower()}", name, kind)
        data = card.chart.data
        if path is None or data is None:
            return
        if kind in ("png", "svg"):
            try:
                if kind == "png":
                    save_png(card, path)
                else:
                    save_svg(card, path, card.spec.title)
            except DashboardError as error:
                self.show_error(error)
            return
        make = to_csv if kind == "csv" else chart_json
        self._write(path, lambda: make(data))

    def _save_log(self) -> None:
        path = self._ask_path("Save the shown lines", "run.log", "log")
        if path is not None:
            text = self.log.shown_text()
            self._write(path, lambda: text)

    def _write(self, path: Path, make: Callable[[], str]) -> None:
        """Writes a text file in a worker."""

        def work(_progress: object) -> None:
            try:
                write_atomic(path, make().encode("utf-8", "surrogateescape"))
            except OSError as error:
                raise DashboardError(
                    f"{path} could not be written: {error.strerror or error}.",
                    "Choose another folder, or free some space.",
                ) from error

        self.context.tasks.start(
            title=f"Writing {path.name}",
            work=work,
            done=lambda _: None,
            failed=self.show_error,
            key=f"write {path}",
        )

    def _open_capture(self, file: str) -> None:
        folder = self.context.session.folder
        if folder is not None:
            self._open_in_desktop((folder.path / file).parent)

    def _open_whole_log(self, rank: int | None) -> None:
        folder = self.context.session.folder
        if folder is not None:
            self._open_in_desktop(
                folder.launcher_log.parent if rank is None else folder.log_file(rank, "out")
            )

    def _open_in_desktop(self, path: Path) -> None:
        if not QDesktopServices.openUrl(QUrl.fromLocalFile(str(path))):
            self.show_error(DashboardError(f"No program was found that opens {path}.", "Open it by hand."))
