"""Events from one search to the next: found, undone, back, machines', expected and gone."""

from dataclasses import replace
from datetime import date

import pytest

from perfledger.metrics import KERNELS, STEP_TIME, family_metric
from perfledger.records import short_sha
from perfledger_baselines.history.commits.attribution import (
    CommitRange,
    Harm,
    Series,
    attributed_changes,
)
from perfledger_baselines.history.commits.confirmation_state import AbCandidate
from perfledger_baselines.history.commits.event_state import EventState
from perfledger_baselines.history.commits.event_tracking import (
    SearchedHistory,
    expire_event,
    is_expected,
    place_of,
    track_events,
)
from perfledger_baselines.history.commits.grouping import group_changes
from perfledger_baselines.history.commits.pull_request_event import merge_event
from perfledger_baselines.history.commits.tracked_event import ChangedSeries, TrackedEvent

TODAY = date(2026, 11, 23)
COMMITS = [f"{commit:040x}" for commit in range(100)]


class Tracker:
    """The stored events of a history that is searched again and again."""

    def __init__(self):
        self.events = []
        self.notes = []

    def search(self, *histories, today=TODAY, commits=COMMITS):
        """Search these series, store what changed, and return the notes of it."""
        history = SearchedHistory(
            commits=commits,
            places={sha: place for place, sha in enumerate(commits)},
            changes=group_changes(histories),
            series=histories,
        )
        updates = track_events(tuple(self.events), history, today=today)
        for update in updates:
            event = update.event
            if event.id:
                self.events[event.id - 1] = event
            else:
                self.events.append(replace(event, id=len(self.events) + 1))
        return [update.note for update in updates]

    def set(self, number, state, **values):
        self.events[number - 1] = self.events[number - 1].with_state(
            state, set_by="alice", **values
        )

    @property
    def states(self):
        return [event.state for event in self.events]


@pytest.fixture
def tracker():
    return Tracker()


def step(past, index, before, after):
    """Return a change point from one level to another."""
    size = after / before - 1
    return replace(past.change(index, size=size), before=before, after=after)


def test_a_new_change_is_an_open_event_once(tracker, past):
    history = past.history("m:f", past.change(40))

    assert tracker.search(history) == ["found"]
    assert tracker.search(history) == []
    [event] = tracker.events
    assert (event.state, event.harm) == (EventState.OPEN, Harm.WORSE)
    assert (event.occurrences[0].after_sha, event.occurrences[0].last_sha) == (
        COMMITS[39],
        COMMITS[40],
    )


def test_what_may_be_chance_is_no_event(tracker, past):
    assert tracker.search(past.history("m:f", past.change(40, p_value=0.5))) == []


def test_a_place_that_moves_by_a_commit_is_the_same_event(tracker, past):
    tracker.search(past.history("m:f", past.change(40)))
    tracker.set(1, EventState.ACKNOWLEDGED)

    assert tracker.search(past.history("m:f", past.change(41))) == [""]
    assert tracker.states == [EventState.ACKNOWLEDGED]
    assert tracker.events[0].occurrences[0].last_sha == COMMITS[41]


def test_another_series_at_the_same_place_joins_the_event(tracker, past):
    tracker.search(past.history("m:f", past.change(40)))
    tracker.search(past.history("m:f", past.change(40)), past.history("m:g", past.change(40)))

    [event] = tracker.events
    assert {one.workload for one in event.series} == {"m:f", "m:g"}


@pytest.mark.parametrize("state", [EventState.OPEN, EventState.ACKNOWLEDGED, EventState.EXPECTED])
def test_a_later_change_that_undoes_it_fixes_the_event_and_is_none_of_its_own(tracker, past, state):
    slower, back = step(past, 40, 1.0, 1.1), step(past, 60, 1.1, 1.0)
    tracker.search(past.history("m:f", slower))
    tracker.set(1, state)

    assert tracker.search(past.history("m:f", slower, back)) == [
        f"undone by {short_sha(COMMITS[60])}"
    ]
    assert tracker.states == [EventState.FIXED]
    assert tracker.events[0].fixed_sha == COMMITS[60]


