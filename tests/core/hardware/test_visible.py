"""Which GPU is ``cuda:i`` under CUDA_VISIBLE_DEVICES (case M08)."""

from __future__ import annotations

import pytest

from core.hardware.readings import GpuInfo
from core.hardware.visible import find_gpu, order_is_certain, resolve_visible


def gpu(index: int, name: str = "H100", bus: str | None = None) -> GpuInfo:
    return GpuInfo(
        index=index,
        uuid=f"GPU-{index:08x}-1111-2222-3333-444455556666",
        name=name,
        pci_bus_id=bus or f"00000000:{0x18 + 8 * index:02X}:00.0",
    )


FOUR = [gpu(index) for index in range(4)]

CUT = GpuInfo(index=0, uuid="GPU-aa00", name="H100", pci_bus_id="00000000:18:00.0", mig_enabled=True)
SLICES = [
    GpuInfo(
        index=0,
        uuid=f"MIG-bb0{number}",
        name="H100 3g.40gb",
        pci_bus_id=CUT.pci_bus_id,
        mig_enabled=True,
        slice_index=number,
        parent_uuid=CUT.uuid,
        instance=(number + 1, 0),
    )
    for number in range(2)
]


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (None, [0, 1, 2, 3]),
        ("", []),
        ("2,0", [2, 0]),
        (" 2 , 0 ", [2, 0]),
        ("GPU-00000002", [2]),
        ("GPU-00000002,GPU-00000000-1111-2222-3333-444455556666", [2, 0]),
        ("GPU-00000002,0", [2, 0]),
        ("GPU-0000000", []),
        ("0,2,-1,1", [0, 2]),
        ("1,9,0", [1]),
        ("1,x", [1]),
        ("1gpu2,2ampere", [1, 2]),
        ("1,1", []),
        ("NoDevFiles", []),
        ("GPU-ffffffff,0", []),
    ],
)
def test_value_names_gpus_in_order(value: str | None, expected: list[int]) -> None:
    assert [found.index for found in resolve_visible(value, FOUR)] == expected


def test_numbers_follow_the_pci_bus() -> None:
    swapped = [gpu(0, bus="00000000:80:00.0"), gpu(1, bus="00000000:20:00.0")]
    assert [found.index for found in resolve_visible("0", swapped)] == [1]


@pytest.mark.parametrize("value", ["MIG-bb01", "MIG-bb01,MIG-bb00", "MIG-GPU-aa00/2/0"])
def test_a_slice_is_named_and_only_one_is_visible(value: str) -> None:
    assert [found.uuid for found in resolve_visible(value, [CUT, *SLICES])] == ["MIG-bb01"]


def test_gpu_cut_into_slices_is_not_visible_itself() -> None:
    assert [found.uuid for found in resolve_visible(None, [CUT, *SLICES])] == ["MIG-bb00"]
    assert [found.uuid for found in resolve_visible(None, [gpu(1), CUT, *SLICES])] == ["MIG-bb00"]


def test_find_by_index_uuid_and_beginning() -> None:
    assert find_gpu("3", FOUR) is FOUR[3]
    assert find_gpu("4", FOUR) is None
    assert find_gpu("GPU-00000001", FOUR) is FOUR[1]
    assert find_gpu("GPU-0", FOUR) is None, "several begin so"
    assert find_gpu("MIG-bb00", [CUT, *SLICES]) is SLICES[0]
    assert find_gpu("0", [CUT, *SLICES]) is CUT
    assert find_gpu("", FOUR) is None


def test_order_is_certain_for_one_kind_or_when_asked_for() -> None:
    mixed = [gpu(0, "RTX 4090"), gpu(1, "H100")]
    assert order_is_certain(FOUR, None)
    assert not order_is_certain(mixed, None)
    assert not order_is_certain(mixed, "FASTEST_FIRST")
    assert order_is_certain(mixed, "PCI_BUS_ID")
