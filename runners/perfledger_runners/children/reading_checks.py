"""Validates metric readings and times reported by the child process."""

import math
from collections.abc import Sequence
from datetime import datetime, timedelta
from itertools import pairwise

from perfledger.measuring.memory_watch import MAX_READINGS
from perfledger.metrics import MAX_LEFT_OUT, Metric, MetricKind, MetricScale
from perfledger.records import CoreTimes, MemoryReadings

# The maximum of 4-byte floats, in which observations are stored (IEEE 754: 3.4028e38).
MAX_READING = 3.4e38
MAX_STEPS = 2**53  # larger counts are not exact as floats
CLOCK_STEP_S = 2e-9  # both times of a request are rounded to the nanosecond
ROUNDING_S = 1e-9  # of ranks' times, which are rounded to nanoseconds
MAX_CORES = 2**16  # of a host: Linux allows 8192
ROUNDING = 1e-9  # of a sum of two parts, relative to the whole


def is_possible(metric: Metric, samples: Sequence[float]) -> bool:
    """Return whether there are samples and all are numbers from zero to MAX_READING.

    Counts and shares may be zero (no operation, an idle device). A time of zero is none: a clock
    was too coarse for it. The judge leaves such samples out and counts them, so up to MAX_LEFT_OUT
    of a run's may be zero.
    """
    if not samples or not all(map(math.isfinite, samples)):
        return False
    if min(samples) < 0 or max(samples) > MAX_READING:
        return False
    may_be_zero = metric.scale is MetricScale.EXACT or metric.kind is MetricKind.UTILIZATION
    return may_be_zero or samples.count(0.0) <= MAX_LEFT_OUT * len(samples)


def are_possible(times: CoreTimes, *, readings: int, turns: int) -> bool:
    """Return whether there are as many core times as readings of CPU time, or none.

    Without such readings, because the steps are too short, there is one for each turn, or one in
    all. A step cannot wait longer than it takes. Older bundles lack the waits for helpers.
    """
    helper_waits_s = times.helper_waits_s or (0.0,) * len(times.elapsed_s)
    unseen_waits_s = times.unseen_waits_s or (0.0,) * len(times.elapsed_s)
    columns = (times.elapsed_s, times.queued_s, times.helpers_s, helper_waits_s, unseen_waits_s)
    counts = (0, readings) if readings else (0, 1, turns)
    if {len(column) for column in columns} not in [{count} for count in counts]:
        return False
    if not 0 <= times.cores <= MAX_CORES:
        return False
    is_number = all(0 <= value <= MAX_READING for column in columns for value in column)
    waits = zip(times.queued_s, helper_waits_s, unseen_waits_s, times.elapsed_s, strict=True)
    return is_number and all(
        unseen <= waited and queued <= elapsed and queued + waited <= elapsed * (1 + ROUNDING)
        for queued, waited, unseen, elapsed in waits
    )


def are_places(places: Sequence[int], *, devices: int) -> bool:
    """Return whether these are the places of this many devices, or none, which means unknown."""
    return not places or (len(set(places)) == len(places) == devices and min(places) >= 0)


def fit_together(rank_times_s: Sequence[Sequence[float]], step_times_s: Sequence[float]) -> bool:
    """Return whether each step's time is its slowest rank's; times without ranks are valid."""
    if not rank_times_s or not step_times_s:
        return not rank_times_s
    if any(len(times) != len(step_times_s) or min(times) < 0 for times in rank_times_s):
        return False
    slowest_s = map(max, zip(*rank_times_s, strict=True))
    return all(
        abs(slowest - step) <= ROUNDING_S
        for slowest, step in zip(slowest_s, step_times_s, strict=True)
    )


def are_possible_memories(memory: MemoryReadings) -> bool:
    """Return whether there is one step number per reading, increasing, within the limit."""
    steps, in_use = memory.steps, memory.in_use_bytes
    is_whole = len(steps) == len(in_use) <= MAX_READINGS
    is_rising = all(one < two for one, two in pairwise((-1, *steps, MAX_STEPS + 1)))
    is_number = all(0 <= value <= MAX_READING for value in in_use)
    return is_whole and is_rising and is_number


def are_possible_requests(
    latencies_s: Sequence[float], services_s: Sequence[float], *, unserved: int
) -> bool:
    """Return whether every request has a service time, no longer than its latency."""
    if len(latencies_s) != len(services_s) or not (latencies_s or unserved):
        return False
    pairs = zip(latencies_s, services_s, strict=True)
    return all(latency >= service - CLOCK_STEP_S for latency, service in pairs)


def is_utc(text: str) -> bool:
    """Return whether the text is a UTC time in ISO 8601."""
    try:
        return datetime.fromisoformat(text).utcoffset() == timedelta(0)
    except ValueError:
        return False
