"""The lists of pull requests and workloads, and the page of one workload."""

import re
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from perfledger_baselines.history.commits.attribution import Harm
from perfledger_baselines.history.commits.tracked_event import ChangedSeries, TrackedEvent
from perfledger_service.rendering.check.project_lists import (
    newest_of_class,
    pull_requests_page,
    workload_page,
    workloads_page,
)
from perfledger_service.values.acceptance import Acceptance
from perfledger_service.values.branch_views import EventView, TriagedEvent
from perfledger_service.values.upload_views import (
    FamilyHistory,
    KernelHistory,
    PullRequestsView,
    SeriesSummary,
    UploadStatus,
    UploadView,
    WorkloadsView,
)

NOON = datetime(2026, 11, 20, 12, tzinfo=UTC)


def upload(number, *, machine_class="cuda:NVIDIA H100:1", minutes=0):
    return UploadView(
        id=f"{number:032x}",
        repository="acme/models",
        pull_request=41,
        base_sha="a" * 40,
        head_sha="b" * 40,
        head_subject="Fuse the bias",
        machine_class=machine_class,
        status=UploadStatus.POSTED,
        reason="",
        conclusion="failure",
        headline=f"headline {number}",
        created_at=NOON - timedelta(minutes=minutes),
    )


def event_of(number):
    """Make an event of a pull request."""
    series = ChangedSeries(
        workload="gpt:step",
        metric="step_time_p50",
        machine_class="cuda:NVIDIA H100:1",
        change=0.2,
        low=0.19,
        high=0.21,
        before=1.0,
        after=1.2,
    )
    event = TrackedEvent(id=number, harm=Harm.WORSE, measured_series=(series,), pull_request=7)
    view = EventView(event=event, opened_at=NOON, changed_at=NOON)
    return TriagedEvent(view=view, change=None)


@pytest.fixture
def workloads():
    series = SeriesSummary(
        id=3,
        workload="gpt:step",
        metric="step_time_p50",
        unit="s",
        machine_class="cuda:NVIDIA H100:1",
        points=12,
        last=0.01,
        measured_at=NOON,
    )
    return WorkloadsView(
        repository="acme/models", text="gpt:step", series=(series,), workloads=20, page=1
    )


def test_a_pull_request_has_a_line_for_each_machine_class():
    uploads = (upload(1), upload(2, machine_class="cuda:NVIDIA A100:1"), upload(3, minutes=9))
    view = PullRequestsView(repository="acme/models", uploads=uploads, pull_requests=1, page=1)

    page = pull_requests_page(view, size=20)

    assert 'href="/acme/models/pull/41"' in page
    assert "headline 1" in page
    assert "headline 2" in page
    assert "headline 3" not in page  # an earlier check on the same machine class


def test_the_newest_check_of_a_class_counts():
    assert newest_of_class([upload(1), upload(2, minutes=5)]) == (upload(1),)


def test_a_list_leads_to_its_next_page_with_its_filter(workloads):
    page = workloads_page(workloads, size=8)

    assert "text=gpt%3Astep&amp;page=2" in page
    assert 'href="/series/3"' in page


def test_lists_without_a_row_say_what_to_do():
    empty = WorkloadsView(repository="acme/models", text="", series=(), workloads=0, page=1)
    none = PullRequestsView(repository="acme/models", uploads=(), pull_requests=0, page=1)

    assert "perfledger check --upload-url URL" in workloads_page(empty, size=8)
    assert "perfledger check --upload-url URL" in pull_requests_page(none, size=8)


def test_a_workload_shows_its_accepted_regressions(workloads):
    accepted = Acceptance(
        pull_request=43,
        head_sha="a" * 40,
        login="lead",
        workload="gpt:step",
        reason="needed for depth",
        accepted_at=NOON,
        until=None,
    )

    assert "Needed for depth." in workload_page(workloads, (accepted,))
    assert "/perfledger accept gpt:step" in workload_page(workloads, ())


def test_a_workload_shows_its_newest_events_and_counts_what_is_left_out(workloads):
    page = workload_page(workloads, (), events=[event_of(one) for one in range(8, 0, -1)])

    assert 'href="/acme/models/events/8"' in page
    assert 'href="/acme/models/events/3"' not in page
    assert "3 older ones are on the page of the" in page
    six = workload_page(workloads, (), events=[event_of(one) for one in range(6, 0, -1)])
    assert "1 older one is on the page of the" in six
    assert "Events" not in workload_page(workloads, ())


def test_a_workload_lists_its_step_time_first_and_says_when_it_was_measured(workloads):
    (step_time,) = workloads.series
    names = ("cpu_time", "of_a_plug_in", "peak_memory", "step_time_p50")
    series = tuple(replace(step_time, id=at, metric=name) for at, name in enumerate(names))

    page = workload_page(replace(workloads, series=series), ())

    assert re.findall(r"/series/(\d)", page) == ["3", "2", "0", "1"]
    assert page.count("2026-11-20") == len(series)


def test_the_kernel_families_of_a_workload_stand_below_its_metrics_on_the_same_machine():
    series = tuple(
        SeriesSummary(
            id=number,
            workload="gpt:step",
            metric="step_time_p50",
            unit="s",
            machine_class=machine_class,
            points=3,
            last=0.01,
            measured_at=NOON,
        )
        for number, machine_class in enumerate(("cpu:Test CPU:1", "cuda:NVIDIA H100:1"))
    )
    view = WorkloadsView(
        repository="acme/models", text="gpt:step", series=series, workloads=1, page=1
    )
    kernels = KernelHistory(
        machine_class="cuda:NVIDIA H100:1",
        commits=("a" * 40, "b" * 40),
        families=(
            FamilyHistory(series_id=8, name="<b>mm</b>", places=(0, 1), seconds=(0.003, 0.003)),
        ),
    )

    page = workload_page(view, (), kernels=(kernels,))

    assert page.count("Kernel families</h3>") == 1
    assert page.index("Test CPU") < page.index("NVIDIA H100") < page.index("Kernel families</h3>")
    assert '<a href="/series/8">' in page
    assert "<b>mm" not in page
    assert "<svg" in page
