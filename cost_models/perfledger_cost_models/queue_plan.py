"""Arrivals and a number of devices into how long the wait is, and how many devices would be enough.

Random arrivals and exponential services (M/M/c) have exact answers. A log's own variation is put in
by Allen and Cunneen's approximation, which is marked as a screening: a simulation decides.
"""

import math
from dataclasses import dataclass

from perfledger_cost_models.arrivals import Arrivals
from perfledger_cost_models.queueing import (
    QueueError,
    Waits,
    fewest_servers,
    ggc,
    mmc,
    mmc_chance_above,
    mmc_quantiles_s,
)

# Of the waits, for the curve of how many wait no longer.
CURVE = (*(place / 100 for place in range(100)), 0.995, 0.999)
QUANTILES = (0.5, 0.95, 0.99)


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """How long so large a share of all may wait at most."""

    wait_s: float
    share: float


@dataclass(frozen=True, slots=True, kw_only=True)
class QueuePlan:
    """A queue's waits with so many devices; figures are None where the queue grows without end."""

    arrivals: Arrivals
    devices: int
    load: float  # devices that are busy on average, if there are enough
    exact: Waits | None  # M/M/c
    screening: Waits | None  # G/G/c, with the variation of the log
    quantiles_s: tuple[tuple[float, float], ...]  # M/M/c: share, wait
    curve_s: tuple[float, ...]  # M/M/c, at the shares of CURVE
    target: Target | None
    met_share: float | None  # who waits no longer than the target, of all
    devices_needed: int | None  # for the target, M/M/c


def queue_plan(arrivals: Arrivals, *, devices: int, target: Target | None = None) -> QueuePlan:
    """Return the waits of a queue. Raises QueueError for a target that no queue can be held to."""
    rate, service_s = arrivals.arrivals_per_s, arrivals.service_s
    load = rate * service_s
    is_stable = load < devices
    if devices < 1:
        msg = f"{devices} devices: give servers to the queue"
        raise QueueError(msg)
    if not math.isfinite(load) or load <= 0:
        msg = f"{load} busy devices on average: give arrivals and a service time above 0"
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
        met_share=_met(arrivals, devices, target) if is_stable else None,
        devices_needed=None if target is None else _needed(arrivals, target),
    )


def given_arrivals(*, arrivals_per_s: float, service_s: float) -> Arrivals:
    """Return arrivals of single devices that nothing else is known of: random, exponential."""
    return Arrivals(
        jobs=0,
        arrivals_per_s=arrivals_per_s,
        arrival_cv2=1.0,
        service_s=service_s,
        service_cv2=1.0,
    )


def _quantiles(arrivals: Arrivals, devices: int, shares: tuple[float, ...]) -> tuple[float, ...]:
    return mmc_quantiles_s(
        shares,
        arrivals_per_s=arrivals.arrivals_per_s,
        service_s=arrivals.service_s,
        servers=devices,
    )


def _met(arrivals: Arrivals, devices: int, target: Target | None) -> float | None:
    if target is None:
        return None
    return 1 - mmc_chance_above(
        target.wait_s,
        arrivals_per_s=arrivals.arrivals_per_s,
        service_s=arrivals.service_s,
        servers=devices,
    )


def _needed(arrivals: Arrivals, target: Target) -> int:
    return fewest_servers(
        arrivals_per_s=arrivals.arrivals_per_s,
        service_s=arrivals.service_s,
        longest_wait_s=target.wait_s,
        share=target.share,
    )
