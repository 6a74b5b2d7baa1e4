"""Measures what a device reaches: one matrix product per data type, and a copy of memory.

Started by Ridgeline under the user's interpreter, alone in its folder, with one
argument: a JSON object {device, budget_s, skipped}, the last one from a data
type to why it is not to be tried. It answers on stdout with one JSON
object a line, each as soon as it is known. Products are warmed up, grow until
one takes long enough for the clock, and are repeated; the best and the median
of the repeats are told. What a device or a build of PyTorch does not have is
said, not guessed. Python 3.9 and newer, PyTorch 2.4 and newer.
"""

import json
import os
import platform
import statistics
import sys
import time

TYPES = ("fp32", "tf32", "fp16", "bf16", "fp64", "fp8")
WARM_UPS = 3
FEWEST, MOST = 5, 200
LONG_ENOUGH_S = {"cuda": 0.003, "mps": 0.01, "cpu": 0.02}
FIRST_SIZE = {"cuda": 1024, "mps": 512, "cpu": 128}
LARGEST_SIZE = {"cuda": 16384, "mps": 8192, "cpu": 4096}
COPY_BYTES = {"cuda": 2**30, "mps": 2**28, "cpu": 2**28}
CLOCK_STEPS = 100
"""So many steps of the clock a time has to have, to be one."""


def answers():
    """Keep stdout for the answers: what an import prints goes to stderr."""
    channel = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)

    def answer(kind, **facts):
        facts["kind"] = kind
        channel.write("\n" + json.dumps(facts) + "\n")
        channel.flush()

    return answer


class Device:
    """A device, its clock and its limits."""

    def __init__(self, torch, name):
        self.torch = torch
        self.name = name
        self.kind = name.split(":")[0]
        if self.kind == "cuda":
            torch.cuda.set_device(name)
            self.title = torch.cuda.get_device_name(name)
            self.capability = torch.cuda.get_device_capability(name)
            self.free_bytes = torch.cuda.mem_get_info(name)[0]
            # Half a microsecond: cudaEventElapsedTime.
            self.clock_step_s = 5e-7
        else:
            self.title = chip_name()
            self.capability = (0, 0)
            self.free_bytes = free_host_bytes()
            self.clock_step_s = time.get_clock_info("perf_counter").resolution

    def wait(self):
        """Wait until all work is done."""
        if self.kind == "cuda":
            self.torch.cuda.synchronize()
        elif self.kind == "mps":
            self.torch.mps.synchronize()

    def time_s(self, work):
        """Return how long a piece of work takes, in seconds; None if the clock cannot tell."""
        self.wait()
        if self.kind == "cuda":
            begin, end = (self.torch.cuda.Event(enable_timing=True) for _ in range(2))
            begin.record()
            work()
            end.record()
            self.wait()
            taken_s = begin.elapsed_time(end) / 1e3
        else:
            start_s = time.perf_counter()
            work()
            self.wait()
            taken_s = time.perf_counter() - start_s
        return taken_s if taken_s >= CLOCK_STEPS * self.clock_step_s else None


def chip_name():
    """Return the processor's name."""
    try:
        with open("/proc/cpuinfo", encoding="utf-8", errors="replace") as file:
            for line in file:
                if line.startswith(("model name", "Hardware")):
                    return line.split(":", 1)[1].strip()
    except OSError:
        pass
    return platform.processor() or platform.machine()


def free_host_bytes():
    """Return how much memory may be used, in bytes; little where the system does not say."""
    try:
        with open("/proc/meminfo", encoding="ascii") as file:
            for line in file:
                if line.startswith("MemAvailable:"):
                    return int(line.split()[1]) * 1024
    except (OSError, ValueError):
        pass
    return 4 * 2**30


def missing(device, data_type):
    """Return why a data type cannot be measured on a device, "" if it can be tried."""
    if data_type == "tf32" and (device.kind != "cuda" or device.capability < (8, 0)):
        return "this device has no TF32"
    if data_type == "fp64" and device.kind == "mps":
        return "Metal has no FP64"
    if data_type == "fp8" and (device.kind != "cuda" or device.capability < (8, 9)):
        return "this device has no FP8"
    return ""


def product(device, data_type, size):
    """Return a function that multiplies two square matrices."""
    torch = device.torch
    if data_type == "fp8":
        one = torch.ones((), device=device.name)
        first = torch.randn(size, size, device=device.name).to(torch.float8_e4m3fn)
        second = torch.randn(size, size, device=device.name).to(torch.float8_e4m3fn).t()
        return lambda: torch._scaled_mm(first, second, scale_a=one, scale_b=one, out_dtype=torch.bfloat16)
    kinds = {"fp64": torch.float64, "fp16": torch.float16, "bf16": torch.bfloat16}
    kind = kinds.get(data_type, torch.float32)
    if device.kind == "cuda":
        torch.backends.cuda.matmul.allow_tf32 = data_type == "tf32"
    first, second, result = (torch.randn(size, size, device=device.name).to(kind) for _ in range(3))
    return lambda: torch.mm(first, second, out=result)