def test_a_change_that_is_found_together_with_what_undid_it_is_fixed_at_once(tracker, past):
    tracker.search(past.history("m:f", step(past, 40, 1.0, 1.1), step(past, 60, 1.1, 1.0)))

    assert tracker.states == [EventState.FIXED]


def test_half_of_it_undone_is_not_fixed_and_an_improvement_of_its_own(tracker, past):
    tracker.search(past.history("m:f", step(past, 40, 1.0, 1.1), step(past, 60, 1.1, 1.05)))

    assert tracker.states == [EventState.OPEN, EventState.OPEN]
    assert [event.harm for event in tracker.events] == [Harm.WORSE, Harm.BETTER]


def test_one_series_of_two_undone_is_not_fixed(tracker, past):
    slower, back = step(past, 40, 1.0, 1.1), step(past, 60, 1.1, 1.0)
    tracker.search(past.history("m:f", slower), past.history("m:g", slower))
    tracker.search(past.history("m:f", slower, back), past.history("m:g", slower))

    assert tracker.states[0] is EventState.OPEN


def test_what_was_undone_and_comes_back_is_the_same_event_opened_again(tracker, past):
    slower, back = step(past, 40, 1.0, 1.1), step(past, 60, 1.1, 1.0)
    tracker.search(past.history("m:f", slower, back))
    again = past.history("m:f", slower, back, step(past, 80, 1.0, 1.1))

    assert tracker.search(again) == ["is back"]
    assert tracker.search(again) == []
    [event] = tracker.events
    assert event.state is EventState.OPEN
    assert [one.last_sha for one in event.occurrences] == [COMMITS[40], COMMITS[80]]


def test_a_fix_that_more_data_does_not_confirm_opens_the_event_again(tracker, past):
    slower = step(past, 40, 1.0, 1.1)
    tracker.search(past.history("m:f", slower, step(past, 60, 1.1, 1.0)))

    assert tracker.search(past.history("m:f", slower)) == ["is back"]
    assert tracker.states == [EventState.OPEN]


def test_an_old_fix_that_the_search_no_longer_reaches_stays(tracker, past):
    tracker.search(past.history("m:f", step(past, 40, 1.0, 1.1), step(past, 60, 1.1, 1.0)))

    assert tracker.search(past.history("m:f", commits=range(70, 100))) == []
    assert tracker.states == [EventState.FIXED]


def test_a_change_that_more_data_dissolves_is_no_longer_found_and_may_be_again(tracker, past):
    history = past.history("m:f", past.change(40))
    tracker.search(history)

    assert tracker.search(past.history("m:f")) == ["no longer found"]
    assert not tracker.events[0].is_detected
    tracker.search(history)
    assert tracker.events[0].is_detected


def test_an_event_whose_commits_left_the_branch_is_left_as_it_is(tracker, past):
    tracker.search(past.history("m:f", past.change(40)))
    others = [f"{commit + 500:040x}" for commit in range(100)]

    assert tracker.search(past.history("m:f"), commits=others) == []


def test_what_the_machines_changed_is_no_regression_until_a_commit_is_to_blame(tracker, past):
    machines = [past.history(f"m{one}:f", past.change(40), driver_at=40) for one in range(2)]
    code = [past.history(f"m{one}:f", past.change(40)) for one in range(2)]

    tracker.search(*machines)
    assert tracker.states == [EventState.ENVIRONMENT]
    assert tracker.search(*code) == ["not a change of the machines"]
    assert tracker.search(*machines) == ["the machines changed there"]
    tracker.set(1, EventState.OPEN)
    assert tracker.search(*machines) == []


def test_an_expected_event_that_grows_is_open_again(tracker, past):
    tracker.search(past.history("m:f", past.change(40, size=0.05)))
    tracker.set(1, EventState.EXPECTED)

    assert tracker.search(past.history("m:f", past.change(40, size=0.04))) == [""]
    assert tracker.search(past.history("m:f", past.change(40, size=0.06))) == [
        "larger than expected: m:f"
    ]
    assert tracker.states == [EventState.OPEN]


