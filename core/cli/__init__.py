"""The command line: the same jobs as the window's, without a window and without Qt.

This module only decides who is asked; it stays light because the window passes
through it too. The parser is in ``core.cli.arguments``, one module a command
beside it.
"""

from __future__ import annotations

import os

COMMANDS = ("summary", "launch", "runs", "attach", "stop", "capture", "devices", "edge", "demo")
"""What a user may type first."""

HIDDEN = ("_supervise", "_sample-gpus", "_probe-gpus", "_probe-vulkan", "_read-trace", "_edge-worker")
"""Children that the program starts of itself."""

OPTIONS = ("-h", "--help", "--version")


def is_command_line(arguments: list[str]) -> bool:
    """Tell whether the arguments ask for the command line; otherwise they are the window's.

    A first word that is neither a command nor a file, nor looks like a path,
    is a mistyped command: the command line refuses it.
    """
    if not arguments:
        return False
    first = arguments[0]
    if first in (*COMMANDS, *HIDDEN, *OPTIONS):
        return True
    bare_word = not first.startswith("-") and first.isprintable() and not set(first) & set("./\\ ")
    return bare_word and not os.path.lexists(first)


def main(arguments: list[str]) -> int:
    """Run one command.

    Returns:
        Exit code: 0 done, 2 refused, 3 the job ran and failed.
    """
    if arguments[0] in HIDDEN:
        return _run_hidden(arguments[0], arguments[1:])
    from core.cli.commands import run_command  # noqa: PLC0415 - children need no parser

    return run_command(arguments)


def _run_hidden(name: str, arguments: list[str]) -> int:
    if name == "_supervise":
        from core.launch.supervisor import run_supervisor  # noqa: PLC0415

        run_supervisor(arguments[0])
    elif name == "_sample-gpus":
        from core.telemetry.gpu_sampler import run_sampler  # noqa: PLC0415

        run_sampler(arguments[0], int(arguments[1]) if len(arguments) > 1 else None)
    elif name == "_read-trace":
        from core.readers.worker import run_child  # noqa: PLC0415

        run_child(arguments[0], arguments[1])
    elif name == "_edge-worker":
        from core.edge.workers.start import run_worker  # noqa: PLC0415

        run_worker(arguments[0])
    elif name == "_probe-vulkan":
        from core.hardware.vulkan_probe import print_vulkan  # noqa: PLC0415

        print_vulkan()
    else:
        from core.hardware.probe import print_devices  # noqa: PLC0415

        print_devices()
    return 0
