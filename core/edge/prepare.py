"""Exporting a model once, in a child of the user's interpreter, into a folder that every backend reads."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import msgspec

from core.edge.events import Began, Event, Refused
from core.edge.models import PREPARED_FILE, PREPARED_SCHEMA, PRESET_SIZES, PRESET_TOKENS, PreparedModel
from core.errors import DashboardError
from core.files import EXAMPLES, RESOURCES, app_folders, ensure_private_folder, printable
from core.launch.tool_process import run_tool

if TYPE_CHECKING:
    from core.edge.models import ModelSpec, Precision
    from core.launch.tool_process import ToolEnd

SCRIPT: Final = RESOURCES / "edge" / "export_model.py"
MINILLM: Final = EXAMPLES / "train_fsdp.py"
TIME_LIMIT_S: Final = 3600.0
VERSIONS_LIMIT_S: Final = 60.0
CAP_BYTES: Final = 16 * 2**30
"""Of all exported models; the longest unused go first."""

_MOST_BYTES: Final = 2**20
_REQUEST, _SOURCES = "request.json", "sources.json"
_NEEDED: Final = (("torch", "torch"), ("onnxscript", "onnxscript"), ("onnx", "onnx"))
_BLOCK_BYTES: Final = 2**22


@dataclass(frozen=True, slots=True)
class Prepared:
    """An exported model.

    Attributes:
        folder: Where its files are.
        model: What ``model.json`` says.
        cached: It was exported before.
    """

    folder: Path
    model: PreparedModel
    cached: bool


class _Source(msgspec.Struct, frozen=True):
    """A file that a script opened while it built its model."""

    path: str
    size_bytes: int
    modified_ns: int


def prepare_model(
    spec: ModelSpec,
    precision: Precision,
    *,
    interpreter: str,
    progress: Callable[[str, float | None], None] | None = None,
    cancelled: Callable[[], bool] | None = None,
) -> Prepared:
    """Exports a model, or finds it exported.

    Args:
        spec: Which one.
        precision: That its graph computes with; the reference is fp32.
        interpreter: A Python with torch and onnxscript.
        progress: Gets what is being done.
        cancelled: Asked ten times a second; True ends it.

    Raises:
        DashboardError: The interpreter lacks something, the model cannot be built, run or exported,
            there is no room, or it was cancelled.
    """
    tell = progress or (lambda _words, _share: None)
    tell("asking the interpreter", None)
    versions = _versions(interpreter, needs_torch=spec.source != "onnx")
    request = _request(spec, precision)
    models = ensure_private_folder(app_folders().cache / "edge" / "models")
    folder = models / _key(request, versions)
    known = _open(folder)
    if known is not None:
        os.utime(folder)
        return Prepared(folder, known, cached=True)
    part = Path(tempfile.mkdtemp(prefix="part-", dir=models))
    try:
        (part / _REQUEST).write_bytes(json.dumps(request).encode())
        _export(part, interpreter, tell, cancelled)
        known = _put(part, folder)
    except OSError as error:
        raise DashboardError(
            f"The exported model cannot be kept: {error.strerror or error}.",
            "Free some space in the cache folder.",
        ) from error
    finally:
        shutil.rmtree(part, ignore_errors=True)
    if known is None:
        raise DashboardError(
            "The export left no model.", "Run it again; the log of the export says what happened."
        )
    trim(models, keep=folder)
    return Prepared(folder, known, cached=False)


def _put(part: Path, folder: Path) -> PreparedModel | None:
    """Gives an export its place, and reads it there.

    Where another window was quicker, its export stays: a worker may be reading it.
    """
    known = _open(folder)
    if known is not None:
        return known
    if folder.exists():
        shutil.rmtree(folder, ignore_errors=True)  # an unfinished or outdated one
    try:
        part.rename(folder)
    except OSError:
        known = _open(folder)  # the other window came between
        if known is None:
            raise
        return known
    return _open(folder)


def trim(folder: Path, cap_bytes: int = CAP_BYTES, *, keep: Path | None = None) -> None:
    """Removes the longest unused entries of a folder until the rest is within the cap."""
    entries = []
    for entry in folder.iterdir():
        try:
            size = entry.stat().st_size if entry.is_file() else _size_bytes(entry)
            entries.append((entry.stat().st_mtime_ns, size, entry))
        except OSError:
            continue  # gone meanwhile
    whole = sum(size for _, size, _ in entries)
    for _, size, entry in sorted(entries):
        if whole <= cap_bytes:
            return
        if entry != keep:
            shutil.rmtree(entry, ignore_errors=True) if entry.is_dir() else entry.unlink(missing_ok=True)
            whole -= size


def _size_bytes(folder: Path) -> int:
    return sum(each.stat().st_size for each in folder.rglob("*") if each.is_file())


def _versions(interpreter: str, *, needs_torch: bool) -> dict[str, str]:
    """Asks an interpreter for the versions of what the export needs; it imports none of them."""
    ended = run_tool(
        [interpreter, os.fspath(SCRIPT), "--versions"],
        environment=os.environ,
        working_folder=os.sep,
        timeout_s=VERSIONS_LIMIT_S,
        most_bytes=_MOST_BYTES,
    )
    try:
        versions: dict[str, str] = json.loads(ended.output)
    except ValueError:
        versions = {}
    if ended.code != 0 or not isinstance(versions, dict) or "python" not in versions:
        said = printable(ended.last_words.strip().splitlines()[-1]) if ended.last_words.strip() else ""
        raise DashboardError(
            f"{printable(interpreter)} gave no answer to which packages it has. {said}".strip(),
            "Choose a Python 3.9 or newer with PyTorch.",
        )
    lacking = [
        name for name, package in _NEEDED if not versions.get(package) and (needs_torch or package == "onnx")
    ]
    if lacking:
        raise DashboardError(
            f"{printable(interpreter)} has no {' and no '.join(lacking)}.",
            f"Install it there: pip install {' '.join(lacking)}",
        )
    return versions


def _request(spec: ModelSpec, precision: Precision) -> dict[str, Any]:
    title = f"MiniLLM {spec.target}" if spec.source == "preset" else Path(spec.target).name
    if spec.factory:
        title = f"{title}:{spec.factory}"
    tokens = spec.tokens or (PRESET_TOKENS[spec.target] if spec.source == "preset" else ())
    return {
        "schema": PREPARED_SCHEMA,
        "spec": {
            "source": spec.source,
            "target": spec.target,
            "factory": spec.factory,
            "tokens": list(tokens),
            "checkpoint": spec.checkpoint,
            "decode": spec.decode,
        },
        "precision": precision,
        "title": printable(title),
        "preset": {
            "file": os.fspath(MINILLM),
            "arguments": PRESET_SIZES.get(spec.target, {}) if spec.source == "preset" else {},
        },
    }


def _key(request: dict[str, Any], versions: dict[str, str]) -> str:
    """Names an export by all that it is made of: the request, what it reads, who exports it."""
    digest = hashlib.blake2b(digest_size=20)
    digest.update(json.dumps([request, versions], sort_keys=True).encode())
    spec = request["spec"]
    own = sorted(SCRIPT.parent.glob("export_*.py"))
    read = [request["preset"]["file"]] if spec["source"] == "preset" else [spec["target"]]
    read += [spec["checkpoint"]] if spec["checkpoint"] else []
    for path in (*own, *map(Path, read)):
        _add_file(digest, path)
    return digest.hexdigest()


def _add_file(digest: hashlib.blake2b, path: Path) -> None:
    try:
        with path.open("rb") as file:
            while block := file.read(_BLOCK_BYTES):
                digest.update(block)
    except OSError as error:
        raise DashboardError(
            f"{printable(str(path))} cannot be read: {error.strerror or error}.", "Choose another file."
        ) from error


def _open(folder: Path) -> PreparedModel | None:
    """Reads what an export left; None if it is not whole, or what a script was made of has changed."""
    try:
        model = msgspec.json.decode((folder / PREPARED_FILE).read_bytes(), type=PreparedModel)
        sources = folder / _SOURCES
        if sources.exists():
            for source in msgspec.json.decode(sources.read_bytes(), type=list[_Source]):
                status = os.stat(source.path)
                if (status.st_size, status.st_mtime_ns) != (source.size_bytes, source.modified_ns):
                    return None
    except (OSError, msgspec.DecodeError):
        return None
    return model if model.schema == PREPARED_SCHEMA and model.cases else None


def _export(
    part: Path,
    interpreter: str,
    tell: Callable[[str, float | None], None],
    cancelled: Callable[[], bool] | None,
) -> None:
    heard = _Heard(tell)
    ended = run_tool(
        [interpreter, os.fspath(SCRIPT), os.fspath(part / _REQUEST)],
        environment=os.environ,
        working_folder=os.fspath(part),
        timeout_s=TIME_LIMIT_S,
        most_bytes=_MOST_BYTES,
        cancelled=cancelled,
        heard=heard.hear,
    )
    if ended.how == "cancelled":
        raise DashboardError("The export was cancelled.", "Run it again to repeat it.")
    if heard.refused is not None:
        raise DashboardError(heard.refused.message, heard.refused.hint)
    if ended.code != 0 or not (part / PREPARED_FILE).exists():
        raise _broken(ended, heard)


def _broken(ended: ToolEnd, heard: _Heard) -> DashboardError:
    doing = f" while {heard.doing}" if heard.doing else ""
    said = f" Its last words: {printable(heard.last_words)}" if heard.last_words else ""
    if ended.how == "time":
        return DashboardError(f"The export was not done in time{doing}.", "Choose a smaller model.")
    how = f"signal {-ended.code}" if ended.code is not None and ended.code < 0 else f"exit code {ended.code}"
    return DashboardError(
        f"The export ended with {how}{doing}.{said}",
        "Signal 9 is often a lack of memory: choose a smaller model."
        if ended.code == -9
        else "Run the model once in this interpreter without Ridgeline, and mend what fails.",
    )


class _Heard:
    """What the export says, among what libraries print."""

    def __init__(self, tell: Callable[[str, float | None], None]) -> None:
        self.refused: Refused | None = None
        self.doing = ""
        self.last_words = ""
        self._tell = tell
        self._rest = b""
        self._decoder = msgspec.json.Decoder(Event)

    def hear(self, data: bytes) -> None:
        """Takes the next piece."""
        *lines, rest = (self._rest + data).split(b"\n")
        self._rest = rest[-_MOST_BYTES:]
        for line in lines:
            if line.startswith(b'{"event"'):
                self._take(line)
            elif line.strip():
                self.last_words = line.decode(errors="replace").strip()[:300]

    def _take(self, line: bytes) -> None:
        try:
            event = self._decoder.decode(line)
        except msgspec.DecodeError:
            return
        if isinstance(event, Refused):
            self.refused = event
        elif isinstance(event, Began):
            self.doing = event.words
            self._tell(f"{event.words} ({event.case})" if event.case else event.words, None)
