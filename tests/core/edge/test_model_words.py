"""What is typed or dropped as a model, and how a wrong one is refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from core.edge.model_words import model_spec
from core.errors import DashboardError


def test_nothing_typed_is_the_smallest_preset() -> None:
    spec = model_spec()
    assert (spec.source, spec.target, spec.tokens) == ("preset", "tiny", (64, 16))
    assert model_spec(preset="small", tokens=7).tokens == (7,)


def test_a_script_needs_its_function_and_lists_those_it_has(tmp_path: Path) -> None:
    path = tmp_path / "net.py"
    path.write_text("raise SystemExit\ndef helper(): pass\ndef build_small(): pass\n")
    spec = model_spec(model=f"{path}:build_small")
    assert (spec.source, spec.target, spec.factory) == ("script", str(path), "build_small")
    with pytest.raises(DashboardError) as caught:
        model_spec(model=str(path))
    assert "It defines build_small." in caught.value.message
    assert "net.py:build_small" in caught.value.hint


@pytest.mark.parametrize("content", [b"", b"def (", b"\xff\x00"])
def test_a_script_that_cannot_be_read_still_has_a_hint(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "net.py"
    path.write_bytes(content)
    with pytest.raises(DashboardError) as caught:
        model_spec(model=str(path))
    assert "net.py:build_model" in caught.value.hint


def test_files_are_told_by_their_end(tmp_path: Path) -> None:
    for name, source in (("a.onnx", "onnx"), ("b.PT2", "pt2")):
        (tmp_path / name).write_bytes(b"")
        assert model_spec(model=str(tmp_path / name)).source == source
    odd = tmp_path / "c:d.onnx"
    odd.write_bytes(b"")
    assert model_spec(model=str(odd)).target == str(odd)


@pytest.mark.parametrize(
    ("words", "error"),
    [
        ({"preset": "huge"}, "There is no preset huge"),
        ({"preset": "tiny", "model": "a.onnx"}, "A preset and a model file"),
        ({"model": "nosuch.onnx"}, "nosuch.onnx is not there"),
        ({"model": "/"}, "is no model"),
        ({"model": "weights.safetensors"}, "is no model"),
        ({"model": "a.onnx", "tokens": 3}, "its own inputs"),
        ({"preset": "tiny", "checkpoint": "nosuch.pt"}, "nosuch.pt is not there"),
    ],
)
def test_what_is_no_model_is_refused_with_a_hint(words: dict[str, str], error: str) -> None:
    with pytest.raises(DashboardError) as caught:
        model_spec(**words)  # type: ignore[arg-type]
    assert error in caught.value.message
    assert caught.value.hint
