"""A table of jobs and a quarter into those submitted in it, with times from the first of them."""

from dataclasses import replace
from datetime import UTC, datetime, time

from perfledger_cost_models.jobs import Jobs
from perfledger_cost_models.quarter import Quarter


def quarter_jobs(jobs: Jobs, quarter: Quarter) -> Jobs:
    """Return the jobs that were submitted in a quarter of UTC; there may be none.

    Their times count from the first of them, as those of a log of just these jobs would: else the
    time before it would be one in which devices stood idle.
    """
    start, end = (
        (datetime.combine(day, time(), UTC).timestamp() - jobs.start_s) * 1000
        for day in (quarter.first, quarter.after.first)
    )
    kept = jobs.taken((jobs.submit_ms >= start) & (jobs.submit_ms < end))
    first_ms = int(kept.submit_ms[0]) if len(kept) else 0  # they are sorted by submission
    return replace(
        kept, start_s=kept.start_s + first_ms / 1000, submit_ms=kept.submit_ms - first_ms
    )
