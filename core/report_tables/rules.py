"""What the rules of a report say of its launches: a row for each message."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from core.analyses.answer_columns import number_column, own_text_column
from core.report_tables.index import ReportIndex
from core.tables.result import Column, ResultTable
from core.units import format_count

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from core.tables.columns import Int32
    from core.tables.ncu_rules import Rule, RuleMessage


class _Row(NamedTuple):
    launch: int
    rule: Rule
    message: RuleMessage | None


def list_rules(index: ReportIndex, launches: Int32 | None = None) -> ResultTable:
    """Lists what rules said, by launch, in the order of the file; rules that said nothing are counted.

    Args:
        index: The report.
        launches: (n,) int32, only these; None is all.
    """
    rows = index.rows(launches)
    found = [row for launch in rows.tolist() for row in _said(index, launch)]
    spoke = len({(each.launch, id(each.rule)) for each in found})
    silent = sum(len(index.report.rules[launch]) for launch in rows.tolist()) - spoke
    return ResultTable(
        name="rules",
        title="Rules",
        columns=(
            *index.kernel_columns(np.array([each.launch for each in found], np.int32)),
            *_rule_columns(index, found),
            *_message_columns(found),
        ),
        notes=tuple(note for note in (_spoke_note(spoke, len(found)), _silent_note(silent)) if note),
        empty=_why_empty(index, rows),
    )


def _rule_columns(index: ReportIndex, found: Sequence[_Row]) -> tuple[Column, ...]:
    titles = {section.identifier: section.title for section in index.report.sections}
    sections = (titles.get(each.rule.section, each.rule.section) or None for each in found)
    speedups = [each.rule.speedup_pct for each in found]
    return (
        own_text_column("rule", "Rule", "Identifier of the rule.", (each.rule.identifier for each in found)),
        own_text_column("section", "Section", "That the rule belongs to.", sections),
        number_column(
            "speedup_pct",
            "Estimated speedup",
            "pct",
            "What the tool expects at most, if the rule's whole advice is followed.",
            np.array([np.nan if each is None else each for each in speedups], np.float64),
        ),
        own_text_column(
            "speedup_scope",
            "Scope",
            "global: of the launch. local: of what the rule looks at.",
            (each.rule.speedup_scope for each in found),
        ),
    )


def _message_columns(found: Sequence[_Row]) -> tuple[Column, ...]:
    messages = [each.message for each in found]
    titles = [((each.message.title if each.message else "") or each.rule.name) for each in found]
    return (
        own_text_column(
            "kind",
            "Kind",
            "note, info, warning, error or optimization.",
            (each.kind if each else None for each in messages),
        ),
        own_text_column("title", "Title", "Of the message, else the rule's name.", titles),
        own_text_column(
            "text", "Text", "What the rule says.", (each.text if each else None for each in messages)
        ),
        own_text_column(
            "links",
            "Links",
            "Web pages that the text names.",
            (_links(each) or None for each in messages),
            shown=False,
        ),
    )


def _said(index: ReportIndex, launch: int) -> Iterator[_Row]:
    """Yields the messages of a launch; a rule that says something without any is one too."""
    for rule in index.report.rules[launch]:
        for message in rule.messages:
            yield _Row(launch, rule, message)
        if not rule.messages and rule.has_said:
            yield _Row(launch, rule, None)


def _links(message: RuleMessage | None) -> str:
    links = message.links if message else ()
    return " ".join(dict.fromkeys(link.target for link in links if link.kind == "url"))


def _spoke_note(rules: int, rows: int) -> str:
    """Says that there are more rows than rules, "" where there are not."""
    said = f"{format_count(rules)} rule{'' if rules == 1 else 's'} said something"
    return f"{said}; a row a message, {format_count(rows)} in all." if rows > rules else ""


def _silent_note(count: int) -> str:
    return f"{format_count(count)} rule{'' if count == 1 else 's'} had nothing to say." if count else ""


def _why_empty(index: ReportIndex, rows: Int32) -> str:
    if not len(rows):
        return "No kernels in this file."
    if index.report.kind == "ncu_csv":
        return "No rules in this table: print them with ncu --page details --csv."
    return "No rule said anything. Rules are applied while a report is collected: ncu --set full."
