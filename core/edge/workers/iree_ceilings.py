"""What a device reaches through IREE: a product of square matrices, and a copy, compiled like the model."""

from __future__ import annotations

import time
from functools import partial
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from core.edge.events import Ceiling, Noted
from core.edge.workers.iree_compile import Compiled
from core.edge.workers.iree_run import Program
from core.edge.workers.refusal import RefusedError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from core.edge.models import Precision
    from core.edge.workers.iree_compile import Compiler
    from core.edge.workers.iree_run import Device

LONG_ENOUGH_S: Final = 0.02
GROWTH: Final = 1.1
"""A larger product that is so many times as fast is worth a larger one still."""
BUDGET_S: Final = 5.0
"""Of both together; what has begun is finished."""
FIRST_SIZE, LARGEST_SIZE = 256, 8192
COPY_ELEMENTS: Final = 2**25
"""128 MiB in fp32, twice of which are moved: above most caches, and the smallest binding limit in use."""
SLOW_COPY_ELEMENTS: Final = 2**23
"""Where there was time for one such copy only, which is then mostly the taking of memory."""
CHAINS: Final = (1, 4, 16, 64)
"""Copies in one call, as many as there is time for: a call costs more than a copy on a fast device, and on
the CPU the memory that it takes anew each time."""
_GROWTH: Final = 4
_REPEATS: Final = 4

_PRODUCT: Final = """
func.func @ceiling(%a: tensor<{n}x{n}x{t}>, %b: tensor<{n}x{n}x{t}>) -> tensor<{n}x{n}xf32> {{
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<{n}x{n}xf32>
  %start = linalg.fill ins(%zero : f32) outs(%empty : tensor<{n}x{n}xf32>) -> tensor<{n}x{n}xf32>
  %product = linalg.matmul ins(%a, %b : tensor<{n}x{n}x{t}>, tensor<{n}x{n}x{t}>)
    outs(%start : tensor<{n}x{n}xf32>) -> tensor<{n}x{n}xf32>
  return %product : tensor<{n}x{n}xf32>
}}
"""
_COPY_BEGIN: Final = """
#map = affine_map<(d0) -> (d0)>
func.func @ceiling(%x0: tensor<{m}xf32>) -> tensor<{m}xf32> {{
  %one = arith.constant 1.0 : f32
"""
_COPY: Final = """
  %e{i} = tensor.empty() : tensor<{m}xf32>
  %y{i} = linalg.generic {{indexing_maps = [#map, #map], iterator_types = ["parallel"]}}
    ins(%x{i} : tensor<{m}xf32>) outs(%e{i} : tensor<{m}xf32>) {{
  ^bb0(%in: f32, %out: f32):
    %sum = arith.addf %in, %one : f32
    linalg.yield %sum : f32
  }} -> tensor<{m}xf32>
  %x{next} = util.optimization_barrier %y{i} : tensor<{m}xf32>
"""


def measure_ceilings(device: Device, compiler: Compiler, precision: Precision) -> Iterator[Ceiling | Noted]:
    """Measures both; what cannot be measured is noted.

    Args:
        device: Where.
        compiler: For that device, with the options of the model.
        precision: Of the matrices; the product is summed up in fp32.
    """
    for what, measure in (("product", partial(_product, precision)), ("copy", _copy)):
        try:
            yield measure(device, compiler)
        except RefusedError as error:
            message = f"The ceiling of a {what} could not be measured: {error.message}"
            yield Noted(code="no_ceiling", message=message, hint="Rates are not compared with it.")


def _product(precision: Precision, device: Device, compiler: Compiler) -> Ceiling:
    word, dtype = ("f16", np.float16) if precision == "fp16" else ("f32", np.float32)
    until_s = time.perf_counter() + BUDGET_S / 2
    size, best = FIRST_SIZE, (0.0, FIRST_SIZE)
    while True:
        ones = np.ones((size, size), dtype)
        taken_s = _best_s(device, compiler, _PRODUCT.format(n=size, t=word), [ones, ones], float(size))
        rate = 2 * size**3 / taken_s
        grew = rate > GROWTH * best[0]
        best = max(best, (rate, size))
        # A call has a cost of its own: only when a larger product gains no more, the rate is the device's.
        done = taken_s >= LONG_ENOUGH_S and not grew
        if done or 2 * size > LARGEST_SIZE or time.perf_counter() + 8 * taken_s >= until_s:
            return Ceiling(what="gemm", type=precision, per_s=best[0], size=best[1])
        size *= 2
        while 2 * size <= LARGEST_SIZE and 8 * taken_s < LONG_ENOUGH_S:
            size *= 2
            taken_s *= 8


def _copy(device: Device, compiler: Compiler) -> Ceiling:
    until_s = time.perf_counter() + BUDGET_S / 2
    best = (0.0, 0)
    for elements, lengths in ((COPY_ELEMENTS, CHAINS), (SLOW_COPY_ELEMENTS, CHAINS[1:])):
        zeros = np.zeros(elements, np.float32)
        for length in lengths:
            taken_s = _best_s(device, compiler, _copies(elements, length), [zeros], float(length))
            best = max(best, (length * 2 * zeros.nbytes / taken_s, zeros.nbytes))
            next_s = taken_s * _GROWTH * (_REPEATS + 1)
            if time.perf_counter() + next_s >= until_s:
                break
        if length > 1:
            break
    return Ceiling(what="copy", type="", per_s=best[0], size=best[1])


def _copies(elements: int, length: int) -> str:
    """MLIR that copies so many elements, so many times in a row."""
    parts = [_COPY_BEGIN.format(m=elements)]
    parts += [_COPY.format(m=elements, i=number, next=number + 1) for number in range(length)]
    return "".join(parts) + f"  return %x{length} : tensor<{elements}xf32>\n}}\n"


def _best_s(
    device: Device, compiler: Compiler, text: str, inputs: list[NDArray[Any]], wanted: float
) -> float:
    """Seconds of the fastest call.

    Args:
        device: Where.
        compiler: Compiles the text.
        text: MLIR with a function ``ceiling``.
        inputs: Its arguments.
        wanted: What every element of its result has to be: a wrong result is no speed.

    Raises:
        RefusedError: It does not compile, run or give that.
    """
    program = Program(device, Compiled(program=compiler.compile_text(text), weights=None, cached=False))
    try:
        there = [device.put(each) for each in inputs]
        outputs = program(there)
        given = device.take(outputs[0])
        if not bool(np.all(given == np.float32(wanted))):
            raise RefusedError("wrong", f"its result is not {wanted:g} everywhere.", "Update the driver.")
        calls_s = []
        for _ in range(_REPEATS):
            start_s = time.perf_counter()
            outputs = program(there)
            calls_s.append(time.perf_counter() - start_s)
        del there, outputs
        return max(min(calls_s), 1e-9)
    finally:
        program.close()
