"""Which drivers the Vulkan loader would load: the manifests that it finds, in its order.

Only reads folders and small files; loads nothing. On Windows the loader looks
into the registry instead, which is not followed here: there only what the
environment names is found.

Source: Vulkan-Loader, LoaderDriverInterface.md (Driver Discovery; Driver
Manifest File Format) and its environment variables VK_DRIVER_FILES,
VK_ICD_FILENAMES (older, ignored beside the first) and VK_ADD_DRIVER_FILES.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

_TAIL = Path("vulkan", "icd.d")
_MOST_BYTES = 2**20
OVERRIDES = ("VK_DRIVER_FILES", "VK_ICD_FILENAMES")
ADDED = "VK_ADD_DRIVER_FILES"


def search_places(environment: Mapping[str, str]) -> list[Path]:
    """Return the files and folders that are looked at, whether they are there or not."""
    for name in OVERRIDES:
        if environment.get(name):
            return _paths(environment[name])
    return _unique([*_paths(environment.get(ADDED, "")), *_folders(environment)])


def find_manifests(environment: Mapping[str, str]) -> list[Path]:
    """Return the manifests that are there, each file once."""
    found: list[Path] = []
    for place in search_places(environment):
        if place.is_dir():
            found += sorted(place.glob("*.json"))
        elif place.is_file():
            found.append(place)
    return _unique(found)


def driver_alone(environment: Mapping[str, str], manifest: Path) -> dict[str, str]:
    """Return an environment in which the loader finds this driver only, and no layers of the system.

    Source: LoaderInterfaceArchitecture.md, VK_LOADER_LAYERS_DISABLE (from loader 1.3.234).
    """
    alone = {name: value for name, value in environment.items() if name != ADDED}
    return alone | dict.fromkeys(OVERRIDES, str(manifest)) | {"VK_LOADER_LAYERS_DISABLE": "~implicit~"}


def missing_library(manifest: Path) -> str | None:
    """Return the path of the driver's library if the manifest names a file that is not there.

    A bare name is looked for by the system's own rules, which nobody can tell without loading it.
    """
    try:
        with manifest.open("rb") as file:
            content = json.loads(file.read(_MOST_BYTES))
        named = content["ICD"]["library_path"]
    except (OSError, ValueError, KeyError, TypeError):
        return None
    if not isinstance(named, str) or "/" not in named.replace("\\", "/"):
        return None
    library = manifest.parent / named
    return None if library.exists() else str(library)


def _paths(value: str) -> list[Path]:
    return [Path(part) for part in value.split(os.pathsep) if part]


def _folders(environment: Mapping[str, str]) -> list[Path]:
    if sys.platform == "win32":
        return []
    home = Path(environment.get("HOME", "/"))
    bases = [
        Path(environment.get("XDG_CONFIG_HOME") or home / ".config"),
        *_paths(environment.get("XDG_CONFIG_DIRS") or "/etc/xdg"),
        Path("/usr/local/etc"),
        Path("/etc"),
        Path(environment.get("XDG_DATA_HOME") or home / ".local" / "share"),
        *_paths(environment.get("XDG_DATA_DIRS") or "/usr/local/share:/usr/share"),
    ]
    return [base / _TAIL for base in bases]


def _unique(paths: list[Path]) -> list[Path]:
    """Drop what is named twice, also through a link."""
    by_target = {os.path.realpath(path): path for path in reversed(paths)}
    return [path for path in paths if by_target[os.path.realpath(path)] is path]
