"""Readings that a foreign program wrote in, whether a clock or a metric can read so out."""

import math
from collections.abc import Sequence
from datetime import datetime, timedelta

from perfledger.metrics import Kind, Metric, Scale


def is_possible(metric: Metric, samples: Sequence[float]) -> bool:
    """Whether there are samples and all are finite and positive.

    Counts and shares may be zero: no operation, an idle device. No step takes no time.
    """
    may_be_zero = metric.scale is Scale.EXACT or metric.kind is Kind.UTILIZATION
    if not samples or not all(map(math.isfinite, samples)):
        return False
    return min(samples) > 0 or (may_be_zero and min(samples) == 0)


def is_utc(text: str) -> bool:
    """Whether the text is a time in ISO 8601 that says it is UTC."""
    try:
        return datetime.fromisoformat(text).utcoffset() == timedelta(0)
    except ValueError:
        return False
