"""What a device ran in one call, by kind and shape: time by its own clock, and the work that the name tells.

IREE names a dispatch after its operation, the sizes of its loops and the types of
its operands: ``main_graph$async_dispatch_4_matmul_16x192x64_f32`` (M, N and K;
a batch before them). Seen with IREE 3.13; other names are listed as they are,
without work.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

import numpy as np

from core.analyses.categories import Category
from core.files import printable
from core.tables.columns import MISSING
from core.tables.result import Column, ResultTable
from core.units import NOT_MEASURED

if TYPE_CHECKING:
    from collections.abc import Sequence

    from core.edge.events import Dispatch
    from core.edge.result import EdgeResult
    from core.tables.columns import Int64
    from core.tables.result import Unit

_NAME: Final = re.compile(
    r"(?:.*\$async)?(?:_?dispatch_\d+_)?(?P<kind>[a-z]+(?:_[a-z]+)*?)_(?P<sizes>\d+(?:x\d+)*)"
    r"(?:_|x)(?P<types>(?:[fi]|bf|ui|index)\d*(?:x(?:[fi]|bf|ui|index)\d*)*)(?:_.*)?$"
)
_PRODUCTS: Final = re.compile(r"(batch_)?(matmul|matvec|vecmat|mmt4d|contract)(_like)?")
_CATEGORIES: Final = (
    (re.compile(r"matmul|matvec|vecmat|mmt4d|contract"), Category.GEMM),
    (re.compile(r"attention"), Category.ATTENTION),
    (re.compile(r"conv"), Category.CONVOLUTION),
    (re.compile(r"softmax|reduction|reduce|argmax"), Category.REDUCTION),
    (re.compile(r"gather|scatter"), Category.EMBEDDING),
    (re.compile(r"memcpy|copy|transpose|pack"), Category.MEMCPY),
    (re.compile(r"fill|memset"), Category.MEMSET),
    (re.compile(r"elementwise|broadcast|generic"), Category.ELEMENTWISE),
)


@dataclass(frozen=True, slots=True)
class DispatchWork:
    """What a name tells of a dispatch.

    Attributes:
        title: "matmul 16×192×64".
        category: Of kernels like it.
        flop: Multiply and add counted as two; None where the name does not tell.
        least_bytes: Each operand read once, the result written once; None likewise.
    """

    title: str
    category: Category
    flop: int | None = None
    least_bytes: int | None = None


def work_of(name: str) -> DispatchWork:
    """Reads a dispatch's name; only products of matrices have work that it tells.

    The products of a dispatch are all of its FLOP but some: what is fused behind
    them is small, and not told.
    """
    found = _NAME.match(name)
    if found is None:
        return DispatchWork(printable(name), _category(name))
    kind, sizes = found["kind"], [int(size) for size in found["sizes"].split("x")]
    title = f"{kind} {'×'.join(map(str, sizes))}"
    category = _category(kind)
    if _PRODUCTS.fullmatch(kind) is None or len(sizes) not in (3, 4):
        return DispatchWork(title, category)
    batch, m, n, k = [1, *sizes] if len(sizes) == 3 else sizes
    widths = [_bytes_of(each) for each in found["types"].split("x")]
    # One type for all of it, or one for each operand and the result.
    left, right, given = widths if len(widths) == 3 else [widths[-1]] * 3
    least = None
    if left is not None and right is not None and given is not None:
        least = batch * (m * k * left + k * n * right + m * n * given)
    return DispatchWork(title, category, 2 * batch * m * n * k, least)


def _category(text: str) -> Category:
    return next((category for pattern, category in _CATEGORIES if pattern.search(text)), Category.OTHER)


def _bytes_of(type_name: str) -> int | None:
    bits = re.search(r"\d+$", type_name)
    return None if bits is None else max(1, int(bits[0]) // 8)


def dispatch_table(result: EdgeResult) -> ResultTable:
    """Lists the dispatches of one warm call, those of one name in a row, the longest first."""
    groups: dict[str, list[Dispatch]] = {}
    for dispatch in result.dispatches:
        groups.setdefault(dispatch.name, []).append(dispatch)
    names = list(groups)
    works = [work_of(name) for name in names]
    sums = [_sum_ns(groups[name]) for name in names]
    whole = sum(each for each in sums if each is not None)
    calls = [len(groups[name]) for name in names]
    flop = [
        None if work.flop is None else work.flop * count for work, count in zip(works, calls, strict=True)
    ]
    least = [
        None if work.least_bytes is None else work.least_bytes * count
        for work, count in zip(works, calls, strict=True)
    ]
    categories = tuple(category.title for category in Category)
    columns = (
        _text(
            "name", "Dispatch", "Operation and sizes, as the compiler names them.", [w.title for w in works]
        ),
        Column(
            key="category",
            title="Category",
            unit="",
            help="Of kernels like it.",
            values=np.array([int(work.category) for work in works], np.int32),
            texts=categories,
            shown=False,
        ),
        _whole("calls", "Calls", "count", "In one call of the model.", calls),
        _whole("sum_ns", "Sum", "ns", "By the device's own clock, in a pass of its own.", sums),
        _float(
            "share_pct",
            "Share",
            "pct",
            "Of the time of all dispatches; gaps between them are in none.",
            [None if each is None or not whole else 100 * each / whole for each in sums],
        ),
        _whole("mean_ns", "Mean", "ns", "Of one dispatch.", _each(sums, calls), shown=False),
        _whole("flop", "FLOP", "flop", "Of the products that the name tells.", flop, shown=False),
        _whole(
            "least_bytes",
            "Least bytes",
            "bytes",
            "Operands read once, results written once.",
            least,
            shown=False,
        ),
        _float("flop_per_s", "FLOP/s", "flop_per_s", "Of the products, by the sum.", _rates(flop, sums)),
        _float(
            "bytes_per_s", "Least bytes/s", "bytes_per_s", "By the sum.", _rates(least, sums), shown=False
        ),
        _float(
            "intensity",
            "Intensity",
            "flop_per_byte",
            "FLOP by least bytes: what it can be at most.",
            [a / b if a is not None and b else None for a, b in zip(flop, least, strict=True)],
            shown=False,
        ),
        _text(
            "workgroups",
            "Workgroups",
            "How many, in each dimension.",
            [_spelled(groups[name][-1].workgroups) for name in names],
            shown=False,
        ),
        _text(
            "workgroup_size",
            "Workgroup size",
            "Invocations in each dimension.",
            [_spelled(groups[name][-1].workgroup_size) for name in names],
            shown=False,
        ),
        _text(
            "full_name", "Full name", "As the runtime reports it.", [printable(n) for n in names], shown=False
        ),
    )
    # What has no time stands last.
    order = np.argsort([1 if each is None else -each for each in sums], kind="stable").astype(np.int64)
    return ResultTable(
        name="edge_dispatches",
        title="Dispatches",
        columns=tuple(_ordered(column, order) for column in columns),
        notes=_notes(result, works),
        empty=_why_empty(result),
    )


def _notes(result: EdgeResult, works: Sequence[DispatchWork]) -> tuple[str, ...]:
    if not result.dispatches:
        return ()
    untimed = sum(1 for each in result.dispatches if each.duration_ns is None)
    told = sum(1 for work in works if work.flop is None)
    notes = []
    if untimed:
        notes.append(f"{untimed} of {len(result.dispatches)} dispatches have no valid time")
    if told:
        notes.append(f"{told} of {len(works)} names tell no work: only products of matrices have FLOP")
    return tuple(notes)


def _why_empty(result: EdgeResult) -> str:
    if result.state in ("refused", "failed", "cancelled"):
        return "It did not come so far."
    return "This backend does not time dispatches on this device."


def _spelled(sides: tuple[int, int, int] | None) -> str:
    return NOT_MEASURED if sides is None else "×".join(map(str, sides))


def _sum_ns(dispatches: Sequence[Dispatch]) -> int | None:
    """The sum of what has a time; None if nothing has."""
    known = [
        each.duration_ns for each in dispatches if each.duration_ns is not None and each.duration_ns >= 0
    ]
    return sum(known) if known else None


def _each(sums: Sequence[int | None], calls: Sequence[int]) -> list[int | None]:
    return [None if whole is None else round(whole / count) for whole, count in zip(sums, calls, strict=True)]


def _rates(amounts: Sequence[int | None], sums_ns: Sequence[int | None]) -> list[float | None]:
    return [
        amount / (sum_ns * 1e-9) if amount is not None and sum_ns else None
        for amount, sum_ns in zip(amounts, sums_ns, strict=True)
    ]


def _text(key: str, title: str, told: str, texts: Sequence[str], *, shown: bool = True) -> Column:
    known = tuple(dict.fromkeys(texts))
    places = {text: place for place, text in enumerate(known)}
    values = np.array([places[text] for text in texts], np.int32)
    return Column(key=key, title=title, unit="", help=told, values=values, texts=known or ("",), shown=shown)


def _whole(  # noqa: PLR0913  (a column)
    key: str, title: str, unit: Unit, told: str, values: Sequence[int | None], *, shown: bool = True
) -> Column:
    numbers = np.array([MISSING if value is None else value for value in values], np.int64)
    return Column(key=key, title=title, unit=unit, help=told, values=numbers, shown=shown)


def _float(  # noqa: PLR0913  (a column)
    key: str, title: str, unit: Unit, told: str, values: Sequence[float | None], *, shown: bool = True
) -> Column:
    numbers = np.array([math.nan if value is None else value for value in values], np.float64)
    return Column(key=key, title=title, unit=unit, help=told, values=numbers, shown=shown)


def _ordered(column: Column, order: Int64) -> Column:
    return replace(column, values=column.values[order])
