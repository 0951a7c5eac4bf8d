"""Renders stored views and reports as HTML documents.

The pages work without scripts. Scripts draw the chart of a series and hand a check's steps to a
trace viewer. CONTENT_SECURITY_POLICY allows nothing inline and nothing from other hosts. The page
of a check links to its bundle, a download at `/runs/{id}/bundle.json`.
"""

from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib.resources import files
from itertools import chain, groupby, islice
from pathlib import Path
from typing import Protocol, TypeVar

from perfledger.bundle import Bundle
from perfledger.metrics import MetricKind
from perfledger.records import Side, short_sha
from perfledger_baselines.judging.verdict import Outcome
from perfledger_service.rendering.chart.svg import embedded_svg
from perfledger_service.rendering.check.acceptance_rows import acceptance_rows
from perfledger_service.rendering.check.class_sections import progress_sentence
from perfledger_service.rendering.check.first_screen import FirstScreen, first_screen
from perfledger_service.rendering.check.headline import telling_rows
from perfledger_service.rendering.check.kernel_table import kernel_table
from perfledger_service.rendering.check.next_steps import command_hints
from perfledger_service.rendering.check.pair_plot import pair_chart, pairs_by_result
from perfledger_service.rendering.cost import price_rows, projection_rows, yearly_rows
from perfledger_service.rendering.history import stored_verdict_rows
from perfledger_service.rendering.history.removed_page import removal_sentence
from perfledger_service.rendering.layout import (
    count_rows,
    number_format,
    provenance_facts,
    verdict_rows,
)
from perfledger_service.rendering.layout.check_command import reproduction, unreached_command
from perfledger_service.rendering.layout.environment import render
from perfledger_service.rendering.layout.failure_rows import (
    failure_rows,
    fold_alike,
    without_unmeasured,
)
from perfledger_service.rendering.layout.host_sentences import busy_sentence
from perfledger_service.rendering.layout.paging import Page, page_of
from perfledger_service.rendering.trace import cause_rows
from perfledger_service.rendering.trace.step_pictures import step_pictures
from perfledger_service.values.acceptance import Acceptance
from perfledger_service.values.report import Report
from perfledger_service.values.upload_views import (
    IndexView,
    PullRequestView,
    UploadStatus,
    UploadView,
)

CONTENT_SECURITY_POLICY = (
    "default-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'; "
    "object-src 'none'"
)
# The page of a check opens Perfetto's UI and posts messages to it, which "same-origin" would
# prevent. Windows that open our page still get no reference to it.
RUN_OPENER_POLICY = "same-origin-allow-popups"

# Most entries of each kind on a page; the bundle has all of them.
_MAX_CAUSES = 12
_MAX_PLOTS = 24
_MAX_ROWS = 1000
RESULTS_PER_PAGE = 100  # about 80 kB; the rest of a check's page is about as large
_MAX_COUNTED = 100


class RowOfWorkload(Protocol):
    """A row of a page that belongs to one workload."""

    @property
    def workload(self) -> str:
        """Return the workload's id."""
        ...


_Row = TypeVar("_Row", bound=RowOfWorkload)


@dataclass(frozen=True, slots=True)
class NamedPlot:
    """A verdict's row and the SVG of its pairs."""

    row: verdict_rows.VerdictTableRow
    svg: str


def static_folder() -> Path:
    """Return the folder that is served at `/static`."""
    return Path(str(files("perfledger_templates"))) / "static"


