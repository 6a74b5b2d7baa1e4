"""Runs MiniLLM in MLX: on the GPU of a Mac by Metal, with the weights that PyTorch has.

Started by Ridgeline under the user's interpreter, which needs torch and mlx, with one
argument: the file of a job. The model is written here once more, since MLX runs
no graph of others; other models are refused. ``torch_worker.py`` beside this file
has what both share. Python 3.9 and newer.

Calls, from MLX's documentation (0.32): mx.eval, mx.synchronize, mx.set_default_device,
mx.metal.is_available, mx.get_peak_memory, mx.device_info,
mx.fast.scaled_dot_product_attention, mx.fast.rms_norm.
"""

import importlib.util
import os
import statistics
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
EPSILON = 1.1920929e-07
"""torch.nn.RMSNorm without eps takes that of its data type: of fp32, in which the reference is."""


def load_shared():
    """Return ``torch_worker.py``."""
    spec = importlib.util.spec_from_file_location(
        "ridgeline_torch_worker", os.path.join(HERE, "torch_worker.py")
    )
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


shared = load_shared()


def import_mlx(device):
    """Return MLX with its device chosen: the CPU, which checks the conversion, or Metal."""
    try:
        import mlx.core as mx
    except ImportError as error:
        raise shared.CannotRunError(
            "no_mlx",
            "MLX cannot be imported by %s: %s." % (sys.executable, error),
            "pip install mlx there, on a Mac.",
        ) from None
    if device == "cpu":
        mx.set_default_device(mx.cpu)
    elif mx.metal.is_available():
        mx.set_default_device(mx.gpu)
    else:
        raise shared.CannotRunError(
            "no_metal", "MLX finds no Metal device.", "MLX needs macOS on Apple silicon."
        )
    return mx


