"""Computes the arrival rate, service time and variation of a job log."""

from dataclasses import dataclass

import numpy as np

from perfledger_cost_models.job_logs.job_table import JobLogError, JobTable

MIN_JOBS = 30  # with fewer a coefficient of variation is meaningless


@dataclass(frozen=True, slots=True, kw_only=True)
class ArrivalStatistics:
    """The inputs of the queueing formulas; a customer is one requested device.

    The formulas have no gangs: a job of four devices counts as four simultaneous arrivals, which
    `arrival_cv2` reflects.
    """

    jobs: int
    arrivals_per_s: float  # requested devices per second
    arrival_cv2: float  # squared coefficient of variation
    service_s: float
    service_cv2: float


def arrivals_of(jobs: JobTable) -> ArrivalStatistics:
    """Return the rates and variations of a log. Raises JobLogError for fewer than MIN_JOBS jobs.

    Devices of one job arrive at once: with batches of mean m and squared variation cb2, at gaps of
    squared variation ca2, the squared variation of single arrivals is m (ca2 + cb2), the index of
    dispersion of a compound renewal process (Cox, Renewal Theory, 1962, section 8).
    """
    ran = jobs.take((jobs.run_ms > 0) & (jobs.devices > 0))
    span_s = float(ran.submit_ms[-1] - ran.submit_ms[0]) / 1000 if len(ran) else 0.0
    if len(ran) < MIN_JOBS or not span_s:
        msg = (
            f"the log has {len(ran)} jobs that ran: export at least {MIN_JOBS}, submitted at "
            "different times"
        )
        raise JobLogError(msg)
    sizes = ran.milli / 1000
    service_s = float((sizes * ran.run_ms).sum() / sizes.sum()) / 1000
    second = float((sizes * (ran.run_ms / 1000) ** 2).sum() / sizes.sum())
    gaps = np.diff(ran.submit_ms)
    batch = float(sizes.mean())
    batch_cv2 = float(sizes.var()) / batch**2
    gap_cv2 = float(gaps.var()) / float(gaps.mean()) ** 2
    return ArrivalStatistics(
        jobs=len(ran),
        arrivals_per_s=(len(ran) - 1) * batch / span_s,
        arrival_cv2=batch * (gap_cv2 + batch_cv2),
        service_s=service_s,
        service_cv2=second / service_s**2 - 1,
    )
