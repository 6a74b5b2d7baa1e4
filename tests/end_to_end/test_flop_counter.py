"""Modelled operations against torch's own FlopCounterMode: the same calls, counted by torch and recorded.

A child runs each case twice: under FlopCounterMode, and under the profiler with
shapes. What torch counts for an operator must be what its recorded calls give.
Kernels of GPUs are called on meta tensors, which have shapes and nothing else.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from core.analyses.op_work.call import read_call
from core.analyses.op_work.models import PRODUCTS, work_of
from core.readers.torch_trace.reader import read_trace
from core.tables.trace import SliceKind

SCRIPT = """
import json, sys
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.flop_counter import FlopCounterMode, flop_registry

aten = torch.ops.aten
CPU = torch.profiler.ProfilerActivity.CPU
folder = sys.argv[1]


def meta(*shape, dtype=torch.bfloat16, grad=False):
    return torch.empty(*shape, device="meta", dtype=dtype, requires_grad=grad)


def backward(function, *shapes, **options):
    inputs = [torch.ones(*shape, requires_grad=shape is not None) for shape in shapes]
    function(*inputs, **options).sum().backward()


def attention_backward(operator, *more, kv=(2, 4, 24, 64)):
    query, key, value = (meta(*shape, grad=True) for shape in ((2, 4, 16, 64), kv, kv))
    operator(query, key, value, *more)[0].sum().backward()


def one_gradient(image, weight):
    images = torch.ones(2, 4, 9, 11, requires_grad=image)
    F.conv2d(images, torch.ones(6, 4, 3, 2, requires_grad=weight)).sum().backward()


def sequences(operator, *more, shape=(48, 4, 64)):
    ends = meta(4, dtype=torch.int32)
    operator(meta(*shape), meta(*shape), meta(*shape), *more, ends, ends, 16, 16, 0.0, *([False, False]))


