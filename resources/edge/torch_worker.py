"""Runs a prepared model in PyTorch, on the CPU or on the GPU of a Mac (MPS).

Started by Ridgeline under the user's interpreter with one argument: the file of a
job (``core/edge/events.py`` says what it holds). The model is built again as
``export_model.py`` beside this file built it. Answers are JSON objects, one a
line, on stdout; this file judges nothing: it leaves outputs and times. Python
3.9 and newer, PyTorch 2.6 and newer.

Calls for MPS, from PyTorch's documentation: torch.mps.synchronize,
torch.mps.driver_allocated_memory, the environment variable
PYTORCH_ENABLE_MPS_FALLBACK and the warning that goes with it.
"""

import importlib.util
import json
import os
import re
import statistics
import sys
import time
import traceback
import warnings

HERE = os.path.dirname(os.path.abspath(__file__))
FALLBACK = re.compile(r"The operator '([^']+)' is not currently supported on the MPS backend")
COPY_BYTES = 2**28
FIRST_SIZE, LARGEST_SIZE = 256, 4096
LONG_ENOUGH_S = 0.02
CEILING_BUDGET_S = 1.5
LISTED_OPERATORS = 12


class CannotRunError(Exception):
    """It cannot be run, for a reason that can be told."""

    def __init__(self, code, message, hint):
        super().__init__(message)
        self.code, self.message, self.hint = code, message, hint


def answering():
    """Keep stdout for the answers: what an import or a model prints goes to stderr."""
    channel = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)

    def tell(event, **facts):
        channel.write("\n" + json.dumps(dict({"event": event}, **facts)) + "\n")
        channel.flush()

    return tell


class Device:
    """Where the model runs, and how to wait for it."""

    def __init__(self, torch, kind):
        self.torch = torch
        self.kind = kind
        self.most_bytes = None

    def wait(self):
        """Wait until all work is done."""
        if self.kind == "mps":
            self.torch.mps.synchronize()

    def time_s(self, work):
        """Return how long a piece of work takes, until the device is done."""
        self.wait()
        start_s = time.perf_counter()
        work()
        self.wait()
        return time.perf_counter() - start_s

    def look_at_memory(self):
        """Remember the most that the driver has given so far; the CPU has no memory of its own."""
        if self.kind == "mps":
            self.most_bytes = max(self.most_bytes or 0, int(self.torch.mps.driver_allocated_memory()))


