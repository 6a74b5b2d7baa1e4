"""What the launch form holds, and how it becomes a job spec.

Pure: no file is looked at here, that is what the preflight does. A field that
cannot be understood is named, so that the form can mark it.
"""

from __future__ import annotations

import json
import os
import re
import shlex
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path, PurePath
from typing import Any, Literal

from core.errors import DashboardError, FieldError
from core.launch.command import build_launch, names_a_secret
from core.launch.presets import PRESETS
from core.runs.job import MOST_RANKS, CapturePlan, DeviceKind, JobSpec
from core.runs.store import RunFolder
from core.telemetry.loss_text import compile_pattern
from core.units import format_count

Kind = Literal["preset", "script", "module"]
ArgumentStyle = Literal["shell", "lines"]

PREVIEW_FOLDER = "RUN"
"""Stands for the run folder in the previewed command: it has no name before the launch."""

_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_MODULE = re.compile(r"[^\W\d]\w*(\.[^\W\d]\w*)*")


@dataclass(frozen=True, slots=True, kw_only=True)
class JobDraft:
    """The fields of the form as they were typed.

    Attributes:
        preset: Name in ``PRESETS``, for kind "preset".
        target: Path of a script, or a module's dotted name.
        gpus: NVML indices or UUIDs, separated by commas or spaces; "" is all
            that are visible.
        arguments: As typed; ``argument_style`` says how they are split.
        environment: Name and value pairs; pairs without a name are left out.
        profile: Take a capture without being asked again.
        first_step: Step at which it begins, 0 for the next one.
        loss_rule: Regular expression whose first group is the loss, "" for none.
    """

    kind: Kind = "preset"
    preset: str = "tiny"
    target: str = ""
    interpreter: str = ""
    ranks: int = 4
    device: DeviceKind = "cpu"
    gpus: str = ""
    working_folder: str = ""
    arguments: str = ""
    argument_style: ArgumentStyle = "shell"
    environment: tuple[tuple[str, str], ...] = ()
    profile: bool = False
    first_step: int = 10
    profile_steps: int = 2
    profile_ranks: str = ""
    with_stack: bool = False
    loss_rule: str = ""


def split_arguments(text: str, style: ArgumentStyle) -> tuple[str, ...]:
    """Arguments as the script gets them.

    Args:
        text: As typed.
        style: "lines": one a line, as it stands. "shell": by spaces, quotes
            group; nothing is expanded, no shell is started.

    Raises:
        FieldError: A quote is not closed.
    """
    if style == "lines":
        return tuple(line for line in text.splitlines() if line)
    try:
        return tuple(shlex.split(text, comments=False, posix=True))
    except ValueError as error:
        raise FieldError(
            "arguments",
            f"The arguments cannot be split: {str(error).lower()}.",
            "Close the quote, or write one argument a line.",
        ) from error


def to_spec(draft: JobDraft) -> JobSpec:
    """The job that the form describes.

    Raises:
        FieldError: A field is empty or cannot be understood.
    """
    if not draft.interpreter.strip():
        raise FieldError("interpreter", "No interpreter is chosen.", "Choose the Python of your environment.")
    if not 1 <= draft.ranks <= MOST_RANKS:
        raise FieldError(
            "ranks",
            f"A job of {format_count(draft.ranks)} ranks cannot run.",
            f"Choose 1 to {format_count(MOST_RANKS)}.",
        )
    base = _preset_spec(draft) if draft.kind == "preset" else _own_spec(draft)
    return replace(
        base,
        environment=_environment(draft),
        profile=_profile(draft),
        loss_pattern=_loss_rule(draft.loss_rule),
    )


def _preset_spec(draft: JobDraft) -> JobSpec:
    preset = PRESETS.get(draft.preset)
    if preset is None:
        raise FieldError("preset", f"There is no preset {draft.preset}.", "Choose one of the list.")
    return preset(
        draft.interpreter.strip(),
        ranks=draft.ranks,
        device=draft.device,
        gpus=parse_gpus(draft),
        arguments=split_arguments(draft.arguments, draft.argument_style),
    )


def _own_spec(draft: JobDraft) -> JobSpec:
    target = draft.target.strip() if draft.kind == "module" else draft.target
    if not target.strip():
        what = "module" if draft.kind == "module" else "script"
        raise FieldError("target", f"No {what} is chosen.", f"Name the {what} that trains.")
    if draft.kind == "module" and not _MODULE.fullmatch(target):
        raise FieldError(
            "target", f"{target} is not the name of a module.", "Write it with dots, such as package.train."
        )
    folder = draft.working_folder or default_working_folder(draft)
    return JobSpec(
        title=title_of(draft.kind, target),
        target=target,
        is_module=draft.kind == "module",
        arguments=split_arguments(draft.arguments, draft.argument_style),
        interpreter=draft.interpreter.strip(),
        ranks=draft.ranks,
        device=draft.device,
        gpus=parse_gpus(draft),
        working_folder=folder,
    )


