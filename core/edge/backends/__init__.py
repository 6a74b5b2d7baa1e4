"""The backends, a module each with its ``BACKEND``. ``BACKENDS`` is the one list, the preferred first."""

from __future__ import annotations

from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, cast

if TYPE_CHECKING:
    from core.edge.backend import Backend

BACKENDS = ("iree", "ort_webgpu", "mps", "mlx", "cpu")


@cache
def all_backends() -> tuple[Backend, ...]:
    """Returns every backend, also those that cannot be used on this machine."""
    return tuple(
        cast("Backend", import_module(f"core.edge.backends.{module}").BACKEND) for module in BACKENDS
    )
