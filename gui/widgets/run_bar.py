"""The bar over a run: its name, what is known of it, how long it runs, and its folder."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from PySide6.QtCore import QSize, Qt, Signal
from PySide6.QtWidgets import QHBoxLayout, QPushButton, QWidget

from core.runs.job import flag_values
from core.runs.manifest import ENDED
from core.units import format_elapsed
from gui.plain_text import plain_label
from gui.theme import set_kind
from gui.widgets.elided_label import ElidedLabel

if TYPE_CHECKING:
    from core.runs.manifest import Manifest
    from core.runs.snapshot import RunSnapshot
    from gui.theme import Theme, ThemeController

BAR_PX = 36


class RunBar(QWidget):
    """One line.

    Signals:
        folder_asked: The run folder should be opened.
        new_job_asked: The form should be shown.
        again_asked: The same job should be launched again.
    """

    folder_asked = Signal()
    new_job_asked = Signal()
    again_asked = Signal()

    def __init__(self, theme: ThemeController) -> None:
        super().__init__()
        set_kind(self, kind="page-bar")
        self.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)
        self.setFixedHeight(BAR_PX)
        self._title = ElidedLabel()
        set_kind(self._title, kind="title")
        self._facts = ElidedLabel()
        set_kind(self._facts, kind="secondary")
        self._elapsed = plain_label()
        set_kind(self._elapsed, kind="secondary")
        self.again = _flat("Launch again")
        self.again.clicked.connect(self.again_asked)
        self.again.hide()
        self.new_job = _flat("New job")
        self.new_job.clicked.connect(self.new_job_asked)
        self.folder = _flat("Open run folder")
        self.folder.clicked.connect(self.folder_asked)
        row = QHBoxLayout(self)
        row.setContentsMargins(12, 0, 12, 0)
        row.setSpacing(8)
        row.addWidget(self._title)
        row.addWidget(self._facts)
        row.addStretch(1)
        row.addWidget(self._elapsed)
        row.addWidget(self.again)
        row.addWidget(self.new_job)
        row.addWidget(self.folder)
        theme.changed.connect(self._draw)
        self._draw(theme.theme)

    @property
    def facts(self) -> str:
        """What is said of the run."""
        return self._facts.full_text

    @property
    def elapsed(self) -> str:
        """How long it ran so far."""
        return self._elapsed.text()

    def show_snapshot(self, snapshot: RunSnapshot) -> None:
        """Shows what the run is; how long it takes goes on without a new snapshot."""
        self._title.set_full_text(snapshot.manifest.job.title)
        self._facts.set_full_text("   ".join(facts_of(snapshot.manifest)))
        self.again.setVisible(snapshot.status in ENDED)
        self.show_elapsed(snapshot)

    def show_elapsed(self, snapshot: RunSnapshot) -> None:
        """Shows how long the run takes, or took."""
        text = elapsed_words(snapshot, time.time_ns())
        if text != self._elapsed.text():
            self._elapsed.setText(text)

    def _draw(self, theme: Theme) -> None:
        self.folder.setIcon(theme.icon("folder"))
        self.again.setIcon(theme.icon("arrows-clockwise"))
        self.new_job.setIcon(theme.icon("terminal-window"))


def facts_of(manifest: Manifest) -> list[str]:
    """Ranks and device, the flags that matter most, versions: only what is known."""
    job = manifest.job
    ranks = "1 rank" if job.ranks == 1 else f"{job.ranks} ranks"
    if job.device == "cpu":
        facts = [f"{ranks} on CPU"]
    elif job.gpus is not None and all(name.isdecimal() for name in job.gpus):
        facts = [f"{ranks} on GPU {_indices(job.gpus[: job.ranks])}"]
    else:
        facts = [f"{ranks} on GPU"]
    flags = flag_values(job.arguments)
    if "batch" in flags and "sequence" in flags:
        facts.append(f"batch {flags['batch']} × {_count(flags['sequence'])} tokens")
    if "dtype" in flags:
        facts.append(flags["dtype"])
    versions = [
        f"{label} {manifest.versions[name].partition('+')[0]}"
        for name, label in (("torch", "torch"), ("python", "Python"))
        if name in manifest.versions
    ]
    if versions:
        facts.append(", ".join(versions))
    return facts


def _indices(names: tuple[str, ...]) -> str:
    numbers = [int(name) for name in names]
    if len(numbers) > 2 and numbers == list(range(numbers[0], numbers[0] + len(numbers))):
        return f"{numbers[0]}\N{EN DASH}{numbers[-1]}"
    return ", ".join(map(str, numbers))


def _count(text: str) -> str:
    return f"{int(text):,}" if text.isdecimal() else text


def elapsed_words(snapshot: RunSnapshot, now_ns: int) -> str:
    """Says "02:14 elapsed" while it runs and "took 02:14" afterwards."""
    manifest = snapshot.manifest
    started_ns = manifest.started_ns or manifest.created_ns
    if manifest.ended_ns is not None:
        return f"took {format_elapsed((manifest.ended_ns - started_ns) / 1e9)}"
    if snapshot.status in ENDED:
        return "" if manifest.status in ENDED else "no longer watched over"
    return f"{format_elapsed((now_ns - started_ns) / 1e9)} elapsed"


def _flat(text: str) -> QPushButton:
    button = QPushButton(text)
    set_kind(button, kind="flat", size="small")
    button.setIconSize(QSize(16, 16))
    return button
