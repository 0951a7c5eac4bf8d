"""Turns a comparison without pairs into a terminal's text, Markdown and JSON.

Nothing that others wrote reaches a page but as clean text.
"""

import json
import math
from collections.abc import Iterator
from dataclasses import asdict
from itertools import groupby

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from perfledger_baselines.verdict import Estimate, Verdict
from perfledger_service.pages import figures, words
from perfledger_service.pages.escape import clean, code, prose, sentence
from perfledger_service.pages.interval_picture import interval_picture
from perfledger_service.pages.terminal import STYLES
from perfledger_service.views import ComparisonView

# 1: first version. Keys are only ever added.
COMPARISON_FORMAT = "perfledger-comparison"
COMPARISON_VERSION = 1

NOT_IN_PAIRS = (
    "Not measured in pairs: how the machine differed from one file to the other is part of the "
    "change, and not of its interval. For an answer to rely on, measure both sides in turns on one "
    "machine: perfledger check --base REV --head REV."
)
_MAX_NAME = 200
_MAX_REASON = 300


def comparison_text(view: ComparisonView) -> Group:
    """Return the comparison for a terminal of 80 columns."""
    parts: list[RenderableType] = [
        Text.assemble("A ", (view.base, "bold"), ", B ", (view.head, "bold"))
    ]
    for workload, verdicts in groupby(view.verdicts, key=lambda verdict: verdict.workload):
        parts += [Text(), Text(clean(workload, limit=_MAX_NAME), style="bold")]
        parts.append(Padding(_grid(tuple(verdicts), margin=view.margin), (0, 0, 0, 2)))
    if not view.verdicts:
        parts += [Text(), Text("Nothing to compare: neither has a workload.")]
    notes = [
        *_baselines(view),
        NOT_IN_PAIRS,
        f"{_judged_by(view)} The band is that margin.",
        *([f"{view.assumed}."] if view.assumed else []),
    ]
    for note in notes:
        parts += [Text(), Text(clean(note, limit=_MAX_REASON + _MAX_NAME), style="dim")]
    return Group(*parts)


def comparison_markdown(view: ComparisonView) -> str:
    """Return the comparison as Markdown."""
    return "\n".join(_markdown(view)) + "\n"


def comparison_json(view: ComparisonView, *, exit_code: int) -> str:
    """Return the comparison as JSON; null where there is no number."""
    document = {
        "format": COMPARISON_FORMAT,
        "version": COMPARISON_VERSION,
        "a": view.base,
        "b": view.head,
        "is_paired": False,
        "note": NOT_IN_PAIRS,
        "assumed": view.assumed,
        "alpha": view.alpha,
        "margin": view.margin,
        "floor": view.floor,
        "exit_code": exit_code,
        "baselines": [{"series": name, "reason": reason} for name, reason in view.chosen],
        "verdicts": [_document(verdict) for verdict in view.verdicts],
    }
    return json.dumps(document, indent=2, allow_nan=False) + "\n"


def _grid(verdicts: tuple[Verdict, ...], *, margin: float) -> Table:
    grid = Table.grid(padding=(0, 1))
    for width in (14, 11, 11, 25, 12):
        grid.add_column(width=width, overflow="fold", justify="right" if width == 11 else "left")  # noqa: PLR2004 - the figures
    grid.add_row("", "A", "B", "change (interval)", "verdict", style="dim")
    for verdict in verdicts:
        style = STYLES[words.tone(verdict.outcome, is_warning=verdict.is_warning)]
        base, head, size, interval = _figures(verdict)
        change = f"{size} ({interval})" if interval else size
        grid.add_row(
            Text(_metric(verdict)),
            Text(base),
            Text(head),
            Text(change, style=style),
            Text(words.word(verdict), style=style),
        )
    below = Table.grid()
    below.add_row(grid)
    for verdict in verdicts:
        reason = clean(verdict.reason, limit=_MAX_REASON) + _detectable(verdict)
        below.add_row(Text(f"{_metric(verdict)}: {reason}", style="dim"))
        estimate = verdict.estimate
        shown = "" if estimate is None else interval_picture(estimate, margin=margin)
        if shown:
            below.add_row(Text(shown, style="dim", no_wrap=True))
    return below


def _markdown(view: ComparisonView) -> Iterator[str]:
    yield f"A {code(view.base, in_table=False)}, B {code(view.head, in_table=False)}\n"
    yield "| workload | metric | A | B | change | 95 % interval | verdict | why |"
    yield "|---|---|---|---|---|---|---|---|"
    for verdict in view.verdicts:
        cells = (
            code(verdict.workload, limit=_MAX_NAME),
            words.metric_label(verdict.metric.name) or code(verdict.metric.name),
            *_figures(verdict),
            f"{words.mark(verdict.outcome, is_warning=verdict.is_warning)} {words.word(verdict)}",
            prose(verdict.reason) + _detectable(verdict),
        )
        yield f"| {' | '.join(cells)} |"
    for note in _baselines(view):
        yield f"\n{prose(note, in_table=False)}"
    yield f"\n{NOT_IN_PAIRS}\n"
    yield _judged_by(view)
    if view.assumed:
        yield f"\n{sentence(view.assumed, in_table=False)}"


def _baselines(view: ComparisonView) -> tuple[str, ...]:
    """Return what of a folder the head is held against, each choice once."""
    reasons = dict.fromkeys(reason for _, reason in view.chosen)
    counts = {reason: sum(other == reason for _, other in view.chosen) for reason in reasons}
    return tuple(f"A, for {counts[reason]} of {len(view.chosen)}: {reason}." for reason in reasons)


def _figures(verdict: Verdict) -> tuple[str, str, str, str]:
    """Return both sides' values, the change and its interval; dashes where there are none."""
    estimate = verdict.estimate
    if estimate is None:
        return "-", "-", "-", ""
    unit = verdict.metric.unit
    size, interval = figures.change(estimate.change, estimate.low, estimate.high)
    if estimate.low == estimate.high:  # counted, not estimated
        interval = ""
    return words.value(estimate.base, unit), words.value(estimate.head, unit), size, interval


def _metric(verdict: Verdict) -> str:
    return words.metric_label(verdict.metric.name) or clean(verdict.metric.name, limit=40)


def _detectable(verdict: Verdict) -> str:
    estimate = verdict.estimate
    if estimate is None or estimate.low == estimate.high:
        return ""
    return f"; a change shows from {figures.share(estimate.smallest_detectable)} on"


def _judged_by(view: ComparisonView) -> str:
    level = figures.margin(view.alpha)
    within = figures.margin(view.margin)
    return (
        f"Chance of any false change among all of these tests: {level} (Holm). "
        f"Unchanged means proven to be within {within}."
    )


def _document(verdict: Verdict) -> dict[str, object]:
    metric = verdict.metric
    return {
        "workload": verdict.workload,
        "metric": metric.name,
        "unit": metric.unit,
        "worse": str(metric.worse),
        "outcome": str(verdict.outcome),
        "is_warning": verdict.is_warning,
        "reason": verdict.reason,
        "adjusted_p": verdict.adjusted_p,
        "estimate": None if verdict.estimate is None else _estimate(verdict.estimate),
    }


def _estimate(estimate: Estimate) -> dict[str, object]:
    fields = asdict(estimate)
    fields["runs"] = fields.pop("pairs")  # of the side that has fewer
    return {name: value if math.isfinite(value) else None for name, value in fields.items()}
