"""Detects the changes of a default branch's series, in the epochs of their machines."""

from collections.abc import Sequence

from perfledger.metrics import MetricKind
from perfledger_baselines.history.commits.attribution import ObservedSeries
from perfledger_baselines.history.detection.epoch_changes import detect_across_epochs
from perfledger_baselines.planning.epochs import epoch_starts
from perfledger_service.store.default_branch import BranchSeries


def observed_series(series: Sequence[BranchSeries]) -> tuple[ObservedSeries, ...]:
    """Return the series of a branch with their changes, in epochs and from one to the next."""
    times = [one.times for one in series]
    epochs = [epochs_of(one) for one in series]
    histories = detect_across_epochs([one.values for one in series], times=times, epochs=epochs)
    return tuple(
        ObservedSeries(
            series=one.series,
            commits=one.positions,
            changes=history.changes,
            environments=one.environments,
            transients=history.transients,
        )
        for one, history in zip(series, histories, strict=True)
    )


def epochs_of(series: BranchSeries) -> tuple[int, ...]:
    """Return the indices at which the epochs of a series begin, except the first.

    A kernel family that is new, or gone for good, begins one too: no noise is in its absence.
    """
    keys = series.environments
    if series.series.metric.kind is MetricKind.KERNEL:
        keys = tuple(
            f"{key}; {'absent' if value == 0 else 'present'}"
            for key, value in zip(keys, series.values, strict=True)
        )
    return epoch_starts(keys)