def title_of(kind: Kind, target: str) -> str:
    """What a job is called, here and on the command line: the script's file name, or the module's."""
    return target if kind == "module" else PurePath(target).name or target


def default_working_folder(draft: JobDraft) -> str:
    """The script's folder; the user's home for a module."""
    if draft.kind == "script" and PurePath(draft.target).is_absolute():
        return str(PurePath(draft.target).parent)
    return str(Path.home())


def parse_gpus(draft: JobDraft) -> tuple[str, ...] | None:
    """The chosen GPUs in rank order; None leaves the choice to CUDA_VISIBLE_DEVICES."""
    names = tuple(part for part in re.split(r"[,;\s]+", draft.gpus) if part)
    return names or None if draft.device == "cuda" else None


def _environment(draft: JobDraft) -> dict[str, str]:
    result: dict[str, str] = {}
    for raw_name, value in draft.environment:
        name = raw_name.strip()
        if not name:
            continue
        if not _VARIABLE.fullmatch(name):
            raise FieldError(
                "environment",
                f"{name} is not the name of a variable.",
                "Use letters, digits and underscores, and begin with a letter.",
            )
        result[name] = value
    return result


def _profile(draft: JobDraft) -> CapturePlan | None:
    if not draft.profile:
        return None
    if draft.profile_steps < 1:
        raise FieldError("profile_ranks", "A capture of 0 steps holds nothing.", "Choose 1 step or more.")
    return CapturePlan(
        first_step=draft.first_step or None,
        steps=draft.profile_steps,
        ranks=_profile_ranks(draft),
        with_stack=draft.with_stack,
    )


def _profile_ranks(draft: JobDraft) -> tuple[int, ...] | None:
    parts = [part for part in re.split(r"[,;\s]+", draft.profile_ranks) if part]
    if not parts:
        return None
    if not all(part.isdecimal() and int(part) < draft.ranks for part in parts):
        raise FieldError(
            "profile_ranks",
            f"{draft.profile_ranks} names ranks that are not there.",
            f"Write numbers from 0 to {draft.ranks - 1}, or nothing for all.",
        )
    return tuple(sorted({int(part) for part in parts}))


def _loss_rule(text: str) -> str | None:
    if not text.strip():
        return None
    try:
        compile_pattern(text)
    except DashboardError as error:
        raise FieldError("loss_rule", error.message, error.hint) from error
    return text


def interpreters_near(script: str) -> list[str]:
    """Interpreters of virtual environments in the script's folder and the three above it.

    Looks at the disk: not for the UI thread.
    """
    path = Path(script)
    if not path.is_absolute():
        return []
    places = [
        folder / name / part
        for folder in path.parents[:4]
        for name in (".venv", "venv", "env")
        for part in ("bin/python", "Scripts/python.exe")
    ]
    return [str(place) for place in places if os.access(place, os.X_OK)]


def command_text(spec: JobSpec, torch_version: str = "", python_version: str = "") -> str:
    """The exact command, as it could be typed into a POSIX shell, with the variables that are set.

    The run folder has no name yet and stands as ``RUN``.
    """
    launch = build_launch(
        spec,
        RunFolder(Path(PREVIEW_FOLDER)),
        torch_version=torch_version,
        python_version=python_version,
        base_environment={},
    )
    variables = [f"{name}={shlex.quote(value)}" for name, value in sorted(launch.environment.items())]
    return " ".join([*variables, shlex.join(launch.argv)])


def draft_for_script(draft: JobDraft, path: str) -> JobDraft:
    """The draft with another script; what belonged to the one before is emptied."""
    return replace(draft, kind="script", target=path, working_folder="", arguments="")


def to_json(draft: JobDraft) -> str:
    """For the settings file; values of variables that look like secrets are left out."""
    kept = tuple((name, "" if names_a_secret(name) else value) for name, value in draft.environment)
    return json.dumps(asdict(replace(draft, environment=kept)))


def from_json(text: object) -> JobDraft | None:
    """A stored draft; None if it is not one (the settings file may hold anything)."""
    if not isinstance(text, str):
        return None
    try:
        stored = json.loads(text)
    except ValueError:
        return None
    if not isinstance(stored, dict):
        return None
    default = JobDraft()
    values: dict[str, Any] = {}
    for field in fields(JobDraft):
        value = stored.get(field.name)
        if field.name == "environment":
            values[field.name] = _pairs(value)
        elif type(value) is type(getattr(default, field.name)):
            values[field.name] = value
    draft = replace(default, **values)
    known = draft.kind in ("preset", "script", "module") and draft.argument_style in ("shell", "lines")
    return draft if known and draft.device in ("cuda", "cpu") else None


def _pairs(value: object) -> tuple[tuple[str, str], ...]:
    if not isinstance(value, list):
        return ()
    return tuple(
        (pair[0], pair[1])
        for pair in value
        if isinstance(pair, list) and len(pair) == 2 and all(isinstance(part, str) for part in pair)
    )
