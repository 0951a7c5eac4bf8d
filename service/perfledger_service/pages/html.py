"""Turns stored views and reports into whole HTML documents.

The pages work without scripts; those there are draw the series page's chart, and hand a check's
steps over to a viewer of traces. They are written for CONTENT_SECURITY_POLICY: nothing inline,
nothing from elsewhere. Besides the routes of `views` a check's page links to its bundle, as a
download, at `/runs/{id}/bundle.json`.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from importlib.resources import files
from itertools import groupby
from pathlib import Path

from perfledger.bundle import Bundle
from perfledger.metrics import Kind
from perfledger_service.pages import (
    elsewhere,
    facts,
    figures,
    prices,
    reasons,
    rows,
    stored,
    words,
    yearly,
)
from perfledger_service.pages.environment import render
from perfledger_service.pages.pair_plot import PairPlot, PairsOfTests, pair_plot, pairs_of
from perfledger_service.pages.series_plot import series_data, series_plot
from perfledger_service.pages.step_pictures import step_pictures, steps_data
from perfledger_service.report import Report
from perfledger_service.views import IndexView, PullRequestView, SeriesView, UploadView

CONTENT_SECURITY_POLICY = (
    "default-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'; "
    "object-src 'none'"
)
# The page of a check opens Perfetto's UI and speaks to it, which "same-origin" would forbid. Those
# that others open, and that would like to speak to ours, are cut off as before.
RUN_OPENER_POLICY = "same-origin-allow-popups"

# What a page shows of each kind at most; the bundle holds everything.
_MAX_CAUSES = 12
_MAX_PLOTS = 24
_MAX_ROWS = 1000
_MAX_POINTS = 200
_MAX_COUNTED = 100


@dataclass(frozen=True, slots=True)
class NamedPlot:
    """A verdict's row and the plot of its pairs."""

    row: rows.VerdictRow
    plot: PairPlot


def static_folder() -> Path:
    """Return the folder that is served at `/static`."""
    return Path(str(files("perfledger_templates"))) / "static"


def index_page(view: IndexView) -> str:
    """Return the front page: the newest checks, and every series by its name."""
    return render(
        "html/index.html.j2",
        view=view,
        uploads=[(upload, stored.upload_head(upload)) for upload in view.uploads],
        label=words.metric_label,
        value=words.value,
        device=stored.device,
        foreign_unit=words.foreign_unit,
    )


def pull_request_page(view: PullRequestView) -> str:
    """Return the page of one pull request: all its checks, newest first."""
    return render(
        "html/pull_request.html.j2",
        view=view,
        uploads=[
            (upload, stored.upload_head(upload), stored.stored_groups(upload))
            for upload in view.uploads
        ],
    )


def run_page(report: Report, upload: UploadView, bundle: Bundle) -> str:
    """Return the page of one check: verdicts, pairs, causes, prices, machine and logs.

    `report` is what `bundle` was judged to be; the bundle itself gives the pairs and the logs.
    """
    series = {(one.workload, one.metric): one.series_id for one in upload.verdicts}
    every = tuple(
        replace(row, series_id=series.get((row.workload, row.metric_name)))
        for row in rows.verdict_rows(report)
    )
    loud, quiet = prices.split(report, every)
    explanations = reasons.ordered(report)
    blocks = reasons.reason_blocks(report, max_causes=_MAX_CAUSES)
    pictures = step_pictures(
        explanations,
        bundle.profiles,
        roofs={one.workload: one.roof for one in report.advice if one.roof is not None},
    )
    return render(
        "html/run.html.j2",
        report=report,
        upload=upload,
        head=stored.upload_head(upload),
        groups=rows.by_workload(every[:_MAX_ROWS]),
        unsure=rows.unsure(every[:_MAX_ROWS]),
        throughputs=rows.throughput_rows(report)[:_MAX_ROWS],
        work=rows.work_rows(report)[:_MAX_ROWS],
        counted=rows.count_groups(report)[:_MAX_COUNTED],
        plots=_plots(report, pairs_of(bundle)),
        margin=figures.margin(report.plan.margin),
        blocks=tuple(zip(blocks, pictures, strict=True)),
        steps=steps_data(explanations, bundle.profiles),
        prices=loud,
        quiet_prices=quiet,
        total=yearly.yearly_total(report.total_price, len(report.change_prices)),
        queues=yearly.queue_sentences(report.queues)[:_MAX_ROWS],
        rulings=yearly.ruling_rows(
            report.rulings, head=report.head.sha if report.pull_request else ""
        )[:_MAX_ROWS],
        unit_costs=_by_workload(prices.unit_cost_rows(report)[:_MAX_ROWS]),
        projected=elsewhere.projected_rows(report)[:_MAX_ROWS],
        sources=prices.source_rows(report),
        failures=rows.failure_rows(report)[:_MAX_ROWS],
        revisions=facts.revision_facts(report),
        machine=facts.machine_facts(report.machine),
        decision=facts.decision_sentences(report),
        measured_steps=rows.steps_measured(report),
        best_steps=[one for one in report.steps if one.best is not None][:_MAX_COUNTED],
        reproduction=facts.reproduction(report),
        logs=tuple(bundle.logs.items()),
    )


def series_page(view: SeriesView) -> str:
    """Return the page of one series: its chart, drawn with and without a script, and its points."""
    label = words.metric_label(view.metric) or view.metric
    newest = tuple(reversed(view.points))[:_MAX_POINTS]
    return render(
        "html/series.html.j2",
        view=view,
        label=label,
        title=label[:1].upper() + label[1:],
        device=stored.device(view.device_class),
        direction=stored.direction(view.worse),
        plot=series_plot(view),
        data=series_data(view),
        points=stored.point_rows(view, newest),
        hidden=len(view.points) - len(newest),
    )


def _plots(report: Report, pairs: PairsOfTests) -> tuple[NamedPlot, ...]:
    """Return the plots of what changed, or may have, and of every step time."""
    found: list[NamedPlot] = []
    for verdict, row in zip(rows.ordered(report), rows.verdict_rows(report), strict=True):
        if row.is_quiet and row.kind is not Kind.SPEED:
            continue
        test = pairs.get((verdict.workload, verdict.metric.name))
        plot = pair_plot(verdict, test, margin=report.plan.margin) if test is not None else None
        if plot is not None:
            found.append(NamedPlot(row, plot))
    return tuple(found[:_MAX_PLOTS])


def _by_workload(
    costs: Iterable[prices.UnitCostRow],
) -> tuple[tuple[str, tuple[prices.UnitCostRow, ...]], ...]:
    groups = groupby(costs, key=lambda cost: cost.workload)
    return tuple((workload, tuple(rows)) for workload, rows in groups)
