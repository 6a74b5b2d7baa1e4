"""Takes an ONNX file as it is: makes inputs for it, and computes what it has to give on the CPU.

By ONNX Runtime where that is installed, else by the reference evaluator of onnx,
which is slow and exact. Python 3.9 and newer.
"""

import os
import shutil
import statistics
import sys
import time

import google.protobuf.message
import numpy as np
import onnx
from onnx import helper

words = sys.modules["ridgeline_export_words"]

SEED = 0
MOST_ACTIVATIONS = 20
FEWEST_CALLS, MOST_CALLS = 3, 20
CALLS_BUDGET_S = 3.0
BROKEN = (
    RuntimeError,
    ValueError,
    TypeError,
    KeyError,
    IndexError,
    onnx.checker.ValidationError,
    onnx.shape_inference.InferenceError,
    google.protobuf.message.Error,
)
OPEN_SIZE = 1
"""Of a dimension that the file leaves open."""


def prepare(request, folder, progress):
    """Fill a folder for an ONNX file; return what model.json says."""
    path = request["spec"]["target"]
    shown = os.path.basename(path)
    if request["precision"] != "fp32":
        raise words.Refused(
            "precision",
            "%s computes with the types that it was written with." % shown,
            "Choose fp32, or export the model itself in fp16.",
        )
    progress.begin("reading the file")
    model = read(path, shown)
    copy(path, model, folder, shown)
    if any(has_open_shape(value) for value in inputs_of(model)):
        close_shapes(model)
        onnx.save(model, os.path.join(folder, "run.onnx"))
    arrays = make_inputs(model, shown)
    progress.begin("computing the reference", "run")
    by, names, outputs, call_s = compute(os.path.join(folder, "run.onnx"), model, arrays, shown)
    np.savez(os.path.join(folder, "run.inputs.npz"), **arrays)
    np.savez(os.path.join(folder, "run.reference.npz"), **dict(zip(names, outputs)))
    weights = [fact(each.name, list(each.dims), each.data_type, "weight") for each in model.graph.initializer]
    first = next(iter(arrays.values()), None)
    is_tokens = first is not None and first.ndim == 2 and first.dtype.kind == "i"
    return {
        "schema": request["schema"],
        "title": request["title"],
        "precision": "fp32",
        "reference": by,
        "parameters": sum(int(np.prod(each["shape"], dtype=np.int64)) for each in weights),
        "weight_bytes": sum(each["size_bytes"] for each in weights),
        "cases": [
            {
                "name": "run",
                "onnx": "run.onnx",
                "inputs": "run.inputs.npz",
                "reference": "run.reference.npz",
                "tokens": int(first.size) if is_tokens else None,
                "flops": None,
                "reference_call_s": call_s,
            }
        ],
        "tensors": weights + activations_of(model),
        "operators": operators_of(model),
        "export_s": 0.0,
        "problems": [],
    }


def read(path, shown):
    """Read the graph without its weights beside it, and check it."""
    try:
        model = onnx.load(path, load_external_data=False)
        onnx.checker.check_model(path)
    except (*BROKEN, OSError) as error:
        raise words.Refused(
            "onnx",
            "%s is no sound ONNX model: %s." % (shown, words.first_line(error).rstrip(".")),
            "Export it again.",
        ) from error
    if not model.graph.output or not inputs_of(model):
        raise words.Refused("onnx", "%s has no inputs or no outputs." % shown, "Export it with both.")
    return model


def inputs_of(model):
    """Return the inputs that are no weights."""
    weights = {each.name for each in model.graph.initializer}
    return [each for each in model.graph.input if each.name not in weights]


def copy(path, model, folder, shown):
    """Copy the file, and what lies beside it of its weights."""
    shutil.copyfile(path, os.path.join(folder, "run.onnx"))
    beside = os.path.dirname(os.path.abspath(path))
    for tensor in model.graph.initializer:
        place = next((each.value for each in tensor.external_data if each.key == "location"), None)
        if place is None:
            continue
        source = os.path.realpath(os.path.join(beside, place))
        if os.path.basename(place) != place or os.path.dirname(source) != os.path.realpath(beside):
            raise words.Refused(
                "onnx",
                "%s has weights in %s, which is not beside it." % (shown, place),
                "Put the weights into the folder of the model.",
            )
        target = os.path.join(folder, place)
        if not os.path.exists(target):
            shutil.copyfile(source, target)


def has_open_shape(value):
    """Tell whether a dimension is not a number."""
    return any(not each.HasField("dim_value") for each in value.type.tensor_type.shape.dim)


