"""All texts of a trace, each once, kept as one block of UTF-8 so that millions cost no objects."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from core.tables.columns import NO_ROW, Int64, Uint8

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator


@dataclass(frozen=True, slots=True, eq=False)
class StringTable:
    """Texts by id. Ids are 0 to len - 1, in the order of first appearance; all texts differ.

    Attributes:
        blob: (bytes,) uint8, the texts one after the other, UTF-8.
        ends: (n,) int64, where each text ends in ``blob``.
    """

    blob: Uint8
    ends: Int64

    def __post_init__(self) -> None:
        if self.blob.dtype != np.uint8 or self.ends.dtype != np.int64:
            raise ValueError(f"StringTable of {self.blob.dtype} and {self.ends.dtype}")
        if len(self.ends) and self.ends[-1] != len(self.blob):
            raise ValueError("StringTable ends elsewhere than its texts")
        self.blob.flags.writeable = False
        self.ends.flags.writeable = False

    def __len__(self) -> int:
        return len(self.ends)

    def __getitem__(self, text_id: int) -> str:
        """Returns a text; ``NO_ROW`` gives the empty text.

        Raises:
            IndexError: There is no such id.
        """
        if text_id == NO_ROW:
            return ""
        if not 0 <= text_id < len(self.ends):
            raise IndexError(f"text {text_id} of {len(self.ends)}")
        start = int(self.ends[text_id - 1]) if text_id else 0
        return self.blob[start : int(self.ends[text_id])].tobytes().decode("utf-8")

    def __iter__(self) -> Iterator[str]:
        data = self.blob.tobytes()
        start = 0
        for end in self.ends.tolist():
            yield data[start:end].decode("utf-8")
            start = end

    def find(self, text: str) -> int:
        """Returns the id of a text, ``NO_ROW`` if it does not occur. Linear: keep the answer."""
        wanted = text.encode("utf-8")
        starts = np.concatenate(([0], self.ends[:-1])) if len(self.ends) else self.ends
        data = self.blob.tobytes()
        for text_id in np.flatnonzero(self.ends - starts == len(wanted)).tolist():
            if data[starts[text_id] : self.ends[text_id]] == wanted:
                return int(text_id)
        return NO_ROW


def string_table(texts: Iterable[str]) -> StringTable:
    """Builds the table; the texts must differ and be free of lone surrogates."""
    parts = [text.encode("utf-8") for text in texts]
    ends = np.cumsum([len(part) for part in parts], dtype=np.int64)
    return StringTable(np.frombuffer(b"".join(parts), np.uint8).copy(), ends)
