"""Reduces a bundle to the observations of series that the store keeps."""

import math
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain

import numpy as np

from perfledger.bundle import Bundle
from perfledger.metrics import Metric, MetricKind, family_metric
from perfledger.records import Machine, Run, Side
from perfledger_baselines.estimation.estimators import point_estimates
from perfledger_baselines.estimation.kernel_families import history_families
from perfledger_baselines.estimation.typical_range import Range, typical_ranges
from perfledger_service.store.observations import Observation
from perfledger_service.usecases.inputs.run_values import medians


def observations_in(bundle: Bundle) -> tuple[Observation, ...]:
    """Return the observations of each workload's metrics on each side of a bundle.

    A check of a commit against itself has only base observations.
    """
    places: dict[tuple[str, Side], list[int]] = {}
    is_same = bundle.base.sha == bundle.head.sha
    # A new commit's position is after its base's, whichever side was measured first.
    for index, run in sorted(enumerate(bundle.runs), key=lambda item: item[1].side is Side.HEAD):
        if not (is_same and run.side is Side.HEAD):
            places.setdefault((run.workload, run.side), []).append(index)
    sha = {Side.BASE: bundle.base.sha, Side.HEAD: bundle.head.sha}
    machines = bundle.machines()
    estimate = medians if bundle.is_imported else point_estimates
    estimates = [(metric, estimate(bundle.runs, metric)) for metric in bundle.metrics]
    measured = [
        (metric, runs)
        for its_places in places.values()
        for metric, values in estimates
        if (
            runs := _measured_runs(
                metric, [(bundle.runs[place], values[place]) for place in its_places]
            )
        )
    ]
    ranges = typical_ranges([[value for _, value in runs] for _, runs in measured])
    return (
        *(
            _observation(metric, runs, interval, sha=sha, machines=machines)
            for (metric, runs), interval in zip(measured, ranges, strict=True)
        ),
        *_family_observations(bundle, sha, machines, is_same=is_same),
    )


def series_names(bundle: Bundle) -> frozenset[tuple[str, str, str]]:
    """Return workload, metric and machine class of the series of a bundle, except kernels'."""
    machines = bundle.machines()
    return frozenset(
        (run.workload, metric, machines[run.workload, run.side].machine_class)
        for run in bundle.runs
        for metric in run.samples
    )


def _measured_runs(
    metric: Metric, estimates: Sequence[tuple[Run, float | None]]
) -> list[tuple[Run, float]]:
    """Return the runs that have a value; for a tail, all or none, since slow runs may lack it.

    A tail, or a start, that a time of zero is part of has none.
    """
    measured = [
        (run, value) for run, value in estimates if value is not None and math.isfinite(value)
    ]
    is_cut = metric.kind is MetricKind.TAIL and len(measured) < len(estimates)
    return [] if is_cut else measured


def _observation(
    metric: Metric,
    measured: Sequence[tuple[Run, float]],
    interval: Range | None,
    *,
    sha: Mapping[Side, str],
    machines: Mapping[tuple[str, Side], Machine],
) -> Observation:
    if interval is None:  # too few processes, or zeros: the center has no spread
        center = float(np.median([value for _, value in measured]))
        interval = center, center, center
    low, center, high = interval
    first, _ = measured[0]
    return Observation(
        workload=first.workload,
        metric=metric,
        machine_class=machines[first.workload, first.side].machine_class,
        side=first.side,
        sha=sha[first.side],
        processes=len(measured),
        center=center,
        low=low,
        high=high,
        samples=tuple(
            chain.from_iterable(run.samples.get(metric.name, (value,)) for run, value in measured)
        ),
    )


def _family_observations(
    bundle: Bundle,
    sha: Mapping[Side, str],
    machines: Mapping[tuple[str, Side], Machine],
    *,
    is_same: bool,
) -> Iterator[Observation]:
    """Yield the seconds of kernel families, one value per profiled pair."""
    for windows in bundle.kernels:
        for family in history_families(windows):
            for side, seconds in ((Side.BASE, family.base), (Side.HEAD, family.head)):
                machine = machines.get((windows.workload, side))
                if machine is None or (is_same and side is Side.HEAD):
                    continue
                samples = tuple(seconds.tolist())
                center = float(np.median(seconds))
                (interval,) = typical_ranges([samples])
                low, center, high = interval or (center, center, center)
                yield Observation(
                    workload=windows.workload,
                    metric=family_metric(family.name),
                    machine_class=machine.machine_class,
                    side=side,
                    sha=sha[side],
                    processes=len(samples),
                    center=center,
                    low=low,
                    high=high,
                    samples=samples,
                )
