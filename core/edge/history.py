"""Results that were kept, a file each in the user's data folder."""

from __future__ import annotations

import contextlib
import re
import secrets
from typing import TYPE_CHECKING, Final

import msgspec

from core.edge.result import RESULT_SCHEMA, EdgeResult
from core.files import app_folders, ensure_private_folder, read_bytes_limited, write_atomic

if TYPE_CHECKING:
    from pathlib import Path

MOST_KEPT: Final = 500
_LIMIT_BYTES: Final = 64 * 2**20
_NAME: Final = re.compile(r"\d{19}-[0-9a-f]{8}")


def _folder() -> Path:
    return app_folders().data / "edge"


def keep_result(result: EdgeResult) -> EdgeResult:
    """Keeps a result; the oldest go when there are more than ``MOST_KEPT``.

    Returns:
        The result with its id.

    Raises:
        DashboardError: It cannot be written.
    """
    folder = ensure_private_folder(_folder())
    kept = msgspec.structs.replace(result, id=f"{result.started_ns:019d}-{secrets.token_hex(4)}")
    write_atomic(folder / f"{kept.id}.json", msgspec.json.encode(kept))
    for old in _files()[MOST_KEPT:]:
        with contextlib.suppress(OSError):
            old.unlink()
    return kept


def kept_results() -> tuple[tuple[EdgeResult, ...], int]:
    """Reads what is kept; not for the window's thread.

    Returns:
        The results, newest first, and how many files were damaged or of a newer version.
    """
    results, unreadable = [], 0
    for path in _files():
        try:
            result = msgspec.json.decode(read_bytes_limited(path, _LIMIT_BYTES), type=EdgeResult)
        except (OSError, msgspec.DecodeError, UnicodeDecodeError):
            unreadable += 1
            continue
        if result.schema > RESULT_SCHEMA:
            unreadable += 1
        else:
            results.append(result)
    return tuple(results), unreadable


def forget_result(result_id: str) -> None:
    """Removes a kept result; one that is gone already is no error.

    Raises:
        OSError: It is there and cannot be removed.
    """
    if _NAME.fullmatch(result_id):
        (_folder() / f"{result_id}.json").unlink(missing_ok=True)


def _files() -> list[Path]:
    """Newest first."""
    try:
        found = [
            path for path in _folder().iterdir() if _NAME.fullmatch(path.stem) and path.suffix == ".json"
        ]
    except OSError:
        return []
    return sorted(found, reverse=True)
