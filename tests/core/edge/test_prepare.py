"""Exports, for real: presets, scripts, .onnx, .pt2, weights of a checkpoint, and what cannot be exported."""

from __future__ import annotations

import os
import sys
import textwrap
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

from core.edge.model_words import model_spec
from core.edge.models import PreparedModel
from core.edge.prepare import Prepared, prepare_model, trim
from core.errors import DashboardError
from core.files import app_folders

SCRIPT = """
import torch
from torch import nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(8, 16)
        self.second = nn.Linear(16, 4)

    def forward(self, x):
        h = torch.relu(self.first(x))
        return torch.softmax(self.second(h), dim=-1)

def build_net():
    torch.manual_seed(3)
    return Net(), (torch.randn(2, 8),)
"""


def prepare(precision: Any = "fp32", **words: Any) -> Prepared:
    return prepare_model(model_spec(**words), precision, interpreter=sys.executable)


def script(folder: Path, text: str, name: str = "net.py") -> str:
    path = folder / name
    path.write_text(textwrap.dedent(text))
    return str(path)


def arrays(prepared: Prepared, name: str) -> list[np.ndarray]:
    with np.load(prepared.folder / name) as stored:
        return [stored[key] for key in stored.files]


def evaluate(prepared: Prepared) -> list[np.ndarray]:
    """Run the exported graph of the judged case by ONNX's own evaluator."""
    from onnx.reference import ReferenceEvaluator

    case = prepared.model.cases[0]
    with np.load(prepared.folder / case.inputs) as stored:
        inputs = {key: stored[key] for key in stored.files}
    given = ReferenceEvaluator(str(prepared.folder / case.onnx)).run(None, inputs)
    assert isinstance(given, list)
    return given


def test_a_preset_is_exported_at_its_lengths_and_known_the_next_time() -> None:
    prepared = prepare(preset="tiny", tokens=8, decode=True)
    model = prepared.model
    assert not prepared.cached
    assert [case.name for case in model.cases] == ["prefill-8", "decode"]
    assert model.title == "MiniLLM tiny"
    assert model.reference.startswith("torch ")
    # 2 x vocabulary x width, and two blocks of 12 width squared with their norms.
    assert model.parameters == 2 * 1000 * 64 + 2 * (12 * 64**2 + 2 * 64) + 64
    assert model.weight_bytes == 4 * model.parameters
    (scores,) = arrays(prepared, model.cases[0].reference)
    assert scores.shape == (1, 8, 1000)
    assert scores.dtype == np.float32
    # FLOP: 2 x tokens x weights of the products, and the two products of attention.
    products = 8 * 2 * (2 * 12 * 64**2 + 1000 * 64) + 2 * 2 * 2 * 8 * 8 * 64
    assert model.cases[0].flops == products
    assert model.cases[1].tokens == 1
    assert model.causal_decode
    names = {each.name for each in model.operators}
    assert any("attention" in name or "softmax" in name for name in names)
    assert any(source.startswith("train_fsdp.py:") for each in model.operators for source in each.sources)
    largest = max(model.tensors, key=lambda each: each.size_bytes)
    assert largest.kind == "weight"
    assert largest.shape == (1000, 64)
    again = prepare(preset="tiny", tokens=8, decode=True)
    assert again.cached
    assert again.folder == prepared.folder
    assert [path.name for path in prepared.folder.parent.iterdir()] == [prepared.folder.name]


def test_the_decode_gives_what_the_whole_causal_model_gives() -> None:
    """Token after token through the cache, against all tokens at once."""
    import importlib.util

    import torch

    folder = Path(__file__).parents[3] / "resources" / "edge"
    spec = importlib.util.spec_from_file_location("export_decode", folder / "export_decode.py")
    assert spec is not None
    assert spec.loader is not None
    decode = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(decode)
    from resources.examples.train_fsdp import MiniLLM

    torch.manual_seed(0)
    model = decode.CausalDecode(MiniLLM(50, 32, 2, 4).eval(), 4).eval()
    tokens = torch.randint(50, (1, 6))
    with torch.no_grad():
        whole = model.score_all(tokens)
        k, v = model.empty_cache(6)
        for step in range(6):
            scores, k, v = model(tokens[:, step : step + 1], torch.tensor([step]), k, v)
            torch.testing.assert_close(scores[:, 0], whole[:, step])


