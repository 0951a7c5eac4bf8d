"""Computes the waits of a number of devices, and the devices that meet a wait target.

Random arrivals and exponential services (M/M/c) have exact answers. A log's own variation enters by
Allen and Cunneen's approximation, which is marked as screening. Confirm it by simulation.
"""

import math
from dataclasses import dataclass

from perfledger_cost_models.queueing.arrival_statistics import ArrivalStatistics
from perfledger_cost_models.queueing.queue_formulas import (
    QueueError,
    QueueWaits,
    fewest_servers,
    ggc,
    mmc,
    mmc_chance_above,
    mmc_quantiles_s,
)

# Shares of the curve of waits.
CURVE = (*(index / 100 for index in range(100)), 0.995, 0.999)
QUANTILES = (0.5, 0.95, 0.99)


@dataclass(frozen=True, slots=True, kw_only=True)
class WaitTarget:
    """The longest wait that a share of all arrivals may have."""

    wait_s: float
    share: float


@dataclass(frozen=True, slots=True, kw_only=True)
class QueuePlan:
    """A queue's waits with a number of devices; figures are None if it grows without bound."""

    arrivals: ArrivalStatistics
    devices: int
    load: float  # mean number of busy devices, if there are enough
    exact: QueueWaits | None  # M/M/c
    screening: QueueWaits | None  # G/G/c, with the variation of the log
    quantiles_s: tuple[tuple[float, float], ...]  # M/M/c: share, wait
    curve_s: tuple[float, ...]  # M/M/c, at the shares of CURVE
    target: WaitTarget | None
    met_share: float | None  # share of arrivals that meet the target
    devices_needed: int | None  # to meet the target, M/M/c


def queue_plan(
    arrivals: ArrivalStatistics, *, devices: int, target: WaitTarget | None = None
) -> QueuePlan:
    """Return the waits of a queue. Raises QueueError for a target that no queue can meet."""
    rate, service_s = arrivals.arrivals_per_s, arrivals.service_s
    load = rate * service_s
    is_stable = load < devices
    if devices < 1:
        msg = f"the number of devices is {devices}: use at least 1"
        raise QueueError(msg)
    if not math.isfinite(load) or load <= 0:
        msg = f"the load is {load} busy devices: use an arrival rate and a service time above 0"
        raise QueueError(msg)
    exact = screening = None
    if is_stable:
        exact = mmc(arrivals_per_s=rate, service_s=service_s, servers=devices)
        screening = ggc(
            arrivals_per_s=rate,
            arrival_cv2=arrivals.arrival_cv2,
            service_s=service_s,
            service_cv2=arrivals.service_cv2,
            servers=devices,
        )
    return QueuePlan(
        arrivals=arrivals,
        devices=devices,
        load=load,
        exact=exact,
        screening=screening,
        quantiles_s=tuple(zip(QUANTILES, _quantiles(arrivals, devices, QUANTILES), strict=True))
        if is_stable
        else (),
        curve_s=_quantiles(arrivals, devices, CURVE) if is_stable else (),
        target=target,
        met_share=_met_share(arrivals, devices, target) if is_stable else None,
        devices_needed=None if target is None else _servers_needed(arrivals, target),
    )


def assumed_arrivals(*, arrivals_per_s: float, service_s: float) -> ArrivalStatistics:
    """Return random arrivals of single devices with exponential service times."""
    return ArrivalStatistics(
        jobs=0, arrivals_per_s=arrivals_per_s, arrival_cv2=1.0, service_s=service_s, service_cv2=1.0
    )


def _quantiles(
    arrivals: ArrivalStatistics, devices: int, shares: tuple[float, ...]
) -> tuple[float, ...]:
    return mmc_quantiles_s(
        shares,
        arrivals_per_s=arrivals.arrivals_per_s,
        service_s=arrivals.service_s,
        servers=devices,
    )


def _met_share(
    arrivals: ArrivalStatistics, devices: int, target: WaitTarget | None
) -> float | None:
    if target is None:
        return None
    return 1 - mmc_chance_above(
        target.wait_s,
        arrivals_per_s=arrivals.arrivals_per_s,
        service_s=arrivals.service_s,
        servers=devices,
    )


def _servers_needed(arrivals: ArrivalStatistics, target: WaitTarget) -> int:
    return fewest_servers(
        arrivals_per_s=arrivals.arrivals_per_s,
        service_s=arrivals.service_s,
        longest_wait_s=target.wait_s,
        share=target.share,
    )
