"""Running a compiled program on a device through IREE's runtime: device, weights, inputs, calls, outputs."""

from __future__ import annotations

import gc
import sys
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from iree import runtime
from onnx import helper

from core.edge.workers.iree_compile import load_graph
from core.edge.workers.iree_words import runtime_words
from core.edge.workers.refusal import RefusedError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from core.edge.events import WorkerJob
    from core.edge.workers.iree_compile import Compiled

DRIVERS: Final = {"vulkan": "vulkan", "metal": "metal", "cpu": "local-task"}
SCOPE: Final = "model"
"""Of the parameters, as the importer calls it."""


@contextmanager
def told(doing: str) -> Iterator[None]:
    """Turns the runtime's exceptions into a refusal in its own words.

    Raises:
        RefusedError: The runtime raised something.
    """
    try:
        yield
    except (RuntimeError, ValueError, KeyError, MemoryError, OSError) as error:
        hint = "Choose a smaller model." if "RESOURCE_EXHAUSTED" in str(error) else "Use another backend."
        raise RefusedError("runtime", f"IREE failed {doing}: {runtime_words(error)}.", hint) from error


class Device:
    """A device of IREE's runtime.

    Attributes:
        uri: As IREE's programs take it.
        name: As the runtime calls it.
        hal: IREE's object.
    """

    def __init__(self, key: str, uuid: str | None) -> None:
        kind, _, number = key.partition(":")
        driver_name = DRIVERS[kind]
        with told("to open its driver"):
            driver = runtime.get_driver(driver_name)
            listed: list[dict[str, Any]] = driver.query_available_devices()
        found = listed[0] if kind == "cpu" and listed else _find(listed, int(number or 0), uuid, key)
        path = str(found["path"])
        self.uri = f"{driver_name}://{path}" if path else driver_name
        self.name = str(found["name"])
        with told("to open the device"):
            self.hal = driver.create_device_by_uri(self.uri)
        self.instance = runtime.VmInstance()

    def put(self, array: NDArray[Any]) -> Any:
        """Copies an array to the device."""
        return runtime.asdevicearray(self.hal, np.ascontiguousarray(array))

    def take(self, array: Any) -> NDArray[Any]:
        """Copies an array of the device to the host, through a buffer that the host can see.

        ``to_host`` of IREE 3.13 fails on Vulkan: that buffer is not at the border of a page.
        """
        view = array._buffer_view
        source = view.get_buffer()
        if not source.byte_length():
            return np.zeros(view.shape, array.dtype)
        target = self.hal.allocator.allocate_buffer(
            memory_type=int(runtime.MemoryType.HOST_LOCAL | runtime.MemoryType.DEVICE_VISIBLE),
            allowed_usage=int(runtime.BufferUsage.TRANSFER_TARGET | runtime.BufferUsage.MAPPING_SCOPED),
            allocation_size=source.byte_length(),
        )
        semaphore = self.hal.create_semaphore(0)
        done = runtime.HalFence.create_at(semaphore, 1)
        self.hal.queue_copy(
            source,
            target,
            wait_semaphores=runtime.HalFence.create_at(semaphore, 0),
            signal_semaphores=done,
        )
        done.wait()
        mapped: NDArray[Any] = target.map().asarray(view.shape, array._get_raw_dtype())
        return np.array(mapped).astype(array.dtype, copy=False)


def _find(listed: list[dict[str, Any]], number: int, uuid: str | None, key: str) -> dict[str, Any]:
    """Finds a device by its UUID, by its number only where it has none."""
    if uuid is None and number < len(listed):
        return listed[number]
    wanted = (uuid or "").lower().replace("-", "")
    for each in listed:
        path = str(each["path"]).lower().removeprefix("gpu-").replace("-", "")
        if wanted and path == wanted:
            return each
    names = ", ".join(str(each["name"]) for each in listed) or "none at all"
    raise RefusedError(
        "no_device",
        f"IREE does not find the device {key}{f' (UUID {uuid})' if uuid else ''}; it finds: {names}.",
        "Check with `main.py devices` that it is still there, or choose another device.",
    )


class Program:
    """A compiled program on a device, ready to be called."""

    def __init__(self, device: Device, compiled: Compiled) -> None:
        with told("to load the program"):
            modules = [runtime.create_hal_module(device.instance, device.hal)]
            if compiled.weights is not None:
                self._index = runtime.ParameterIndex()
                self._index.load(str(compiled.weights))
                provider = self._index.create_provider(scope=SCOPE)
                modules.append(runtime.create_io_parameters_module(device.instance, provider))
            module = runtime.VmModule.mmap(device.instance, str(compiled.program))
            self.function = _entry(module.function_names)
            self._context = runtime.VmContext(device.instance, [*modules, module])
            self._invoker = runtime.FunctionInvoker(
                self._context, device.hal, module.lookup_function(self.function)
            )

    def __call__(self, inputs: Sequence[Any]) -> tuple[Any, ...]:
        """Calls it with arrays of the device; returns when the device is done."""
        with told("to run the program"):
            given = self._invoker(*inputs)
        return tuple(given) if isinstance(given, (list, tuple)) else (given,)

    def close(self) -> None:
        """Lets go of what lies on the device, in the order that the runtime wants."""
        del self._invoker
        del self._context
        gc.collect()


def _entry(names: Sequence[str]) -> str:
    """The function of the graph: the one that waits for the device, not ``…$async``."""
    for name in names:
        if not name.startswith("__") and "$" not in name:
            return name
    raise RefusedError("runtime", "The compiled program has no function to call.", "Export the model again.")


def inputs_of(graph: Path, stored: Path) -> tuple[NDArray[Any], ...]:
    """Reads the inputs of a case in the graph's order and its data types.

    Raises:
        RefusedError: One is missing.
    """
    model = load_graph(graph).graph
    weights = {each.name for each in model.initializer}
    wanted = [each for each in model.input if each.name not in weights]
    with np.load(stored, allow_pickle=False) as arrays:
        missing = [each.name for each in wanted if each.name not in arrays.files]
        if missing:
            raise RefusedError(
                "inputs",
                f"{graph.name} wants an input {missing[0]} that there is none of.",
                "Export it again.",
            )
        return tuple(
            arrays[each.name].astype(helper.tensor_dtype_to_np_dtype(each.type.tensor_type.elem_type))
            for each in wanted
        )


def outputs_of(graph: Path) -> tuple[str, ...]:
    """Names of a graph's outputs, in its order."""
    return tuple(each.name for each in load_graph(graph).graph.output)


def call_repeatedly(
    program: Program, inputs: Sequence[Any], job: WorkerJob
) -> tuple[tuple[Any, ...], float, tuple[float, ...]]:
    """Calls a program as the job says; each call ends when the device is done.

    Returns:
        Outputs of the last call, seconds of the first one, seconds of the warm ones.
    """
    start_s = time.perf_counter()
    outputs = program(inputs)
    first_s = time.perf_counter() - start_s
    for _ in range(job.warm_ups):
        outputs = program(inputs)
    warm_s: list[float] = []
    until_s = time.perf_counter() + job.budget_s
    while len(warm_s) < job.most_calls:
        if len(warm_s) >= job.fewest_calls and time.perf_counter() >= until_s:
            break
        start_s = time.perf_counter()
        outputs = program(inputs)
        warm_s.append(time.perf_counter() - start_s)
    return outputs, first_s, tuple(warm_s)


def resident_peak_bytes() -> int | None:
    """Largest resident memory of this process; None on Windows, which has no such call."""
    if sys.platform == "win32":
        return None
    import resource  # noqa: PLC0415

    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit
