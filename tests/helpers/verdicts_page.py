"""Writes docs/verdicts.md from reports: our verdict beside the one of the report's own rule."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, NamedTuple

from core.analyses.kernel_names import short_name
from core.roofline import verdict_limits as limits
from core.roofline.verdicts import VerdictKind, verdicts_of_report
from core.tables.ncu_terms import MEMORY_PCT, SM_PCT
from core.units import NO_BREAK_SPACE, format_pct

if TYPE_CHECKING:
    from collections.abc import Iterable

    from core.roofline.verdicts import Verdict
    from core.tables.ncu import Report

_LONGEST_NAME: Final = 40
_START: Final = re.compile(r"Start by analyzing (DRAM|L1|L2|workloads in the Compute)")
# A phrase of the rule SOLBottleneck, and the verdict that it amounts to. None: it depends on where to start.
_PHRASES: Final = (
    ("low compute throughput and memory bandwidth", VerdictKind.LATENCY_BOUND),
    ("too small to fill the available resources", VerdictKind.LATENCY_BOUND),
    ("Memory is more heavily utilized than Compute", VerdictKind.MEMORY_BOUND),
    ("Compute is more heavily utilized than Memory", VerdictKind.COMPUTE_BOUND),
    ("Compute and Memory are well-balanced", VerdictKind.BALANCED),
    ("greater than 80.0%", None),
)

_NEAR: Final = f"{limits.NEAR_ROOF_PCT:.0f} %"
_HEAD: Final = f"""# Verdicts

What holds a kernel back, and how that is told. Every verdict comes with its evidence, every remedy with the
most that it can save. Where something was not measured, the verdict is "unknown" and says what to run:
nothing missing counts as 0. The limits below stand in
[`core/roofline/verdict_limits.py`](../core/roofline/verdict_limits.py), each with its source.

## From a report

| verdict | SM throughput | memory throughput |
|---|---|---|
| memory-bound | at most {_NEAR} | above {_NEAR} |
| compute-bound | above {_NEAR} | at most {_NEAR} |
| balanced | above {_NEAR} | above {_NEAR} |
| latency-bound | at most {_NEAR} | at most {_NEAR} |

- Both are needed. Without them, a kernel that reaches more than {_NEAR} of the peak FLOP/s or of the
  peak bytes/s of DRAM still gets a verdict, marked "estimated". Anything else is unknown.
- The words say what of the SMs and of memory is the busiest part, and whether the other side does little:
  SMs below {limits.LOW_SM_PCT:.0f} %, memory below {limits.LOW_MEMORY_PCT:.0f} %.
- A latency-bound kernel says why: it does not fill the device (less than one wave of blocks), its warps
  wait (one reason for {limits.STALL_PCT:.0f} % of the time or more), or its work is uneven (achieved
  occupancy more than {limits.UNEVEN_OCCUPANCY_PCT:.0f} points below the theoretical one).
  The weightiest is named.
- From {limits.LEANING_PCT:.0f} % on, and {limits.LEANING_BY_PCT:.0f} points above the other, it also says
  which roof is the nearer, and what helps there.
- Kernels of communication are told by their name: their limit is a link or another rank.

## From a trace

A trace has no counters. Its kernels are held against the data sheet by the shapes of their operators.
Near the roof is above {limits.NEAR_MODEL_PCT:.0f} %, since a data sheet's peak is at a clock that no long
kernel keeps. All of it is marked "modelled". Bytes are the least that must move, so a kernel far from its
roof may also move more than it must.

The trace itself adds: fewer blocks than the device has SMs; idle time of the stream until the launch had
returned (up to {limits.LONGEST_LAUNCH_NS / 1e6:.0f} ms a call counts as launches, more as the host's own);
neighbours on the stream that could be fused, and the bytes that this saves; sizes of a product that are not
aligned or do not fill tiles; communication that ran beside the kernel for
{limits.BESIDE_PCT:.0f} % of its time or more.

## How large a gain

A remedy's gain is an upper bound on the step, without steps on the summed time of all kernels. It is the part
of the kernel's own time that can fall away (its distance to the roof, the idle part of a wave, the bytes that
need not move) times the kernel's part of the whole (Amdahl). Where nothing bounds it, there is no figure.

