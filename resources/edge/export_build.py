"""Builds the modules of a request, with their weights: MiniLLM, a factory of the user's, an exported program.

Python 3.9 and newer, PyTorch 2.6 and newer.
"""

import os
import pickle
import sys

import torch

words = sys.modules["ridgeline_export_words"]
beside = words.beside

WRAPPERS = ("model", "state_dict", "model_state_dict")
PREFIXES = ("module.", "_orig_mod.", "_fsdp_wrapped_module.", "model.")
MOST_NAMED = 3


def cases_of(request):
    """Return the cases, the judged one first: name, module, inputs, tokens."""
    spec = request["spec"]
    torch.manual_seed(0)
    if spec["source"] == "preset":
        return preset_cases(request)
    is_script = spec["source"] == "script"
    module, inputs = (
        script_model(spec) if is_script else beside("export_program").load_program(spec["target"])
    )
    if spec["checkpoint"]:
        load_weights(module, spec["checkpoint"])
    return [{"name": "run", "module": module, "inputs": inputs, "tokens": tokens_in(inputs)}]


def tokens_in(inputs):
    """Return how many tokens a model is given: elements of a first input of (batch, length) whole numbers."""
    first = inputs[0] if inputs else None
    if first is None or first.dim() != 2 or first.dtype not in (torch.int64, torch.int32):
        return None
    return first.numel()


def preset_cases(request):
    """Return MiniLLM at its lengths, and its causal decode if that is asked for."""
    spec, preset = request["spec"], request["preset"]
    sizes = preset["arguments"]
    example = words.load_file(preset["file"], "ridgeline_train_fsdp")
    model = example.MiniLLM(sizes["vocab"], sizes["dim"], sizes["layers"], sizes["heads"]).eval()
    if spec["checkpoint"]:
        load_weights(model, spec["checkpoint"])
    cases = []
    for length in spec["tokens"]:
        generator = torch.Generator().manual_seed(length)
        tokens = torch.randint(sizes["vocab"], (1, length), generator=generator)
        cases.append({"name": "prefill-%d" % length, "module": model, "inputs": (tokens,), "tokens": length})
    if spec["decode"]:
        decode = beside("export_decode")
        module = decode.CausalDecode(model, sizes["heads"]).eval()
        with torch.no_grad():
            inputs = decode.last_call(module, sizes["vocab"], spec["tokens"][0])
        cases.append({"name": "decode", "module": module, "inputs": inputs, "tokens": 1})
    return cases


def script_model(spec):
    """Import the user's file, call its factory, and return the module and its inputs."""
    path, name = os.path.abspath(spec["target"]), spec["factory"]
    sys.path.insert(0, os.path.dirname(path))
    sys.argv = [path]
    module = words.load_file(path, os.path.splitext(os.path.basename(path))[0])
    factory = getattr(module, name, None)
    shown = "%s of %s" % (name, os.path.basename(path))
    if not callable(factory):
        raise words.Refused("factory", "There is no function %s." % shown, "Name one that the file defines.")
    given = factory()
    if not (isinstance(given, tuple) and len(given) == 2 and isinstance(given[0], torch.nn.Module)):
        raise words.Refused(
            "factory",
            "%s returned %s instead of a model and its example inputs." % (shown, described(given)),
            "Let it end with `return model, (tokens,)`: a torch.nn.Module and a tuple of tensors.",
        )
    model, inputs = given
    inputs = (inputs,) if isinstance(inputs, torch.Tensor) else inputs
    if not isinstance(inputs, (tuple, list)) or not all(isinstance(each, torch.Tensor) for each in inputs):
        raise words.Refused(
            "factory",
            "%s gave %s as example inputs." % (shown, described(inputs)),
            "Let it return a tuple of tensors, which the model takes in that order.",
        )
    return model.cpu().float().eval(), tuple(as_fp32(each.detach().cpu()) for each in inputs)


def described(value):
    """Return what a value is, in words."""
    name = type(value).__name__
    if isinstance(value, (tuple, list)):
        return "a %s of %s" % (name, ", ".join(type(each).__name__ for each in value) or "nothing")
    return "a %s" % name


def as_fp32(tensor):
    """Return a tensor of real numbers in fp32, any other as it is."""
    return tensor.float() if tensor.is_floating_point() else tensor


def load_weights(model, path):
    """Load a state_dict that torch.save has written, and nothing else that may lie in the file."""
    shown = os.path.basename(path)
    try:
        found = torch.load(path, map_location="cpu", weights_only=True)
    except (
        pickle.UnpicklingError,
        RuntimeError,
        ValueError,
        EOFError,
        KeyError,
        OSError,
        AttributeError,
    ) as error:
        raise words.Refused(
            "checkpoint",
            "%s cannot be loaded as weights: %s." % (shown, words.first_line(error).rstrip(".")),
            "Save weights alone: torch.save(model.state_dict(), ...). Other objects are not loaded.",
        ) from error
    weights = state_in(found)
    if weights is None:
        raise words.Refused(
            "checkpoint",
            "%s holds no weights by name." % shown,
            "Save them with torch.save(model.state_dict(), ...).",
        )
    fit(model, weights, shown)


def state_in(found):
    """Return names and tensors, without what wrapped them; None if there are none."""
    for _ in WRAPPERS:
        if not isinstance(found, dict):
            return None
        if found and all(isinstance(each, torch.Tensor) for each in found.values()):
            return dict(found)
        inner = next((found[name] for name in WRAPPERS if isinstance(found.get(name), dict)), None)
        if inner is None:
            return None
        found = inner
    return None


def fit(model, weights, shown):
    """Give a model its weights; every name and shape has to fit."""
    wanted = model.state_dict()
    weights = unprefixed(weights, wanted)
    missing = [name for name in wanted if name not in weights]
    unexpected = [name for name in weights if name not in wanted]
    other = [
        "%s %s instead of %s" % (name, tuple(weights[name].shape), tuple(wanted[name].shape))
        for name in wanted
        if name in weights and weights[name].shape != wanted[name].shape
    ]
    for what, names in (
        ("lacks", missing),
        ("has what the model has not:", unexpected),
        ("has other shapes:", other),
    ):
        if names:
            more = "" if len(names) <= MOST_NAMED else " and %d more" % (len(names) - MOST_NAMED)
            raise words.Refused(
                "checkpoint",
                "%s %s %s%s." % (shown, what, ", ".join(names[:MOST_NAMED]), more),
                "Choose the size of the model that these weights are of.",
            )
    model.load_state_dict(weights)


def unprefixed(weights, wanted):
    """Return the weights without what DDP, FSDP or torch.compile put before their names."""
    renamed = {}
    for name, value in weights.items():
        bare = name
        while bare not in wanted:
            cut = next((each for each in PREFIXES if bare.startswith(each)), None)
            if cut is None:
                bare = name.replace("_fsdp_wrapped_module.", "").replace("_orig_mod.", "")
                break
            bare = bare[len(cut) :]
        renamed[bare if bare in wanted else name] = value
    return renamed
