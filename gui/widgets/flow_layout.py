"""A layout that puts widgets in a row and begins another where they do not fit."""

from __future__ import annotations

from PySide6.QtCore import QPoint, QRect, QSize, Qt
from PySide6.QtWidgets import QLayout, QLayoutItem, QWidget


class FlowLayout(QLayout):
    """Left to right, top to bottom; hidden widgets take no room.

    Source: the idea is that of Qt's "Flow Layout Example".
    """

    def __init__(self, parent: QWidget, gap_px: int = 6) -> None:
        super().__init__(parent)
        self._gap_px = gap_px
        self._items: list[QLayoutItem] = []
        self.setContentsMargins(0, 0, 0, 0)

    def addItem(self, item: QLayoutItem) -> None:  # noqa: N802
        """Takes an item."""
        self._items.append(item)

    def count(self) -> int:
        """Number of items."""
        return len(self._items)

    def itemAt(self, index: int) -> QLayoutItem | None:  # noqa: N802
        """The item at a place, None beyond the end."""
        return self._items[index] if 0 <= index < len(self._items) else None

    def takeAt(self, index: int) -> QLayoutItem | None:  # noqa: N802
        """Takes an item out."""
        return self._items.pop(index) if 0 <= index < len(self._items) else None

    def expandingDirections(self) -> Qt.Orientation:  # noqa: N802
        """It grows in no direction by itself."""
        return Qt.Orientation(0)

    def hasHeightForWidth(self) -> bool:  # noqa: N802
        """Narrower means higher."""
        return True

    def heightForWidth(self, width: int) -> int:  # noqa: N802
        """Height of all rows at a width."""
        return self._place(QRect(0, 0, width, 0), move=False)

    def setGeometry(self, rect: QRect) -> None:  # noqa: N802
        """Places the widgets."""
        super().setGeometry(rect)
        self._place(rect, move=True)

    def sizeHint(self) -> QSize:  # noqa: N802
        """All in one row."""
        sizes = [item.sizeHint() for item in self._items if not item.isEmpty()]
        width = sum(size.width() for size in sizes) + self._gap_px * max(0, len(sizes) - 1)
        return QSize(width, max((size.height() for size in sizes), default=0))

    def minimumSize(self) -> QSize:  # noqa: N802
        """The widest item."""
        sizes = [item.minimumSize() for item in self._items if not item.isEmpty()]
        return QSize(
            max((size.width() for size in sizes), default=0),
            max((size.height() for size in sizes), default=0),
        )

    def _place(self, rect: QRect, *, move: bool) -> int:
        y = rect.y()
        for row in self._rows(rect.width()):
            height = max(item.sizeHint().height() for item in row)
            x = rect.x()
            for item in row:
                size = item.sizeHint()
                if move:
                    # In the middle of its row: words line up with buttons.
                    item.setGeometry(QRect(QPoint(x, y + (height - size.height()) // 2), size))
                x += size.width() + self._gap_px
            y += height + self._gap_px
        return max(0, y - self._gap_px - rect.y())

    def _rows(self, width: int) -> list[list[QLayoutItem]]:
        rows: list[list[QLayoutItem]] = []
        x = 0
        for item in self._items:
            if item.isEmpty():
                continue
            needed = item.sizeHint().width()
            if not rows or x + needed > width:
                rows.append([])
                x = 0
            rows[-1].append(item)
            x += needed + self._gap_px
        return rows
