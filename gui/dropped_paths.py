"""Paths out of a drag: every byte of every name survives."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import unquote_to_bytes

if TYPE_CHECKING:
    from PySide6.QtCore import QMimeData

URI_LIST = "text/uri-list"
SCHEME = b"file:"


def paths_of(data: QMimeData) -> list[Path]:
    """Local files and folders of a drag, in its order; anything else in it is left out.

    The raw list is read, because ``QUrl.toLocalFile()`` loses bytes that are
    not UTF-8. Source: RFC 2483 section 5 (text/uri-list), RFC 8089 (file URI).
    """
    if sys.platform != "linux":
        return [Path(url.toLocalFile()) for url in data.urls() if url.isLocalFile()]
    lines = bytes(data.data(URI_LIST).data()).split(b"\n")
    return [path for path in map(_path_of, lines) if path is not None]


def _path_of(line: bytes) -> Path | None:
    uri = line.strip(b"\r\0")
    if not uri.lower().startswith(SCHEME):
        return None
    rest = uri[len(SCHEME) :]
    if rest.startswith(b"//"):
        # file://host/path: the host is empty, localhost or this machine's name.
        rest = rest[2:]
        rest = rest[rest.find(b"/") :] if b"/" in rest else b""
    path = unquote_to_bytes(rest)
    return Path(os.fsdecode(path)) if path.startswith(b"/") and b"\0" not in path else None
