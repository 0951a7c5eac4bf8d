"""Stored events with what the newest search, A/B runs and checks know of them."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from perfledger.bundle import FleetUse, PricingConfig
from perfledger.metrics import STEP_TIME
from perfledger.records import Device, Machine
from perfledger_baselines.history.commits.attribution import Harm, ObservedSeries, Series
from perfledger_baselines.history.commits.grouping import GroupedChanges, group_changes
from perfledger_baselines.history.commits.tracked_event import (
    EventOccurrence,
    EventUpdate,
    TrackedEvent,
    changed_series,
)
from perfledger_baselines.history.detection.detect import detect
from perfledger_service.store.database import read_session, write_session
from perfledger_service.store.events.events import event_by_id, save_event
from perfledger_service.store.projects import project_named
from perfledger_service.usecases.cost.upload_prices import UploadPrices
from perfledger_service.usecases.events.triage import (
    project_triage,
    triaged_event,
    triaged_events,
    workload_events,
)
from perfledger_service.usecases.history.gate_health import ProjectGates
from perfledger_service.values.branch_views import (
    AlertView,
    BranchSearch,
    EventView,
    TriagePart,
)
from tests.service.suspects import MACHINE, WORKLOAD, an_alert

SHAS = tuple(f"{place + 10:x}" * 20 for place in range(40))
MOMENT = datetime(2026, 11, 20, 12, tzinfo=UTC)
WOBBLE = (0.0, 0.002, -0.002, 0.001, -0.001)
FLEET = FleetUse(workload="*", where="p5.48xlarge/on_demand", device_hours_per_year=1000.0)


@pytest.fixture(scope="module")
def change():
    """A step of 10 % after twenty commits, as a search finds it."""
    values = [(1.0 if place < 20 else 1.1) + WOBBLE[place % 5] for place in range(40)]
    series = ObservedSeries(
        series=Series(WORKLOAD, STEP_TIME, MACHINE),
        commits=tuple(range(40)),
        changes=detect(values).changes,
        environments=("",) * 40,
    )
    (event,) = group_changes([series]).events
    return event


@pytest.fixture(scope="module")
def search(change):
    return BranchSearch(
        commits=SHAS,
        grouped_changes=GroupedChanges(events=(change,), environment_changes=()),
        watched=1,
    )


@pytest.fixture(scope="module")
def view(change):
    occurrence = EventOccurrence(
        after_sha=SHAS[change.commits.first - 1],
        last_sha=SHAS[change.commits.last],
        series=changed_series(change),
    )
    event = TrackedEvent(id=3, harm=Harm.WORSE, occurrences=(occurrence,))
    return EventView(event=event, opened_at=MOMENT, changed_at=MOMENT)


def alert_of(change, *, workload=WORKLOAD, shift=0):
    """Return an alert of the change's commits, or of others."""
    return AlertView(
        alert=an_alert(workload),
        upload_id="1" * 32,
        after_sha=SHAS[change.commits.first - 1 + shift],
        last_sha=SHAS[change.commits.last + shift],
        created_at=MOMENT,
    )


def test_a_stored_event_has_the_details_of_the_search(search, view, change):
    (event,) = triaged_events(search, [view], [])

    assert (event.view, event.change, event.alerts) == (view, change, ())
    assert event.part is TriagePart.TO_DECIDE


def test_a_change_that_is_not_stored_yet_is_an_event(search, change):
    (event,) = triaged_events(search, [], [])

    assert (event.view, event.change, event.part) == (None, change, TriagePart.TO_DECIDE)


def test_an_event_of_other_series_or_commits_is_another_one(search, view, change):
    last = view.event.occurrences[-1]
    for other in (
        replace(last, last_sha=SHAS[39]),
        replace(last, series=(replace(last.series[0], workload="vit:step"),)),
    ):
        stored = replace(view, event=replace(view.event, occurrences=(other,)))
        events = triaged_events(search, [stored], [])

        assert {(one.view, one.change) for one in events} == {(stored, None), (None, change)}


