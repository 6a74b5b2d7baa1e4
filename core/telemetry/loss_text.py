"""Finds the training loss, its step and a peak memory figure in a line of output.

For scripts that never call autograd where an agent could see it, and for rules
that a user writes. A wrong point is worse than a missing one: a name that only
resembles a loss, a validation loss and a figure with a unit are left alone.
"""

from __future__ import annotations

import re

from core.errors import DashboardError

_NUMBER = r"[-+]?(?:(?:\d[\d,]*)(?:\.\d+)?|\.\d+)(?:e[-+]?\d+)?|[-+]?(?:inf(?:inity)?|nan)"

_NAME = re.compile(r"loss(?:[/_.](?:train(?:ing)?|total|avg|mean))?(?![\w/-])(?!\.\w)")
_BEFORE_NAME = re.compile(r"(?:^|[^\w./-])(?:(?:train(?:ing)?|lm|total|avg|mean|running)[ _./-]?){0,3}$")
"""Together a name of the training loss: loss, train_loss, train/loss, lm loss, loss/train.

All patterns but the user's are matched against lower case: that lets the search
begin with a literal, which is several times as fast as ignoring case.
"""

_BEFORE_OTHER = re.compile(
    r"(?:val|valid|validation|eval|evaluation|test|dev|aux|auxiliary|best|min|max|minimum|maximum|prev|previous"
    r"|last|initial|target|packet|teacher|distillation)[\s:_|/-]{0,8}$"
)
"""What before the name makes it another loss."""

_LINE_OTHER = re.compile(r"\b(?:val|valid|validation|validating|eval|evaluation|evaluating)\b")

_CONTEXT = 48
"""Characters before a name that can belong to it."""

_VALUE = re.compile(
    r"[\"']?\s{0,16}(?:\((?:avg|mean|train)\)|\[\d+\])?"
    r"(?:\s(?:at|for|after)\s(?:step|iter|iteration)\s{1,4}\d+)?"
    r"\s{0,16}(?:[:=]|->|is|of|was)?\s{0,16}[\"']?(?:tensor\()?"
    rf"({_NUMBER})"
    r"(?=[\"'\s,;|)\]}]|\.?$|\.\s)(?!\s?%)"
)
"""From the end of the name to its number."""

_COUNT = r"(\d{1,3}(?:,\d{3})+(?!\d)|\d{1,15})(?![\d.])"

_STEPS = (
    re.compile(rf"step(?<![a-z]step)(?<!max_step)(?<!total_step)[\"']?[\s:=\[#]{{0,8}}{_COUNT}"),
    re.compile(rf"iter(?<![a-z]iter)(?:ation)?s?[\"']?[\s:=\[#]{{0,8}}{_COUNT}"),
    re.compile(rf"^\W{{0,8}}\[\s{{0,8}}\d+\s{{0,8}},\s{{0,8}}{_COUNT}"),
    re.compile(r"(?<![\d/.])(\d{1,15})/\d+ \["),
)
"""Where a step is named, the surest first: step 12, iter 12, [epoch, 12], the count of a progress bar."""

_PEAK_MEMORY = re.compile(
    r"\b(?:peak|max)\w{0,16}[ \w/.-]{0,24}?(?:vram|mem(?:ory)?)[\w/:().-]{0,24}"
    r"(?: (?:allocated|reserved|used|usage))?[ :=]{1,4}(\d+(?:\.\d+)?) ?(gib|gb|mib|mb)\b"
)

_BYTES = {"gib": 2**30, "gb": 10**9, "mib": 2**20, "mb": 10**6}

LINE_LIMIT = 4096
"""Characters of a line that are looked at."""


def compile_pattern(text: str) -> re.Pattern[str]:
    """A user's own rule: a regular expression whose first group is the number.

    A group named ``step`` gives the step.

    Raises:
        DashboardError: It is no regular expression, or has no group.
    """
    try:
        pattern = re.compile(text)
    except re.error as error:
        raise DashboardError(
            f"The rule for the loss is no regular expression: {error}.",
            r"Write one whose first group is the number, such as 'ce (\S+),'.",
        ) from None
    if not pattern.groups:
        raise DashboardError(
            "The rule for the loss has no group.",
            r"Put the number in parentheses, such as 'ce (\S+),'.",
        )
    return pattern


def find_loss(line: str, pattern: re.Pattern[str] | None = None) -> tuple[int | None, float] | None:
    """The training loss that a line reports.

    Args:
        line: One line of output without its newline.
        pattern: The user's own rule; if given, nothing else counts.

    Returns:
        Step (None if the line names none) and value, which may be NaN or
        infinite; None if the line reports no training loss.
    """
    line = line[:LINE_LIMIT]
    if pattern is not None:
        return _by_rule(line, pattern)
    lower = line.lower()
    for name in _NAME.finditer(lower):
        value = _VALUE.match(lower, name.end())
        if value is None or _is_other(lower[: name.start()], name.group()):
            continue
        number = _number(value.group(1))
        if number is not None:
            return find_step(lower), number
    return None


def _by_rule(line: str, pattern: re.Pattern[str]) -> tuple[int | None, float] | None:
    match = pattern.search(line)
    if match is None:
        return None
    groups = match.groupdict()
    texts = [text for text in match.groups() if text is not None]
    named = groups.get("step")
    text = groups.get("loss") or next((text for text in texts if text is not named), None)
    number = None if text is None else _number(text.strip(" ,;"))
    if number is None:
        return None
    step = int(named) if named is not None and named.isascii() and named.isdigit() else find_step(line)
    return step, number


def _is_other(before: str, name: str) -> bool:
    """The name, with what stands before it, is not that of the loss trained on."""
    near = before[-_CONTEXT:]
    if not _BEFORE_NAME.search(near) or _BEFORE_OTHER.search(near):
        return True
    return bool(_LINE_OTHER.search(before)) and "train" not in before + name


def find_step(line: str) -> int | None:
    """The step that a line names, None if it names none."""
    lower = line[:LINE_LIMIT].lower()
    for pattern in _STEPS:
        match = pattern.search(lower)
        if match is not None:
            return int(match.group(1).replace(",", ""))
    return None


def find_peak_memory(line: str) -> int | None:
    """A peak memory figure of a line in bytes: "Peak VRAM/GPU: 12.34 GB" is 12,340,000,000 (11.49 GiB)."""
    lower = line[:LINE_LIMIT].lower()
    if "peak" not in lower and "max" not in lower:
        return None
    match = _PEAK_MEMORY.search(lower)
    return None if match is None else round(float(match.group(1)) * _BYTES[match.group(2)])


def _number(text: str) -> float | None:
    """Commas group thousands ("2,345.6"); one that cannot is a decimal comma ("0,25")."""
    if "," in text:
        mantissa = re.split("[eE]", text, maxsplit=1)[0]
        whole, point, _ = mantissa.partition(".")
        head, *groups = whole.lstrip("+-").split(",")
        if 1 <= len(head) <= 3 and head != "0" and all(len(group) == 3 for group in groups):
            text = text.replace(",", "")
        elif len(groups) == 1 and groups[0] and not point:
            text = text.replace(",", ".")
        else:
            text = head
    try:
        return float(text)
    except ValueError:
        return None
