"""Asking a Python interpreter about itself, in a child with a time limit that can be killed."""

from __future__ import annotations

import contextlib
import json
import os
import selectors
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Mapping
from typing import IO, Any

from core.errors import DashboardError
from core.files import RESOURCES, printable

SCRIPT = RESOURCES / "preflight" / "preflight.py"

Answers = dict[str, Any]
"""The script's answers by their kind."""

OLDEST_PYTHON = (3, 9)
_POLL_S = 0.1
_END_LIMIT_S = 5.0
_ANSWER_LIMIT_BYTES = 1024 * 1024
_LAST_WORDS_BYTES = 4096


def ask_interpreter(  # noqa: PLR0913 - a child and its limits
    interpreter: str,
    request: Mapping[str, Any],
    *,
    environment: Mapping[str, str],
    working_folder: str,
    timeout_s: float,
    cancelled: Callable[[], bool] | None = None,
) -> Answers:
    """Runs ``resources/preflight/preflight.py`` and returns what it said.

    Returns:
        Its answers by kind; "torch" or "raised" or a refusal among them.

    Raises:
        DashboardError: It cannot be started, is no Python or too old a one, did
            not answer in time, crashed, or was cancelled.
    """
    with tempfile.TemporaryFile() as errors:
        try:
            child = subprocess.Popen(
                [interpreter, str(SCRIPT), json.dumps(request)],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=errors,
                env=dict(environment),
                cwd=working_folder,
                start_new_session=True,
            )
        except OSError as error:
            raise DashboardError(
                f"{printable(interpreter)} cannot be started: {error.strerror or error}.",
                "Choose the file of a Python for this machine.",
            ) from error
        try:
            assert child.stdout is not None
            data, whole = _read(child.stdout, timeout_s, cancelled)
            with contextlib.suppress(subprocess.TimeoutExpired):
                child.wait(timeout=_END_LIMIT_S if whole else 0)
        finally:
            code = _kill(child)
        answers = _parse(data)
        if not whole:
            raise _too_slow(interpreter, answers, timeout_s)
        if "end" not in answers:
            errors.seek(max(0, errors.seek(0, os.SEEK_END) - _LAST_WORDS_BYTES))
            _refuse(interpreter, answers, code, errors.read())
        return answers


def _read(pipe: IO[bytes], timeout_s: float, cancelled: Callable[[], bool] | None) -> tuple[bytes, bool]:
    """Returns what came, and whether the pipe has come to its end within the time."""
    deadline = time.monotonic() + timeout_s
    data = b""
    with selectors.DefaultSelector() as selector:
        selector.register(pipe, selectors.EVENT_READ)
        while len(data) < _ANSWER_LIMIT_BYTES:
            if cancelled is not None and cancelled():
                raise DashboardError("The check was cancelled.", "Launch again to repeat it.")
            left_s = deadline - time.monotonic()
            if left_s <= 0:
                return data, False
            if selector.select(min(_POLL_S, left_s)):
                more = os.read(pipe.fileno(), 65536)
                if not more:
                    break
                data += more
    return data, True


def _kill(child: subprocess.Popen[bytes]) -> int | None:
    """Ends the child and all that it started; returns its exit code, None if it does not die."""
    code = child.poll()
    with contextlib.suppress(OSError):
        os.killpg(child.pid, signal.SIGKILL)
    if code is None:
        with contextlib.suppress(subprocess.TimeoutExpired):
            code = child.wait(timeout=_END_LIMIT_S)
    if child.stdout is not None:
        child.stdout.close()
    return code


def _parse(data: bytes) -> Answers:
    answers: Answers = {}
    for line in data.splitlines():
        try:
            answer = json.loads(line)
        except ValueError:
            continue
        if isinstance(answer, dict) and isinstance(answer.get("kind"), str):
            answers[answer.pop("kind")] = answer
    return answers


def _doing(answers: Answers) -> str:
    return str(answers["begin"]["what"]) if "begin" in answers else "starting"


def _too_slow(interpreter: str, answers: Answers, timeout_s: float) -> DashboardError:
    return DashboardError(
        f"{printable(interpreter)} did not answer within {timeout_s:g} s (it was {_doing(answers)}).",
        "Try again: the first import of PyTorch is slow. If it stays so, look at that step in a terminal.",
    )


def _refuse(interpreter: str, answers: Answers, code: int | None, last_words: bytes) -> None:
    """Raises on an interpreter that ended early, unless it said why itself."""
    shown = printable(interpreter)
    python = answers.get("python")
    if python is None:
        words = last_words.decode("utf-8", "replace").strip().splitlines()
        said = f": {printable(words[-1])[:200]}" if words else ""
        raise DashboardError(f"{shown} is no working Python{said}.", "Choose the file of a Python.")
    if tuple(int(part) for part in python["version"].split(".")) < OLDEST_PYTHON:
        raise DashboardError(
            f"{shown} is Python {python['version']}, which is too old.",
            "Choose an interpreter of Python 3.9 or newer.",
        )
    if (
        "raised" in answers
        or "syntax_error" in answers
        or not answers.get("module", {"found": True})["found"]
    ):
        return
    how = f"was killed by signal {-code}" if code is not None and code < 0 else f"ended with exit code {code}"
    raise DashboardError(
        f"{shown} {how} while it was {_doing(answers)}.",
        "Start `python -c 'import torch'` with it and repair that installation.",
    )
