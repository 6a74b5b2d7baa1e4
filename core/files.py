"""Folders of the program, and reading and writing small files so that nothing is lost or leaked.

Everything that is written is private to the user (folders 0700, files 0600).
What a file is (``describe_path``) is told from its content, by a bounded read.
"""

from __future__ import annotations

import contextlib
import os
import re
import stat
import tempfile
import zlib
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Literal

import platformdirs

from core.errors import DashboardError

_ROOT = Path(__file__).resolve().parents[1]
RESOURCES = _ROOT / "resources"
MAIN = _ROOT / "main.py"

AGENT = RESOURCES / "rank_agent" / "rank_agent.py"
EXAMPLES = RESOURCES / "examples"
SAMPLE_TRACE = RESOURCES / "samples" / "tiny-cpu-rank0.json.gz"

FileKind = Literal[
    "run",
    "script",
    "trace",
    "ncu_report",
    "ncu_csv",
    "memory_snapshot",
    "model",
    "json",
    "csv",
    "folder",
    "empty",
    "missing",
    "special",
    "unreadable",
    "unknown",
]

_HEAD_BYTES = 64 * 1024
_OPENS_ON: dict[FileKind, str] = {
    "run": "run",
    "script": "run",
    "trace": "trace",
    "json": "trace",
    "ncu_report": "nsight",
    "ncu_csv": "nsight",
    "model": "edge",
}
_TRACE_ENDS = (".json", ".json.gz", ".gz", ".trace")
_REPORT_ENDS = (".ncu-rep", ".ncu-repz")
_MOST_LISTED = 10_000

MOST_TRACES = 1024
"""So many traces are opened together, as the ranks of one."""

_RUN_PARTS = ("supervisor.jsonl", "control.jsonl", "ranks")
"""What lies in a run folder beside its manifest; other programs' folders hold a manifest.json too."""


@dataclass(frozen=True, slots=True)
class AppFolders:
    """Where the program keeps things of this user."""

    data: Path
    config: Path
    cache: Path
    state: Path


@dataclass(frozen=True, slots=True, kw_only=True)
class FileDescription:
    """What a path turned out to be.

    Attributes:
        kind: Decided from the content.
        title: What it is, in two or three words: "PyTorch trace (gzip)".
        opens_on: Name of the page that opens it; None if this version has none.
        detail: One sentence on what happens with it, or why nothing does.
        name: File name made printable; bytes that are no text show as U+FFFD.
        size_bytes: Of a regular file, None otherwise.
        traces: Traces that lie in a folder, by name.
        rank, world_size: Of a trace whose head names them.
    """

    kind: FileKind
    title: str
    opens_on: str | None
    detail: str
    name: str
    size_bytes: int | None = None
    traces: tuple[Path, ...] = ()
    rank: int | None = None
    world_size: int | None = None


def app_folders() -> AppFolders:
    """Returns the folders of this user; ``RIDGELINE_DATA_DIR`` moves the data folder."""
    data = os.environ.get("RIDGELINE_DATA_DIR")
    return AppFolders(
        data=Path(data).absolute() if data else platformdirs.user_data_path("ridgeline", appauthor=False),
        config=platformdirs.user_config_path("ridgeline", appauthor=False),
        cache=platformdirs.user_cache_path("ridgeline", appauthor=False),
        state=platformdirs.user_state_path("ridgeline", appauthor=False),
    )


DATA_HINT = "Check its permissions and free space, or set RIDGELINE_DATA_DIR to another folder."
CONFIG_HINT = "Check its permissions and free space; settings are kept there, runs are not."


def ensure_private_folder(path: Path, hint: str = DATA_HINT) -> Path:
    """Creates a folder (and those above it) that only its owner may enter.

    Args:
        path: The folder.
        hint: What to do if it cannot be used.

    Raises:
        DashboardError: It cannot be created or is not a folder.
    """
    try:
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
        if stat.S_IMODE(path.stat().st_mode) & 0o077:
            path.chmod(0o700)
    except OSError as error:
        raise DashboardError(
            f"The folder {printable(str(path))} cannot be used: {error.strerror or error}.",
            hint,
        ) from error
    return path


