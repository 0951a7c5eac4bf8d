"""One process's warm-ups and steps in, what its start cost out."""

import math
from statistics import median

from perfledger.metrics import STEP_TIME
from perfledger.records import Run


def cold_start_of(run: Run) -> float | None:
    """Return the seconds by which a process's first step was longer than a steady one.

    First step less the median step (profiling.md, section 4: cold_start). None where it was not
    longer, or no step was recorded: then nothing was compiled, and there is no ratio to nothing.
    NaN where a time is negative or no number.
    """
    steps_s = run.samples.get(STEP_TIME.name, ())
    if not run.warmups_s or not steps_s:
        return None
    times_s = (run.warmups_s[0], *steps_s)
    if not all(math.isfinite(time_s) and time_s >= 0 for time_s in times_s):
        return math.nan
    start_s = run.warmups_s[0] - median(steps_s)
    return start_s if start_s > 0 else None
