"""Renders the lists of a project's pull requests and workloads, and the page of one workload."""

from collections.abc import Iterable, Sequence
from itertools import groupby

from perfledger_service.rendering.history import stored_verdict_rows
from perfledger_service.rendering.history.kernels import kernel_section
from perfledger_service.rendering.history.triage import triage_row
from perfledger_service.rendering.layout import number_format, vocabulary
from perfledger_service.rendering.layout.environment import render
from perfledger_service.rendering.layout.paging import Page
from perfledger_service.values.acceptance import Acceptance
from perfledger_service.values.branch_views import TriagedEvent
from perfledger_service.values.upload_views import (
    KernelHistory,
    PullRequestsView,
    SeriesSummary,
    UploadView,
    WorkloadsView,
)

MAX_EVENTS = 5  # of a workload


def pull_requests_page(view: PullRequestsView, *, size: int) -> str:
    """Return one page of a project's pull requests, with `size` of them."""
    numbers = tuple(dict.fromkeys(one.pull_request for one in view.uploads))
    rows = [
        (
            number,
            [
                (one, stored_verdict_rows.upload_headline(one))
                for one in newest_of_class(
                    [one for one in view.uploads if one.pull_request == number]
                )
            ],
        )
        for number in numbers
    ]
    return render(
        "html/pull_requests.html.j2",
        view=view,
        rows=rows,
        page=Page(
            items=numbers,
            number=view.page,
            pages=-(-view.pull_requests // size),
            total=view.pull_requests,
        ),
    )


def newest_of_class(uploads: Sequence[UploadView]) -> tuple[UploadView, ...]:
    """Return the newest upload of each machine class, the newest first."""
    by_class: dict[str, UploadView] = {}
    for one in uploads:
        by_class.setdefault(one.machine_class, one)
    return tuple(by_class[name] for name in sorted(by_class))


def workloads_page(view: WorkloadsView, *, size: int) -> str:
    """Return one page of a project's workloads and their series, with `size` workloads."""
    groups = groupby(view.series, key=lambda one: one.workload)
    return render(
        "html/workloads.html.j2",
        view=view,
        groups=[(workload, _in_order(series)) for workload, series in groups],
        page=Page(
            items=view.series,
            number=view.page,
            pages=-(-view.workloads // size),
            total=view.workloads,
        ),
        **_words(),
    )


def workload_page(
    view: WorkloadsView,
    acceptances: Sequence[Acceptance],
    *,
    events: Sequence[TriagedEvent] = (),
    commits: Sequence[str] = (),
    kernels: Sequence[KernelHistory] = (),
) -> str:
    """Return the page of one workload: metrics and kernels by machine, events, accepted changes.

    `events` are the workload's and `acceptances` the project's, newest first. `commits` are those
    of the search that found the events.
    """
    by_machine = groupby(view.series, key=lambda one: one.machine_class)
    return render(
        "html/workload.html.j2",
        view=view,
        machines=[(name, _in_order(series)) for name, series in by_machine],
        events=[triage_row(one, commits) for one in events[:MAX_EVENTS]],
        events_left_out=max(0, len(events) - MAX_EVENTS),
        kernels={one.machine_class: kernel_section(one) for one in kernels},
        acceptances=[one for one in acceptances if one.workload == view.text],
        **_words(),
    )


def _in_order(series: Iterable[SeriesSummary]) -> tuple[SeriesSummary, ...]:
    """Return series by machine class, the most important metric first."""
    return tuple(
        sorted(series, key=lambda one: (one.machine_class, vocabulary.metric_order(one.metric)))
    )


def _words() -> dict[str, object]:
    return {
        "label": vocabulary.metric_label,
        "value": vocabulary.value,
        "device": stored_verdict_rows.device,
        "day": number_format.day,
        "foreign_unit": vocabulary.foreign_unit,
    }
