"""Files come in by drop, dialog, command line and recent list; any name will do (cases G11, G13)."""

from __future__ import annotations

import os
from functools import partial
from typing import TYPE_CHECKING

import pytest
from PySide6.QtCore import QEvent, QMimeData, QPoint, QPointF, Qt
from PySide6.QtGui import QDragEnterEvent, QDragLeaveEvent, QDragMoveEvent, QDropEvent
from PySide6.QtWidgets import QApplication, QFileDialog

from core.files import describe_path
from gui.dropped_paths import paths_of
from gui.shell.opener import MOST_AT_ONCE, drop_words, refusal_words

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from pytestqt.qtbot import QtBot

    from core.runs.store import RunFolder
    from gui.main_window import MainWindow

NAMES = [
    b"with space.py",
    b"hash#mark.py",
    b"per%20cent.py",
    b"plus+plus.py",
    b'quo"te.py',
    b"apo'strophe.py",
    b"amp&semi;.py",
    "тест_日本.py".encode(),
    b"new\nline.py",
    b"-dash.py",
    b"train.PY",
    b"~tilde.py",
    b"[br]{ace}.py",
    b"latin1_caf\xe9.py",
]


def drag(paths: Sequence[Path]) -> QMimeData:
    """What a file manager sends: each byte that is not plain is escaped."""
    data = QMimeData()
    lines = [b"file://" + escape(os.fsencode(path)) for path in paths]
    data.setData("text/uri-list", b"\r\n".join([*lines, b""]))
    return data


def escape(path: bytes) -> bytes:
    plain = b"/ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~"
    return b"".join(bytes([byte]) if byte in plain else b"%%%02X" % byte for byte in path)


def enter(window: MainWindow, data: QMimeData) -> QDragEnterEvent:
    event = QDragEnterEvent(
        QPoint(600, 400),
        Qt.DropAction.CopyAction | Qt.DropAction.MoveAction,
        data,
        Qt.MouseButton.LeftButton,
        Qt.KeyboardModifier.NoModifier,
    )
    QApplication.sendEvent(window, event)
    return event


def drop(window: MainWindow, data: QMimeData) -> QDropEvent:
    """Qt gives a drop only to the widget that took the entry."""
    enter(window, data)
    event = QDropEvent(
        QPointF(600, 400),
        Qt.DropAction.CopyAction | Qt.DropAction.MoveAction,
        data,
        Qt.MouseButton.LeftButton,
        Qt.KeyboardModifier.NoModifier,
        QEvent.Type.Drop,
    )
    QApplication.sendEvent(window, event)
    return event


@pytest.mark.parametrize("name", NAMES, ids=[repr(name)[2:-1] for name in NAMES])
def test_every_byte_of_a_dropped_name_arrives(tmp_path: Path, name: bytes) -> None:
    path = tmp_path / os.fsdecode(name)
    path.write_text("print(1)\n")
    found = paths_of(drag([path]))
    assert found == [path]
    assert describe_path(found[0]).kind == "script"


def test_what_is_no_local_file_is_left_out() -> None:
    data = QMimeData()
    data.setData(
        "text/uri-list",
        b"# a comment\r\nhttps://example.com/x.py\r\nfile://localhost/tmp/a.py\r\nfile:/tmp/b.py\r\nfile://x\r\n",
    )
    assert [str(path) for path in paths_of(data)] == ["/tmp/a.py", "/tmp/b.py"]
    text = QMimeData()
    text.setText("train.py")
    assert paths_of(text) == []


def test_the_overlay_names_type_and_page_before_release(
    qtbot: QtBot, window: MainWindow, tmp_path: Path
) -> None:
    script = tmp_path / "train #1.py"
    script.write_text("print(1)\n")
    overlay = window.drop_target.overlay
    event = enter(window, drag([script, tmp_path]))
    assert event.isAccepted()
    assert event.dropAction() == Qt.DropAction.CopyAction
    assert overlay.isVisible()
    assert overlay.size() == window.size()
    qtbot.waitUntil(lambda: overlay.text.startswith("Open as Python script"))
    assert overlay.text.splitlines()[1:] == ["train #1.py, 9 bytes, and 1 more", "Opens on the Run page."]
    move = QDragMoveEvent(
        QPoint(10, 10),
        Qt.DropAction.CopyAction,
        drag([script]),
        Qt.MouseButton.LeftButton,
        Qt.KeyboardModifier.NoModifier,
    )
    QApplication.sendEvent(window, move)
    assert move.isAccepted()
    QApplication.sendEvent(window, QDragLeaveEvent())
    assert overlay.isHidden()


def test_a_drag_without_files_is_not_taken(window: MainWindow) -> None:
    data = QMimeData()
    data.setText("some text")
    assert not enter(window, data).isAccepted()
    assert window.drop_target.overlay.isHidden()


def test_a_dropped_script_fills_the_form_and_is_remembered(
    qtbot: QtBot, window: MainWindow, tmp_path: Path
) -> None:
    script = tmp_path / os.fsdecode(NAMES[-1])
    script.write_text("print(1)\n")
    assert drop(window, drag([script])).isAccepted()
    assert window.drop_target.overlay.isHidden()
    qtbot.waitUntil(lambda: window.page.NAME == "run")
    assert [file.path for file in window.context.settings.recent_files] == [str(script)]
    assert window.banners.keys == []


@pytest.mark.parametrize("as_manifest", [False, True])
def test_a_run_is_shown_by_its_folder_or_its_manifest(
    qtbot: QtBot, window: MainWindow, make_run: Callable[..., RunFolder], as_manifest: bool
) -> None:
    folder = make_run("tiny")
    drop(window, drag([folder.manifest_path if as_manifest else folder.path]))
    qtbot.waitUntil(lambda: window.context.session.snapshot is not None)
    assert window.context.session.folder == folder
    assert window.context.settings.recent_files == []


