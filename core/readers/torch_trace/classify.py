"""What each slice is: from its category, and where there is none from its process, thread and name.

Source: activity names of Kineto's ActivityType.cpp (torch 1.8 to 2.13), the
autograd profiler's old export, Ascend's trace_view.json, XLA's trace viewer.
"""

from __future__ import annotations

import re
from typing import Final

from core.tables.trace import SliceKind

# In lower case. Old schemas wrote "Kernel", "Operator", "Memcpy", "Runtime".
CATEGORY_KINDS: Final = {
    "kernel": SliceKind.KERNEL,
    "concurrent_kernel": SliceKind.KERNEL,
    "mtia_ccp_events": SliceKind.KERNEL,
    "hpu_op": SliceKind.KERNEL,
    "gpu_memcpy": SliceKind.MEMCPY,
    "gpu_memcpy2": SliceKind.MEMCPY,
    "memcpy": SliceKind.MEMCPY,
    "gpu_memset": SliceKind.MEMSET,
    "memset": SliceKind.MEMSET,
    "cpu_op": SliceKind.OP,
    "operator": SliceKind.OP,
    "cuda_runtime": SliceKind.RUNTIME,
    "cuda_driver": SliceKind.RUNTIME,
    "hip_runtime": SliceKind.RUNTIME,
    "hip_driver": SliceKind.RUNTIME,
    "xpu_runtime": SliceKind.RUNTIME,
    "xpu_driver": SliceKind.RUNTIME,
    "mtia_runtime": SliceKind.RUNTIME,
    "glow_runtime": SliceKind.RUNTIME,
    "privateuse1_runtime": SliceKind.RUNTIME,
    "privateuse1_driver": SliceKind.RUNTIME,
    "runtime": SliceKind.RUNTIME,
    "driver": SliceKind.RUNTIME,
    "python_function": SliceKind.PYTHON,
    "user_annotation": SliceKind.ANNOTATION,
    "gpu_user_annotation": SliceKind.GPU_ANNOTATION,
    "cuda_sync": SliceKind.SYNC,
    "cuda_event": SliceKind.SYNC,
    "hip_sync": SliceKind.SYNC,
    "sync": SliceKind.SYNC,
    "overhead": SliceKind.OVERHEAD,
    "trace": SliceKind.PROFILER,
    "cuda_profiler_range": SliceKind.OTHER,
    "collective_comm": SliceKind.OTHER,
    "mtia_insight": SliceKind.OTHER,
    "mtia_workloadd": SliceKind.OTHER,
    "cpu_instant_event": SliceKind.OTHER,
    "external_correlation": SliceKind.OTHER,
}

_DEVICE_PROCESS: Final = re.compile(
    r"CUDA functions|/device:(GPU|TPU|XPU):\d+|Ascend Hardware|NPU( \d+)?|GPU \d+"
)
_WORK_THREAD: Final = re.compile(r"stream\b|XLA Ops$", re.IGNORECASE)
_HOST_FUNCTIONS: Final = "CPU functions"
_COPY: Final = re.compile(r"mem_?cpy|memcpy|copy(h2d|d2h|d2d|p2p)", re.IGNORECASE)
_SET: Final = re.compile(r"mem_?set", re.IGNORECASE)
# Source: "Task Type" of Ascend's msprof: what computes. Waits, events and notifies are no kernels.
_COMPUTING_TASK: Final = re.compile(r"AI_|MIX_|KERNEL_|HCCL|DSA")
_COPYING_TASK: Final = re.compile(r"SDMA|MEMCPY")


def kind_of_category(category: str) -> SliceKind | None:
    """Returns the kind a category stands for; None if it is not known here."""
    return CATEGORY_KINDS.get(category.lower())


def kind_without_category(process: str, thread: str, name: str, task_type: str) -> SliceKind:
    """Returns the kind of a slice that has no category.

    Args:
        process: Name of its process, else its ``pid``.
        thread: Name of its thread, else its ``tid``.
        name: Of the slice.
        task_type: Its ``Task Type``, "" if it has none.
    """
    if process == _HOST_FUNCTIONS:
        return SliceKind.OP
    if not _DEVICE_PROCESS.fullmatch(process):
        return SliceKind.OTHER
    if task_type:
        return _kind_of_task(task_type)
    if process.startswith("/device:") and not _WORK_THREAD.match(thread):
        return SliceKind.OTHER
    if _SET.match(name):
        return SliceKind.MEMSET
    return SliceKind.MEMCPY if _COPY.match(name) else SliceKind.KERNEL


def _kind_of_task(task_type: str) -> SliceKind:
    if _COPYING_TASK.search(task_type):
        return SliceKind.MEMCPY
    return SliceKind.KERNEL if _COMPUTING_TASK.match(task_type) else SliceKind.OTHER


_NUMBERED_DEVICE: Final = re.compile(r"(?:GPU|NPU|XPU|TPU|MTIA|/device:[A-Z]+:)[ :]*(\d+)")
_STREAM: Final = re.compile(r"stream[ #]*(\d+)", re.IGNORECASE)


def device_number(label: str) -> int | None:
    """Returns the device's number out of a label such as "GPU 0" or "/device:GPU:0"."""
    match = _NUMBERED_DEVICE.search(label)
    return int(match[1]) if match and len(match[1]) < 10 else None


def stream_number(thread: str) -> int | None:
    """Returns the stream's number out of a thread's name such as "stream 7" or "Stream #118(...)"."""
    match = _STREAM.match(thread)
    return int(match[1]) if match and len(match[1]) < 19 else None