def write_atomic(path: Path, data: bytes, mode: int = 0o600) -> None:
    """Replaces a file so that a reader sees the old or the new content, never a part.

    Raises:
        OSError: It could not be written; the old content stands, nothing is left behind.
    """
    descriptor, temporary = tempfile.mkstemp(prefix=f".{path.name[:40]}.", suffix=".tmp", dir=path.parent)
    try:
        with os.fdopen(descriptor, "wb") as file:
            os.fchmod(file.fileno(), mode)
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        raise


def append_line(path: Path, line: bytes) -> None:
    """Adds one line to a file in one write, and creates the file (0600) if need be.

    ``line`` may lack its newline. Writers in several processes do not mix their lines.

    Raises:
        OSError: It could not be written whole. A part may stand at the end of the file.
    """
    data = line if line.endswith(b"\n") else line + b"\n"
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
    try:
        while data:
            data = data[os.write(descriptor, data) :]
    finally:
        os.close(descriptor)


def read_bytes_limited(path: Path, limit_bytes: int) -> bytes:
    """Reads a whole regular file of at most ``limit_bytes``; never waits on a pipe.

    Raises:
        DashboardError: It is larger, or not a regular file.
        OSError: It cannot be read.
    """
    data = _read_head(path, limit_bytes + 1)
    if len(data) > limit_bytes:
        raise DashboardError(
            f"{printable(path.name)} is larger than {limit_bytes:,} bytes.",
            "It is not a file of the kind that is expected here.",
        )
    return data


def read_tail(path: Path, limit_bytes: int) -> bytes:
    """Returns the last bytes of a file; b"" if it is absent or cannot be read."""
    try:
        with open(path, "rb") as file:
            file.seek(max(0, os.fstat(file.fileno()).st_size - limit_bytes))
            return file.read()
    except OSError:
        return b""


def printable(text: str) -> str:
    """Makes a name safe to show: bytes that are no text become U+FFFD, controls become escapes."""
    return "".join(_printable_character(character) for character in text)


def not_opened(name: str, error: DashboardError, *, several: bool = False) -> DashboardError:
    """Returns the refusal of a file with the file's name in front, as the window and the terminal say it.

    Args:
        name: Of the file or folder, printable.
        error: Why; one that begins with the name stays as it is.
        several: Whether the name is of several files.
    """
    if error.message.startswith(name):
        return error
    were = "were" if several else "was"
    return DashboardError(f"{name} {were} not opened. {error.message}", error.hint)


def _printable_character(character: str) -> str:
    if character.isprintable():
        return character
    if "\ud800" <= character <= "\udfff":
        return "\N{REPLACEMENT CHARACTER}"
    return character.encode("unicode_escape").decode("ascii")


def describe_path(path: Path) -> FileDescription:
    """Tells what a path is, from at most 64 KiB of its content.

    Any name will do, and anything may lie there: a folder, a pipe, a dangling
    link. The answer never fails and never waits.
    """
    name = printable(path.name or str(path))
    try:
        status = path.stat()
    except OSError as error:
        return _describe_absent(path, name, error)
    except ValueError:
        return FileDescription(
            kind="missing", title="Not a path", opens_on=None, detail="The name holds a NUL byte.", name=name
        )
    if stat.S_ISDIR(status.st_mode):
        return _describe_folder(path, name)
    if not stat.S_ISREG(status.st_mode):
        return FileDescription(
            kind="special",
            title=_special_title(status.st_mode),
            opens_on=None,
            detail="It is not a file with content that could be opened.",
            name=name,
        )
    return _describe_file(path, name, status.st_size)


