"""Selects the jobs that were submitted in a quarter."""

from dataclasses import replace
from datetime import UTC, datetime, time

from perfledger_cost_models.job_logs.table import JobTable
from perfledger_cost_models.review.quarter import Quarter
from perfledger_cost_models.units import MS_PER_SECOND


def quarter_jobs(jobs: JobTable, quarter: Quarter) -> JobTable:
    """Return the jobs that were submitted in a quarter of UTC; there may be none.

    Their times count from the first of them. Otherwise devices would seem idle before it.
    """
    start, end = ((moment - jobs.start_s) * MS_PER_SECOND for moment in quarter_seconds(quarter))
    in_quarter = jobs.take((jobs.submit_ms >= start) & (jobs.submit_ms < end))
    first_ms = (
        int(in_quarter.submit_ms[0]) if len(in_quarter) else 0
    )  # jobs are sorted by submission
    return replace(
        in_quarter,
        start_s=in_quarter.start_s + first_ms / MS_PER_SECOND,
        submit_ms=in_quarter.submit_ms - first_ms,
    )


def quarter_seconds(quarter: Quarter) -> tuple[float, float]:
    """Return the first moment of a quarter of UTC and that of the next, in seconds since 1970."""
    first, after = (
        datetime.combine(day, time(), UTC).timestamp()
        for day in (quarter.first, quarter.after.first)
    )
    return first, after
