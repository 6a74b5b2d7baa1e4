"""Stacks captures around a hang: asks the agents for them and reads what they wrote.

The only place where looking at a run leaves a trace in its folder: one line in
``control.jsonl`` a request, and the small files with which the agents answer.
"""

from __future__ import annotations

import secrets
from typing import TYPE_CHECKING

import msgspec

from core import files
from core.errors import DashboardError
from core.runs.rank_facts import SECOND_NS, RankFacts
from core.runs.stack_text import main_place, main_thread
from core.telemetry.events import CaptureReady, CaptureRequest

if TYPE_CHECKING:
    from collections.abc import Sequence

    from core.runs.hangs import Hang
    from core.runs.rank_track import RankTrack
    from core.runs.store import RunFolder

AUTO_REQUEST = "auto-"
"""Begins the name of a request that was made here and not by a user."""

_AGAIN_NS = 5 * SECOND_NS
_ROUNDS_A_HANG = 3
_ROUNDS_A_RUN = 20
_STACK_BYTES = 1 << 18


class StackWatch:
    """Asks for stacks while ranks seem to hang; a few times a hang, at some distance."""

    def __init__(self, folder: RunFolder) -> None:
        self._folder = folder
        self._asked_ns = 0
        self._rounds_of_hang = 0
        self._rounds = 0

    def consider(
        self, hang: Hang | None, at_one_place: bool, ranks: Sequence[RankFacts], now_ns: int
    ) -> tuple[int, ...]:
        """Asks for stacks if they would tell something.

        Args:
            hang: The finding of now.
            at_one_place: All ranks stand still and only stacks can tell them apart.
            ranks: Facts of all ranks.
            now_ns: Unix time.

        Returns:
            The ranks that were asked, () for none.
        """
        wanted = self._wanted(hang, at_one_place, ranks)
        if wanted is None:
            self._rounds_of_hang = 0
            return ()
        if not wanted or now_ns - self._asked_ns < _AGAIN_NS:
            return ()
        if self._rounds_of_hang >= _ROUNDS_A_HANG or self._rounds >= _ROUNDS_A_RUN:
            return ()
        self._asked_ns = now_ns
        self._rounds_of_hang += 1
        self._rounds += 1
        return wanted if self._ask(wanted, now_ns) else ()

    @staticmethod
    def _wanted(hang: Hang | None, at_one_place: bool, ranks: Sequence[RankFacts]) -> tuple[int, ...] | None:
        """Ranks whose stacks are missing; None if nothing hangs."""
        if hang is not None and hang.kind in {"silent", "left"}:
            interesting = {*hang.ranks[:8], *hang.waiting[:1]}
            return tuple(rank.rank for rank in ranks if rank.rank in interesting and rank.place is None)
        if not at_one_place:
            return None
        live = [rank for rank in ranks if rank.is_live]
        if all(rank.stands for rank in live):
            return ()
        return tuple(rank.rank for rank in live)

    def _ask(self, ranks: tuple[int, ...], now_ns: int) -> bool:
        request = CaptureRequest(
            seq=0,
            t_ns=now_ns,
            request=AUTO_REQUEST + secrets.token_hex(4),
            what="stacks",
            ranks=list(ranks),
        )
        try:
            # The newline in front ends a line that another writer may have torn.
            files.append_line(self._folder.control_path, b"\n" + msgspec.json.encode(request))
        except OSError:
            return False  # a full disk, or a folder that is not ours: it goes without
        return True

    def read(self, event: CaptureReady, rank: RankTrack) -> None:
        """Takes in the stacks that an agent wrote; a file that cannot be read tells nothing."""
        path = self._folder.path / event.file
        if path.parent.resolve() != self._folder.stacks.resolve():
            return
        try:
            text = files.read_bytes_limited(path, _STACK_BYTES).decode("utf-8", "replace")
        except (OSError, DashboardError):
            return
        rank.take_stack(main_thread(text), main_place(text), event.t_ns)
