"""What a provider of ONNX Runtime reaches: chains of products, and of copies through memory.

A call takes one number and returns one, so that nothing else is copied to the
device or back; a longer chain less a shorter one leaves the work itself.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from core.edge.events import Ceiling

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from core.edge.models import Precision

SHORT, LONG = 2, 18
LONG_ENOUGH_S: Final = 0.02
FIRST_SIZE, LARGEST_SIZE = 256, 4096
COPY_ELEMENTS: Final = 2**25
"""128 MiB in fp32: the smallest binding limit of WebGPU, above most caches."""
_REPEATS: Final = 5
_OPSET: Final = 20


def measure_ceilings(open_session: Callable[[bytes], Any], precision: Precision) -> Iterator[Ceiling]:
    """Measures a product and a copy; one whose time cannot be told from nothing is left out.

    Args:
        open_session: Makes a session, on the provider, of a serialized graph that is not to be optimized.
        precision: Of the product.
    """
    size = FIRST_SIZE
    while True:
        taken_s = _one(open_session, "MatMul", (size, size), precision)
        if size == LARGEST_SIZE or (taken_s is not None and taken_s * (LONG - SHORT) >= LONG_ENOUGH_S):
            break
        size *= 2
    if taken_s is not None:
        yield Ceiling(what="gemm", type=precision, per_s=2 * size**3 / taken_s, size=size)
    taken_s = _one(open_session, "Neg", (2**12, COPY_ELEMENTS // 2**12), "fp32")
    if taken_s is not None:
        yield Ceiling(what="copy", type="", per_s=2 * 4 * COPY_ELEMENTS / taken_s, size=4 * COPY_ELEMENTS)


def _one(
    open_session: Callable[[bytes], Any], operator: str, shape: tuple[int, int], precision: Precision
) -> float | None:
    times_s = []
    for length in (SHORT, LONG):
        session = open_session(_chain(operator, length, shape, precision))
        factor = {"x": np.ones((1, 1), np.float16 if precision == "fp16" else np.float32)}
        session.run(None, factor)
        calls_s = []
        for _ in range(_REPEATS):
            start_s = time.perf_counter()
            session.run(None, factor)
            calls_s.append(time.perf_counter() - start_s)
        times_s.append(min(calls_s))
    difference_s = times_s[1] - times_s[0]
    return difference_s / (LONG - SHORT) if difference_s > 0 else None


def _chain(operator: str, length: int, shape: tuple[int, int], precision: Precision) -> bytes:
    """A graph that does the same so many times over: x -> spread -> operator ... -> one number."""
    from onnx import TensorProto, helper  # noqa: PLC0415  (the window's process never comes here)

    kind = TensorProto.FLOAT16 if precision == "fp16" else TensorProto.FLOAT
    nodes = [
        helper.make_node(
            "ConstantOfShape", ["shape"], ["zeros"], value=helper.make_tensor("v", kind, [1], [0.0])
        ),
        helper.make_node("Add", ["zeros", "x"], ["ones"]),
    ]
    if operator == "MatMul":
        # A product with rows that sum up to 1 leaves the ones: no element grows along the chain.
        nodes.append(helper.make_node("Mul", ["ones", "share"], ["weights"]))
    before = "ones"
    for number in range(length):
        inputs = [before, "weights"] if operator == "MatMul" else [before]
        nodes.append(helper.make_node(operator, inputs, [f"y{number}"]))
        before = f"y{number}"
    nodes.append(helper.make_node("ReduceMax", [before], ["y"], keepdims=0))
    graph = helper.make_graph(
        nodes,
        "ceiling",
        [helper.make_tensor_value_info("x", kind, (1, 1))],
        [helper.make_tensor_value_info("y", kind, ())],
        [
            helper.make_tensor("shape", TensorProto.INT64, [2], list(shape)),
            helper.make_tensor("share", kind, [1], [1 / shape[0]]),
        ],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", _OPSET)], ir_version=10)
    return bytes(model.SerializeToString())
