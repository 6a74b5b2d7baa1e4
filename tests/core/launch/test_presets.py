"""One click starts what this machine can run, and says why it is that."""

from __future__ import annotations

from pathlib import Path

import pytest

from core.hardware.readings import GpuInfo
from core.launch.presets import PRESETS, choose_preset

GPUS = [GpuInfo(index=i, uuid=f"GPU-0000000{i}", name="NVIDIA H100", pci_bus_id=f"0:{i}") for i in range(8)]


@pytest.mark.parametrize(
    ("count", "ranks", "why"),
    [
        (4, 4, "The seed model on 4 GPUs (NCCL)."),
        (8, 4, "The seed model on 4 of 8 GPUs (NCCL)."),
        (2, 2, "2 GPUs are there, not 4: the seed model on 2 ranks (NCCL)."),
        (1, 1, "1 GPU is there, not 4: the seed model on 1 rank (NCCL)."),
    ],
)
def test_gpus_run_the_seed(count: int, ranks: int, why: str) -> None:
    choice = choose_preset(GPUS[:count], "/py", environment={})
    assert choice.why == why
    spec = choice.spec
    assert (spec.preset, spec.device, spec.ranks) == ("seed", "cuda", ranks)
    assert spec.gpus == tuple(gpu.uuid for gpu in GPUS[:ranks])
    assert spec.interpreter == "/py"


def test_no_gpu_runs_the_tiny_one_on_the_cpu() -> None:
    choice = choose_preset([], environment={})
    assert choice.why == "No NVIDIA GPU was found: the tiny model on 4 CPU ranks (gloo)."
    assert (choice.spec.preset, choice.spec.device, choice.spec.ranks) == ("tiny", "cpu", 4)


def test_visible_devices_are_respected() -> None:
    chosen = choose_preset(GPUS, environment={"CUDA_VISIBLE_DEVICES": "5,GPU-00000001"})
    assert chosen.spec.gpus == ("GPU-00000005", "GPU-00000001")
    hidden = choose_preset(GPUS, environment={"CUDA_VISIBLE_DEVICES": ""})
    assert hidden.spec.preset == "tiny"
    assert hidden.why.startswith("CUDA_VISIBLE_DEVICES hides all GPUs of this machine: ")


def test_presets_name_files_and_folders_that_exist() -> None:
    for name, preset in PRESETS.items():
        spec = preset()
        assert (spec.title, spec.preset) == (name, name)
        assert Path(spec.target).is_file()
        assert Path(spec.working_folder).is_dir()
        assert Path(spec.interpreter).is_file()


def test_further_arguments_come_last_so_that_they_win() -> None:
    spec = PRESETS["tiny"](ranks=2, arguments=("--steps", "5"))
    assert spec.ranks == 2
    assert spec.arguments[-2:] == ("--steps", "5")
    assert PRESETS["seed"]().arguments[:12] == (
        *("--dim", "2048", "--layers", "12", "--heads", "16"),
        *("--vocab", "32000", "--batch", "8", "--sequence", "1024"),
    )
