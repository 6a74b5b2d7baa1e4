"""Which model is run, and what its export left on disk.

A model is exported once, in a child process, into a folder of its own that every
backend reads. ``resources/edge/export_model.py`` writes it, without importing
this module; ``PREPARED_SCHEMA`` says which layout both mean.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal

import msgspec

ModelSource = Literal["preset", "script", "onnx", "pt2"]
Precision = Literal["fp32", "fp16"]

PREPARED_SCHEMA: Final = 1
PREPARED_FILE: Final = "model.json"
"""Written last: a folder without it was not finished."""

PRESET_SIZES: Final[dict[str, dict[str, int]]] = {
    "tiny": {"vocab": 1000, "dim": 64, "layers": 2, "heads": 4},
    "small": {"vocab": 2000, "dim": 256, "layers": 4, "heads": 8},
    "seed": {"vocab": 32000, "dim": 2048, "layers": 12, "heads": 16},
}
"""MiniLLM of ``resources/examples/train_fsdp.py``: the arguments of its class."""

PRESET_TOKENS: Final[dict[str, tuple[int, ...]]] = {
    "tiny": (64, 16),
    "small": (128, 32),
    "seed": (512, 128),
}
"""Lengths of the prefill that are run; the first is the one that is judged and compared."""


def preset_parameters(name: str) -> int:
    """Parameters of a preset: embedding and head, and of each block attention, feed-forward and two norms."""
    size = PRESET_SIZES[name]
    dim = size["dim"]
    return 2 * size["vocab"] * dim + size["layers"] * (4 * dim**2 + 8 * dim**2 + 2 * dim) + dim


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelSpec:
    """The model that somebody asks for.

    Attributes:
        source: Where it comes from.
        target: The preset's name, or the absolute path of the script or file.
        factory: The function of a script that returns ``(model, example_inputs)``; "" else.
        tokens: Lengths of the prefill, the judged one first; empty for a model with inputs of its own.
        checkpoint: Path of a file of weights (``state_dict``), "" for those of a fixed seed.
        decode: Whether the cached decode is run too: another model, with a causal mask.
    """

    source: ModelSource
    target: str
    factory: str = ""
    tokens: tuple[int, ...] = ()
    checkpoint: str = ""
    decode: bool = False


class TensorFact(msgspec.Struct, frozen=True, kw_only=True):
    """A tensor that a device has to hold: a weight, or what an operator gives."""

    name: str
    shape: tuple[int, ...]
    dtype: str
    """As torch spells it without the "torch.": float32, int64."""
    size_bytes: int
    kind: Literal["weight", "activation"]


class OperatorFact(msgspec.Struct, frozen=True, kw_only=True):
    """An operator of the model and where it stands in the source."""

    name: str
    """As torch spells it: aten.mm.default."""
    calls: int
    sources: tuple[str, ...] = ()
    """"train_fsdp.py:57", as far as the export knows them."""
    dtypes: tuple[str, ...] = ()
    """Of its inputs and outputs."""


class PreparedCase(msgspec.Struct, frozen=True, kw_only=True):
    """The model at one length, or its decode: files are names within the folder."""

    name: str
    """"prefill-64", "decode", or "run" for a model with inputs of its own."""
    onnx: str
    """The graph at this precision; weights beside it in ``weights`` where they are not inside."""
    inputs: str
    """.npz with one array for each input, named as the graph names them, in its order."""
    reference: str
    """.npz of the same kind with each output, computed in fp32 on the CPU."""
    tokens: int | None = None
    flops: int | None = None
    """Of one call, multiply and add counted as two; None if not counted."""
    reference_call_s: float | None = None
    """Median of the warm calls of the reference."""


class PreparedModel(msgspec.Struct, frozen=True, kw_only=True):
    """What the export of a model left in its folder."""

    schema: int
    title: str
    """"MiniLLM tiny"."""
    precision: Precision
    reference: str
    """Who computed the reference: "torch 2.13.0, CPU"."""
    parameters: int
    weight_bytes: int
    cases: tuple[PreparedCase, ...]
    tensors: tuple[TensorFact, ...]
    """The weights, and the largest results of operators."""
    operators: tuple[OperatorFact, ...]
    export_s: float
    """What the export to ONNX took, all cases together; without the reference."""
    causal_decode: bool = False
    problems: tuple[tuple[str, str], ...] = ()
    """(code, message) of what the export has to say."""
