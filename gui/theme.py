"""Colours, fonts and icons: the two palettes, how they reach Qt, and the switch between them.

``resources/theme/tokens.json`` is the one source of colours and
``resources/theme/ridgeline.qss`` the one style sheet. A widget that draws by
itself asks the current ``Theme`` and draws again on ``ThemeController.changed``.
Nothing here knows a page or a widget of ours.
"""

from __future__ import annotations

import gc
import json
import os
import string
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, Any, Literal

from PySide6.QtCore import QDir, QObject, QSize, Qt, Signal
from PySide6.QtGui import QColor, QFont, QFontInfo, QIcon, QPalette, QPixmap

from core.files import RESOURCES

if TYPE_CHECKING:
    from collections.abc import Iterator

    from PySide6.QtWidgets import QApplication, QWidget

ThemeName = Literal["dark", "light"]
ThemeChoice = Literal["system", "dark", "light"]

THEME_FOLDER = RESOURCES / "theme"
UI_FAMILIES = ("Inter", "Adwaita Sans", "Noto Sans", "Segoe UI Variable Text", "Segoe UI", "DejaVu Sans")
MONO_FAMILIES = ("SF Mono", "Menlo", "Cascadia Mono", "Consolas", "DejaVu Sans Mono")
ICON_PIXEL_RATIOS = (1, 2, 3)

DISTINCT_RANKS = 8
SOLID_RANKS = 4


@dataclass(frozen=True, slots=True, eq=False)
class Theme:
    """One palette with the font sizes that fit the fonts of this machine.

    Attributes:
        name: "dark" or "light".
        tokens: Colour token -> "#RRGGBB", as in tokens.json.
        categories: Kernel category -> "#RRGGBB". Triton shares that of the others; a pattern tells it apart.
        ranks: Eight line colours; four solid, four dashed.
        heat: Five stops from low to high.
        diverging: Five stops from below to above.
        px_body: Pixel size of body text; a wide font goes a step smaller.
        px_table: Of tables and controls.
        px_small: Of captions, axes, chips, the status bar; nothing is smaller.
        px_heading: Of page headings.
        px_figure: Of the one figure of a card.
    """

    name: ThemeName
    tokens: dict[str, str]
    categories: dict[str, str]
    ranks: tuple[str, ...]
    heat: tuple[str, ...]
    diverging: tuple[str, ...]
    px_body: int = 13
    px_table: int = 12
    px_small: int = 11
    px_heading: int = 15
    px_figure: int = 20
    _icons: dict[tuple[str, str, int], QIcon] = field(default_factory=dict, repr=False)

    def color(self, token: str) -> QColor:
        """Colour of a token, such as "text2" or "chart-grid".

        Raises:
            KeyError: There is no such token.
        """
        return QColor(self.tokens[token])

    def rank_color(self, rank: int) -> QColor:
        """Line colour of a rank. Colours repeat after eight."""
        return QColor(self.ranks[rank % DISTINCT_RANKS])

    def rank_dashed(self, rank: int) -> bool:
        """Whether the line of a rank is dashed, so that colour is not its only mark."""
        return rank % DISTINCT_RANKS >= SOLID_RANKS

    def icon(self, name: str, token: str = "text2", size: int = 16) -> QIcon:  # noqa: S107  (a colour)
        """A Phosphor icon in a token's colour; in "text" when hovered, "disabled" when off.

        Args:
            name: Phosphor name, such as "play-fill".
            token: Colour of the normal state.
            size: Side in device-independent pixels.
        """
        key = (name, token, size)
        if key not in self._icons:
            self._icons[key] = self._rendered_icon(name, token, size)
        return self._icons[key]

    def pixmap(
        self,
        name: str,
        token: str = "text2",  # noqa: S107  (a colour)
        size: int = 16,
        ratio: float = 1.0,
    ) -> QPixmap:
        """The same icon as a pixmap for labels and painters."""
        return self.icon(name, token, size).pixmap(QSize(size, size), ratio)

    def _rendered_icon(self, name: str, token: str, size: int) -> QIcon:
        # Imported late: the module loads six icon fonts' worth of code.
        os.environ.setdefault("QT_API", "pyside6")
        import qtawesome  # noqa: PLC0415

        # An icon in a colour of its own (a red stop) keeps it under the pointer.
        active = {"text2": "text"}.get(token, token)
        icon = QIcon()
        for mode, colour in (
            (QIcon.Mode.Normal, token),
            (QIcon.Mode.Active, active),
            (QIcon.Mode.Selected, active),
            (QIcon.Mode.Disabled, "disabled"),
        ):
            drawn = qtawesome.icon(f"ph.{name}", color=self.tokens[colour])
            for ratio in ICON_PIXEL_RATIOS:
                pixmap: QPixmap = drawn.pixmap(QSize(size * ratio, size * ratio))
                pixmap.setDevicePixelRatio(ratio)
                icon.addPixmap(pixmap, mode)
        return icon

    def font(self, px: int | None = None, *, bold: bool = False, mono: bool = False) -> QFont:
        """A font of this theme.

        Args:
            px: Pixel size; None is body text, or small text for ``mono``.
            bold: Weight 600 instead of 400.
            mono: For logs, argv and code only.
        """
        font = _base_font(MONO_FAMILIES if mono else UI_FAMILIES)
        font.setPixelSize(px or (self.px_small if mono else self.px_body))
        font.setWeight(QFont.Weight.DemiBold if bold else QFont.Weight.Normal)
        if mono:
            font.setStyleHint(QFont.StyleHint.Monospace)
        return font


