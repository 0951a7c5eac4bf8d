"""Finds the series whose last observations need an A/B run."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from perfledger_baselines.history.commits.attribution import Series
from perfledger_baselines.history.commits.confirmation_state import AbCandidate, ConfirmationError
from perfledger_baselines.history.detection.changes import ChangePoint, Suspect
from perfledger_baselines.history.detection.detect import detect_many
from perfledger_baselines.history.detection.tail_suspects import tail_suspects

# Observations. A change point of a shorter stretch is confirmed by an A/B before it is an alert;
# `benchmarks/history_two_tiers.py` measures how often the two tiers together are wrong.
YOUNG = 20
# Standard errors that such a change point counts as: nearly every suspect has fewer.
STRENGTH_OF_CHANGE = 10.0


@dataclass(frozen=True, slots=True, kw_only=True)
class CandidateSeries:
    """A series with one value per observation, and the increasing positions of their commits.

    `devices` are those of the observations, "" where unknown.
    """

    series: Series
    commits: tuple[int, ...]
    values: tuple[float, ...]
    pair_seconds: float  # what an A/B pair of the workload takes
    devices: tuple[str, ...] = ()


def ab_candidates(all_series: Sequence[CandidateSeries]) -> tuple[AbCandidate, ...]:
    """Return the candidates at the end of each series: suspects, and its youngest change.

    A change relative to zero is not a candidate: no A/B could confirm it. Raises SeriesError as
    `detect` does.
    """
    values = [series.values for series in all_series]
    candidates: list[AbCandidate] = []
    for series, odd, findings in zip(
        all_series, tail_suspects(values), detect_many(values), strict=True
    ):
        suspects = [odd] if odd is not None else []
        suspects += [_as_suspect(change, series) for change in findings.changes[-1:]]
        candidates += _candidates(series, suspects)
    return tuple(candidates)


def _as_suspect(change: ChangePoint, series: CandidateSeries) -> Suspect:
    return Suspect(
        index=change.index,
        observations=len(series.values) - change.index,
        change=change.change,
        strength=STRENGTH_OF_CHANGE,
    )


def _candidates(series: CandidateSeries, suspects: Sequence[Suspect]) -> Iterator[AbCandidate]:
    for suspect in suspects:
        if suspect.observations >= YOUNG:
            continue
        try:
            candidate = AbCandidate.from_suspect(
                Suspect(
                    index=series.commits[suspect.index],
                    observations=suspect.observations,
                    change=suspect.change,
                    strength=suspect.strength,
                ),
                series=series.series,
                commits=series.commits,
                pair_seconds=series.pair_seconds,
            )
        except ConfirmationError:
            continue
        odd = {device for device in series.devices[suspect.index :] if device}
        yield replace(candidate, devices=tuple(sorted(odd)))
