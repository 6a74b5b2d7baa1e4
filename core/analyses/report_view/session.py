"""What a report says of itself, of its machine and program, and of where a launch came from.

Host names, addresses, paths, arguments, environment and notes are private: a
report that is given away should not hold them.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final

import numpy as np

from core.analyses.report_view.facts import FrameView, RangeView, SessionFact
from core.analyses.report_view.words import value_text
from core.tables.columns import MISSING, NO_ROW
from core.tables.ncu_units import unit_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from core.tables.ncu import HostSystem, Report, ReportDevice, ReportProcess, SessionFacts

_NS_PER_S: Final = 1_000_000_000
_LATEST_NS: Final = 253_402_300_799 * _NS_PER_S
_ATTRIBUTE: Final = "device__attribute_"
_CLOCK_CONTROL: Final = re.compile(r"--clock-control[ =]+([\w-]+)")
_DEFAULT_CLOCK_CONTROL: Final = "base"
_CLOCKS: Final = {"base": "locked to base", "boost": "locked to boost", "none": "not locked"}
_MOST_PROCESSES: Final = 1_000


def session_view(report: Report) -> tuple[SessionFact, ...]:
    """Returns the facts of a session, group by group; what the file does not say is left out."""
    session = report.session
    return tuple(
        fact
        for facts in (
            _report_facts(report),
            _program_facts(session),
            _machine_facts("Target machine", session.target),
            _machine_facts("Host machine", session.host),
            (fact for process in report.processes[:_MOST_PROCESSES] for fact in _process_facts(process)),
            (fact for device in report.devices for fact in _device_facts(device)),
        )
        for fact in facts
        if fact.value
    )


def _report_facts(report: Report) -> Iterator[SessionFact]:
    session = report.session
    group = "Report"
    yield SessionFact(group=group, label="File", value=report.name)
    yield SessionFact(group=group, label="Nsight Compute", value=session.tool_version or "unknown")
    for provider, version in session.versions:
        if version != session.tool_version:
            yield SessionFact(group=group, label=provider, value=version)
    yield SessionFact(group=group, label="Created", value=_moment(session.created_ns))
    control = clock_control(session)
    yield SessionFact(group=group, label="Clocks", value=_CLOCKS.get(control or "", control or ""))
    yield SessionFact(group=group, label="Kernels", value=str(len(report.launches)))
    yield SessionFact(group=group, label="Notes", value=session.comments, is_private=True)


def clock_control(session: SessionFacts) -> str | None:
    """Returns how clocks were controlled while profiling, None for a report that holds no command line.

    Source: Nsight Compute CLI documentation, "--clock-control" (2025.1): base unless told otherwise.
    """
    if not session.command_line:
        return None
    found = _CLOCK_CONTROL.search(session.command_line)
    return found[1] if found is not None else _DEFAULT_CLOCK_CONTROL


def _program_facts(session: SessionFacts) -> Iterator[SessionFact]:
    facts = (
        ("Executable", session.executable),
        ("Working folder", session.working_folder),
        ("Arguments", session.arguments),
        ("Command line", session.command_line),
        ("Environment", session.environment),
    )
    for label, value in facts:
        yield SessionFact(group="Program", label=label, value=value, is_private=True)
    process_id = "" if session.process_id is None else str(session.process_id)
    yield SessionFact(group="Program", label="Process ID", value=process_id)


def _machine_facts(group: str, system: HostSystem | None) -> Iterator[SessionFact]:
    if system is None:
        return
    yield SessionFact(group=group, label="Name", value=system.computer_name, is_private=True)
    yield SessionFact(group=group, label="Addresses", value=", ".join(system.addresses), is_private=True)
    yield SessionFact(group=group, label="Operating system", value=system.os_name)
    yield SessionFact(group=group, label="Build", value=system.os_build)
    yield SessionFact(group=group, label="Processor", value=_one_line(system.processor))
    yield SessionFact(group=group, label="Architecture", value=system.architecture)


def _one_line(text: str) -> str:
    """Returns the first lines of a text that may hold a whole /proc/cpuinfo."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return ", ".join(dict.fromkeys(lines[:4]))


def _process_facts(process: ReportProcess) -> Iterator[SessionFact]:
    group = "Process" if process.id is None else f"Process {process.id}"
    yield SessionFact(group=group, label="Name", value=process.name or "", is_private=True)
    yield SessionFact(group=group, label="Machine", value=process.host or "", is_private=True)


def _device_facts(device: ReportDevice) -> Iterator[SessionFact]:
    group = "Device" if device.id is None else f"Device {device.id}"
    yield SessionFact(group=group, label="Name", value=device.name or "")
    if device.compute_capability is not None:
        major, minor = divmod(device.compute_capability, 10)
        yield SessionFact(group=group, label="Compute capability", value=f"{major}.{minor}")
    if device.sm_count is not None:
        yield SessionFact(group=group, label="Multiprocessors", value=str(device.sm_count))
    for name, value in device.attributes:
        label = name.removeprefix(_ATTRIBUTE).replace("_", " ").capitalize()
        text = "" if value is None else value_text(value, unit_of(name))
        yield SessionFact(group=group, label=label, value=text)


def _moment(since_epoch_ns: int | None) -> str:
    """Returns a moment in UTC, "" for none or one that no calendar has."""
    if since_epoch_ns is None or not 0 < since_epoch_ns < _LATEST_NS:
        return ""
    return f"{datetime.fromtimestamp(since_epoch_ns // _NS_PER_S, UTC):%Y-%m-%d %H:%M:%S} UTC"


def range_views(report: Report, launch_row: int) -> tuple[RangeView, ...]:
    """Returns the NVTX ranges that were open at a launch, by thread and domain, the outermost first."""
    table = report.nvtx
    rows = np.flatnonzero(table.launch_row == launch_row).tolist()
    return tuple(
        RangeView(
            name=report.strings[int(table.name_id[row])],
            domain=_text(report, table.domain_id[row]),
            thread_id=_known(table.thread_id[row]),
            depth=None if table.depth[row] == NO_ROW else int(table.depth[row]),
        )
        for row in rows
    )


def frame_views(report: Report, launch_row: int) -> tuple[FrameView, ...]:
    """Returns the host's stack at a launch, innermost first."""
    table = report.call_frames
    rows = np.flatnonzero(table.launch_row == launch_row).tolist()
    return tuple(
        FrameView(
            symbol=_text(report, table.symbol_id[row]),
            module=_text(report, table.module_id[row]),
            file=_text(report, table.file_id[row]),
            line=_known(table.line[row]),
            address=int(table.address[row]) or None,
        )
        for row in rows
    )


def _text(report: Report, text_id: int) -> str:
    return "" if text_id == NO_ROW else report.strings[int(text_id)]


def _known(value: int) -> int | None:
    return None if value == MISSING else int(value)
