"""From an ONNX graph to a program of IREE: import, compile, and the cache of both.

Weights become one parameter archive (.irpa) that the runtime maps into memory.
It is named by its content, so that lengths with the same weights share it, and
no program holds any.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import shutil
import tempfile
import time
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Final

import msgspec
import onnx
from google.protobuf.message import DecodeError

from core.edge.models import PREPARED_FILE, PreparedModel
from core.edge.workers.iree_tools import IMPORT_ONNX, compiler, run_iree
from core.edge.workers.iree_words import compiler_words, importer_words
from core.edge.workers.refusal import RefusedError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from core.edge.models import PreparedCase

TARGETS: Final[dict[str, tuple[str, ...]]] = {
    "vulkan": ("--iree-hal-target-device=vulkan",),
    "metal": ("--iree-hal-target-device=metal",),
    "cpu": (
        "--iree-hal-target-device=local",
        "--iree-hal-local-target-device-backends=llvm-cpu",
        "--iree-llvmcpu-target-cpu=generic",
    ),
}
"""The generic target of each kind of device: one that does not fit gives wrong numbers in silence."""

CAP_BYTES: Final = 8 * 2**30
_SCHEMA: Final = 1
_PART: Final = ".part-"
_LEFT_S: Final = 86400.0
"""So old is nothing that somebody still writes."""
_BLOCK_BYTES: Final = 2**22
_LARGE_BYTES: Final = 2**30
"""Weights from which on the importer is not to read them into one protobuf, which ends at 2 GiB."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Compiled:
    """A program and its weights.

    Attributes:
        program: The .vmfb.
        weights: The .irpa, None where the graph has none worth it.
        cached: Both were there.
    """

    program: Path
    weights: Path | None
    cached: bool


def versions() -> tuple[str, str]:
    """Of the compiler and the runtime."""
    return metadata.version("iree-base-compiler"), metadata.version("iree-base-runtime")


class Compiler:
    """Compiles into a cache folder.

    Args:
        cache: Of all that the backend compiles.
        kind: A key of ``TARGETS``.
        options: For iree-compile, after those of the target.
    """

    def __init__(self, cache: Path, kind: str, options: Sequence[str] = ()) -> None:
        self._folder = cache
        self._flags = (*TARGETS[kind], *options)
        self._hashes: dict[Path, str] = {}
        self._used: set[Path] = set()
        cache.mkdir(parents=True, exist_ok=True)

    def compile_graph(self, graph: Path) -> Compiled:
        """Compiles an ONNX graph.

        Raises:
            RefusedError: It is broken, or IREE cannot compile it; in IREE's words.
        """
        key = _key("onnx", self._graph_hash(graph))
        imported = self._folder / f"{key}.json"
        text = self._folder / f"{key}.mlir"
        weights_name = _read_name(imported) if text.exists() else None
        weights = self._folder / weights_name if weights_name else None
        found = weights_name is not None and (weights is None or weights.exists())
        if not found:
            weights = self._import(graph, text, imported)
        self._use(text, imported, *([weights] if weights else []))
        program, compiled = self._program(_key(key, *self._flags), text)
        return Compiled(program=program, weights=weights, cached=found and compiled)

    def compile_text(self, text: str) -> Path:
        """Compiles MLIR.

        Raises:
            RefusedError: IREE cannot compile it.
        """
        key = _key("mlir", text)
        source = self._folder / f"{key}.mlir"
        if not source.exists():
            with _fresh(source) as part:
                part.write_text(text)
        self._use(source)
        return self._program(_key(key, *self._flags), source)[0]

    def shrink(self) -> None:
        """Removes what killed workers left, and over the cap what was unused the longest."""
        old_s = time.time() - _LEFT_S
        files = []
        for each in self._folder.iterdir():
            try:
                facts = each.stat()
            except OSError:
                continue  # another worker has taken it away meanwhile
            if not each.name.startswith(_PART):
                files += [(facts, each)] if each.is_file() else []
            elif facts.st_mtime < old_s:
                shutil.rmtree(each, ignore_errors=True) if each.is_dir() else each.unlink(missing_ok=True)
        whole = sum(facts.st_size for facts, _ in files)
        for facts, each in sorted(files, key=lambda pair: pair[0].st_mtime_ns):
            if whole <= CAP_BYTES:
                return
            if each not in self._used:
                each.unlink(missing_ok=True)
                whole -= facts.st_size

    def _program(self, key: str, source: Path) -> tuple[Path, bool]:
        program = self._folder / f"{key}.vmfb"
        found = program.exists()
        if not found:
            with _fresh(program) as part:
                code, _, errors = run_iree([compiler(), str(source), *self._flags, "-o", str(part)])
                if code != 0:
                    raise RefusedError(
                        "compile",
                        f"IREE cannot compile the model for this device: {compiler_words(code, errors)}.",
                        "Try fp32, or another backend.",
                    )
        self._use(program)
        return program, found

    def _import(self, graph: Path, text: Path, imported: Path) -> Path | None:
        """Imports a graph; returns its weights."""
        large = sum(each.stat().st_size for each in _files_of(graph)) > _LARGE_BYTES
        with _fresh(text) as part, tempfile.TemporaryDirectory(prefix=_PART, dir=self._folder) as folder:
            archive = Path(folder) / "weights.irpa"
            argv = [*IMPORT_ONNX, str(graph), "-o", str(part), "--externalize-params"]
            argv += ["--save-params-to", str(archive), *(["--large-model"] if large else [])]
            code, _, errors = run_iree(argv)
            if code != 0:
                raise RefusedError(
                    "import",
                    f"IREE cannot import {graph.name}: {importer_words(code, errors)}.",
                    "Check the model with onnx.checker, or export it again with opset 20.",
                )
            weights = None
            if "#stream.parameter.named" in part.read_text():
                weights = self._folder / f"{_file_hash(archive)}.irpa"
                os.replace(archive, weights)
        with _fresh(imported) as part:
            part.write_text(json.dumps({"weights": weights.name if weights else ""}))
        return weights

    def _graph_hash(self, graph: Path) -> str:
        for each in _files_of(graph):
            if each not in self._hashes:
                self._hashes[each] = _file_hash(each)
        return "".join(self._hashes[each] for each in _files_of(graph))

    def _use(self, *files: Path) -> None:
        for each in files:
            self._used.add(each)
            with contextlib.suppress(OSError):
                os.utime(each)


