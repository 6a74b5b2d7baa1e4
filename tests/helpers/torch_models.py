"""A prepared folder with a model of two rows of weights, and the file that builds it in PyTorch.

It stands where an export of seconds would add nothing: what a worker does with
times, outputs and errors. What is the right answer can be written down.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
import numpy as np

from core.edge.events import Event, WorkerJob
from core.edge.models import PRESET_SIZES, PreparedCase, PreparedModel
from core.edge.torch_source import TORCH_WORKER
from core.files import EXAMPLES

if TYPE_CHECKING:
    from core.edge.models import ModelSource, Precision

BUILD = """
import torch

class Scaled(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]))

    def forward(self, x):
        {forward}

def build_cases(request):
    model = Scaled().eval()
    return {{"run": (model, (torch.ones(1, 2),)), "long": (model, (torch.ones(4, 2),))}}
"""

ROWS = np.array([[1, 2, 3], [4, 5, 6]], dtype=np.float32)


def prepared(folder: Path, source: ModelSource = "script") -> PreparedModel:
    """Writes the folder; the model multiplies its input with ``ROWS``."""
    cases = []
    for name, rows in (("run", 1), ("long", 4)):
        x = np.arange(rows * 2, dtype=np.float32).reshape(rows, 2)
        np.savez(folder / f"{name}-inputs.npz", x=x)
        np.savez(folder / f"{name}-reference.npz", y=x @ ROWS)
        cases.append(
            PreparedCase(
                name=name, onnx="", inputs=f"{name}-inputs.npz", reference=f"{name}-reference.npz", flops=12
            )
        )
    model = PreparedModel(
        schema=1,
        title="Scaled",
        precision="fp32",
        reference="NumPy",
        parameters=6,
        weight_bytes=24,
        cases=tuple(cases),
        tensors=(),
        operators=(),
        export_s=0.0,
    )
    (folder / "request.json").write_text(json.dumps({"spec": {"source": source, "target": "model.py"}}))
    (folder / "model.json").write_bytes(msgspec.json.encode(model))
    return model


def prepared_graph(folder: Path) -> PreparedModel:
    """Writes the folder with its graph in ONNX: the product, and one node more."""
    from onnx import TensorProto, helper, numpy_helper, save

    model = prepared(folder, "onnx")
    cases = []
    for case in model.cases:
        graph = helper.make_graph(
            [helper.make_node("MatMul", ["x", "rows"], ["z"]), helper.make_node("Neg", ["z"], ["y"])],
            "scaled",
            [helper.make_tensor_value_info("x", TensorProto.FLOAT, (None, 2))],
            [helper.make_tensor_value_info("y", TensorProto.FLOAT, (None, 3))],
            [numpy_helper.from_array(-ROWS, "rows")],
        )
        opset = [helper.make_opsetid("", 20)]
        save(helper.make_model(graph, opset_imports=opset, ir_version=10), folder / f"{case.name}.onnx")
        cases.append(msgspec.structs.replace(case, onnx=f"{case.name}.onnx"))
    model = msgspec.structs.replace(model, cases=tuple(cases))
    (folder / "model.json").write_bytes(msgspec.json.encode(model))
    return model


def exported_minillm(folder: Path) -> None:
    """Has the real exporter write MiniLLM tiny, at one length."""
    preset = {"file": str(EXAMPLES / "train_fsdp.py"), "arguments": PRESET_SIZES["tiny"]}
    spec = {
        "source": "preset",
        "target": "tiny",
        "factory": "",
        "tokens": [8],
        "checkpoint": "",
        "decode": False,
    }
    request = {"schema": 1, "spec": spec, "precision": "fp32", "title": "MiniLLM tiny", "preset": preset}
    (folder / "request.json").write_text(json.dumps(request | {"sources": ""}))
    exporter = TORCH_WORKER.with_name("export_model.py")
    subprocess.run(
        [sys.executable, str(exporter), str(folder / "request.json")],
        check=True,
        capture_output=True,
    )


def job_of(model_folder: Path, work_folder: Path, backend: str, precision: Precision = "fp32") -> Path:
    """Writes a job of two cases that is done soon."""
    job = WorkerJob(
        backend=backend,
        device="cpu",
        model_folder=str(model_folder),
        precision=precision,
        work_folder=str(work_folder),
        cache_folder=str(work_folder),
        cases=("run", "long"),
        most_calls=4,
        budget_s=0.1,
        ceilings=False,
    )
    path = work_folder / "job.json"
    path.write_bytes(msgspec.json.encode(job))
    return path


def worker_with(folder: Path, forward: str) -> Path:
    """Copies the worker beside a file that builds the model with this forward pass."""
    (folder / "export_model.py").write_text(BUILD.format(forward=forward))
    return Path(shutil.copy(TORCH_WORKER, folder))


def events_of(output: bytes) -> list[Event]:
    """Reads what a worker said."""
    lines = [line for line in output.split(b"\n") if line.startswith(b'{"event"')]
    return [msgspec.json.decode(line, type=Event) for line in lines]
