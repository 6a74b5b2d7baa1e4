"""The backends of Macs: what they refuse elsewhere, what they say of Metal, and MLX's conversion on its CPU.

MPS and MLX on Metal have not yet been run on a Mac: their words are tested with
the warnings that PyTorch's source holds.
"""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np
import pytest

from core.edge.backend import EdgeTarget
from core.edge.backends import mlx, mps
from core.edge.events import Called, Finished, Memory, Noted, Refused, WorkerJob
from core.edge.models import OperatorFact, TensorFact
from core.edge.torch_source import TORCH_WORKER
from core.files import RESOURCES
from core.hardware.metal import MetalDevice
from tests.helpers.torch_models import events_of, exported_minillm, job_of, prepared

if TYPE_CHECKING:
    from types import ModuleType

    from core.edge.backend import Backend

MLX_WORKER = RESOURCES / "edge" / "mlx_worker.py"
MAC = EdgeTarget(
    key="metal:0",
    name="Apple M3",
    api="Metal",
    software=False,
    metal=MetalDevice(
        index=0,
        name="Apple M3",
        unified_memory=True,
        memory_bytes=2**33,
        recommended_working_set_bytes=5 * 2**30,
        max_buffer_bytes=2**32,
        architecture="applegpu_g15g",
        sources=("mlx",),
    ),
)


def script(path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("backend", [mps.BACKEND, mlx.BACKEND], ids=["mps", "mlx"])
def test_elsewhere_than_on_a_mac_it_is_said_plainly(backend: Backend) -> None:
    assert backend.takes(MAC)
    assert not backend.takes(EdgeTarget(key="vulkan:0", name="llvmpipe", api="Vulkan", software=True))
    assert backend.worker(Path("/job.json"), "/their/python")[0] == "/their/python"
    missing = backend.missing()
    if sys.platform == "darwin":
        assert missing is None
    else:
        assert missing is not None
        assert "needs macOS" in missing.message  # E14


def test_what_metal_lacks_is_named_before_the_run(tmp_path: Path) -> None:
    double = TensorFact(name="angles", shape=(64,), dtype="float64", size_bytes=512, kind="activation")
    cosine = OperatorFact(name="aten.cos.default", calls=1, sources=("model.py:7",), dtypes=("float64",))
    model = msgspec.structs.replace(prepared(tmp_path), tensors=(double,), operators=(cosine,))
    (lacking,) = mps.BACKEND.preflight(model, MAC)
    assert lacking.fatal
    assert "Metal has no float64: angles 64" in lacking.message
    assert "aten.cos.default at model.py:7" in lacking.message
    large = msgspec.structs.replace(double, name="cache", dtype="float32", size_bytes=2**33)
    codes = [
        each.code for each in mlx.BACKEND.preflight(msgspec.structs.replace(model, tensors=(large,)), MAC)
    ]
    assert codes == ["tensor_too_large", "memory"]


def test_operators_that_fell_back_are_named_and_counted() -> None:
    worker = script(TORCH_WORKER)
    text = (
        "The operator '{}' is not currently supported on the MPS backend and will fall back to run on the"
        " CPU. This may have performance implications. (Triggered internally at MPSFallback.mm:14.)"
    )
    counts = worker.fallen_back(
        [text.format("aten::linalg_qr.out"), "another warning", *[text.format("aten::nonzero")] * 2]
    )
    assert counts == {"aten::linalg_qr.out": 1, "aten::nonzero": 2}
    told: list[dict[str, Any]] = []
    worker.tell_providers(lambda event, **facts: told.append({"event": event} | facts), "run", 40, counts)
    noted, provided = told
    assert (noted["event"], noted["code"], noted["count"]) == ("noted", "fallback_operators", 3)
    assert "aten::linalg_qr.out, aten::nonzero" in noted["message"]
    assert provided["asked"] == "MPS"
    assert [(each["provider"], each["nodes"]) for each in provided["providers"]] == [("MPS", 37), ("CPU", 3)]
    told.clear()
    worker.tell_providers(lambda event, **facts: told.append({"event": event} | facts), "run", 40, {})
    assert [each["event"] for each in told] == ["provided"]
    assert len(told[0]["providers"]) == 1


def run_mlx(folder: Path, device: str, cases: tuple[str, ...]) -> list[Any]:
    job = job_of(folder, folder, "mlx")
    wanted = msgspec.json.decode(job.read_bytes(), type=WorkerJob)
    job.write_bytes(msgspec.json.encode(msgspec.structs.replace(wanted, device=device, cases=cases)))
    done = subprocess.run([sys.executable, str(MLX_WORKER), str(job)], capture_output=True, check=False)
    return list(events_of(done.stdout))


def test_without_mlx_or_metal_it_is_refused(tmp_path: Path) -> None:
    prepared(tmp_path)
    if sys.platform == "darwin" and importlib.util.find_spec("mlx") is not None:
        pytest.skip("this machine may have Metal")
    (refused,) = run_mlx(tmp_path, "metal:0", ("run",))
    assert isinstance(refused, Refused)
    assert refused.code in ("no_mlx", "no_metal")
    assert "Mac" in refused.hint or "macOS" in refused.hint


def test_mlx_computes_what_pytorch_computes(tmp_path: Path) -> None:
    pytest.importorskip("mlx.core", reason="MLX is not installed here")
    exported_minillm(tmp_path)
    events = run_mlx(tmp_path, "cpu", ("prefill-8", "decode"))
    (called,) = [each for each in events if isinstance(each, Called)]
    assert (called.case, called.output_names) == ("prefill-8", ("output_0",))
    with np.load(tmp_path / called.output) as given, np.load(tmp_path / "prefill-8.reference.npz") as wanted:
        np.testing.assert_allclose(given["output_0"], wanted[wanted.files[0]], atol=1e-4)
    (noted,) = [each for each in events if isinstance(each, Noted)]
    assert noted.code == "case_skipped"
    (memory,) = [each for each in events if isinstance(each, Memory)]
    assert memory.copied_bytes is not None
    assert memory.copied_bytes > 0
    assert isinstance(events[-1], Finished)


def test_mlx_refuses_other_models(tmp_path: Path) -> None:
    pytest.importorskip("mlx.core", reason="MLX is not installed here")
    prepared(tmp_path)
    events = run_mlx(tmp_path, "cpu", ("run",))
    assert isinstance(events[-1], Refused)
    assert events[-1].code == "not_in_mlx"
