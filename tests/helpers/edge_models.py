"""A prepared folder with a small graph written by hand: softmax(x W V), at two lengths, with its answer."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec
import numpy as np
from onnx import TensorProto, helper, numpy_helper, save

from core.edge.models import PreparedCase, PreparedModel, TensorFact

if TYPE_CHECKING:
    from pathlib import Path

    from onnx import NodeProto

    from core.edge.models import Precision

WIDTH, INNER, CLASSES = 32, 48, 20
LENGTHS = (8, 4)


def prepared_softmax(folder: Path, precision: Precision = "fp32") -> PreparedModel:
    """Writes the folder; the weights are the same at both lengths."""
    random = np.random.default_rng(0)
    dtype = np.float16 if precision == "fp16" else np.float32
    first = random.standard_normal((WIDTH, INNER)).astype(np.float32) / WIDTH**0.5
    second = random.standard_normal((INNER, CLASSES)).astype(np.float32) / INNER**0.5
    cases = []
    for tokens in LENGTHS:
        x = random.standard_normal((tokens, WIDTH)).astype(np.float32)
        scores = x @ first @ second
        shares = np.exp(scores - scores.max(axis=-1, keepdims=True))
        name = f"prefill-{tokens}"
        np.savez(folder / f"{name}-inputs.npz", x=x.astype(dtype))
        np.savez(folder / f"{name}-reference.npz", y=shares / shares.sum(axis=-1, keepdims=True))
        nodes = [
            helper.make_node("MatMul", ["x", "first"], ["inner"]),
            helper.make_node("MatMul", ["inner", "second"], ["scores"]),
            helper.make_node("Softmax", ["scores"], ["y"], axis=-1),
        ]
        weights = {"first": first.astype(dtype), "second": second.astype(dtype)}
        write_graph(folder / f"{name}.onnx", nodes, weights, (tokens, WIDTH), (tokens, CLASSES), precision)
        cases.append(
            PreparedCase(
                name=name,
                onnx=f"{name}.onnx",
                inputs=f"{name}-inputs.npz",
                reference=f"{name}-reference.npz",
                tokens=tokens,
                flops=2 * tokens * (WIDTH * INNER + INNER * CLASSES),
            )
        )
    size = dtype().itemsize
    model = PreparedModel(
        schema=1,
        title="Softmax",
        precision=precision,
        reference="NumPy",
        parameters=WIDTH * INNER + INNER * CLASSES,
        weight_bytes=size * (WIDTH * INNER + INNER * CLASSES),
        cases=tuple(cases),
        tensors=(
            TensorFact(
                name="first",
                shape=(WIDTH, INNER),
                dtype=np.dtype(dtype).name,
                size_bytes=size * WIDTH * INNER,
                kind="weight",
            ),
        ),
        operators=(),
        export_s=0.0,
    )
    (folder / "model.json").write_bytes(msgspec.json.encode(model))
    return model


def write_graph(  # noqa: PLR0917  (what a graph is made of)
    path: Path,
    nodes: list[NodeProto],
    weights: dict[str, np.ndarray],
    shape: tuple[int, ...],
    given: tuple[int | None, ...],
    precision: Precision = "fp32",
    result: int | None = None,
) -> None:
    """Writes a graph from ``x`` to ``y``.

    Args:
        path: Of the file.
        nodes: Of the graph.
        weights: By name.
        shape: Of x.
        given: Shape of y.
        precision: Of x and y.
        result: Data type of y, if it is another one.
    """
    kind = TensorProto.FLOAT16 if precision == "fp16" else TensorProto.FLOAT
    graph = helper.make_graph(
        nodes,
        "graph",
        [helper.make_tensor_value_info("x", kind, shape)],
        [helper.make_tensor_value_info("y", result or kind, given)],
        [numpy_helper.from_array(array, name) for name, array in weights.items()],
    )
    save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=10), path)
