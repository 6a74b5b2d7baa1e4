"""Everything the window itself lets the user do, as action specs. Pages add their own."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gui.actions import ActionSpec
from gui.edge_actions import edge_actions
from gui.nsight_actions import nsight_actions
from gui.pages import PAGES
from gui.roofline_actions import roofline_actions
from gui.trace_actions import trace_actions

if TYPE_CHECKING:
    from collections.abc import Callable

    from gui.edge.runs import EdgeRuns
    from gui.machine import Machine
    from gui.main_window import MainWindow
    from gui.run_session import RunSession


def window_actions(
    window: MainWindow, session: RunSession, machine: Machine, edge: EdgeRuns
) -> list[ActionSpec]:
    """All actions, in the order in which menus and the palette show them."""
    return [
        *_file_actions(window),
        *_run_actions(window, session, machine),
        *_machine_actions(machine, edge),
        *trace_actions(window.trace_page),
        *nsight_actions(window.nsight_page),
        *roofline_actions(window.roofline_page),
        *edge_actions(window.edge_page),
        *_view_actions(window),
        *_help_actions(window),
    ]


def _file_actions(window: MainWindow) -> list[ActionSpec]:
    return [
        ActionSpec(
            id="file.open",
            text="Open file",
            run=window.ask_for_file,
            icon="file",
            shortcut="Ctrl+O",
            menu="File",
        ),
        ActionSpec(
            id="file.open_folder",
            text="Open folder",
            run=window.ask_for_folder,
            icon="folder-open",
            shortcut="Ctrl+Shift+O",
            menu="File",
            words="run traces ranks",
        ),
        ActionSpec(
            id="file.forget",
            text="Clear recent files",
            run=window.forget_files,
            icon="trash",
            menu="File",
            tip="The files themselves stay",
        ),
        ActionSpec(
            id="app.settings",
            text="Settings",
            run=window.show_settings,
            icon="gear",
            shortcut="Ctrl+,",
            menu="File",
            words="theme interpreter python preferences",
        ),
        ActionSpec(
            id="app.quit",
            text="Quit",
            run=window.quit,
            icon="x",
            shortcut="Ctrl+Q",
            menu="File",
            words="exit close",
        ),
    ]


def _run_actions(window: MainWindow, session: RunSession, machine: Machine) -> list[ActionSpec]:
    def no_rank() -> str | None:
        if session.selected_rank is None:
            return session.why_not_capture() or "no rank is selected"
        return session.why_not_capture()

    def on_selected() -> None:
        rank = session.selected_rank
        if rank is not None:
            session.capture("trace", ranks=[rank])

    def no_run() -> str | None:
        return None if session.folder is not None else "no run is shown"

    return [
        ActionSpec(
            id="run.launch",
            text="Launch",
            run=window.launch,
            icon="play-fill",
            icon_token="text",  # noqa: S106  (a colour)
            shortcut="Ctrl+R",
            menu="Run",
            enabled=session.why_not_launch,
            tip="On Run: the job of the form. Elsewhere: the demo",
        ),
        ActionSpec(
            id="run.launch_demo",
            text="Launch the demo",
            run=window.launch_demo,
            icon="play",
            menu="Run",
            enabled=lambda: session.why_not_launch() or machine.why_not_choose(),
            words="minillm fsdp tiny seed start",
        ),
        ActionSpec(
            id="run.own_script",
            text="Launch your own script",
            run=window.show_form,
            icon="terminal-window",
            menu="Run",
            words="form job new",
        ),
        ActionSpec(
            id="run.capture",
            text="Capture 2 steps on all ranks",
            run=lambda: session.capture("trace"),
            icon="record",
            shortcut="Ctrl+T",
            menu="Run",
            enabled=session.why_not_capture,
            tip="A torch.profiler trace, from the next step on",
            words="trace profile",
        ),
        ActionSpec(
            id="run.capture_rank",
            text="Capture 2 steps on the selected rank",
            run=on_selected,
            icon="record",
            menu="Run",
            enabled=no_rank,
            words="trace profile",
        ),
        ActionSpec(
            id="run.capture_stacks",
            text="Capture the stacks of all ranks",
            run=lambda: session.capture("stacks"),
            icon="rows",
            menu="Run",
            enabled=session.why_not_capture,
            tip="What every thread does now; for a run that hangs",
        ),
        ActionSpec(
            id="run.capture_memory",
            text="Capture a memory snapshot on all ranks",
            run=lambda: session.capture("snapshot"),
            icon="rows",
            menu="Run",
            enabled=lambda: _why_no_snapshot(session),
        ),
        ActionSpec(
            id="run.stop",
            text="Stop the run",
            run=session.stop,
            icon="stop-fill",
            icon_token="error",  # noqa: S106  (a colour)
            shortcut="Ctrl+.",
            menu="Run",
            enabled=session.why_not_stop,
            tip="It ends gracefully; what it has written stays",
        ),
        ActionSpec(
            id="run.kill",
            text="Kill the run",
            run=window.ask_to_kill,
            icon="x",
            icon_token="error",  # noqa: S106  (a colour)
            menu="Run",
            enabled=session.why_not_stop,
        ),
        ActionSpec(
            id="run.folder",
            text="Open the run folder",
            run=window.open_run_folder,
            icon="folder-open",
            menu="Run",
            enabled=no_run,
        ),
        ActionSpec(
            id="run.detach",
            text="Close the shown run",
            run=session.detach,
            icon="eye-slash",
            menu="Run",
            enabled=no_run,
            tip="A run that goes on goes on",
        ),
    ]


def _why_no_snapshot(session: RunSession) -> str | None:
    reason = session.why_not_capture()
    snapshot = session.snapshot
    if reason is None and snapshot is not None and snapshot.manifest.job.device == "cpu":
        return "the run computes on the CPU"
    return reason


def _machine_actions(machine: Machine, edge: EdgeRuns) -> list[ActionSpec]:
    def detect() -> None:
        machine.detect()
        edge.look()

    return [
        ActionSpec(
            id="app.detect",
            text="Detect devices",
            run=detect,
            icon="hard-drives",
            menu="Run",
            words="gpu nvidia vulkan metal",
            enabled=lambda: "it is under way" if machine.detecting or edge.looking else None,
        ),
        ActionSpec(
            id="app.check",
            text="Check Python and torch",
            run=machine.check_interpreter,
            icon="arrows-clockwise",
            menu="Run",
            words="interpreter nccl gloo machine",
            enabled=lambda: "it is under way" if machine.checking else None,
        ),
    ]


def _view_actions(window: MainWindow) -> list[ActionSpec]:
    def show(name: str) -> Callable[[], None]:
        return lambda: window.navigate(name)

    pages = [
        ActionSpec(
            id=f"view.{page.name}",
            text=f"Show {page.title}",
            run=show(page.name),
            icon=page.icon,
            shortcut=f"Ctrl+{place}",
            menu="View",
            words="page",
        )
        for place, page in enumerate(PAGES, start=1)
    ]
    return [
        *pages,
        ActionSpec(
            id="view.palette",
            text="Search or run a command",
            run=window.open_palette,
            icon="command",
            shortcut="Ctrl+K; Ctrl+Shift+P",
            menu="View",
            words="palette find",
        ),
        ActionSpec(
            id="view.inspector",
            text="Show the inspector",
            run=window.toggle_inspector,
            icon="columns",
            shortcut="Ctrl+I",
            menu="View",
            checked=lambda: window.docks.inspector_shown,
            enabled=window.why_no_inspector,
        ),
        ActionSpec(
            id="view.log",
            text="Fold the log",
            run=window.docks.toggle_log,
            icon="rows",
            shortcut="Ctrl+J",
            menu="View",
            checked=lambda: window.docks.log.folded,
            enabled=window.why_no_log,
        ),
        ActionSpec(
            id="view.theme",
            text="Switch between dark and light",
            run=window.toggle_theme,
            icon="moon",
            shortcut="Ctrl+Shift+L",
            menu="View",
            words="theme colours",
        ),
        ActionSpec(
            id="view.reset",
            text="Reset the layout",
            run=window.reset_layout,
            icon="layout",
            menu="View",
            words="docks window",
        ),
        ActionSpec(
            id="view.full_screen",
            text="Full screen",
            run=window.toggle_full_screen,
            icon="arrow-square-out",
            shortcut="F11",
            menu="View",
            checked=window.isFullScreen,
        ),
    ]


def _help_actions(window: MainWindow) -> list[ActionSpec]:
    return [
        ActionSpec(
            id="help.menu",
            text="Open the menu",
            run=window.open_menu,
            icon="list",
            shortcut="F10",
        ),
        ActionSpec(
            id="help.shortcuts",
            text="Keyboard shortcuts",
            run=window.show_shortcuts,
            icon="question",
            shortcut="F1; ?",
            menu="Help",
            words="keys help",
        ),
        ActionSpec(
            id="help.about",
            text="About Ridgeline",
            run=window.show_about,
            icon="info",
            menu="Help",
            words="version licence",
        ),
    ]