def load_exporter():
    """Return ``export_model.py``, which knows how a model is built."""
    path = os.path.join(HERE, "export_model.py")
    spec = importlib.util.spec_from_file_location("ridgeline_export_model", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def read_request(folder):
    """Return what the export was asked for."""
    with open(os.path.join(folder, "request.json"), encoding="utf-8") as file:
        request = json.load(file)
    if request["spec"]["source"] == "onnx":
        raise CannotRunError(
            "no_torch_source",
            "An .onnx file has no source in PyTorch, which this backend runs.",
            "Use IREE or ONNX Runtime WebGPU.",
        )
    return request


def prepared_case(job, name):
    """Return what the export says of a case."""
    with open(os.path.join(job["model_folder"], "model.json"), encoding="utf-8") as file:
        return next(case for case in json.load(file)["cases"] if case["name"] == name)


def import_torch(kind):
    """Return PyTorch, with a device of that kind."""
    # Read when PyTorch starts: without it an operator that Metal lacks ends the run.
    os.environ["PYTORCH_ENABLE_MPS_FALLBACK"] = "1"
    try:
        import torch
    except ImportError as error:
        raise CannotRunError(
            "no_torch",
            "PyTorch cannot be imported by %s: %s." % (sys.executable, error),
            "Choose an interpreter that has torch 2.6 or newer.",
        ) from None
    if kind == "mps" and not torch.backends.mps.is_available():
        built = "this build of PyTorch has none" if not torch.backends.mps.is_built() else "macOS offers none"
        raise CannotRunError(
            "no_mps", "There is no MPS device: %s." % built, "MPS needs macOS on Apple silicon."
        )
    return torch


def tensors_of(torch, result):
    """Return the tensors that a model gave, in their order."""
    leaves = torch.utils._pytree.tree_flatten(result)[0]
    return [leaf for leaf in leaves if isinstance(leaf, torch.Tensor)]


def as_inputs(torch, arrays, precision, device):
    """Return the inputs on the device, those with a point at the precision of the run."""
    tensors = []
    for array in arrays:
        tensor = torch.from_numpy(array)
        if tensor.is_floating_point():
            tensor = tensor.half() if precision == "fp16" else tensor.float()
        tensors.append(tensor.to(device))
    return tuple(tensors)


def fallen_back(messages):
    """Return which operators were run on the CPU instead, and how often, from the warnings of PyTorch.

    Args:
        messages: What was warned of, as text.
    """
    counts = {}
    for message in messages:
        found = FALLBACK.search(message)
        if found:
            counts[found.group(1)] = counts.get(found.group(1), 0) + 1
    return counts


def who_ran_what(torch, call, tell, case):
    """Tell how many operators of one call Metal ran, and which the CPU ran instead."""
    from torch.utils._python_dispatch import TorchDispatchMode

    class Counting(TorchDispatchMode):
        calls = 0

        def __torch_dispatch__(self, function, types, args=(), kwargs=None):
            self.calls += 1
            return function(*args, **(kwargs or {}))

    # PyTorch warns of the first operator alone if it is not told to warn always.
    torch.set_warn_always(True)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        with Counting() as counting:
            call()
    torch.set_warn_always(False)
    tell_providers(tell, case, counting.calls, fallen_back([str(each.message) for each in caught]))


def tell_providers(tell, case, calls, counts):
    """Tell who ran the operators of a call, and name those that Metal does not have."""
    elsewhere = min(sum(counts.values()), calls)
    providers = [{"provider": "MPS", "nodes": calls - elsewhere, "operators": []}]
    if elsewhere:
        names = sorted(counts)
        providers.append({"provider": "CPU", "nodes": elsewhere, "operators": names})
        listed = ", ".join(names[:LISTED_OPERATORS]) + (" ..." if len(names) > LISTED_OPERATORS else "")
        tell(
            "noted",
            code="fallback_operators",
            message="Metal does not have %s: PyTorch ran it on the CPU, with a copy there and back." % listed,
            hint="The time holds these copies. Replace the operator, or use IREE.",
            count=elsewhere,
        )
    tell("provided", case=case, asked="MPS", providers=providers)


def repeated(device, call, job):
    """Return what the first and the warm calls took, in seconds."""
    first_s = device.time_s(call)
    for _ in range(job["warm_ups"]):
        call()
    device.wait()
    warm_s = []
    until_s = time.perf_counter() + job["budget_s"]
    while len(warm_s) < job["most_calls"]:
        if len(warm_s) >= job["fewest_calls"] and time.perf_counter() >= until_s:
            break
        warm_s.append(device.time_s(call))
    return first_s, warm_s


def save(torch, tensors, path):
    """Write the outputs, in their order, under the names of their places."""
    import numpy

    arrays = {}
    for number, tensor in enumerate(tensors):
        known = tensor.float() if tensor.dtype == torch.bfloat16 else tensor  # NumPy has no bfloat16
        arrays["output_%d" % number] = known.detach().cpu().numpy()
    numpy.savez(path, **arrays)
    return list(arrays)


def run_case(torch, device, case, job, tell):
    """Run a case (its name, module and inputs), tell its times, and leave its outputs."""
    name, module, inputs = case
    results = []

    def call():
        results[:] = [module(*inputs)]

    tell("began", stage="run", case=name)
    started_s = time.perf_counter()
    with torch.inference_mode():
        first_s, warm_s = repeated(device, call, job)
        device.look_at_memory()
        output = "%s-outputs.npz" % name
        names = save(torch, tensors_of(torch, results[0]), os.path.join(job["work_folder"], output))
        tell("called", case=name, first_s=first_s, warm_s=warm_s, output=output, output_names=names)
        if device.kind == "mps" and name == job["cases"][0]:
            who_ran_what(torch, call, tell, name)
    tell("ended", stage="run", seconds=time.perf_counter() - started_s, case=name)


def load_cases(torch, job, device, tell):
    """Build the model on the device.

    Returns:
        (name, module, inputs) of each case, and how many bytes were copied to the device.
    """
    import numpy

    tell("began", stage="load", words="building the model in PyTorch %s" % torch.__version__)
    started_s = time.perf_counter()
    folder = job["model_folder"]
    built = load_exporter().build_cases(read_request(folder))
    loaded, weights = [], {}
    for name in job["cases"]:
        module = built[name][0]
        if job["precision"] == "fp16":
            module = module.half()
        module = module.to(device.kind)
        for tensor in module.state_dict().values():
            weights[tensor.data_ptr()] = tensor.numel() * tensor.element_size()
        with numpy.load(os.path.join(folder, prepared_case(job, name)["inputs"])) as stored:
            arrays = [stored[key] for key in stored.files]
        loaded.append((name, module, as_inputs(torch, arrays, job["precision"], device.kind)))
    device.wait()
    device.look_at_memory()
    tell("ended", stage="load", seconds=time.perf_counter() - started_s)
    return loaded, sum(weights.values()) if device.kind == "mps" else None


def measure_ceilings(torch, device, precision, tell):
    """Tell what a square product and a copy reach."""
    tell("began", stage="ceilings")
    started_s = time.perf_counter()
    kind = torch.float16 if precision == "fp16" else torch.float32
    size = FIRST_SIZE
    with torch.inference_mode():
        while True:
            first, second, result = (torch.randn(size, size, device=device.kind).to(kind) for _ in range(3))

            def product(first=first, second=second, result=result):
                torch.mm(first, second, out=result)

            product()
            taken_s = device.time_s(product)
            if taken_s >= LONG_ENOUGH_S or size >= LARGEST_SIZE:
                break
            size *= 2
        taken_s = min([taken_s, *timed(device, product)])
        tell("ceiling", what="gemm", type=precision, per_s=2 * size**3 / taken_s, size=size)
        source = torch.ones(COPY_BYTES // 4, device=device.kind)
        target = torch.empty_like(source)
        target.copy_(source)
        taken_s = statistics.median(timed(device, lambda: target.copy_(source)))
        tell("ceiling", what="copy", type="", per_s=2 * COPY_BYTES / taken_s, size=COPY_BYTES)
    tell("ended", stage="ceilings", seconds=time.perf_counter() - started_s)


def timed(device, work):
    """Return the times of a piece of work that is repeated for a while."""
    times, until_s = [], time.perf_counter() + CEILING_BUDGET_S
    while len(times) < 3 or (time.perf_counter() < until_s and len(times) < 50):
        times.append(device.time_s(work))
    return times


def resident_peak_bytes():
    """Return the largest resident memory of this process; None where the system does not say."""
    try:
        import resource
    except ImportError:
        return None
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit


def work(job, tell):
    """Do the job."""
    kind = "mps" if job["backend"] == "mps" else "cpu"
    torch = import_torch(kind)
    device = Device(torch, kind)
    loaded, copied_bytes = load_cases(torch, job, device, tell)
    for case in loaded:
        run_case(torch, device, case, job, tell)
    tell(
        "memory",
        peak_bytes=resident_peak_bytes(),
        device_peak_bytes=device.most_bytes,
        copied_bytes=copied_bytes,
    )
    if job["ceilings"]:
        measure_ceilings(torch, device, job["precision"], tell)
    title = getattr(torch.backends.mps, "get_name", None) if kind == "mps" else None
    tell("finished", backend_version=str(torch.__version__), device_name=title() if title else "")


def refusing(tell, runtime):
    """Return a hook that tells what ended the work in one sentence, and leaves the traceback to the log."""

    def hook(kind, error, trace):
        traceback.print_exception(kind, error, trace)
        if isinstance(error, CannotRunError):
            tell("refused", code=error.code, message=error.message, hint=error.hint)
        elif isinstance(getattr(error, "facts", None), dict):  # the exporter's own words
            tell("refused", **error.facts)
        else:
            line = (str(error).strip().splitlines() or [""])[0][:400]
            message = "%s raised %s: %s" % (runtime, kind.__name__, line)
            tell("refused", code="raised", message=message, hint="Try fp32, or another backend.")

    return hook


def begin(runtime):
    """Return the job whose file is the argument, and the function that answers."""
    tell = answering()
    sys.excepthook = refusing(tell, runtime)
    # Users have files of these names too: theirs come first.
    sys.path[:] = [*(entry for entry in sys.path if entry != HERE), HERE]
    with open(sys.argv[1], encoding="utf-8") as file:
        return json.load(file), tell


if __name__ == "__main__":
    work(*begin("PyTorch"))