def _describe_absent(path: Path, name: str, error: OSError) -> FileDescription:
    if isinstance(error, FileNotFoundError) and path.is_symlink():
        target = printable(os.readlink(path))
        return FileDescription(
            kind="missing",
            title="Dangling link",
            opens_on=None,
            detail=f"The link points to {target}, which does not exist.",
            name=name,
        )
    if isinstance(error, FileNotFoundError | NotADirectoryError):
        return FileDescription(
            kind="missing", title="Not found", opens_on=None, detail="There is no such file.", name=name
        )
    return FileDescription(
        kind="unreadable",
        title="Cannot be read",
        opens_on=None,
        detail=f"The system says: {error.strerror or error}.",
        name=name,
    )


def _special_title(mode: int) -> str:
    if stat.S_ISFIFO(mode):
        return "Named pipe"
    if stat.S_ISSOCK(mode):
        return "Socket"
    return "Device"


def _describe_folder(path: Path, name: str) -> FileDescription:
    if os.path.isfile(path / "manifest.json"):
        try:
            head = _read_head(path / "manifest.json", _HEAD_BYTES)
        except (OSError, DashboardError):
            head = b""
        if _is_manifest(head):
            return FileDescription(
                kind="run",
                title="Run folder",
                opens_on="run",
                detail="Opens on Run: ranks, curves and logs of this run.",
                name=name,
            )
        if any(os.path.lexists(path / part) for part in _RUN_PARTS):
            return FileDescription(
                kind="folder",
                title="Run folder with a damaged manifest",
                opens_on=None,
                detail="Its manifest.json cannot be read; logs and records of its ranks lie beside it.",
                name=name,
            )
    traces = _traces_in(path)
    if traces:
        count = len(traces)
        return FileDescription(
            kind="folder",
            title="Folder with a trace" if count == 1 else f"Folder with {count} traces",
            opens_on="trace",
            detail="Opens on Trace." if count == 1 else "Opens on Trace: its ranks as one trace.",
            name=name,
            traces=traces,
        )
    return FileDescription(
        kind="folder",
        title="Folder",
        opens_on=None,
        detail="It holds neither a run (no manifest) nor a trace.",
        name=name,
    )


def _traces_in(path: Path) -> tuple[Path, ...]:
    """Returns the traces that lie in a folder, by the numbers in their names; reads their heads."""
    try:
        with os.scandir(path) as entries:
            names = [
                entry.name for entry in islice(entries, _MOST_LISTED) if entry.name.endswith(_TRACE_ENDS)
            ]
    except OSError:
        return ()
    found = sorted((path / name for name in names), key=_natural_key)[:MOST_TRACES]
    return tuple(each for each in found if _is_trace(each))


def _natural_key(path: Path) -> list[tuple[int, str]]:
    """Sorts rank 10 behind rank 9."""
    parts = re.split(r"(\d{1,18})", path.name)
    return [(int(part), "") if part.isdecimal() else (-1, part) for part in parts]


def _is_trace(path: Path) -> bool:
    try:
        head = _read_head(path, _HEAD_BYTES)
    except (OSError, DashboardError):
        return False
    head = _unpack_head(head) if head.startswith(b"\x1f\x8b") else head
    return bool(head) and _kind_of_content(head, "")[0] == "trace"


def _describe_file(path: Path, name: str, size_bytes: int) -> FileDescription:
    try:
        head = _read_head(path, _HEAD_BYTES)
    except OSError as error:
        return _describe_absent(path, name, error)
    except DashboardError as error:
        return FileDescription(
            kind="special", title="Not a file", opens_on=None, detail=error.message, name=name
        )
    if not head:
        return FileDescription(
            kind="empty",
            title="Empty file",
            # Who drops what should be a trace is told there why it is none.
            opens_on=_promised_by(name),
            detail="The file holds nothing (0 bytes).",
            name=name,
            size_bytes=size_bytes,
        )
    packing = ""
    if head.startswith(b"\x1f\x8b"):
        packing = " (gzip)"
        head = _unpack_head(head)
        if not head:
            return FileDescription(
                kind="unreadable",
                title="Damaged gzip file",
                opens_on=None,
                detail="It starts like a gzip file but cannot be unpacked.",
                name=name,
                size_bytes=size_bytes,
            )
    elif head.startswith(_ZSTD) and (inside := _unpack_zstd_head(head)).startswith(_REPORT):
        packing, head = " (zstd)", inside
    kind, title = _kind_of_content(head, path.suffix.lower() if not packing else "")
    rank, world_size = _place_in_world(head) if kind == "trace" else (None, None)
    return FileDescription(
        kind=kind,
        title=title + packing,
        opens_on=_OPENS_ON.get(kind),
        detail=_detail(kind),
        name=name,
        size_bytes=size_bytes,
        rank=rank,
        world_size=world_size,
    )