def prepared_cases(folder: Path, names: Sequence[str]) -> list[PreparedCase]:
    """Finds cases of an exported model.

    Raises:
        RefusedError: It is not whole, or has no such case.
    """
    try:
        model = msgspec.json.decode((folder / PREPARED_FILE).read_bytes(), type=PreparedModel)
    except (OSError, msgspec.DecodeError) as error:
        raise RefusedError(
            "job", f"The exported model cannot be read: {error}.", "Run it again; it is exported anew."
        ) from error
    cases = {case.name: case for case in model.cases}
    missing = [name for name in names if name not in cases]
    if missing:
        raise RefusedError("job", f"The exported model has no case {missing[0]}.", "Run it again.")
    return [cases[name] for name in names]


def load_graph(path: Path) -> onnx.ModelProto:
    """Reads a graph without its weights.

    Raises:
        RefusedError: It cannot be read.
    """
    try:
        model = onnx.load(path, load_external_data=False)
    except (DecodeError, OSError, ValueError) as error:
        raise RefusedError(
            "import", f"{path.name} is no ONNX graph: {error}.", "Export the model again."
        ) from error
    if not model.graph.output:
        raise RefusedError("import", f"{path.name} has no output.", "Export the model again.")
    return model


def _files_of(graph: Path) -> tuple[Path, ...]:
    """The graph and the files beside it that hold its weights."""
    model = load_graph(graph)
    names = {
        entry.value
        for tensor in model.graph.initializer
        for entry in tensor.external_data
        if entry.key == "location"
    }
    beside = tuple(graph.parent / Path(name).name for name in sorted(names))
    missing = [each.name for each in beside if not each.exists()]
    if missing:
        raise RefusedError(
            "import", f"{graph.name} lacks its weights: {missing[0]} is not there.", "Export the model again."
        )
    return (graph, *beside)


def _key(*parts: str) -> str:
    compiler_version, _ = versions()
    text = json.dumps([_SCHEMA, compiler_version, *parts])
    return hashlib.sha256(text.encode()).hexdigest()[:40]


def _file_hash(path: Path) -> str:
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while block := file.read(_BLOCK_BYTES):
            digest.update(block)
    return digest.hexdigest()[:40]


def _read_name(path: Path) -> str | None:
    try:
        name = json.loads(path.read_bytes())["weights"]
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return Path(name).name if isinstance(name, str) else None


@contextlib.contextmanager
def _fresh(path: Path) -> Iterator[Path]:
    """Gives a passing name; what was written there gets its real name when all went well."""
    descriptor, name = tempfile.mkstemp(prefix=_PART, suffix=path.suffix, dir=path.parent)
    os.close(descriptor)
    part = Path(name)
    try:
        yield part
        os.replace(part, path)
    finally:
        part.unlink(missing_ok=True)