class MiniLLM:
    """The model of ``train_fsdp.py``: no causal mask, no positions."""

    def __init__(self, mx, weights, heads):
        self.mx = mx
        self.weights = weights
        self.heads = heads
        self.layers = sum(1 for name in weights if name.endswith(".attention.in_proj_weight"))

    def __call__(self, tokens):
        """Map (batch, length) tokens to (batch, length, vocab) scores."""
        x = self.weights["embedding.weight"][tokens]
        for number in range(self.layers):
            x = self.block("blocks.%d." % number, x)
        return self.norm("norm", x) @ self.weights["head.weight"].T

    def norm(self, name, x):
        """Divide by the root of the mean square."""
        return self.mx.fast.rms_norm(x, self.weights[name + ".weight"], EPSILON)

    def block(self, name, x):
        """Add what attention and feed-forward give."""
        mx, weights = self.mx, self.weights
        batch, length, width = x.shape
        packed = self.norm(name + "norm1", x) @ weights[name + "attention.in_proj_weight"].T
        query, key, value = (
            part.reshape(batch, length, self.heads, -1).transpose(0, 2, 1, 3)
            for part in mx.split(packed, 3, axis=-1)
        )
        scale = (width // self.heads) ** -0.5
        mixed = mx.fast.scaled_dot_product_attention(query, key, value, scale=scale)
        mixed = mixed.transpose(0, 2, 1, 3).reshape(batch, length, width)
        x = x + mixed @ weights[name + "attention.out_proj.weight"].T
        h = self.norm(name + "norm2", x) @ weights[name + "feed_forward.0.weight"].T
        return x + (h * mx.sigmoid(h)) @ weights[name + "feed_forward.2.weight"].T


class Device:
    """The clock of MLX, which computes when it is told to."""

    def __init__(self, mx):
        self.mx = mx

    def wait(self):
        """Wait until all work is done."""
        self.mx.synchronize()

    def time_s(self, work):
        """Return how long a piece of work takes, until the device is done."""
        self.wait()
        start_s = time.perf_counter()
        work()
        self.wait()
        return time.perf_counter() - start_s


def load_model(mx, job, tell):
    """Build the model in PyTorch, and carry its weights over; return it and their bytes."""
    tell("began", stage="load", words="carrying the weights over to MLX")
    started_s = time.perf_counter()
    request = shared.read_request(job["model_folder"])
    if request["spec"]["source"] != "preset":
        raise shared.CannotRunError(
            "not_in_mlx",
            "MLX runs MiniLLM alone: it takes no graph, and the model would have to be written in it.",
            "Use MPS or IREE for this model.",
        )
    built = shared.load_exporter().build_cases(request)
    state = next(iter(built.values()))[0].state_dict()
    kind = mx.float16 if job["precision"] == "fp16" else mx.float32
    weights = {name: mx.array(value.float().numpy()).astype(kind) for name, value in state.items()}
    mx.eval(weights)
    tell("ended", stage="load", seconds=time.perf_counter() - started_s)
    model = MiniLLM(mx, weights, request["preset"]["arguments"]["heads"])
    return model, sum(each.nbytes for each in weights.values())


def run_case(mx, model, name, job, tell):
    """Run a case, tell its times, and leave its output."""
    import numpy

    tell("began", stage="run", case=name)
    started_s = time.perf_counter()
    with numpy.load(os.path.join(job["model_folder"], shared.prepared_case(job, name)["inputs"])) as stored:
        tokens = mx.array(stored[stored.files[0]])
    mx.eval(tokens)
    results = []

    def call():
        results[:] = [model(tokens)]
        mx.eval(results)

    first_s, warm_s = shared.repeated(Device(mx), call, job)
    output = "%s-outputs.npz" % name
    numpy.savez(os.path.join(job["work_folder"], output), output_0=numpy.array(results[0]))
    tell("called", case=name, first_s=first_s, warm_s=warm_s, output=output, output_names=["output_0"])
    tell("ended", stage="run", seconds=time.perf_counter() - started_s, case=name)


def measure_ceilings(mx, precision, tell):
    """Tell what a square product and a copy reach."""
    tell("began", stage="ceilings")
    started_s = time.perf_counter()
    device = Device(mx)
    size = shared.FIRST_SIZE
    while True:
        factors = [mx.random.normal((size, size)) for _ in range(2)]
        first, second = (each.astype(mx.float16 if precision == "fp16" else mx.float32) for each in factors)
        mx.eval(first, second)

        def product(first=first, second=second):
            mx.eval(first @ second)

        product()
        if device.time_s(product) >= shared.LONG_ENOUGH_S or size >= shared.LARGEST_SIZE:
            break
        size *= 2
    taken_s = min(shared.timed(device, product))
    tell("ceiling", what="gemm", type=precision, per_s=2 * size**3 / taken_s, size=size)
    source = mx.ones((shared.COPY_BYTES // 4,))
    mx.eval(source)
    taken_s = statistics.median(shared.timed(device, lambda: mx.eval(-source)))
    tell("ceiling", what="copy", type="", per_s=2 * shared.COPY_BYTES / taken_s, size=shared.COPY_BYTES)
    tell("ended", stage="ceilings", seconds=time.perf_counter() - started_s)


def work(job, tell):
    """Do the job."""
    mx = import_mlx(job["device"])
    model, weight_bytes = load_model(mx, job, tell)
    for name in job["cases"]:
        if name.startswith("prefill-"):
            run_case(mx, model, name, job, tell)
        else:
            tell(
                "noted",
                code="case_skipped",
                message="MLX does not run %s here." % name,
                hint="Use MPS or IREE.",
            )
    tell(
        "memory",
        peak_bytes=shared.resident_peak_bytes(),
        device_peak_bytes=int(mx.get_peak_memory()),
        copied_bytes=weight_bytes,
    )
    if job["ceilings"]:
        measure_ceilings(mx, job["precision"], tell)
    facts = mx.device_info() if hasattr(mx, "device_info") else {}
    tell("finished", backend_version=mx.__version__, device_name=str(facts.get("device_name", "")))


if __name__ == "__main__":
    work(*shared.begin("MLX"))
