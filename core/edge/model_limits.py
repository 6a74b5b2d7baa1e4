"""What of a model does not fit a device: tensors, data types, memory. Pure; a finding names what is meant."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from core.edge.backend import Finding
from core.units import format_bytes_gib, format_shape

if TYPE_CHECKING:
    from collections.abc import Collection

    from core.edge.models import OperatorFact, PreparedModel, TensorFact

_LISTED: Final = 3


def tensors_over(model: PreparedModel, limit_bytes: int | None, limit: str) -> tuple[Finding, ...]:
    """Names the tensors that are larger than one allocation or binding may be.

    Args:
        model: As it was exported.
        limit_bytes: None if the device does not tell.
        limit: What it is called there.
    """
    if limit_bytes is None:
        return ()
    large = sorted(
        (each for each in model.tensors if each.size_bytes > limit_bytes),
        key=lambda each: -each.size_bytes,
    )
    if not large:
        return ()
    return (
        Finding(
            code="tensor_too_large",
            fatal=True,
            message=f"{_listed(large)}: over {limit} ({_size(limit_bytes)}).",
            hint="Choose a smaller model, or a backend that splits tensors.",
        ),
    )


def types_lacking(
    model: PreparedModel, lacking: Collection[str], device: str, *, fatal: bool = True
) -> tuple[Finding, ...]:
    """Names the tensors and operators of data types that a device does not have.

    Args:
        model: As it was exported.
        lacking: Data types as torch spells them: "float64".
        device: Who lacks them, for people.
        fatal: Whether a run would fail.
    """
    findings = []
    for dtype in sorted(lacking):
        tensors = [each for each in model.tensors if each.dtype == dtype]
        operators = [each for each in model.operators if dtype in each.dtypes]
        if not tensors and not operators:
            continue
        parts = [_listed(tensors)] if tensors else []
        parts += [_operators(operators)] if operators else []
        findings.append(
            Finding(
                code="type_lacking",
                fatal=fatal,
                message=f"{device} has no {dtype}: {'; '.join(parts)}.",
                hint="Convert these to float32 in the model, or run it on the CPU.",
            )
        )
    return tuple(findings)


def memory_lacking(model: PreparedModel, there_bytes: int | None, where: str) -> tuple[Finding, ...]:
    """Says so where the weights and the largest results do not fit the memory that is there."""
    largest = max((each.size_bytes for each in model.tensors if each.kind == "activation"), default=0)
    needed = model.weight_bytes + largest
    if there_bytes is None or needed <= there_bytes:
        return ()
    return (
        Finding(
            code="memory",
            fatal=True,
            message=(
                f"At least {_size(needed)} are needed (weights {_size(model.weight_bytes)}), "
                f"{where} has {_size(there_bytes)}."
            ),
            hint="Choose a smaller model or fp16.",
        ),
    )


def _size(size_bytes: int) -> str:
    return format_bytes_gib(size_bytes) if size_bytes >= 2**30 else f"{size_bytes / 2**20:,.4g} MiB"


def _listed(tensors: list[TensorFact]) -> str:
    named = [
        f"{each.name} {format_shape(each.shape) or 'scalar'} ({_size(each.size_bytes)})"
        for each in tensors[:_LISTED]
    ]
    more = len(tensors) - _LISTED
    return ", ".join(named) + (f" and {more:,} more" if more > 0 else "")


def _operators(operators: list[OperatorFact]) -> str:
    named = [
        each.name + (f" at {', '.join(each.sources[:_LISTED])}" if each.sources else "")
        for each in operators[:_LISTED]
    ]
    more = len(operators) - _LISTED
    return ", ".join(named) + (f" and {more:,} more" if more > 0 else "")