def test_half_precision_keeps_the_reference_in_fp32() -> None:
    prepared = prepare("fp16", preset="tiny", tokens=4)
    full = prepare(preset="tiny", tokens=4)
    assert prepared.folder != full.folder
    assert prepared.model.weight_bytes == full.model.weight_bytes // 2
    (half,), (wanted,) = (arrays(each, "prefill-4.reference.npz") for each in (prepared, full))
    np.testing.assert_array_equal(half, wanted)
    assert half.dtype == np.float32


def test_a_factory_of_a_script_is_called_in_its_own_folder(tmp_path: Path) -> None:
    script(tmp_path, "SCALE = 2.0\n", "beside.py")
    path = script(
        tmp_path,
        SCRIPT.replace(
            "return torch.softmax(", "import beside\n        return beside.SCALE * torch.softmax("
        ),
    )
    prepared = prepare(model=f"{path}:build_net")
    (given,), (wanted,) = evaluate(prepared), arrays(prepared, "run.reference.npz")
    assert wanted.sum() == pytest.approx(4.0, rel=1e-5)
    np.testing.assert_allclose(given, wanted, atol=1e-6)
    assert prepared.model.title == "net.py:build_net"
    assert any(source.startswith("net.py:") for each in prepared.model.operators for source in each.sources)
    assert prepare(model=f"{path}:build_net").cached
    # What the script imports is part of it.
    script(tmp_path, "SCALE = 3.0  # another\n", "beside.py")
    changed = prepare(model=f"{path}:build_net")
    assert not changed.cached
    assert arrays(changed, "run.reference.npz")[0].sum() == pytest.approx(6.0, rel=1e-5)


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("def build_net():\n    return 3\n", "returned a int instead of a model and its example inputs"),
        ("def other():\n    pass\n", "There is no function build_net of net.py"),
        (
            "import nosuchmodule\ndef build_net(): pass\n",
            "ModuleNotFoundError: No module named 'nosuchmodule', at net.py:1",
        ),
        ("def build_net(:\n", "SyntaxError"),
        ("def build_net():\n    raise KeyError('weights')\n", "KeyError: 'weights', at net.py:2"),
        (SCRIPT.replace("self.first(x)", "self.first(x.T)"), "at net.py:12"),
        (
            "import os\ndef build_net():\n    os._exit(7)\n",
            "The export ended with exit code 7 while building the model",
        ),
    ],
)
def test_what_is_wrong_in_a_script_is_told_in_one_line(tmp_path: Path, text: str, error: str) -> None:
    path = script(tmp_path, text)
    with pytest.raises(DashboardError) as caught:
        prepare(model=f"{path}:build_net")
    assert error in caught.value.message
    assert "\n" not in caught.value.message
    assert caught.value.hint
    assert list((app_folders().cache / "edge" / "models").iterdir()) == []


def test_an_operator_that_onnx_has_not_is_named_with_its_line(tmp_path: Path) -> None:
    path = script(
        tmp_path,
        SCRIPT.replace("h = torch.relu(self.first(x))", "h = torch.special.airy_ai(self.first(x))"),
    )
    with pytest.raises(DashboardError) as caught:
        prepare(model=f"{path}:build_net")
    assert "aten.special_airy_ai" in caught.value.message
    assert "net.py:12" in caught.value.message


