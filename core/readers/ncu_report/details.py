"""What is decoded only when it is asked for: values by instance, binaries, imported sources."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from core.readers.ncu_report.container import Blocks
from core.readers.ncu_report.schema import decode, text_of
from core.tables.columns import MISSING
from core.tables.ncu import Instances

if TYPE_CHECKING:
    from core.tables.ncu import Report, SourceFacts

_TIME_SERIES: Final = 1


@dataclass(frozen=True, slots=True, eq=False)
class SourceContent:
    """A binary and the texts of its source files.

    Attributes:
        binary: The cubin, an ELF file; empty if the report does not hold it.
        files: (path, text) of imported sources.
    """

    binary: bytes
    files: tuple[tuple[str, str], ...]


def read_instances(report: Report, metric_row: int) -> Instances:
    """Decodes the values by instance of one metric; empty if it has none.

    Args:
        report: It holds the unpacked file.
        metric_row: Row of ``report.metrics``.
    """
    launch_row = int(report.metrics.launch_row[metric_row])
    begin = int(report.launches.raw_begin[launch_row])
    found = _metric(report, begin, metric_row) if begin != MISSING else None
    if found is None:
        none = np.empty(0, np.uint64)
        return Instances(none, (), np.empty(0, np.float64), none.copy(), is_time_series=False)
    decoded = [decode("Instance", each) for each in found.instances]
    pairs = [(each.key, each.value) for each in decoded if each is not None]
    texts = tuple(text_of(key.text) for key, _ in pairs)
    return Instances(
        key=np.array([_integer(key) for key, _ in pairs], np.uint64),
        key_texts=texts if any(texts) else (),
        number=np.array([_number(value) for _, value in pairs], np.float64),
        integer=np.array([_integer(value) for _, value in pairs], np.uint64),
        is_time_series=found.kind == _TIME_SERIES,
    )


def _metric(report: Report, begin: int, metric_row: int) -> Any | None:
    """Finds the stored metric that a row was made of."""
    end = begin + int(report.launches.raw_bytes[report.metrics.launch_row[metric_row]])
    result = decode("Result", memoryview(report.raw)[begin:end])
    if result is None or not report.metrics.instances[metric_row]:
        return None
    name = report.metric_names.texts[report.metrics.name_id[metric_row]]
    names = [text_of(text) for block in Blocks(report.raw) for text in block.header.texts.texts]
    wanted = {place for place, each in enumerate(names) if each == name}
    return next((each for each in result.metrics if each.name in wanted and len(each.instances)), None)


def _integer(value: Any) -> int:
    return int(value.large or value.small)


def _number(value: Any) -> float:
    field = value.WhichOneof("kind")
    return float("nan") if field in (None, "text") else float(getattr(value, field))


def read_source(report: Report, source: SourceFacts) -> SourceContent:
    """Decodes the binary and the imported files of one of ``report.sources``."""
    end = source.raw_begin + source.raw_bytes
    stored = decode("Source", memoryview(report.raw)[source.raw_begin : end])
    if stored is None:
        return SourceContent(b"", ())
    files = tuple((text_of(each.path), text_of(each.text)) for each in stored.imported.files)
    return SourceContent(stored.binary, files)
