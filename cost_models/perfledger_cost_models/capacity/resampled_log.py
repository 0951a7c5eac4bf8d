"""Draws logs similar to a given one by drawing blocks of its days.

The circular block bootstrap of Politis and Romano, "A circular block-resampling procedure for
stationary data", 1992; blocks of n^(1/3) days preserve the effect of one day on the next (Hall,
Horowitz and Jing, "On blocking rules for the bootstrap with dependent data", Biometrika 1995).
"""

from dataclasses import replace

import numpy as np

from perfledger_cost_models.arrays import IntArray
from perfledger_cost_models.capacity.node_shape import days_of
from perfledger_cost_models.job_logs.table import JobTable
from perfledger_cost_models.units import MS_PER_DAY


def resampled_log(jobs: JobTable, *, seed: int) -> JobTable:
    """Return a log of equal length, each day with the jobs of a drawn day at their times of day."""
    days = days_of(jobs)
    length = max(1, round(days ** (1 / 3)))
    starts: IntArray = np.random.default_rng(seed).integers(0, days, -(-days // length))
    day_order: list[int] = ((starts[:, None] + np.arange(length)) % days).ravel()[:days].tolist()
    ends = np.searchsorted(jobs.submit_ms // MS_PER_DAY, np.arange(days + 1))
    rows = [np.arange(ends[day], ends[day + 1], dtype=np.int64) for day in day_order]
    shifts = [
        np.full(len(part), (index - day) * MS_PER_DAY, np.int64)
        for index, (day, part) in enumerate(zip(day_order, rows, strict=True))
    ]
    chosen = jobs.take(np.concatenate(rows))
    return replace(chosen, submit_ms=chosen.submit_ms + np.concatenate(shifts))
