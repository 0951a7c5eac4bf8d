"""Presents the result of a bisection: the answer, its evidence, and what to do next."""

import math
import shlex
from collections.abc import Iterator, Mapping
from dataclasses import replace

from perfledger.metrics import STEP_TIME
from perfledger.records import Revision, short_sha
from perfledger.time_units import SECONDS_PER_DAY, SECONDS_PER_MINUTE
from perfledger_baselines.history.commits.search import SearchStatus
from perfledger_service.rendering.history.bisect_plot import bisection_text
from perfledger_service.rendering.layout import number_format, vocabulary
from perfledger_service.rendering.layout.check_command import (
    BISECT_FLAGS,
    check_words,
    command_words,
)
from perfledger_service.rendering.layout.document import (
    Block,
    CellKind as Kind,
    Column,
    Document,
    Paragraph,
    Preformatted,
    TextStyle,
    attributes,
    display,
    fact,
    name,
    notes,
    sentences,
    table,
    title,
    words,
)
from perfledger_service.rendering.layout.escape import MAX_LONG_NAME, clean
from perfledger_service.values.commit_bisection import (
    BisectedCommit,
    CommitBisection,
    CommitState,
)

_MAX_NOTE = 1000
_MAX_SUBJECT = 60
_STYLES = {
    CommitState.BAD: TextStyle.WORSE,
    CommitState.AFTER: TextStyle.WORSE,
    CommitState.SKIPPED: TextStyle.MISSING,
    CommitState.UNSURE: TextStyle.WARNING,
}
# A terminal has 80 columns.
_SHORT_STATES = {CommitState.BEFORE: "before", CommitState.AFTER: "after"}
_SHOWN_COLUMNS: tuple[Column[BisectedCommit], ...] = (
    display("", lambda row: f"{row.position}"),
    name("", "commit", lambda row: short_sha(row.revision.sha)),
    name("", "subject", lambda row: row.revision.subject, limit=_MAX_SUBJECT),
    words("", "change", lambda row: _SHORT_STATES.get(row.state, row.state)),
    display("against good (95 %)", lambda row: _change(row)),  # noqa: PLW0108 - defined below
    display("pairs", lambda row: f"{row.pairs or ''}"),
    words("", "why", lambda row: row.reason, kind=Kind.REMARK),
)
_FACT_COLUMNS: tuple[Column[BisectedCommit], ...] = (
    fact("position", lambda row: row.position),
    fact("sha", lambda row: row.revision.sha),
    fact("subject", lambda row: row.revision.subject),
    fact("state", lambda row: row.state),
    fact("pairs", lambda row: row.pairs),
    fact("chance", lambda row: row.chance),
    fact("change", lambda row: row.change),
    fact("low", lambda row: row.low),
    fact("high", lambda row: row.high),
    fact("reason", lambda row: row.reason),
)


def bisection_document(
    result: CommitBisection, *, check: Mapping[str, object] | None = None
) -> Document:
    """Return the answer, the commits, a picture and the next command.

    `check` is the report that compares the commit found with its parent, for programs.
    """
    facts = {
        **attributes(result, "workload", "metric", "status", "first", "last", "chance"),
        **attributes(result, "builds", "pairs", "seconds", "budget_s", "is_out_of_budget"),
        **attributes(result, "pairs_needed", "seconds_needed", "unexplained", "exit_code"),
        "ends": result.ends and attributes(result.ends, "outcome", "estimate", "reason"),
        "further_changes": [
            {"change": each.change, "good": each.good.sha, "bad": each.bad.sha}
            for each in result.further_changes
        ],
        "merged": _merged_ends(result),
        "command": next_command(result),
        "check": check,
        "notes": result.notes,
    }
    return Document(name="perfledger-bisection", facts=facts, blocks=tuple(_blocks(result)))


def headline(result: CommitBisection) -> str:
    """Return the answer in one line."""
    workload = clean(result.workload, limit=MAX_LONG_NAME)
    first, last = result.candidates[0], result.candidates[-1]
    number = len(result.candidates)
    match result.status:
        case SearchStatus.FOUND:
            return f"{workload} changed in {_revision_name(first.revision)}"
        case SearchStatus.UNCHANGED:
            return f"{workload} does not differ between the good and the bad commit"
        case SearchStatus.NOT_MEASURED:
            return (
                f"{workload} changed in one of {number} commits, {_sha(first)} to {_sha(last)}: "
                "the commits between cannot be measured"
            )
        case SearchStatus.UNDECIDED:
            return f"{workload}: unknown, {number} commits remain, {_sha(first)} to {_sha(last)}"


def next_command(result: CommitBisection) -> str:
    """Return the command that checks the commit found, or that searches the remaining range."""
    if result.status is SearchStatus.FOUND:
        parent, found_commit = result.commits[result.first - 1 : result.first + 1]
        words = check_words(
            parent.revision, found_commit.revision, result.options, workloads=[result.workload]
        )
        return " ".join(words)
    ends = (result.commits[result.first - 1], result.commits[result.last])
    command = _bisect_command(result, *(each.revision for each in ends))
    if result.seconds_needed is not None and _is_settleable(result):
        command += f" --budget {math.ceil(result.seconds_needed / SECONDS_PER_MINUTE)}m"
    return command


