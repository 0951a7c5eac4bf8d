"""Finds the series whose last observations need an A/B run."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from perfledger_baselines.history.commits.attribution import (
    Harm,
    ObservedSeries,
    Series,
    attributed_changes,
)
from perfledger_baselines.history.commits.confirmation_state import (
    CERTAINLY_BEFORE,
    AbCandidate,
    ConfirmationError,
)
from perfledger_baselines.history.commits.family_events import family_group
from perfledger_baselines.history.detection.changes import ChangePoint, ConfoundedChange, Suspect
from perfledger_baselines.history.detection.detect import detect_many
from perfledger_baselines.history.detection.tail_suspects import tail_suspects

# Observations. A suspect, or a change whose stretch is shorter than this, is measured at the newest
# commit, which all metrics of a workload share. An older change is measured where it happened:
# later changes must not mix with it, and its place is known by then.
YOUNG = 20
# In observations: how far before its place a step that a cycle hides may lie. In 50 made-up series
# it was 19 at most, and two in five places were late.
CONFOUNDED_REACH = 30
# The strength in standard errors that such a change point counts with: nearly every suspect has
# less.
STRENGTH_OF_CHANGE = 10.0


@dataclass(frozen=True, slots=True, kw_only=True)
class CandidateSeries:
    """A series with one value per observation, and the increasing positions of their commits.

    `devices` has the device of each observation, "" where unknown, and `times` when each was
    measured, in seconds since the epoch, NaN where unknown; empty if none is known. `epochs` are
    the indices at which the machines changed: no suspect spans one.
    """

    series: Series
    commits: tuple[int, ...]
    values: tuple[float, ...]
    pair_seconds: float  # what an A/B pair of the workload takes
    devices: tuple[str, ...] = ()
    times: tuple[float, ...] = ()
    epochs: tuple[int, ...] = ()


def ab_candidates(all_series: Sequence[CandidateSeries]) -> tuple[AbCandidate, ...]:
    """Return the candidates of each series: the suspect at its end, and its youngest changes.

    These are its youngest change and the youngest that a cycle may hide. However old they are, only
    an A/B turns them into an alert. A change relative to zero is not a candidate: no A/B could
    confirm it. Raises SeriesError, as `detect` does.
    """
    values = [series.values for series in all_series]
    times = [series.times for series in all_series]
    starts = [max(series.epochs, default=0) for series in all_series]
    odd_ends = tail_suspects(
        [one[start:] for one, start in zip(values, starts, strict=True)],
        times=[one[start:] for one, start in zip(times, starts, strict=True)],
    )
    findings_of_series = detect_many(
        values, times=times, epochs=[series.epochs for series in all_series]
    )
    candidates: list[AbCandidate] = []
    newest = [len(series.values) - 1 for series in all_series]
    for series, odd, findings, start, last in zip(
        all_series, odd_ends, findings_of_series, starts, newest, strict=True
    ):
        if odd is not None:
            odd_end = replace(odd, index=start + odd.index)
            candidates += _candidates(series, odd_end, last=last)
        for change in findings.changes[-1:]:
            candidates += _candidates_of_change(series, change)
        for hidden in findings.confounded_changes[-1:]:
            first = max(hidden.index - CONFOUNDED_REACH, _epoch_start(series, hidden.index))
            for change in findings.changes:  # an A/B from before it would measure it as well
                if change.latest < hidden.index:
                    first = max(first, change.latest + CERTAINLY_BEFORE)
            candidates += _candidates(series, _suspect(series, hidden, first=first), last=last)
    return tuple(candidates)


def family_candidates(families: Sequence[CandidateSeries]) -> tuple[AbCandidate, ...]:
    """Return the candidates of a workload's kernel families on one machine class.

    The youngest change of a family is one if it made the family slower, is significant among these
    families, and did not only move work from one to another. Their ends are none: of twenty
    families one or the other always ends oddly. Raises SeriesError, as `detect` does.
    """
    findings = detect_many(
        [family.values for family in families],
        times=[family.times for family in families],
        epochs=[family.epochs for family in families],
    )
    observed = [
        ObservedSeries(series=family.series, commits=family.commits, changes=each.changes)
        for family, each in zip(families, findings, strict=True)
    ]
    counted_changes = {member.change for member in family_group(observed).members}
    candidates: list[AbCandidate] = []
    for family, of_family in zip(families, map(attributed_changes, observed), strict=True):
        for change in of_family[-1:]:
            if change.harm is Harm.WORSE and change in counted_changes:
                candidates += _candidates_of_change(family, change.change)
    return tuple(candidates)


def _candidates_of_change(series: CandidateSeries, change: ChangePoint) -> Iterator[AbCandidate]:
    is_young = len(series.values) - change.index < YOUNG
    suspect = _suspect(series, change, first=change.index if is_young else change.earliest)
    last = len(series.values) - 1 if is_young else change.latest
    yield from _candidates(series, suspect, last=last)


def _epoch_start(series: CandidateSeries, index: int) -> int:
    """Return the first index of an observation's epoch."""
    return max((start for start in series.epochs if start <= index), default=0)


def _suspect(
    series: CandidateSeries, change: ChangePoint | ConfoundedChange, *, first: int
) -> Suspect:
    return Suspect(
        index=first,
        observations=len(series.values) - change.index,
        change=change.change,
        strength=STRENGTH_OF_CHANGE,
    )


def _candidates(series: CandidateSeries, suspect: Suspect, *, last: int) -> Iterator[AbCandidate]:
    """Yield the candidate that is measured at observation `last`, if an A/B could confirm it."""
    try:
        candidate = AbCandidate.from_suspect(
            replace(suspect, index=series.commits[suspect.index]),
            series=series.series,
            commits=series.commits[: last + 1],
            pair_seconds=series.pair_seconds,
        )
    except ConfirmationError:
        return
    odd_devices = {device for device in series.devices[suspect.index :] if device}
    yield replace(candidate, newest=series.commits[-1], devices=tuple(sorted(odd_devices)))
