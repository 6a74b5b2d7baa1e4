"""Where a thread stands, read from a stacks capture of the rank agent.

Pure text work. The capture is plain text: "Thread 'MainThread'" and then frames
as ``traceback`` prints them, outermost first.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

_FRAME = re.compile(r'^  File "(.+)", line (\d+), in (.+)\n(?:    (.+))?', re.MULTILINE)
_LIBRARY = re.compile(
    r"[/\\](?:site-packages|dist-packages|lib[/\\]python\d[^/\\]*)[/\\]|^<frozen |^<string>"
)
_WAITING = re.compile(
    r"[/\\]torch[/\\](?:distributed[/\\](?!run\.py)|nn[/\\]parallel[/\\]distributed\.py)"
    r"|[/\\](?:deepspeed[/\\]comm|horovod)[/\\]"
)


@dataclass(frozen=True, slots=True)
class Place:
    """The innermost frame of the user's own code.

    Attributes:
        code: The line of source, "" if it is not known.
        is_waiting: The thread stands inside a call for other ranks.
    """

    file: str
    line: int
    function: str
    code: str
    is_waiting: bool

    def __str__(self) -> str:
        """As "train.py:42 in load: batch = next(batches)"."""
        name = re.split(r"[/\\]", self.file)[-1]
        where = f"{name}:{self.line}" + (f" in {self.function}" if self.function != "<module>" else "")
        return f"{where}: {self.code[:120]}" if self.code else where


def main_thread(text: str) -> str:
    """The part of a stacks capture that is about the main thread, "" without one."""
    threads = re.split(r"\n(?=Thread )", text)
    return next((part for part in threads if part.startswith("Thread 'MainThread'")), "").strip()


def main_place(text: str) -> Place | None:
    """Where the main thread stands; None if the capture does not say.

    Source: resources/rank_agent/rank_agent.py, thread_stacks.
    """
    frames = _FRAME.findall(main_thread(text))
    if not frames:
        return None
    own = [frame for frame in frames if not _LIBRARY.search(frame[0])] or frames
    file, line, function, code = own[-1]
    inside = frames[frames.index(own[-1]) + 1 :]
    return Place(file, int(line), function, code.strip(), any(_WAITING.search(frame[0]) for frame in inside))
