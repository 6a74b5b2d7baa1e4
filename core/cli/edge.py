"""``edge``: the same model on a Vulkan or Metal device, judged against fp32 on the CPU."""

from __future__ import annotations

import signal
from typing import TYPE_CHECKING, Any, Final, NoReturn

import msgspec

from core.cli.output import columns, write_json, write_line
from core.cli.table_output import plain_cell
from core.edge.dispatch_table import dispatch_table
from core.edge.history import keep_result
from core.edge.model_words import model_spec
from core.edge.session import EdgeRequest, backend_named, run_edge
from core.edge.targets import find_targets
from core.errors import DashboardError
from core.export import shown_cells
from core.files import printable
from core.units import NOT_MEASURED, format_count, format_duration_ns, format_number, format_pct

if TYPE_CHECKING:
    import argparse

    from core.edge.backend import EdgeTarget
    from core.edge.result import EdgeResult
    from core.edge.targets import EdgeTargets

RAN_NOT_WELL: Final = 3
TERMINATED: Final = 143
_NS_PER_S: Final = 1e9
_STATE_WORDS: Final = {
    "agrees": "agrees with the reference",
    "disagrees": "disagrees with the reference; no speed is shown",
    "ran_elsewhere": "did not run on this device; no speed is shown",
    "impossible": "its times cannot be; no speed is shown",
    "failed": "failed",
    "cancelled": "cancelled",
}


def run_edge_command(options: argparse.Namespace) -> int:
    """Run a model on a device and print what came of it.

    Returns:
        0 if the answer agrees with the reference, else 3.

    Raises:
        DashboardError: It was refused before it began.
    """
    model = model_spec(
        preset=options.preset,
        model=options.model,
        tokens=options.tokens,
        checkpoint=options.checkpoint,
        decode=options.decode,
    )
    if options.export is not None:
        from core.cli.edge_export import export_for_phone  # noqa: PLC0415  (a command of its own, nearly)

        return export_for_phone(options, model)
    targets = find_targets()
    request = EdgeRequest(
        model=model,
        backend=options.backend,
        target=_target(targets, options.device, options.backend),
        precision=options.precision,
        interpreter=options.python,
    )
    # The worker leads a session of its own: it is ended on the way out, also of a SIGTERM.
    signal.signal(signal.SIGTERM, _leave)
    result = run_edge(request, progress=None if options.json else _tell)
    if result.state == "refused":
        why = result.problems[-1]
        raise DashboardError(why.message, why.hint or "Choose another device, backend or model.")
    result = keep_result(result)
    if options.json:
        write_json(as_object(result, targets))
    else:
        _print(result)
    return 0 if result.state == "agrees" else RAN_NOT_WELL


def _leave(number: int, frame: object) -> NoReturn:
    raise SystemExit(TERMINATED)


def _target(targets: EdgeTargets, wanted: str | None, backend_name: str) -> EdgeTarget:
    """Return the device that is named, else the best one that the backend reaches."""
    backend = backend_named(backend_name)
    if wanted is not None or backend.takes(targets.default):
        return targets.choose(wanted)
    return next((each for each in targets.targets if backend.takes(each)), targets.default)


def as_object(result: EdgeResult, targets: EdgeTargets) -> dict[str, Any]:
    """Build what ``--json`` prints: the result, and the problems of the probes beside its own."""
    found: dict[str, Any] = msgspec.to_builtins(result)
    probed = [msgspec.to_builtins(problem) for problem in targets.problems]
    return found | {"problems": [*found["problems"], *probed]}


def _tell(stage: str, words: str, share: float | None) -> None:
    done = "" if share is None else f" ({format_pct(100 * share, 0)})"
    write_line(f"{stage}: {printable(words)}{done}")


def _print(result: EdgeResult) -> None:
    software = " (software: it computes on the CPU)" if result.software else ""
    write_line()
    write_line(f"{result.backend} {result.backend_version or ''} on {printable(result.device)}{software}")
    write_line(f"{printable(result.model)}, {result.precision}: {_STATE_WORDS[result.state]}")
    write_line(f"reference: {printable(result.reference) or NOT_MEASURED}")
    for line in columns(["what", "value"], [list(row) for row in _rows(result)], "lr"):
        write_line(line)
    if result.providers:
        for each in result.providers:
            write_line(f"{each.provider}: {format_count(each.nodes)} nodes")
    _print_dispatches(result)
    for problem in result.problems:
        write_line(printable(f"{problem.message} {problem.hint}".strip()))


def _rows(result: EdgeResult) -> list[tuple[str, str]]:
    return [
        ("max abs error", format_number(result.max_abs_error, 3)),
        ("relative error", format_number(result.rel_error, 3)),
        ("argmax equal", format_number(result.argmax_agreement, 4)),
        ("NaN or infinite", format_count(result.nan_count)),
        ("export", _seconds(result.export_s)),
        ("compile", _seconds(result.compile_s)),
        ("load", _seconds(result.load_s)),
        ("first call", _seconds(result.first_call_s)),
        ("warm call, median", _seconds(result.warm_call_s)),
        ("reference, warm call", _seconds(result.reference_call_s)),
        ("prefill tokens/s", format_number(result.prefill_tokens_per_s, 4)),
        ("decode tokens/s", format_number(result.decode_tokens_per_s, 4)),
    ]


def _print_dispatches(result: EdgeResult) -> None:
    if not result.dispatches:
        return
    table = dispatch_table(result)
    shown = [column.key for column in table.columns if column.shown]
    header, rows, sides = shown_cells(table, None, shown)
    write_line()
    for line in columns(header, [[plain_cell(cell) for cell in row] for row in rows], sides):
        write_line(line)
    for note in table.notes:
        write_line(f"note: {printable(note)}")


def _seconds(value_s: float | None) -> str:
    return format_duration_ns(None if value_s is None else value_s * _NS_PER_S)
