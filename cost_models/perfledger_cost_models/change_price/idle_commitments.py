"""Computes what extra hours on committed devices cost in cash and in waiting time.

A slowdown costs no cash while idle devices absorb it: the cash share of its hours is 0. The rest is
bought: max(0, X - K) of X extra and K idle hours. Hours that a speed-up frees are paid for anyway,
so they save no cash unless the commitment can shrink.
"""

import numpy as np

from perfledger.bundle import Commitment
from perfledger.time_units import HOURS_PER_YEAR, SECONDS_PER_HOUR
from perfledger_cost_models.arrays import FloatArray
from perfledger_cost_models.queueing.queue_formulas import QueueError, mmc
from perfledger_cost_models.quote import Interval, QueueEffect


def idle_hours(commitment: Commitment) -> float:
    """Return the device-hours a year that are paid for but not used."""
    return max(0.0, commitment.devices * HOURS_PER_YEAR - commitment.busy_hours_per_year)


def cash_share(extra_hours: FloatArray, idle: float) -> FloatArray:
    """Return the share of extra hours that has to be bought: 0 while idle hours absorb them all."""
    bought = np.maximum(extra_hours - idle, 0)
    return np.divide(bought, extra_hours, out=np.zeros_like(bought), where=extra_hours > 0)


def renewal_devices(extra_hours: Interval, commitment: Commitment | None) -> Interval | None:
    """Return how many devices the freed hours could replace at renewal; None if none are freed.

    A device carries as many hours as the commitment's devices do today, or else all hours of a
    year.
    """
    low, middle, high = (max(0.0, -hours) for hours in reversed(extra_hours))
    if middle <= 0:
        return None
    per_device = float(HOURS_PER_YEAR)
    if commitment is not None and commitment.busy_hours_per_year > 0:
        per_device = commitment.busy_hours_per_year / commitment.devices
    return low / per_device, middle / per_device, high / per_device


def queue_effect(commitment: Commitment, absorbed_hours: Interval) -> QueueEffect:
    """Return the effect of extra (negative: fewer) hours on the waits of all jobs on the devices.

    Jobs arrive as often as before and all take proportionally longer: the service time is scaled so
    that the device-hours in use grow by those absorbed. Waits are those of M/M/c with as many
    servers as jobs fit (`queue_formulas.mmc`).
    """
    capacity_hours = commitment.devices * HOURS_PER_YEAR
    low, middle, high = absorbed_hours
    busy = commitment.busy_hours_per_year
    waits, note = _waits(commitment, (0.0, low, middle, high))
    extra = total = None
    if waits is not None and commitment.job_hours is not None:
        extra = (waits[1] - waits[0], waits[2] - waits[0], waits[3] - waits[0])
        jobs = busy / commitment.devices_per_job / commitment.job_hours
        hours = jobs / SECONDS_PER_HOUR
        total = (extra[0] * hours, extra[1] * hours, extra[2] * hours)
    return QueueEffect(
        where=commitment.where,
        absorbed_hours=absorbed_hours,
        busy_share=busy / capacity_hours,
        busy_share_after=(
            (busy + low) / capacity_hours,
            (busy + middle) / capacity_hours,
            (busy + high) / capacity_hours,
        ),
        wait_s=None if waits is None else waits[0],
        extra_wait_s=extra,
        extra_wait_hours=total,
        note=note,
    )


def _waits(
    commitment: Commitment, absorbed_hours: tuple[float, ...]
) -> tuple[tuple[float, ...] | None, str]:
    """Return a job's wait in seconds at each number of extra hours, or why it is unknown."""
    busy = commitment.busy_hours_per_year
    if commitment.job_hours is None or busy <= 0:
        return None, "job waits are unknown: declare job_hours and busy_hours_per_year"
    service_s = commitment.job_hours * SECONDS_PER_HOUR
    arrivals = busy / HOURS_PER_YEAR / commitment.devices_per_job / service_s
    servers = commitment.devices // commitment.devices_per_job
    try:
        waits = tuple(
            mmc(
                arrivals_per_s=arrivals,
                service_s=service_s * max(0.0, 1 + hours / busy),
                servers=servers,
            ).wait_s
            for hours in absorbed_hours
        )
    except QueueError as error:
        return None, str(error)
    return waits, ""
