"""Finds long stretches of a job log in which no job was both submitted and ended.

Rows are missing there, as between two exports of sacct, or the cluster stood still. A replay would
run these hours on idle devices, so that later waits would be too short and too few devices enough.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

import numpy as np

from perfledger.rounding import integer
from perfledger.time_units import DAYS_PER_WEEK, SECONDS_PER_HOUR
from perfledger_cost_models.arrays import IntArray
from perfledger_cost_models.job_logs.table import JobTable
from perfledger_cost_models.job_logs.time_columns import FIRST_DATE_S
from perfledger_cost_models.units import MS_PER_DAY, MS_PER_HOUR, MS_PER_SECOND

# Small clusters are idle at night, and until their shortest job of the morning ends.
MIN_GAP_MS = MS_PER_DAY
# From Friday noon to Monday midnight in any time zone. A shorter stretch may be a weekend, so the
# same hours of other weeks have to be busy.
MAX_WEEKEND_MS = 84 * MS_PER_HOUR
# Nearly all other stretches must have jobs, whose numbers make an empty one improbable. They vary
# more than random numbers do: a negative binomial distribution has their mean and variance.
MIN_BUSY_JOBS = 10
QUIET_SHARE = 0.05  # of the other stretches, which may have fewer
MAX_CHANCE = 1e-5  # of an empty stretch anywhere in the log; busy clusters are far below
MIN_STRETCHES = 7  # in the rest of the log; where it is too short for as many, shorter ones count
# A log that is empty for most of its time is of a cluster that is used now and then.
MAX_EMPTY_SHARE = 2 / 3
MAX_EXAMINED = 50  # of the longest stretches
# Of the time of a log: with more of it in gaps, it shows neither waits nor the hours of a year.
MAX_GAP_SHARE = 0.05
MAX_NAMED = 3  # in a sentence


@dataclass(frozen=True, slots=True)
class LogGap:
    """A stretch without jobs, in seconds of the log's time."""

    start_s: float
    end_s: float


def log_gaps(jobs: JobTable, *, evident: Iterable[LogGap] = ()) -> tuple[LogGap, ...]:
    """Return the gaps of a log in their order, with those that its rows make evident.

    A gap is a day or longer, and nearly all stretches of its length have MIN_BUSY_JOBS jobs.
    """
    ran = jobs.take(jobs.run_ms >= 0)
    end = ran.submit_ms + np.maximum(ran.wait_ms, 0) + ran.run_ms
    gaps = [*_gaps_after(jobs.start_s, ran.submit_ms, end), *evident]
    return tuple(_union(sorted(gaps, key=lambda gap: gap.start_s)))


def span_gaps(spans: Iterable[tuple[float, float]]) -> tuple[LogGap, ...]:
    """Return the gaps of runs, given as starts and ends in seconds since 1970."""
    ordered = sorted(spans)
    if not ordered:
        return ()
    first_s = ordered[0][0]
    times = np.rint((np.array(ordered, np.float64) - first_s) * MS_PER_SECOND).astype(np.int64)
    return tuple(
        sorted(_gaps_after(first_s, times[:, 0], times[:, 1]), key=lambda gap: gap.start_s)
    )


def gaps_between(gaps: Iterable[LogGap], start_s: float, end_s: float) -> tuple[LogGap, ...]:
    """Return the parts of gaps between two moments."""
    return tuple(
        LogGap(max(gap.start_s, start_s), min(gap.end_s, end_s))
        for gap in gaps
        if gap.start_s < end_s and gap.end_s > start_s
    )


def are_few(gaps: Iterable[LogGap], *, seconds: float) -> bool:
    """Return whether gaps take at most MAX_GAP_SHARE of the time of a log."""
    return sum(gap.end_s - gap.start_s for gap in gaps) <= MAX_GAP_SHARE * seconds


def gap_sentence(gaps: Sequence[LogGap]) -> str:
    """Return from when to when no job is known, the longest gaps first."""
    longest = sorted(gaps, key=lambda gap: gap.start_s - gap.end_s)[:MAX_NAMED]
    named = ", ".join(map(_words, longest))
    rest = len(gaps) - MAX_NAMED
    noun = "gap" if rest == 1 else "gaps"
    more = f", and in {rest:,} shorter {noun}" if rest > 0 else ""
    return (
        f"No job was submitted and ended from {named}{more}: rows are missing, or the cluster "
        "stood still."
    )


def _words(gap: LogGap) -> str:
    hours = integer((gap.end_s - gap.start_s) / SECONDS_PER_HOUR)
    if gap.start_s < FIRST_DATE_S:  # the log counts from its first job
        first, last = (integer(each / SECONDS_PER_HOUR) for each in (gap.start_s, gap.end_s))
        return f"hour {first} to hour {last} ({hours} h)"
    first, last = (
        f"{datetime.fromtimestamp(each, UTC):%Y-%m-%d %H:%M}" for each in (gap.start_s, gap.end_s)
    )
    return f"{first} to {last} UTC ({hours} h)"


