"""A job log of a quarter into how long its jobs really waited, each team's too."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from perfledger_cost_models.jobs import JobLogError, Jobs
from perfledger_cost_models.policy_gain import CURVE
from perfledger_cost_models.procurement_plan import Objective
from perfledger_cost_models.quarter import Quarter
from perfledger_cost_models.quarter_jobs import quarter_jobs

# Of the jobs that ran; with fewer starts known, those that waited longest may be the unknown ones.
LEAST_KNOWN = 0.9
MOST_TEAMS = 50

FloatArray = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class WaitFigures:
    """How long some jobs waited; `met_share` waited no longer than the objective, if there is one.

    Seconds are as the log has them, so 0 where it is rounded to more.
    """

    team: str
    jobs: int
    wait_mean_s: float
    wait_p50_s: float
    wait_p95_s: float
    met_share: float | None
    wait_curve_s: tuple[float, ...] = ()  # at the shares of policy_gain.CURVE


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordedWaits:
    """What a log says of a quarter's waits; jobs that never began have none and are not in it."""

    log: str  # the file's name
    everyone: WaitFigures
    teams: tuple[WaitFigures, ...]  # the most jobs first
    objective_s: float | None
    objective_share: float | None

    @property
    def is_met(self) -> bool | None:
        """Return whether as many waited no longer as should have; None without an objective."""
        met, wanted = self.everyone.met_share, self.objective_share
        return None if met is None or wanted is None else met >= wanted


def recorded_waits(
    jobs: Jobs, *, log: str, quarter: Quarter, objective: Objective | None
) -> RecordedWaits:
    """Return the waits of jobs with devices that were submitted in a quarter.

    Raises JobLogError where there are none, and where fewer than LEAST_KNOWN have a start.
    """
    jobs = quarter_jobs(jobs, quarter)
    ran = (jobs.run_ms >= 0) & (jobs.devices > 0)
    if not ran.any():
        msg = f"{log} has no job with a device that was submitted in {quarter.name}: export it"
        raise JobLogError(msg)
    known = ran & (jobs.wait_ms >= 0)
    if known.sum() < LEAST_KNOWN * ran.sum():
        msg = f"{log} says of {known.sum()} jobs of {ran.sum()} when they began: export starts too"
        raise JobLogError(msg)
    kept = jobs.taken(known)
    waits: FloatArray = kept.wait_ms / 1000
    limit = None if objective is None else float(objective.wait_minutes) * 60
    codes, counts = np.unique(kept.team.codes, return_counts=True)
    order: list[int] = np.argsort(-counts, kind="stable")[:MOST_TEAMS].tolist()
    largest = [int(codes[place]) for place in order]
    return RecordedWaits(
        log=log,
        everyone=_figures("", waits, limit),
        teams=tuple(
            _figures(kept.team.names[code], waits[kept.team.codes == code], limit)
            for code in largest
        ),
        objective_s=limit,
        objective_share=None if objective is None else float(objective.share),
    )


def _figures(team: str, waits: FloatArray, limit_s: float | None) -> WaitFigures:
    p50, p95 = np.quantile(waits, (0.5, 0.95))
    curve: list[float] = np.quantile(waits, CURVE).tolist()
    return WaitFigures(
        team=team,
        jobs=len(waits),
        wait_mean_s=float(waits.mean()),
        wait_p50_s=float(p50),
        wait_p95_s=float(p95),
        met_share=None if limit_s is None else float((waits <= limit_s).mean()),
        wait_curve_s=tuple(curve),
    )
