"""What the command palette finds: every action, then recent runs and files."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gui.actions import ActionRegistry, ActionSpec, shortcut_text
from gui.recent_work import RecentRow, format_day
from gui.widgets.palette import PaletteEntry

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

LEFT_OUT = frozenset({"view.palette", "help.menu"})
"""Actions that make no sense from within the palette."""


def palette_entries(
    actions: ActionRegistry, recent: Sequence[RecentRow], open_paths: Callable[[Sequence[Path]], None]
) -> list[PaletteEntry]:
    """All entries as they are now, in the order of an empty query."""
    usable = [spec for spec in actions.specs if spec.id not in LEFT_OUT]
    return [
        *(_of_action(actions, spec) for spec in usable),
        *(_of_row(row, open_paths) for row in recent),
    ]


def _of_action(actions: ActionRegistry, spec: ActionSpec) -> PaletteEntry:
    return PaletteEntry(
        text=spec.text,
        run=lambda: actions.trigger(spec.id),
        icon=spec.icon,
        shortcut=shortcut_text(spec),
        reason=spec.enabled(),
        words=spec.words,
    )


def _of_row(row: RecentRow, open_paths: Callable[[Sequence[Path]], None]) -> PaletteEntry:
    return PaletteEntry(
        text=row.name,
        run=lambda: open_paths(row.paths),
        icon=row.icon,
        note=f"{row.kind}, {format_day(row.t_ns)}",
        words=f"{row.result} {row.path.name}",
    )
