"""GPUs, or their MIG slices, as rows of a table: every figure with its name, n/a never 0."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from PySide6.QtCore import QAbstractTableModel, QModelIndex, QObject, QPersistentModelIndex, Qt

from core.units import GB, NOT_MEASURED, gib

if TYPE_CHECKING:
    from core.runs.snapshot import RankState, RunSnapshot
    from core.telemetry.events import GpuReading

Index = QModelIndex | QPersistentModelIndex

MEMORY_ROLE = int(Qt.ItemDataRole.UserRole) + 1
"""(this run, others, total) in bytes, None where it is not known: for the drawn bar."""


@dataclass(frozen=True, slots=True)
class GpuRow:
    """One row: a reading and what it means for the shown run.

    Attributes:
        ranks: Ranks that compute on it.
        mine_bytes: Memory that the driver counts for them.
        others_bytes: Memory of other processes.
    """

    gpu: GpuReading
    ranks: tuple[int, ...]
    mine_bytes: int | None
    others_bytes: int | None


@dataclass(frozen=True, slots=True)
class GpuColumn:
    """One column: its header with the unit, what it means, and how to get its text."""

    title: str
    tip: str
    text: Callable[[GpuRow], str]
    numeric: bool = True


def _whole(value: float | None) -> str:
    return NOT_MEASURED if value is None else f"{value:,.0f}"


def _of(value: float | None, limit: float | None) -> str:
    if value is None:
        return NOT_MEASURED
    return f"{value:,.0f}" if limit is None else f"{value:,.0f} of {limit:,.0f}"


def gpu_name(gpu: GpuReading) -> str:
    """The GPU or the slice by number and name."""
    name = gpu.name.removeprefix("NVIDIA ")
    if gpu.slice_index is not None:
        return f"GPU {gpu.index} slice {gpu.slice_index}  {name}"
    whole = " (MIG on: figures are of the whole GPU)" if gpu.mig_enabled else ""
    return f"GPU {gpu.index}  {name}{whole}"


def _throttle(row: GpuRow) -> str:
    reasons = row.gpu.throttle_reasons
    if row.gpu.lost:
        return "not answering"
    return NOT_MEASURED if reasons is None else ", ".join(reasons) or "none"


def _links(row: GpuRow) -> str:
    into, out = row.gpu.nvlink_rx_bytes_per_s, row.gpu.nvlink_tx_bytes_per_s
    if into is None and out is None:
        return NOT_MEASURED
    parts = (NOT_MEASURED if value is None else f"{value / GB:.1f}" for value in (into, out))
    return " / ".join(parts)


COLUMNS = (
    GpuColumn("GPU", "NVML's number and name.", lambda row: gpu_name(row.gpu), numeric=False),
    GpuColumn("Ranks", "Ranks of this run on it.", lambda row: ", ".join(map(str, row.ranks)) or "none"),
    GpuColumn(
        "Utilization, %",
        "Share of the last interval in which a kernel ran. Not how well it ran.",
        lambda row: _whole(row.gpu.utilization_pct),
    ),
    GpuColumn(
        "Memory used, GiB",
        "Driver's figure for the whole device, all processes, without what the driver holds for itself.",
        lambda row: f"{gib(row.gpu.used_bytes, 1)} of {gib(row.gpu.total_bytes, 1)}",
    ),
    GpuColumn(
        "This run, GiB",
        "Driver's figure for the processes of this run's ranks.",
        lambda row: gib(row.mine_bytes, 1),
    ),
    GpuColumn(
        "Others, GiB",
        "Used by processes that are not of this run.",
        lambda row: gib(row.others_bytes, 1),
    ),
    GpuColumn(
        "Driver, GiB",
        "Held by the driver for itself; not part of what is used.",
        lambda row: gib(row.gpu.driver_reserved_bytes, 2),
    ),
    GpuColumn("Power, W", "Now, of the limit.", lambda row: _of(row.gpu.power_w, row.gpu.power_limit_w)),
    GpuColumn("Temperature, °C", "Of the GPU.", lambda row: _whole(row.gpu.temperature_c)),
    GpuColumn(
        "Fan, %", "Of its highest speed; n/a where there is none.", lambda row: _whole(row.gpu.fan_pct)
    ),
    GpuColumn(
        "SM clock, MHz",
        "Now, of the highest.",
        lambda row: _of(row.gpu.sm_clock_mhz, row.gpu.sm_clock_max_mhz),
    ),
    GpuColumn("Memory clock, MHz", "Now.", lambda row: _whole(row.gpu.memory_clock_mhz)),
    GpuColumn("Throttle reasons", "Why the clocks are below the highest.", _throttle, numeric=False),
    GpuColumn("NVLink in / out, GB/s", "Over all links of the GPU, since the reading before.", _links),
)

MEMORY_COLUMN = 3


class GpuModel(QAbstractTableModel):
    """Rows of the newest readings."""

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._rows: tuple[GpuRow, ...] = ()

    @property
    def rows(self) -> tuple[GpuRow, ...]:
        """What is shown."""
        return self._rows

    def show_snapshot(self, snapshot: RunSnapshot) -> None:
        """Takes the newest readings; rows keep their place."""
        rows = tuple(row_of(gpu, snapshot) for gpu in snapshot.gpus)
        if rows == self._rows:
            return
        if len(rows) != len(self._rows):
            self.beginResetModel()
            self._rows = rows
            self.endResetModel()
            return
        self._rows = rows
        self.dataChanged.emit(self.index(0, 0), self.index(len(rows) - 1, len(COLUMNS) - 1))

    def rowCount(self, parent: Index | None = None) -> int:  # noqa: N802
        """Number of GPUs."""
        return 0 if parent is not None and parent.isValid() else len(self._rows)

    def columnCount(self, parent: Index | None = None) -> int:  # noqa: N802
        """Number of columns."""
        return 0 if parent is not None and parent.isValid() else len(COLUMNS)

    def headerData(  # noqa: N802
        self, section: int, orientation: Qt.Orientation, role: int = int(Qt.ItemDataRole.DisplayRole)
    ) -> Any:
        """Titles with units, and what the column means."""
        if orientation != Qt.Orientation.Horizontal or not 0 <= section < len(COLUMNS):
            return None
        column = COLUMNS[section]
        if role == Qt.ItemDataRole.DisplayRole:
            return column.title
        if role == Qt.ItemDataRole.ToolTipRole:
            return column.tip
        if role == Qt.ItemDataRole.TextAlignmentRole:
            return _alignment(column)
        return None

    def data(self, index: Index, role: int = int(Qt.ItemDataRole.DisplayRole)) -> Any:
        """Text, alignment, the reason of an n/a, and the shares of the memory bar."""
        if not index.isValid():
            return None
        row, column = self._rows[index.row()], COLUMNS[index.column()]
        if role == Qt.ItemDataRole.DisplayRole:
            return column.text(row)
        if role == Qt.ItemDataRole.TextAlignmentRole:
            return _alignment(column)
        if role == Qt.ItemDataRole.ToolTipRole:
            return _why_missing(row, column)
        if role == MEMORY_ROLE and index.column() == MEMORY_COLUMN:
            return row
        return None


def _alignment(column: GpuColumn) -> Qt.AlignmentFlag:
    side = Qt.AlignmentFlag.AlignRight if column.numeric else Qt.AlignmentFlag.AlignLeft
    return side | Qt.AlignmentFlag.AlignVCenter


def _why_missing(row: GpuRow, column: GpuColumn) -> str:
    if NOT_MEASURED not in column.text(row):
        return column.tip
    if row.gpu.lost:
        return f"{column.tip}\nThe GPU stopped answering."
    return f"{column.tip}\nn/a: the driver does not give this figure here."


def row_of(gpu: GpuReading, snapshot: RunSnapshot) -> GpuRow:
    """What a reading means for the run: which ranks are on it and whose memory it is."""
    ranks = tuple(state.rank for state in snapshot.ranks if _computes_on(state, gpu))
    mine = _mine_bytes(gpu, snapshot)
    others = None if mine is None or gpu.used_bytes is None else max(0, gpu.used_bytes - mine)
    return GpuRow(gpu=gpu, ranks=ranks, mine_bytes=mine, others_bytes=others)


def _computes_on(state: RankState, gpu: GpuReading) -> bool:
    """A rank is on its slice and on the GPU that this is cut from, not on the other slices."""
    return state.gpu_index == gpu.index if gpu.slice_index is None else state.gpu_uuid == gpu.uuid


def _mine_bytes(gpu: GpuReading, snapshot: RunSnapshot) -> int | None:
    """Memory that the driver counts for the ranks of this run; None if it does not say."""
    if gpu.processes is None:
        return None
    pids = {state.pid for state in snapshot.ranks if state.pid is not None}
    mine = [process.used_bytes for process in gpu.processes if process.pid in pids]
    known = [value for value in mine if value is not None]
    return sum(known) if len(known) == len(mine) else None
