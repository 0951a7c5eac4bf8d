from dataclasses import replace
from datetime import UTC, datetime
from decimal import Decimal

import pytest

from perfledger_baselines.history.commits.attribution import Harm
from perfledger_baselines.history.commits.event_state import EventState
from perfledger_baselines.history.commits.grouping import GroupedChanges
from perfledger_baselines.history.commits.tracked_event import ChangedSeries, TrackedEvent
from perfledger_service.rendering.history.branch_page import (
    EVENTS_PER_PAGE,
    MAX_ACCEPTED,
    EventOrder,
    branch_page,
    chosen_events,
)
from perfledger_service.values.acceptance import Acceptance
from perfledger_service.values.branch_views import (
    AbRequestView,
    AlertView,
    BranchSearch,
    BranchView,
    EventNote,
    EventView,
    TriagedEvent,
    TriagePart,
)
from tests.service.rendering.history.test_triage import PRICE, checked
from tests.service.suspects import a_candidate, a_request, an_alert

HOSTILE = "gpt:<script>alert(1)</script>[x='$(reboot)']"
SHAS = tuple(f"{place + 10:x}" * 40 for place in range(7))
MOMENT = datetime(2026, 11, 20, 12, tzinfo=UTC)
QUIET = BranchView(
    repository="octo/models",
    search=BranchSearch(
        commits=SHAS,
        grouped_changes=GroupedChanges(events=(), environment_changes=()),
        watched=2,
    ),
    is_search_due=False,
    alerts=(),
    requests=(),
    gates=(),
)


def branch(workload, grouped_changes):
    alert = AlertView(
        alert=an_alert(workload),
        upload_id="1" * 32,
        after_sha="a" * 40,
        last_sha="b" * 40,
        created_at=MOMENT,
    )
    request = AbRequestView(
        request=a_request(workload),
        base_sha=SHAS[0],
        head_sha=SHAS[1],
        suspects=(a_candidate(workload),),
    )
    events = [one for one in grouped_changes.events if one.is_significant]
    changes = (*events, *grouped_changes.environment_changes)
    return replace(
        QUIET,
        alerts=(alert,),
        requests=(request,),
        search=replace(QUIET.search, grouped_changes=grouped_changes),
        events=tuple(TriagedEvent(view=None, change=one) for one in changes),
    )


def tracked(number, *, workload="gpt:step", **values):
    """Return a stored event of a pull request."""
    series = ChangedSeries(
        workload=workload,
        metric="step_time_p50",
        machine_class="cpu",
        before=1.0,
        after=1.1,
        change=0.1,
        low=0.09,
        high=0.11,
    )
    event = TrackedEvent(
        **{"id": number, "harm": Harm.WORSE, "pull_request": 7, "measured_series": (series,)}
        | values
    )
    return TriagedEvent(
        view=EventView(event=event, opened_at=MOMENT, changed_at=MOMENT), change=None
    )


def accepted(number, *, workload="gpt:step"):
    return Acceptance(
        pull_request=number,
        head_sha="a" * 40,
        login="lead",
        workload=workload,
        reason=HOSTILE,
        accepted_at=MOMENT,
        until=None,
    )


def test_the_events_of_a_page_are_chosen_by_part_name_and_the_one_just_decided():
    fixed = tracked(2, state=EventState.FIXED)
    view = replace(QUIET, events=(tracked(1), fixed, tracked(3, workload="resnet:step")))

    def numbers(part, **options):
        events = chosen_events(view, part, EventOrder.NEWEST, **options)
        return [one.view.event.id for one in events]

    assert numbers(None) == [1, 2, 3]
    assert numbers(fixed.part) == [2]
    assert numbers(TriagePart.TO_DECIDE) == [1, 3]
    assert numbers(TriagePart.TO_DECIDE, decided=2) == [1, 2, 3]
    assert numbers(TriagePart.TO_DECIDE, decided=2, text="RES") == [3]


def test_many_accepted_regressions_are_folded_and_have_a_page_of_their_own():
    many = tuple(accepted(number) for number in range(1, 61))

    page = branch_page(replace(QUIET, acceptances=many), url="u")

    assert "Accepted regressions: 60" in page
    assert page.count(">#") == MAX_ACCEPTED
    assert 'href="/octo/models/accepted"' in page
    assert "<script>" not in page


def test_events_are_filtered_by_workload_and_their_links_keep_the_filter():
    events = tuple(
        tracked(number, workload="gpt:step" if number % 2 else "resnet:step")
        for number in range(1, 2 * EVENTS_PER_PAGE + 3)
    )

    page = branch_page(replace(QUIET, events=events), url="u", text="Res")

    assert f"To decide {EVENTS_PER_PAGE + 1}" in page.replace("To-decide", "To decide")
    assert "<code>resnet:step</code>" in page
    assert "<code>gpt:step</code>" not in page
    assert "&amp;text=Res" in page


def test_a_page_shows_alerts_requests_and_what_happened(grouped_changes):
    view = branch("gpt:step", grouped_changes)
    page = branch_page(view, url="https://perf.example")
    settled_branch_page = branch_page(view, url="https://perf.example", part=TriagePart.SETTLED)

    assert 'href="/runs/11111111111111111111111111111111"' in page
    assert "aaaaaaaaaaaa..bbbbbbbbbbbb" in page
    assert "--workload gpt:step --upload-url https://perf.example" in page
    assert "2 of 120 series" in page
    assert "1 other change of single series may be due to chance" in page
    assert "no commit is responsible" not in page
    assert "no commit is responsible" in settled_branch_page


