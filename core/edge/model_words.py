"""Which model is meant: what somebody types, or what is dropped on the page. No code of the user's is run."""

from __future__ import annotations

import ast
import os
from pathlib import Path
from typing import Final

from core.edge.models import PRESET_SIZES, PRESET_TOKENS, ModelSpec
from core.errors import DashboardError
from core.files import printable

_BUILDERS: Final = ("build", "make", "create", "get", "load", "model")
_MOST_LISTED: Final = 5
_MOST_SCRIPT_BYTES: Final = 2**22


def model_spec(
    *,
    preset: str | None = None,
    model: str | None = None,
    tokens: int | None = None,
    checkpoint: str | None = None,
    decode: bool = False,
) -> ModelSpec:
    """Makes a spec of what was asked for.

    Args:
        preset: A size of MiniLLM; without it and without ``model`` the smallest.
        model: "script.py:factory", or a path that ends with .onnx or .pt2.
        tokens: Length of a preset's prefill; None is the preset's own lengths.
        checkpoint: A file of weights.
        decode: Whether a preset also decodes with a cache.

    Raises:
        DashboardError: It is none, or what was asked for does not go together.
    """
    if preset is not None and model is not None:
        raise DashboardError("A preset and a model file were named.", "Name one of them.")
    weights = "" if not checkpoint else _existing(checkpoint)
    if model is None:
        name = preset or next(iter(PRESET_SIZES))
        if name not in PRESET_SIZES:
            raise DashboardError(
                f"There is no preset {printable(name)}.", f"Presets are: {', '.join(PRESET_SIZES)}."
            )
        lengths = PRESET_TOKENS[name] if tokens is None else (tokens,)
        return ModelSpec(source="preset", target=name, tokens=lengths, checkpoint=weights, decode=decode)
    if tokens is not None or decode:
        raise DashboardError(
            "A model of your own has its own inputs: there is no length to choose, and no decode.",
            "Leave out --tokens and --decode.",
        )
    path, factory = _split(model)
    suffix = Path(path).suffix.casefold()
    if suffix in (".onnx", ".pt2"):
        if factory:
            raise DashboardError(
                f"{printable(model)} names a function of a file that has none.", f"Name {printable(path)}."
            )
        if weights and suffix == ".onnx":
            raise DashboardError("An ONNX file holds its weights.", "Leave out --checkpoint.")
        target = _existing(path)
        return ModelSpec(source="onnx" if suffix == ".onnx" else "pt2", target=target, checkpoint=weights)
    if suffix != ".py":
        raise DashboardError(
            f"{printable(path)} is no model: neither a script (.py) nor .onnx nor .pt2.",
            "Name a file and its function: model.py:build_model",
        )
    target = _existing(path)
    if not factory:
        raise _no_factory(target)
    return ModelSpec(source="script", target=target, factory=factory, checkpoint=weights)


def _split(text: str) -> tuple[str, str]:
    """Takes "file.py:factory" apart; a file whose own name holds the colon is a file."""
    path, colon, factory = text.rpartition(":")
    if not colon or os.path.exists(text) or not factory.isidentifier():
        return text, ""
    return path, factory


def _existing(path: str) -> str:
    absolute = os.path.abspath(os.path.expanduser(path))
    if os.path.isfile(absolute):
        return absolute
    what = "is a folder" if os.path.isdir(absolute) else "is not there"
    raise DashboardError(f"{printable(path)} {what}.", "Name a file.")


def _no_factory(path: str) -> DashboardError:
    """Says how to name a function, with those that look like one."""
    name = printable(os.path.basename(path))
    found = functions_of(Path(path))
    likely = [each for each in found if each.casefold().startswith(_BUILDERS)] or found
    example = likely[0] if likely else "build_model"
    listed = f" It defines {', '.join(likely[:_MOST_LISTED])}." if likely else ""
    return DashboardError(
        f"{name} is named without the function that builds the model.{listed}",
        f"Name it: {name}:{example}, a function without arguments that returns (model, example_inputs).",
    )


def functions_of(path: Path) -> list[str]:
    """Names of the functions at a script's top, without running it; [] if it cannot be read."""
    try:
        text = path.read_bytes()[:_MOST_SCRIPT_BYTES]
        tree = ast.parse(text)
    except (OSError, SyntaxError, ValueError, RecursionError, MemoryError):
        return []
    return [node.name for node in tree.body if isinstance(node, ast.FunctionDef)]
