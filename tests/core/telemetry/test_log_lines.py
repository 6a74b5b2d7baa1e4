"""Log files as they grow: bytes to lines, bars in place, floods, labels, losses."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from core.telemetry.line_text import is_out_of_memory, level_of, message_of, show, split_label
from core.telemetry.log_lines import SHOWN, LineNumbers, LogChunk, LogTail

if TYPE_CHECKING:
    from pathlib import Path

    from core.telemetry.views import LogLine


@pytest.fixture
def log(tmp_path: Path) -> Path:
    return tmp_path / "0.out"


def append(path: Path, data: bytes) -> None:
    with path.open("ab") as file:
        file.write(data)


def read_all(tail: LogTail) -> LogChunk:
    """Reads until nothing new is there."""
    result = LogChunk()
    while True:
        chunk = tail.read()
        result.lines += chunk.lines
        result.losses += chunk.losses
        result.notable += chunk.notable
        if not chunk.read_bytes:
            return result


def newest(lines: list[LogLine]) -> list[str]:
    """Texts by line number, the last state of each."""
    return [text for _, text in sorted({line.number: line.text for line in lines}.items())]


def losses(chunk: LogChunk) -> list[tuple[int | None, int | None, float]]:
    return [(found.rank, found.step, found.value) for found in chunk.losses]


def test_an_absent_file_is_empty_until_it_comes(log: Path) -> None:
    tail = LogTail(log, 0, "out")
    assert tail.read().lines == []
    append(log, b"one\n")
    assert [line.text for line in tail.read(7).lines] == ["one"]
    assert tail.read().lines == []


def test_a_character_cut_between_reads_stays_whole(log: Path) -> None:
    """Case L13: a 3-byte character in two writes, bad bytes, colours, no newline at the end."""
    tail = LogTail(log, 0, "out")
    append(log, b"Step 0 | Loss: 1.5 \xe6\x8d")
    first = tail.read()
    assert [line.text for line in first.lines] == ["Step 0 | Loss: 1.5 "]
    assert first.losses == []
    append(log, b"\x9f ok\n")
    append(log, b"path /data/caf\xe9/\xff\xfe\n\x1b[31mStep 1 | Loss: 1.25\x1b[0m\nStep 2 | Loss: 1.125")
    second = tail.read()
    assert newest(first.lines + second.lines) == [
        "Step 0 | Loss: 1.5 \u635f ok",
        "path /data/caf\ufffd/\ufffd\ufffd",
        "Step 1 | Loss: 1.25",
        "Step 2 | Loss: 1.125",
    ]
    assert second.lines[0].number == first.lines[0].number
    assert second.lines[2].spans == ((0, 19, 1),)
    last = tail.finish()
    assert [pair[2] for pair in losses(second) + losses(last)] == [1.5, 1.25, 1.125]
    assert last.lines[0].number == second.lines[-1].number
    assert tail.finish().lines == []


def test_a_bar_is_rewritten_in_its_place(log: Path) -> None:
    """Case L10: carriage returns only, the loss inside the bar."""
    tail = LogTail(log, 0, "err")
    lines: list[LogLine] = []
    found = []
    for step in range(20):
        append(log, f"\r{step:3d}%|## | {step}/20 [00:01<00:09, loss={5 / (step + 1):.3f}]".encode())
        chunk = tail.read()
        lines += chunk.lines
        found += losses(chunk)
        assert len(found) == step, "a bar counts when the next one has replaced it"
    assert len({line.number for line in lines}) == 1
    assert newest(lines) == [" 19%|## | 19/20 [00:01<00:09, loss=0.250]"]
    found += losses(tail.finish())
    assert [pair[1] for pair in found] == list(range(20))
    assert found[0] == (0, 0, 5.0)
    assert found[-1][2] == 0.25


def test_line_ends_of_windows_are_no_bars(log: Path) -> None:
    tail = LogTail(log, 0, "out")
    append(log, b"one\r")
    lines = tail.read().lines
    append(log, b"\ntwo\r\n10%\r20%\r30%\n")
    lines += tail.read().lines
    assert newest(lines) == ["one", "two", "30%"]


def test_a_flood_shows_its_ends_and_keeps_every_loss(log: Path) -> None:
    """Cases L12 and M16: 100,000 lines at once, a spike among them."""
    spike = 61_803
    steps = ((i, 50.0 if i == spike else 2.0) for i in range(100_000))
    append(log, "".join(f"Step {i} | Loss: {loss:.4f}\n" for i, loss in steps).encode())
    tail = LogTail(log, 3, "out")
    result = read_all(tail)
    assert [pair[1] for pair in losses(result)] == list(range(100_000))
    assert [pair for pair in losses(result) if pair[2] == 50.0] == [(3, spike, 50.0)]
    texts = [line.text for line in result.lines]
    assert texts[-1] == "Step 99999 | Loss: 2.0000"
    assert len(texts) < 8 * (sum(SHOWN) + 1)
    assert any(f"before this are not shown, the whole log is in {log}" in text for text in texts)


def test_a_flood_while_following_says_how_much_is_not_shown(log: Path) -> None:
    tail = LogTail(log, 0, "out")
    append(log, b"start\n")
    tail.read()
    append(log, b"".join(b"[debug] candidate %d\n" % i for i in range(5000)))
    chunk = tail.read()
    assert len(chunk.lines) == sum(SHOWN) + 1
    note = chunk.lines[SHOWN[0]]
    assert note.text == f"\u2026 4,750 lines not shown, the whole log is in {log}"
    assert note.offset_bytes is None
    numbers = [line.number for line in chunk.lines]
    assert numbers == sorted(numbers)
    assert numbers[-1] - numbers[0] == 4999
    data = log.read_bytes()
    last = chunk.lines[-1]
    assert last.offset_bytes is not None
    assert data[last.offset_bytes :] == b"[debug] candidate 4999\n"


def test_an_error_inside_a_flood_is_noted(log: Path) -> None:
    middle = b"torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 8.06 GiB.\n"
    append(log, b"x\n" * 2000 + middle + b"x\n" * 2000)
    chunk = LogTail(log, 2, "err").read()
    assert [(note.rank, note.level, note.out_of_memory) for note in chunk.notable] == [(2, "error", True)]
    assert all("memory" not in line.text for line in chunk.lines)


def test_offsets_point_into_the_file(log: Path) -> None:
    tail = LogTail(log, 0, "out")
    lines: list[LogLine] = []
    for part in (b"a", b"bc\r", b"de\nfgh\n", b"\r1%\r2%", b"\r3%\nend\n", b"y" * 100_000, b"z\nlast\n"):
        append(log, part)
        lines += tail.read().lines
    data = log.read_bytes()
    starts = [0, *(position + 1 for position, byte in enumerate(data[:-1]) if byte == 10)]
    assert sorted({line.offset_bytes for line in lines if line.offset_bytes is not None}) == starts


def test_memory_stays_flat_without_newlines(log: Path) -> None:
    tail = LogTail(log, 0, "out")
    for _ in range(20):
        append(log, b"x" * 500_000)
        chunk = tail.read()
    assert chunk.lines == [], "the shown part of an endless line does not change any more"
    append(log, b"\nnext\n")
    lines = tail.read().lines
    assert len(lines[0].text) < 4_100
    assert lines[0].text.endswith("more)")
    assert lines[1].text == "next"


def test_a_replaced_or_cut_file_is_read_again(log: Path) -> None:
    append(log, b"one\ntwo\n")
    tail = LogTail(log, 0, "out")
    tail.read()
    log.write_bytes(b"new\n")
    assert [line.text for line in tail.read().lines][-1] == "new"
    other = log.with_name("other")
    other.write_bytes(b"a much longer file\n")
    other.replace(log)
    assert [line.text for line in tail.read().lines][-1] == "a much longer file"


LABELLED = b"""\
[default3]:ep 5 train, step 14, ce 0.4, mem_usage:cuda:3 6.8GB
[default0]:ep 5 train, step 14, ce 0.3, mem_usage:cuda:0 6.8GB
[trainer1]:Step 2 | Time: 6.98s | Loss: 0.0000 | Grad norm: 1.2
[rank2]:[W1129 12:00:00.000000000 ProcessGroupNCCL.cpp:1250] Warning: WARNING: group has NOT been destroyed
[rank2]: Traceback (most recent call last):
[rank2]:   File "train.py", line 3, in <module>
[rank2]: torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 8.06 GiB.
2: step=3 loss=1.75
"""


def test_labels_name_the_rank(log: Path) -> None:
    """Case L16."""
    append(log, LABELLED)
    chunk = LogTail(log, 0, "out").read()
    assert [line.rank for line in chunk.lines] == [3, 0, 1, 2, 2, 2, 2, 2]
    assert losses(chunk) == [(1, 2, 0.0), (2, 3, 1.75)]
    assert [line.level for line in chunk.lines] == [*["info"] * 3, "warn", *["error"] * 3, "info"]
    assert chunk.lines[0].text.startswith("ep 5 train")
    assert [note.out_of_memory for note in chunk.notable] == [False, False, False, True]


def test_a_number_before_a_colon_is_no_label_by_itself(log: Path) -> None:
    """A script that counts its epochs so is not to be spread over ranks."""
    append(log, b"0: loss=3.0\n1: loss=2.0\n")
    assert [found.rank for found in LogTail(log, 0, "out").read().losses] == [0, 0]
    assert [line.rank for line in LogTail(log, None, "out").read().lines] == [0, 1]


def test_a_peak_beside_the_loss_is_read_in_gb(log: Path) -> None:
    """Case M02."""
    append(log, b"Step 0 | Loss: 9.5 | Peak VRAM/GPU: 12.34 GB\nStep 1 | Loss: 9.4\n")
    found = LogTail(log, 0, "out").read().losses
    assert [loss.peak_bytes for loss in found] == [12_340_000_000, None]


def test_logs_share_one_count(tmp_path: Path) -> None:
    numbers = LineNumbers()
    tails = [LogTail(tmp_path / f"{rank}.out", rank, "out", numbers=numbers) for rank in range(3)]
    for tail in tails:
        append(tail.path, b"a\nb\n")
    taken = [line.number for tail in tails for line in tail.read().lines]
    assert taken == [1, 2, 3, 4, 5, 6]


@pytest.mark.parametrize(
    ("raw", "text", "spans"),
    [
        (b"<img src=x><b>hi</b>", "<img src=x><b>hi</b>", ()),
        (b"a\tb", "a\tb", ()),
        (b"bell\x07 null\x00 del\x7f", "bell\\x07 null\\x00 del\\x7f", ()),
        ("turn\u202earound".encode(), "turn\\u202earound", ()),
        (b"\x1b[1;32mok\x1b[0m done", "ok done", ((0, 2, 2),)),
        (
            b"\x1b[91mred\x1b[39m \x1b[38;5;4mblue\x1b[38;5;200mpink\x1b[38;2;1;2;3mrgb",
            "red bluepinkrgb",
            ((0, 3, 9), (4, 8, 4)),
        ),
        (b"\x1b[48;5;1mback\x1b[m", "back", ()),
        (b"\x1b]0;title\x07text\x1b[2K\x1b[1A", "text", ()),
        (b"\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\", "link", ()),
        (b"stray \x1b", "stray \\x1b", ()),
        ("\U0001f680 \u4e2d".encode(), "\U0001f680 \u4e2d", ()),
    ],
)
def test_what_a_line_shows(raw: bytes, text: str, spans: tuple[tuple[int, int, int], ...]) -> None:
    """Case G14: markup is text."""
    assert show(raw) == (text, spans)


def test_an_unfinished_escape_waits() -> None:
    assert show(b"ok \x1b[3", whole=False) == ("ok ", ())
    assert show(b"ok \x1b", whole=False) == ("ok ", ())


@pytest.mark.parametrize(
    ("text", "level"),
    [
        ("W1129 12:00:00.123000 4242 torch/distributed/run.py:803] ", "info"),
        ("W1129 12:00:00.123000 4242 torch/distributed/run.py:803] ****************", "info"),
        ("W1129 12:00:00.123000 4242 run.py:803] Setting OMP_NUM_THREADS environment variable for", "info"),
        ("*****************************************", "info"),
        ("W1129 12:00:00.1 42 api.py:1010] Sending process 42 closing signal SIGTERM", "info"),
        ("Setting OMP_NUM_THREADS environment variable for each process to be 1", "info"),
        ("WARNING:__main__:", "info"),
        ("WARNING:torch.distributed.run:Setting OMP_NUM_THREADS environment variable for", "info"),
        ("WARNING:torch.distributed.run:something else", "warn"),
        (
            "W1129 12:00:00.123000 4242 api.py:719] Received Signals.SIGINT death signal",
            "info",
        ),
        ("W1129 12:00:00.123000 4242 api.py:719] Received 2 death signal, shutting down", "info"),
        ("[W1129 12:00:00.000000000 socket.cpp:1] [c10d] The hostname cannot be resolved", "warn"),
        (
            "[W1129 18:17:40.313582455 CPUAllocator.cpp:245] Memory block of unknown size was allocated "
            "before the profiling started, profiler results will not include the deallocation event",
            "info",
        ),
        ("USDT:2026-11-29 18:17:40 42:42 SyncActivityProfilerHandler.cpp:52] profiler_start", "info"),
        ("WARNING:2026-11-29 18:17:40 42:42 CuptiActivityProfiler.cpp:100] buffer was dropped", "warn"),
        ("ERROR:2026-11-29 18:17:40 42:42 CuptiActivityApi.cpp:1] CUPTI_ERROR", "error"),
        ("INFO:2026-11-29 18:17:40 42:42 output_json.cpp:1] Warning: no name", "info"),
        ("/x/y.py:12: UserWarning: grad and param do not agree", "warn"),
        ("  warnings.warn(", "info"),
        ("WARNING:root:careful", "warn"),
        ("warning: unused", "warn"),
        ("Traceback (most recent call last):", "error"),
        ("ValueError: batch 7: label 9 is out of range", "error"),
        ("torch.distributed.DistBackendError: NCCL error", "error"),
        ("KeyError", "error"),
        ("E1129 12:00:00.5 12 torch/distributed/elastic/x.py:1] failed (exitcode: -9)", "error"),
        ("RuntimeError: CUDA error: device-side assert triggered", "error"),
        ("error: could not compile", "error"),
        ("mean squared error: 0.01", "info"),
        ("error_rate 0.1, ErrorBound 3", "info"),
        ("Step 3 | Loss: 1.0", "info"),
    ],
)
def test_levels(text: str, level: str) -> None:
    """Case L22: the banner about OMP_NUM_THREADS is information, and so is what a trace brings."""
    assert level_of(text) == level


def test_small_parts() -> None:
    assert message_of("[W1129 12:00:00.0 x.cpp:1] Warning: group") == "Warning: group"
    assert message_of("WARNING:2026-11-29 18:17:40 42:42 Cupti.cpp:1] dropped") == "dropped"
    assert split_label("[rank12]: x") == (12, 10)
    assert split_label("2: x") == (None, 0)
    assert split_label("2: x", bare=True) == (2, 3)
    assert is_out_of_memory("RuntimeError: [enforce fail] DefaultCPUAllocator: can't allocate memory")
    assert not is_out_of_memory("memory: 3 GiB")


def test_the_handed_lines(shared_cases: Path) -> None:
    """Cases L16 and M17."""
    chunk = read_all(LogTail(shared_cases / "L16_prefixes.txt", 0, "out"))
    assert [line.rank for line in chunk.lines] == [3, 0, 1, 2, 2, 2, 2]
    assert losses(chunk) == [(1, 12, 0.0), (2, 13, 1.75)]
    assert [note.rank for note in chunk.notable if note.out_of_memory] == [2]
