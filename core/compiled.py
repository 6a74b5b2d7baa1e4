"""Loops over bytes and events that NumPy cannot express, compiled at first use and kept.

The compiled code lies in the program's own cache folder, never beside the
sources: an installed program's folder may be read-only or shared.
"""

from __future__ import annotations

import hashlib
import inspect
import os
import shutil
import tempfile
import time
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import platformdirs

F = TypeVar("F", bound=Callable[..., Any])

os.environ.setdefault(
    "NUMBA_CACHE_DIR", str(platformdirs.user_cache_path("ridgeline", appauthor=False) / "compiled")
)

import numba  # noqa: E402  (it reads its cache folder when it is imported)
import numba.core.config  # noqa: E402

_UNUSED_S = 30 * 86_400


def _can_keep() -> bool:
    """Whether the cache folder can be written; without one, code is compiled anew in every process."""
    try:
        folder = Path(os.environ["NUMBA_CACHE_DIR"])
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            return True
    except OSError:
        return False


KEEP = _can_keep()


@cache
def _folder_of_sources(folder: Path) -> str:
    """Returns a cache folder that belongs to these sources.

    numba looks for changes in the file of the function alone; here what it
    calls lies in files beside it, and old code must not be run for new.
    """
    sources = {source.stem: source.read_bytes() for source in sorted(folder.glob("*.py"))}
    ours = b"".join(text for text in sources.values() if b"core.compiled" in text)
    # Constants that compiled code takes from the other files beside it are compiled in.
    named = [text for stem, text in sources.items() if f".{stem} import".encode() in ours]
    digest = hashlib.sha256(b"".join([ours, *named]))
    kept = Path(os.environ["NUMBA_CACHE_DIR"]) / f"{folder.name}-{digest.hexdigest()[:16]}"
    _forget_older(kept, folder.name)
    return str(kept)


def _forget_older(kept: Path, name: str) -> None:
    """Removes what was compiled from other sources of that folder long ago."""
    for other in kept.parent.glob(f"{name}-*"):
        if other != kept and other.stat().st_mtime < time.time() - _UNUSED_S:
            shutil.rmtree(other, ignore_errors=True)


if TYPE_CHECKING:

    def compiled(function: F) -> F:
        """Types a compiled function as what it was written as."""
        return function

    def compiled_entry(function: F) -> F:
        """Types a compiled function as what it was written as."""
        return function

    def compiled_part(function: F) -> F:
        """Types a compiled function as what it was written as."""
        return function

    def prefetch(array: object, item: int) -> None:
        """Asks for an entry of an array, counted over all its dimensions, without waiting for it."""

else:
    import numba.core.cgutils
    import numba.extending
    from llvmlite import ir

    compiled = numba.njit(cache=KEEP, nogil=True, boundscheck=False)
    """Compiles a function at its first call. It releases the interpreter lock while it runs."""

    def compiled_entry(function: F) -> F:
        """Compiles a function that is called from Python and itself calls ``compiled_part`` functions.

        Neither it nor they may allocate: nothing counts references, which makes
        a call many times cheaper. Kept under the sources of its whole folder.
        """
        kept = numba.core.config.CACHE_DIR
        numba.core.config.CACHE_DIR = _folder_of_sources(Path(inspect.getfile(function)).parent)
        try:
            return numba.njit(cache=KEEP, nogil=True, boundscheck=False, _nrt=False)(function)
        finally:
            numba.core.config.CACHE_DIR = kept

    def _emit_prefetch(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        """Emits the instruction that reads a line of memory ahead.

        Source: LLVM Language Reference, llvm.prefetch: a read, kept as near as can be, of data.
        """
        array = context.make_array(signature.args[0])(context, builder, arguments[0])
        number = ir.IntType(32)
        address = builder.bitcast(builder.gep(array.data, [arguments[1]]), ir.IntType(8).as_pointer())
        kind = ir.FunctionType(ir.VoidType(), [address.type, number, number, number])
        ahead = numba.core.cgutils.get_or_insert_function(builder.module, kind, "llvm.prefetch.p0i8")
        builder.call(ahead, [address, *(ir.Constant(number, each) for each in (0, 3, 1))])
        return context.get_dummy_value()

    @numba.extending.intrinsic
    def prefetch(_: object, array: object, item: object) -> tuple[object, object]:
        """Asks for an entry of an array without waiting for it.

        Args:
            array: Contiguous.
            item: Number of the entry in it, counted over all its dimensions.
        """
        return numba.types.void(array, item), _emit_prefetch

    compiled_part = numba.njit(
        nogil=True, boundscheck=False, _nrt=False, no_cpython_wrapper=True, no_cfunc_wrapper=True
    )
    """Compiles a function that only compiled ones call; it is kept inside them and cannot allocate."""
