"""Sums the device-hours that each team and project held, in total and by week.

One label decides who owns a job, given by the user or chosen from the files. It is the same for all
jobs; the hours of jobs without it are counted under "", never spread over other teams.
"""

from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from math import ceil

import numpy as np

from perfledger.time_units import DAYS_PER_WEEK, HOURS_PER_DAY, SECONDS_PER_HOUR
from perfledger_cost_models.arrays import FloatArray
from perfledger_cost_models.billing.cost_allocation import CostOwner, PoolUsage
from perfledger_cost_models.money import to_decimal
from perfledger_cost_models.prices.accelerator_names import ACCELERATORS, accelerator_of
from perfledger_cost_models.usage.device_spans import DeviceSpan, DeviceUsage, UsageFileError
from perfledger_cost_models.usage.prometheus import EXPORTED

# The team's label is the first of these that any job has, from most to least specific.
TEAM_LABELS = (
    "team",
    "label_team",
    "tag_team",
    "account",
    "namespace",
    f"{EXPORTED}namespace",
    "user",
)
DEVICE_LABELS = ("accelerator", "gpu", "modelName", "gpu_type", "gpu_model")
DEVICES = "the devices"  # a pool of all kinds at one price
MAX_COLUMNS = 60  # of a heat map; a year of weeks fits
SHOWN_LABELS = 20  # in an error
_PRICED = frozenset(name for name, _ in ACCELERATORS.values())  # names of price sheets and bills
HOUR_DIGITS = 6  # of hours: milliseconds


@dataclass(frozen=True, slots=True)
class DayRange:
    """A period of whole days, UTC; `end` is the day after the last."""

    start: date
    end: date

    @property
    def hours(self) -> int:
        """Return the number of hours."""
        return (self.end - self.start).days * HOURS_PER_DAY

    @property
    def moments(self) -> tuple[datetime, datetime]:
        """Return the start and the end."""
        first, last = (datetime.combine(day, time(), UTC) for day in (self.start, self.end))
        return first, last


@dataclass(frozen=True, slots=True)
class LabelNames:
    """The labels that name a job's team and project; no project is read for ""."""

    team: str
    project: str = ""