## Beside the reports' own rules

All launches of the sample reports with both throughputs. "The report" is its rule SOLBottleneck, which calls
below 60 % a latency issue, above 80 % high throughput, and in between goes by which of the two is higher.

"""


class _Row(NamedTuple):
    """One launch of the table."""

    verdict: Verdict
    said: str
    agrees: bool | None
    cells: tuple[str, ...]


def write_page(reports: Iterable[Report]) -> str:
    """Returns the page; reports in the order in which they are to stand."""
    rows: list[_Row] = []
    unmeasured = 0
    for report in reports:
        for launch, verdict in enumerate(verdicts_of_report(report)):
            if verdict.kind is VerdictKind.UNKNOWN:
                unmeasured += 1
            else:
                rows.append(_row(report, launch, verdict))
    titles = ("report", "kernel", "SM", "memory", "verdict", "the report", "agree?")
    lines = [f"| {' | '.join(titles)} |", f"|{'---|' * len(titles)}"]
    lines += [f"| {' | '.join(row.cells)} |" for row in rows]
    judged = [row for row in rows if row.agrees is not None]
    agreeing = sum(row.agrees is True for row in judged)
    foot = (
        f"\n{agreeing} of {len(judged)} agree. Further {unmeasured} launches of the samples hold neither "
        "throughput: unknown.\n"
    )
    return _HEAD + "\n".join(lines) + "\n" + foot


def _row(report: Report, launch: int, verdict: Verdict) -> _Row:
    text = next(
        (
            message.text
            for rule in report.rules[launch]
            if rule.identifier == "SOLBottleneck"
            for message in rule.messages
        ),
        "",
    )
    said, kind = _said(text)
    sm_pct, memory_pct = (_number(report, launch, name) for name in (SM_PCT, MEMORY_PCT))
    agrees = None if kind is None else kind is verdict.kind
    name = short_name(report.strings[int(report.launches.name_id[launch])])
    cells = (
        report.name.removesuffix(".ncu-rep"),
        f"{_cell(name)} ({launch})",
        _pct(sm_pct),
        _pct(memory_pct),
        str(verdict.kind),
        said,
        "yes" if agrees else _why_not(kind, verdict.kind, max(sm_pct, memory_pct)),
    )
    return _Row(verdict, said, agrees, cells)


def _said(text: str) -> tuple[str, VerdictKind | None]:
    """Return what the rule says, as a quote, and which verdict that is."""
    for phrase, kind in _PHRASES:
        if phrase in text:
            start = _START.search(text)
            if kind is None and start is not None:
                computes = start[1].startswith("workloads")
                place = "compute" if computes else start[1]
                limit = VerdictKind.COMPUTE_BOUND if computes else VerdictKind.MEMORY_BOUND
                return f'"{phrase}"; start at {place}', limit
            return f'"{phrase}"', kind
    return "no such rule", None


def _why_not(said: VerdictKind | None, ours: VerdictKind, nearest_pct: float) -> str:
    if said is None:
        return "nothing to compare"
    if ours is VerdictKind.LATENCY_BOUND and said is VerdictKind.BALANCED:
        return f"no: alike, but at {_pct(nearest_pct)} near no roof"
    if ours is VerdictKind.LATENCY_BOUND:
        return f"no: the higher of the two, but at {_pct(nearest_pct)} not near its roof"
    if ours is VerdictKind.BALANCED:
        return "in part: both are above 75 %, and count the same load and store unit"
    raise AssertionError(f"no reason is known why the report says {said} and we {ours}")


def _number(report: Report, launch: int, name: str) -> float:
    value = report.metric(launch, name)
    assert isinstance(value, float)
    return value


def _pct(value: float) -> str:
    return format_pct(value).replace(NO_BREAK_SPACE, " ")


def _cell(text: str) -> str:
    shown = text if len(text) <= _LONGEST_NAME else f"{text[: _LONGEST_NAME - 1]}…"
    return shown.replace("|", "\\|").replace("<", "&lt;")
