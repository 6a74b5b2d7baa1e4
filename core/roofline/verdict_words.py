"""What the counters' own words mean: reasons to stall, what limits occupancy, types of data."""

from __future__ import annotations

from typing import Final

# Source: "Warp Stall Reasons" of the Kernel Profiling Guide of Nsight Compute 2025.1.
_STALLS: Final = {
    "long_scoreboard": (
        "data from global or local memory",
        "Bring more loads in flight (wider, several a thread, asynchronous), or raise the caches' hit rate.",
    ),
    "short_scoreboard": (
        "shared memory or special functions",
        "Do fewer accesses to shared memory, each wider, and fewer special functions.",
    ),
    "barrier": ("other warps at a barrier", "Even out the work between barriers, or use smaller blocks."),
    "wait": (
        "a fixed latency of the instruction before",
        "Interleave independent instructions: unroll loops, give each thread more than one result.",
    ),
    "math_pipe_throttle": ("a pipe that computes", "Spread the work over other pipes, or do less of it."),
    "lg_throttle": (
        "a place in the queue of global and local memory",
        "Load more bytes with each instruction; keep arrays with a changing index out of local memory.",
    ),
    "mio_throttle": (
        "a place in the queue of shared memory and special functions",
        "Do fewer and wider accesses to shared memory, and fewer special functions.",
    ),
    "tex_throttle": (
        "a place in the queue of the texture unit",
        "Issue fewer texture accesses, or use global loads.",
    ),
    "branch_resolving": ("the target of a branch", "Use fewer and more uniform branches."),
    "no_instruction": (
        "instructions to be fetched",
        "Make the code smaller: unroll less, split rare paths off.",
    ),
    "dispatch_stall": ("the dispatch unit", ""),
    "drain": ("stores to be written at the end", "Store whole lines, coalesced, and not all at the end."),
    "imc_miss": ("constants", "Read the same constant in all threads of a warp, or use global memory."),
    "membar": ("a memory fence", "Use fewer fences, or fences of a narrower scope."),
    "sleeping": ("its own sleep", "Wait less, or for less long, in the kernel."),
    "gmma": ("tensor cores", ""),
    "misc": ("other reasons", ""),
}

_LIMITERS: Final = {
    "registers": ("registers", "Use fewer registers a thread: smaller tiles, launch bounds."),
    "shared_mem": ("shared memory", "Use less shared memory a block, or fewer stages."),
    "blocks": ("how many blocks an SM takes", "Use larger blocks."),
    "warps": ("how many warps an SM takes", "Choose a block size that divides the warps of an SM evenly."),
    "barriers": ("barriers", "Use fewer named barriers a block."),
}


def stall_words(reason: str) -> str:
    """Returns what warps wait for, in words."""
    return _STALLS.get(reason, (reason.replace("_", " "), ""))[0]


def stall_remedy(reason: str) -> str:
    """Returns what helps against a reason to stall, "" where nothing simple does."""
    return _STALLS.get(reason, ("", ""))[1]


def limiter_words(name: str) -> str:
    """Returns what limits the occupancy, in words."""
    return _LIMITERS[name][0]


def limiter_remedy(name: str) -> str:
    """Returns what helps against a limit of the occupancy."""
    return _LIMITERS[name][1]