@dataclass(frozen=True, slots=True)
class WeeklyHours:
    """One team's device-hours in each column of a heat map."""

    team: str
    hours: tuple[float, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class HeatMap:
    """Device-hours by team and week; columns begin on Mondays, the first one with the period."""

    starts: tuple[date, ...]
    end: date  # the day after the last
    rows: tuple[WeeklyHours, ...]  # the most hours first


def days_of(usages: Sequence[DeviceUsage]) -> DayRange:
    """Return the days that usage files cover; raise UsageFileError without a file."""
    if not usages:
        msg = "no usage file: give at least one"
        raise UsageFileError(msg)
    return days_between(min(each.start for each in usages), max(each.end for each in usages))


def days_between(start: float, end: float) -> DayRange:
    """Return the days around two moments, seconds since 1970; at least one day."""
    first = datetime.fromtimestamp(start, UTC).date()
    last = datetime.fromtimestamp(end, UTC)
    after = last.date() + timedelta(days=last.time() > time())
    return DayRange(first, max(after, first + timedelta(days=1)))


def label_names(usages: Sequence[DeviceUsage], *, team: str = "", project: str = "") -> LabelNames:
    """Return the labels of team and project; choose the team's if it is not given.

    Without any held device every label is accepted. Raises UsageFileError for a label that no job
    has, and if no known label names a team.
    """
    if not any(usage.spans for usage in usages):
        return LabelNames(team or TEAM_LABELS[0], project)
    job_labels = {label for usage in usages for span in usage.spans for label in span.labels}
    team_label = team or next((label for label in TEAM_LABELS if label in job_labels), "")
    missing = [label for label in (team_label, project) if label and label not in job_labels]
    if missing or not team_label:
        label_list = (
            ", ".join(label[:40] for label in sorted(job_labels)[:SHOWN_LABELS]) or "none at all"
        )
        problem = f"no job has the label {missing[0]!r}" if missing else "no label names a team"
        msg = f"{problem}: name one of the labels that the usage files have: {label_list}"
        raise UsageFileError(msg)
    return LabelNames(team_label, project)


def pool_usages(
    usages: Sequence[DeviceUsage], labels: LabelNames, days: DayRange, pools: Iterable[str]
) -> tuple[PoolUsage, ...] | None:
    """Return what each owner used of each pool in a period; hours outside it are cut off.

    The pool DEVICES counts all hours; other pools count those of the accelerator that a job names.
    Returns None if a job names no known accelerator.
    """
    names = frozenset(pools)
    groups: dict[tuple[CostOwner, str], list[DeviceSpan]] = {}
    for span in _within(usages, days):
        pool = DEVICES if DEVICES in names else _accelerator(span.labels, names)
        if not pool:
            return None
        owner = CostOwner(*(span.labels.get(name, "") for name in (labels.team, labels.project)))
        groups.setdefault((owner, pool), []).append(span)
    edges = _edges(days, (days.start,))
    return tuple(
        PoolUsage(owner, pool, _decimal(float(hours_between(groups[owner, pool], edges)[0])))
        for owner, pool in sorted(groups)
    )


def heat_map(usages: Sequence[DeviceUsage], labels: LabelNames, days: DayRange) -> HeatMap:
    """Return device-hours by team and week; long periods have several weeks per column."""
    groups: dict[str, list[DeviceSpan]] = {}
    for span in _within(usages, days):
        groups.setdefault(span.labels.get(labels.team, ""), []).append(span)
    starts = _mondays(days)
    edges = _edges(days, starts)
    rows = (
        WeeklyHours(team, tuple(map(float, hours_between(spans, edges))))
        for team, spans in groups.items()
    )
    order = sorted(rows, key=lambda row: (-sum(row.hours), row.team))
    return HeatMap(starts=starts, end=days.end, rows=tuple(order))


def hours_between(spans: Sequence[DeviceSpan], edges: FloatArray) -> FloatArray:
    """Return the device-hours between consecutive edges, in seconds since 1970."""
    starts, ends, devices = (
        np.array([getattr(span, name) for span in spans], dtype=float)
        for name in ("start", "end", "devices")
    )
    until = [float((devices * (np.clip(edge, starts, ends) - starts)).sum()) for edge in edges]
    return np.diff(until) / SECONDS_PER_HOUR


def _within(usages: Sequence[DeviceUsage], days: DayRange) -> Iterable[DeviceSpan]:
    start, end = (moment.timestamp() for moment in days.moments)
    return (
        span for usage in usages for span in usage.spans if span.end > start and span.start < end
    )


def _accelerator(labels: Mapping[str, str], pools: Container[str]) -> str:
    """Return the accelerator that a job names; "" for an unknown one."""
    for label in DEVICE_LABELS:
        named = labels.get(label, "")
        accelerator = named if named in pools or named in _PRICED else accelerator_of(named, None)
        if accelerator:
            return accelerator
    return ""


def _mondays(days: DayRange) -> tuple[date, ...]:
    weeks = ceil((days.end - days.start).days / DAYS_PER_WEEK)
    step = timedelta(days=DAYS_PER_WEEK * ceil(weeks / MAX_COLUMNS))
    starts = [days.start]
    monday = days.start - timedelta(days=days.start.weekday()) + step
    while monday < days.end:
        starts.append(monday)
        monday += step
    return tuple(starts)


def _edges(days: DayRange, starts: Sequence[date]) -> FloatArray:
    moments = [datetime.combine(day, time(), UTC).timestamp() for day in (*starts, days.end)]
    return np.array(moments, dtype=float)


def _decimal(hours: float) -> Decimal:
    return to_decimal(round(hours, HOUR_DIGITS))
