"""What the rules of a report say of a launch: messages with their links, estimated speedups."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True, kw_only=True)
class TextLink:
    """A link in the text of a rule.

    Attributes:
        start, end: Of its words in the text.
        kind: "section" leads to a section of the same launch, "source" to an instruction, "url" out.
        target: Identifier of the section, address in hex digits, or web address.
    """

    start: int
    end: int
    kind: Literal["section", "source", "url"]
    target: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RuleMessage:
    """One message of a rule.

    Attributes:
        kind: "note", "info", "warning", "error" or "optimization".
        title: May be empty.
        text: Without markup.
        links: Where the markup led.
        id: Focus metrics name it, None.
    """

    kind: Literal["note", "info", "warning", "error", "optimization"]
    title: str
    text: str
    links: tuple[TextLink, ...] = ()
    id: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class FocusMetric:
    """A metric that a rule points at, with the value that it judged (at times a difference of two)."""

    name: str
    value: float | None
    severity: Literal["default", "low", "high"]
    info: str
    message_id: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RuleTable:
    """A table of a rule: values of metrics, or with ``per_source`` the code with most of them."""

    label: str
    metrics: tuple[str, ...]
    per_source: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceMarker:
    """A remark of a rule on one instruction or line; None where it does not say."""

    message: str
    severity: int | None = None
    address: int | None = None
    line: int | None = None
    file: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """What one rule of the tool said of one launch.

    Attributes:
        identifier, name: Of the rule.
        section: Identifier of the section that it belongs to.
        messages: In the order of the file.
        speedup_pct: Estimated gain, None if it gives none.
        speedup_scope: "local" (of this aspect) or "global" (of the launch), None.
        focus: Metrics it points at.
        tables: That it adds to its section.
        markers: Remarks on instructions.
    """

    identifier: str
    name: str
    section: str
    messages: tuple[RuleMessage, ...] = ()
    speedup_pct: float | None = None
    speedup_scope: Literal["local", "global"] | None = None
    focus: tuple[FocusMetric, ...] = ()
    tables: tuple[RuleTable, ...] = ()
    markers: tuple[SourceMarker, ...] = ()

    @property
    def has_said(self) -> bool:
        """Whether it has anything to show: a rule that found nothing stands in a report too."""
        if self.speedup_pct is not None:
            return True
        return bool(self.messages or self.tables or self.markers or self.focus)
