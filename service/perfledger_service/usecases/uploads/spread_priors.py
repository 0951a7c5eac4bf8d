"""Learns the spread of pairs from a project's earlier uploads."""

from collections.abc import Collection, Iterable, Iterator

from sqlmodel import Session

from perfledger.bundle import Bundle, KnownSpread
from perfledger_baselines.estimation.pairing import judged_metrics
from perfledger_baselines.significance.spread_prior import (
    PriorError,
    Priors,
    SpreadPrior,
    prior_from_checks,
    priors_of_plan,
)
from perfledger_runners.bundles.service_history import ServiceHistory
from perfledger_service.store.observations import series_key
from perfledger_service.store.pair_spreads import (
    SeriesDifferences,
    differences_of_series,
    differences_on_devices,
)


def priors_of_bundle(session: Session, project_id: int, bundle: Bundle) -> Priors:
    """Return the spread priors of a bundle's tests from the project's earlier uploads.

    The spreads in the bundle are not trusted. Only its history number is used: entries added after
    the runner asked are left out, so that the verdict uses the same priors as the runner's stopping
    rule. For the same reason, a test whose spread the runner did not get has no prior here; a
    bundle without a history number has none at all.
    """
    if bundle.plan.history is None:
        return {}
    runner_priors = priors_of_plan(bundle.plan)
    series = {
        series_key(workload, metric.name, machine.machine_class)
        for (workload, _), machine in bundle.machines().items()
        for metric in judged_metrics(bundle.metrics)
    }
    differences = differences_of_series(session, project_id, series, until=bundle.plan.history)
    return {
        (one.workload, one.metric): prior
        for one, prior in _learn_priors(differences)
        if (one.workload, one.metric) in runner_priors
    }


def history_on_devices(
    session: Session, project_id: int, machine_classes: Collection[str]
) -> ServiceHistory:
    """Return the spread priors of the project's series, on these machine classes or on all."""
    differences = differences_on_devices(session, project_id, machine_classes)
    return ServiceHistory(
        history=max((one.newest for one in differences), default=0),
        priors=tuple(
            KnownSpread(
                workload=one.workload,
                metric=one.metric,
                machine_class=one.machine_class,
                variance=prior.variance,
                degrees=prior.degrees,
                pairs=prior.values,
            )
            for one, prior in _learn_priors(differences)
        ),
    )


def _learn_priors(
    differences: Iterable[SeriesDifferences],
) -> Iterator[tuple[SeriesDifferences, SpreadPrior]]:
    """Yield each series with enough history for a prior, and the prior."""
    for one in differences:
        try:
            yield one, prior_from_checks(one.uploads)
        except PriorError:
            continue
