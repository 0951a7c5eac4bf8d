"""Events as the page of their project lists them."""

from dataclasses import replace
from datetime import UTC, date, datetime
from decimal import Decimal

import pytest

from perfledger.records import short_sha
from perfledger_baselines.history.commits.attribution import Harm
from perfledger_baselines.history.commits.event_state import EventState
from perfledger_baselines.history.commits.tracked_event import (
    ChangedSeries,
    EventOccurrence,
    TrackedEvent,
    changed_series,
)
from perfledger_cost_models.quote import ChangePrice
from perfledger_service.rendering.history.triage import triage_row, yearly_usd
from perfledger_service.values.branch_views import AlertView, EventView, TriagedEvent
from perfledger_service.values.change_price import PricedCheck
from tests.service.suspects import an_alert

SHAS = tuple(f"{place + 10:x}" * 20 for place in range(40))
MOMENT = datetime(2026, 11, 20, 12, tzinfo=UTC)
PRICE = ChangePrice(
    workload="gpt:step",
    rate=None,
    device_hours_per_year=(1.0, 2.0, 3.0),
    hours_source="",
    usd=Decimal(9000),
    low=Decimal(7500),
    high=Decimal(11_000),
    is_detectable=True,
)


@pytest.fixture
def change(make_events):
    return make_events.event_of(make_events.attributed("gpt:step"))


@pytest.fixture
def view(change):
    occurrence = EventOccurrence(
        after_sha=SHAS[change.commits.first - 1],
        last_sha=SHAS[change.commits.last],
        series=changed_series(change),
    )
    event = TrackedEvent(id=3, harm=Harm.WORSE, occurrences=(occurrence,))
    return EventView(event=event, opened_at=MOMENT, changed_at=MOMENT)


@pytest.fixture
def event(view, change):
    return TriagedEvent(view=view, change=change)


def plain_text(text):
    return text.replace("\xa0", " ")


def checked(*prices):
    return PricedCheck(
        upload_id="2" * 32,
        head_sha="a" * 40,
        subject="",
        pull_request=None,
        is_on_branch=True,
        machine_class="cuda:H100:8",
        judged_on=date(2026, 11, 20),
        prices=prices,
    )


def test_an_event_has_its_number_state_and_what_was_said(event, view):
    said_event = replace(view.event, state=EventState.EXPECTED, reason="safer math", owner="alice")
    row = triage_row(replace(event, view=replace(view, event=said_event)), SHAS)

    assert (row.number, row.state, row.opened_on) == (3, "expected", "2026-11-20")
    assert row.terms == "safer math; owner alice"
    assert row.event.commits == f"{short_sha(SHAS[2])}..{short_sha(SHAS[3])}"
    assert row.event.summary == "1 of 120 series"
    assert row.machine_class == view.event.series[0].machine_class == "cpu:Test CPU:1"


def test_an_event_is_confirmed_by_an_ab_run_and_suspected_without(event, view):
    alert = AlertView(
        alert=an_alert(),
        upload_id="1" * 32,
        after_sha=SHAS[2],
        last_sha=SHAS[3],
        created_at=MOMENT,
    )
    suspected = triage_row(event, SHAS)
    confirmed = triage_row(replace(event, alerts=(alert,)), SHAS)
    of_pull_request = replace(view, event=replace(view.event, pull_request=7))

    assert (suspected.certainty, suspected.checks) == ("suspected", ())
    assert confirmed.certainty == "confirmed"
    assert [one.upload_id for one in confirmed.checks] == ["1" * 32]
    assert triage_row(replace(event, view=of_pull_request), SHAS).certainty == "confirmed"


def test_a_change_of_the_machine_is_neither_confirmed_nor_suspected(grouped_changes):
    (change,) = grouped_changes.environment_changes
    row = triage_row(TriagedEvent(view=None, change=change), SHAS)

    assert (row.event.what, row.certainty) == ("machine changed", "")
    assert (row.number, row.state, row.opened_on) == (None, "", "")


def test_an_event_that_the_newest_search_does_not_have_is_shown_as_it_was_stored(view):
    row = triage_row(TriagedEvent(view=view, change=None), SHAS)

    assert (row.event.what, row.event.tone) == ("worse", "regressed")
    assert row.event.summary == "1 series"
    assert row.event.commits == f"{short_sha(SHAS[2])}..{short_sha(SHAS[3])}"
    assert row.machine_class == view.event.series[0].machine_class
    [series] = row.event.moved_series
    assert (series.workload, plain_text(series.size), series.machine_class) == (
        "gpt:step",
        "+5.0 %",
        "",
    )


def test_an_event_of_a_pull_request_that_is_not_merged_names_it(view):
    series = ChangedSeries(
        workload="m:f",
        metric="step_time_p50",
        machine_class="cpu",
        before=1.0,
        after=float("inf"),
        change=float("inf"),
        low=0.1,
        high=float("inf"),
    )
    event = TrackedEvent(id=4, harm=Harm.WORSE, pull_request=7, measured_series=(series,))
    row = triage_row(TriagedEvent(view=replace(view, event=event), change=None), SHAS)

    assert (row.event.commits, row.pull_request) == ("#7", 7)
    assert row.event.moved_series[0].size == "not known"


def test_prices_have_their_interval_and_the_check_that_they_are_of(event):
    priced = replace(event, priced_check=checked(PRICE), prices=(PRICE,))

    [price] = triage_row(priced, SHAS).prices

    assert (plain_text(price.amount), plain_text(price.interval)) == (
        "+9,000 USD",
        "7,500 to 11,000",
    )
    assert (price.workload, price.upload_id) == ("gpt:step", "2" * 32)
    assert yearly_usd(priced) == 9000
    assert triage_row(event, SHAS).prices == ()
    assert yearly_usd(event) == 0
