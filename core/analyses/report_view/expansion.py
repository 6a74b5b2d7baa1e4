"""Names of a section that stand for many metrics: ``breakdown:``, ``group:`` and ``regex:``.

The first two name a metric whose text lists the others; the third is a pattern
over all that were collected.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from core.analyses.report_view.metric_words import label_parts

if TYPE_CHECKING:
    from core.analyses.report_view.launch import LaunchMetrics
    from core.tables.ncu_sections import MetricOption

_MOST_NAMES: Final = 1_000
# Only what sections use of regular expressions, so that no pattern of a damaged file takes for ever:
# looks ahead for a text, then texts with at most two ".*" between them.
_LOOK: Final = re.compile(r"\(\?([=!])\.\*([\w.:]+)\)")
_TEXTS: Final = re.compile(r"[\w.:]*(\.\*[\w.:]*){0,2}\$?")
_LONGEST: Final = 500


def is_many(name: str) -> bool:
    """Tells whether a name stands for several metrics."""
    return name.startswith(("breakdown:", "group:", "regex:"))


def expand(launch: LaunchMetrics, option: MetricOption) -> tuple[tuple[str, str], ...]:
    """Returns (label, name) of each metric that a name stands for; itself if it stands for one.

    Metrics that are named and were not collected are among them.
    """
    if not is_many(option.name):
        return ((option.label, option.name),)
    if option.name.startswith("regex:"):
        names = _matching(option.name.removeprefix("regex:"), launch)
    else:
        listed = (name.strip() for name in launch.text(option.name).split(","))
        names = [name for name in listed if name][:_MOST_NAMES]
    return tuple((_label(option.label, option.name, name), name) for name in dict.fromkeys(names))


def _label(template: str, many: str, name: str) -> str:
    """Fills the words of a metric into the label of a section: "{UNIT}: {COMPOUND_NAME}"."""
    unit, words = label_parts(name)
    if "{" not in template or template == many:
        return f"{unit}: {words}" if unit else words
    return template.replace("{UNIT}", unit or "GPU").replace("{COMPOUND_NAME}", words)


def _matching(pattern: str, launch: LaunchMetrics) -> list[str]:
    """Returns the collected metrics that a pattern finds; none for one that is not understood."""
    wanted: list[str] = []
    unwanted: list[str] = []
    rest = pattern.removeprefix("^")
    while (look := _LOOK.match(rest)) is not None:
        (wanted if look[1] == "=" else unwanted).append(look[2])
        rest = rest[look.end() :]
    if len(pattern) > _LONGEST or not _TEXTS.fullmatch(rest):
        return []
    anchor = "^" if pattern.startswith("^") else ""
    found = re.compile(anchor + rest).search
    return [
        name
        for name in sorted(launch)
        if not is_many(name)
        and all(text in name for text in wanted)
        and not any(text in name for text in unwanted)
        and found(name)
    ][:_MOST_NAMES]
