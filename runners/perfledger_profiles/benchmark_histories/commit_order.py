"""Sorts a history's results by commit and divides them into series."""

import math
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from functools import cached_property

from perfledger.metrics import WorseDirection
from perfledger_profiles.benchmark_histories.results import (
    BenchmarkResult,
    HistoryFileError,
)

# Series times points of a history: 160 MB of values.
MAX_HISTORY_CELLS = 20_000_000
# The fewest hexadecimal digits of a commit that git prints.
MIN_SHA_DIGITS = 7


class CommitOrder(StrEnum):
    """What the order of a history's commits is taken from."""

    CLONE = "of the clone's first parents"
    FILE = "of the file"
    COMMIT_TIME = "of their dates"
    TIME = "of measuring, because the files name no commits"
    SINGLE = "of a single one"


@dataclass(frozen=True, slots=True, kw_only=True)
class HistorySeries:
    """A series with a value for each point of its history, NaN if not measured."""

    benchmark: str
    metric: str
    unit: str
    worse: WorseDirection | None
    machine: str
    values: tuple[float, ...]
    times: tuple[float, ...]  # when measured, in seconds since the epoch; NaN if unknown
    samples: tuple[tuple[float, ...], ...]  # the raw readings of each point


@dataclass(frozen=True, slots=True, kw_only=True)
class OrderedHistory:
    """All series of a history over one list of points; a commit measured twice has two points."""

    commits: tuple[str, ...]  # of each point; "" if the file names none
    times: tuple[float, ...]  # the earliest of each point
    series: tuple[HistorySeries, ...]
    order: CommitOrder
    notes: tuple[str, ...] = ()


@dataclass
class _Point:
    """The results of one commit, or of one time if the file names no commits."""

    order: float
    results: dict[tuple[str, str, str, str], list[BenchmarkResult]] = field(
        default_factory=dict[tuple[str, str, str, str], list[BenchmarkResult]]
    )

    @cached_property
    def count(self) -> int:
        """Return the number of values of its longest series, once all results are added."""
        return max(map(len, self.results.values()))


class CommitLine:
    """The commits of a branch, oldest first, looked up by full hash or by its first digits."""

    def __init__(self, commits: Sequence[str]) -> None:
        self._places = {commit: index for index, commit in enumerate(commits)}
        self._sorted = sorted(commits)

    def place_of(self, commit: str) -> int | None:
        """Return the place of a commit, or None if it is ambiguous or not on the line."""
        return self._places.get(self.full_name(commit))

    def full_name(self, commit: str) -> str:
        """Return the full hash of a commit on the line; return any other name unchanged."""
        name = commit.lower()
        if name in self._places or len(name) < MIN_SHA_DIGITS:
            return name
        first = bisect_left(self._sorted, name)
        matches = [one for one in self._sorted[first : first + 2] if one.startswith(name)]
        return matches[0] if len(matches) == 1 else commit


def order_history(
    results: Iterable[BenchmarkResult], *, line: CommitLine | None = None
) -> OrderedHistory:
    """Return the history in commit order; raise HistoryFileError.

    The order is that of the clone's line if one is given, else that of the file, else that of the
    commit dates. The times of measuring count only if no commit has a name, because old commits may
    be measured later. Results of uncommitted changes are left out, and so are those of commits that
    are not on the line or that share their date with another one.
    """
    notes: list[str] = []
    clean = _without(results, lambda result: result.is_dirty, "of uncommitted changes", notes)
    if line is not None:
        clean = [replace(one, commit=line.full_name(one.commit)) for one in clean]
    order, ranks = _ranks(clean, line, notes)
    points = _points([one for one in clean if _rank_key(one) in ranks], ranks)
    series = _series(points, notes)
    commits: list[str] = []
    times: list[float] = []
    for name, point in points:
        commits += [name] * point.count
        times += _first_times(point)
    return OrderedHistory(
        commits=tuple(commits), times=tuple(times), series=series, order=order, notes=tuple(notes)
    )


def _without(
    results: Iterable[BenchmarkResult],
    is_out: Callable[[BenchmarkResult], bool],
    reason: str,
    notes: list[str],
) -> list[BenchmarkResult]:
    """Return the remaining results; add a note on how many were left out."""
    every = list(results)
    stay = [one for one in every if not is_out(one)]
    if not stay:
        msg = f"nothing is left to analyse: all results are {reason}"
        raise HistoryFileError(msg)
    if len(stay) < len(every):
        notes.append(
            f"{len(every) - len(stay):,} of {len(every):,} results are left out: they are {reason}"
        )
    return stay


_RankKey = tuple[str, float]


def _rank_key(result: BenchmarkResult) -> _RankKey:
    """Return the sort key of a result: its commit, else its place, else its time."""
    if result.commit:
        return (result.commit, 0.0)
    if result.place is not None:
        return ("", result.place)
    return ("", 0.0 if math.isnan(result.time) else result.time)


