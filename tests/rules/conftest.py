"""The files of the project, as the rules see them.

What lies in tests/data plays a user's files: they look as users' files look.
"""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="session")
def project_files() -> list[Path]:
    """Every file that git tracks and that is still there, relative to the top of the checkout."""
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=True).stdout
    files = [Path(name) for name in listed.decode().split("\0") if name and (ROOT / name).is_file()]
    files = [path for path in files if Path("tests/data") not in path.parents]
    assert files
    return files


@pytest.fixture(scope="session")
def python_files(project_files: list[Path]) -> list[Path]:
    """The Python files among them."""
    return [path for path in project_files if path.suffix == ".py"]
