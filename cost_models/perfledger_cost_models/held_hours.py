"""Usage files into the device-hours that each team and project held, in all and week by week.

Which label says whose a job is, is given or found: then all jobs are told by the same one, and the
hours of those that lack it are kept under "", never spread over the others.
"""

from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from math import ceil

import numpy as np

from perfledger_cost_models.accelerator import ACCELERATORS, accelerator_of
from perfledger_cost_models.allocation import Claim, Holder
from perfledger_cost_models.draws import FloatArray
from perfledger_cost_models.money import to_decimal
from perfledger_cost_models.usage import Span, Usage, UsageFileError

# The first of these that any job has names its team, in the order in which they are about teams.
TEAM_LABELS = (
    "team",
    "label_team",
    "tag_team",
    "account",
    "namespace",
    "exported_namespace",
    "user",
)
DEVICE_LABELS = ("accelerator", "gpu", "modelName", "gpu_type", "gpu_model")
DEVICES = "the devices"  # a pool of all kinds at one price
MOST_COLUMNS = 60  # of a heat map; a year of weeks fits
SHOWN_LABELS = 20
_PRICED = frozenset(name for name, _ in ACCELERATORS.values())  # as price sheets and bills say it
_DIGITS = 6  # of hours: milliseconds
_HOUR = 3600.0
_WEEK_DAYS = 7


@dataclass(frozen=True, slots=True)
class Days:
    """A period of whole days, UTC; `end` is the day after the last."""

    start: date
    end: date

    @property
    def hours(self) -> int:
        """Return how many hours it has."""
        return (self.end - self.start).days * 24

    @property
    def moments(self) -> tuple[datetime, datetime]:
        """Return when it begins and ends."""
        first, last = (datetime.combine(day, time(), UTC) for day in (self.start, self.end))
        return first, last


@dataclass(frozen=True, slots=True)
class LabelNames:
    """Which labels name a job's team and project; a project of "" is not asked for."""

    team: str
    project: str = ""


@dataclass(frozen=True, slots=True)
class WeeklyHours:
    """One team's device-hours in each column of a heat map."""

    team: str
    hours: tuple[float, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class HeatMap:
    """Device-hours by team and week; columns begin on Mondays, the first with the period."""

    starts: tuple[date, ...]
    end: date  # the day after the last
    rows: tuple[WeeklyHours, ...]  # the most hours first


def days_of(usages: Sequence[Usage]) -> Days:
    """Return the whole days that usage files tell of; raises UsageFileError without a file."""
    if not usages:
        msg = "no usage file: give at least one"
        raise UsageFileError(msg)
    return days_between(min(each.start for each in usages), max(each.end for each in usages))


def days_between(start: float, end: float) -> Days:
    """Return the whole days around two moments, seconds since 1970; one day at least."""
    first = datetime.fromtimestamp(start, UTC).date()
    last = datetime.fromtimestamp(end, UTC)
    after = last.date() + timedelta(days=last.time() > time())
    return Days(first, max(after, first + timedelta(days=1)))


def label_names(usages: Sequence[Usage], *, team: str = "", project: str = "") -> LabelNames:
    """Return which labels name team and project; the team's is found where it is not given.

    Where nobody held a device any label does. Raises UsageFileError for a label that no job has,
    and where none that is known names a team.
    """
    if not any(usage.spans for usage in usages):
        return LabelNames(team or TEAM_LABELS[0], project)
    there = {label for usage in usages for span in usage.spans for label in span.labels}
    found = team or next((label for label in TEAM_LABELS if label in there), "")
    missing = [label for label in (found, project) if label and label not in there]
    if missing or not found:
        shown = ", ".join(label[:40] for label in sorted(there)[:SHOWN_LABELS]) or "none at all"
        what = f"no job has the label {missing[0]!r}" if missing else "nothing says whose a job is"
        msg = f"{what}: name one of the labels that the usage files have: {shown}"
        raise UsageFileError(msg)
    return LabelNames(found, project)


def claims_of(
    usages: Sequence[Usage], labels: LabelNames, days: Days, pools: Iterable[str]
) -> tuple[Claim, ...] | None:
    """Return what each holder used of each pool in a period; what lies outside is cut off.

    Of the pool DEVICES all hours are; of others they are those of the accelerator that a job names.
    None where one names none that is known.
    """
    names = frozenset(pools)
    groups: dict[tuple[Holder, str], list[Span]] = {}
    for span in _within(usages, days):
        pool = DEVICES if DEVICES in names else _accelerator(span.labels, names)
        if not pool:
            return None
        holder = Holder(*(span.labels.get(name, "") for name in (labels.team, labels.project)))
        groups.setdefault((holder, pool), []).append(span)
    edges = _edges(days, (days.start,))
    return tuple(
        Claim(holder, pool, _decimal(float(hours_between(groups[holder, pool], edges)[0])))
        for holder, pool in sorted(groups)
    )


def heat_map(usages: Sequence[Usage], labels: LabelNames, days: Days) -> HeatMap:
    """Return device-hours by team and week, of several weeks each where there are many."""
    groups: dict[str, list[Span]] = {}
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


def hours_between(spans: Sequence[Span], edges: FloatArray) -> FloatArray:
    """Return the device-hours between one edge and the next, in seconds since 1970."""
    starts, ends, devices = (
        np.array([getattr(span, name) for span in spans], dtype=float)
        for name in ("start", "end", "devices")
    )
    until = [float((devices * (np.clip(edge, starts, ends) - starts)).sum()) for edge in edges]
    hours: FloatArray = np.diff(until) / _HOUR
    return hours


def _within(usages: Sequence[Usage], days: Days) -> Iterable[Span]:
    start, end = (moment.timestamp() for moment in days.moments)
    return (
        span for usage in usages for span in usage.spans if span.end > start and span.start < end
    )


def _accelerator(labels: Mapping[str, str], pools: Container[str]) -> str:
    """Return the accelerator that a job names, "" for none that is known."""
    for label in DEVICE_LABELS:
        named = labels.get(label, "")
        known = named if named in pools or named in _PRICED else accelerator_of(named, None)
        if known:
            return known
    return ""


def _mondays(days: Days) -> tuple[date, ...]:
    weeks = ceil((days.end - days.start).days / _WEEK_DAYS)
    step = timedelta(days=_WEEK_DAYS * ceil(weeks / MOST_COLUMNS))
    starts = [days.start]
    following = days.start - timedelta(days=days.start.weekday()) + step
    while following < days.end:
        starts.append(following)
        following += step
    return tuple(starts)


def _edges(days: Days, starts: Sequence[date]) -> FloatArray:
    moments = [datetime.combine(day, time(), UTC).timestamp() for day in (*starts, days.end)]
    edges: FloatArray = np.array(moments, dtype=float)
    return edges


def _decimal(hours: float) -> Decimal:
    return to_decimal(round(hours, _DIGITS))
