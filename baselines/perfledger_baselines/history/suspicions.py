"""Series with their commits in, the suspicions that the end of each raises out."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from perfledger_baselines.history.attribution import Series
from perfledger_baselines.history.detect import detect_many
from perfledger_baselines.history.docket import ConfirmationError, Suspicion
from perfledger_baselines.history.findings import ChangePoint, Suspect
from perfledger_baselines.history.suspects import suspect_many

# Observations. A change point of a shorter stretch is held against an A/B before anybody is called;
# `benchmarks/history_two_tiers.py` measures how often the two tiers are wrong with it.
YOUNG = 20
# Standard errors that such a change point counts as: it is surer than nearly every suspect is.
STRENGTH_OF_CHANGE = 10.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Watched:
    """A series with one value per observation, and the positions of their commits, increasing.

    `devices` are those that the observations were made on, "" where one does not say so.
    """

    series: Series
    commits: tuple[int, ...]
    values: tuple[float, ...]
    pair_seconds: float  # what an A/B pair of the workload takes
    devices: tuple[str, ...] = ()


def suspicions_of(watched: Sequence[Watched]) -> tuple[Suspicion, ...]:
    """Return what the last observations of each series make suspect, and its youngest change.

    A change that is relative to nothing is no suspicion: no A/B could confirm it. Raises
    SeriesError as `detect` does.
    """
    values = [one.values for one in watched]
    found: list[Suspicion] = []
    for one, odd, history in zip(watched, suspect_many(values), detect_many(values), strict=True):
        suspects = [odd] if odd is not None else []
        suspects += [_as_suspect(change, one) for change in history.changes[-1:]]
        found += _suspicions(one, suspects)
    return tuple(found)


def _as_suspect(change: ChangePoint, watched: Watched) -> Suspect:
    return Suspect(
        index=change.index,
        observations=len(watched.values) - change.index,
        change=change.change,
        strength=STRENGTH_OF_CHANGE,
    )


def _suspicions(watched: Watched, suspects: Sequence[Suspect]) -> Iterator[Suspicion]:
    for suspect in suspects:
        if suspect.observations >= YOUNG:
            continue
        try:
            suspicion = Suspicion.from_suspect(
                Suspect(
                    index=watched.commits[suspect.index],
                    observations=suspect.observations,
                    change=suspect.change,
                    strength=suspect.strength,
                ),
                series=watched.series,
                commits=watched.commits,
                pair_seconds=watched.pair_seconds,
            )
        except ConfirmationError:
            continue
        odd = {device for device in watched.devices[suspect.index :] if device}
        yield replace(suspicion, devices=tuple(sorted(odd)))
