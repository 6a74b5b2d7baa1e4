"""Tells what an interpreter is and has, for a job that it shall run.

Started by Ridgeline under the user's interpreter, alone in its folder, with one
argument: a JSON object {target, is_module, device}. It answers on stdout with
one JSON object a line, each as soon as it is known, so that a check that hangs
or crashes still tells how far it came. The user's code is found and parsed, it
is never run or imported. Written so that an old Python can say its version.
"""

import ast
import json
import os
import sys
from importlib.machinery import PathFinder

OLDEST_PYTHON = (3, 9)
GUARDS = ("If", "IfExp", "Try", "TryStar", "While", "Match", "BoolOp")
SHARDING = ("fully_shard", "FullyShardedDataParallel", "FSDP")


def answers():
    """Keep stdout for the answers: what an import prints goes to stderr."""
    channel = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)

    def answer(kind, **facts):
        facts["kind"] = kind
        channel.write(json.dumps(facts) + "\n")
        channel.flush()

    return answer


def check_torch(answer, device):
    """Import torch and report what it has. What this raises, the excepthook answers."""
    answer("begin", what="importing torch")
    import torch  # noqa: PLC0415 - what is there is said before this, which may hang or crash
    import torch.distributed as dist  # noqa: PLC0415

    available = dist.is_available()
    facts = {
        "torch": str(torch.__version__),
        "cuda": torch.version.cuda,
        "distributed": available,
        "gloo": available and dist.is_gloo_available(),
        "nccl": available and dist.is_nccl_available(),
        "nccl_version": None,
        "gpu_count": 0,
        "gpu_problem": "",
    }
    if device == "cuda":
        answer("begin", what="asking the NVIDIA driver for GPUs")
        ask_cuda(torch, facts)
    answer("torch", **facts)


def ask_cuda(torch, facts):
    """Fill in what torch says about GPUs; a driver that fails is a fact, not an error."""
    try:
        facts["gpu_count"] = torch.cuda.device_count() if torch.cuda.is_available() else 0
        if not facts["gpu_count"] and torch.version.cuda is not None:
            torch.cuda.init()
    except (RuntimeError, AssertionError, OSError) as error:
        facts["gpu_problem"] = str(error).strip().split("\n")[0][:300]
    try:
        if facts["nccl"]:
            facts["nccl_version"] = ".".join(str(part) for part in torch.cuda.nccl.version())
    except (AttributeError, RuntimeError, TypeError):
        facts["nccl_version"] = None


def locate(parts):
    """Find a module by the parts of its name, importing no package on the way; None if absent.

    importlib.util.find_spec would run the packages above the module.
    """
    spec, places = None, None
    for number, part in enumerate(parts):
        if number and places is None:
            return None
        spec = ask_finders(".".join(parts[: number + 1]), part, places)
        if spec is None:
            return None
        places = spec.submodule_search_locations
        places = None if places is None else list(places)
    return spec


def ask_finders(full_name, name, places):
    """Ask each finder; the one on paths by the last part, as it knows no parents here."""
    for finder in sys.meta_path:
        if not hasattr(finder, "find_spec"):
            continue
        try:
            spec = finder.find_spec(name if finder is PathFinder else full_name, places)
        except (ImportError, AttributeError, ValueError, OSError):
            spec = None
        if spec is not None:
            return spec
    return None


def check_module(answer, name):
    """Report the file that ``python -m name`` would run, or which part of the name is missing."""
    answer("begin", what="looking for the module")
    parts = name.split(".")
    spec = locate(parts)
    if spec is not None and spec.submodule_search_locations is not None:
        parts.append("__main__")
        spec = locate(parts)
    if spec is not None:
        answer("module", found=True, origin=spec.origin or "")
        return spec.origin if (spec.origin or "").endswith(".py") else ""
    known = 0
    while locate(parts[: known + 1]) is not None:
        known += 1
    answer("module", found=False, known=".".join(parts[:known]), missing=parts[known])
    return None


def check_source(answer, path):
    """Parse a script with this interpreter's grammar; tell whether that can be run.

    Report what it asks of torch.distributed.
    """
    answer("begin", what="reading the script")
    try:
        with open(path, "rb") as file:
            source = file.read(4 * 1024 * 1024)
        tree = ast.parse(source, path)
    except SyntaxError as error:
        answer("syntax_error", line=error.lineno, message=str(error.msg))
        return False
    except (OSError, ValueError, RecursionError, MemoryError):
        return True
    answer("source", **backends(tree))
    return True


def backends(tree):
    """Tell which backends a script names: anywhere, and in calls that no condition guards."""
    certain, named, shards, fsdp2 = set(), set(), False, False
    waiting = [(tree, False)]
    while waiting:
        node, guarded = waiting.pop()
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            named.update(name for name in ("nccl", "gloo") if name in node.value.split(":"))
            if "cuda:nccl" in node.value:
                named.update(("nccl", "gloo"))
        if isinstance(node, ast.Call):
            called = getattr(node.func, "attr", getattr(node.func, "id", ""))
            shards = shards or called in SHARDING
            fsdp2 = fsdp2 or called == "fully_shard"
            if called == "init_process_group" and not guarded:
                certain.update(literal_backends(node))
        guarded = guarded or type(node).__name__ in GUARDS
        waiting.extend((child, guarded) for child in ast.iter_child_nodes(node))
    return {"certain": sorted(certain), "named": sorted(named), "shards": shards, "fsdp2": fsdp2}


def literal_backends(call):
    """Return "nccl" or "gloo" if the call names it as a plain string."""
    given = call.args[:1] + [word.value for word in call.keywords if word.arg == "backend"]
    values = [value.value for value in given if isinstance(value, ast.Constant)]
    return [value for value in values if value in ("nccl", "gloo")]


def main():
    """Answer in the order: interpreter, script or module, torch."""
    answer = answers()

    def tell(kind, error, traceback):
        answer("raised", type=kind.__name__, message=str(error)[:500])
        sys.__excepthook__(kind, error, traceback)

    sys.excepthook = tell
    answer("python", version=".".join(str(part) for part in sys.version_info[:3]), path=sys.executable)
    if sys.version_info < OLDEST_PYTHON:
        return
    request = json.loads(sys.argv[1])
    path = request["target"]
    if request["is_module"]:
        sys.path[0] = os.getcwd()
        path = check_module(answer, path)
        if path is None:
            return
    if path and not check_source(answer, path):
        return
    del sys.path[0]
    check_torch(answer, request["device"])
    answer("end")


if __name__ == "__main__":
    main()
