"""The file for phones: lowered where ExecuTorch is installed, and refused in one line where it is not."""

from __future__ import annotations

import importlib.util
import json
import logging
import sys
from pathlib import Path

import pytest

from core.edge import phone_pte
from core.edge.models import PRESET_SIZES
from core.edge.phone_pte import PteExport, PteOperator, export_pte
from core.errors import DashboardError
from core.files import EXAMPLES

HAS_EXECUTORCH = importlib.util.find_spec("executorch") is not None


def minillm(folder: Path, precision: str = "fp32") -> None:
    """Writes the request alone: lowering builds the model from it."""
    preset = {"file": str(EXAMPLES / "train_fsdp.py"), "arguments": PRESET_SIZES["tiny"]}
    spec = {
        "source": "preset",
        "target": "tiny",
        "factory": "",
        "tokens": [8],
        "checkpoint": "",
        "decode": False,
    }
    request = {"schema": 1, "spec": spec, "precision": precision, "preset": preset}
    (folder / "request.json").write_text(json.dumps(request))


@pytest.mark.skipif(not HAS_EXECUTORCH, reason="ExecuTorch is an optional extra")
@pytest.mark.parametrize("precision", ["fp32", "fp16"])
def test_a_model_is_lowered_and_what_vulkan_does_not_take_is_named(tmp_path: Path, precision: str) -> None:
    minillm(tmp_path, precision)
    output = tmp_path / "tiny.pte"
    done = export_pte(tmp_path, "prefill-8", output, interpreter=sys.executable)
    assert done.size_bytes == output.stat().st_size > 100_000
    assert output.read_bytes()[4:6] == b"ET"  # the identifier of the file's schema
    assert done.parts >= 1
    names = {each.name: each for each in done.operators}
    assert names["aten_mm_default"].delegated > 0
    assert names["aten_mm_default"].left == 0
    assert all(each.reason for each in done.not_delegated)


def test_without_executorch_it_is_refused_with_the_line_that_installs_it(tmp_path: Path) -> None:
    if HAS_EXECUTORCH:
        pytest.skip("it is installed here")
    minillm(tmp_path)
    with pytest.raises(DashboardError) as refused:
        export_pte(tmp_path, "prefill-8", tmp_path / "tiny.pte", interpreter=sys.executable)
    assert refused.value.message.startswith(f"ExecuTorch cannot be imported by {sys.executable}")
    assert refused.value.hint == f"{sys.executable} -m pip install executorch"
    assert not (tmp_path / "tiny.pte").exists()


def test_a_cancel_leaves_nothing(tmp_path: Path) -> None:
    minillm(tmp_path)
    with pytest.raises(DashboardError, match="was cancelled"):
        export_pte(
            tmp_path, "prefill-8", tmp_path / "tiny.pte", interpreter=sys.executable, cancelled=lambda: True
        )
    assert list(tmp_path.glob("*.pte*")) == []


def test_a_crash_is_a_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    script = tmp_path / "script.py"
    monkeypatch.setattr(phone_pte, "SCRIPT", script)
    for lines, code in (("raise SystemExit('no memory')", 1), ('print(\'{"event": "exported"}\')', 0)):
        script.write_text(lines)
        with pytest.raises(DashboardError, match=f"ended with exit code {code}"):
            export_pte(tmp_path, "run", tmp_path / "x.pte", interpreter=sys.executable)


def test_reasons_are_read_from_the_partitioners_log() -> None:
    spec = importlib.util.spec_from_file_location("export_pte", phone_pte.SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    reasons = module.Reasons()
    line = (
        "[Vulkan Partitioner] Due to [no operator implementation], skipping torch.float32: "
        "torch.Size([1, 16, 1]) = aten.add.Scalar(torch.float32: torch.Size([1, 16, 1]), 1.19e-07, ...)"
    )
    for text in (line, "Found 10 Vulkan subgraphs to be partitioned."):
        reasons.emit(logging.LogRecord("root", logging.INFO, "", 0, text, (), None))
    assert reasons.found == {"aten_add_scalar": ("aten.add.Scalar", "no operator implementation")}


def test_what_stays_on_the_cpu_is_listed() -> None:
    done = PteExport(
        path=Path("x.pte"),
        size_bytes=1,
        executorch="1.5.1",
        seconds=1.0,
        parts=2,
        operators=(
            PteOperator(name="aten.mm.default", delegated=3, left=0),
            PteOperator(name="aten.any.dim", delegated=0, left=2, reason="no operator implementation"),
        ),
    )
    assert [each.name for each in done.not_delegated] == ["aten.any.dim"]