def _blocks(result: CommitBisection) -> Iterator[Block]:
    yield title(headline(result), names=[result.workload])
    yield from sentences([_ends_sentence(result), _effort_sentence(result)])
    measured_commits = [row for row in result.commits if row.state is not CommitState.UNTOUCHED]
    yield table(
        _SHOWN_COLUMNS, measured_commits, style=lambda row: _STYLES.get(row.state, TextStyle.PLAIN)
    )
    yield table(_FACT_COLUMNS, result.commits, key="commits")
    if picture := bisection_text(result):
        yield Preformatted(picture)
    yield from sentences(_further_sentences(result))
    yield from _advice(result)
    yield from notes(f"{clean(note, limit=_MAX_NOTE).rstrip('.')}." for note in result.notes)
    yield Preformatted(next_command(result))


def _ends_sentence(result: CommitBisection) -> str:
    metric = vocabulary.metric_label(result.metric.name) or result.metric.name
    ends = result.ends
    if ends is None or ends.estimate is None:
        return f"The {metric} of the bad commit was not compared with that of the good one."
    estimate = ends.estimate
    change, interval = number_format.change(estimate.change, estimate.low, estimate.high)
    return (
        f"{metric[:1].upper()}{metric[1:]} of the bad commit against the good one: {change} "
        f"({interval}), {ends.outcome}."
    )


def _effort_sentence(result: CommitBisection) -> str:
    number = len(result.commits) - 1
    chance = ""
    if result.status is SearchStatus.FOUND:
        chance = (
            f" The probability that it is this commit is {number_format.confidence(result.chance)}."
        )
    built = f"{result.builds} built and measured" if result.builds else "none built"
    return (
        f"{number} commits, {built}, {result.pairs} pairs in "
        f"{number_format.duration(result.seconds)}.{chance}"
    )


def _merged_ends(result: CommitBisection) -> dict[str, object] | None:
    """Return the range of the commits that the found commit merged."""
    if not result.merged:
        return None
    good, *commits = result.merged
    return {"commits": len(commits), "good": good.sha, "bad": commits[-1].sha}


def _further_sentences(result: CommitBisection) -> Iterator[str]:
    if result.merged:
        good, *commits = result.merged
        number = number_format.quantity(len(commits), "commit")
        yield (
            f"It is a merge of {number}, which are not searched yet: "
            f"{_bisect_command(result, good, commits[-1])}."
        )
    for each in result.further_changes:
        yield (
            f"Another change of {number_format.percent(each.change)} was made after "
            f"{short_sha(each.good.sha)}: "
            f"{_bisect_command(result, each.good, each.bad)}."
        )
    if result.unexplained is not None:
        yield (
            "This commit does not explain all of the change: other commits of the range account "
            f"for {number_format.percent(result.unexplained)}. Search before and after it."
        )


def _advice(result: CommitBisection) -> Iterator[Paragraph]:
    advice = {
        SearchStatus.UNCHANGED: (
            "There is no change to search for: choose other commits, or a smaller `margin`."
        ),
        SearchStatus.NOT_MEASURED: (
            "Fix the build of one of the commits between, or search a range that builds."
        ),
    }
    text = advice.get(result.status, "")
    if result.status is SearchStatus.UNDECIDED:
        text = _settling_sentence(result)
    if text:
        yield Paragraph(text=text, style=TextStyle.STRONG)


def _settling_sentence(result: CommitBisection) -> str:
    cause = "The budget was spent. " if result.is_out_of_budget else ""
    if not _is_settleable(result):
        return (
            f"{cause}The pairs differ too much for a change of this size: use a quieter machine, a "
            "longer step, or `--metric cpu_time`."
        )
    pairs = f"about {result.pairs_needed} pairs of each commit"
    setting = "" if result.is_out_of_budget else " and a larger `max_pairs`"
    option = ", or `--metric cpu_time`" if result.metric.name == STEP_TIME.name else ""
    return (
        f"{cause}It would take {pairs}, {number_format.duration(result.seconds_needed or 0.0)} in "
        f"all: raise `--budget`{setting}, or use a quieter machine{option}."
    )


def _is_settleable(result: CommitBisection) -> bool:
    """Return whether further pairs could settle the search within a day."""
    return result.seconds_needed is not None and 0 < result.seconds_needed < SECONDS_PER_DAY


def _bisect_command(result: CommitBisection, good: Revision, bad: Revision) -> str:
    ends = f"{short_sha(good.sha)} {short_sha(bad.sha)}"
    is_usual = result.metric.name == STEP_TIME.name
    metric = () if is_usual else (f"--metric {result.metric.name}",)
    command = f"perfledger history bisect {shlex.quote(result.workload)} {ends}"
    settings = {name: text for name, text in result.options.settings.items() if name != "budget"}
    options = replace(result.options, settings=settings)  # the range needs a budget of its own
    words = command_words(" ".join((command, *metric)), options, flags=BISECT_FLAGS)
    return " ".join(words)


def _change(row: BisectedCommit) -> str:
    if row.change is None or row.low is None or row.high is None:
        return ""
    return number_format.change_with_interval(row.change, row.low, row.high)


def _revision_name(revision: Revision) -> str:
    subject = clean(revision.subject, limit=_MAX_SUBJECT)
    return f"{short_sha(revision.sha)} ({subject})"


def _sha(commit: BisectedCommit) -> str:
    return short_sha(commit.revision.sha)
