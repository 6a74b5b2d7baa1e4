"""NVLink throughput from the driver's byte counters. Knows nothing of handles or errors."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

# Source: nvml.h, Field Value Enums (nvidia-ml-py 13.615). The counters are in
# KiB since the driver was loaded; scopeId is the number of the link.
LINK_COUNT = 91
DATA_TX = 138
DATA_RX = 139
COUNTER_UNIT_BYTES = 1024


class NvlinkMeter:
    """Turns the counters of one GPU's links into rates; keeps the last look."""

    def __init__(self) -> None:
        self._links: int | None = None
        self._before: dict[tuple[int, int], int] = {}
        self._before_ns = 0

    def read(self, ask: Callable[[Sequence[int | tuple[int, int]]], Any]) -> tuple[float, float] | None:
        """Return (sent, received) in bytes per second since the last call.

        Args:
            ask: nvmlDeviceGetFieldValues for this GPU: takes field ids, or
                (field id, link) pairs; returns nvmlFieldValue_t each, or None.

        Returns:
            None at the first call, without NVLink, and where a counter went
            back (the driver was reset).

        Source: NVML_FI_DEV_NVLINK_THROUGHPUT_DATA_TX and _RX of each link,
        payload without protocol overhead; ``nvidia-smi nvlink -gt d``.
        """
        if self._links is None:
            self._links = _value(ask([LINK_COUNT])) or 0
        if self._links == 0:
            return None
        wanted = [(field, link) for field in (DATA_TX, DATA_RX) for link in range(self._links)]
        answers = ask(wanted)
        now_ns = time.monotonic_ns()
        if answers is None:
            return None
        counters = {
            key: int(answer.value.ullVal)
            for key, answer in zip(wanted, answers, strict=True)
            if answer.nvmlReturn == 0
        }
        before, seconds = self._before, (now_ns - self._before_ns) / 1e9
        self._before, self._before_ns = counters, now_ns
        return _rates(before, counters, seconds)


def _rates(
    before: dict[tuple[int, int], int], now: dict[tuple[int, int], int], seconds: float
) -> tuple[float, float] | None:
    both = before.keys() & now.keys()
    if not both or seconds <= 0 or any(now[key] < before[key] for key in both):
        return None
    sent, received = (
        sum(now[key] - before[key] for key in both if key[0] == field) * COUNTER_UNIT_BYTES / seconds
        for field in (DATA_TX, DATA_RX)
    )
    return sent, received


def _value(answers: Any) -> int | None:
    if not answers or answers[0].nvmlReturn != 0:
        return None
    return int(answers[0].value.uiVal)
