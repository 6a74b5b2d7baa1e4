"""What IREE's tools print, as they printed it: profiles of several calls, and errors."""

from __future__ import annotations

import json

import pytest

from core.edge.events import Dispatch
from core.edge.workers.iree_profile import last_call, most_taken
from core.edge.workers.iree_words import compiler_words, importer_words, runtime_words

PREFIX = "main_graph$async_dispatch_"


def line(name: str, start: int, duration: int, *, valid: bool = True, ns_per_tick: int = 2) -> str:
    """As ``iree-profile dispatch --dispatch_events --format=jsonl`` of IREE 3.13 writes it."""
    return json.dumps(
        {
            "type": "dispatch_event",
            "physical_device_ordinal": 0,
            "submission_id": 3,
            "key": f"{PREFIX}{name}",
            "workgroup_count": [512, 1, 1],
            "workgroup_size": [64, 1, 1],
            "start_tick": start,
            "end_tick": start + duration,
            "duration_ticks": duration,
            "valid": valid,
            "duration_ns": duration * ns_per_tick,
        }
    )


def lines(*parts: str) -> bytes:
    summary = json.dumps({"type": "dispatch_summary", "mode": "events", "total_dispatches": len(parts)})
    return "\n".join((*parts, summary, "")).encode()


def test_the_last_call_is_taken_and_the_first_with_its_compiling_is_not() -> None:
    given = lines(
        line("0_a", 1000, 900),
        line("1_b", 2000, 900),
        line("0_a", 5000, 10),
        line("1_b", 5020, 20),
        line("0_a", 7000, 11),
        line("1_b", 7030, 21),
    )
    dispatches, why_none = last_call(given, 3)
    assert why_none == ""
    assert dispatches == (
        Dispatch(
            name="dispatch_0_a",
            start_ns=0,
            duration_ns=22,
            workgroups=(512, 1, 1),
            workgroup_size=(64, 1, 1),
        ),
        Dispatch(
            name="dispatch_1_b",
            start_ns=60,
            duration_ns=42,
            workgroups=(512, 1, 1),
            workgroup_size=(64, 1, 1),
        ),
    )


def test_a_time_that_is_none_is_not_0() -> None:
    given = lines(line("0_a", 100, 10, valid=False), line("1_b", 200, 0), line("2_c", 300, -5))
    dispatches, _ = last_call(given, 1)
    assert [each.duration_ns for each in dispatches] == [None, None, None]


def test_the_cpus_dispatches_are_timed_by_the_hosts_clock() -> None:
    event = {
        "type": "host_dispatch_event",
        "timing_source": "host_execution_event",
        "key": f"{PREFIX}1_reduction_16x64_f32",
        "workgroup_count": [8, 1, 1],
        "workgroup_size": [1, 1, 1],
        "start_host_time_ns": 13326739738588,
        "end_host_time_ns": 13326739739012,
        "duration_ns": 424,
        "valid": True,
    }
    (dispatch,), _ = last_call(lines(json.dumps(event)), 1)
    assert dispatch == Dispatch(
        name="dispatch_1_reduction_16x64_f32", start_ns=0, duration_ns=424, workgroups=(8, 1, 1)
    )


def test_calls_that_differ_or_hold_nothing_are_told() -> None:
    odd = lines(line("0_a", 1, 1), line("1_b", 2, 1), line("0_a", 3, 1), line("0_a", 4, 1))
    for given, calls in ((odd, 3), (odd, 2)):
        dispatches, why_none = last_call(given, calls)
        assert dispatches == ()
        assert why_none == f"4 dispatches of {calls} calls cannot be told apart"
    assert last_call(lines(), 3) == ((), "IREE's profile of this device holds no dispatch")
    assert last_call(b"{\nno lines of a profile", 3)[0] == ()


def test_the_most_memory_is_that_of_the_pools_blocks() -> None:
    pool = {"type": "memory_pool", "kind": "pool_reservation", "pool_bytes_committed_high_water": 335544320}
    other = {"type": "memory_pool", "kind": "queue_allocation", "pool_bytes_committed_high_water": 0}
    assert most_taken(lines(json.dumps(pool), json.dumps(other))) == 335544320
    assert most_taken(lines(json.dumps(other))) is None
    assert most_taken(b"") is None


LEGALIZE = """\
g.mlir:60:11: error: failed to run translation of source executable to target executable for backend #hal<"x">
    %36 = torch.operator "onnx.MatMul"(%35, %5) : (!torch.vtensor<[16,1,64],f16>) -> !torch.vtensor<[16],f16>
          ^
<unknown>:0: error: failed to legalize operation 'vector.bitcast': %201 = "vector.bitcast"(%200)
<unknown>:0: note: see current operation: %201 = "vector.bitcast"(%200) : (vector<2xf32>) -> vector<4xf16>
"""
IMPORT = """\
Traceback (most recent call last):
  File "import_onnx/__main__.py", line 120, in load_onnx_model
onnx.onnx_cpp2py_export.checker.ValidationError: No Op registered for Frobnicate with domain_version of 20

==> Context: Bad node spec for node. Name:  OpType: Frobnicate
"""


@pytest.mark.parametrize(
    ("code", "errors", "words"),
    [
        # The cause, though it was printed second; the operator, though the cause has none.
        (1, LEGALIZE, "failed to legalize operation 'vector.bitcast' (at MatMul)"),
        (1, "error: Unknown Vulkan target 'toaster'\n", "Unknown Vulkan target 'toaster'"),
        (-11, " #0 0x0 llvm::sys::PrintStackTrace()\n", "iree-compile was ended by signal 11"),
        (1, "iree-compile: Unknown argument '-x'.\n", "iree-compile: Unknown argument '-x'"),
        (1, "", "iree-compile ended with exit code 1 and said nothing"),
        (1, f"error: {'x' * 400}", f"{'x' * 300}…"),
    ],
)
def test_an_error_of_the_compiler_is_one_sentence(code: int, errors: str, words: str) -> None:
    assert compiler_words(code, errors) == words


def test_an_error_of_the_importer_is_one_sentence() -> None:
    assert importer_words(1, IMPORT) == "No Op registered for Frobnicate with domain_version of 20"
    assert importer_words(1, "g:1:1: error: bad shape.\n") == "bad shape"
    assert importer_words(-9, "") == "the importer ended with signal 9"


def test_an_error_of_the_runtime_is_without_its_own_source() -> None:
    error = ValueError(
        "Error creating driver: c/runtime/src/iree/hal/driver_registry.c:319: NOT_FOUND; no driver 'metal'."
    )
    assert runtime_words(error) == "NOT_FOUND; no driver 'metal'"
    assert runtime_words(RuntimeError()) == "RuntimeError"
