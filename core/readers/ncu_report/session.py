"""What a report says of its session: versions, machines, devices, the profiled program."""

from __future__ import annotations

from typing import Any, Final

from core.readers.ncu_report.columns import as_int64
from core.readers.ncu_report.schema import text_of
from core.tables.columns import MISSING, NO_ROW
from core.tables.ncu import HostSystem, MetricValue, ReportDevice, SessionFacts

TOOL: Final = "Nsight Compute Target"
_ATTRIBUTE: Final = "device__attribute_"
_NS_PER_S: Final = 10**9


def session_facts(session: Any) -> SessionFacts:
    """Returns the facts of a decoded ``Session``, merged from all blocks."""
    versions = tuple((text_of(each.provider), text_of(each.version)) for each in session.versions)
    return SessionFacts(
        tool_version=dict(versions).get(TOOL),
        versions=versions,
        created_ns=session.created_s * _NS_PER_S if session.HasField("created_s") else None,
        process_id=session.process_id if session.HasField("process_id") else None,
        host=_system(session.host) if session.HasField("host") else None,
        target=_system(session.target) if session.HasField("target") else None,
        executable=text_of(session.executable.path),
        working_folder=text_of(session.executable.working_folder),
        arguments=_lines(session.executable.arguments),
        environment=_lines(session.executable.environment),
        command_line=text_of(session.command_line),
        comments=text_of(session.comments),
    )


def _lines(parts: Any) -> str:
    return "\n".join(text_of(part) for part in parts)


def _system(system: Any) -> HostSystem:
    addresses = [text_of(part) for each in system.addresses for part in (each.first, each.second) if part]
    return HostSystem(
        os_name=text_of(system.os_name),
        os_build=text_of(system.os_build),
        processor=text_of(system.processor),
        architecture=text_of(system.architecture),
        computer_name=text_of(system.computer_name),
        addresses=tuple(addresses),
    )


def created_ns(message: Any) -> int:
    """Returns when something was created, in ns since the epoch, MISSING if it does not say."""
    if not message.HasField("created_s") or message.created_s > as_int64(2**63 - 1) // _NS_PER_S:
        return MISSING
    return int(message.created_s) * _NS_PER_S


class Devices:
    """The devices of a report: those that the session lists, and those that only launches name."""

    def __init__(self, session: Any) -> None:
        self._devices = [_listed(each) for each in session.devices]

    def row_of(self, attributes: dict[str, MetricValue]) -> int:
        """Returns the row of the device that a launch ran on; NO_ROW if nothing tells.

        Args:
            attributes: The launch's metrics that begin with ``device__attribute_`` or ``launch__device``.
        """
        index = attributes.get("launch__device_id", attributes.get(_ATTRIBUTE + "device_index"))
        name = attributes.get(_ATTRIBUTE + "display_name")
        if index is None and name is None:
            return 0 if len(self._devices) == 1 else NO_ROW
        for row, device in enumerate(self._devices):
            known = dict(device.attributes)
            same_index = index is None or index in (device.id, known.get(_ATTRIBUTE + "device_index"))
            if same_index and (name is None or name == device.name):
                return row
        self._devices.append(_device(_whole(index), name, attributes))
        return len(self._devices) - 1

    def table(self) -> tuple[ReportDevice, ...]:
        """Returns the devices."""
        return tuple(self._devices)


def _listed(stored: Any) -> ReportDevice:
    attributes = {text_of(each.name): _value(each.value) for each in stored.attributes}
    name = text_of(stored.name) or attributes.get(_ATTRIBUTE + "display_name")
    return _device(stored.id if stored.HasField("id") else None, name, attributes)


def _device(number: int | None, name: MetricValue, attributes: dict[str, MetricValue]) -> ReportDevice:
    major = _whole(attributes.get(_ATTRIBUTE + "compute_capability_major"))
    minor = _whole(attributes.get(_ATTRIBUTE + "compute_capability_minor"))
    return ReportDevice(
        id=number,
        name=name if isinstance(name, str) else None,
        compute_capability=10 * major + (minor or 0) if major is not None else None,
        sm_count=_whole(attributes.get(_ATTRIBUTE + "multiprocessor_count")),
        attributes=tuple((key, each) for key, each in attributes.items() if key.startswith(_ATTRIBUTE)),
    )


def _whole(value: MetricValue) -> int | None:
    return int(value) if isinstance(value, int | float) else None


def _value(value: Any) -> MetricValue:
    field = value.WhichOneof("kind")
    if field is None:
        return None
    stored: int | float | bytes = getattr(value, field)
    return text_of(stored) if isinstance(stored, bytes) else stored