def close_shapes(model):
    """Give every open dimension of the inputs a size."""
    for value in inputs_of(model):
        for dimension in value.type.tensor_type.shape.dim:
            if not dimension.HasField("dim_value"):
                dimension.dim_value = OPEN_SIZE
    del model.graph.value_info[:]
    for value in model.graph.output:
        for dimension in value.type.tensor_type.shape.dim:
            if not dimension.HasField("dim_value"):
                dimension.Clear()


def make_inputs(model, shown):
    """Return an array for each input: normal numbers, and whole ones below what they choose among."""
    generator = np.random.default_rng(SEED)
    arrays = {}
    for value in inputs_of(model):
        tensor = value.type.tensor_type
        shape = [each.dim_value for each in tensor.shape.dim]
        dtype = helper.tensor_dtype_to_np_dtype(tensor.elem_type)
        if dtype.kind == "f":
            arrays[value.name] = generator.standard_normal(shape).astype(dtype)
        elif dtype.kind in "iu":
            arrays[value.name] = generator.integers(0, choices(model, value.name), shape).astype(dtype)
        elif dtype.kind == "b":
            arrays[value.name] = np.ones(shape, dtype)
        else:
            raise words.Refused(
                "onnx",
                "The input %s of %s is of a type that no input can be made for." % (value.name, shown),
                "Give it inputs of numbers.",
            )
    return arrays


def choices(model, name):
    """Return below what the whole numbers of an input have to be: rows of the table that they choose from."""
    weights = {each.name: each for each in model.graph.initializer}
    sizes = [
        weights[node.input[0]].dims[0]
        for node in model.graph.node
        if node.op_type == "Gather"
        and len(node.input) > 1
        and node.input[1] == name
        and node.input[0] in weights
    ]
    return int(min(sizes, default=2))


def compute(path, model, arrays, shown):
    """Return who computed, names of the outputs, the outputs, and the median of the warm calls."""
    names = [each.name for each in model.graph.output]
    try:
        import onnxruntime
    except ImportError:
        from onnx.reference import ReferenceEvaluator

        session = ReferenceEvaluator(path)
        by = "onnx %s, reference evaluator" % onnx.__version__
    else:
        session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
        by = "ONNX Runtime %s, CPU" % onnxruntime.__version__
    try:
        outputs = session.run(names, arrays)
    except BROKEN as error:
        raise words.Refused(
            "onnx",
            "%s cannot be run with inputs made for it: %s." % (shown, words.first_line(error).rstrip(".")),
            "Give it inputs of fixed shapes.",
        ) from error
    times_s = []
    begin_s = time.perf_counter()
    while len(times_s) < FEWEST_CALLS or (
        len(times_s) < MOST_CALLS and time.perf_counter() - begin_s < CALLS_BUDGET_S
    ):
        start_s = time.perf_counter()
        session.run(names, arrays)
        times_s.append(time.perf_counter() - start_s)
    return by, names, [np.asarray(each) for each in outputs], statistics.median(times_s)


def fact(name, shape, data_type, kind):
    """Describe a tensor."""
    dtype = helper.tensor_dtype_to_np_dtype(data_type)
    return {
        "name": name,
        "shape": [int(each) for each in shape],
        "dtype": str(dtype),
        "size_bytes": int(np.prod(shape, dtype=np.int64)) * dtype.itemsize,
        "kind": kind,
    }


def activations_of(model):
    """Describe the largest results, as far as their shapes can be inferred."""
    try:
        inferred = onnx.shape_inference.infer_shapes(model)
    except BROKEN:
        return []
    facts = []
    for value in [*inferred.graph.value_info, *inferred.graph.output]:
        tensor = value.type.tensor_type
        if tensor.elem_type and tensor.HasField("shape") and not has_open_shape(value):
            shape = [each.dim_value for each in tensor.shape.dim]
            facts.append(fact(value.name, shape, tensor.elem_type, "activation"))
    return sorted(facts, key=lambda each: -each["size_bytes"])[:MOST_ACTIVATIONS]


def operators_of(model):
    """Describe the operators, the most frequent first."""
    counts = {}
    for node in model.graph.node:
        name = "%s.%s" % (node.domain or "onnx", node.op_type)
        counts[name] = counts.get(name, 0) + 1
    facts = [{"name": name, "calls": calls, "sources": [], "dtypes": []} for name, calls in counts.items()]
    return sorted(facts, key=lambda each: -each["calls"])
