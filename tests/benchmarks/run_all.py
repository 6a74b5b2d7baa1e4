"""Runs every benchmark beside this file, each in its own process, and prints what it measured.

A benchmark is a module ``bench_*.py`` that prints rows (see ``rows``) when it is
run: medians, and ratios between two ways that ran in turns. Usage:
``run_all.py [NAME ...]``.
"""

from __future__ import annotations

import importlib.metadata
import os
import platform
import subprocess
import sys
import time
from pathlib import Path

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
LIMIT_S = 900.0
LIMITS_S = {"bench_traces": 3600.0}
"""Of those that take longer: files of gigabytes, read by slow peers."""


def benchmarks(wanted: list[str]) -> list[str]:
    """Return the names of the benchmarks, all or those whose name holds a wanted word."""
    names = sorted(path.stem for path in HERE.glob("bench_*.py"))
    return [name for name in names if not wanted or any(word in name for word in wanted)]


def machine() -> str:
    """Say what the figures were measured on."""
    versions = [f"{name} {importlib.metadata.version(name)}" for name in ("torch", "PySide6-Essentials")]
    return ", ".join(
        [f"{os.cpu_count()} cores", platform.machine(), f"Python {platform.python_version()}", *versions]
    )


def run(name: str) -> bool:
    """Run one benchmark; return whether it ended well."""
    print(f"\n== {name}", flush=True)
    began = time.perf_counter()
    limit_s = LIMITS_S.get(name, LIMIT_S)
    environment = {"QT_QPA_PLATFORM": "offscreen", **os.environ}
    try:
        done = subprocess.run(
            [sys.executable, "-m", f"tests.benchmarks.{name}"],
            cwd=ROOT,
            env=environment,
            stdin=subprocess.DEVNULL,
            timeout=limit_s,
            check=False,
        )
    except subprocess.TimeoutExpired:
        print(f"stopped after {limit_s:.0f} s")
        return False
    print(f"   ({time.perf_counter() - began:.0f} s, exit {done.returncode})", flush=True)
    return done.returncode == 0


def main() -> int:
    """Run the benchmarks that were asked for, one after the other."""
    names = benchmarks(sys.argv[1:])
    if not names:
        print("no such benchmark")
        return 2
    print(f"on {machine()}")
    failed = [name for name in names if not run(name)]
    if failed:
        print(f"\nfailed: {', '.join(failed)}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
