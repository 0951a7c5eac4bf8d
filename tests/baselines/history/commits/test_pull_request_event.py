"""The event of a pull request: regressed, gone, back, and more than was accepted."""

from dataclasses import replace

from perfledger.metrics import STEP_TIME
from perfledger_baselines.history.commits.attribution import Harm
from perfledger_baselines.history.commits.event_state import EventState
from perfledger_baselines.history.commits.pull_request_event import merge_event, remeasure_event
from perfledger_baselines.history.commits.tracked_event import ChangedSeries, TrackedEvent

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


def remeasured(event, *series, harm=Harm.WORSE):
    update = remeasure_event(replace(event, harm=harm), series, {CHANGED.key}, head_sha="b" * 40)
    return update.event.state, update.event.is_detected, update.note


def test_a_pull_request_that_no_longer_regresses_is_fixed_and_may_come_back():
    fixed = remeasure_event(PULLED, (), {CHANGED.key}, head_sha="b" * 40).event

    assert (fixed.state, fixed.fixed_sha) == (EventState.FIXED, "b" * 40)
    assert remeasured(fixed, CHANGED) == (EventState.OPEN, True, "is back at bbbbbbbbbbbb")
    assert remeasured(fixed) == (EventState.FIXED, True, "")


def test_a_pull_request_that_no_longer_improves_is_no_longer_found():
    assert remeasured(PULLED, harm=Harm.BETTER) == (EventState.OPEN, False, "gone at bbbbbbbbbbbb")


def test_what_another_machine_class_measured_of_a_pull_request_stays():
    other = replace(CHANGED, machine_class="cuda:A100:1")
    event = replace(PULLED, measured_series=(CHANGED, other))

    [left] = remeasure_event(event, (), {CHANGED.key}, head_sha="b" * 40).event.measured_series
    assert left == other


def test_a_push_that_regresses_more_than_was_accepted_opens_the_event():
    accepted = PULLED.with_state(EventState.EXPECTED, set_by="alice")

    assert remeasured(accepted, replace(CHANGED, change=0.06))[0] is EventState.EXPECTED
    assert remeasured(accepted, replace(CHANGED, change=0.2, low=0.1, high=0.3)) == (
        EventState.OPEN,
        True,
        "larger than expected: m:f",
    )


def test_the_event_of_a_merge_is_in_the_history_at_its_commit():
    merged = merge_event(PULLED, "c" * 40).event

    assert merged.merged_sha == "c" * 40
    assert merged.series == PULLED.measured_series