def load_theme(name: ThemeName) -> Theme:
    """Reads a theme from the tokens; needs a QApplication (for the fonts)."""
    tokens = _tokens()
    # DejaVu is 8% wider than Inter: everything goes one step down so that nothing is cut.
    step = 1 if QFontInfo(_base_font(UI_FAMILIES)).family().startswith("DejaVu") else 0
    return Theme(
        name=name,
        tokens=tokens[name],
        categories={**tokens["categories"][name], "triton": tokens["categories"][name]["other"]},
        ranks=tuple(tokens["ranks"][name]),
        heat=tuple(tokens["heat"][name]),
        diverging=tuple(tokens["diverging"][name]),
        px_body=13 - step,
        px_table=12 - step,
    )


@cache
def _tokens() -> dict[str, Any]:
    tokens: dict[str, Any] = json.loads((THEME_FOLDER / "tokens.json").read_bytes())
    return tokens


def _base_font(families: tuple[str, ...]) -> QFont:
    font = QFont()
    font.setFamilies(list(families))
    font.setFeature(QFont.Tag("tnum"), 1)
    # Inter's alternates turn the x of 256x128 into a multiplication sign.
    font.setFeature(QFont.Tag("calt"), 0)
    return font


def palette_of(theme: Theme) -> QPalette:
    """The QPalette that Fusion draws with."""
    role = QPalette.ColorRole
    colours = {
        "surface1": (role.Window, role.Base),
        "surface2": (role.AlternateBase, role.Button),
        "surface3": (role.Light, role.Midlight),
        "popup": (role.ToolTipBase,),
        "border": (role.Mid, role.Shadow),
        "border-strong": (role.Dark,),
        "text": (role.WindowText, role.Text, role.ButtonText, role.ToolTipText, role.HighlightedText),
        "text2": (role.PlaceholderText,),
        "selection": (role.Highlight,),
        "accent-fill": (role.Accent,),
        "accent": (role.Link, role.LinkVisited),
        "error": (role.BrightText,),
    }
    palette = QPalette()
    for token, roles in colours.items():
        for each in roles:
            palette.setColor(each, theme.color(token))
    for each in (role.WindowText, role.Text, role.ButtonText, role.HighlightedText, role.PlaceholderText):
        palette.setColor(QPalette.ColorGroup.Disabled, each, theme.color("disabled"))
    return palette


def style_sheet_of(theme: Theme) -> str:
    """The style sheet with every ``$name`` replaced; a missing one is a KeyError."""
    names = {token.replace("-", "_"): colour for token, colour in theme.tokens.items()}
    pixels = ("px_body", "px_table", "px_small", "px_heading", "px_figure")
    sizes = {name: f"{getattr(theme, name)}px" for name in pixels}
    template = string.Template((THEME_FOLDER / "ridgeline.qss").read_text(encoding="utf-8"))
    mono = ", ".join(f'"{family}"' for family in MONO_FAMILIES)
    return template.substitute(names, theme=theme.name, mono=mono, **sizes)


class ThemeController(QObject):
    """Holds the current theme and switches it for the whole program.

    Signals:
        changed: The new ``Theme``, after Qt has its palette and sheet.
    """

    changed = Signal(object)

    def __init__(self, app: QApplication, choice: ThemeChoice = "system") -> None:
        super().__init__(app)
        self._app = app
        self._choice: ThemeChoice = choice
        QDir.setSearchPaths("theme", [str(THEME_FOLDER)])
        with collector_held():
            app.setStyle("Fusion")
        self._theme = load_theme(self._wanted())
        self._apply()
        app.styleHints().colorSchemeChanged.connect(self._follow_system)

    @property
    def theme(self) -> Theme:
        """What is shown now."""
        return self._theme

    @property
    def choice(self) -> ThemeChoice:
        """What the user chose; "system" follows the desktop's setting."""
        return self._choice

    def set_theme(self, choice: ThemeChoice) -> None:
        """Switches now and tells everybody."""
        self._choice = choice
        wanted = self._wanted()
        if wanted == self._theme.name:
            return
        self._theme = load_theme(wanted)
        self._apply()
        self.changed.emit(self._theme)

    def _wanted(self) -> ThemeName:
        if self._choice != "system":
            return self._choice
        return "light" if self._app.styleHints().colorScheme() == Qt.ColorScheme.Light else "dark"

    def _follow_system(self) -> None:
        if self._choice == "system":
            self.set_theme("system")

    def _apply(self) -> None:
        with collector_held():
            self._app.setFont(self._theme.font())
            self._app.setPalette(palette_of(self._theme))
            self._app.setStyleSheet(style_sheet_of(self._theme))


@contextmanager
def collector_held() -> Iterator[None]:
    """Keeps Python's garbage collector from running meanwhile.

    For a new style, font or sheet Qt goes through a list of all widgets and calls
    their overrides. A collection in one of them can delete a widget that nothing
    holds any more while the list still names it: a segmentation fault, seen in
    3 of 5 runs of the window's tests and in none with the collector off.
    """
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


def set_kind(widget: QWidget, **properties: str | None) -> None:
    """Sets the properties that the style sheet looks at, such as ``kind`` and ``level``.

    Qt reads them only when a widget is polished, so it is polished again. A
    widget has a ``size`` of its own: ours is ``control_size`` in the sheet.
    """
    wanted = {"control_size" if name == "size" else name: value for name, value in properties.items()}
    if all(widget.property(name) == value for name, value in wanted.items()):
        return
    for name, value in wanted.items():
        widget.setProperty(name, value)
    style = widget.style()
    style.unpolish(widget)
    style.polish(widget)
    widget.update()
