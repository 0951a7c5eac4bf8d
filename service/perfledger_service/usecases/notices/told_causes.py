"""Remembers which event a target was notified of, to recognize it after regrouping."""

from collections.abc import Mapping
from dataclasses import dataclass

import msgspec

from perfledger_baselines.history.commits.attribution import PLACE_ERROR_COMMITS
from perfledger_baselines.history.commits.event_tracking import place_of
from perfledger_baselines.history.commits.tracked_event import (
    EventOccurrence,
    SeriesKey,
    TrackedEvent,
)


@dataclass(frozen=True, slots=True)
class ToldCause:
    """The place and the series of an event when its notice was sent."""

    after_sha: str
    last_sha: str
    keys: tuple[SeriesKey, ...]


_CAUSE_DECODER = msgspec.json.Decoder(ToldCause)


def told_cause(event: TrackedEvent) -> str:
    """Return what is remembered of an event, as JSON."""
    place = event.occurrences[-1]
    cause = ToldCause(place.after_sha, place.last_sha, tuple(sorted(place.keys)))
    return msgspec.json.encode(cause).decode()


def is_told_cause(cause_json: str, event: TrackedEvent, places: Mapping[str, int]) -> bool:
    """Return whether an event shares a series and a branch place with the remembered one."""
    cause = _CAUSE_DECODER.decode(cause_json)
    if not set(cause.keys) & event.occurrences[-1].keys:
        return False
    told_place = EventOccurrence(after_sha=cause.after_sha, last_sha=cause.last_sha, series=())
    told_commits, commits = place_of(told_place, places), place_of(event.occurrences[-1], places)
    if told_commits is None or commits is None:
        return False
    return told_commits.distance(commits) <= PLACE_ERROR_COMMITS
