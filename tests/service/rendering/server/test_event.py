"""Events as people list them, in every format; all made up here."""

import math
from dataclasses import replace
from datetime import UTC, date, datetime

import pytest

from perfledger_baselines.history.commits.attribution import Harm
from perfledger_baselines.history.commits.event_state import EventState
from perfledger_baselines.history.commits.tracked_event import (
    ChangedSeries,
    EventOccurrence,
    TrackedEvent,
)
from perfledger_service.rendering.layout import writers
from perfledger_service.rendering.server.event import event_document, events_document
from perfledger_service.values.branch_views import EventHistory, EventList, EventNote, EventView
from tests.service.rendering.terminal_lines import lines_at

MOMENT = datetime(2026, 11, 22, 9, 30, tzinfo=UTC)
SMALL = ChangedSeries(
    workload="m:f",
    metric="step_time_p50",
    machine_class="cpu",
    before=1.0,
    after=1.1,
    change=0.1,
    low=0.09,
    high=0.11,
)
LARGE = replace(SMALL, workload="m:g", after=1.2, change=0.2, low=0.18, high=0.22)
UNKNOWN = replace(SMALL, workload="m:h", change=math.nan, low=math.nan, high=math.nan)
OPEN = TrackedEvent(harm=Harm.WORSE, id=3, pull_request=7, measured_series=(SMALL, LARGE))
EXPECTED = TrackedEvent(
    harm=Harm.WORSE,
    id=2,
    state=EventState.EXPECTED,
    set_by="octocat",
    reason="a larger batch",
    owner="nlp",
    until=date(2026, 12, 31),
    occurrences=(
        EventOccurrence(after_sha="", last_sha="c" * 40, series=(LARGE,)),
        EventOccurrence(after_sha="a" * 40, last_sha="b" * 40, series=(SMALL,)),
    ),
)
GONE = replace(OPEN, id=1, is_detected=False, measured_series=(UNKNOWN,))


def view_of(event):
    return EventView(event=event, opened_at=MOMENT, changed_at=MOMENT)


def every_format(document):
    return "\n".join(
        (
            lines_at(writers.to_terminal(document), width=160),
            writers.to_markdown(document),
            writers.to_csv(document),
            writers.to_json(document),
        )
    )


def test_events_are_listed_with_their_largest_change_and_place(matches_golden):
    views = tuple(map(view_of, (OPEN, EXPECTED, GONE)))
    events = EventList(repository="octo/models", events=views, has_more=True)

    matches_golden("events.txt", every_format(events_document(events)))


def test_an_event_is_shown_with_what_happened_to_it(matches_golden):
    event_note = EventNote(
        event_id=2, noted_at=MOMENT, author="octocat", state=EventState.EXPECTED, note="larger"
    )
    stored_event = replace(event_note, author="", state=EventState.OPEN, note="found in a history")
    history = EventHistory(
        repository="octo/models", view=view_of(EXPECTED), notes=(stored_event, event_note)
    )

    matches_golden("event.txt", every_format(event_document(history)))


@pytest.mark.parametrize(
    ("series", "words"),
    [((SMALL,), "m:f "), ((SMALL, LARGE), "m:g and 1 more"), ((UNKNOWN,), "m:h "), ((), "unknown")],
)
def test_the_workload_that_changed_most_stands_for_the_others(series, words):
    view = view_of(replace(OPEN, measured_series=series))
    document = events_document(EventList(repository="octo/models", events=(view,)))

    assert words in lines_at(writers.to_terminal(document), width=160)


def test_an_event_of_an_import_is_said_to_be_one():
    imported = replace(SMALL, machine_class="imported:asv, box:1")
    views = tuple(view_of(replace(OPEN, measured_series=(one,))) for one in (SMALL, imported))
    document = events_document(EventList(repository="octo/models", events=views))

    assert lines_at(writers.to_terminal(document), width=160).count("imported") == 1