def onnx_file(path: Path, rows: int | str = 2) -> Path:
    weights = np.arange(12, dtype=np.float32).reshape(3, 4)
    graph = helper.make_graph(
        [helper.make_node("MatMul", ["x", "w"], ["y"])],
        "g",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [rows, 3])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [rows, 4])],
        [onnx.numpy_helper.from_array(weights, "w")],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=10)
    onnx.save(model, path)
    return path


def test_an_onnx_file_is_taken_as_it_is(tmp_path: Path) -> None:
    path = onnx_file(tmp_path / "net.onnx")
    prepared = prepare(model=str(path))
    model: PreparedModel = prepared.model
    assert (prepared.folder / "run.onnx").read_bytes() == path.read_bytes()
    (x,) = arrays(prepared, "run.inputs.npz")
    (y,) = arrays(prepared, "run.reference.npz")
    np.testing.assert_allclose(y, x @ np.arange(12, dtype=np.float32).reshape(3, 4), rtol=1e-5)
    assert (model.title, model.parameters, model.weight_bytes) == ("net.onnx", 12, 48)
    assert "CPU" in model.reference or "reference evaluator" in model.reference


def test_open_sizes_of_an_onnx_file_are_closed(tmp_path: Path) -> None:
    prepared = prepare(model=str(onnx_file(tmp_path / "open.onnx", "batch")))
    assert arrays(prepared, "run.inputs.npz")[0].shape == (1, 3)
    assert evaluate(prepared)[0].shape == (1, 4)


