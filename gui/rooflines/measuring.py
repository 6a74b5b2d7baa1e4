"""Measuring the ceilings of a device of this machine: what can be measured, and the one that runs."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Final

from PySide6.QtCore import QObject, Signal

from gui.plain_text import visible_text

if TYPE_CHECKING:
    from core.errors import DashboardError
    from core.roofline.measurement import Measurement
    from gui.machine import Machine
    from gui.tasks import Progress, Tasks

TASK: Final = "measure ceilings"


class CeilingMeasuring(QObject):
    """Measures one device at a time, in a child of the interpreter of jobs.

    Signals:
        measured: The ``Measurement``; it is kept already.
        failed: A ``DashboardError``.
        busy_changed: Whether a measurement runs.
    """

    measured = Signal(object)
    failed = Signal(object)
    busy_changed = Signal(bool)

    def __init__(self, tasks: Tasks, machine: Machine, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._tasks = tasks
        self._machine = machine

    def measurable(self) -> list[tuple[str, str]]:
        """Devices that can be measured: as PyTorch calls them, and in words."""
        devices = self._machine.devices
        gpus = [gpu for gpu in (devices.gpus if devices is not None else ()) if gpu.computes]
        found = [
            (f"cuda:{place}", f"GPU {place}: {visible_text(gpu.name)}") for place, gpu in enumerate(gpus)
        ]
        if sys.platform == "darwin":
            found.append(("mps", "The GPU of this Mac"))
        return [*found, ("cpu", "The CPU of this machine")]

    def measure(self, device: str) -> None:
        """Measures a device: "cuda:0", "mps" or "cpu"."""
        interpreter = self._machine.interpreter

        def work(progress: Progress) -> Measurement:
            from core.launch.ceiling_measurement import measure_ceilings  # noqa: PLC0415

            def moved(done: float, whole: float | None, words: str) -> None:
                # The child is ended by being asked, not by an error in what listens to it.
                if not progress.cancelled:
                    progress.report(done, whole, words)

            return measure_ceilings(interpreter, device, progress=moved, cancelled=lambda: progress.cancelled)

        self.busy_changed.emit(True)
        self._tasks.start(
            title="Measuring ceilings",
            work=work,
            done=self._done,
            failed=self._failed,
            key=TASK,
            cancelled=self._end,
            crashed=self._end,
        )

    def _end(self) -> None:
        self.busy_changed.emit(False)

    def _done(self, measurement: Measurement) -> None:
        self._end()
        self.measured.emit(measurement)

    def _failed(self, error: DashboardError) -> None:
        self._end()
        self.failed.emit(error)