def repeated(device, work, until_s):
    """Return the times of a piece of work, in seconds; those that the clock cannot tell are left out."""
    for _ in range(WARM_UPS):
        work()
    times = []
    for number in range(MOST):
        if number >= FEWEST and time.monotonic() >= until_s:
            break
        taken_s = device.time_s(work)
        if taken_s is not None:
            times.append(taken_s)
    return times


def largest_size(device, data_type, until_s):
    """Return the size from which on one product takes long enough, within time and memory."""
    size = FIRST_SIZE[device.kind]
    item_bytes = {"fp64": 8, "fp16": 2, "bf16": 2}.get(data_type, 4)
    while size * 2 <= LARGEST_SIZE[device.kind]:
        work = product(device, data_type, size)
        work()
        taken_s = device.time_s(work)
        # The next size takes eight times as long, and is measured at least so many times.
        left_s = until_s - time.monotonic()
        if taken_s is not None and (
            taken_s >= LONG_ENOUGH_S[device.kind] or 8 * taken_s * (FEWEST + WARM_UPS) > left_s
        ):
            break
        if 3 * item_bytes * (2 * size) ** 2 > device.free_bytes / 4:
            break
        size *= 2
    return size


def measure_product(answer, device, data_type, until_s):
    """Measure one data type, or say why not."""
    try:
        size = largest_size(device, data_type, until_s)
        times = repeated(device, product(device, data_type, size), until_s)
    except (RuntimeError, TypeError, ValueError, AttributeError) as error:  # also what torch leaves out
        answer("refused", type=data_type, why=str(error).strip().split("\n")[0][:300])
        return
    if not times:
        answer("refused", type=data_type, why="it takes less time than the clock can tell")
        return
    flop = 2 * size**3
    answer(
        "rate",
        type=data_type,
        size=size,
        repeats=len(times),
        best_per_s=flop / min(times),
        median_per_s=flop / statistics.median(times),
    )


def measure_copy(answer, device, until_s):
    """Measure a copy: what is read and what is written count both."""
    torch = device.torch
    size = int(min(COPY_BYTES[device.kind], device.free_bytes / 8)) // 4
    try:
        source = torch.ones(size, dtype=torch.float32, device=device.name)
        target = torch.empty_like(source)
        times = repeated(device, lambda: target.copy_(source), until_s)
    except RuntimeError as error:
        answer("refused", type="copy", why=str(error).strip().split("\n")[0][:300])
        return
    if not times:
        answer("refused", type="copy", why="it takes less time than the clock can tell")
        return
    moved = 2 * 4 * size
    answer(
        "rate",
        type="copy",
        size=4 * size,
        repeats=len(times),
        best_per_s=moved / min(times),
        median_per_s=moved / statistics.median(times),
    )


def main():
    """Answer in the order: interpreter, PyTorch and the device, a rate or a refusal for each type."""
    start_s = time.monotonic()
    answer = answers()

    def tell(kind, error, traceback):
        answer("raised", type=kind.__name__, message=str(error)[:500])
        sys.__excepthook__(kind, error, traceback)

    sys.excepthook = tell
    request = json.loads(sys.argv[1])
    del sys.path[0]
    answer("begin", what="importing torch")
    import torch  # noqa: PLC0415 - what is there is said before this, which may hang or crash

    answer("begin", what="asking for the device")
    device = Device(torch, request["device"])
    answer("device", title=device.title, torch=str(torch.__version__), capability=list(device.capability))
    # Importing counts too, as long as half of the time is left to measure.
    end_s = max(start_s + request["budget_s"], time.monotonic() + request["budget_s"] / 2)
    skipped = request.get("skipped", {})
    reasons = {part: skipped.get(part) or missing(device, part) for part in TYPES}
    for part in TYPES:
        if reasons[part]:
            answer("refused", type=part, why=reasons[part])
    parts = ["copy"] + [part for part in TYPES if not reasons[part]]
    for number, part in enumerate(parts):
        answer("begin", what=part, number=number, whole=len(parts))
        now_s = time.monotonic()
        until_s = now_s + max(0.0, end_s - now_s) / (len(parts) - number)
        if part == "copy":
            measure_copy(answer, device, until_s)
        else:
            measure_product(answer, device, part, until_s)
    answer("end")


if __name__ == "__main__":
    main()
