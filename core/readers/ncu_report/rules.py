"""From the results of rules that a report carries to ``core.tables.ncu_rules``."""

from __future__ import annotations

import math
import re
from typing import Any, Final, Literal

from core.readers.ncu_report.schema import decode, text_of
from core.tables.ncu_rules import (
    FocusMetric,
    Rule,
    RuleMessage,
    RuleTable,
    SourceMarker,
    TextLink,
)

_MESSAGE_KINDS: Final[dict[int, Literal["note", "info", "warning", "error", "optimization"]]] = {
    0: "note",
    1: "info",
    2: "warning",
    3: "error",
    4: "optimization",
}
_SEVERITIES: Final[dict[int, Literal["default", "low", "high"]]] = {0: "default", 1: "low", 2: "high"}
_SCOPES: Final[dict[int, Literal["local", "global"]]] = {1: "local", 2: "global"}
_LINK_KINDS: Final[dict[str, Literal["section", "source", "url"]]] = {
    "section": "section",
    "source": "source",
    "url": "url",
}

# @section:SchedulerStats:Scheduler Statistics@, @source:14a9a94cf630:0x14a9a94cf630@, @url:guide:https://...@
_MARKUP: Final = re.compile(r"@(section|source):([^:@]+):([^@]*)@|@(url):([^:@]*):([^@\s]+)@")
_MOST_MESSAGES: Final = 1000


def decode_rule(data: bytes) -> Rule | None:
    """Decodes the result of one rule; None if it is broken."""
    rule = decode("Rule", data)
    if rule is None:
        return None
    items = rule.body.items[:_MOST_MESSAGES]
    speedups = [each.speedup for each in items if math.isfinite(each.speedup.percent)]
    speedup = next((each for each in speedups if each.HasField("percent")), None)
    return Rule(
        identifier=text_of(rule.identifier),
        name=text_of(rule.name) or text_of(rule.identifier),
        section=text_of(rule.section),
        messages=tuple(_message(each.message) for each in items if each.HasField("message")),
        speedup_pct=speedup.percent if speedup is not None else None,
        speedup_scope=_SCOPES.get(speedup.kind) if speedup is not None else None,
        focus=tuple(_focus(each.focus) for each in items if each.HasField("focus")),
        tables=tuple(_tables(items)),
        markers=tuple(_marker(each) for each in rule.markers),
    )


def _message(message: Any) -> RuleMessage:
    text, links = read_markup(text_of(message.text))
    return RuleMessage(
        kind=_MESSAGE_KINDS.get(message.kind, "note"),
        title=text_of(message.title),
        text=text,
        links=links,
        id=message.id if message.HasField("id") else None,
    )


def read_markup(text: str) -> tuple[str, tuple[TextLink, ...]]:
    """Returns a text without its markup, and where its words lead."""
    parts: list[str] = []
    links: list[TextLink] = []
    length = end = 0
    for found in _MARKUP.finditer(text):
        kind, target, words = found[1], found[2], found[3]
        if found[4]:
            kind, words, target = found[4], found[5], found[6]
        parts += [text[end : found.start()], words or target]
        start = length + len(parts[-2])
        length = start + len(parts[-1])
        links.append(TextLink(start=start, end=length, kind=_LINK_KINDS[kind], target=target))
        end = found.end()
    return "".join([*parts, text[end:]]), tuple(links)


def _focus(focus: Any) -> FocusMetric:
    has_value = focus.HasField("value") and math.isfinite(focus.value)
    return FocusMetric(
        name=text_of(focus.name),
        value=focus.value if has_value else None,
        severity=_SEVERITIES.get(focus.severity, "default"),
        info=text_of(focus.info),
        message_id=focus.message_id if focus.HasField("message_id") else None,
    )


def _tables(items: Any) -> list[RuleTable]:
    return [
        RuleTable(
            label=text_of(stored.label),
            metrics=tuple(dict.fromkeys(text_of(metric.name) for metric in stored.metrics)),
            per_source=field == "source_table",
        )
        for item in items
        for field in ("table", "source_table")
        if item.HasField(field)
        for stored in (getattr(item, field),)
    ]


def _marker(marker: Any) -> SourceMarker:
    return SourceMarker(
        message=read_markup(text_of(marker.message))[0],
        severity=marker.severity if marker.HasField("severity") else None,
        address=marker.address if marker.HasField("address") else None,
        line=marker.line if marker.HasField("line") else None,
        file=text_of(marker.file),
    )