def _promised_by(name: str) -> str | None:
    """The page that would open a file of that name if it held something."""
    if name.endswith(_REPORT_ENDS):
        return "nsight"
    return "trace" if name.endswith(_TRACE_ENDS) else None


_DISTRIBUTED = re.compile(rb'"distributedInfo"\s*:\s*\{([^{}\[\]]*)')
"""What stands before the list of process groups: backend, rank, world_size."""


def _place_in_world(head: bytes) -> tuple[int | None, int | None]:
    """Returns (rank, world size), each None if the head of the trace does not tell.

    Source: torch/profiler/profiler.py (2.13), _get_distributed_info; kineto writes it before the events.
    """
    told = _DISTRIBUTED.search(head)
    found = [
        re.search(rb'"%s"\s*:\s*(\d{1,9})\b' % name, told[1] if told else b"")
        for name in (b"rank", b"world_size")
    ]
    rank, world_size = (int(each[1]) if each else None for each in found)
    return rank, world_size


_DETAILS: dict[FileKind, str] = {
    "run": "Opens on Run: ranks, curves and logs of this run.",
    "script": "Opens on Run: the launch form with this script filled in.",
    "trace": "Opens on Trace: kernels, operators, steps and a timeline.",
    "json": "Opens on Trace if it is a profiler trace.",
    "ncu_report": "Opens on Nsight: kernels, sections, rules and metrics.",
    "ncu_csv": "Opens on Nsight: kernels and their metrics.",
    "model": "Opens on Edge: the model is run on devices that are not CUDA.",
    "unknown": "Its content is of no kind that is known here.",
}


def _detail(kind: FileKind) -> str:
    known = (
        "Recognised, but this version opens runs, Python scripts, traces, Nsight Compute reports and models "
        "only."
    )
    return _DETAILS.get(kind, known)


def _kind_of_content(head: bytes, suffix: str) -> tuple[FileKind, str]:
    """Decides on the first bytes; the suffix tells scripts from other text, models from binaries."""
    for magic, kind, title in (*_MODELS.get(suffix, ()), *_MAGICS):
        if head.startswith(magic):
            return kind, title
    if head[:1] == b"\x80" and b"segments" in head[:128]:
        return "memory_snapshot", "CUDA memory snapshot"
    text = _decode_head(head)
    if text is None:
        return "unknown", "Binary file"
    if suffix in (".py", ".pyw") or (text.startswith("#!") and "python" in text.split("\n", 1)[0]):
        return "script", "Python script"
    start = text.lstrip()
    # What the profiled program printed before the table may begin with a bracket too.
    if start[:1] in ("{", "[") and not _NCU_LINE.search(text):
        return _kind_of_json(start)
    return _kind_of_text(start)


_REPORT = b"NVR\x00"
_ZSTD = b"\x28\xb5\x2f\xfd"
_MAGICS: tuple[tuple[bytes, FileKind, str], ...] = (
    (_REPORT, "ncu_report", "Nsight Compute report"),
    (_ZSTD, "unknown", "zstd file"),
    (b"SQLite format 3\x00", "unknown", "SQLite database"),
    (b"PK\x03\x04", "unknown", "Zip archive"),
)
_MODELS: dict[str, tuple[tuple[bytes, FileKind, str], ...]] = {
    # ModelProto begins with ir_version, field 1 as a varint. Source: onnx/onnx.proto (1.19).
    ".onnx": ((b"\x08", "model", "ONNX model"),),
    # torch.export.save writes a zip archive (torch 2.13, torch/export/pt2_archive).
    ".pt2": ((b"PK\x03\x04", "model", "PyTorch exported model"),),
}


