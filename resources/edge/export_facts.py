"""What an exported program holds: weights, the largest results, operators and their source lines, FLOP.

Python 3.9 and newer, PyTorch 2.6 and newer.
"""

import re

import torch
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils.flop_counter import FlopCounterMode

MOST_ACTIVATIONS = 20
FRAME = re.compile(r'File "([^"]+)", line (\d+)')


def dtype_name(dtype):
    """Return "float32" for torch.float32."""
    return str(dtype).replace("torch.", "")


def tensor_fact(name, value, kind):
    """Describe a tensor."""
    return {
        "name": name,
        "shape": [int(size) for size in value.shape],
        "dtype": dtype_name(value.dtype),
        "size_bytes": int(value.numel()) * value.element_size(),
        "kind": kind,
    }


def weights_of(model):
    """Describe parameters and buffers, each that is shared once."""
    named = [*model.named_parameters(), *model.named_buffers()]
    return [tensor_fact(name, value, "weight") for name, value in named]


def operators_in(program):
    """Return the nodes that call an operator, and not what takes a tuple apart."""
    nodes = [node for node in program.graph.nodes if node.op == "call_function"]
    return [node for node in nodes if hasattr(node.target, "_schema")]


def tensors_in(value):
    """Return the tensors in what a node gives or takes."""
    if isinstance(value, torch.fx.Node):
        value = value.meta.get("val")
    if isinstance(value, torch.Tensor):
        return [value]
    if isinstance(value, (list, tuple)):
        return [tensor for each in value for tensor in tensors_in(each)]
    return []


def is_view(node):
    """Tell whether an operator gives its input in another shape: nothing new is held."""
    return any(each.alias_info is not None for each in node.target._schema.returns)


def source_of(node, placed):
    """Return "model.py:12" of a node; "" if its trace names no line of the user's."""
    return placed(FRAME.findall(node.meta.get("stack_trace") or ""))


def activations_of(program, placed):
    """Describe the largest tensors that operators give."""
    facts = []
    for node in operators_in(program):
        if is_view(node):
            continue
        source = source_of(node, placed)
        for value in tensors_in(node):
            name = "%s at %s" % (node.name, source) if source else node.name
            facts.append(tensor_fact(name, value, "activation"))
    facts.sort(key=lambda fact: -fact["size_bytes"])
    return facts[:MOST_ACTIVATIONS]


def operators_of(program, placed):
    """Describe the operators, the most called first."""
    found = {}
    for node in operators_in(program):
        name = str(node.target)
        calls, sources, dtypes = found.setdefault(name, ([], {}, {}))
        calls.append(node)
        source = source_of(node, placed)
        if source:
            sources[source] = None
        for value in tensors_in(node) + tensors_in(list(node.all_input_nodes)):
            dtypes[dtype_name(value.dtype)] = None
    facts = [
        {"name": name, "calls": len(calls), "sources": list(sources), "dtypes": list(dtypes)}
        for name, (calls, sources, dtypes) in found.items()
    ]
    return sorted(facts, key=lambda fact: -fact["calls"])


def flops_of(program, inputs):
    """Count the FLOP of one call without computing it; None if they cannot be counted."""
    try:
        # The CPU's fused attention has no count of its own; its two products have.
        with torch.no_grad(), FakeTensorMode(allow_non_fake_inputs=True), sdpa_kernel(SDPBackend.MATH):
            counter = FlopCounterMode(display=False)
            with counter:
                program.module()(*inputs)
        return int(counter.get_total_flops())
    except (RuntimeError, TypeError, AttributeError, ValueError):
        return None
