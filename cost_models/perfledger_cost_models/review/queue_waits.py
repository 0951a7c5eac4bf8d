"""Summarises how long the jobs of a quarter waited, in total and by team."""

from dataclasses import dataclass

import numpy as np

from perfledger.time_units import SECONDS_PER_MINUTE
from perfledger_cost_models.arrays import FloatArray
from perfledger_cost_models.job_logs.gaps import LogGap
from perfledger_cost_models.job_logs.table import JobLogError, JobTable
from perfledger_cost_models.procurement.plan import WaitObjective
from perfledger_cost_models.review.quarter import Quarter
from perfledger_cost_models.review.quarter_jobs import quarter_jobs
from perfledger_cost_models.scheduling.policy_comparison import CURVE
from perfledger_cost_models.units import MS_PER_SECOND

# Of the jobs that ran. With fewer known starts, the longest waits may be the unknown ones.
MIN_KNOWN_SHARE = 0.9
MAX_TEAMS = 50


@dataclass(frozen=True, slots=True, kw_only=True)
class WaitFigures:
    """Waits of some jobs; `met_share` is the share that met the objective, if there is one.

    Seconds are as precise as the log.
    """

    team: str
    jobs: int
    wait_mean_s: float
    wait_p50_s: float
    wait_p95_s: float
    met_share: float | None
    wait_curve_s: tuple[float, ...] = ()  # at the shares of policy_comparison.CURVE


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordedWaits:
    """The waits of a quarter's jobs by a log, without jobs that never started."""

    log: str  # the file's name
    overall: WaitFigures
    teams: tuple[WaitFigures, ...]  # the most jobs first
    objective_s: float | None
    objective_share: float | None
    cut_jobs: int = 0  # in none of the figures: their waits are unknown
    gaps: tuple[LogGap, ...] = ()  # of the quarter: the waits of their jobs are unknown, too

    @property
    def is_met(self) -> bool | None:
        """Return whether the objective was met; None without an objective."""
        met, objective = self.overall.met_share, self.objective_share
        return None if met is None or objective is None else met >= objective


def recorded_waits(
    jobs: JobTable,
    *,
    log: str,
    quarter: Quarter,
    objective: WaitObjective | None,
    gaps: tuple[LogGap, ...] = (),
) -> RecordedWaits:
    """Return the waits of jobs with devices that were submitted in a quarter with some gaps.

    Raises JobLogError if there are none, or if fewer than MIN_KNOWN_SHARE have a start.
    """
    jobs = quarter_jobs(jobs, quarter)
    ran = (jobs.run_ms >= 0) & (jobs.devices > 0)
    if not ran.any():
        msg = f"{log} has no job with a device that was submitted in {quarter.name}: export it"
        raise JobLogError(msg)
    has_wait = ran & jobs.has_wait
    if has_wait.sum() < MIN_KNOWN_SHARE * ran.sum():
        msg = (
            f"{log} has a start for only {has_wait.sum()} of {ran.sum()} jobs: export starts too, "
            "and of Slurm without --truncate"
        )
        raise JobLogError(msg)
    waiting_jobs = jobs.take(has_wait)
    waits: FloatArray = waiting_jobs.wait_ms / MS_PER_SECOND
    limit = None if objective is None else float(objective.wait_minutes) * SECONDS_PER_MINUTE
    codes, counts = np.unique(waiting_jobs.team.codes, return_counts=True)
    order: list[int] = np.argsort(-counts, kind="stable")[:MAX_TEAMS].tolist()
    largest = [int(codes[place]) for place in order]
    return RecordedWaits(
        log=log,
        overall=_figures("", waits, limit),
        teams=tuple(
            _figures(waiting_jobs.team.names[code], waits[waiting_jobs.team.codes == code], limit)
            for code in largest
        ),
        objective_s=limit,
        objective_share=None if objective is None else float(objective.share),
        cut_jobs=jobs.cut_jobs,
        gaps=gaps,
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
