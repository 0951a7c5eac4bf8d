"""A project's earlier uploads in, what they tell of the spread of the pairs to come out."""

from collections.abc import Collection, Iterable, Iterator

from sqlmodel import Session

from perfledger.bundle import Bundle, KnownSpread
from perfledger_baselines.pairing import judged_metrics
from perfledger_baselines.prior import PriorError, Priors, SpreadPrior, prior_from_checks
from perfledger_runners.hub_history import HubHistory
from perfledger_service.store.observations import series_key
from perfledger_service.store.spreads import (
    SeriesDifferences,
    differences_of_series,
    differences_on_devices,
)


def priors_of_bundle(session: Session, project_id: int, bundle: Bundle) -> Priors:
    """Return what the project's earlier uploads tell of the spreads of a bundle's tests.

    They are learnt from what is stored here; what the bundle says of them is the runner's word. Its
    number alone is taken: where the runner asked this history before its first pair, what was added
    since is left out, and the verdict rests on what the runner's stopping rested on.
    """
    series = {
        series_key(workload, metric.name, machine.device_class)
        for (workload, _), machine in bundle.machines().items()
        for metric in judged_metrics(bundle.metrics)
    }
    found = differences_of_series(session, project_id, series, until=bundle.plan.history)
    return {(one.workload, one.metric): prior for one, prior in _learnt(found)}


def history_on_devices(
    session: Session, project_id: int, device_classes: Collection[str]
) -> HubHistory:
    """Return what the project's uploads tell of the series on these classes of devices, or all."""
    found = differences_on_devices(session, project_id, device_classes)
    return HubHistory(
        history=max((one.newest for one in found), default=0),
        priors=tuple(
            KnownSpread(
                workload=one.workload,
                metric=one.metric,
                device_class=one.device_class,
                variance=prior.variance,
                degrees=prior.degrees,
                pairs=prior.values,
            )
            for one, prior in _learnt(found)
        ),
    )


def _learnt(
    found: Iterable[SeriesDifferences],
) -> Iterator[tuple[SeriesDifferences, SpreadPrior]]:
    """Yield the series that have enough of a history, with what it tells."""
    for one in found:
        try:
            yield one, prior_from_checks(one.uploads)
        except PriorError:
            continue
