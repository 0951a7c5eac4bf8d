"""Follows the event of a pull request from push to push, and into the history when it is merged."""

from collections.abc import Collection, Sequence
from dataclasses import replace

from perfledger.records import short_sha
from perfledger_baselines.history.commits.attribution import Harm
from perfledger_baselines.history.commits.event_state import EventState
from perfledger_baselines.history.commits.tracked_event import (
    ChangedSeries,
    EventOccurrence,
    EventUpdate,
    SeriesKey,
    TrackedEvent,
)


def remeasure_event(
    event: TrackedEvent,
    series: Sequence[ChangedSeries],
    decided_keys: Collection[SeriesKey],
    *,
    head_sha: str,
) -> EventUpdate:
    """Return the event of a pull request after its head was measured again.

    `series` are those that changed, `decided_keys` all that were decided: the others, such as those
    of other machine classes, stay as they are.
    """
    is_over = event.state is EventState.FIXED or not event.is_detected
    earlier_series = (
        ()
        if is_over
        else tuple(one for one in event.measured_series if one.key not in decided_keys)
    )
    all_series = (*earlier_series, *series)
    if not all_series and is_over:
        return EventUpdate(event)
    if not all_series and event.harm is Harm.BETTER:
        return EventUpdate(replace(event, is_detected=False), f"gone at {short_sha(head_sha)}")
    if not all_series:
        fixed_event = replace(event.with_state(EventState.FIXED), fixed_sha=head_sha)
        return EventUpdate(fixed_event, f"gone at {short_sha(head_sha)}")
    after = replace(event, measured_series=all_series, is_detected=True)
    if event.state is EventState.FIXED:
        return EventUpdate(after.with_state(EventState.OPEN), f"is back at {short_sha(head_sha)}")
    if event.state is EventState.EXPECTED and (larger := after.beyond_expected):
        note = f"larger than expected: {larger}"
        return EventUpdate(after.with_state(EventState.OPEN), note)
    return EventUpdate(after, "" if event.is_detected else f"found at {short_sha(head_sha)}")


def merge_event(event: TrackedEvent, merged_sha: str) -> EventUpdate:
    """Return the event of a pull request as one of the branch, at the commit that it became."""
    occurrence = EventOccurrence(after_sha="", last_sha=merged_sha, series=event.measured_series)
    merged_event = replace(event, merged_sha=merged_sha, occurrences=(occurrence,))
    return EventUpdate(merged_event, f"merged as {short_sha(merged_sha)}")
