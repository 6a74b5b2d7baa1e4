"""``edge --export FILE``: the model as a file to take along to a phone; nothing is run here."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from core.cli.output import columns, write_json, write_line
from core.edge.phone_pte import export_pte
from core.edge.phone_vmfb import ANDROID_TARGETS, export_vmfb
from core.edge.prepare import prepare_model
from core.errors import DashboardError
from core.files import printable
from core.units import format_count

if TYPE_CHECKING:
    import argparse

    from core.edge.models import ModelSpec


def export_for_phone(options: argparse.Namespace, model: ModelSpec) -> int:
    """Write the file and say what is in it.

    Raises:
        DashboardError: It is no such file, its folder is not there, or the export was refused.
    """
    path = Path(options.export).absolute()
    suffix = path.suffix.casefold()
    if suffix not in (".vmfb", ".pte"):
        raise DashboardError(
            f"{printable(path.name)} is no file for phones.", "Name it .vmfb (IREE) or .pte (ExecuTorch)."
        )
    if not path.parent.is_dir():
        raise DashboardError(f"The folder {printable(str(path.parent))} is not there.", "Name another one.")
    prepared = prepare_model(model, options.precision, interpreter=options.python)
    case = prepared.model.cases[0].name
    write = _vmfb if suffix == ".vmfb" else _pte
    found = write(options, prepared.folder, case, path)
    if options.json:
        write_json(found)
        return 0
    operators = found.pop("operators", None)
    for key, value in found.items():
        write_line(f"{key}: {printable(str(value))}")
    if operators is not None:
        rows = [
            [
                printable(each["name"]),
                format_count(each["delegated"]),
                format_count(each["left"]),
                printable(each["reason"]),
            ]
            for each in operators
        ]
        for line in columns(["operator", "on Vulkan", "on the CPU", "why"], rows, "lrrl"):
            write_line(line)
    return 0


def _vmfb(options: argparse.Namespace, folder: Path, case: str, path: Path) -> dict[str, Any]:
    target = options.phone or next(iter(ANDROID_TARGETS))
    written = export_vmfb(folder, case, target, path)
    return {
        "file": str(written.path),
        "weights": None if written.weights is None else str(written.weights),
        "size_bytes": written.size_bytes,
        "target": f"{written.target}: {ANDROID_TARGETS[written.target]}",
        "iree": written.iree,
    }


def _pte(options: argparse.Namespace, folder: Path, case: str, path: Path) -> dict[str, Any]:
    written = export_pte(folder, case, path, interpreter=options.python)
    return {
        "file": str(written.path),
        "size_bytes": written.size_bytes,
        "executorch": written.executorch,
        "seconds": written.seconds,
        "parts_on_vulkan": written.parts,
        "not_delegated": [each.name for each in written.not_delegated],
        "operators": [
            {"name": each.name, "delegated": each.delegated, "left": each.left, "reason": each.reason}
            for each in written.operators
        ],
    }
