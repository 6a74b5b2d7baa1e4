"""One launch: its tabs, and what is said of the baseline above them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from PySide6.QtCore import QSize, Qt, Signal
from PySide6.QtWidgets import (
    QAbstractItemView,
    QHBoxLayout,
    QLabel,
    QStackedWidget,
    QTabBar,
    QVBoxLayout,
    QWidget,
)

from core.units import format_count
from gui.plain_text import control_text, visible_text
from gui.reports.differences import Differences
from gui.theme import set_kind
from gui.widgets.elided_label import ElidedLabel
from gui.widgets.nsight_parts import PartTools
from gui.widgets.nsight_session import SessionTab
from gui.widgets.nsight_source import SourceTab
from gui.widgets.nsight_tabs import (
    TABS,
    LaunchTab,
    LightTab,
    OccupancyTab,
    RulesTab,
    StallTab,
    TabSpec,
    points_of,
    tab_of,
    tabs_of,
)
from gui.widgets.result_table import ResultTableWidget

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gui.reports.answers import LaunchAnswer
    from gui.settings import Settings
    from gui.tasks import Tasks
    from gui.theme import Theme, ThemeController
    from gui.widgets.nsight_export import PartExport

TABS_PX: Final = 32
_KINDS: Final[dict[str, type[LaunchTab]]] = {
    "light": LightTab,
    "occupancy": OccupancyTab,
    "stalls": StallTab,
    "rules": RulesTab,
    "session": SessionTab,
}
METRICS: Final = "metrics"
SOURCE: Final = "source"


class LaunchDetail(QWidget):
    """Shows a ``LaunchAnswer``.

    Signals:
        tab_changed: Key of the tab that is shown now.
    """

    tab_changed = Signal(str)

    def __init__(self, theme: ThemeController, tasks: Tasks, settings: Settings, export: PartExport) -> None:
        super().__init__()
        self._theme = theme
        self._export = export
        self._answer: LaunchAnswer | None = None
        self._tools: PartTools | None = None
        self._specs: tuple[TabSpec, ...] = ()
        self._wanted = TABS[0].key
        self._current: set[str] = set()
        """Tabs that show the launch."""
        self._opened: dict[str, bool] = {}
        self.tabs = QTabBar()
        self.tabs.setDrawBase(False)
        self.tabs.setExpanding(False)
        set_kind(self.tabs, kind="tight")
        self.tabs.setUsesScrollButtons(True)
        self.tabs.setElideMode(Qt.TextElideMode.ElideNone)
        self.tabs.setAccessibleName("What is shown of the kernel")
        self.tabs.currentChanged.connect(self._tab_chosen)
        # After the tab has changed: a click is done with it.
        self.tabs.tabBarClicked.connect(self._take_keyboard, Qt.ConnectionType.QueuedConnection)
        head = QWidget()
        set_kind(head, kind="page-bar")
        head.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)
        head.setFixedHeight(TABS_PX)
        row = QHBoxLayout(head)
        row.setContentsMargins(12, 0, 8, 0)
        row.addWidget(self.tabs, 1)
        self.doubts = DoubtStrip(theme)
        self.metrics = ResultTableWidget(theme, tasks, settings)
        self.metrics.failed.connect(export.failed)
        self.metrics.told.connect(export.told)
        self._stack = QStackedWidget()
        self._pages: dict[str, QWidget] = {}
        source = next(spec for spec in TABS if spec.key == SOURCE)
        self.source = SourceTab(source, theme, tasks, settings, export)
        self._listen(self.source.sections)
        for spec in TABS:
            page = {METRICS: self.metrics, SOURCE: self.source}.get(spec.key) or self._build_tab(spec)
            self._pages[spec.key] = page
            self._stack.addWidget(page)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(0)
        layout.addWidget(head)
        layout.addWidget(self.doubts)
        layout.addWidget(self._stack, 1)

    def _build_tab(self, spec: TabSpec) -> LaunchTab:
        tab = _KINDS.get(spec.key, LaunchTab)(spec)
        self._listen(tab)
        return tab

    def _listen(self, tab: LaunchTab) -> None:
        tab.section_asked.connect(self.show_section)
        tab.source_asked.connect(self.show_instruction)
        tab.folded.connect(self._folded)

    @property
    def shown(self) -> str:
        """Key of the tab that is shown."""
        place = self.tabs.currentIndex()
        return self._specs[place].key if 0 <= place < len(self._specs) else ""

    @property
    def keys(self) -> tuple[str, ...]:
        """Keys of the tabs that this launch has."""
        return tuple(spec.key for spec in self._specs)

    @property
    def answer(self) -> LaunchAnswer | None:
        """What is shown."""
        return self._answer

    def page(self, key: str) -> QWidget:
        """The content of a tab."""
        return self._pages[key]

    def show_answer(self, answer: LaunchAnswer, stem: str) -> None:
        """Shows a launch; the tab stays.

        Args:
            answer: All of it.
            stem: What names of saved files begin with.
        """
        self._answer = answer
        baseline = answer.baseline
        points = (
            ()
            if baseline is None
            else tuple(points_of(part for section in baseline.sections for part in section.items))
        )
        self._tools = PartTools(self._theme, self._export, Differences(answer.comparison), stem, points)
        self._current.clear()
        self.metrics.file_stem = stem
        self._show_tabs(tabs_of(answer), len(answer.view.rules))
        title = answer.ask.baseline.title if answer.ask.baseline is not None else ""
        doubts = () if answer.comparison is None else answer.comparison.doubts
        self.doubts.show_doubts(title, (answer.lacks,) if answer.lacks else doubts)
        self._fill()

    def _show_tabs(self, specs: tuple[TabSpec, ...], rules: int) -> None:
        self.tabs.blockSignals(True)
        while self.tabs.count() > len(specs):
            self.tabs.removeTab(self.tabs.count() - 1)
        for place, spec in enumerate(specs):
            count = f"  {format_count(rules)}" if spec.key == "rules" and rules else ""
            text = control_text(f"{spec.title}{count}")
            if place < self.tabs.count():
                self.tabs.setTabText(place, text)
            else:
                self.tabs.addTab(text)
            self.tabs.setTabToolTip(place, "Rules that said something" if count else "")
        self._specs = specs
        place = next((place for place, spec in enumerate(specs) if spec.key == self._wanted), 0)
        self.tabs.setCurrentIndex(place)
        self.tabs.blockSignals(False)

    def _tab_chosen(self, place: int) -> None:
        if 0 <= place < len(self._specs):
            self._wanted = self._specs[place].key
            self._fill()
            self.tab_changed.emit(self._wanted)

    def _take_keyboard(self, place: int) -> None:
        """The keys go to what the tab shows: its rows, or the column that scrolls."""
        page = self._stack.currentWidget()
        if place < 0 or page is None:
            return
        rows = (each for each in page.findChildren(QAbstractItemView) if each.isVisible())
        target = page if isinstance(page, LaunchTab) else next(rows, page)
        target.setFocus(Qt.FocusReason.MouseFocusReason)

    def want_tab(self, key: str) -> None:
        """Shows a tab as soon as a launch has it."""
        if key in self._pages:
            self._wanted = key

    def show_tab(self, key: str) -> None:
        """Shows a tab, if this launch has it."""
        if key in self.keys:
            self.tabs.setCurrentIndex(self.keys.index(key))

    def show_neighbour(self, step: int) -> None:
        """Shows the next tab, or with -1 the one before; round the end."""
        if self.tabs.count():
            self.tabs.setCurrentIndex((self.tabs.currentIndex() + step) % self.tabs.count())

    def show_section(self, identifier: str) -> bool:
        """Shows a section where it stands, open. Returns whether this launch has it."""
        key = tab_of(identifier)
        if key not in self.keys:
            return False
        self.show_tab(key)
        page = self._pages[key]
        sections = page.sections if isinstance(page, SourceTab) else page
        return isinstance(sections, LaunchTab) and sections.show_section(identifier)

    def show_instruction(self, address: str) -> None:
        """Shows the instruction at an address of the device, in hex digits, where the launch has a source."""
        if SOURCE in self.keys:
            self.show_tab(SOURCE)
            self.source.show_instruction(address)

    def focus_search(self) -> None:
        """Shows all metrics, with the cursor in their filter."""
        self.show_tab(METRICS)
        self.metrics.focus_filter()

    def _folded(self, identifier: str, is_open: bool) -> None:
        self._opened[identifier] = is_open

    def _fill(self) -> None:
        """Makes the tab in sight show the launch."""
        key, answer = self.shown, self._answer
        if answer is None or self._tools is None or not key:
            return
        page = self._pages[key]
        if key not in self._current:
            self._current.add(key)
            if isinstance(page, LaunchTab | SourceTab):
                page.show_launch(answer, self._tools, self._opened)
            else:
                self.metrics.show_table(answer.metrics)
        self._stack.setCurrentWidget(page)


class DoubtStrip(QWidget):
    """What the kernel is held against, and what speaks against comparing the two."""

    def __init__(self, theme: ThemeController) -> None:
        super().__init__()
        self._theme = theme
        self._level = "info"
        self.setFixedHeight(26)
        set_kind(self, kind="page-bar")
        self.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)
        self._icon = QLabel()
        self._icon.setFixedSize(QSize(14, 14))
        self._text = ElidedLabel()
        set_kind(self._text, kind="caption")
        row = QHBoxLayout(self)
        row.setContentsMargins(12, 0, 12, 0)
        row.setSpacing(6)
        row.addWidget(self._icon)
        row.addWidget(self._text)
        row.addStretch(1)
        self.hide()
        theme.changed.connect(self._draw)

    @property
    def text(self) -> str:
        """What it says."""
        return self._text.full_text

    def show_doubts(self, title: str, doubts: Sequence[str]) -> None:
        """Says what the baseline is and what differs; without a baseline it hides."""
        self._level = "warn" if doubts else "info"
        against = f"Against {title}"
        self._text.set_full_text(visible_text(". ".join((against, *(doubt.rstrip(".") for doubt in doubts)))))
        self.setVisible(bool(title))
        self._draw(self._theme.theme)

    def _draw(self, theme: Theme) -> None:
        name = "warning" if self._level == "warn" else "git-diff"
        token = "warn" if self._level == "warn" else "text2"
        self._icon.setPixmap(theme.pixmap(name, token, 14, self.devicePixelRatioF()))
