"""What the rules of a report say of a launch, ready to be shown: the largest gain of a launch first."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from core.analyses.report_view.facts import FocusView, RuleText, RuleView, TextRun
from core.analyses.report_view.launch import LaunchMetrics
from core.analyses.report_view.metric_words import describe, label_parts
from core.analyses.report_view.parts import Cell, LabelledCell
from core.analyses.report_view.rule_tables import rule_tables
from core.tables.ncu_units import unit_of

if TYPE_CHECKING:
    from core.analyses.report_view.facts import Severity
    from core.analyses.report_view.launch import InstanceReader
    from core.tables.ncu import Report
    from core.tables.ncu_rules import FocusMetric, Rule, RuleMessage

_GRAVEST: Final[tuple[Severity, ...]] = ("error", "warning", "optimization", "info", "note")


def rule_views(report: Report, launch_row: int, read_instances: InstanceReader) -> tuple[RuleView, ...]:
    """Returns the rules that said something, the largest estimated speedup first.

    An estimate that is local, of what its rule looks at alone, is no gain of the
    launch: those come after the ones that are. Rules without an estimate follow
    by severity, as in the file.

    Args:
        report: The report.
        launch_row: Row of its launches.
        read_instances: Asked only for metrics that a rule tables by instruction.
    """
    titles = {
        report.sections[row].identifier: report.sections[row].title
        for row in report.launch_sections[launch_row]
    }
    launch = LaunchMetrics(report, launch_row, read_instances)
    views = [_view(rule, titles, launch) for rule in report.rules[launch_row] if rule.has_said]
    return tuple(sorted(views, key=_order))


def _order(view: RuleView) -> tuple[bool, bool, float, int]:
    speedup = view.speedup_pct
    is_local = speedup is not None and view.speedup_scope == "local"
    return speedup is None, is_local, 0.0 if speedup is None else -speedup, _GRAVEST.index(view.severity)


def _view(rule: Rule, titles: dict[str, str], launch: LaunchMetrics) -> RuleView:
    messages = tuple(
        RuleText(severity=message.kind, title=message.title, runs=text_runs(message))
        for message in rule.messages
    )
    return RuleView(
        identifier=rule.identifier,
        title=next((message.title for message in messages if message.title), rule.name),
        severity=min((message.severity for message in messages), key=_GRAVEST.index, default="info"),
        section=rule.section,
        section_title=titles.get(rule.section, ""),
        messages=messages,
        speedup_pct=rule.speedup_pct,
        speedup_scope=rule.speedup_scope,
        focus=tuple(_focus(each, launch.report) for each in rule.focus),
        tables=rule_tables(rule, launch),
    )


def text_runs(message: RuleMessage) -> tuple[TextRun, ...]:
    """Cuts a text where its links begin and end; all of its characters stay, in their order."""
    runs: list[TextRun] = []
    end = 0
    for link in sorted(message.links, key=lambda each: each.start):
        if not end <= link.start < link.end <= len(message.text):
            continue
        if link.start > end:
            runs.append(TextRun(text=message.text[end : link.start]))
        runs.append(TextRun(text=message.text[link.start : link.end], kind=link.kind, target=link.target))
        end = link.end
    if end < len(message.text):
        runs.append(TextRun(text=message.text[end:]))
    return tuple(runs)


def _focus(focus: FocusMetric, report: Report) -> FocusView:
    unit, words = label_parts(focus.name)
    name_id = report.metric_names.find(focus.name)
    of_value = report.metric_names.units[name_id] if name_id >= 0 else unit_of(focus.name)
    cell = Cell(value=focus.value, unit=of_value, metric=focus.name, help=describe(focus.name))
    label = f"{unit}: {words}" if unit else words
    return FocusView(cell=LabelledCell(label=label, cell=cell), severity=focus.severity, info=focus.info)
