"""What is decoded only when it is asked for: values by instance, binaries, imported sources."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from core.readers.ncu_report.instances import LaunchInstances
from core.readers.ncu_report.schema import decode, text_of

if TYPE_CHECKING:
    from core.tables.ncu import Instances, Report, SourceFacts


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
    return LaunchInstances(report, int(report.metrics.launch_row[metric_row]))(metric_row)


def read_source(report: Report, source: SourceFacts) -> SourceContent:
    """Decodes the binary and the imported files of one of ``report.sources``."""
    end = source.raw_begin + source.raw_bytes
    stored = decode("Source", memoryview(report.raw)[source.raw_begin : end])
    if stored is None:
        return SourceContent(b"", ())
    files = tuple((text_of(each.path), text_of(each.text)) for each in stored.imported.files)
    return SourceContent(stored.binary, files)
