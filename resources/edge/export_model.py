"""Exports a model to ONNX and computes what it has to give, in fp32 on the CPU.

Started by Ridgeline under the user's interpreter, with one argument: the path of
request.json in an empty folder. It fills that folder with what
core/edge/models.py describes as PreparedModel, model.json last, and answers with
one JSON object a line. ``--versions`` instead prints what is installed. Nothing of
Ridgeline is imported but the files beside this one. Python 3.9 and newer, PyTorch
2.6 and newer.

request.json: {schema, spec {source, target, factory, tokens, checkpoint, decode},
precision, title, preset {file, arguments}, sources (where to list the files that
a script opened)}.
"""

import importlib.util
import json
import os
import sys
import time
from importlib import metadata

HERE = os.path.dirname(os.path.abspath(__file__))
PACKAGES = ("torch", "onnx", "onnxscript", "numpy", "onnxruntime", "onnxruntime-webgpu")
OLDEST_TORCH = (2, 6)


def load_words():
    """Import the file that all others speak by."""
    name = "ridgeline_export_words"
    if name not in sys.modules:
        spec = importlib.util.spec_from_file_location(name, os.path.join(HERE, "export_words.py"))
        module = importlib.util.module_from_spec(spec)
        sys.modules[name] = module
        spec.loader.exec_module(module)
    return sys.modules[name]


words = load_words()
beside = words.beside


def build_cases(request):
    """Build the modules of a request: eager, eval(), fp32, on the CPU, with the weights that are exported.

    Args:
        request: What stands in request.json.

    Returns:
        By the name of each case: the module and its positional inputs, in the order of inputs.npz.

    Raises:
        ValueError: It is an .onnx file, which no module can be made of.
    """
    spec = request["spec"]
    if spec["source"] == "onnx":
        raise ValueError("An ONNX file is no module of PyTorch.")
    return {
        case["name"]: (case["module"], case["inputs"]) for case in beside("export_build").cases_of(request)
    }


def versions():
    """Return the versions of what matters here, "" for what is not installed."""
    found = {"python": "%d.%d.%d" % sys.version_info[:3]}
    for name in PACKAGES:
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            found[name] = ""
    return found


class Progress:
    """Tells what is done; the hook of errors asks it what that was."""

    def __init__(self, tell):
        self.tell = tell
        self.doing = "starting"

    def begin(self, doing, case=""):
        """Say what begins."""
        self.doing = doing
        self.tell("began", stage="export", words=doing, case=case)


def refusing(progress, folders):
    """Return a hook that tells an error in one line: where it is in the user's files, if it is there."""

    def hook(kind, error, trace):
        sys.__excepthook__(kind, error, trace)
        if isinstance(error, words.Refused):
            progress.tell("refused", **error.facts)
            return
        where = words.place_of_error(error, folders)
        said = words.first_line(error)
        if isinstance(error, MemoryError):
            message, hint = "There is not enough memory while %s." % progress.doing, "Choose a smaller model."
        elif where:
            message = "%s, at %s, while %s." % (said.rstrip("."), where, progress.doing)
            hint = (
                "Mend that line; the model is called as `model(*example_inputs)`, in eval mode, on the CPU."
            )
        else:
            message = "%s, while %s." % (said.rstrip("."), progress.doing)
            hint = "The whole traceback is in the log."
        progress.tell("refused", code="export", message=message, hint=hint)

    return hook


def main():
    """Do what the request says."""
    if sys.argv[1] == "--versions":
        print(json.dumps(versions()))
        return
    with open(sys.argv[1], encoding="utf-8") as file:
        request = json.load(file)
    folder = os.path.dirname(os.path.abspath(sys.argv[1]))
    # The user's model must not find what lies beside this file.
    sys.path[:] = [each for each in sys.path if os.path.abspath(each or ".") != HERE]
    spec = request["spec"]
    own = request["preset"]["file"] if spec["source"] == "preset" else spec["target"]
    folders = [os.path.dirname(os.path.abspath(own)), HERE]
    progress = Progress(words.answering())
    sys.excepthook = refusing(progress, folders)
    start_s = time.perf_counter()
    if spec["source"] == "onnx":
        prepared = beside("export_onnx").prepare(request, folder, progress)
    else:
        progress.begin("importing PyTorch")
        import torch

        if tuple(int(part) for part in torch.__version__.split(".")[:2]) < OLDEST_TORCH:
            raise words.Refused(
                "old_torch",
                "torch %s cannot export this; 2.6 or newer can." % torch.__version__,
                "Update torch in this environment, or choose another interpreter.",
            )
        prepared = beside("export_torch").prepare(request, folder, folders, progress)
    with open(os.path.join(folder, "model.json.part"), "w", encoding="utf-8") as file:
        json.dump(prepared, file)
    os.replace(os.path.join(folder, "model.json.part"), os.path.join(folder, "model.json"))
    progress.tell("ended", stage="export", seconds=time.perf_counter() - start_s)
    progress.tell("finished", backend_version=versions()["torch"])


if __name__ == "__main__":
    main()