@pytest.mark.parametrize("content", [b"", b"no model", b"\x08\x0a\x12\x03abc"])
def test_a_file_that_is_no_onnx_is_refused(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "bad.onnx"
    path.write_bytes(content)
    with pytest.raises(DashboardError, match=r"bad\.onnx"):
        prepare(model=str(path))


def test_weights_of_an_onnx_file_come_from_beside_it_only(tmp_path: Path) -> None:
    (tmp_path / "secret").write_bytes(b"x" * 48)
    folder = tmp_path / "models"
    folder.mkdir()
    model = onnx.load(onnx_file(folder / "net.onnx"))
    tensor = model.graph.initializer[0]
    onnx.external_data_helper.set_external_data(tensor, "../secret")
    tensor.ClearField("raw_data")
    (folder / "net.onnx").write_bytes(model.SerializeToString())
    with pytest.raises(DashboardError):
        prepare(model=str(folder / "net.onnx"))


def test_an_exported_program_is_loaded(tmp_path: Path) -> None:
    import torch

    module = torch.nn.Sequential(torch.nn.Linear(3, 5), torch.nn.Sigmoid()).eval()
    inputs = (torch.ones(2, 3),)
    path = tmp_path / "net.pt2"
    torch.export.save(torch.export.export(module, inputs), path)
    prepared = prepare(model=str(path))
    np.testing.assert_allclose(
        arrays(prepared, "run.reference.npz")[0], module(*inputs).detach().numpy(), atol=1e-6
    )
    np.testing.assert_allclose(evaluate(prepared)[0], arrays(prepared, "run.reference.npz")[0], atol=1e-6)
    with pytest.raises(DashboardError, match="types that it was exported with"):
        prepare("fp16", model=str(path))


def test_objects_in_an_exported_program_are_never_loaded(tmp_path: Path) -> None:
    """What is pickled in an archive could run code."""
    import zipfile

    path = tmp_path / "evil.pt2"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("m/archive_format", "pt2")
        archive.writestr("m/data/constants/opaque_obj_0", b"cos\nsystem\n(S'touch pwned'\ntR.")
    with pytest.raises(DashboardError, match="could run code"):
        prepare(model=str(path))
    path.write_bytes(b"PK")
    with pytest.raises(DashboardError, match="no archive"):
        prepare(model=str(path))


def test_weights_come_from_a_checkpoint_whatever_wraps_their_names(tmp_path: Path) -> None:
    import torch

    from resources.examples.train_fsdp import MiniLLM

    torch.manual_seed(7)
    model = MiniLLM(1000, 64, 2, 4)
    weights = {f"module._orig_mod.{name}": value for name, value in model.state_dict().items()}
    path = tmp_path / "weights.pt"
    torch.save({"model": weights, "step": 3}, path)
    prepared = prepare(preset="tiny", tokens=4, checkpoint=str(path))
    (tokens,) = arrays(prepared, "prefill-4.inputs.npz")
    with torch.no_grad():
        wanted = model.eval()(torch.from_numpy(tokens)).numpy()
    np.testing.assert_allclose(arrays(prepared, "prefill-4.reference.npz")[0], wanted, atol=1e-6)
    with pytest.raises(DashboardError) as caught:
        prepare(preset="small", tokens=4, checkpoint=str(path))
    assert "weights.pt lacks blocks.2" in caught.value.message


def test_a_checkpoint_that_runs_code_is_not_loaded(tmp_path: Path) -> None:
    import pickle

    class Evil:
        def __reduce__(self) -> tuple[Any, tuple[str]]:
            return (os.system, (f"touch {tmp_path / 'pwned'}",))

    path = tmp_path / "weights.pt"
    path.write_bytes(pickle.dumps({"a": Evil()}))
    with pytest.raises(DashboardError, match="cannot be loaded as weights"):
        prepare(preset="tiny", tokens=4, checkpoint=str(path))
    assert not (tmp_path / "pwned").exists()


def test_an_interpreter_that_lacks_packages_is_named(tmp_path: Path) -> None:
    bare = tmp_path / "python"
    bare.write_text(f'#!/bin/sh\nexec {sys._base_executable} -I "$@"\n')  # type: ignore[attr-defined]
    bare.chmod(0o755)
    with pytest.raises(DashboardError) as caught:
        prepare_model(model_spec(preset="tiny"), "fp32", interpreter=str(bare))
    assert "has no torch and no onnxscript" in caught.value.message
    assert caught.value.hint.startswith("Install it there: pip install torch")
    with pytest.raises(DashboardError, match="cannot be started"):
        prepare_model(model_spec(preset="tiny"), "fp32", interpreter=str(tmp_path / "nosuch"))


def test_a_cancel_leaves_nothing_behind() -> None:
    told: list[str] = []

    def tell(words: str, _share: float | None) -> None:
        told.append(words)

    with pytest.raises(DashboardError, match="cancelled"):
        prepare_model(
            model_spec(preset="tiny"),
            "fp32",
            interpreter=sys.executable,
            progress=tell,
            cancelled=lambda: "importing PyTorch" in told,
        )
    assert list((app_folders().cache / "edge" / "models").iterdir()) == []


def test_an_export_that_another_window_made_meanwhile_stays() -> None:
    """A worker of that window may be reading it."""
    first: list[tuple[Prepared, int]] = []

    def tell(words: str, _share: float | None) -> None:
        if words.startswith("exporting to ONNX") and not first:
            made = prepare(preset="tiny", tokens=8)
            first.append((made, made.folder.stat().st_ino))

    late = prepare_model(
        model_spec(preset="tiny", tokens=8), "fp32", interpreter=sys.executable, progress=tell
    )
    ((made, inode),) = first
    assert late.folder == made.folder
    assert late.folder.stat().st_ino == inode
    assert late.model == made.model
    assert list(late.folder.parent.iterdir()) == [late.folder]


def test_the_longest_unused_go_first(tmp_path: Path) -> None:
    tmp_path = tmp_path / "entries"
    tmp_path.mkdir()
    for place, name in enumerate(("old", "middle", "new")):
        (tmp_path / name).mkdir()
        (tmp_path / name / "x").write_bytes(b"x" * 1000)
        os.utime(tmp_path / name, (place, place))
    trim(tmp_path, 2000)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["middle", "new"]
    trim(tmp_path, 0, keep=tmp_path / "middle")
    assert [path.name for path in tmp_path.iterdir()] == ["middle"]
