"""What the window does after it is up: look around, find runs again, open what it was given."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from core.errors import DashboardError
from core.launch import client
from core.prepare import prepare_in_child
from core.runs.manifest import ENDED
from core.runs.store import RunFolder, summarize
from gui.shell.ahead import load_ahead

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from core.launch.client import LeftBehind
    from core.runs.store import RunSummary
    from gui.context import PageContext
    from gui.tasks import Progress
    from gui.widgets.banner import BannerStack

MOST_OFFERS = 2


class StartUp:
    """Runs once, when the event loop does; nothing here holds the window up."""

    def __init__(
        self,
        context: PageContext,
        banners: BannerStack,
        open_paths: Callable[[Sequence[Path]], None],
        page_before: str,
        loaded: Callable[[], None] = lambda: None,
    ) -> None:
        """Args: ``loaded`` is called once all code that the pages need is in memory."""
        self._loaded = loaded
        self._context = context
        self._banners = banners
        self._open_paths = open_paths
        # The settings hold the page of this window by now.
        self._page_before = page_before

    def begin(self, files: Sequence[Path]) -> None:
        """Starts everything.

        Args:
            files: From the command line; with them, the last run is not shown again by itself.
        """
        context = self._context
        if context.settings.notice:
            self._banners.show_banner("settings", "warn", "The settings were reset.", context.settings.notice)
        context.machine.detect(shown=False)
        if context.machine.facts is None:
            context.machine.check_interpreter()
        self._look_for_left_behind()
        self._prepare()
        if files:
            self._open_paths(files)
            return
        for documents, page in ((context.traces, "trace"), (context.reports, "nsight")):
            if self._page_before == page and documents.paths:
                context.navigate(page)
        if context.settings.last_run:
            self._find_last_run(Path(context.settings.last_run), was_shown=self._page_before == "run")

    def _prepare(self) -> None:
        """Compiles what a trace needs, once after each change of the program."""

        def work(progress: Progress) -> None:
            prepare_in_child(progress.check)

        self._context.tasks.start(
            title="Compiling the trace reader",
            work=work,
            done=lambda _: self._load_ahead(),
            failed=self._show_error,
            key="prepare",
            shown=False,
        )

    def _load_ahead(self) -> None:
        """Loads the trace page's code, so that the first trace opens without a pause."""
        theme = self._context.theme.theme

        def work(progress: Progress) -> None:
            load_ahead(theme, progress.check)

        self._context.tasks.start(
            title="Loading the trace page",
            work=work,
            done=lambda _: self._loaded(),
            failed=self._show_error,
            key="ahead",
            shown=False,
        )

    def _find_last_run(self, path: Path, *, was_shown: bool) -> None:
        def work(_: Progress) -> RunSummary:
            return summarize(RunFolder(path))

        self._context.tasks.start(
            title="Looking for the last run",
            work=work,
            done=lambda run: self._restore(run, was_shown=was_shown),
            # It was deleted or moved meanwhile: there is nothing to restore.
            failed=lambda _: None,
            key="last run",
            shown=False,
        )

    def _restore(self, run: RunSummary, *, was_shown: bool) -> None:
        session = self._context.session
        if session.folder is not None or session.launching:
            return
        if run.status not in ENDED or was_shown:
            session.attach(RunFolder(run.path))
        if was_shown:
            self._context.navigate("run")

    def _look_for_left_behind(self) -> None:
        store = self._context.store

        def work(_: Progress) -> list[LeftBehind]:
            return client.left_behind(store)

        self._context.tasks.start(
            title="Looking for runs that were left behind",
            work=work,
            done=self._offer,
            failed=self._show_error,
            key="left behind",
            shown=False,
        )

    def _offer(self, items: list[LeftBehind]) -> None:
        for item in items[:MOST_OFFERS]:
            count = len(item.processes)
            what = "1 process of it lives" if count == 1 else f"{count} processes of it live"
            self._banners.show_banner(
                _key(item),
                "warn",
                f"{item.manifest.job.title} was left behind:",
                f"its supervisor is gone, but {what} on ({item.folder.id}).",
                (("End them", partial(self._end, item)), ("Leave them", partial(self._leave, item))),
            )

    def _leave(self, item: LeftBehind) -> None:
        self._banners.dismiss(_key(item))

    def _end(self, item: LeftBehind) -> None:
        self._leave(item)

        def work(_: Progress) -> int:
            return len(client.end_left_behind(item))

        def done(living: int) -> None:
            self._context.recent.refresh()
            if living:
                self._show_error(
                    DashboardError(
                        f"{living} processes of {item.folder.id} could not be ended.",
                        "They may belong to another user; look at them with `ps`.",
                    )
                )

        self._context.tasks.start(
            title=f"Ending what {item.manifest.job.title} left",
            work=work,
            done=done,
            failed=self._show_error,
            key=_key(item),
        )

    def _show_error(self, error: DashboardError) -> None:
        self._banners.show_banner("start", "error", error.message, error.hint)


def _key(item: LeftBehind) -> str:
    return f"left behind {item.folder.id}"
