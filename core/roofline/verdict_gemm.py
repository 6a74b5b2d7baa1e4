"""What the shapes of a matrix product cost: rows that are not aligned, tiles that are not full, few rows."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from core.analyses.op_work.call import UnknownWorkError
from core.analyses.op_work.matrix import written_element
from core.roofline.verdict_limits import ALIGNED_BYTES, FEW_ROWS, LEAST_PADDING_PCT, TILE
from core.units import format_count, format_pct

if TYPE_CHECKING:
    from core.analyses.op_work.call import OpCall, Tensor
    from core.analyses.op_work.elements import Element
    from core.roofline.verdict import Remedy
    from core.roofline.verdict_gains import Share

_LOOKED_AT: Final = 4096
# "ampere_sgemm_128x64_tn", "tilesize128x128x64", "gemm_bf16_256x128_64x3_nt", "MT128x128x32".
_TILE: Final = re.compile(r"(?<!\d)(16|32|64|96|128|160|192|224|256)x(16|32|64|96|128|160|192|224|256)(?!\d)")
# How CUTLASS names kernels for rows that lie less aligned than tensor cores like it.
_ALIGNMENT: Final = re.compile(r"_align(\d{1,2})(?!\d)")
# Where the two matrices of a product stand among the inputs.
# Source: native_functions.yaml (torch 2.13).
_LEFT_AT: Final = {
    "aten::mm": 0,
    "aten::_scaled_mm": 0,
    "aten::_int_mm": 0,
    "aten::addmm": 1,
    "aten::addmm_": 1,
    "aten::_addmm_activation": 1,
    "aten::bmm": 0,
    "aten::baddbmm": 1,
    "aten::baddbmm_": 1,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class GemmSize:
    """One product: ``batch`` times (rows, inner) x (inner, columns).

    Attributes:
        batch, rows, columns, inner: Elements.
        element_bytes: Of the inputs.
        weight_bytes: Of the right-hand matrix.
        least_bytes: Of both inputs and the result.
    """

    batch: int
    rows: int
    columns: int
    inner: int
    element_bytes: int
    weight_bytes: int
    least_bytes: int


def gemm_size(call: OpCall | None) -> GemmSize | None:
    """Reads the size of a product from its operator, None if it is none or its shapes make no sense."""
    if call is None or call.name not in _LEFT_AT:
        return None
    place = _LEFT_AT[call.name]
    rank = 3 if "bmm" in call.name else 2
    try:
        left, right = call.tensor(place, rank), call.tensor(place + 1, rank)
    except UnknownWorkError:
        return None
    if left.shape[-1] != right.shape[-2] or not left.count or not right.count:
        return None
    return _size(left, right, written_element(call) or left.element)


def _size(left: Tensor, right: Tensor, result: Element) -> GemmSize:
    batch = left.shape[0] if len(left.shape) > 2 else 1
    rows, columns = left.shape[-2], right.shape[-1]
    written = batch * rows * columns * result.size_bytes
    return GemmSize(
        batch=batch,
        rows=rows,
        columns=columns,
        inner=left.shape[-1],
        element_bytes=left.element.size_bytes,
        weight_bytes=right.size_bytes,
        least_bytes=left.size_bytes + right.size_bytes + written,
    )


def size_words(size: GemmSize) -> str:
    """Returns a product in words: "128 × 1000, inner 4096"."""
    batch = f"{format_count(size.batch)} of " if size.batch > 1 else ""
    return (
        f"{batch}{format_count(size.rows)} × {format_count(size.columns)}, inner {format_count(size.inner)}"
    )


def gemm_remedies(
    size: GemmSize, kernel: str, share: Share, *, to_roof: float | None, waits_for_memory: bool
) -> list[Remedy]:
    """Lists what the shapes of a product cost.

    Args:
        size: The product.
        kernel: Full name, which may tell its tiles.
        share: What the kernel is a part of.
        to_roof: Part of its time between it and its roof, None where that is not known.
        waits_for_memory: Whether its intensity is below the ridge point.
    """
    found = [_align(size, kernel, share, to_roof), _fill_tiles(size, kernel, share)]
    if waits_for_memory:
        found.append(_more_rows(size, share))
    return [each for each in found if each is not None]


def _align(size: GemmSize, kernel: str, share: Share, to_roof: float | None) -> Remedy | None:
    multiple = max(1, ALIGNED_BYTES // size.element_bytes)
    # The inner dimension and the columns are the lengths of the rows that lie in memory.
    odd = [
        (name, length)
        for name, length in (("columns", size.columns), ("inner dimension", size.inner))
        if length % multiple
    ]
    if not odd:
        return None
    which = " and ".join(f"its {name} ({format_count(length)})" for name, length in odd)
    would = ", ".join(format_count(_up(length, multiple)) for _, length in odd)
    begin = f"rows begin at multiples of {ALIGNED_BYTES} bytes"
    named = _ALIGNMENT.search(kernel[:_LOOKED_AT])
    says = f" The kernel's name says align{named[1]}." if named and int(named[1]) < multiple else ""
    text = f"Make {which} a multiple of {multiple}, so that {begin}: {would} would do.{says}"
    return share.remedy(text, to_roof, "the distance to its roof")


def _fill_tiles(size: GemmSize, kernel: str, share: Share) -> Remedy | None:
    tile = tile_of(kernel)
    high, wide = tile or (TILE, TILE)
    # Which side of a tile lies along the rows, the name does not tell: the worse of the two is the bound.
    idle = max(_padding(size, high, wide), _padding(size, wide, high))
    if 100 * idle < LEAST_PADDING_PCT:
        return None
    of = "the kernel's" if tile else "usual"
    text = (
        f"Choose sizes that fill {of} tiles of {high} × {wide}: of {size_words(size)}, "
        f"up to {format_pct(100 * idle, 0)} is computed for nothing."
    )
    return share.remedy(text, idle, "the part of the tiles outside the result")


def _more_rows(size: GemmSize, share: Share) -> Remedy | None:
    if size.rows >= FEW_ROWS:
        return None
    part = format_pct(100 * size.weight_bytes / size.least_bytes, 0)
    text = (
        f"Use a larger batch: {part} of its bytes are weights, "
        f"read for {format_count(size.rows)} row{'' if size.rows == 1 else 's'}."
    )
    return share.remedy(text, None, "the time for each row falls, not that of the kernel")


def tile_of(kernel: str) -> tuple[int, int] | None:
    """Returns the tile that a kernel's name tells, None if it tells none."""
    match = _TILE.search(kernel[:_LOOKED_AT])
    return None if match is None else (int(match[1]), int(match[2]))


def _padding(size: GemmSize, high: int, wide: int) -> float:
    return 1 - size.rows * size.columns / (_up(size.rows, high) * _up(size.columns, wide))


def _up(length: int, multiple: int) -> int:
    return math.ceil(length / multiple) * multiple
