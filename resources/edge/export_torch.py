"""Exports modules of PyTorch: reference, graph, inputs, and what is known of the graph.

Python 3.9 and newer, PyTorch 2.6 and newer.
"""

import hashlib
import os
import re
import statistics
import sys
import time
import warnings

import numpy as np
import torch

words = sys.modules["ridgeline_export_words"]
beside = words.beside
facts = beside("export_facts")

OPSET = 20
INSIDE_BYTES = 64 * 2**20
"""Weights up to this size lie in the graph's file."""

FEWEST_CALLS, MOST_CALLS = 3, 20
CALLS_BUDGET_S = 3.0
LONGEST_CALLS_S = 20.0
UNSUPPORTED = re.compile(r"OpOverload\(op='([\w.:]+)', overload='(\w+)'\)")


def prepare(request, folder, folders, progress):
    """Export all cases into a folder; return what model.json says."""
    warnings.simplefilter("ignore")
    half = request["precision"] == "fp16"
    if half and request["spec"]["source"] == "pt2":
        raise words.Refused(
            "precision",
            "%s computes with the types that it was exported with." % request["title"],
            "Choose fp32, or export the model itself in fp16.",
        )
    progress.begin("building the model")
    opened = words.Opened() if request["spec"]["source"] == "script" else None
    cases = beside("export_build").cases_of(request)
    problems = []
    for case in cases:
        progress.begin("computing the reference", case["name"])
        add_reference(case, problems)
    module = cases[0]["module"]
    if half:
        for case in cases:
            case["module"].half()
            case["inputs"] = tuple(
                each.half() if each.is_floating_point() else each for each in case["inputs"]
            )
    weights = facts.weights_of(module)
    weight_bytes = sum(fact["size_bytes"] for fact in weights)
    start_s = time.perf_counter()
    prepared = []
    for case in cases:
        progress.begin("exporting to ONNX", case["name"])
        prepared.append(export(case, folder, folders, weight_bytes > INSIDE_BYTES))
    export_s = time.perf_counter() - start_s
    share_weights(folder, prepared)
    first = cases[0]["program"]

    def placed(frames):
        return words.place(frames, folders)

    if opened is not None:
        opened.write(os.path.join(folder, "sources.json"), folder)
    return {
        "schema": request["schema"],
        "title": request["title"],
        "precision": request["precision"],
        "reference": "torch %s, CPU" % torch.__version__.split("+")[0],
        "parameters": sum(each.numel() for each in module.parameters()),
        "weight_bytes": weight_bytes,
        "cases": prepared,
        "tensors": weights + facts.activations_of(first, placed),
        "operators": facts.operators_of(first, placed),
        "export_s": export_s,
        "causal_decode": any(case["name"] == "decode" for case in cases),
        "problems": problems,
    }


def add_reference(case, problems):
    """Compute what a case has to give, and how long a warm call takes."""
    module, inputs = case["module"], case["inputs"]
    with torch.no_grad():
        given = module(*inputs)
        outputs = [as_array(each) for each in facts.tensors_in(flat(given))]
        times_s = []
        begin_s = time.perf_counter()
        while not times_s or not enough(len(times_s), time.perf_counter() - begin_s):
            start_s = time.perf_counter()
            module(*inputs)
            times_s.append(time.perf_counter() - start_s)
    if not outputs:
        raise words.Refused(
            "outputs",
            "The model returns no tensor.",
            "Let its forward return a tensor or a tuple of tensors.",
        )
    bad = sum(int(np.count_nonzero(~np.isfinite(each))) for each in outputs if each.dtype.kind == "f")
    if bad:
        problems.append(
            (
                "reference_not_finite",
                "The reference itself has %s NaN or infinite elements." % format(bad, ","),
            )
        )
    case["outputs"], case["call_s"] = outputs, statistics.median(times_s)


def enough(calls, taken_s):
    """Tell whether the reference was called often enough to have a median."""
    return calls >= MOST_CALLS or taken_s > (CALLS_BUDGET_S if calls >= FEWEST_CALLS else LONGEST_CALLS_S)


def flat(value):
    """Return the leaves of what a model returned."""
    return torch.utils._pytree.tree_flatten(value)[0]


def as_array(tensor):
    """Return a tensor as NumPy has it."""
    tensor = tensor.detach().cpu()
    return (tensor.float() if tensor.dtype == torch.bfloat16 else tensor).contiguous().numpy()


def export(case, folder, folders, outside):
    """Write the graph, the inputs and the reference of a case; return what model.json says of it."""
    name, inputs = case["name"], case["inputs"]
    with torch.no_grad():
        program = torch.export.export(case["module"], inputs, strict=False)
    exported = to_onnx(program, folders)
    case["program"] = exported.exported_program
    input_names = [each.name for each in exported.model.graph.inputs]
    output_names = [each.name for each in exported.model.graph.outputs]
    if len(input_names) != len(inputs) or len(output_names) != len(case["outputs"]):
        raise words.Refused(
            "signature",
            "The exported graph has %d inputs and %d outputs; the model has %d and %d."
            % (len(input_names), len(output_names), len(inputs), len(case["outputs"])),
            "Give the model only tensors that it uses, and let it return each tensor once.",
        )
    exported.save(os.path.join(folder, name + ".onnx"), external_data=outside)
    np.savez(os.path.join(folder, name + ".inputs.npz"), **dict(zip(input_names, map(as_array, inputs))))
    np.savez(os.path.join(folder, name + ".reference.npz"), **dict(zip(output_names, case["outputs"])))
    return {
        "name": name,
        "onnx": name + ".onnx",
        "inputs": name + ".inputs.npz",
        "reference": name + ".reference.npz",
        "tokens": case["tokens"],
        "flops": facts.flops_of(program, inputs),
        "reference_call_s": case["call_s"],
    }


def to_onnx(program, folders):
    """Translate a program; an operator that cannot be is named with its line."""
    try:
        return torch.onnx.export(program, dynamo=True, opset_version=OPSET, verbose=False)
    except torch.onnx.OnnxExporterError as error:
        causes, cause = [], error
        while cause is not None:
            causes.append(str(cause))
            cause = cause.__cause__
        found = UNSUPPORTED.search("\n".join(causes))
        if found is None:
            raise
        name = "%s.%s" % (found[1].replace("::", "."), found[2])
        nodes = [node for node in facts.operators_in(program) if str(node.target) == name]
        where = [facts.source_of(node, lambda frames: words.place(frames, folders)) for node in nodes]
        where = [place for place in dict.fromkeys(where) if place]
        raise words.Refused(
            "unsupported_operator",
            "torch.onnx cannot export %s%s." % (name, " at " + ", ".join(where) if where else ""),
            "Write it with other operators, or run the model with a backend that runs PyTorch itself.",
        ) from error


def share_weights(folder, prepared):
    """Make equal files of weights one: lengths of the same model differ in the graph alone."""
    known = {}
    for case in prepared:
        path = os.path.join(folder, case["onnx"] + ".data")
        if not os.path.exists(path):
            continue
        digest = hashlib.sha256()
        with open(path, "rb") as file:
            for block in iter(lambda: file.read(2**22), b""):
                digest.update(block)
        first = known.setdefault(digest.hexdigest(), path)
        if first != path:
            os.unlink(path)
            os.link(first, path)
