"""Another program to drag files from: a small window whose press starts a drag of the given paths."""

from __future__ import annotations

import sys

from PySide6.QtCore import QMimeData, Qt, QUrl
from PySide6.QtGui import QDrag, QMouseEvent
from PySide6.QtWidgets import QApplication, QWidget

PLACE = (1400, 100, 200, 200)


class Source(QWidget):
    """Drags what the command line names."""

    def mousePressEvent(self, _event: QMouseEvent) -> None:  # noqa: N802
        data = QMimeData()
        data.setUrls([QUrl.fromLocalFile(path) for path in sys.argv[1:]])
        drag = QDrag(self)
        drag.setMimeData(data)
        drag.exec(Qt.DropAction.CopyAction)


if __name__ == "__main__":
    app = QApplication(sys.argv[:1])
    source = Source()
    source.setWindowTitle("drag source")
    source.setGeometry(*PLACE)
    source.show()
    sys.exit(app.exec())
