"""What a page is given: the parts of the window that it may use. Pages get nothing else."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from core.runs.store import RunStore
    from gui.actions import ActionRegistry
    from gui.edge.runs import EdgeRuns
    from gui.machine import Machine
    from gui.recent_work import RecentWork
    from gui.reports.open_reports import OpenReports
    from gui.rooflines.sources import PointSources
    from gui.run_session import RunSession
    from gui.settings import Settings
    from gui.tasks import Tasks
    from gui.theme import ThemeController
    from gui.traces.open_traces import OpenTraces


@dataclass(frozen=True, slots=True, kw_only=True)
class PageContext:
    """Everything a page may use of the window.

    Attributes:
        navigate: Shows a page by its ``NAME``.
        open_path: Opens a file or folder on the page that takes it, as a drop does.
        open_paths: Opens several together: the ranks of one trace become one.
    """

    theme: ThemeController
    tasks: Tasks
    actions: ActionRegistry
    settings: Settings
    store: RunStore
    session: RunSession
    machine: Machine
    recent: RecentWork
    traces: OpenTraces
    reports: OpenReports
    points: PointSources
    edge: EdgeRuns
    navigate: Callable[[str], None]
    open_path: Callable[[Path], None]
    open_paths: Callable[[Sequence[Path]], None]