def _kind_of_json(text: str) -> tuple[FileKind, str]:
    if _is_manifest(text.encode("utf-8", "replace")):
        return "run", "Manifest of a run"
    if '"schemaVersion"' in text or '"deviceProperties"' in text:
        return "trace", "PyTorch trace"
    if '"traceEvents"' in text or (text.startswith("[") and '"ph"' in text):
        return "trace", "Chrome trace"
    return "json", "JSON file"


# Lines that only ncu prints: its messages, and the header of its tables in any layout.
_NCU_LINE = re.compile(
    r"""^(?:==(?:PROF|ERROR|WARNING)==[ ]"""
    r"""|,?"?(?:ID|Process[ ]ID)"?[,;\t].*[,;\t]"?Kernel[ ]Name"?(?:[,;\t]|$)"""
    r"""|"?Kernel[ ]Name"?[,;\t].*[,;\t]"?Metric[ ]Name"?[,;\t])""",
    re.MULTILINE,
)
# Columns by which tables of other tools are known: all of one row occur in the first lines.
_CSV_TITLES = (
    (("Total Time (ns)",), "Nsight Systems statistics"),
    (("Total (MB)", "Operation"), "Nsight Systems statistics"),
    (("Start", "Duration", "CorrId", "Name"), "Nsight Systems trace table"),
    (("Address", "Source", "Sampling"), "Nsight Compute source page"),
    (("Type", "Time(%)", "Calls", "Name"), "nvprof statistics"),
    (("Kernel_Name", "Start_Timestamp", "End_Timestamp"), "rocprofv3 trace table"),
    (("KernelName", "gpu-id", "queue-id"), "rocprof kernel table"),
    (("timestamp", "utilization.gpu"), "nvidia-smi log"),
)


def _kind_of_text(text: str) -> tuple[FileKind, str]:
    if _NCU_LINE.search(text):
        return "ncu_csv", "Nsight Compute CSV"
    lines = [line for line in text.splitlines()[:200] if line.strip()]
    if lines and lines[0].count(",") >= 1 and all("," in line for line in lines[:3]):
        head = "\n".join(lines[:3])
        known = (title for words, title in _CSV_TITLES if all(word in head for word in words))
        return "csv", next(known, "CSV table")
    return "unknown", "Text file"


def _is_manifest(head: bytes) -> bool:
    return head.lstrip()[:1] == b"{" and b'"schema"' in head and b'"job"' in head and b'"created_ns"' in head


def _decode_head(head: bytes) -> str | None:
    """Returns the text, or None if this is none. The cut may fall inside a character."""
    encoding = "utf-8-sig"
    if head[:2] in (b"\xff\xfe", b"\xfe\xff"):
        encoding = "utf-16"
    elif b"\x00" in head:
        return None
    text = head.decode(encoding, "replace")
    strange = text[:-1].count("\N{REPLACEMENT CHARACTER}")
    return None if strange > len(text) // 20 else text


def _unpack_head(packed: bytes) -> bytes:
    try:
        return zlib.decompressobj(wbits=31).decompress(packed, _HEAD_BYTES)
    except zlib.error:
        return b""


def _unpack_zstd_head(packed: bytes) -> bytes:
    import zstandard  # noqa: PLC0415 - only for the rare packed report

    try:
        with zstandard.ZstdDecompressor().stream_reader(packed) as reader:
            return reader.read(len(_REPORT))
    except zstandard.ZstdError:
        return b""


def _read_head(path: Path, limit_bytes: int) -> bytes:
    """Reads at most ``limit_bytes`` of a regular file; a pipe put there meanwhile cannot block."""
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC)
    with os.fdopen(descriptor, "rb") as file:
        if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            raise DashboardError(
                f"{printable(path.name)} is not a regular file.", "Choose a file with content."
            )
        return file.read(limit_bytes)
