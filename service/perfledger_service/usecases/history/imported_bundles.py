"""Makes bundles from another tool's results: one per commit and machine, deterministically."""

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from hashlib import sha256
from statistics import median

import msgspec

from perfledger.bundle import Bundle, Plan
from perfledger.metrics import METRICS, OPTIONAL_METRICS, Metric, MetricKind, WorseDirection
from perfledger.records import Device, Machine, Revision, Run, Side, WorkloadSpec
from perfledger_profiles.benchmark_histories.commit_order import CommitLine
from perfledger_profiles.benchmark_histories.result_units import base_unit
from perfledger_profiles.benchmark_histories.results import BenchmarkResult
from perfledger_runners.bundles.files import MAX_VALUES
from perfledger_runners.bundles.validation import MAX_METRICS, MAX_WORKLOADS, SHA
from perfledger_runners.bundles.value_checks import MAX_WORD
from perfledger_runners.children.reading_checks import MAX_READING
from perfledger_service.usecases.inputs.benchmark_histories import ToolResults
from perfledger_service.values.measured_series import ImportedSeries

_LAST_SECOND = 253_402_300_799  # of the year 9999, the last year in ISO 8601
# A value that was computed from its samples differs from their median at most by rounding.
_ROUNDING = 1e-9
_REPEATED = "whose commit already has a value"
_NO_COMMIT = "without a commit (put it into the file's name, and give --clone)"
_NO_PLAN = Plan(seed=0, order=(), looks=())
_NO_ID = "0" * 32


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportedHistory:
    """The bundles of a history, oldest commit first, and counts of omitted results.

    `left_out` counts results by the reason for omitting them.
    """

    bundles: tuple[Bundle, ...]
    left_out: Mapping[str, int]

    @property
    def commits(self) -> int:
        """Return the number of commits."""
        return len({bundle.head.sha for bundle in self.bundles})

    @property
    def series(self) -> tuple[ImportedSeries, ...]:
        """Return the series, by workload and metric."""
        commits: dict[tuple[str, Metric, str], list[str]] = {}
        for bundle in self.bundles:
            metrics = {metric.name: metric for metric in bundle.metrics}
            for run in bundle.runs:
                for name in run.samples:
                    key = (run.workload, metrics[name], bundle.machine.machine_class)
                    commits.setdefault(key, []).append(bundle.head.sha)
        return tuple(
            ImportedSeries(
                workload=workload,
                metric=metric,
                machine_class=machine_class,
                points=len(shas),
                commits=len(set(shas)),
            )
            for (workload, metric, machine_class), shas in sorted(
                commits.items(), key=lambda item: (item[0][0], item[0][1].name, item[0][2])
            )
        )


