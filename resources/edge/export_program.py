"""Loads what torch.export.save has written (.pt2), and nothing else that may lie in such a file.

torch.export.load unpickles what an archive marks as pickled. Weights and inputs
are loaded as tensors alone (TORCH_FORCE_WEIGHTS_ONLY_LOAD, from the
documentation of torch.load); an archive that holds objects of other kinds is
refused. Source of the names: torch/export/pt2_archive/constants.py. Python 3.9
and newer, PyTorch 2.6 and newer.
"""

import os
import pickle
import sys
import zipfile

import torch

words = sys.modules["ridgeline_export_words"]

OBJECTS = ("custom_obj_", "opaque_obj_")
COMPILED = "aotinductor"


def load_program(path):
    """Return the module of a program, and the inputs that it was exported with.

    Args:
        path: The file.
    """
    shown = os.path.basename(path)
    try:
        with zipfile.ZipFile(path) as archive:
            names = archive.namelist()
    except (OSError, zipfile.BadZipFile) as error:
        raise words.Refused(
            "program",
            "%s is no archive of torch.export: %s." % (shown, words.first_line(error).rstrip(".")),
            "Write it with torch.export.save(program, ...).",
        ) from error
    if any(COMPILED in name.split("/") for name in names):
        raise words.Refused(
            "program",
            "%s is a compiled package, and what is in it is code of one machine." % shown,
            "Give the program that it was made of: torch.export.save(program, ...).",
        )
    if any(name.rpartition("/")[2].startswith(OBJECTS) for name in names):
        raise words.Refused(
            "program",
            "%s holds Python objects beside its weights; they are not loaded, as they could run code."
            % shown,
            "Export a model whose constants are tensors alone.",
        )
    os.environ["TORCH_FORCE_WEIGHTS_ONLY_LOAD"] = "1"
    try:
        program = torch.export.load(path)
    except (
        pickle.UnpicklingError,
        RuntimeError,
        ValueError,
        KeyError,
        AssertionError,
        AttributeError,
    ) as error:
        raise words.Refused(
            "program",
            "%s cannot be loaded: %s." % (shown, words.first_line(error).rstrip(".")),
            "Write it again with torch.export.save, with the torch that is to load it.",
        ) from error
    inputs, named = program.example_inputs or ((), {})
    if named or not inputs or not all(isinstance(each, torch.Tensor) for each in inputs):
        raise words.Refused(
            "program",
            "%s has no example inputs that are tensors by position." % shown,
            "Export it with torch.export.export(model, (tensor, ...)).",
        )
    return program.module(), tuple(each.detach().cpu() for each in inputs)