def _union(gaps: Sequence[LogGap]) -> list[LogGap]:
    """Return gaps, sorted by their starts, joined where they overlap."""
    union: list[LogGap] = []
    for gap in gaps:
        if union and gap.start_s <= union[-1].end_s:
            union[-1] = LogGap(union[-1].start_s, max(gap.end_s, union[-1].end_s))
        else:
            union.append(gap)
    return union


def _gaps_after(first_s: float, submit: IntArray, end: IntArray) -> list[LogGap]:
    """Return the stretches without jobs that are unlike the rest of the log.

    Times are ms after `first_s`, and `submit` is sorted.
    """
    stretches = _empty_stretches(submit, end)
    last_ms = int(submit[-1]) if len(submit) else 0
    if sum(stop - start for start, stop in stretches) > MAX_EMPTY_SHARE * last_ms:
        return []
    longest = sorted(stretches, key=lambda each: each[0] - each[1])[:MAX_EXAMINED]
    return [
        LogGap(first_s + start / MS_PER_SECOND, first_s + stop / MS_PER_SECOND)
        for start, stop in longest
        if _is_gap((start, stop), stretches, submit, end)
    ]


def _empty_stretches(submit: IntArray, end: IntArray) -> list[tuple[int, int]]:
    """Return disjoint stretches of MIN_GAP_MS or more in which no job was submitted and ended."""
    # The next end of a job that is submitted after each one.
    next_end: IntArray = np.minimum.accumulate(end[::-1])[::-1][1:]
    rows: IntArray = np.flatnonzero(next_end - submit[:-1] >= MIN_GAP_MS)
    starts: IntArray = submit[rows]
    stops: list[int] = next_end[rows].tolist()
    stretches: list[tuple[int, int]] = []
    place = 0
    while place < len(rows):
        after = int(np.searchsorted(starts, stops[place]))  # the stretches before it overlap
        longest = max(range(place, after), key=lambda row: stops[row] - int(starts[row]))
        stretches.append((int(starts[longest]), stops[longest]))
        place = int(np.searchsorted(starts, stops[longest]))
    return stretches


def _is_gap(
    stretch: tuple[int, int], stretches: Sequence[tuple[int, int]], submit: IntArray, end: IntArray
) -> bool:
    """Return whether jobs are nearly always in stretches as long as an empty one."""
    start, stop = stretch
    length, last_ms = stop - start, int(submit[-1])
    alike = np.array([each for each in stretches if each[1] - each[0] >= length / 2])
    if length <= MAX_WEEKEND_MS:
        week_ms = DAYS_PER_WEEK * MS_PER_DAY
        weekly = _jobs_inside(
            np.arange(start % week_ms, last_ms, week_ms), length, submit, end, alike
        )
        if not len(weekly) or weekly.min() < MIN_BUSY_JOBS:
            return False
    width = min(length, (last_ms - int(np.diff(alike).sum())) // MIN_STRETCHES)
    if width < MIN_GAP_MS:
        return False
    counts = _jobs_inside(np.arange(0, last_ms, width // 2), width, submit, end, alike)
    if not len(counts) or float(np.quantile(counts, QUIET_SHARE)) < MIN_BUSY_JOBS:
        return False
    chance = math.pow(_chance_of_none(counts), length / width)
    return len(counts) * chance < MAX_CHANCE


def _chance_of_none(counts: IntArray) -> float:
    """Return the probability of zero by the negative binomial distribution of some counts."""
    mean, variance = float(counts.mean()), float(counts.var())
    if variance <= mean:  # no more than random numbers vary
        return math.exp(-mean)
    size = mean**2 / (variance - mean)
    return math.pow(1 + mean / size, -size)


def _jobs_inside(
    starts: IntArray, width: int, submit: IntArray, end: IntArray, stretches: IntArray
) -> IntArray:
    """Return how many jobs were submitted and ended in each window that overlaps no stretch.

    Windows that reach beyond the last submission are left out.
    """
    inside = starts[starts + width <= int(submit[-1])]
    is_free = np.searchsorted(stretches[:, 1], inside, side="right") == np.searchsorted(
        stretches[:, 0], inside + width
    )
    windows = inside[is_free]
    firsts, lasts = np.searchsorted(submit, windows), np.searchsorted(submit, windows + width)
    counts = [
        int(np.count_nonzero(end[first:last] <= stop))
        for first, last, stop in zip(
            firsts.tolist(), lasts.tolist(), (windows + width).tolist(), strict=True
        )
    ]
    return np.array(counts, np.int64)