def net():
    model = nn.Sequential(
        nn.Conv2d(3, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(8, 16, 3),
        nn.AdaptiveAvgPool2d(4), nn.Flatten(), nn.Linear(256, 64), nn.GELU(), nn.Dropout(0.1),
        nn.Linear(64, 10),
    )
    loss = F.cross_entropy(model(torch.ones(2, 3, 16, 16)), torch.zeros(2, dtype=torch.long))
    loss.backward()


def block():
    layer = nn.TransformerEncoderLayer(32, 4, 64, batch_first=True)
    layer(torch.ones(2, 7, 32, requires_grad=True)).sum().backward()


flat = lambda *shape: torch.ones(*shape)
CASES = {
    "mm": lambda: aten.mm(flat(5, 7), flat(7, 3)),
    "mm of doubles": lambda: aten.mm(flat(5, 7).double(), flat(7, 3).double()),
    "mm of complex numbers": lambda: aten.mm(flat(5, 7).cfloat(), flat(7, 3).cfloat()),
    "mm of nothing": lambda: aten.mm(flat(0, 7), flat(7, 3)),
    "mm into a tensor": lambda: torch.mm(flat(5, 7), flat(7, 3), out=torch.empty(5, 3)),
    "addmm": lambda: aten.addmm(flat(3), flat(5, 7), flat(7, 3)),
    "bmm": lambda: aten.bmm(flat(2, 5, 7).bfloat16(), flat(2, 7, 3).bfloat16()),
    "baddbmm": lambda: aten.baddbmm(flat(1, 1, 3), flat(2, 5, 7), flat(2, 7, 3), beta=0),
    "scaled mm": lambda: aten._scaled_mm(
        meta(16, 32, dtype=torch.float8_e4m3fn), meta(48, 32, dtype=torch.float8_e4m3fn).t(),
        meta(1, dtype=torch.float32), meta(1, dtype=torch.float32), out_dtype=torch.bfloat16),
    "einsum": lambda: torch.einsum("bij,bjk->bik", flat(2, 5, 7), flat(2, 7, 3)),
    "linear backward": lambda: backward(F.linear, (4, 5, 7), (3, 7), (3,)),
    "matmul backward": lambda: backward(torch.matmul, (2, 1, 5, 7), (3, 7, 3)),
    "conv1d": lambda: F.conv1d(flat(2, 3, 17), flat(4, 3, 5), stride=2, padding=1, dilation=2),
    "conv2d": lambda: F.conv2d(flat(2, 4, 9, 11), flat(6, 2, 3, 2), flat(6), (2, 1), (1, 0), groups=2),
    "conv2d of the same size": lambda: F.conv2d(flat(2, 4, 9, 11), flat(6, 4, 3, 3), padding="same"),
    "conv3d": lambda: F.conv3d(flat(1, 2, 5, 6, 7), flat(3, 2, 2, 2, 2)),
    "convolution transposed": lambda: F.conv_transpose2d(
        flat(2, 4, 5, 6), flat(4, 3, 3, 3), stride=2, padding=1, output_padding=1, groups=2),
    "_convolution": lambda: aten._convolution(
        flat(2, 4, 9, 11), flat(6, 4, 3, 3), None, [1, 1], [0, 0], [1, 1], False, [0, 0], 1,
        False, False, False, False),
    "conv backward": lambda: backward(F.conv2d, (2, 4, 9, 11), (6, 4, 3, 2), (6,), stride=2),
    "conv backward, transposed": lambda: backward(
        F.conv_transpose2d, (2, 4, 9, 11), (4, 5, 3, 2), stride=2, output_padding=1),
    "conv backward to the input": lambda: one_gradient(True, False),
    "conv backward to the weight": lambda: one_gradient(False, True),
    "flash, causal": lambda: aten._scaled_dot_product_flash_attention(
        meta(2, 4, 16, 64), meta(2, 4, 24, 64), meta(2, 4, 24, 64), 0.0, True),
    "flash, fewer heads of keys": lambda: aten._scaled_dot_product_flash_attention(
        meta(2, 4, 16, 64), meta(2, 2, 24, 64), meta(2, 2, 24, 64)),
    "efficient": lambda: aten._scaled_dot_product_efficient_attention(
        meta(2, 4, 16, 64), meta(2, 4, 24, 64), meta(2, 4, 24, 32), None, True),
    "cudnn": lambda: aten._scaled_dot_product_cudnn_attention(
        meta(2, 4, 16, 64), meta(2, 4, 24, 64), meta(2, 4, 24, 64), None, True),
    "flash backward": lambda: attention_backward(aten._scaled_dot_product_flash_attention),
    "efficient backward": lambda: attention_backward(
        aten._scaled_dot_product_efficient_attention, None, True),
    "cudnn backward": lambda: attention_backward(aten._scaled_dot_product_cudnn_attention, None, True),
    "flash of sequences": lambda: sequences(aten._flash_attention_forward),
    "net": net,
    "transformer block": block,
}
found = {}
for number, (name, run) in enumerate(CASES.items()):
    torch.manual_seed(0)
    with FlopCounterMode(display=False) as counter:
        run()
    with torch.profiler.profile(activities=[CPU], record_shapes=True) as profile:
        run()
    profile.export_chrome_trace(f"{folder}/{number}.json")
    counts = {
        str(key).replace(".", "::"): value for key, value in counter.get_flop_counts()["Global"].items()
    }
    found[name] = (f"{number}.json", counts)

shapes = {
    "grouped backward": flop_registry[aten.convolution_backward](
        meta(2, 6, 7, 10), meta(2, 4, 9, 11), meta(6, 2, 3, 2), None, [1, 1], [0, 0], [1, 1], False, [0, 0],
        2, [True, True, False], out_val=(meta(2, 4, 9, 11), meta(6, 2, 3, 2), None)),
    "attention": flop_registry[aten._scaled_dot_product_flash_attention](
        meta(2, 4, 16, 64), meta(2, 2, 24, 64), meta(2, 2, 24, 64)),
    "attention backward": flop_registry[aten._scaled_dot_product_flash_attention_backward](
        meta(2, 4, 16, 64), meta(2, 4, 16, 64), meta(2, 2, 24, 64), meta(2, 2, 24, 64)),
    "cudnn_convolution": flop_registry[aten.cudnn_convolution](
        meta(2, 4, 9, 11), meta(6, 2, 3, 2), [0, 0], [1, 1], [1, 1], 2, False, out_val=meta(2, 6, 7, 10)),
    "known": sorted({str(key).replace("aten.", "aten::") for key in flop_registry if "aten" in str(key)}),
}
with open(f"{folder}/found.json", "w") as file:
    json.dump({"cases": found, "shapes": shapes}, file)
"""


@pytest.fixture(scope="session")
def counted(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folder with the recordings of all cases and what FlopCounterMode counted."""
    folder = tmp_path_factory.mktemp("flop")
    script = folder / "run.py"
    script.write_text(SCRIPT, encoding="utf-8")
    done = subprocess.run(
        [sys.executable, str(script), str(folder)], capture_output=True, text=True, timeout=180, check=False
    )
    assert done.returncode == 0, done.stderr
    return folder


def modelled(path: Path) -> dict[str, int]:
    """Returns the modelled operations of the recorded calls of each operator whose work is known."""
    trace = read_trace(path)
    found: dict[str, int] = {}
    columns = (trace.ops.input_dims_id, trace.ops.input_types_id, trace.ops.concrete_inputs_id)
    for place, row in enumerate(trace.ops.slice_row.tolist()):
        name = trace.strings[int(trace.slices.name_id[row])]
        if trace.slices.kind[row] != SliceKind.OP or name not in COUNTED:
            continue
        dims, types, concrete = (trace.strings[int(column[place])] for column in columns)
        found[name] = found.get(name, 0) + (work_of(read_call(name, dims, types, concrete, "")).flop or 0)
    return found


COUNTED = {
    "aten::mm",
    "aten::addmm",
    "aten::bmm",
    "aten::baddbmm",
    "aten::_scaled_mm",
    "aten::convolution",
    "aten::_convolution",
    "aten::convolution_backward",
    "aten::_flash_attention_forward",
    *(
        f"aten::_scaled_dot_product_{kind}_attention{direction}"
        for kind in ("flash", "efficient", "cudnn")
        for direction in ("", "_backward")
    ),
}


def test_recorded_calls_give_what_torch_counts(counted: Path) -> None:
    cases: dict[str, Any] = json.loads((counted / "found.json").read_text())["cases"]
    seen: set[str] = set()
    for name, (file, counts) in cases.items():
        assert counts, name
        found = modelled(counted / file)
        assert {operator: found.get(operator, 0) for operator in counts} == counts, name
        seen |= set(counts)
    assert seen == COUNTED


def test_what_torch_counts_by_other_shapes(counted: Path) -> None:
    """Operators that no CPU runs, by the formulas that FlopCounterMode has for them."""
    shapes: dict[str, Any] = json.loads((counted / "found.json").read_text())["shapes"]
    bf16 = '["c10::BFloat16", "c10::BFloat16", "c10::BFloat16", "c10::BFloat16"]'

    def flop(name: str, dims: str, concrete: str = "") -> int | None:
        return work_of(read_call(name, dims, bf16, concrete, "")).flop

    # The inner operator has the heads behind the length.
    inner = "[[2, 16, 4, 64], [2, 24, 2, 64], [2, 24, 2, 64]]"
    assert flop("aten::_flash_attention_forward", inner) == shapes["attention"]
    assert flop("aten::_efficient_attention_forward", inner) == shapes["attention"]
    inner = "[[2, 16, 4, 64], [2, 16, 4, 64], [2, 24, 2, 64], [2, 24, 2, 64]]"
    assert flop("aten::_flash_attention_backward", inner) == shapes["attention backward"]
    assert flop("aten::_efficient_attention_backward", inner) == shapes["attention backward"]
    convolution = '["", "", "[0, 0]", "[1, 1]", "[1, 1]", "2", "False", "False", "True"]'
    dims = "[[2, 4, 9, 11], [6, 2, 3, 2]]"
    assert flop("aten::cudnn_convolution", dims, convolution) == shapes["cudnn_convolution"]


def test_gradients_of_the_weights_of_groups_are_counted_once(counted: Path) -> None:
    """FlopCounterMode counts them as often as there are groups: 2 here. The rest is the same."""
    shapes: dict[str, Any] = json.loads((counted / "found.json").read_text())["shapes"]
    concrete = '["", "", "", "", "[1, 1]", "[0, 0]", "[1, 1]", "False", "[0, 0]", "2", "[True, True, False]"]'
    work = work_of(
        read_call(
            "aten::convolution_backward",
            "[[2, 6, 7, 10], [2, 4, 9, 11], [6, 2, 3, 2]]",
            '["float", "float", "float"]',
            concrete,
            "",
        )
    )
    forward = 2 * 2 * 7 * 10 * 6 * 2 * 3 * 2
    assert shapes["grouped backward"] == forward + 2 * forward
    assert work.flop == 2 * forward
    assert [part.flop for part in work.parts] == [forward, forward]


def test_every_operator_that_torch_counts_has_a_model(counted: Path) -> None:
    known = json.loads((counted / "found.json").read_text())["shapes"]["known"]
    assert len(known) > 20
    assert set(known) - PRODUCTS == set()
