"""One registry of everything the user can do: it feeds menus, shortcuts, tooltips and the palette.

An action is written down once, as an ``ActionSpec``. Why it cannot be used now
is asked of the spec each time it is shown, never stored beside it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Qt, Signal
from PySide6.QtGui import QAction, QKeySequence
from PySide6.QtWidgets import QMenu

from gui.plain_text import tip_text

if TYPE_CHECKING:
    from collections.abc import Callable

    from PySide6.QtWidgets import QWidget

    from gui.theme import Theme

MENUS = ("File", "Run", "Trace", "Nsight", "Roofline", "Edge", "View", "Help")
"""Menus in the order in which they are shown."""


def always() -> None:
    """An action that can be used at any time."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ActionSpec:
    """One thing the user can do.

    Attributes:
        id: Stable name, such as "run.stop".
        text: Verb and object in sentence case, as menus and the palette show it.
        run: Does it, on the UI thread.
        icon: Phosphor name; "" for none.
        shortcut: In Qt's portable form, such as "Ctrl+K"; several with "; ".
        keys: Shown in the place of a shortcut where a part of the window takes the key itself.
        tip: One more sentence for the tooltip.
        menu: One of ``MENUS``, or "" to be in the palette only.
        page: ``NAME`` of the only page on which it is ever enabled; pages may share shortcuts. "" for any.
        enabled: Gives None if it can be used now, or the reason why not.
        checked: For a switch: whether it is on now.
        words: Further words that the palette finds it by.
        icon_token: Colour of the icon.
    """

    id: str
    text: str
    run: Callable[[], None]
    icon: str = ""
    shortcut: str = ""
    keys: str = ""
    tip: str = ""
    menu: str = ""
    page: str = ""
    enabled: Callable[[], str | None] = always
    checked: Callable[[], bool] | None = None
    words: str = ""
    icon_token: str = "text2"  # noqa: S105  (a colour)


class ActionRegistry(QObject):
    """All actions of the window, by id, in the order in which they were added.

    Signals:
        changed: An action was added, or ``refresh`` found another state.
    """

    changed = Signal()

    def __init__(self, window: QWidget) -> None:
        super().__init__(window)
        self._window = window
        self._specs: dict[str, ActionSpec] = {}
        self._actions: dict[str, QAction] = {}
        self._theme: Theme | None = None

    def add(self, spec: ActionSpec) -> QAction:
        """Adds an action; its shortcut works in the whole window.

        Raises:
            ValueError: The id or the shortcut is taken, or the menu is unknown.
        """
        self._check(spec)
        action = QAction(spec.text, self._window)
        action.setShortcuts(_sequences(spec))
        action.setShortcutContext(Qt.ShortcutContext.WindowShortcut)
        action.setCheckable(spec.checked is not None)
        action.triggered.connect(lambda _=False: self.trigger(spec.id))
        self._window.addAction(action)
        self._specs[spec.id] = spec
        self._actions[spec.id] = action
        self._dress(spec, action)
        self._update(spec, action)
        self.changed.emit()
        return action

    def action(self, action_id: str) -> QAction:
        """The QAction of an id, to be put on a button."""
        return self._actions[action_id]

    @property
    def specs(self) -> list[ActionSpec]:
        """All actions, in the order in which they were added."""
        return list(self._specs.values())

    def reason(self, action_id: str) -> str | None:
        """Why the action cannot be used now, or None."""
        return self._specs[action_id].enabled()

    def trigger(self, action_id: str) -> bool:
        """Does it, if it can be done now. Returns whether it was done."""
        spec = self._specs[action_id]
        usable = spec.enabled() is None
        if usable:
            spec.run()
        self.refresh()
        return usable

    def refresh(self) -> None:
        """Asks every action anew whether it can be used; cheap."""
        moved = [self._update(spec, self._actions[spec.id]) for spec in self._specs.values()]
        if any(moved):
            self.changed.emit()

    def set_theme(self, theme: Theme) -> None:
        """Draws the icons in the colours of a theme."""
        self._theme = theme
        for spec in self._specs.values():
            self._dress(spec, self._actions[spec.id])

    def set_icon(self, action_id: str, icon: str) -> None:
        """Gives an action another icon, for a switch whose icon shows its state."""
        self._specs[action_id] = replace(self._specs[action_id], icon=icon)
        self._dress(self._specs[action_id], self._actions[action_id])

    def fill_menu(self, menu: QMenu) -> None:
        """Fills a menu with one submenu for each of ``MENUS`` that has actions."""
        for title in MENUS:
            actions = [self._actions[spec.id] for spec in self._specs.values() if spec.menu == title]
            if actions:
                submenu = menu.addMenu(title)
                submenu.addActions(actions)
                submenu.aboutToShow.connect(self.refresh)

    def _check(self, spec: ActionSpec) -> None:
        if spec.id in self._specs:
            raise ValueError(f"two actions are called {spec.id}")
        if spec.menu and spec.menu not in MENUS:
            raise ValueError(f"{spec.id} asks for a menu {spec.menu} that does not exist")
        taken = {
            keys.toString()
            for other in self._specs.values()
            if not (spec.page and other.page) or spec.page == other.page
            for keys in _sequences(other)
        }
        for keys in _sequences(spec):
            if not keys.toString() or keys.toString() in taken:
                raise ValueError(f"{spec.id} asks for {spec.shortcut}: no key, or taken by another action")

    def _dress(self, spec: ActionSpec, action: QAction) -> None:
        if spec.icon and self._theme is not None:
            action.setIcon(self._theme.icon(spec.icon, spec.icon_token))

    def _update(self, spec: ActionSpec, action: QAction) -> bool:
        reason = spec.enabled()
        before = (action.isEnabled(), action.toolTip(), action.isChecked())
        action.setEnabled(reason is None)
        if spec.checked is not None:
            action.setChecked(spec.checked())
        action.setToolTip(_tip(spec, reason))
        return before != (action.isEnabled(), action.toolTip(), action.isChecked())


def shortcut_text(spec: ActionSpec) -> str:
    """The first shortcut as this desktop writes it, "" if there is none."""
    sequences = _sequences(spec) or [QKeySequence(spec.keys)]
    return sequences[0].toString(QKeySequence.SequenceFormat.NativeText)


def _sequences(spec: ActionSpec) -> list[QKeySequence]:
    return [QKeySequence(keys) for keys in spec.shortcut.split("; ") if keys]


def _tip(spec: ActionSpec, reason: str | None) -> str:
    keys = shortcut_text(spec)
    first = f"{spec.text} ({keys})" if keys else spec.text
    why = reason[:1].upper() + reason[1:] if reason else ""
    return tip_text("\n".join(line for line in (first, spec.tip, why) if line))
