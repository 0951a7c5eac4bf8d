"""Computes the device-hours a year of workloads from usage files.

The hours of the period are scaled by 8760 / its length in hours. The range comes from the variation
between pieces of the period: with n pieces of mean m and standard deviation s, and N of them in a
year, the year's sum lies within N s t sqrt(1/n + 1/N) of N m (Student's prediction interval). The
ends are those of 99 %: a PERT distribution between them, from which pricing draws hours, then has
the spread of the prediction. Seasons and growth beyond the period are not included.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from math import sqrt

import numpy as np
from scipy.special import stdtrit

from perfledger.registration.workload_pattern import is_match
from perfledger.rounding import decimals
from perfledger.time_units import DAYS_PER_WEEK, HOURS_PER_YEAR, SECONDS_PER_DAY, SECONDS_PER_HOUR
from perfledger_cost_models.arrays import FloatArray
from perfledger_cost_models.billing.allocated_hours import hours_between
from perfledger_cost_models.job_logs.gaps import (
    LogGap,
    are_few,
    gap_sentence,
    gaps_between,
    span_gaps,
)
from perfledger_cost_models.usage.device_spans import (
    DeviceSpan,
    DeviceUsage,
    UsageFileError,
    check_covered,
)

COVERAGE = 0.99
# A week has every weekday; less cannot represent a year.
MIN_DAYS = 7
# From this many weeks on, the pieces are whole weeks, because days of one week are correlated.
WEEKS_FROM = 8
MAX_UNMATCHED = 10
# Labels that name a job which no matcher matches; the job's first one is used.
NAMES = ("namespace", "job", "hpc_job", "tag_team", "account", "name", "instance", "series")


@dataclass(frozen=True, slots=True)
class UsageMatcher:
    """A rule that assigns jobs to a workload and an option; all labels must match their globs."""

    match: Mapping[str, str]
    workload: str
    where: str


@dataclass(frozen=True, slots=True, kw_only=True)
class YearlyFleetHours:
    """Device-hours of a workload on an option: counted, and per year with a range."""

    workload: str
    where: str
    counted_hours: float
    low: float
    mode: float
    high: float
    jobs: int


@dataclass(frozen=True, slots=True, kw_only=True)
class FleetProfile:
    """Device-hours a year by workload, and the remaining hours of the files."""

    uses: tuple[YearlyFleetHours, ...]  # in the claims' order
    unused_matchers: tuple[
        UsageMatcher, ...
    ]  # that match no job: their hours are unknown, not zero
    unmatched_hours: float  # counted, of jobs that no claim matches
    unmatched: tuple[tuple[str, float], ...]  # the largest of them, by name
    gaps: tuple[LogGap, ...]  # of the period, in which no job is known
    source: str
    start: datetime
    end: datetime  # the end of the period and the as-of date of the figures

    @property
    def days(self) -> float:
        """Return the length of the period in days."""
        return (self.end - self.start).total_seconds() / SECONDS_PER_DAY


def fleet_profile(
    usages: Sequence[DeviceUsage],
    matchers: Sequence[UsageMatcher],
    *,
    period: tuple[datetime, datetime] | None = None,
) -> FleetProfile:
    """Return the device-hours a year of each matcher; a job counts for the first that matches it.

    The period is `period`, by default that of all files together; hours outside it are cut off.
    Files must not overlap. Raises UsageFileError for less than a week, and where data are missing.
    """
    if not usages:
        msg = "there is no usage file: pass at least one"
        raise UsageFileError(msg)
    start, end = _period(usages, period)
    gaps = _gaps(usages, start, end)
    days = (end - start) / SECONDS_PER_DAY
    weeks = int(days // DAYS_PER_WEEK)
    pieces = weeks if weeks >= WEEKS_FROM else int(days)
    edges: FloatArray = np.linspace(start, end, pieces + 1)
    spans = [
        span for usage in usages for span in usage.spans if span.end > start and span.start < end
    ]
    chosen: list[list[DeviceSpan]] = [[] for _ in (*matchers, None)]
    for span in spans:
        chosen[_place(span, matchers)].append(span)
    unmatched = _by_name(chosen[-1], start, end)
    pairs = tuple(zip(matchers, chosen[:-1], strict=True))
    return FleetProfile(
        uses=tuple(_yearly(matcher, hours, edges) for matcher, hours in pairs if hours),
        unused_matchers=tuple(matcher for matcher, hours in pairs if not hours),
        unmatched_hours=sum(unmatched.values()),
        unmatched=tuple(sorted(unmatched.items(), key=lambda pair: -pair[1])[:MAX_UNMATCHED]),
        gaps=gaps,
        source=_source(usages, start, end),
        start=datetime.fromtimestamp(start, UTC),
        end=datetime.fromtimestamp(end, UTC),
    )


def _period(
    usages: Sequence[DeviceUsage], period: tuple[datetime, datetime] | None
) -> tuple[float, float]:
    start, end = min(each.start for each in usages), max(each.end for each in usages)
    if period is not None:
        start, end = (moment.timestamp() for moment in period)
    if end - start < MIN_DAYS * SECONDS_PER_DAY:
        days = max(0.0, (end - start) / SECONDS_PER_DAY)
        msg = (
            f"a period of {decimals(days, 1)} days is too short to scale to a year: export at "
            "least a week"
        )
        raise UsageFileError(msg)
    return start, end


def _gaps(usages: Sequence[DeviceUsage], start: float, end: float) -> tuple[LogGap, ...]:
    """Return the gaps of a period; raise UsageFileError if too many hours are missing."""
    check_covered(usages, start, end)
    spans = [(span.start, span.end) for usage in usages for span in usage.spans]
    gaps = gaps_between(span_gaps(spans), start, end)
    if not are_few(gaps, seconds=end - start):
        msg = (
            f"{gap_sentence(gaps)} Hours of a year would be too few: add the missing files, or "
            "give a period without these hours"
        )
        raise UsageFileError(msg)
    return gaps


def _place(span: DeviceSpan, matchers: Sequence[UsageMatcher]) -> int:
    for index, matcher in enumerate(matchers):
        if all(is_match(glob, span.labels.get(key, "")) for key, glob in matcher.match.items()):
            return index
    return len(matchers)


def _yearly(
    matcher: UsageMatcher, spans: Sequence[DeviceSpan], edges: FloatArray
) -> YearlyFleetHours:
    pieces = hours_between(spans, edges)
    count = len(pieces)
    in_a_year = HOURS_PER_YEAR * SECONDS_PER_HOUR / float(edges[1] - edges[0])
    mode = float(pieces.mean()) * in_a_year
    reach = float(stdtrit(count - 1, (1 + COVERAGE) / 2)) * in_a_year * float(pieces.std(ddof=1))
    reach *= sqrt(1 / count + 1 / in_a_year)
    return YearlyFleetHours(
        workload=matcher.workload,
        where=matcher.where,
        counted_hours=float(pieces.sum()),
        low=max(0.0, mode - reach),
        mode=mode,
        high=mode + reach,
        jobs=len(spans),
    )


def _by_name(spans: Sequence[DeviceSpan], start: float, end: float) -> dict[str, float]:
    hours: dict[str, float] = {}
    for span in spans:
        name = next((f"{key}={span.labels[key]}" for key in NAMES if span.labels.get(key)), "")
        seconds = min(span.end, end) - max(span.start, start)
        hours[name] = hours.get(name, 0.0) + span.devices * seconds / SECONDS_PER_HOUR
    return hours


def _source(usages: Sequence[DeviceUsage], start: float, end: float) -> str:
    kinds = " and ".join(sorted({usage.kind for usage in usages}))
    first, last = (datetime.fromtimestamp(moment, UTC).date() for moment in (start, end))
    return f"{kinds}, {first} to {last}, scaled to a year"