def _ranks(
    results: Sequence[BenchmarkResult], line: CommitLine | None, notes: list[str]
) -> tuple[CommitOrder, Mapping[_RankKey, float]]:
    """Return the source of the order and the rank of each commit that is on the line."""
    if line is not None:
        return CommitOrder.CLONE, _ranks_on_line(results, line, notes)
    places = [one.place for one in results if one.place is not None]
    if len(places) == len(results):
        return CommitOrder.FILE, _lowest((_rank_key(one), one.place or 0.0) for one in results)
    if not any(math.isnan(one.commit_time) for one in results):
        return CommitOrder.COMMIT_TIME, _ranks_by_date(results, notes)
    names = {one.commit for one in results}
    if names == {""} and not any(math.isnan(one.time) for one in results):
        return CommitOrder.TIME, {_rank_key(one): one.time for one in results}
    is_one_run = len({one.key for one in results}) == len(results)
    if len(names) == 1 and (names != {""} or is_one_run):
        return CommitOrder.SINGLE, {_rank_key(one): 0.0 for one in results}
    msg = (
        "the files do not contain the order of the commits: give a clone of the repository with "
        "--clone, whose first parents order them"
    )
    raise HistoryFileError(msg)


def _ranks_on_line(
    results: Sequence[BenchmarkResult], line: CommitLine, notes: list[str]
) -> Mapping[_RankKey, float]:
    unnamed = sum(not one.commit for one in results)
    if unnamed:
        msg = (
            f"{unnamed:,} results name no commit: put the commit's hash into the name of each "
            "file, such as results-1a2b3c4d5e.json"
        )
        raise HistoryFileError(msg)
    places = {one.commit: line.place_of(one.commit) for one in results}
    _without(
        results,
        lambda result: places[result.commit] is None,
        "of commits that are not first parents of the clone's default branch",
        notes,
    )
    return {(commit, 0.0): float(place) for commit, place in places.items() if place is not None}


def _lowest(pairs: Iterable[tuple[_RankKey, float]]) -> Mapping[_RankKey, float]:
    """Return the lowest rank of each commit."""
    lowest: dict[_RankKey, float] = {}
    for key, rank in pairs:
        lowest[key] = min(rank, lowest.get(key, math.inf))
    return lowest


def _ranks_by_date(
    results: Sequence[BenchmarkResult], notes: list[str]
) -> Mapping[_RankKey, float]:
    dates = _lowest((_rank_key(one), one.commit_time) for one in results)
    shared = Counter(dates.values())
    _without(
        results,
        lambda result: shared[dates[_rank_key(result)]] > 1,
        "of commits that share their date with another one (--clone gives their order)",
        notes,
    )
    return {key: date for key, date in dates.items() if shared[date] == 1}


def _points(
    results: Sequence[BenchmarkResult], ranks: Mapping[_RankKey, float]
) -> list[tuple[str, _Point]]:
    """Return the points in order: each commit and its results by series."""
    points: dict[_RankKey, _Point] = {}
    known_order = sorted(
        results, key=lambda one: (ranks[_rank_key(one)], _or_zero(one.place), _or_zero(one.time))
    )
    for result in known_order:
        key = _rank_key(result)
        point = points.setdefault(key, _Point(ranks[key]))
        point.results.setdefault(result.key, []).append(result)
    return [(commit, point) for (commit, _), point in points.items()]


def _or_zero(value: float | None) -> float:
    return 0.0 if value is None or math.isnan(value) else value


def _series(points: Sequence[tuple[str, _Point]], notes: list[str]) -> tuple[HistorySeries, ...]:
    keys: dict[tuple[str, str, str, str], BenchmarkResult] = {}
    for _, point in points:
        for key, results in point.results.items():
            keys.setdefault(key, results[0])
    count = sum(point.count for _, point in points)
    if count * len(keys) > MAX_HISTORY_CELLS:
        msg = (
            f"{len(keys):,} series of {count:,} points are more than {MAX_HISTORY_CELLS:,} values: "
            "give fewer benchmarks or a shorter time"
        )
        raise HistoryFileError(msg)
    series = [_one_series(points, key, first) for key, first in keys.items()]
    measured = [one for one in series if not all(map(math.isnan, one.values))]
    if not measured:
        msg = "every result failed or was skipped: nothing is left to analyse"
        raise HistoryFileError(msg)
    if len(measured) < len(series):
        notes.append(f"series without a value, which are left out: {len(series) - len(measured):,}")
    return tuple(measured)


def _one_series(
    points: Sequence[tuple[str, _Point]],
    key: tuple[str, str, str, str],
    first: BenchmarkResult,
) -> HistorySeries:
    values: list[float] = []
    times: list[float] = []
    samples: list[tuple[float, ...]] = []
    for _, point in points:
        results = point.results.get(key, [])
        gaps = point.count - len(results)
        values += [one.value for one in results] + [math.nan] * gaps
        times += [one.time for one in results] + [math.nan] * gaps
        samples += [one.samples for one in results] + [()] * gaps
    return HistorySeries(
        benchmark=first.benchmark,
        metric=first.metric,
        unit=first.unit,
        worse=first.worse,
        machine=first.machine,
        values=tuple(values),
        times=tuple(times),
        samples=tuple(samples),
    )


def _first_times(point: _Point) -> list[float]:
    """Return the earliest time of measuring of each of a commit's points, NaN if unknown."""
    times: list[float] = []
    for index in range(point.count):
        moments = [
            results[index].time
            for results in point.results.values()
            if index < len(results) and not math.isnan(results[index].time)
        ]
        times.append(min(moments, default=math.nan))
    return times
