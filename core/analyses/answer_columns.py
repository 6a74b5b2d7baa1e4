"""Short ways to write the columns of an answer."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from core.tables.columns import NO_ROW
from core.tables.result import Column

if TYPE_CHECKING:
    from collections.abc import Iterable

    from core.tables.columns import Float64, Int32, Int64
    from core.tables.result import Unit
    from core.tables.strings import StringTable


def number_column(  # noqa: PLR0913  (what a column is)
    key: str, title: str, unit: Unit, explained: str, values: Int64 | Float64, *, shown: bool = True
) -> Column:
    """Returns a column of numbers; ``values`` is (n,) int64 with MISSING, or float64 with NaN."""
    return Column(key=key, title=title, unit=unit, help=explained, values=values, shown=shown)


def impossible_column(counts: Int64) -> Column:
    """Returns the column of what is counted as a call but in no sum; ``counts`` is (n,) int64."""
    explained = "Calls whose time is negative or missing; in no sum."
    return number_column("impossible", "Impossible", "count", explained, counts, shown=False)


def text_column(  # noqa: PLR0913  (what a column is)
    key: str,
    title: str,
    explained: str,
    ids: Int32,
    texts: StringTable | tuple[str, ...],
    *,
    shown: bool = True,
) -> Column:
    """Returns a column of texts by id; ``ids`` is (n,) int32 with NO_ROW."""
    return Column(key=key, title=title, unit="", help=explained, values=ids, texts=texts, shown=shown)


def own_text_column(
    key: str, title: str, explained: str, texts: Iterable[str | None], *, shown: bool = True
) -> Column:
    """Returns a column of one text a row; None is missing. For as many rows as people look at."""
    ids: dict[str, int] = {}
    values = [NO_ROW if text is None else ids.setdefault(text, len(ids)) for text in texts]
    return text_column(key, title, explained, np.array(values, np.int32), tuple(ids), shown=shown)