@dataclass
class _Draft:
    """The results of one future bundle: each metric of a workload once, in one direction."""

    results: list[tuple[BenchmarkResult, Metric]] = field(
        default_factory=list[tuple[BenchmarkResult, Metric]]
    )
    metrics: dict[str, Metric] = field(default_factory=dict[str, Metric])
    measured_metrics: set[tuple[str, str]] = field(default_factory=set[tuple[str, str]])
    samples: int = 0

    def has_room(self, result: BenchmarkResult, metric: Metric) -> bool:
        """Return whether a result has a metric that is not there yet, and is within the limits."""
        metrics = len(self.metrics) + (metric.name not in self.metrics)
        return (
            self.metrics.get(metric.name, metric) == metric
            and (result.benchmark, metric.name) not in self.measured_metrics
            and len(self.results) < MAX_WORKLOADS
            and metrics <= MAX_METRICS
            and (not self.results or self.samples + len(result.samples) <= MAX_VALUES // 2)
        )

    def add(self, result: BenchmarkResult, metric: Metric) -> None:
        """Add a result that fits."""
        self.results.append((result, metric))
        self.metrics[metric.name] = metric
        self.measured_metrics.add((result.benchmark, metric.name))
        self.samples += len(result.samples)


def imported_history(
    read: ToolResults, *, repository: str, worse: WorseDirection | None = None
) -> ImportedHistory:
    """Return the bundles of a tool's results; `worse` is the direction of those without one.

    A result needs a commit whose whole hash has a place on the default branch; all others are
    omitted and counted. The same results make the same bundles, in any order.
    """
    left_out: Counter[str] = Counter()
    drafts: dict[tuple[str, str], list[_Draft]] = {}
    # For each metric of a commit, the first draft without it: otherwise a benchmark measured ten
    # thousand times would be searched for in all its drafts.
    begins: Counter[tuple[str, str, str, str]] = Counter()
    # A service stores each value of a commit once: a history's files grow and are imported again.
    stored: set[tuple[str, str, str, str, float]] = set()
    for original in _in_order(read, left_out):
        result = original if original.worse is not None else replace(original, worse=worse)
        metric = _metric(result)
        reason = _obstacle(result, metric, _model(result, read))
        if reason:
            left_out[reason] += 1
            continue
        of_commit = drafts.setdefault((result.commit, result.machine), [])
        key = (result.commit, result.machine, result.benchmark, metric.name)
        value = (*key, median(_samples(result)))
        if value in stored:
            left_out[_REPEATED] += 1
            continue
        stored.add(value)
        place = begins[key]
        while place < len(of_commit) and not of_commit[place].has_room(result, metric):
            place += 1
        if place == len(of_commit):
            of_commit.append(_Draft())
        of_commit[place].add(result, metric)
        begins[key] = place + 1
    bundles = tuple(
        _bundle(draft, read, repository=repository)
        for of_commit in drafts.values()
        for draft in of_commit
    )
    return ImportedHistory(bundles=bundles, left_out=left_out)


def content_of(bundle: Bundle) -> bytes:
    """Return a bundle's JSON, in a tenth of the time that the standard library takes."""
    return msgspec.json.encode(bundle)


def _in_order(read: ToolResults, left_out: Counter[str]) -> Iterator[BenchmarkResult]:
    """Yield the results with whole hashes, the oldest commit first, and each commit's in order."""
    place_of: dict[str, float] = {}
    results: list[BenchmarkResult] = []
    for one in read.results:
        commit = one.commit.lower() if read.line is None else read.line.full_name(one.commit)
        place = _place(one, read.line)
        if commit and place is None:
            left_out["off the first-parent line of the clone's default branch"] += 1
            continue
        place_of[commit] = min(place or 0.0, place_of.get(commit, math.inf))
        results.append(replace(one, commit=commit))
    yield from sorted(
        results,
        key=lambda one: (
            *(place_of[one.commit], one.commit, one.machine, _moment(one) or 0.0),
            *(one.benchmark, one.metric, one.unit, one.worse or "", one.value, one.samples),
        ),
    )


def _place(result: BenchmarkResult, line: CommitLine | None) -> float | None:
    """Return the key that orders a result's commit; None if the commit is not on the line."""
    if line is not None:
        return line.place_of(result.commit)
    moments = (result.place, result.commit_time, result.time)
    return next((one for one in moments if one is not None and math.isfinite(one)), 0.0)


def _obstacle(result: BenchmarkResult, metric: Metric, model: str) -> str:
    """Return why a result cannot be stored, "" if it can."""
    names = (result.benchmark, result.metric)
    are_names = all(names) and all(map(_is_name, (*names, metric.name, metric.unit, model)))
    obstacles = {
        "of uncommitted changes": result.is_dirty,
        _NO_COMMIT: not result.commit,
        "whose commit is not a full hash of 40 digits (--clone completes it)": not SHA.fullmatch(
            result.commit
        ),
        "without a value (the benchmark failed or was skipped)": math.isnan(result.value),
        "with a value that is not above zero, or too large": not 0 < result.value <= MAX_READING,
        "without a direction (--worse states it)": result.worse is None,
        "without a time of measuring and a date of the commit": _moment(result) is None,
        "with a name that is empty, too long or has control characters": not are_names,
    }
    return next((reason for reason, is_there in obstacles.items() if is_there), "")


def _model(result: BenchmarkResult, read: ToolResults) -> str:
    """Return what stands in for the device's model: the tool, and its name for the machine."""
    return f"{read.format}, {result.machine}" if result.machine else str(read.format)


def _is_name(text: str) -> bool:
    return text.isprintable() and len(text) <= MAX_WORD


def _metric(result: BenchmarkResult) -> Metric:
    """Return a result's metric, whose name holds its unit, and its direction unless usual.

    Series are identified by the metric's name, so another unit or direction is another series. No
    name equals one of perfledger's own metrics, which are measured differently.
    """
    worse = result.worse or WorseDirection.HIGHER
    is_usual = worse is (base_unit(result.unit).worse or WorseDirection.HIGHER)
    is_own = result.metric in METRICS or result.metric in OPTIONAL_METRICS
    unit = result.unit or ("no unit" if is_own else "")
    details = ", ".join(filter(None, (unit, "" if is_usual else f"{worse} is worse")))
    return Metric(
        name=f"{result.metric} ({details})" if details else result.metric,
        unit=result.unit,
        worse=worse,
        kind=MetricKind.MEMORY if result.unit == "B" else MetricKind.SPEED,
    )


def _bundle(draft: _Draft, read: ToolResults, *, repository: str) -> Bundle:
    revision = _revision([one for one, _ in draft.results], read)
    moments = [_moment(one) or 0.0 for one, _ in draft.results]
    bundle = Bundle(
        id=_NO_ID,
        created_at=_utc(min(moments)),
        base=revision,
        head=revision,
        machine=Machine(device=Device.IMPORTED, model=_model(draft.results[0][0], read)),
        plan=_NO_PLAN,
        workloads=tuple(
            WorkloadSpec(id=name, module="", function="")
            for name in sorted({benchmark for benchmark, _ in draft.measured_metrics})
        ),
        metrics=tuple(metric for _, metric in sorted(draft.metrics.items())),
        runs=tuple(
            _run(result, metric, number) for number, (result, metric) in enumerate(draft.results)
        ),
        repository=repository,
    )
    return replace(bundle, id=sha256(content_of(bundle)).hexdigest()[: len(_NO_ID)])


def _run(result: BenchmarkResult, metric: Metric, number: int) -> Run:
    return Run(
        workload=result.benchmark,
        side=Side.BASE,
        pair=0,
        position=0,
        process=number,
        started_at=_utc(_moment(result) or 0.0),
        samples={metric.name: _samples(result)},
    )


def _samples(result: BenchmarkResult) -> tuple[float, ...]:
    """Return the raw readings if their median is the value, else only the value.

    A service takes the median; this keeps the value of a tool that summarizes its readings
    differently.
    """
    are_readings = bool(result.samples) and all(0 < one <= MAX_READING for one in result.samples)
    if are_readings and math.isclose(median(result.samples), result.value, rel_tol=_ROUNDING):
        return result.samples
    return (result.value,)


def _revision(results: Iterable[BenchmarkResult], read: ToolResults) -> Revision:
    """Return the commit of results, with its place in the clone and its date if known."""
    every = list(results)
    dates = [one.commit_time for one in every if _is_moment(one.commit_time)]
    sha = every[0].commit
    return Revision(
        sha=sha,
        depth=None if read.line is None else read.line.place_of(sha),
        committed_at=_utc(min(dates)) if dates else "",
    )


def _moment(result: BenchmarkResult) -> float | None:
    """Return when a result was measured, or else committed, in seconds since the epoch."""
    return next((one for one in (result.time, result.commit_time) if _is_moment(one)), None)


def _is_moment(seconds: float) -> bool:
    return 0 < seconds < _LAST_SECOND


def _utc(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat()