def test_another_workload_is_not_part_of_what_was_expected(tracker, past):
    tracker.search(past.history("m:f", past.change(40)))
    tracker.set(1, EventState.EXPECTED)

    notes = tracker.search(
        past.history("m:f", past.change(40)), past.history("m:g", past.change(40))
    )

    assert notes == ["larger than expected: m:g"]


def test_an_expected_event_is_open_after_its_last_day(tracker, past):
    history = past.history("m:f", past.change(40))
    tracker.search(history)
    tracker.set(1, EventState.EXPECTED, until=TODAY)

    assert tracker.search(history) == []
    [note] = tracker.search(history, today=date(2026, 11, 24))
    assert note == "was expected only until 2026-11-23"
    assert expire_event(tracker.events[0], today=date(2030, 1, 1)) is None


@pytest.mark.parametrize("is_occurring", [True, False])
def test_an_expectation_ends_also_where_the_event_is_not_found_any_more(
    tracker, past, is_occurring
):
    tracker.search(past.history("m:f", past.change(40)))
    tracker.set(1, EventState.EXPECTED, until=TODAY)
    if not is_occurring:
        tracker.events = [replace(tracker.events[0], occurrences=())]

    [note] = tracker.search(past.history("m:f"), today=date(2026, 11, 24))
    assert note == "was expected only until 2026-11-23"
    assert tracker.states == [EventState.OPEN]


CHANGED = ChangedSeries(
    workload="m:f",
    metric=STEP_TIME.name,
    machine_class="cuda:H100:1",
    before=1.0,
    after=1.05,
    change=0.05,
    low=0.04,
    high=0.06,
)
PULLED = TrackedEvent(harm=Harm.WORSE, id=1, pull_request=7, measured_series=(CHANGED,))


def test_a_merged_pull_request_is_the_change_that_the_history_shows_there(tracker, past):
    accepted = PULLED.with_state(EventState.EXPECTED, set_by="alice")
    tracker.events = [merge_event(accepted, COMMITS[40]).event]

    assert tracker.search(past.history("m:f", past.change(41, size=0.055))) == [""]
    assert tracker.states == [EventState.EXPECTED]
    assert tracker.events[0].merged_sha == COMMITS[40]


def test_a_merge_that_the_history_is_too_noisy_to_show_stays(tracker, past):
    tracker.events = [merge_event(PULLED, COMMITS[40]).event]

    assert tracker.search(past.history("m:f")) == []


@pytest.mark.parametrize(
    ("change", "commit", "is_covered"),
    [(0.05, 40, True), (0.08, 40, True), (0.12, 40, False), (-0.05, 40, False), (0.05, 60, False)],
)
def test_a_suspect_is_expected_where_it_was_accepted_and_no_larger(change, commit, is_covered):
    accepted = PULLED.with_state(EventState.EXPECTED, set_by="alice")
    event = merge_event(accepted, COMMITS[40]).event
    candidate = AbCandidate(
        series=Series("m:f", STEP_TIME, "cuda:H100:1"),
        good=commit - 1,
        bad=commit,
        newest=commit,
        change=change,
        strength=5.0,
        pair_seconds=1.0,
    )
    places = {sha: place for place, sha in enumerate(COMMITS)}

    assert is_expected(candidate, event, places) is is_covered
    assert not is_expected(candidate, replace(event, state=EventState.OPEN), places)


@pytest.mark.parametrize(
    ("commits", "is_gone"),
    [
        (range(39, 100), True),
        (range(40, 100), False),
        (range(41), True),
        (range(40), False),
    ],
)
def test_only_a_search_with_commits_on_either_side_finds_an_event_no_longer(
    tracker, past, commits, is_gone
):
    tracker.search(past.history("m:f", past.change(40)))

    assert tracker.search(past.history("m:f", commits=commits)) == ["no longer found"] * is_gone


