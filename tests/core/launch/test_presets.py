"""One click starts what this machine can run, and says why it is that."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from core.hardware.readings import GpuInfo, count_words
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


def test_a_torch_without_cuda_runs_the_tiny_one_and_says_so() -> None:
    choice = choose_preset(GPUS, environment={}, torch_without_cuda="2.13.0+cpu")
    assert (choice.spec.preset, choice.spec.device, choice.spec.ranks) == ("tiny", "cpu", 4)
    assert choice.why == (
        "8 GPUs found, but torch 2.13.0+cpu is built without CUDA: the tiny model on 4 CPU ranks (gloo)."
    )


def test_of_slices_one_is_used_and_the_reason_counts_no_gpus() -> None:
    whole = replace(GPUS[0], mig_enabled=True)
    slices = [replace(GPUS[0], uuid=f"MIG-{i}", slice_index=i, parent_uuid=whole.uuid) for i in range(7)]
    assert count_words([whole, *slices]) == "7 MIG slices"
    assert count_words([whole, *slices, *GPUS[1:3]]) == "2 GPUs and 7 MIG slices"
    assert count_words(GPUS[:1]) == "1 GPU"
    assert count_words([]) == ""
    choice = choose_preset([whole, *slices], environment={})
    assert choice.spec.gpus == ("MIG-0",)
    assert choice.why == "A process sees 1 MIG slice and no more: the seed model on 1 rank (NCCL)."


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
