"""The traces of several ranks: which files of a folder they are, and reading them side by side."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor, as_completed
from threading import Event
from typing import TYPE_CHECKING, Final

from core.errors import DashboardError
from core.files import MOST_TRACES, describe_path, printable
from core.readers.torch_trace.reader import read_trace
from core.readers.worker import open_trace_file

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from concurrent.futures import Executor
    from pathlib import Path

    from core.readers.worker import Opened
    from core.tables.trace import Trace

_SUFFIXES: Final = (".json", ".gz")
_MOST_LOOKED_AT: Final = 16_384


def find_traces(folder: Path) -> list[Path]:
    """Returns the traces that lie in a folder, not those below it, by name.

    Raises:
        DashboardError: There are none, or too many, or the folder cannot be read.
    """
    try:
        with os.scandir(folder) as entries:
            names = sorted(
                entry.name
                for entry, _ in zip(entries, range(_MOST_LOOKED_AT), strict=False)
                if entry.name.lower().endswith(_SUFFIXES)
            )
    except OSError as error:
        raise DashboardError(
            f"{printable(folder.name)} cannot be read: {error.strerror or error}.",
            "Check the folder and its permissions.",
        ) from error
    found = [folder / name for name in names if describe_path(folder / name).kind == "trace"]
    if not found:
        raise DashboardError(
            f"There is no trace in {printable(folder.name)}.",
            "Open a folder that holds one torch.profiler trace for each rank.",
        )
    if len(found) > MOST_TRACES:
        raise DashboardError(
            f"{printable(folder.name)} holds {len(found):,} traces, {MOST_TRACES:,} can be opened together.",
            "Move the ranks that matter to a folder of their own.",
        )
    return found


def read_traces(
    paths: Sequence[Path],
    progress: Callable[[int, int], None],
    executor: Executor | None = None,
) -> tuple[Trace, ...]:
    """Reads several traces.

    Args:
        paths: The files.
        progress: As for ``open_trace_file``, over all files. Called from several threads if there is no
            executor. What it raises ends the reading.
        executor: Runs ``read_trace`` for each path; one of a cluster will do if it sees the files. By
            default each is read in a child process of this machine, as many at a time as there are cores.

    Raises:
        DashboardError: A file cannot be read, or is no trace, or two are of one rank.
    """
    if executor is None:
        return tuple(opened.trace for opened in open_traces(paths, progress))
    traces = _read_elsewhere(paths, progress, executor)
    _refuse_repeated_ranks(traces)
    return traces


def open_traces(paths: Sequence[Path], progress: Callable[[int, int], None]) -> tuple[Opened, ...]:
    """Reads several traces of this machine, as ``read_traces``; each with what makes its next opening quick.

    Raises:
        DashboardError: As for ``read_traces``.
    """
    sizes = _sizes_bytes(paths)
    total_bytes = max(sum(sizes), 1)
    done = [0] * len(paths)
    given_up = Event()

    def read_one(place: int) -> Opened:
        def report(read_bytes: int, of_bytes: int) -> None:
            if given_up.is_set():
                raise _GivenUpError
            done[place] = sizes[place] * read_bytes // max(of_bytes, 1)
            progress(sum(done), total_bytes)

        try:
            return open_trace_file(paths[place], report)
        except DashboardError as error:
            raise _naming(paths[place], error) from error

    with ThreadPoolExecutor(os.cpu_count() or 1) as threads:
        futures = [threads.submit(read_one, place) for place in range(len(paths))]
        try:
            for future in as_completed(futures):
                future.result()
        except BaseException:
            # Without one of them there is no answer: the others would be read, for minutes, in vain.
            given_up.set()
            threads.shutdown(cancel_futures=True)
            raise
    opened = tuple(future.result() for future in futures)
    _refuse_repeated_ranks([each.trace for each in opened])
    return opened


class _GivenUpError(Exception):
    """Ends the reading of a file because another one of its set cannot be read."""


def _naming(path: Path, error: DashboardError) -> DashboardError:
    """Of several files one must be told which cannot be read."""
    name = printable(path.name)
    return error if name in error.message else DashboardError(f"{name}: {error.message}", error.hint)


def _refuse_repeated_ranks(traces: Sequence[Trace]) -> None:
    """A run's folder may hold several captures, which are no more ranks of one."""
    first: dict[int, Trace] = {}
    for trace in traces:
        rank = trace.facts.rank
        if rank is None:
            return
        other = first.setdefault(rank, trace)
        if other is not trace:
            raise DashboardError(
                f"{printable(other.name)} and {printable(trace.name)} are both of rank {rank}: "
                "these are several captures.",
                "Open the files of one capture, one for each rank.",
            )


def _read_elsewhere(
    paths: Sequence[Path], progress: Callable[[int, int], None], executor: Executor
) -> tuple[Trace, ...]:
    sizes = _sizes_bytes(paths)
    futures = [executor.submit(read_trace, path) for path in paths]
    traces = []
    for place, future in enumerate(futures):
        traces.append(future.result())
        progress(sum(sizes[: place + 1]), max(sum(sizes), 1))
    return tuple(traces)


def _sizes_bytes(paths: Sequence[Path]) -> list[int]:
    """Returns the size of each file, 0 of one that cannot be looked at: opening it says why."""
    sizes = []
    for path in paths:
        try:
            sizes.append(path.stat().st_size)
        except OSError:
            sizes.append(0)
    return sizes
