"""Runs one command and turns what went wrong into an exit code."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from core.cli import COMMANDS, OPTIONS
from core.cli import arguments as words
from core.cli.output import prepare_streams, silence_stdout, write_line
from core.errors import DashboardError
from core.files import MAIN, printable

if TYPE_CHECKING:
    import argparse

REFUSED = 2


def run_command(arguments: list[str]) -> int:
    """Run a command line.

    Returns:
        The exit code, see ``core.cli.arguments.EXIT_CODES``.
    """
    prepare_streams()
    try:
        return _run(arguments)
    except DashboardError as error:
        print(f"error: {_one_line(error.message)}\nhint: {_one_line(error.hint)}", file=sys.stderr)
        return REFUSED
    except BrokenPipeError:
        silence_stdout()
        return 0


def _run(arguments: list[str]) -> int:
    program = program_name()
    if arguments[0] not in (*COMMANDS, *OPTIONS):
        raise DashboardError(
            f"There is no command and no file {arguments[0]}.", f"Commands are: {', '.join(COMMANDS)}."
        )
    if arguments[0] == "launch":
        launch_words = words.split_launch(program, arguments[1:])
        from core.cli.launch import run_launch  # noqa: PLC0415 - each command loads what it needs

        return run_launch(launch_words)
    options = words.make_parser(program).parse_args(arguments)
    if options.version:
        from core.launch.versions import ridgeline_version  # noqa: PLC0415

        write_line(f"ridgeline {ridgeline_version()}")
        return 0
    return _of_command(options)


def _of_command(options: argparse.Namespace) -> int:
    """Run what was parsed; each command loads what it needs."""
    match options.command:
        case "devices":
            from core.cli.devices import run_devices  # noqa: PLC0415

            code = run_devices(options.json)
        case "summary":
            from core.cli.file_summary import run_summary  # noqa: PLC0415

            code = run_summary(options)
        case "edge":
            from core.cli.edge import run_edge_command  # noqa: PLC0415

            code = run_edge_command(options)
        case "demo":
            from core.cli.demo import run_demo  # noqa: PLC0415

            code = run_demo(options.out, options.steps)
        case _:
            from core.cli import runs  # noqa: PLC0415

            code = runs.run(options)
    return code


def program_name() -> str:
    """Return what the user has typed: ``ridgeline`` of an installed wheel, else ``main.py``."""
    installed = MAIN.parent.name == "ridgeline" and (MAIN.parent / "__init__.py").exists()
    return "ridgeline" if installed else MAIN.name


def _one_line(text: str) -> str:
    return printable(" ".join(text.split()))
