"""Labels of a timeline of samples: whole where they can be, else without their middle."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtGui import QFontMetrics

from gui.widgets.nsight_timeline import ROW_PX, label_lines

if TYPE_CHECKING:
    from gui.theme import ThemeController


def test_a_long_label_of_a_timeline_takes_two_lines_and_loses_its_middle_last(theme: ThemeController) -> None:
    metrics = QFontMetrics(theme.theme.font(theme.theme.px_small))
    label = "Overview: Executed Ipc Active"
    whole = metrics.horizontalAdvance(label)
    assert label_lines(label, metrics, whole) == (label,)
    two = label_lines(label, metrics, whole - 1)
    assert " ".join(two) == label
    assert len(two) == 2
    assert 2 * metrics.lineSpacing() <= ROW_PX
    long = "sm__inst_executed_pipe_tensor_op_hmma.sum.per_cycle_active"
    (cut,) = label_lines(long, metrics, metrics.horizontalAdvance(long) // 2)
    assert cut.startswith("sm__")
    assert cut.endswith("active")
    assert "\N{HORIZONTAL ELLIPSIS}" in cut
