"""What the window does when a capture of the shown run is ready: says so, and opens traces.

A trace becomes a tab of the Trace page by itself; the ranks of one request are
one trace, whose tab grows as they come. Only one that was asked for
in this window brings that page up; others wait behind the "Open" of their
message.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QObject

from gui.run_words import capture_words

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from core.runs.snapshot import Capture
    from gui.context import PageContext
    from gui.widgets.banner import BannerStack


class CaptureNews(QObject):
    """Listens to the run session."""

    def __init__(self, context: PageContext, banners: BannerStack, parent: QObject) -> None:
        super().__init__(parent)
        self._context = context
        self._banners = banners
        self._brought_up: set[str] = set()
        self._files: dict[str, dict[int, Path]] = {}
        """By request, then by rank in the order in which they came."""
        context.session.capture_ready.connect(self._tell)

    def _tell(self, capture: Capture) -> None:
        """Says once a request which ranks have captured by now."""
        session = self._context.session
        snapshot, folder = session.snapshot, session.folder
        if snapshot is None or folder is None:
            return
        actions: list[tuple[str, Callable[[], object]]] = []
        if capture.what == "trace" and capture.file is not None:
            files = self._files.setdefault(capture.request, {})
            for each in (capture, *snapshot.captures):
                if (each.request, each.what, each.state) == (capture.request, "trace", "ready") and each.file:
                    files.setdefault(each.rank, folder.path / each.file)
            if self._open(capture.request):
                return
            actions.append(("Open", lambda: self._show(capture.request)))
        actions.append(("Open the run folder", lambda: self._context.actions.trigger("run.folder")))
        what, rest = capture_words(capture, snapshot)
        self._banners.show_banner(_key(capture), "info", what, rest, actions)

    def _open(self, request: str) -> bool:
        """Makes a trace a tab. Returns whether that says enough: the user asked for it and sees it."""
        if not self._context.session.asked_here(request):
            self._add(request, show=False)
            return False
        first = request not in self._brought_up
        self._brought_up.add(request)
        self._add(request, show=first)
        if first:
            self._context.navigate("trace")
        return True

    def _show(self, request: str) -> None:
        self._add(request, show=True)
        self._context.navigate("trace")

    def _add(self, request: str, *, show: bool) -> None:
        files = self._files[request]
        by_rank = tuple(files[rank] for rank in sorted(files))
        # The first that came stays the name of the tab.
        self._context.traces.add(
            next(iter(files.values())), show=show, files=by_rank if len(by_rank) > 1 else ()
        )


def _key(capture: Capture) -> str:
    return f"capture {capture.request}"
