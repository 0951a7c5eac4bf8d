"""Readings that a foreign program wrote in, whether a clock or a metric can read so out."""

import math
from collections.abc import Sequence
from datetime import datetime, timedelta

from perfledger.metrics import Kind, Metric, Scale

# Stored observations are 4-byte floats, which know nothing larger (IEEE 754: 3.4028e38).
MAX_READING = 3.4e38


def is_possible(metric: Metric, samples: Sequence[float]) -> bool:
    """Whether there are samples and all are positive and at most MAX_READING.

    Counts and shares may be zero: no operation, an idle device. No step takes no time.
    """
    may_be_zero = metric.scale is Scale.EXACT or metric.kind is Kind.UTILIZATION
    if not samples or not all(map(math.isfinite, samples)) or max(samples) > MAX_READING:
        return False
    return min(samples) > 0 or (may_be_zero and min(samples) == 0)


def is_utc(text: str) -> bool:
    """Whether the text is a time in ISO 8601 that says it is UTC."""
    try:
        return datetime.fromisoformat(text).utcoffset() == timedelta(0)
    except ValueError:
        return False
