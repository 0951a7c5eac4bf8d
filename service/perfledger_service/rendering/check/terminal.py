"""Shows a report in a terminal of 80 columns or more.

Colour only repeats the words. Untrusted text reaches the terminal only as clean text: no control
characters, no rich markup.
"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from textwrap import indent

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from perfledger_baselines.estimation.pairing import PairedTest
from perfledger_baselines.judging.verdict import Outcome
from perfledger_service.rendering.check.first_screen import first_screen
from perfledger_service.rendering.check.pair_plot import pairs_by_result
from perfledger_service.rendering.cost import price_rows, yearly_rows
from perfledger_service.rendering.layout import (
    count_rows,
    provenance_facts,
    verdict_rows,
    vocabulary,
)
from perfledger_service.rendering.layout.check_command import reproduction, unreached_command
from perfledger_service.rendering.layout.escape import MAX_LONG_NAME, clean, clean_sentence
from perfledger_service.rendering.layout.failure_rows import (
    FailureRow,
    failure_rows,
    fold_alike,
    without_unmeasured,
)
from perfledger_service.rendering.layout.host_sentences import busy_sentence
from perfledger_service.rendering.layout.interval_text import interval_text
from perfledger_service.rendering.layout.source_lines import SourceLine
from perfledger_service.rendering.layout.writers import terminal_blocks
from perfledger_service.rendering.trace import cause_rows
from perfledger_service.rendering.trace.diff import reason_blocks_of
from perfledger_service.values.report import Conclusion, Report

_MAX_METRIC_UNIT = 12
_MAX_DETAIL = 400
_MAX_ROW = 60
_MAX_WORK_UNIT = 20
STYLES = {
    "regressed": "bold red",
    "not-measured": "bold magenta",
    "undecided": "yellow",
    "warning": "yellow",
    "improved": "green",
    "unchanged": "dim",
}
_MAX_NOTE = 1000
_MAX_HEADLINE = 400
_MAX_ACTION = 700
_MAX_CAUSES = 6
_MAX_PICTURES = 8
_MAX_COUNTS = 40
_MAX_COUNT_LIMITS = 3
_MAX_LOG_LINES = 12
_INDENT = (0, 0, 0, 2)


def report_table(report: Report) -> Group:
    """Return the report for a terminal: every result, causes, prices, notes, and last the verdict.

    The verdict is last because a terminal shows the end of its output.
    """
    rows = verdict_rows.verdict_rows(report)
    parts: list[RenderableType] = [*_results(report, rows)]
    parts.extend(_missing(report))
    parts.extend(_counts(report))
    parts.extend(_reasons(report))
    parts.extend(_prices(report, rows))
    parts.extend(_closing(report, rows))
    parts.extend(_first_screen(report, rows))
    return Group(*parts)


def _headline(report: Report) -> Text:
    return Text(
        clean(report.headline, limit=_MAX_HEADLINE), style=_headline_style(report.conclusion)
    )


def _busy(report: Report) -> Iterator[Text]:
    if sentence := busy_sentence(report.host_findings):
        yield Text(clean(sentence, limit=_MAX_NOTE), style="bold yellow")


def _headline_style(conclusion: Conclusion) -> str:
    match conclusion:
        case Conclusion.SUCCESS:
            return "bold green"
        case Conclusion.ACTION_REQUIRED | Conclusion.NEUTRAL:
            return "bold yellow"
        case Conclusion.FAILURE:
            return "bold red"


def _results(
    report: Report, rows: Sequence[verdict_rows.VerdictTableRow]
) -> Iterator[RenderableType]:
    tests = pairs_by_result(report)
    groups = verdict_rows.group_by_workload(without_unmeasured(rows))
    left = _MAX_PICTURES
    for index, (workload, group) in enumerate(groups):
        yield Text()
        title = Text(clean(workload, limit=MAX_LONG_NAME), style="bold")
        if rule := provenance_facts.own_rule(report.plan, workload):
            title.append(f" ({rule})", style="not bold dim")
        yield title
        yield Padding(_result_grid(group, has_titles=index == 0), _INDENT)
        yield from (Padding(line, _INDENT) for line in _detectable(group))
        pictures = tuple(_pictures(report, workload, tests))[:left]
        left -= len(pictures)
        yield from (Padding(Text(each, style="dim", no_wrap=True), _INDENT) for each in pictures)


def _detectable(group: Sequence[verdict_rows.VerdictTableRow]) -> Iterator[Text]:
    """Yield the smallest detectable changes, which qualify "unchanged"."""
    limits = [f"{clean(row.metric)} {row.detectable}" for row in group if row.interval]
    if limits:
        yield Text(f"smallest detectable change: {', '.join(limits)}", style="dim")


def _pictures(
    report: Report, workload: str, tests: Mapping[tuple[str, str], PairedTest]
) -> Iterator[str]:
    """Yield the pairs, the interval and the margin of each result that is not unchanged."""
    for verdict in report.verdicts:
        test = tests.get((verdict.workload, verdict.metric.name))
        is_quiet = verdict.outcome is Outcome.UNCHANGED and not verdict.is_warning
        estimate = verdict.shown_estimate
        if verdict.workload != workload or estimate is None or is_quiet or test is None:
            continue
        changes = tuple(test.changes(without_waits=verdict.excludes_waits).values())
        margin = report.plan.margin_of(workload)
        picture = interval_text(estimate, margin=margin, changes=changes)
        if picture:
            name = vocabulary.metric_title(verdict.metric.name)
            yield f"{name}: pairs, interval, margin\n{picture}"


def _result_grid(group: Sequence[verdict_rows.VerdictTableRow], *, has_titles: bool) -> Table:
    grid = Table.grid(padding=(0, 1))
    grid.add_column(width=13, overflow="fold")
    grid.add_column(width=11, justify="right")
    grid.add_column(width=11, justify="right")
    grid.add_column(width=26, overflow="fold")
    grid.add_column(width=12, overflow="fold")
    if has_titles:
        grid.add_row("", "base", "head", "change (interval)", "verdict", style="dim")
    for row in group:
        style = STYLES[row.tone]
        unit = f" {clean(row.unit, limit=_MAX_METRIC_UNIT)}" if row.unit else ""
        change = f"{row.change} ({row.interval})" if row.interval else row.change
        change += f" {row.basis}" if row.basis else ""
        grid.add_row(
            Text(clean(row.metric)),
            Text(f"{row.base}{unit}" if row.base else "-"),
            Text(f"{row.head}{unit}" if row.head else "-"),
            Text(change or "-", style=style),
            Text(row.word, style=style),
        )
    return grid


def _missing(report: Report) -> Iterator[RenderableType]:
    failures = fold_alike(failure_rows(report))
    if failures:
        yield _heading("Not measured")
    for failure in failures:
        yield from _failure(failure)
    if command := unreached_command(report):
        yield Padding(Text("To measure just what the budget did not reach:"), _INDENT)
        yield Text(f"  {command}", no_wrap=True, overflow="ignore")
    if report.new_workloads or report.skipped:
        yield Text()
    for name in report.new_workloads:
        yield Text(f"New in head, without a base: {clean(name, limit=MAX_LONG_NAME)}")
    for name, why in report.skipped:
        yield Text(f"Skipped {clean(name, limit=MAX_LONG_NAME)}: {clean(why, limit=_MAX_DETAIL)}")


def _failure(failure: FailureRow) -> Iterator[Padding]:
    line = Text(clean(failure.workload, limit=MAX_LONG_NAME), style="bold")
    line.append(f" {failure.why}", style="not bold")
    if failure.detail:
        line.append(f": {clean(failure.detail, limit=_MAX_DETAIL)}", style="not bold")
    yield Padding(line, _INDENT)
    if failure.alike:
        yield Padding(Text(f"and {failure.alike:,} more workloads", style="dim"), (0, 0, 0, 4))
    for logged in failure.log_tail.splitlines()[-_MAX_LOG_LINES:]:
        yield Padding(Text(_with_indentation(logged), style="dim"), (0, 0, 0, 4))


def _counts(report: Report) -> Iterator[RenderableType]:
    changed = count_rows.changed_counts(report)
    if not changed:
        return
    limits = {group.workload: group.limits for group in count_rows.count_groups(report)}
    yield _heading("Work per step (static count)")
    for workload, rows in groupby(changed[:_MAX_COUNTS], key=lambda row: row.workload):
        group = tuple(rows)
        yield Padding(Text(clean(workload, limit=MAX_LONG_NAME), style="bold"), _INDENT)
        grid = Table.grid(padding=(0, 1))
        grid.add_column(width=26, overflow="fold")
        for _ in range(3):
            grid.add_column(min_width=11, justify="right")
        for row in group:
            change = Text(row.change or "new", style="bold")
            grid.add_row(
                Text(clean(row.what, limit=_MAX_ROW)), Text(row.base), Text(row.head), change
            )
        yield Padding(grid, (0, 0, 0, 4))
        if not all(row.is_complete for row in group):
            for limit in limits[workload][:_MAX_COUNT_LIMITS]:
                line = Text(clean_sentence(limit, limit=_MAX_DETAIL), style="dim")
                yield Padding(line, (0, 0, 0, 4))


def _reasons(report: Report) -> Iterator[RenderableType]:
    for block in cause_rows.reason_blocks(report, max_causes=_MAX_CAUSES):
        yield _heading(f"{block.lead} {clean(block.workload, limit=MAX_LONG_NAME)}{block.claim}")
        yield Padding(terminal_blocks(reason_blocks_of(block)), _INDENT)


def _prices(
    report: Report, rows: Sequence[verdict_rows.VerdictTableRow]
) -> Iterator[RenderableType]:
    loud, _ = price_rows.split_price_rows(report, rows)
    unit_costs = price_rows.unit_cost_rows(report)
    if not loud and not unit_costs and not report.policy_evaluations:
        return
    yield _heading("Cost")
    for row in yearly_rows.policy_evaluation_rows(report.policy_evaluations):
        yield Padding(_ruling_line(row), _INDENT)
    for price in loud:
        yield Padding(_price_line(price), _INDENT)
    yield from (Padding(line, _INDENT) for line in _total_lines(report))
    for (workload, unit), costs in groupby(unit_costs, key=lambda cost: (cost.workload, cost.unit)):
        name = clean(workload, limit=MAX_LONG_NAME)
        yield Padding(Text(f"Per million {clean(unit, limit=_MAX_WORK_UNIT)} of {name}:"), _INDENT)
        yield Padding(_unit_cost_grid(tuple(costs)), (0, 0, 0, 4))
    for source in price_rows.source_rows(report):
        for caveat in source.caveats:
            text = f"{clean(source.option, limit=MAX_LONG_NAME)}: {clean(caveat, limit=_MAX_NOTE)}."
            yield Padding(Text(text, style="dim"), _INDENT)


def _ruling_line(row: yearly_rows.PolicyEvaluationRow) -> Text:
    line = Text(f"Policy of {clean(row.team, limit=MAX_LONG_NAME)} ")
    line.append(row.verb, style=STYLES[row.tone])
    if row.why:
        line.append(f": {row.why}")
    return line.append(_without_price(row.unpriced))


def _total_lines(report: Report) -> Iterator[Text]:
    total = yearly_rows.yearly_total(report.total_price, len(report.change_prices))
    if total is not None:
        yield Text(f"Together: {total.text}{_without_price(total.missing)}")
    for sentence in yearly_rows.queue_sentences(report.queues):
        yield Text(clean_sentence(sentence))


def _without_price(workloads: Sequence[str]) -> str:
    names = ", ".join(clean(name, limit=MAX_LONG_NAME) for name in workloads[:_MAX_CAUSES])
    return f"; without a price: {names}" if names else ""


def _unit_cost_grid(costs: Sequence[price_rows.UnitCostRow]) -> Table:
    grid = Table.grid(padding=(0, 1))
    grid.add_column(min_width=11, justify="right")
    grid.add_column(overflow="fold")
    for cost in costs:
        ends = f" ({cost.interval})" if cost.interval else ""
        why = f": {clean(cost.why, limit=_MAX_DETAIL)}" if cost.why else ""
        text = f"{clean(cost.option, limit=MAX_LONG_NAME)}, {cost.provenance}{ends}{why}"
        grid.add_row(Text(cost.amount or "-"), Text(text, style="" if cost.is_known else "dim"))
    return grid


def _price_line(price: price_rows.PriceRow) -> Text:
    line = Text(clean(price.workload, limit=MAX_LONG_NAME) + " ")
    match price.verb:
        case "costs":
            line.append(f"costs +{price.amount} a year", style="bold red")
            line.append(f" ({price.interval})")
        case "saves":
            line.append(f"saves {price.amount} a year", style="bold green")
            line.append(f" ({price.interval})")
        case "":
            line.append("has no yearly price")
        case "costs no cash" | "saves no cash":
            line.append(price.verb, style="bold")
        case "no detectable change":
            line.append("no detectable change in cost", style="bold")
            line.append(f" ({price.interval} USD a year)")
        case unproven:
            line.append(f"{unproven} {price.amount} a year ({price.interval}); not proven")
    if price.option:
        hours = f"{price.hours} device-hours a year, {clean(price.hours_source)}"
        line.append(f" on {clean(price.option)}; {hours}; price {price.dated}")
    remarks = " ".join(clean_sentence(each) for each in (price.capacity, price.note) if each)
    return line.append(f". {remarks}") if remarks else line


def _closing(
    report: Report, rows: Sequence[verdict_rows.VerdictTableRow]
) -> Iterator[RenderableType]:
    unsure = verdict_rows.uncertain_rows(rows)
    if unsure or report.notes:
        yield _heading("Notes")
    for row in unsure:
        where = f"{clean(row.workload, limit=MAX_LONG_NAME)}, {clean(row.metric)}"
        yield Padding(Text(f"{where}: {clean(row.reason, limit=_MAX_DETAIL)}"), _INDENT)
    for note in report.notes:
        yield Padding(Text(clean_sentence(note)), _INDENT)
    if report.is_imported:
        return
    yield _heading("Again")
    # A line that is broken in two is not the command any more.
    command = indent(reproduction(report), " " * _INDENT[-1])
    yield Text(command, no_wrap=True, overflow="ignore")


def _first_screen(
    report: Report, rows: Sequence[verdict_rows.VerdictTableRow]
) -> Iterator[RenderableType]:
    screen = first_screen(report, rows)
    yield Text()
    yield _headline(report)
    facts = Text()
    if screen.price is not None:
        facts.append(clean(screen.price.lead, limit=_MAX_NOTE))
        facts.append(f" {screen.price.amount}".rstrip(), style="bold")
        facts.append(
            f" ({clean(screen.price.detail, limit=MAX_LONG_NAME)})" * bool(screen.price.detail)
        )
        facts.append("; ")
    yield facts.append(screen.counts)
    yield from _busy(report)
    if why := screen.why or screen.failure:
        yield _with_label("Why", clean_sentence(why))
    if screen.where:
        yield _with_label("Where", ", ".join(map(_line_text, screen.where)))
    if screen.actions:
        steps = (clean_sentence(one, limit=_MAX_ACTION) for one in screen.actions)
        yield _with_label("What to do", " ".join(steps))
    if screen.commands:
        texts = (
            f"{clean(one.command, limit=_MAX_DETAIL)} {one.purpose}" for one in screen.commands
        )
        yield _with_label("Or comment" if screen.actions else "Comment", ", or ".join(texts))


def _with_label(label: str, text: str) -> Text:
    return Text(f"{label}: ", style="bold").append(text, style="not bold")


def _line_text(line: SourceLine) -> str:
    return clean(line.text, limit=MAX_LONG_NAME) + (f" ({line.remark})" if line.remark else "")


def _heading(text: str) -> Padding:
    return Padding(Text(text, style="bold underline"), (1, 0, 0, 0))


def _with_indentation(line: str) -> str:
    """Return a clean log line that keeps its indentation."""
    expanded = line.expandtabs(4)
    depth = min(len(expanded) - len(expanded.lstrip(" ")), 40)
    return " " * depth + clean(expanded, limit=_MAX_DETAIL) if expanded.strip() else ""
