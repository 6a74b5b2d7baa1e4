"""The main window: puts rail, bars, pages and docks together and passes words between them.

It holds no figures: what is shown comes from the run session, the machine and
the pages. Opening, dropping, asking, starting and leaving are in ``gui.shell``.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, cast

from PySide6.QtCore import QByteArray, QPoint, QSize, Qt, QTimer, QUrl
from PySide6.QtGui import QCloseEvent, QDesktopServices, QGuiApplication, QResizeEvent
from PySide6.QtWidgets import (
    QApplication,
    QMainWindow,
    QMenu,
    QSizePolicy,
    QStackedWidget,
    QToolBar,
    QVBoxLayout,
    QWidget,
)

from core.errors import DashboardError
from core.runs.manifest import MANIFEST_NAME
from gui.actions import ActionRegistry
from gui.context import PageContext
from gui.edge.runs import EdgeRuns
from gui.machine import Machine
from gui.machine_words import devices_line, edge_line
from gui.pages import PAGES
from gui.recent_work import RecentWork
from gui.reports.open_reports import OpenReports
from gui.rooflines.sources import PointSources
from gui.run_session import RunSession
from gui.run_words import job_line, job_state, problem_count, ranks_line
from gui.shell.captures import CaptureNews
from gui.shell.dialogs import ask_for_paths, show_about, version_lines
from gui.shell.docks import WIDE_FROM_PX, Docks
from gui.shell.drop_target import DropTarget
from gui.shell.leaving import Leaving
from gui.shell.opener import Opener, refusal_words
from gui.shell.palette_entries import palette_entries
from gui.shell.settings_dialog import SettingsDialog
from gui.shell.start_up import StartUp
from gui.traces.open_traces import OpenTraces
from gui.widgets.banner import BannerStack
from gui.widgets.crash_dialog import CrashDialog
from gui.widgets.palette import Palette
from gui.widgets.question import Question
from gui.widgets.rail import Rail
from gui.widgets.shortcuts_dialog import ShortcutsDialog
from gui.widgets.status_bar import StatusBar
from gui.widgets.top_bar import TopBar
from gui.window_actions import window_actions

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from core.files import FileDescription
    from core.hardware.readings import GpuInfo
    from core.runs.store import RunFolder, RunStore
    from gui.pages.edge import EdgePage
    from gui.pages.nsight import NsightPage
    from gui.pages.page import Page
    from gui.pages.roofline import RooflinePage
    from gui.pages.trace import TracePage
    from gui.settings import Settings
    from gui.tasks import Tasks
    from gui.theme import Theme, ThemeController

DEFAULT_SIZE = QSize(1280, 800)
LEAST_SIZE = QSize(960, 600)
SAVE_AFTER_MS = 500
TOP_BAR_ACTIONS = {
    "launch": "run.launch",
    "capture": "run.capture",
    "stop": "run.stop",
    "theme": "view.theme",
    "inspector": "view.inspector",
}


class MainWindow(QMainWindow):
    """The one window of the program."""

    def __init__(self, theme: ThemeController, tasks: Tasks, settings: Settings, store: RunStore) -> None:
        super().__init__()
        self.setWindowTitle("Ridgeline")
        self.setMinimumSize(LEAST_SIZE)
        self.setContextMenuPolicy(Qt.ContextMenuPolicy.NoContextMenu)
        # Nothing wears a focus ring before the keyboard is used.
        self.setFocusPolicy(Qt.FocusPolicy.ClickFocus)
        self._pages: dict[str, Page] = {}
        self._parts: dict[str, tuple[QWidget | None, QWidget | None]] = {}
        self._page_name = PAGES[0].name
        self._page_before = settings.page
        self._known_state: object = None
        self._saves = True
        self._crash: CrashDialog | None = None
        machine = Machine(tasks, settings, self)
        self.opener = Opener(tasks, self)
        self.context = PageContext(
            theme=theme,
            tasks=tasks,
            actions=ActionRegistry(self),
            settings=settings,
            store=store,
            session=RunSession(tasks, store, lambda: _gpus_of(machine), self),
            machine=machine,
            recent=RecentWork(tasks, store, settings, self),
            traces=OpenTraces(settings, self),
            reports=OpenReports(settings, self),
            points=PointSources(self),
            edge=EdgeRuns(tasks, self),
            navigate=self.navigate,
            open_path=lambda path: self.opener.open([path]),
            open_paths=self.opener.open,
        )
        self._leaving = Leaving(self, self.context.session)
        self._build()
        self._connect()
        self._restore_layout()
        self.navigate(self._page_name)
        self._show_theme(theme.theme)
        self._show_session()
        self._show_machine()
        self.setFocus()

    # --- parts

    def _build(self) -> None:
        theme, actions = self.context.theme, self.context.actions
        wants_inspector = self.context.settings.page_value("window", "inspector", True) is not False
        self.docks = Docks(self, theme, wants_inspector=wants_inspector)
        actions.set_theme(theme.theme)
        for spec in window_actions(self, self.context.session, self.context.machine, self.context.edge):
            actions.add(spec)
        self._menu = QMenu(self)
        actions.fill_menu(self._menu)
        on_bar = {name: actions.action(action) for name, action in TOP_BAR_ACTIONS.items()}
        self.top_bar = TopBar(theme, self._menu, on_bar)
        self.setMenuWidget(self.top_bar)
        self.rail = Rail(theme, [(page.name, page.title, page.icon) for page in PAGES])
        for page in PAGES:
            self.rail.set_tip(page.name, actions.action(f"view.{page.name}").toolTip())
        side = QToolBar("Pages")
        side.setObjectName("pages")
        side.setMovable(False)
        side.addWidget(self.rail)
        self.addToolBar(Qt.ToolBarArea.LeftToolBarArea, side)
        self.banners = BannerStack(theme)
        self._stack = QStackedWidget()
        centre = QWidget()
        layout = QVBoxLayout(centre)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(0)
        layout.addWidget(self.banners)
        layout.addWidget(self._stack, 1)
        self.setCentralWidget(centre)
        self.status = StatusBar(theme, self.context.tasks)
        self.setStatusBar(self.status)
        self.palette_box = Palette(
            theme,
            self,
            lambda: palette_entries(actions, self.context.recent.rows, self.context.open_paths),
        )
        self.drop_target = DropTarget(self, self.opener)
        self._captures = CaptureNews(self.context, self.banners, self)
        self._save_timer = QTimer(self)
        self._save_timer.setSingleShot(True)
        self._save_timer.setInterval(SAVE_AFTER_MS)
        self._save_timer.timeout.connect(self._save_settings)

    def _connect(self) -> None:
        context, session = self.context, self.context.session
        context.theme.changed.connect(self._show_theme)
        context.tasks.crashed.connect(self.report_bug)
        context.machine.changed.connect(self._show_machine)
        context.edge.looked.connect(self._show_machine)
        self.rail.page_chosen.connect(self.navigate)
        self.rail.settings_chosen.connect(self.show_settings)
        self.top_bar.search_pressed.connect(self.open_palette)
        self.status.problems_pressed.connect(self._show_problems)
        self.status.selection_cleared.connect(self._clear_selection)
        context.traces.changed.connect(self._save_timer.start)
        context.reports.changed.connect(self._save_timer.start)
        self.opener.described.connect(self._open_described)
        self.opener.ranks_described.connect(self._open_ranks)
        self.opener.failed.connect(self._show_error)
        session.snapshot_changed.connect(self._show_session)
        session.launching_changed.connect(self._show_session)
        session.detached.connect(self._show_session)
        session.selection_changed.connect(self._refresh_actions)
        session.launched.connect(lambda _: self.navigate("run"))
        session.attached.connect(self._remember_run)
        session.warned.connect(lambda text: self.banners.show_banner(f"warned {text}", "warn", text))
        session.failed.connect(self._show_failure)

    def start(self, files: Sequence[Path], loaded: Callable[[], None] = lambda: None) -> None:
        """Looks around and opens ``files``; call it when the window is shown.

        Args:
            files: From the command line.
            loaded: Called once all code that the pages need is in memory.
        """
        StartUp(self.context, self.banners, self.opener.open, self._page_before, loaded).begin(files)

    # --- pages

    @property
    def page(self) -> Page:
        """The page that is shown."""
        return self._pages[self._page_name]

    def trace_page(self) -> TracePage | None:
        """The Trace page while it is shown."""
        return cast("TracePage | None", self._shown_page("trace"))

    def nsight_page(self) -> NsightPage | None:
        """The Nsight page while it is shown."""
        return cast("NsightPage | None", self._shown_page("nsight"))

    def roofline_page(self) -> RooflinePage | None:
        """The Roofline page while it is shown."""
        return cast("RooflinePage | None", self._shown_page("roofline"))

    def edge_page(self) -> EdgePage | None:
        """The Edge page while it is shown."""
        return cast("EdgePage | None", self._shown_page("edge"))

    def _shown_page(self, name: str) -> Page | None:
        # Only what is built has been loaded, and only its own class has this name.
        return self._pages.get(name) if self._page_name == name else None

    def navigate(self, name: str) -> None:
        """Shows a page; builds it first if it was never shown."""
        page = self._pages[name] if name in self._pages else self._build_page(name)
        self._page_name = name
        self._stack.setCurrentWidget(page)
        self.rail.set_current(name)
        self.docks.inspector.show_page(*self._parts[name])
        self.docks.log.show_page(page.dock_tabs(), page.dock_corner())
        self._show_docks()
        self._show_title()
        self._show_selection()
        page.shown()
        self._refresh_actions()
        self.context.settings.page = name
        self._save_timer.start()

    def _build_page(self, name: str) -> Page:
        page = next(entry for entry in PAGES if entry.name == name).load()(self.context)
        self._pages[name] = page
        self._parts[name] = (page.inspector(), page.inspector_head())
        # A hidden page has no say in how small the window's middle can be: docks would give way to it.
        page.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Ignored)
        self._stack.addWidget(page)
        page.subtitle_changed.connect(self._show_title)
        page.tab_text_changed.connect(lambda index, text: self._rename_tab(page, index, text))
        page.docks_changed.connect(self._show_docks)
        page.status_changed.connect(self._show_selection)
        page.told.connect(self.status.show_words)
        return page

    def _show_docks(self) -> None:
        self.docks.show(inspector=self.why_no_inspector() is None, log=self.why_no_log() is None)
        self._refresh_actions()

    def _show_title(self) -> None:
        title, subtitle = self.page.TITLE, self.page.subtitle()
        self.top_bar.set_page(title, subtitle)
        self.setWindowTitle(f"{subtitle or title} \N{EN DASH} Ridgeline")

    def _show_selection(self) -> None:
        self.status.set_selection(self.page.selection_words())

    def _clear_selection(self) -> None:
        self.page.clear_selection()

    def _rename_tab(self, page: Page, index: int, text: str) -> None:
        if page is self.page:
            self.docks.log.set_tab_text(index, text)

    def why_no_inspector(self) -> str | None:
        """Why the Inspector cannot be shown, or None."""
        has_one = self._parts.get(self._page_name, (None, None))[0] is not None
        if has_one and not self.page.wants_docks():
            return "the form has no inspector"
        return None if has_one else "this page has no inspector"

    def why_no_log(self) -> str | None:
        """Why there is no log to fold, or None."""
        has_one = self._page_name in self._pages and bool(self.page.dock_tabs())
        if has_one and not self.page.wants_docks():
            return "the form has no log"
        return None if has_one else "this page has no log"

    def toggle_inspector(self) -> None:
        """Shows or hides the Inspector, and remembers it."""
        self.context.settings.set_page_value("window", "inspector", self.docks.toggle_inspector())
        self._save_timer.start()

    def reset_layout(self) -> None:
        """Puts the docks where they belong, in their usual sizes."""
        self.context.settings.set_page_value("window", "inspector", True)
        self.docks.reset()
        self._refresh_actions()

    def resizeEvent(self, event: QResizeEvent) -> None:  # noqa: N802
        """Gives docks and search the sizes of a narrow, usual or wide window."""
        super().resizeEvent(event)
        self.top_bar.set_wide(event.size().width() >= WIDE_FROM_PX)
        self.docks.fit(event.size())
        if self.palette_box.isVisible():
            self.palette_box.place()

    # --- what the session, the machine and the theme say

    def _show_session(self) -> None:
        session, snapshot = self.context.session, self.context.session.snapshot
        job, line, ranks = None, ("No job", "none"), ""
        if session.launching:
            job, line = ("circle-dashed", "Launching", "info"), ("Launching", "info")
        elif snapshot is not None:
            job, line = job_state(snapshot), job_line(snapshot)
            ranks = ranks_line(snapshot) if session.running else ""
        busy = session.running or session.launching
        self.top_bar.set_job(job, stoppable=busy)
        self.status.set_job(*line, running=busy)
        self.status.set_ranks(ranks)
        self.status.set_problems(*(problem_count(snapshot) if snapshot is not None else (0, "none")))
        state = (session.running, session.launching, session.folder)
        if state != self._known_state:
            self._known_state = state
            self._refresh_actions()
            self.context.recent.refresh()

    def _show_machine(self) -> None:
        lines = (devices_line(self.context.machine), edge_line(self.context.edge.targets))
        self.status.set_devices("; ".join(filter(None, lines)))
        self._refresh_actions()
        self._save_timer.start()

    def _show_theme(self, theme: Theme) -> None:
        actions = self.context.actions
        actions.set_theme(theme)
        actions.set_icon("view.theme", "moon" if theme.name == "dark" else "sun")
        self._show_session()

    def _refresh_actions(self) -> None:
        self.context.actions.refresh()

    def _remember_run(self, folder: RunFolder) -> None:
        self.context.settings.last_run = str(folder.path)
        self._save_timer.start()
        self._show_session()

    def _show_problems(self) -> None:
        self.navigate("run")
        self.page.show_run()
        titles = [title.split(" ")[0] for title, _ in self.page.dock_tabs()]
        if "Problems" in titles:
            self.docks.log.show_tab(titles.index("Problems"))

    def _show_failure(self, error: DashboardError) -> None:
        # Home and Run show the session's errors themselves.
        if self._page_name not in ("home", "run"):
            self._show_error(error)

    def _show_error(self, error: DashboardError) -> None:
        self.banners.show_banner("error", "error", error.message, error.hint)

    def report_bug(self, error: BaseException) -> None:
        """Shows a bug; the program goes on."""
        if self._crash is None:
            self._crash = CrashDialog("\n".join(version_lines()), self)
        self._crash.report(error)

    # --- opening

    def ask_for_file(self) -> None:
        """Lets the user choose files."""
        ask_for_paths(self, "Open file", self.opener.open, start=self._last_folder())

    def ask_for_folder(self) -> None:
        """Lets the user choose the folder of a run."""
        start = self._last_folder() or self.context.store.root
        ask_for_paths(self, "Open folder", self.opener.open, start=start, folders=True)

    def _last_folder(self) -> Path | None:
        """Where the last opened file lies; Qt takes the nearest folder that is still there."""
        files = self.context.settings.recent_files
        return Path(files[0].path).parent if files else None

    def _open_described(self, path: Path, description: FileDescription) -> None:
        if description.kind == "run" and path.name == MANIFEST_NAME:
            path = path.parent
        if description.opens_on in [entry.name for entry in PAGES]:
            self.navigate(description.opens_on or "")
            if self.page.open_path(path, description):
                self.banners.dismiss(f"refused {path}")
                self._remember_file(path, description)
                return
        self.banners.show_banner(f"refused {path}", "warn", *refusal_words(description))

    def _open_ranks(self, ranks: Sequence[tuple[Path, FileDescription]]) -> None:
        """Shows several files as the ranks of one trace, and lists them as one recent entry."""
        paths = tuple(path for path, _ in ranks)
        self.navigate("trace")
        self.context.traces.add(paths[0], files=paths)
        self._remember(paths[0], f"Trace of {len(paths)} ranks", paths)

    def _remember_file(self, path: Path, description: FileDescription) -> None:
        # A run of our own store is listed as a run already.
        if description.kind == "run" and path.is_relative_to(self.context.store.root):
            return
        self._remember(path.absolute(), description.title)

    def _remember(self, path: Path, title: str, files: Sequence[Path] = ()) -> None:
        self.context.settings.remember_file(path, title, files)
        self.context.recent.refresh()
        self._save_timer.start()

    def forget_files(self) -> None:
        """Empties the list of recent files."""
        self.context.settings.forget_files()
        self.context.recent.refresh()
        self._save_timer.start()

    # --- launching

    def launch(self) -> None:
        """Launches what the page shows, or the demo."""
        if not self.page.launch():
            self.context.actions.trigger("run.launch_demo")

    def launch_demo(self) -> None:
        """One click: the preset that fits this machine."""
        self.context.session.launch(self.context.machine.choice.spec)

    def show_form(self) -> None:
        """Shows the form for a job of the user's own."""
        self.navigate("run")
        self.page.show_form(own_script=True)

    def ask_to_kill(self) -> None:
        """Asks before SIGKILL: it leaves no time to write a checkpoint."""
        session = self.context.session
        Question(
            self,
            "Kill the run",
            "Kill all ranks at once?",
            "They get no time to write a checkpoint. Stop ends them gracefully.",
            (("Stop the run", session.stop), ("Kill the run", session.kill)),
        ).open()

    def open_run_folder(self) -> None:
        """Shows the run's folder in the desktop's file manager."""
        folder = self.context.session.folder
        if folder is not None and not QDesktopServices.openUrl(QUrl.fromLocalFile(str(folder.path))):
            self.banners.show_banner("folder", "info", "No file manager was found.", f"Folder: {folder.path}")

    # --- palette, menu, dialogs

    def open_palette(self) -> None:
        """Opens the command palette, or closes it."""
        if self.palette_box.isVisible():
            self.palette_box.close_palette()
        else:
            self.context.actions.refresh()
            self.palette_box.open_palette()

    def open_menu(self) -> None:
        """Opens the menu under its button."""
        button = self.top_bar.menu_button
        self._menu.popup(button.mapToGlobal(QPoint(0, button.height())))

    def show_settings(self) -> None:
        """Opens the settings."""
        dialog = SettingsDialog(self, self.context, self.reset_layout)
        dialog.finished.connect(self._save_timer.start)
        dialog.open()

    def show_shortcuts(self) -> None:
        """Lists all shortcuts."""
        dialog = ShortcutsDialog(self.context.actions, self)
        dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        dialog.open()

    def show_about(self) -> None:
        """Says which versions run."""
        show_about(self)

    def toggle_theme(self) -> None:
        """Switches between dark and light, and keeps it."""
        theme = self.context.theme
        theme.set_theme("light" if theme.theme.name == "dark" else "dark")
        self.context.settings.theme = theme.choice
        self._save_timer.start()

    def toggle_full_screen(self) -> None:
        """Fills the screen, or goes back."""
        self.setWindowState(self.windowState() ^ Qt.WindowState.WindowFullScreen)

    # --- leaving

    def quit(self) -> None:
        """Closes the window, which ends the program."""
        self.close()

    def closeEvent(self, event: QCloseEvent) -> None:  # noqa: N802
        """Asks what becomes of a job that trains; then saves and lets go of everything."""
        if not self._leaving.may_close():
            event.ignore()
            return
        self._save_timer.stop()
        self.context.tasks.shutdown()
        if self._saves:
            self._save_at_end()
        super().closeEvent(event)
        QApplication.quit()

    def close_now(self, *, save: bool = True) -> None:
        """Closes without a question; a job that trains goes on."""
        self._saves = save
        self._leaving.decide()
        self.close()

    def _save_at_end(self) -> None:
        settings = self.context.settings
        settings.window = (bytes(self.saveGeometry().data()), bytes(self.saveState().data()))
        try:
            settings.write(settings.encoded())
        except DashboardError as error:
            # There is no window any more that could show it.
            print(f"error: {error.message}\nhint: {error.hint}", file=sys.stderr)

    def _restore_layout(self) -> None:
        geometry, docks = self.context.settings.window
        if not (geometry and self.restoreGeometry(QByteArray(geometry))):
            room = QGuiApplication.primaryScreen().availableGeometry()
            self.resize(DEFAULT_SIZE.boundedTo(room.size()))
        if docks and self.restoreState(QByteArray(docks)):
            self.docks.keep_sizes()

    def _save_settings(self) -> None:
        settings = self.context.settings
        content = settings.encoded()
        self.context.tasks.start(
            title="Saving the settings",
            work=lambda _: settings.write(content),
            done=lambda _: None,
            failed=self._show_error,
            key="settings",
            shown=False,
        )


def _gpus_of(machine: Machine) -> Sequence[GpuInfo] | None:
    return None if machine.devices is None else machine.devices.known_gpus