def test_an_ab_run_confirms_an_event_of_its_series_and_commits_alone(search, view, change):
    right = alert_of(change)
    lost = replace(right, last_sha="0" * 40)
    wrong = (alert_of(change, shift=5), alert_of(change, workload="vit:step"), lost)

    (event,) = triaged_events(search, [view], [*wrong, right])
    (unstored,) = triaged_events(search, [], [*wrong, right])

    assert event.alerts == unstored.alerts == (right,)


def test_events_that_opened_last_come_first_and_of_one_search_those_of_newer_commits(search, view):
    older = replace(view.event.occurrences[-1], after_sha=SHAS[1], last_sha=SHAS[2])
    gone = replace(older, after_sha="0" * 40, last_sha="0f" * 20)
    later = MOMENT + timedelta(hours=1)
    stored = [
        view,
        replace(view, event=replace(view.event, id=9, occurrences=(older,))),
        replace(view, event=replace(view.event, id=8, occurrences=(gone,))),
        replace(
            view,
            event=replace(view.event, id=7, occurrences=(), pull_request=5),
            opened_at=later,
        ),
    ]

    numbers = [one.view.event.id for one in triaged_events(search, stored, [])]

    assert numbers == [7, 3, 9, 8]
    unstored = triaged_events(search, stored[1:], [])
    assert (unstored[0].view, unstored[0].change) == (None, search.grouped_changes.events[0])


@pytest.fixture
def priced(engine, now):
    """Return the events of the project, and the event of a number by itself."""

    def priced(number=None):
        with read_session(engine) as session:
            project = project_named(session, "octo/models")
            if number is not None:
                stored = event_by_id(session, project.id, number)
                return triaged_event(session, project, stored, prices=UploadPrices())[0]
            return project_triage(
                session, project, gates=ProjectGates(), prices=UploadPrices(), now=now
            )

    return priced


@pytest.fixture
def judged_check(engine, judged, make_bundle):
    judged(
        engine,
        make_bundle(
            machine=Machine(device=Device.CUDA, model="NVIDIA H100 80GB HBM3", count=8),
            pricing=PricingConfig(fleet=(FLEET,)),
        ),
    )


@pytest.mark.usefixtures("judged_check")
def test_an_event_has_the_price_of_the_newest_check_of_its_pull_request(priced):
    view = priced()

    [event] = view.events
    assert event.view.event.pull_request == 7
    [price] = event.prices
    assert price.workload == WORKLOAD
    assert price.low is not None
    assert price.low > 0
    assert [note.event_id for note in view.notes] == [event.view.event.id]
    assert priced(event.view.event.id).prices == event.prices


@pytest.mark.usefixtures("judged_check")
@pytest.mark.parametrize(
    "other",
    [
        {"series": {"machine_class": "cuda:NVIDIA A100:8"}},
        {"series": {"metric": "peak_memory"}},
        {"series": {"workload": "vit:step"}},
        {"event": {"harm": Harm.BETTER}},
        {"event": {"pull_request": 8}},
    ],
)
def test_an_event_has_no_price_of_another_change(engine, priced, now, other):
    [event] = priced().events
    tracked = event.view.event
    series = tuple(replace(one, **other.get("series", {})) for one in tracked.series)
    changed_event = replace(tracked, measured_series=series, **other.get("event", {}))
    with write_session(engine) as session:
        project = project_named(session, "octo/models")
        save_event(session, project.id, EventUpdate(changed_event), now=now)
        session.commit()

    [event] = priced().events
    assert (event.prices, event.priced_check) == ((), None)


@pytest.mark.usefixtures("judged_check")
def test_a_workload_has_its_own_events_alone(engine):
    with read_session(engine) as session:
        project = project_named(session, "octo/models")
        events, _ = workload_events(session, project, WORKLOAD)

        assert [one.view.event.pull_request for one in events] == [7]
        assert workload_events(session, project, WORKLOAD[:-1]) == ((), ())
