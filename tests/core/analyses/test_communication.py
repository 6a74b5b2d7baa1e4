"""Collectives: their arguments, their bytes and their bandwidths."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from core.analyses.collectives import Pattern, bus_factor, element_bytes, pattern_of
from core.analyses.communication import list_collectives, summarize_communication
from core.analyses.index import TraceIndex
from core.analyses.overlap import summarize_overlap
from core.tables.selection import Selection
from tests.helpers.handed import read_slowly
from tests.helpers.traces import annotation, call, kernel, op, trace_of

if TYPE_CHECKING:
    from pathlib import Path

    from core.tables.result import ResultTable

NCCL = "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)"


def arguments(name: str, dtype: str, elements_in: int, elements_out: int, ranks: int) -> dict[str, Any]:
    return {
        "Collective name": name,
        "dtype": dtype,
        "In msg nelems": elements_in,
        "Out msg nelems": elements_out,
        "Group size": ranks,
        "Process Group Name": "dp",
    }


def row(table: ResultTable, place: int = 0) -> dict[str, Any]:
    return {column.key: column.value(place) for column in table.columns}


def listed(*events: dict[str, Any]) -> ResultTable:
    return list_collectives(TraceIndex(trace_of(*events)))


@pytest.mark.parametrize(
    ("name", "pattern"),
    [
        ("allreduce", Pattern.ALL_REDUCE),
        ("_allgather_base", Pattern.ALL_GATHER),
        ("all_gather_into_tensor_coalesced", Pattern.ALL_GATHER),
        ("_reduce_scatter_base", Pattern.REDUCE_SCATTER),
        ("all_to_allv", Pattern.ALL_TO_ALL),
        ("broadcast", Pattern.BROADCAST),
        ("send", Pattern.SEND_RECEIVE),
        ("barrier", Pattern.BARRIER),
        ("gather", Pattern.GATHER),
        (NCCL, Pattern.ALL_REDUCE),
        ("ncclKernel_ReduceScatter_RING_LL_Sum___nv_bfloat16(ncclWorkElem)", Pattern.REDUCE_SCATTER),
        ("ncclKernel_SendRecv_RING_SIMPLE_Sum_int8_t(ncclWorkElem)", Pattern.SEND_RECEIVE),
        ("rcclGenericKernel_2(ncclDevKernelArgs)", Pattern.OTHER),
        ("", Pattern.OTHER),
    ],
)
def test_a_name_tells_the_pattern(name: str, pattern: Pattern) -> None:
    assert pattern_of(name) is pattern


def test_the_factors_are_those_of_nccl_tests() -> None:
    assert bus_factor(Pattern.ALL_REDUCE, 8) == 1.75
    assert bus_factor(Pattern.ALL_GATHER, 8) == bus_factor(Pattern.REDUCE_SCATTER, 8) == 0.875
    assert bus_factor(Pattern.ALL_TO_ALL, 4) == 0.75
    assert bus_factor(Pattern.BROADCAST, 8) == bus_factor(Pattern.REDUCE, 8) == 1.0
    assert bus_factor(Pattern.BARRIER, 8) is None
    assert bus_factor(Pattern.ALL_REDUCE, 0) is None


def test_element_sizes() -> None:
    assert [element_bytes(name) for name in ("BFloat16", "Float", "Long", "Byte", "Bits1x8")] == [
        2,
        4,
        8,
        1,
        None,
    ]


@pytest.mark.parametrize(
    ("name", "given", "size", "factor"),
    [
        ("allreduce", (1000, 1000), 4000, 1.5),
        ("_allgather_base", (1000, 4000), 16_000, 0.75),
        ("_reduce_scatter_base", (4000, 1000), 16_000, 0.75),
        ("all_to_all", (1000, 1000), 4000, 0.75),
        ("broadcast", (1000, 1000), 4000, 1.0),
        ("gather", (1000, 0), 16_000, 0.75),
    ],
)
def test_bandwidths_are_of_the_whole_operation(
    name: str, given: tuple[int, int], size: int, factor: float
) -> None:
    found = row(listed(kernel(NCCL, 0, 2, **arguments(name, "Float", *given, 4))))
    assert (found["in_bytes"], found["out_bytes"]) == (given[0] * 4, given[1] * 4)
    assert found["algorithm_bytes_per_s"] == pytest.approx(size / 2e-6)
    assert found["bus_bytes_per_s"] == pytest.approx(size / 2e-6 * factor)


def test_arguments_come_from_the_call_around_the_launch_where_the_kernel_has_none() -> None:
    found = row(
        listed(
            op("c10d::allreduce_", 0, 50, **{"External id": 4}),
            op(
                "record_param_comms", 5, 40, **{"External id": 5}, **arguments("allreduce", "Half", 10, 10, 2)
            ),
            call("cudaLaunchKernelExC", 10, 5, 1, **{"External id": 5}),
            kernel(NCCL, 20, 10, correlation=1, **{"External id": 5}),
        )
    )
    assert (found["collective"], found["dtype"], found["in_bytes"], found["group_size"]) == (
        "allreduce",
        "Half",
        20,
        2,
    )


def test_without_arguments_there_is_a_pattern_and_no_bandwidth() -> None:
    table = listed(kernel(NCCL, 0, 10), kernel("gemm", 0, 10))
    found = row(table)
    assert len(table) == 1
    assert (found["pattern"], found["collective"], found["dtype"]) == ("All-reduce", None, None)
    assert (found["in_bytes"], found["bus_bytes_per_s"]) == (None, None)
    assert "1 collective has no arguments in the trace: no bytes, no bandwidth." in table.notes


def test_a_type_of_unknown_size_gives_elements_and_no_bytes() -> None:
    found = row(listed(kernel(NCCL, 0, 10, **arguments("allreduce", "Bits1x8", 5, 5, 2))))
    assert (found["in_elements"], found["in_bytes"], found["algorithm_bytes_per_s"]) == (5, None, None)


def test_groups_add_up_and_the_longest_comes_first() -> None:
    given, other = arguments("allreduce", "Float", 1000, 1000, 2), arguments("broadcast", "Byte", 8, 8, 2)
    index = TraceIndex(
        trace_of(
            kernel(NCCL, 100, 1, **other),
            kernel(NCCL, 0, 2, **given),
            kernel(NCCL, 10, 6, **given),
            kernel(NCCL, 20, -6, **given),
        )
    )
    table = summarize_communication(index)
    assert [row(table, place)["collective"] for place in range(2)] == ["allreduce", "broadcast"]
    first = row(table)
    assert (first["calls"], first["sum_ns"], first["size_bytes"]) == (3, 8_000, 8_000)
    assert first["algorithm_bytes_per_s"] == first["bus_bytes_per_s"] == pytest.approx(1e9)
    assert sorted(table.rows_of(0).tolist()) == [1, 2, 3]
    assert "1 collective has an impossible duration: in no sum." in table.notes
    part = summarize_communication(index, Selection(50_000, None))
    assert [row(part)["collective"], len(part)] == ["broadcast", 1]


def test_without_communication_the_reason_is_said() -> None:
    index = TraceIndex(trace_of(kernel("gemm", 0, 5)))
    said = {summarize_communication(index).empty, list_collectives(index).empty}
    assert said == {"No kernel of this part of the trace communicates."}


def test_a_kernel_named_after_a_building_block_shows_its_collective(shared_cases: Path) -> None:
    table = list_collectives(TraceIndex(read_slowly(shared_cases / "T29.json")))
    found = row(table)
    assert len(table) == 1
    assert found["kernel"].startswith("ncclKernel_SendRecv_RING_SIMPLE_Sum_int8_t")
    assert (found["pattern"], found["collective"]) == ("All-reduce", "allreduce")
    assert (found["dtype"], found["group_size"], found["in_bytes"]) == ("BFloat16", 4, 2**21)
    assert found["bus_bytes_per_s"] == pytest.approx(2**21 / 80e-6 * 1.5)


def test_newer_names_of_collectives_are_listed(shared_cases: Path) -> None:
    table = summarize_communication(TraceIndex(read_slowly(shared_cases / "T28.json")))
    assert table.column("calls").values.sum() == 5
    assert table.column("sum_ns").values.sum() == 200_000


@pytest.mark.parametrize("summarize", [summarize_communication, list_collectives, summarize_overlap])
def test_collectives_that_ran_on_the_cpu_are_said_to_be_elsewhere(summarize: Any) -> None:
    index = TraceIndex(trace_of(annotation("gloo:all_reduce", 0, 10), annotation("gloo:broadcast", 20, 10)))
    assert summarize(index).empty == (
        "No kernel communicates here: 2 collectives ran on the CPU (gloo). "
        "The Arrivals table compares the ranks."
    )
    assert "1 collective ran on the CPU" in summarize(index, Selection(15_000, 40_000)).empty