def test_a_quiet_branch_says_so():
    page = branch_page(QUIET, url="https://perf.example")

    assert "No commit needs an A/B run" in page
    assert "Nothing to decide: no significant change in any series." in page
    assert "No check has been judged yet." in page


def test_a_page_says_that_another_search_is_due():
    due = branch_page(replace(QUIET, is_search_due=True), url="https://perf.example")

    assert "the next search is due within half a minute" in due
    assert "the next search" not in branch_page(QUIET, url="https://perf.example")


@pytest.mark.parametrize("form_token", ["", "f" * 64])
def test_a_name_of_others_is_text_of_the_page(grouped_changes, make_events, form_token):
    event = make_events.event_of(make_events.attributed(HOSTILE))
    view = replace(
        branch(HOSTILE, replace(grouped_changes, events=(event,))), repository="octo/<script>x"
    )
    hostile = tracked(1, workload=HOSTILE, reason=HOSTILE, owner=HOSTILE)
    note = EventNote(
        event_id=1, noted_at=MOMENT, author=HOSTILE, state=EventState.OPEN, note=HOSTILE
    )
    view = replace(view, events=(*view.events, hostile), notes=(note,))

    page = branch_page(view, url="https://perf.example/<script>", form_token=form_token)

    assert page.count("<script") == page.count('<script defer src="/static/') > 0
    assert "&lt;script&gt;alert(1)" in page


def test_a_page_has_some_events_and_leads_to_the_others():
    many = tuple(tracked(number + 1) for number in range(EVENTS_PER_PAGE + 1))

    page = branch_page(replace(QUIET, events=many), url="u")

    assert page.count("<article") == EVENTS_PER_PAGE
    assert 'href="/octo/models?part=to-decide&amp;order=newest&amp;page=2"' in page


def test_each_event_is_in_the_part_that_says_what_there_is_to_do():
    events = (
        tracked(1),
        tracked(2, state=EventState.ACKNOWLEDGED),
        tracked(3, state=EventState.EXPECTED, owner="alice", reason="safer math"),
        tracked(4, state=EventState.FIXED),
        tracked(5, harm=Harm.BETTER),
        tracked(6, is_detected=False),
    )
    view = replace(QUIET, events=events)
    numbers = {
        part: [
            number
            for number in range(1, 7)
            if f'id="event-{number}"' in branch_page(view, url="u", part=part)
        ]
        for part in TriagePart
    }

    assert list(numbers.values()) == [[1], [2], [3], [4, 5, 6]]
    page = branch_page(view, url="u", part=TriagePart.EXPECTED)
    assert "Safer math; owner alice." in page
    assert "Settled 3</a>" in page


def test_the_most_expensive_event_comes_first_where_that_is_asked_for():
    cheap = replace(
        tracked(1), priced_check=checked(PRICE), prices=(replace(PRICE, usd=Decimal(900)),)
    )
    dear = replace(tracked(2), priced_check=checked(PRICE), prices=(PRICE,))
    view = replace(QUIET, events=(tracked(3), cheap, dear))
    by_order = {order: branch_page(view, url="u", order=order) for order in EventOrder}

    places = {
        order: [page.index(f'id="event-{number}"') for number in (2, 1, 3)]
        for order, page in by_order.items()
    }
    assert places[EventOrder.MOST_EXPENSIVE] == sorted(places[EventOrder.MOST_EXPENSIVE])
    assert places[EventOrder.NEWEST] != sorted(places[EventOrder.NEWEST])
    assert "9,000" in by_order[EventOrder.MOST_EXPENSIVE]
    assert "Dearest first" not in branch_page(replace(QUIET, events=(tracked(3),)), url="u")


def test_only_a_maintainer_has_forms():
    view = replace(QUIET, events=(tracked(1), tracked(2)))
    with_forms, without = (branch_page(view, url="u", form_token=one) for one in ("f" * 64, ""))

    assert 'action="/octo/models/events/1/state"' in with_forms
    assert 'value="bisection"' in with_forms
    assert "<kbd>b</kbd>" in with_forms
    assert "<form" not in without.partition("<main")[2]
    assert "<kbd>b</kbd>" not in without
    assert "<kbd>j</kbd>" in without


def test_a_project_without_commits_says_how_to_measure_the_first():
    page = branch_page(replace(QUIET, search=replace(QUIET.search, commits=())), url="u")

    assert "on each push" in page


@pytest.mark.parametrize(
    ("unattested", "words"),
    [
        (0, "No commit of the default branch has been measured yet."),
        (1, "1 measured commit is on the default branch only according to its bundle"),
        (3, "3 measured commits are on the default branch only according to their bundles"),
    ],
)
def test_a_branch_without_places_says_how_many_commits_only_bundles_claim(unattested, words):
    search = replace(QUIET.search, commits=())
    view = replace(QUIET, search=search, unattested=unattested)
    page = branch_page(view, url="https://perf.example")

    assert words in page
    assert ("--trust runners" in page) is (unattested > 0)
