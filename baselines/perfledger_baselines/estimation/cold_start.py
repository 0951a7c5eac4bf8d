"""Measures what the start of a process costs beyond a steady step."""

import math
from statistics import median

from perfledger.metrics import STEP_TIME
from perfledger.records import Run


def cold_start_s(run: Run) -> float | None:
    """Return the seconds by which a process's first step was longer than a steady one.

    First step less the median step. None where it was not longer, or no step was recorded: nothing
    was compiled then, and there is no ratio to zero. NaN where a time is negative or not a number.
    """
    steps_s = run.samples.get(STEP_TIME.name, ())
    if not run.warmups_s or not steps_s:
        return None
    times_s = (run.warmups_s[0], *steps_s)
    if not all(math.isfinite(time_s) and time_s >= 0 for time_s in times_s):
        return math.nan
    start_s = run.warmups_s[0] - median(steps_s)
    return start_s if start_s > 0 else None
