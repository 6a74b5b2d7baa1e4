"""Lowers a prepared model to ExecuTorch's .pte file for Vulkan on phones, and says what Vulkan does not take.

Started by Ridgeline under an interpreter with torch and executorch, with one
argument: a JSON file {model_folder, case, output}. Nothing is run: ExecuTorch's
wheels have no Vulkan runtime. Python 3.10 and newer, as ExecuTorch.

Calls, from ExecuTorch's documentation (1.5): torch.export.export,
exir.to_edge_transform_and_lower, VulkanPartitioner with its option force_fp16,
devtools.backend_debug.get_delegation_info; the reasons are what the partitioner logs.
"""

import importlib.util
import logging
import os
import re
import sys
import time
from importlib import metadata

HERE = os.path.dirname(os.path.abspath(__file__))
SKIPPED = re.compile(r"Due to \[([^\]]+)\], skipping .*? = ([\w.]+)\(")
NO_OPERATORS = ("getitem",)
"""What a graph holds beside operators: picking one of several results."""


def load_shared():
    """Return ``torch_worker.py``."""
    path = os.path.join(HERE, "torch_worker.py")
    spec = importlib.util.spec_from_file_location("ridgeline_torch_worker", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


shared = load_shared()


class Reasons(logging.Handler):
    """Keeps why the partitioner left operators out."""

    def __init__(self):
        super().__init__(logging.INFO)
        self.found = {}

    def emit(self, record):
        """Take a line of the log."""
        match = SKIPPED.search(record.getMessage())
        if match:
            name = match.group(2).replace(".", "_").lower()
            self.found.setdefault(name, (match.group(2), match.group(1)))


def lower(module, inputs, half, reasons):
    """Return the program of ExecuTorch and what was delegated."""
    import torch
    from executorch.backends.vulkan.partitioner.vulkan_partitioner import VulkanPartitioner
    from executorch.devtools.backend_debug import get_delegation_info
    from executorch.exir import to_edge_transform_and_lower

    logger = logging.getLogger()
    logger.setLevel(logging.INFO)
    logger.addHandler(reasons)
    with torch.no_grad():
        program = torch.export.export(module, inputs)
        options = {"force_fp16": True} if half else {}
        edge = to_edge_transform_and_lower(program, partitioner=[VulkanPartitioner(options)])
    info = get_delegation_info(edge.exported_program().graph_module)
    return edge.to_executorch(), info


def operators(info, reasons):
    """Return how often each operator was delegated and how often not, and why not."""
    rows = []
    for name, counts in sorted(info.delegation_by_operator.items()):
        if name in NO_OPERATORS:
            continue
        spelled, reason = reasons.get(name, (name, ""))
        rows.append(
            {
                "name": spelled,
                "delegated": int(counts.delegated),
                "left": int(counts.non_delegated),
                "reason": reason,
            }
        )
    return rows


def work(job, tell):
    """Lower the model and write the file."""
    shared.import_torch("cpu")
    try:
        from executorch.exir import to_edge_transform_and_lower  # noqa: F401
    except ImportError as error:
        raise shared.CannotRunError(
            "no_executorch",
            "ExecuTorch cannot be imported by %s: %s." % (sys.executable, error),
            "%s -m pip install executorch" % sys.executable,
        ) from None
    started_s = time.perf_counter()
    tell("began", stage="compile", words="lowering to ExecuTorch for Vulkan", case=job["case"])
    request = shared.read_request(job["model_folder"])
    module, inputs = shared.load_exporter().build_cases(request)[job["case"]]
    reasons = Reasons()
    program, info = lower(module, inputs, request["precision"] == "fp16", reasons)
    part = job["output"] + ".part"
    with open(part, "wb") as file:
        program.write_to_file(file)
    os.replace(part, job["output"])
    tell(
        "exported",
        executorch=metadata.version("executorch"),
        seconds=time.perf_counter() - started_s,
        parts=int(info.num_delegated_subgraphs),
        operators=operators(info, reasons.found),
    )


if __name__ == "__main__":
    work(*shared.begin("ExecuTorch"))
