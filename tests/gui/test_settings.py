"""Settings survive a restart, and anything that stands in the file."""

from __future__ import annotations

import json
import os
import stat
import threading
from pathlib import Path

import pytest

from core.errors import DashboardError
from core.files import write_atomic
from gui.settings import FILE_NAME, Settings


def write(folder: Path, text: str | bytes) -> Path:
    path = folder / FILE_NAME
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def test_everything_comes_back(tmp_path: Path) -> None:
    settings = Settings.load(tmp_path)
    assert (settings.notice, settings.theme, settings.page) == ("", "system", "")
    settings.theme = "light"
    settings.page = "run"
    settings.last_run = "/data/runs/a"
    settings.window = (b"\x01\x02", b"\xff")
    settings.set_page_value("run", "charts", ["loss"])
    settings.set_page_value("run", "smooth", 0.5)
    settings.write(settings.encoded())
    again = Settings.load(tmp_path)
    assert (again.theme, again.page, again.last_run) == ("light", "run", "/data/runs/a")
    assert again.window == (b"\x01\x02", b"\xff")
    assert again.page_value("run", "charts") == ["loss"]
    assert again.page_value("run", "smooth") == 0.5
    assert again.page_value("home", "charts", 3) == 3
    assert stat.S_IMODE((tmp_path / FILE_NAME).stat().st_mode) == 0o600


@pytest.mark.parametrize("broken", [b"{", b"[1]", b"\xff\xfe", b"[" * 100_000, b""])
def test_a_broken_file_is_set_aside_and_kept(tmp_path: Path, broken: bytes) -> None:
    write(tmp_path, broken)
    settings = Settings.load(tmp_path)
    assert "set aside as settings.json.broken-1" in settings.notice
    assert (tmp_path / "settings.json.broken-1").read_bytes() == broken
    settings.write(settings.encoded())
    write(tmp_path, broken)
    assert "broken-2" in Settings.load(tmp_path).notice


def test_values_of_a_wrong_kind_are_ignored_one_by_one(tmp_path: Path) -> None:
    values = {
        "theme": 5,
        "page": ["x"],
        "geometry": "not hex",
        "docks": "0a",
        "page run": "text",
        "recent_files": [
            {"path": "/a", "title": "T", "opened_ns": 1},
            {"path": 3},
            None,
            {"path": "/b", "title": "T", "opened_ns": 1, "files": ["/b", 7]},
        ],
        "from a newer version": {"kept": True},
    }
    write(tmp_path, json.dumps(values))
    settings = Settings.load(tmp_path)
    assert settings.notice == ""
    assert (settings.theme, settings.page, settings.window) == ("system", "", (b"", b"\n"))
    assert [file.path for file in settings.recent_files] == ["/a"]
    settings.set_page_value("run", "charts", 1)
    settings.write(settings.encoded())
    assert json.loads((tmp_path / FILE_NAME).read_bytes())["from a newer version"] == {"kept": True}


def test_recent_files_keep_every_byte_of_their_names(tmp_path: Path) -> None:
    """Case G11: names that are not UTF-8."""
    names = [b"latin1_caf\xe9.py", "тест_日本.py".encode(), b"new\nline.py", b"per%20cent #+.py"]
    settings = Settings.load(tmp_path)
    for name in names:
        settings.remember_file(Path("/data") / os.fsdecode(name), "Python script")
    settings.write(settings.encoded())
    found = [os.fsencode(file.path) for file in Settings.load(tmp_path).recent_files]
    assert found == [b"/data/" + name for name in reversed(names)]


def test_files_that_were_opened_as_one_are_one_entry_beside_the_first_alone(tmp_path: Path) -> None:
    settings = Settings.load(tmp_path)
    ranks = [Path("/data/rank0.json"), Path("/data/rank1.json")]
    for _ in range(2):
        settings.remember_file(ranks[0], "Trace of 2 ranks", ranks)
        settings.remember_file(ranks[0], "PyTorch trace")
    settings.write(settings.encoded())
    found = [(file.title, file.paths) for file in Settings.load(tmp_path).recent_files]
    assert found == [
        ("PyTorch trace", ("/data/rank0.json",)),
        ("Trace of 2 ranks", ("/data/rank0.json", "/data/rank1.json")),
    ]


def test_a_file_stands_once_and_thirty_are_kept(tmp_path: Path) -> None:
    settings = Settings.load(tmp_path)
    for number in (*range(40), 39, 35):
        settings.remember_file(Path(f"/data/{number}.py"), "Python script")
    paths = [file.path for file in settings.recent_files]
    assert len(paths) == 30
    assert paths[:3] == ["/data/35.py", "/data/39.py", "/data/38.py"]
    settings.forget_files()
    assert settings.recent_files == []


def test_what_is_older_never_replaces_what_is_newer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One writer hangs in a slow folder; of those that come meanwhile the newest wins, whoever is next."""
    settings = Settings.load(tmp_path)
    begun, go = threading.Event(), threading.Event()
    order: list[str] = []

    def slow(path: Path, data: bytes) -> None:
        order.append(json.loads(data)["page"])
        begun.set()
        go.wait(30)
        write_atomic(path, data)

    monkeypatch.setattr("gui.settings.write_atomic", slow)
    contents = []
    for page in ("first", "second", "third"):
        settings.page = page
        contents.append(settings.encoded())
    writers = [threading.Thread(target=settings.write, args=(contents[0],))]
    writers[0].start()
    assert begun.wait(30)
    for content in (contents[2], contents[1]):
        writers.append(threading.Thread(target=settings.write, args=(content,)))
        writers[-1].start()
    assert order == ["first"]
    go.set()
    for writer in writers:
        writer.join(30)
    assert Settings.load(tmp_path).page == "third"
    settings.write(contents[0])
    assert Settings.load(tmp_path).page == "third"


def test_a_folder_that_cannot_be_written_is_an_expected_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("no folder")
    settings = Settings.load(tmp_path / "file")
    with pytest.raises(DashboardError, match="cannot be used") as error:
        settings.write(settings.encoded())
    assert "settings are kept there" in error.value.hint
