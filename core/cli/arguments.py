"""The command line's words: which options there are, and which words belong to the user's script.

A refusal is one ``error:`` and one ``hint:`` line, so the parsers here raise
instead of printing their usage.
"""

from __future__ import annotations

import argparse
import sys
from dataclasses import dataclass
from typing import NoReturn

from core.errors import DashboardError

EXIT_CODES = """exit codes:
  0  done
  1  a bug in Ridgeline, with a traceback
  2  refused: one line says what, one line says what to do
  3  the job ran and did not end well: it failed, was stopped from elsewhere, or was lost
  130, 143  stopped by Ctrl+C or by SIGTERM"""

TRACE_TABLES = (
    "kernels, launches, ops, ops_by_shape, modules, steps, overlap, communication, collectives, arrivals, "
    "stragglers, queue, memory, work"
)
"""Names of the analyses, for a help text: to ask the registry would cost every command half a second."""

REPORT_TABLES = "kernels, groups, rules, roofline, sections, metrics, source"
"""The same of the tables of reports."""


EDGE_BACKENDS = "iree, ort-webgpu, mps, mlx, cpu"
"""Names of the backends, for the same reason."""


class Parser(argparse.ArgumentParser):
    """A parser that refuses in two lines."""

    def error(self, message: str) -> NoReturn:
        """Raise what is wrong with the words.

        Raises:
            DashboardError: Always.
        """
        raise DashboardError(
            f"{message[:1].upper()}{message[1:]}.", f"`{self.prog} --help` lists what there is."
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class LaunchWords:
    """The words after ``launch``, told apart.

    Attributes:
        options: What the launch parser understood.
        target: Script or module; None for a preset or the one-click choice.
        is_module: ``-m`` stood before the target.
        arguments: For the script, untouched.
    """

    options: argparse.Namespace
    target: str | None
    is_module: bool
    arguments: tuple[str, ...]


def make_parser(program: str) -> Parser:
    """Return the parser of all commands."""
    parser = Parser(
        prog=program,
        description="Launch FSDP2 jobs, watch their ranks. Without a command: the window, FILEs opened.",
        usage=f"{program} [FILE ...] | COMMAND [OPTION ...]",
        epilog=EXIT_CODES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("--version", action="store_true", help="print the version")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", prog=program, parser_class=Parser)
    # Only for the list of commands: ``split_launch`` reads the words of a launch.
    commands.add_parser("launch", help="start a job and follow it", add_help=False)
    runs = commands.add_parser("runs", help="list runs, newest first", allow_abbrev=False)
    runs.add_argument("--json", action="store_true", help="as a JSON list")
    runs.add_argument("--limit", type=positive, metavar="N", help="only the newest N")
    attach = commands.add_parser("attach", help="follow a run; Ctrl+C leaves it alone", allow_abbrev=False)
    _add_run(attach)
    stop = commands.add_parser("stop", help="stop a run, gracefully", allow_abbrev=False)
    _add_run(stop)
    stop.add_argument("--now", action="store_true", help="kill it at once")
    _add_capture(commands.add_parser("capture", help="trace a running job", allow_abbrev=False))
    _add_summary(commands.add_parser("summary", help="what a trace or a report holds", allow_abbrev=False))
    devices = commands.add_parser("devices", help="list GPUs, and why one is missing", allow_abbrev=False)
    devices.add_argument("--json", action="store_true", help="as a JSON object")
    _add_edge(
        commands.add_parser("edge", help="the model on a Vulkan or Metal device, judged", allow_abbrev=False)
    )
    demo = commands.add_parser(
        "demo", help="the one-click job in the terminal, then pictures of the pages", allow_abbrev=False
    )
    demo.add_argument("--out", default="demo", metavar="FOLDER", help="where the pictures go (demo)")
    demo.add_argument("--steps", type=positive, default=100, metavar="N", help="training steps (100)")
    return parser


def split_launch(program: str, words: list[str]) -> LaunchWords:
    """Tell the launch options from the script and its arguments.

    Args:
        program: Name of the program.
        words: What follows ``launch``.

    Raises:
        DashboardError: An unknown option, or no room for one's value.
    """
    launch = _make_launch_parser(program)
    takes_value = {name: action.nargs != 0 for action in launch._actions for name in action.option_strings}
    position = 0
    while position < len(words):
        word = words[position]
        name, equals, _ = word.partition("=")
        if word == "--" or not word.startswith("-") or word == "-m":
            break
        if name == "--preset":
            return _split_preset(launch, words)
        if name not in takes_value:
            launch.error(f"there is no option {name}")
        position += 2 if takes_value[name] and not equals else 1
    options = launch.parse_args(words[:position])
    rest = words[position:]
    if rest[:1] == ["--"]:
        rest = rest[1:]
    is_module = rest[:1] == ["-m"]
    if is_module:
        rest = rest[1:]
        if not rest:
            launch.error("-m needs the name of a module")
    if not rest:
        return LaunchWords(options=options, target=None, is_module=False, arguments=())
    return LaunchWords(options=options, target=rest[0], is_module=is_module, arguments=tuple(rest[1:]))


def _split_preset(launch: Parser, words: list[str]) -> LaunchWords:
    """Take our options wherever they stand; all others are the preset script's."""
    end = words.index("--") if "--" in words else len(words)
    options, others = launch.parse_known_args(words[:end])
    arguments = (*others, *words[end + 1 :])
    return LaunchWords(options=options, target=None, is_module=False, arguments=arguments)


def positive(text: str) -> int:
    """Read a number from 1 on."""
    number = int(text) if text.isdecimal() else 0
    if number < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number from 1 on")
    return number


def number(text: str) -> int:
    """Read a number from 0 on."""
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"{text!r} is not a number from 0 on")
    return int(text)


def rank_list(text: str) -> tuple[int, ...]:
    """Read "0,2" as ranks."""
    parts = [part.strip() for part in text.split(",")]
    if not all(part.isdecimal() for part in parts):
        raise argparse.ArgumentTypeError(f"{text!r} is not a list of ranks such as 0,2")
    return tuple(int(part) for part in parts)


def _variable(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not name or not equals:
        raise argparse.ArgumentTypeError(f"{text!r} is not NAME=VALUE")
    return name, value


def _make_launch_parser(program: str) -> Parser:
    parser = Parser(
        prog=f"{program} launch",
        usage=f"{program} launch [OPTION ...] [--preset NAME | SCRIPT | -m MODULE] [ARGUMENT ...]",
        description="Start a job that outlives this command, and follow it. Without a preset or script: "
        "what the window's one click starts. Ctrl+C stops the job gracefully, a second one kills it.",
        epilog=f"What follows SCRIPT, MODULE or -- goes to the script untouched.\n\n{EXIT_CODES}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    add = parser.add_argument
    add("--preset", metavar="NAME", help="a job that needs no script: tiny or seed")
    add("--nproc", type=positive, metavar="N", help="number of ranks (a GPU each, 1 on the CPU)")
    add("--device", choices=("cuda", "cpu"), help="what to compute on (cuda if there is a GPU)")
    add("--gpus", metavar="LIST", help="GPUs in rank order, by index or UUID: 2,0")
    add("--python", metavar="PY", help="interpreter with torch (the active environment's)")
    add("--cwd", metavar="FOLDER", help="working folder of the ranks (this one)")
    add("--env", type=_variable, action="append", default=[], metavar="NAME=VALUE", help="set a variable")
    add("--title", metavar="TEXT", help="name of the run (the script's)")
    add("--loss-pattern", metavar="REGEX", help="where the loss stands in a log line (group 1)")
    add("--detach", action="store_true", help="return once the job has started")
    return parser


def _add_run(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("run", metavar="RUN", help="its id, the start of its id, or its folder")


def _add_summary(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "files",
        nargs="+",
        metavar="FILE",
        help="a trace of torch.profiler, as JSON or gzip; a folder or several files: one for each rank. "
        "Or one report of Nsight Compute, or a table of ncu --csv",
    )
    parser.add_argument("--json", action="store_true", help="as a JSON object; times in nanoseconds")
    parser.add_argument(
        "--table", metavar="NAME", help=f"one table: {TRACE_TABLES}; of a report: {REPORT_TABLES}"
    )
    parser.add_argument("--launch", type=number, metavar="N", help="only this launch of a report, from 0")
    parser.add_argument("--csv", action="store_true", help="the table as CSV")


def _add_capture(parser: argparse.ArgumentParser) -> None:
    _add_run(parser)
    parser.add_argument("--steps", type=positive, default=2, metavar="N", help="steps in the trace (2)")
    parser.add_argument("--ranks", type=rank_list, metavar="LIST", help="which ranks: 0,2 (all)")
    parser.add_argument(
        "--what", choices=("trace", "snapshot", "stacks"), default="trace", help="what to take (trace)"
    )
    parser.add_argument("--stack", action="store_true", help="with Python stacks (slower, larger)")


def _add_edge(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("--backend", default="iree", metavar="B", help=f"how to run it: {EDGE_BACKENDS} (iree)")
    add("--device", metavar="NAME|INDEX", help="where, as `devices` lists them; cpu is one (the best found)")
    add("--preset", choices=("tiny", "small", "seed"), help="a size of MiniLLM (tiny)")
    add(
        "--model",
        metavar="FILE[:FACTORY]",
        help="a script and its function that returns (model, example_inputs), an .onnx or a .pt2 file",
    )
    add("--precision", choices=("fp32", "fp16"), default="fp32", help="to compute with (fp32)")
    add("--tokens", type=positive, metavar="N", help="length of the prefill (the preset's own)")
    add("--checkpoint", metavar="FILE", help="weights: a state_dict that torch.save has written")
    add("--decode", action="store_true", help="also decode with a cache: the model with a causal mask")
    add("--python", default=sys.executable, metavar="PY", help="interpreter with torch (this one)")
    add("--export", metavar="FILE", help="run nothing; write the model for a phone: .vmfb (IREE) or .pte")
    add("--phone", metavar="TARGET", help="of a .vmfb: adreno, mali-g715, ... (any recent Android phone)")
    add("--json", action="store_true", help="as a JSON object; times in seconds")
