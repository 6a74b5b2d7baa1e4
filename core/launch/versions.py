"""Which version of Ridgeline this is."""

from __future__ import annotations

import functools
import tomllib
from importlib import metadata

from core.files import MAIN


@functools.cache
def ridgeline_version() -> str:
    """Returns the version of the source tree that runs, else of the installed package."""
    try:
        with open(MAIN.parent / "pyproject.toml", "rb") as file:
            project = tomllib.load(file).get("project", {})
        if project.get("name") == "ridgeline":
            return str(project["version"])
    except (OSError, KeyError, ValueError):
        pass
    try:
        return metadata.version("ridgeline")
    except metadata.PackageNotFoundError:
        return "unknown"
