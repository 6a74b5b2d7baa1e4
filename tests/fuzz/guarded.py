"""Memory that ends where the next page may not be touched: compiled code that reads too far ends the process.

The compiled scan checks no bounds. Here the text and every column that it fills
lie against such a page, so that one byte too far is seen, in the very code that
users run.
"""

from __future__ import annotations

import ctypes
import mmap
from math import prod
from typing import Any, Final

import numpy as np

from core.readers.torch_trace import scan

_PAGE: Final = mmap.PAGESIZE
_NO_ACCESS: Final = 0
_libc = ctypes.CDLL(None, use_errno=True)
_libc.mprotect.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int)


def empty(shape: int | tuple[int, ...], dtype: Any, *, at_start: bool = False) -> np.ndarray[Any, Any]:
    """Returns an array whose end, or start, lies against a page that may not be touched."""
    kind = np.dtype(dtype)
    whole = shape if isinstance(shape, tuple) else (shape,)
    size = prod(whole) * kind.itemsize
    room = -(-max(size, 1) // _PAGE) * _PAGE
    memory = mmap.mmap(-1, room + 2 * _PAGE)
    address = ctypes.addressof(ctypes.c_char.from_buffer(memory))
    for guard in (address, address + _PAGE + room):
        if _libc.mprotect(guard, _PAGE, _NO_ACCESS):
            raise OSError(ctypes.get_errno(), "mprotect")
    begin = _PAGE if at_start else _PAGE + room - size
    return np.frombuffer(memory, kind, prod(whole), begin).reshape(whole)


class _Numpy:
    """NumPy as the scan uses it, with guarded columns that are as full of nonsense as fresh memory may be."""

    def __init__(self) -> None:
        self.at_start = False

    def __getattr__(self, name: str) -> Any:
        return getattr(np, name)

    def empty(self, shape: int | tuple[int, ...], dtype: Any) -> np.ndarray[Any, Any]:
        array = empty(shape, dtype, at_start=self.at_start)
        array.reshape(-1).view(np.uint8)[:] = 0xA5
        return array

    def full(self, shape: int, value: int, dtype: Any) -> np.ndarray[Any, Any]:
        array = empty(shape, dtype, at_start=self.at_start)
        array[...] = value
        return array

    def zeros(self, shape: int, dtype: Any) -> np.ndarray[Any, Any]:
        return self.full(shape, 0, dtype)


_numpy = _Numpy()


def guard_the_scan(at_start: bool) -> None:
    """Makes the scan of this process use guarded memory from now on.

    Args:
        at_start: Whether the forbidden page lies before the memory, not behind it.
    """
    _numpy.at_start = at_start
    scan.np = _numpy  # type: ignore[assignment, attr-defined]
    scan._shared_view = _guarded_view
    scan._allocate = _small_room  # type: ignore[assignment]


def _guarded_view(buffer: Any) -> Any:
    view = empty(len(buffer), np.uint8, at_start=_numpy.at_start)
    view[:] = buffer
    view.flags.writeable = False
    return view


def _small_room(_: int, usual: Any = scan._allocate) -> Any:
    """Room for little, so that it has to grow in most files."""
    return usual(0)
