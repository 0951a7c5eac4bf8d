"""Devices that are paid for anyway and hours more of them into cash, or into waiting for them.

A slowdown costs nothing while idle devices take it: the cash share of its hours is 0. What no
longer fits is bought: of X hours more and K idle ones max(0, X - K). Hours that a speed-up frees
are paid for all the same, so that they save no cash.
"""

import numpy as np

from perfledger.bundle import Commitment
from perfledger_cost_models.draws import FloatArray
from perfledger_cost_models.onprem import HOURS_PER_YEAR
from perfledger_cost_models.queueing import QueueError, mmc
from perfledger_cost_models.quote import Interval, QueueEffect

SECONDS_PER_HOUR = 3600


def idle_hours(commitment: Commitment) -> float:
    """Return the device-hours a year that are paid for and not used."""
    return max(0.0, commitment.devices * HOURS_PER_YEAR - commitment.busy_hours_per_year)


def cash_share(extra_hours: FloatArray, idle: float) -> FloatArray:
    """Return which share of hours more has to be bought: 0 while idle ones take them all."""
    bought = np.maximum(extra_hours - idle, 0)
    share: FloatArray = np.divide(
        bought, extra_hours, out=np.zeros_like(bought), where=extra_hours > 0
    )
    return share


def queue_effect(commitment: Commitment, absorbed_hours: Interval) -> QueueEffect:
    """Return what hours more (negative: fewer) do to the waits of all jobs on these devices.

    Jobs start as often as before and take longer, all alike: the service time is scaled so that the
    device-hours in use grow by those absorbed. Waits are those of M/M/c with as many servers as
    jobs fit (`queueing.mmc`).
    """
    whole = commitment.devices * HOURS_PER_YEAR
    low, middle, high = absorbed_hours
    busy = commitment.busy_hours_per_year
    waits, note = _waits(commitment, (0.0, low, middle, high))
    extra = total = None
    if waits is not None:
        extra = (waits[1] - waits[0], waits[2] - waits[0], waits[3] - waits[0])
        jobs = busy / commitment.devices_per_job / (commitment.job_hours or 1)
        hours = jobs / SECONDS_PER_HOUR
        total = (extra[0] * hours, extra[1] * hours, extra[2] * hours)
    return QueueEffect(
        where=commitment.where,
        absorbed_hours=absorbed_hours,
        busy_share=busy / whole,
        busy_share_after=((busy + low) / whole, (busy + middle) / whole, (busy + high) / whole),
        wait_s=None if waits is None else waits[0],
        extra_wait_s=extra,
        extra_wait_hours=total,
        note=note,
    )


def _waits(
    commitment: Commitment, absorbed_hours: tuple[float, ...]
) -> tuple[tuple[float, ...] | None, str]:
    """Return a job's wait in seconds at each of these hours more, or why it is not known."""
    busy = commitment.busy_hours_per_year
    if commitment.job_hours is None or busy <= 0:
        return None, "how long jobs wait is not known: declare job_hours and busy_hours_per_year"
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
