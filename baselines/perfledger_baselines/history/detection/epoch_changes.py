"""Detects the changes of series whose machines changed: within epochs, and from one to the next."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import pairwise

from perfledger_baselines.history.detection.changes import ChangePoint, SeriesFindings
from perfledger_baselines.history.detection.detect import detect_many
from perfledger_baselines.history.detection.series_analysis import MIN_OBSERVATIONS

# A search of one epoch finds no step with fewer observations on one side. In noise of 1 %, it
# found 0 of 100 steps of 20 % with one or two of them, 53 with three, 99 with four.
MIN_LEVEL = 5


def detect_across_epochs(
    series: Sequence[Sequence[float]],
    *,
    errors: Sequence[Sequence[float]] = (),
    times: Sequence[Sequence[float]] = (),
    epochs: Sequence[Sequence[int]],
) -> tuple[SeriesFindings, ...]:
    """Return what `detect_many` finds in the epochs of each series, and the steps between epochs.

    Levels and noise are those of one epoch, except for a step from one epoch to the next, which is
    found in the whole series: the machine may have made it, or a commit. Steps in an epoch that is
    too short to be searched by itself, and those near an end of their epoch, are found there, too.
    Raises SeriesError, as `detect` does.
    """
    findings = detect_many(series, errors=errors, times=times, epochs=epochs)
    divided = [number for number, starts in enumerate(epochs) if starts]
    undivided = detect_many(
        [series[number] for number in divided],
        errors=[errors[number] for number in divided] if errors else (),
        times=[times[number] for number in divided] if times else (),
    )
    joined = list(findings)
    for number, of_whole in zip(divided, undivided, strict=True):
        within = findings[number].changes
        between = _steps_between(
            of_whole.changes, within, epochs=epochs[number], count=len(series[number])
        )
        changes = sorted((*within, *between), key=lambda change: change.index)
        joined[number] = replace(findings[number], changes=tuple(changes))
    return tuple(joined)


def _steps_between(
    changes: Sequence[ChangePoint],
    within: Sequence[ChangePoint],
    *,
    epochs: Sequence[int],
    count: int,
) -> Iterator[ChangePoint]:
    """Yield the changes between two epochs, near the end of one, and in short epochs.

    A change whose interval of places overlaps that of a change within an epoch is the same one, and
    is not repeated.
    """
    short = [
        (first, stop)
        for first, stop in pairwise((0, *epochs, count))
        if stop - first < MIN_OBSERVATIONS
    ]
    for change in changes:
        is_known = any(
            other.earliest <= change.latest and change.earliest <= other.latest for other in within
        )
        is_between = any(change.earliest <= start <= change.latest for start in epochs)
        is_in_short = any(first < change.index < stop for first, stop in short)
        is_near_end = any(abs(change.index - start) < MIN_LEVEL for start in epochs)
        if (is_between or is_near_end or is_in_short) and not is_known:
            yield change
