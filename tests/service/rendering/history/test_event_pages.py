from dataclasses import replace
from datetime import UTC, datetime

import pytest

from perfledger_baselines.history.commits.attribution import Harm
from perfledger_baselines.history.commits.event_state import EventState
from perfledger_baselines.history.commits.tracked_event import ChangedSeries, TrackedEvent
from perfledger_service.rendering.history.event_pages import event_page
from perfledger_service.values.branch_views import (
    EventHistory,
    EventNote,
    EventView,
    TriagedEvent,
)

MOMENT = datetime(2026, 11, 20, 12, tzinfo=UTC)
HOSTILE = "<script>alert(1)</script>"


@pytest.fixture
def event_view():
    series = ChangedSeries(
        workload=HOSTILE,
        metric="step_time_p50",
        machine_class="cpu:Test CPU:1",
        change=0.2,
        low=0.19,
        high=0.21,
        before=1.0,
        after=1.2,
    )
    event = TrackedEvent(id=3, harm=Harm.WORSE, measured_series=(series,), pull_request=7)
    event = replace(event, state=EventState.ACKNOWLEDGED, reason=HOSTILE, owner="alice")
    return EventView(event=event, opened_at=MOMENT, changed_at=MOMENT)


@pytest.fixture
def note():
    return EventNote(
        event_id=3, noted_at=MOMENT, author=HOSTILE, state=EventState.ACKNOWLEDGED, note=HOSTILE
    )


def test_an_event_has_its_history_and_a_form_for_those_who_may_set_it(event_view, note):
    history = EventHistory(repository="octo/models", view=event_view, notes=(note,))
    event = TriagedEvent(view=event_view, change=None)
    with_form, without_form = (
        event_page(history, event, (), form_token=one) for one in ("f" * 64, "")
    )

    assert "Event 3" in with_form
    assert "+20" in with_form
    assert 'action="/octo/models/events/3/state"' in with_form
    assert "<option selected>acknowledged</option>" in with_form
    assert "<option>fixed" not in with_form
    assert 'action="/octo/models/events/3/jobs"' in with_form
    assert "/events/3/" not in without_form
    assert 'href="/octo/models/pull/7"' in with_form
    assert "<script>" not in with_form
