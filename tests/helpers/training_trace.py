"""A small made-up recording of two training steps, with a little of everything that analyses look at.

Its answers are the golden cases in tests/data/golden/analyses: whoever changes
it writes those anew (``--update-golden``) and looks at what changed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from tests.helpers.traces import annotation, call, kernel, op, python_frame, trace_of

if TYPE_CHECKING:
    from core.tables.trace import Trace

GEMM = "sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn_n_tilesize128x128x64_cublas"
RELU = (
    "void at::native::vectorized_elementwise_kernel<4, at::native::relu_functor<float>, "
    "std::array<char*, 2ul> >(int, at::native::relu_functor<float>, std::array<char*, 2ul>)"
)
ADAM = "void at::native::multi_tensor_apply_kernel<FusedAdamMathFunctor<float, 4> >(FusedAdamMathFunctor)"
ALL_REDUCE = "ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)"
COLLECTIVE: Final[dict[str, Any]] = {
    "Collective name": "allreduce",
    "dtype": "BFloat16",
    "In msg nelems": 1_048_576,
    "Out msg nelems": 1_048_576,
    "Group size": 2,
    "Process Group Name": "0",
    "Process Group Ranks": "[0, 1]",
}
BACKWARD = 2
"""Thread of the backward pass."""


def training_trace() -> Trace:
    """Returns the recording of rank 0 of 2: an untimed warm-up kernel, two steps, and a replayed graph."""
    return trace_of(*training_events(), rank=0, world_size=2, backend="nccl")


def training_events() -> list[dict[str, Any]]:
    """Returns its events as they would stand in a file."""
    return [
        kernel("warm_up_kernel", 0, 3, correlation=1),
        *_step(1, 100),
        *_step(2, 1100),
        *_graph(2100),
    ]


def _step(number: int, at: float) -> list[dict[str, Any]]:
    ids = 100 * number
    linear: dict[str, Any] = {
        "Input Dims": [[8, 64], [32, 64], [32]],
        "Input type": ["float", "float", "float"],
    }
    return [
        annotation(f"ProfilerStep#{number}", at, 900),
        op("enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", at + 5, 80),
        *_allocation(at + 90, 2_000_000 * number),
        op("aten::copy_", at + 90, 20, **{"External id": ids + 1}),
        call("cudaMemcpyAsync", at + 95, 5, ids + 1),
        _copy(at + 102, 12, ids + 1),
        python_frame("train.py(30): step", at + 120, 300, **{"Python id": ids + 1}),
        python_frame(
            "nn.Module: Block_0", at + 130, 200, **{"Python id": ids + 2, "Python parent id": ids + 1}
        ),
        python_frame(
            "nn.Module: Linear_0", at + 135, 60, **{"Python id": ids + 3, "Python parent id": ids + 2}
        ),
        op("aten::linear", at + 140, 50, **{"External id": ids + 2, "Sequence number": 7 * number, **linear}),
        op("aten::addmm", at + 145, 40, **{"External id": ids + 3, "Sequence number": 7 * number, **linear}),
        call("cudaLaunchKernel", at + 160, 10, ids + 3),
        _gemm(at + 180, 60, ids + 3),
        python_frame(
            "nn.Module: ReLU_0", at + 210, 40, **{"Python id": ids + 4, "Python parent id": ids + 2}
        ),
        op("aten::relu", at + 215, 30, **{"External id": ids + 4, "Sequence number": 7 * number + 1}),
        call("cudaLaunchKernel", at + 220, 10, ids + 4),
        kernel(
            RELU, at + 245, 20, correlation=ids + 4, grid=[64, 1, 1], block=[128, 1, 1], **_external(ids + 4)
        ),
        *_backward(at, ids, 7 * number),
        op("Optimizer.step#Adam.step", at + 700, 60, **{"External id": ids + 20}),
        call("cudaLaunchKernel", at + 720, 10, ids + 20),
        kernel(ADAM, at + 740, 35, correlation=ids + 20, **_external(ids + 20)),
        call("cudaDeviceSynchronize", at + 770, 100, ids + 30),
        *_allocation(at + 800, -2_000_000 * number),
    ]


def _backward(at: float, ids: int, sequence: int) -> list[dict[str, Any]]:
    undone: dict[str, Any] = {"Sequence number": sequence, "Fwd thread id": 1}
    return [
        op("autograd::engine::evaluate_function: AddmmBackward0", at + 440, 80, tid=BACKWARD, **undone),
        op("AddmmBackward0", at + 445, 70, tid=BACKWARD, **undone),
        op("aten::mm", at + 450, 40, tid=BACKWARD, **_external(ids + 10)),
        call("cudaLaunchKernel", at + 460, 10, ids + 10, tid=BACKWARD),
        _gemm(at + 480, 90, ids + 10),
        # Its kernel begins before it: the clocks of host and device are apart.
        op("c10d::allreduce_", at + 530, 40, tid=BACKWARD, **_external(ids + 11), **COLLECTIVE),
        call("cudaLaunchKernelExC", at + 540, 10, ids + 11, tid=BACKWARD),
        kernel(
            ALL_REDUCE, at + 538, 120, stream=20, correlation=ids + 11, **_external(ids + 11), **COLLECTIVE
        ),
        op("aten::zero_", at + 580, 20, tid=BACKWARD, **_external(ids + 12)),
        call("cudaLaunchKernel", at + 585, 5, ids + 12, tid=BACKWARD),
        # The profiler never saw it end.
        kernel("unfinished_kernel", at + 600, -40, correlation=ids + 12, **_external(ids + 12)),
    ]


def _graph(at: float) -> list[dict[str, Any]]:
    return [
        call("cudaGraphLaunch", at, 15, 900),
        _gemm(at + 20, 30, 900),
        kernel(RELU, at + 55, 10, correlation=900),
    ]


def _external(number: int) -> dict[str, int]:
    return {"External id": number}


def _gemm(start: float, duration: float, correlation: int) -> dict[str, Any]:
    shape: dict[str, Any] = {
        "grid": [132, 1, 1],
        "block": [384, 1, 1],
        "registers per thread": 168,
        "shared memory": 213_296,
    }
    return kernel(GEMM, start, duration, correlation=correlation, **shape)


def _copy(start: float, duration: float, correlation: int) -> dict[str, Any]:
    copied = kernel("Memcpy HtoD (Pinned -> Device)", start, duration, correlation=correlation, bytes=2048)
    return {**copied, "cat": "gpu_memcpy"}


def _allocation(at: float, change_bytes: int) -> list[dict[str, Any]]:
    total = max(change_bytes, 0)
    return [
        {
            "ph": "i",
            "cat": "cpu_instant_event",
            "name": "[memory]",
            "ts": at,
            "pid": 100,
            "tid": 1,
            "args": {
                "Device Type": 1,
                "Device Id": 0,
                "Addr": 4096,
                "Bytes": change_bytes,
                "Total Allocated": total,
                "Total Reserved": 4_000_000,
            },
        }
    ]