def test_of_several_series_the_last_one_undone_fixes_the_event(tracker, past):
    slower = step(past, 40, 1.0, 1.1)
    tracker.search(past.history("m:f", slower), past.history("m:g", slower))
    tracker.search(
        past.history("m:f", slower, step(past, 60, 1.1, 1.0)),
        past.history("m:g", slower, step(past, 70, 1.1, 1.0)),
    )

    assert tracker.events[0].fixed_sha == COMMITS[70]


@pytest.mark.parametrize(
    ("after", "first"), [(COMMITS[36], 37), (COMMITS[39], 40), ("gone", 40), (COMMITS[50], 40)]
)
def test_the_place_of_an_occurrence_begins_after_its_last_good_commit(tracker, past, after, first):
    tracker.search(past.history("m:f", past.change(40)))
    places = {sha: place for place, sha in enumerate(COMMITS)}
    occurrence = replace(tracker.events[0].occurrences[0], after_sha=after)

    assert place_of(occurrence, places) == CommitRange(first, 40)
    assert place_of(replace(occurrence, last_sha="gone"), places) is None


def test_a_step_that_recovered_is_fixed_though_one_of_its_kernels_stays_slower(tracker, past):
    gelu = past.history("m:f", step(past, 40, 1.0, 1.5), metric=family_metric("gelu"))
    worse = past.history("m:f", step(past, 40, 1.0, 1.1))
    fixed = past.history("m:f", step(past, 40, 1.0, 1.1), step(past, 70, 1.1, 1.0))

    tracker.search(worse, gelu)
    tracker.search(fixed, gelu)

    assert tracker.states == [EventState.FIXED]
    assert {one.metric for one in tracker.events[0].series} == {"step_time_p50", "kernel:gelu"}


def test_a_kernel_family_that_becomes_slower_later_brings_no_recovered_step_back(tracker, past):
    gelu, family = step(past, 40, 1.0, 1.5), {"metric": family_metric("gelu")}
    fixed = past.history("m:f", step(past, 40, 1.0, 1.1), step(past, 60, 1.1, 1.0))
    tracker.search(fixed, past.history("m:f", gelu, **family))
    assert tracker.states == [EventState.FIXED]

    tracker.search(fixed, past.history("m:f", gelu, step(past, 80, 1.5, 2.0), **family))

    assert tracker.states == [EventState.FIXED, EventState.OPEN]
    assert [one.metric for one in tracker.events[1].series] == ["kernel:gelu"]


def test_a_step_that_another_kernel_family_made_fast_again_is_undone_and_no_gain(tracker, past):
    slower, back = step(past, 40, 1.0, 1.1), step(past, 60, 1.1, 1.0)
    tracker.search(past.history("m:f", slower))

    softmax = past.history("m:f", step(past, 60, 2.0, 1.0), metric=family_metric("softmax"))
    tracker.search(past.history("m:f", slower, back), softmax)

    assert tracker.states == [EventState.FIXED]


def test_an_event_of_a_kernel_family_alone_is_fixed_by_that_family(tracker, past):
    gelu = {"metric": family_metric("gelu")}
    tracker.search(past.history("m:f", step(past, 40, 1.0, 1.5), **gelu))
    assert tracker.states == [EventState.OPEN]

    tracker.search(past.history("m:f", step(past, 40, 1.0, 1.5), step(past, 70, 1.5, 1.0), **gelu))
    assert tracker.states == [EventState.FIXED]


def test_the_kernels_of_a_merged_pull_request_are_the_family_that_the_history_shows(tracker, past):
    (change,) = attributed_changes(past.history("m:f", past.change(40), metric=KERNELS))
    kernels = ChangedSeries.from_attributed(change)
    event = TrackedEvent(harm=Harm.WORSE, id=1, pull_request=7, measured_series=(kernels,))
    tracker.events.append(merge_event(event, COMMITS[40]).event)

    tracker.search(past.history("m:f", past.change(40), metric=family_metric("gelu")))

    [merged] = tracker.events
    assert [one.metric for one in merged.series] == ["kernel:gelu"]
    assert (merged.pull_request, merged.merged_sha) == (7, COMMITS[40])
