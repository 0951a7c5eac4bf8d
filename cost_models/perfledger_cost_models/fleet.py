"""What usage files tell of jobs, and which workloads these stand for, into device-hours a year.

A year is the hours of the period times 8760 / its hours. How far it may be off comes from how much
the hours differ from one piece of the period to the next: with n pieces of mean m and standard
deviation s, and N of them in a year, the year's sum lies within N s t sqrt(1/n + 1/N) of N m
(Student's prediction interval). Its ends are those of 99 %: a PERT distribution between them, which
is what pricing draws hours from, then spreads as the prediction does. A season or growth that the
period does not show is not in it.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from math import sqrt

import numpy as np
from scipy import stats

from perfledger.bundle import FleetUse
from perfledger.pattern import is_match
from perfledger_cost_models.draws import FloatArray
from perfledger_cost_models.held_hours import hours_between
from perfledger_cost_models.onprem import HOURS_PER_YEAR
from perfledger_cost_models.usage import Span, Usage, UsageFileError

COVERAGE = 0.99
HOUR = 3600.0
DAY = 86_400.0
WEEK_DAYS = 7
# A week has every weekday; less cannot stand for a year.
FEWEST_DAYS = 7
# From so many on whole weeks are the pieces: days of one week are too alike to count each.
WEEKS_FROM = 8
MAX_UNCLAIMED = 10
# By which a job that nobody claims is named; the first that it has.
NAMES = ("namespace", "job", "hpc_job", "tag_team", "account", "name", "instance", "series")


@dataclass(frozen=True, slots=True)
class Claim:
    """Which jobs stand for a workload on a purchase option: all labels have to match their glob."""

    match: Mapping[str, str]
    workload: str
    where: str


@dataclass(frozen=True, slots=True, kw_only=True)
class YearlyUse:
    """Device-hours of a workload on an option: those counted, and a year's with their range."""

    workload: str
    where: str
    counted_hours: float
    low: float
    mode: float
    high: float
    jobs: int


@dataclass(frozen=True, slots=True, kw_only=True)
class FleetProfile:
    """Device-hours a year by workload, and what the files have besides: nothing of it is lost."""

    uses: tuple[YearlyUse, ...]  # in the claims' order
    unmatched: tuple[Claim, ...]  # that no job is of: unknown hours, which are not zero hours
    unclaimed_hours: float  # counted, of jobs that no claim matches
    unclaimed: tuple[tuple[str, float], ...]  # the largest of them, by name
    source: str
    start: datetime
    end: datetime  # and the figures' as-of

    @property
    def days(self) -> float:
        """Return how long the period is."""
        return (self.end - self.start).total_seconds() / DAY

    def entries(self) -> tuple[FleetUse, ...]:
        """Return the profile as the configuration has it."""
        return tuple(
            FleetUse(
                workload=use.workload,
                where=use.where,
                device_hours_per_year=use.mode,
                low=use.low,
                high=use.high,
                source=self.source,
            )
            for use in self.uses
        )


def fleet_profile(
    usages: Sequence[Usage],
    claims: Sequence[Claim],
    *,
    period: tuple[datetime, datetime] | None = None,
) -> FleetProfile:
    """Return the device-hours a year of each claim; a job counts for the first that matches it.

    The period is the files' own, all together, or `period`: what lies outside of it is cut off.
    Files must not tell the same hours twice. Raises UsageFileError for less than a week.
    """
    if not usages:
        msg = "no usage file: give at least one"
        raise UsageFileError(msg)
    start, end = _period(usages, period)
    days = (end - start) / DAY
    weeks = int(days // WEEK_DAYS)
    pieces = weeks if weeks >= WEEKS_FROM else int(days)
    edges: FloatArray = np.linspace(start, end, pieces + 1)
    spans = [
        span for usage in usages for span in usage.spans if span.end > start and span.start < end
    ]
    chosen: list[list[Span]] = [[] for _ in (*claims, None)]
    for span in spans:
        chosen[_place(span, claims)].append(span)
    unclaimed = _by_name(chosen[-1], start, end)
    pairs = tuple(zip(claims, chosen[:-1], strict=True))
    return FleetProfile(
        uses=tuple(_yearly(claim, held, edges) for claim, held in pairs if held),
        unmatched=tuple(claim for claim, held in pairs if not held),
        unclaimed_hours=sum(unclaimed.values()),
        unclaimed=tuple(sorted(unclaimed.items(), key=lambda pair: -pair[1])[:MAX_UNCLAIMED]),
        source=_source(usages, start, end),
        start=datetime.fromtimestamp(start, UTC),
        end=datetime.fromtimestamp(end, UTC),
    )


def _period(
    usages: Sequence[Usage], period: tuple[datetime, datetime] | None
) -> tuple[float, float]:
    start, end = min(each.start for each in usages), max(each.end for each in usages)
    if period is not None:
        start, end = (moment.timestamp() for moment in period)
    if end - start < FEWEST_DAYS * DAY:
        days = max(0.0, (end - start) / DAY)
        msg = f"a period of {days:.1f} days cannot stand for a year: export a week at least"
        raise UsageFileError(msg)
    return start, end


def _place(span: Span, claims: Sequence[Claim]) -> int:
    for place, claim in enumerate(claims):
        if all(is_match(glob, span.labels.get(key, "")) for key, glob in claim.match.items()):
            return place
    return len(claims)


def _yearly(claim: Claim, spans: Sequence[Span], edges: FloatArray) -> YearlyUse:
    pieces = hours_between(spans, edges)
    count = len(pieces)
    in_a_year = HOURS_PER_YEAR * HOUR / float(edges[1] - edges[0])
    mode = max(0.0, float(pieces.mean()) * in_a_year)
    quantile: Callable[..., float] = stats.t.ppf
    reach = float(quantile((1 + COVERAGE) / 2, count - 1)) * in_a_year * float(pieces.std(ddof=1))
    reach *= sqrt(1 / count + 1 / in_a_year)
    return YearlyUse(
        workload=claim.workload,
        where=claim.where,
        counted_hours=float(pieces.sum()),
        low=max(0.0, mode - reach),
        mode=mode,
        high=mode + reach,
        jobs=len(spans),
    )


def _by_name(spans: Sequence[Span], start: float, end: float) -> dict[str, float]:
    hours: dict[str, float] = {}
    for span in spans:
        name = next((f"{key}={span.labels[key]}" for key in NAMES if span.labels.get(key)), "")
        seconds = min(span.end, end) - max(span.start, start)
        hours[name] = hours.get(name, 0.0) + span.devices * seconds / HOUR
    return hours


def _source(usages: Sequence[Usage], start: float, end: float) -> str:
    kinds = " and ".join(sorted({usage.kind for usage in usages}))
    first, last = (datetime.fromtimestamp(moment, UTC).date() for moment in (start, end))
    return f"{kinds}, {first} to {last}, scaled to a year"