def index_page(view: IndexView) -> str:
    """Return the front page: the newest checks."""
    return render(
        "html/index.html.j2",
        view=view,
        uploads=[(upload, stored_verdict_rows.upload_headline(upload)) for upload in view.uploads],
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class PullRequestCheck:
    """A check on a pull request's page; `screen` is None for an earlier one."""

    upload: UploadView
    head: stored_verdict_rows.UploadHeadline
    groups: tuple[tuple[str, tuple[stored_verdict_rows.StoredVerdictRow, ...]], ...]
    screen: FirstScreen | None = None
    reproduction: str = ""


def current_checks(view: PullRequestView) -> tuple[UploadView, ...]:
    """Return the newest judged check of the newest head on each machine class."""
    by_class: dict[str, UploadView] = {}
    for one in view.uploads:
        if one.head_sha == view.uploads[0].head_sha and one.conclusion:
            by_class.setdefault(one.machine_class, one)
    return tuple(by_class[name] for name in sorted(by_class))


def pull_request_page(
    view: PullRequestView,
    acceptances: Sequence[Acceptance] = (),
    *,
    reports: Mapping[str, Report] | None = None,
) -> str:
    """Return the page of one pull request: causes, prices and commands, and all its checks.

    `reports` are those of the current checks, by upload id. Earlier checks follow, newest first.
    """
    report_of = reports or {}
    current = {one.id for one in current_checks(view)}
    return render(
        "html/pull_request.html.j2",
        view=view,
        acceptances=acceptances,
        current=[_pull_request_check(one, report_of.get(one.id)) for one in current_checks(view)],
        earlier_checks=[
            _pull_request_check(one, None) for one in view.uploads if one.id not in current
        ],
        commands=tuple(dict.fromkeys(chain.from_iterable(map(_commands, report_of.values())))),
        takes_commands=any(one.takes_commands for one in report_of.values()),
        removals={one.id: removal_sentence(one) for one in view.uploads},
        earlier={one.id: _earlier_upload(view, one) for one in view.uploads},
        missing=[
            (
                stored_verdict_rows.device(one.machine_class),
                "not measured: no report until" if one.is_overdue else "pending until",
                number_format.moment(one.deadline),
            )
            for one in view.missing_classes
        ],
        measuring=[
            (short_sha(sha), stored_verdict_rows.device(one.machine_class), progress_sentence(one))
            for sha, one in view.progress
        ],
    )


def _pull_request_check(upload: UploadView, report: Report | None) -> PullRequestCheck:
    return PullRequestCheck(
        upload=upload,
        head=stored_verdict_rows.upload_headline(upload),
        groups=stored_verdict_rows.stored_groups(upload),
        screen=None if report is None else first_screen(report, verdict_rows.verdict_rows(report)),
        reproduction="" if report is None else reproduction(report),
    )


def _commands(report: Report) -> Iterator[tuple[str, str]]:
    """Yield the comments that act on a check, each with its purpose, as in the report's comment."""
    every = verdict_rows.verdict_rows(report)
    hints = command_hints(report, every)
    yield from ((one.command, one.purpose) for one in hints)
    worst = next(iter(telling_rows(report, every)), None)
    if hints and worst is not None and worst.outcome is Outcome.REGRESSED and not worst.is_warning:
        yield "/perfledger bisect", "to find the commit that made it slower"


def _earlier_upload(view: PullRequestView, upload: UploadView) -> str:
    """Return the id of the newest judged check of an earlier head, on the same machine class."""
    if not upload.conclusion:
        return ""
    older = view.uploads[view.uploads.index(upload) + 1 :]
    return next(
        (
            one.id
            for one in older
            if one.conclusion
            and one.status in (UploadStatus.JUDGED, UploadStatus.POSTED)
            and one.machine_class == upload.machine_class
            and one.head_sha != upload.head_sha
        ),
        "",
    )


def run_page(report: Report, upload: UploadView, bundle: Bundle, *, page: int = 1) -> str:
    """Return the page of one check: verdicts, pairs, causes, prices, machine and logs.

    `report` is the judged `bundle`; the bundle itself has the profiles and the logs. A large check
    has several pages, each with RESULTS_PER_PAGE results and all other facts of their workloads;
    the worst are on the first.
    """
    series = {(one.workload, one.metric): one.series_id for one in upload.verdicts}
    every = tuple(
        replace(row, series_id=series.get((row.workload, row.metric_name)))
        for row in verdict_rows.verdict_rows(report)
    )
    results = page_of(without_unmeasured(every), page, size=RESULTS_PER_PAGE)
    other_workloads = {row.workload for row in every} - {row.workload for row in results.items}
    loud, quiet = price_rows.split_price_rows(report, every)
    explanations = cause_rows.order_explanations(report)
    blocks = cause_rows.reason_blocks(report, max_causes=_MAX_CAUSES)
    pictures = step_pictures(
        explanations,
        bundle.profiles,
        roofs={
            (one.workload, Side.HEAD): one.roof for one in report.advice if one.roof is not None
        },
    )
    return render(
        "html/run.html.j2",
        report=report,
        screen=first_screen(report, every),
        upload=upload,
        busy=busy_sentence(report.host_findings),
        head=stored_verdict_rows.upload_headline(upload),
        results_page=results,
        result_numbers=_result_numbers(results),
        groups=verdict_rows.group_by_workload(results.items),
        unsure=verdict_rows.uncertain_rows(results.items),
        kernels=kernel_table(report),
        throughputs=_outside(verdict_rows.throughput_rows(report), other_workloads),
        work=_outside(verdict_rows.work_rows(report), other_workloads),
        counted=count_rows.count_groups(report)[:_MAX_COUNTED],
        plots=tuple(islice(_plots(report, every), _MAX_PLOTS)),
        margin=provenance_facts.common_margin(report),
        blocks=tuple(zip(blocks, pictures, strict=True)),
        prices=_outside(loud, other_workloads),
        quiet_prices=_outside(quiet, other_workloads),
        total=yearly_rows.yearly_total(report.total_price, len(report.change_prices)),
        queues=yearly_rows.queue_sentences(report.queues)[:_MAX_ROWS],
        policy_evaluations=yearly_rows.policy_evaluation_rows(
            report.policy_evaluations, head=report.head.sha if report.pull_request else ""
        )[:_MAX_ROWS],
        acceptances=acceptance_rows(report.acceptances),
        unit_costs=_by_workload(_outside(price_rows.unit_cost_rows(report), other_workloads)),
        projected=_outside(projection_rows.projected_rows(report), other_workloads),
        sources=price_rows.source_rows(report),
        unreached=unreached_command(report),
        failures=fold_alike(failure_rows(report))[:_MAX_ROWS],
        revisions=provenance_facts.revision_facts(report),
        machine=provenance_facts.machine_facts(report.machine),
        decision=provenance_facts.decision_sentences(report),
        measured_steps=verdict_rows.step_count_sentence(report),
        best_steps=[one for one in report.steps if one.best is not None][:_MAX_COUNTED],
        reproduction=reproduction(report),
        logs=tuple(bundle.logs.items()),
    )


def _plots(report: Report, rows: Iterable[verdict_rows.VerdictTableRow]) -> Iterator[NamedPlot]:
    """Yield the plots of changed and possibly changed results, and of every step time."""
    tests = pairs_by_result(report)
    for verdict, row in zip(verdict_rows.order_verdicts(report), rows, strict=True):
        if row.is_quiet and row.kind is not MetricKind.SPEED:
            continue
        test = tests.get((verdict.workload, verdict.metric.name))
        if test is None:
            continue
        chart = pair_chart(verdict, test, margin=report.plan.margin_of(verdict.workload))
        if chart is not None:
            spoken = f"{len(test.pairs)} pairs, {row.change} ({row.interval})"
            yield NamedPlot(row, embedded_svg(chart, label=spoken))


def _result_numbers(results: Page[verdict_rows.VerdictTableRow]) -> str:
    """Return which of the results are on a page, "" if all are."""
    if results.pages == 1:
        return ""
    first = (results.number - 1) * RESULTS_PER_PAGE + 1
    last = first + len(results.items) - 1
    return f"Results {first:,} to {last:,} of {results.total:,}, those that need attention first"


def _outside(rows: Iterable[_Row], workloads: Container[str]) -> tuple[_Row, ...]:
    """Return the rows of all other workloads, at most _MAX_ROWS."""
    return tuple(islice((row for row in rows if row.workload not in workloads), _MAX_ROWS))


def _by_workload(
    costs: Iterable[price_rows.UnitCostRow],
) -> tuple[tuple[str, tuple[price_rows.UnitCostRow, ...]], ...]:
    groups = groupby(costs, key=lambda cost: cost.workload)
    return tuple((workload, tuple(rows)) for workload, rows in groups)
