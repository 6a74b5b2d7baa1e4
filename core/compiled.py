"""Loops over bytes and events that NumPy cannot express, compiled at first use and kept.

The compiled code lies in the program's own cache folder, never beside the
sources: an installed program's folder may be read-only or shared.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

import platformdirs

F = TypeVar("F", bound=Callable[..., Any])

os.environ.setdefault(
    "NUMBA_CACHE_DIR", str(platformdirs.user_cache_path("ridgeline", appauthor=False) / "compiled")
)

import numba  # noqa: E402  (it reads its cache folder when it is imported)

if TYPE_CHECKING:

    def compiled(function: F) -> F:
        """Types a compiled function as what it was written as."""
        return function

else:
    compiled = numba.njit(cache=True, nogil=True, boundscheck=False)
    """Compiles a function at its first call. It releases the interpreter lock while it runs."""
