"""Asks PyTorch and MLX about the GPU of a Mac, and prints what they say as one line of JSON.

Started by Ridgeline alone in a process, which may be lost. Each of the two
answers for itself: what one does not know, the other may. Python 3.9 and newer.

Calls, from their documentation: torch.backends.mps.is_built, is_available,
get_name, get_core_count (2.9 and newer); torch.mps.recommended_max_memory;
mlx.core.metal.is_available, mlx.core.device_info (0.30 and newer), before that
mlx.core.metal.device_info.
"""

import json
import os
import platform


def by_torch():
    """Return what PyTorch says."""
    import torch

    facts = {"version": torch.__version__, "built": bool(torch.backends.mps.is_built())}
    facts["available"] = bool(torch.backends.mps.is_available())
    if facts["available"]:
        for key, owner, name in (
            ("name", torch.backends.mps, "get_name"),
            ("cores", torch.backends.mps, "get_core_count"),
            ("recommended_max_memory", torch.mps, "recommended_max_memory"),
        ):
            call = getattr(owner, name, None)
            if call is not None:
                facts[key] = call()
    return facts


def by_mlx():
    """Return what MLX says."""
    import mlx.core as mx

    facts = {"version": getattr(mx, "__version__", ""), "available": bool(mx.metal.is_available())}
    if facts["available"]:
        ask = getattr(mx, "device_info", None) or mx.metal.device_info
        facts["info"] = dict(ask())
    return facts


def asked(function):
    """Return the answer, or what was raised."""
    try:
        return function()
    except ImportError as error:
        return {"missing": str(error)}
    except (RuntimeError, OSError, ValueError, TypeError, AttributeError) as error:
        return {"raised": "%s: %s" % (type(error).__name__, error)}


def main():
    """Print the answer, as the last line: what a library prints at its import goes to stderr."""
    channel = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    answer = {
        "machine": platform.machine(),
        "macos": platform.mac_ver()[0],
        "torch": asked(by_torch),
        "mlx": asked(by_mlx),
    }
    channel.write("\n" + json.dumps(answer, default=str) + "\n")
    channel.flush()


if __name__ == "__main__":
    main()