def test_a_relative_path_is_remembered_as_an_absolute_one(
    qtbot: QtBot, window: MainWindow, make_run: Callable[..., RunFolder], monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = make_run("of-the-command-line", "done").path
    monkeypatch.chdir(folder.parent)
    with qtbot.waitSignal(window.context.session.attached):
        window.opener.open([folder.relative_to(folder.parent)])
    assert window.context.settings.last_run == str(folder)


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"\x80\x04}\x94(\x8c\x08segments\x94", "CUDA memory snapshot"),
        (b"\x7fELF\x00\x00", "binary file"),
        (b"", "empty file"),
        (None, "not found"),
    ],
)
def test_what_no_page_opens_gets_one_clear_line(
    qtbot: QtBot, window: MainWindow, tmp_path: Path, content: bytes | None, words: str
) -> None:
    path = tmp_path / "<b>odd.bin"
    if content is not None:
        path.write_bytes(content)
    window.context.open_path(path)
    qtbot.waitUntil(lambda: window.banners.keys == [f"refused {path}"])
    what, hint = refusal_words(describe_path(path))
    assert what == f"<b>odd.bin was not opened: {words}."
    assert (
        "this version opens runs, python scripts, traces, nsight compute reports and models" in hint.lower()
    )
    assert window.page.NAME == "home"


def is_refused(window: MainWindow, words: str) -> bool:
    return any(words in banner.accessibleName() for banner in window.banners._banners.values())


def test_each_file_that_is_refused_keeps_its_message(
    qtbot: QtBot, window: MainWindow, tmp_path: Path
) -> None:
    paths = [tmp_path / name for name in ("a.bin", "b.bin", "c.bin")]
    for path in paths:
        path.write_bytes(b"")
        window.context.open_path(path)
        qtbot.waitUntil(partial(is_refused, window, path.name))
    shown = [banner for banner in window.banners._banners.values() if banner.isVisible()]
    assert [banner.accessibleName().split()[1] for banner in shown] == ["b.bin", "c.bin"]
    assert window.banners.waiting == "1 earlier message waits until one of these is closed"
    window.banners.dismiss(f"refused {paths[2]}")
    shown = [banner for banner in window.banners._banners.values() if banner.isVisible()]
    assert [banner.accessibleName().split()[1] for banner in shown] == ["a.bin", "b.bin"]
    assert window.banners.waiting == ""


def rank_file(folder: Path, rank: int, world_size: int) -> Path:
    path = folder / f"rank{rank}.json"
    facts = f'{{"distributedInfo": {{"rank": {rank}, "world_size": {world_size}}}, "traceEvents": ['
    path.write_text(
        facts + '{"ph": "X", "cat": "cpu_op", "name": "f", "pid": 1, "tid": 1, "ts": 1, "dur": 1}]}'
    )
    return path


def test_as_many_ranks_as_a_job_has_are_one_trace(qtbot: QtBot, window: MainWindow, tmp_path: Path) -> None:
    paths = [rank_file(tmp_path, rank, 96) for rank in range(70)]
    (tmp_path / "elsewhere").mkdir()
    paths.append(rank_file(tmp_path / "elsewhere", 70, 96))
    with qtbot.waitSignal(window.opener.ranks_described) as told:
        window.opener.open(paths)
    assert [path for path, _ in told.args[0]] == paths


def test_what_is_left_out_of_many_files_is_counted(qtbot: QtBot, window: MainWindow, tmp_path: Path) -> None:
    paths = [tmp_path / f"{number}.bin" for number in range(MOST_AT_ONCE + 3)]
    window.opener.open(paths)
    qtbot.waitUntil(partial(is_refused, window, "3 of 23 files were not opened."))


def test_a_pipe_and_a_dangling_link_do_not_stop_the_window(
    qtbot: QtBot, window: MainWindow, tmp_path: Path
) -> None:
    os.mkfifo(tmp_path / "pipe.json")
    (tmp_path / "dangling.json").symlink_to(tmp_path / "gone")
    for name, words in (("pipe.json", "named pipe"), ("dangling.json", "dangling link")):
        window.context.open_path(tmp_path / name)
        qtbot.waitUntil(partial(is_refused, window, words))


def test_the_words_of_the_overlay_for_what_is_not_opened(tmp_path: Path) -> None:
    path = tmp_path / "trace.json"
    path.write_text('{"traceEvents": []}')
    title, file, detail = drop_words(describe_path(path), None, 0)
    assert title == "Chrome trace: not opened by this version"
    assert file == "trace.json, 19 bytes"
    assert detail


def test_the_dialogs_lead_the_same_way(qtbot: QtBot, window: MainWindow, tmp_path: Path) -> None:
    script = tmp_path / "a b.py"
    script.write_text("print(1)\n")
    for action, mode in (
        ("file.open", QFileDialog.FileMode.ExistingFiles),
        ("file.open_folder", QFileDialog.FileMode.Directory),
    ):
        window.context.actions.trigger(action)
        dialog = next(each for each in window.findChildren(QFileDialog) if each.isVisible())
        assert dialog.fileMode() == mode
        if mode == QFileDialog.FileMode.ExistingFiles:
            dialog.filesSelected.emit([str(script)])
        dialog.close()
        qtbot.waitUntil(lambda: not window.findChildren(QFileDialog))
    qtbot.waitUntil(lambda: window.page.NAME == "run")
