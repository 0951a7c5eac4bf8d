"""Pairs up the runs of a check: one value per side, pair and metric of each workload."""

import math
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import compress, islice

from perfledger.bundle import Bundle
from perfledger.metrics import (
    COLD_START,
    COMPILE_TIME,
    CPU_TIME,
    MEMORY_OVER_TIME,
    STEP_TIME,
    Metric,
    MetricKind,
    MetricScale,
)
from perfledger.records import Device, Run, Side
from perfledger_baselines.estimation.clock_states import (
    clock_difference,
    follows_clocks,
    has_usual_clocks,
)
from perfledger_baselines.estimation.estimators import left_out_samples, point_estimates
from perfledger_baselines.estimation.foreign_load import (
    UnqueuedDifference,
    has_busy_programs,
    mean_foreign_share,
    mean_queued_share,
    unqueued_difference,
)
from perfledger_baselines.estimation.interleaving import (
    INTERLEAVED_METRICS,
    apply_difference,
    interleaved_difference,
    unsettled_turns,
)
from perfledger_baselines.estimation.tail_quantiles import TAIL_QUANTILES

# Each workload's complete pairs (base, head), in the order of their numbers.
RunPairs = Mapping[str, Sequence[tuple[Run, Run]]]

# Metrics that a wait for a core lengthens.
WALL_TIMES = frozenset({MetricKind.SPEED, MetricKind.TAIL, MetricKind.START})
_WHY_UNREAD = {
    COLD_START.name: ": no process's first step was longer than the others",
    MEMORY_OVER_TIME.name: ": the memory in use was read less than three times in each process",
    COMPILE_TIME.name: ": neither torch.compile nor JAX compiled anything there",
}


@dataclass(frozen=True, slots=True)
class Pair:
    """A base run and a head run made back to back: their estimates by metric name.

    `clock_difference` is the difference of the logs of the device's clocks; None if they were not
    read.
    """

    base: Mapping[str, float]
    head: Mapping[str, float]
    clock_difference: float | None = None
    unqueued: UnqueuedDifference | None = None  # None if the core times were not recorded
    # Unusable samples, by metric.
    left_out: Mapping[str, int] = field(default_factory=dict[str, int])
    # The side that had not settled in first turns, which are left out, and the pair with them.
    unsettled: Side | None = None
    with_all_turns: "Pair | None" = None


@dataclass(frozen=True, kw_only=True)  # without slots, for what is computed once
class PairedTest:
    """A test to judge: one metric of one workload, with one value per side and pair.

    `base` and `head` have a value for each complete comparable pair, None if the run did not read
    this metric. `numbers` are these pairs' places, from 1, among all complete pairs of the
    workload; `other_clocks` further pairs are left out because their clocks differ
    (`clock_states`).
    """

    workload: str
    metric: Metric
    base: tuple[float | None, ...]
    head: tuple[float | None, ...]
    numbers: tuple[int, ...]
    other_clocks: int = 0
    # Of a wall time: what is known of each pair's steps without their waits for other programs;
    # empty if nothing is.
    unqueued: tuple[UnqueuedDifference | None, ...] = ()
    left_out: int = 0  # samples of these pairs that are zero, negative or not a number
    # Of a wall time: other programs were busy, and no pair tells how long steps waited for them.
    has_unknown_waits: bool = False

    @property
    def key(self) -> tuple[str, str]:
        """Return the workload and the metric's name."""
        return self.workload, self.metric.name

    @cached_property
    def pairs(self) -> tuple[tuple[float, float], ...]:
        """Return base and head of the pairs that have this metric on both sides."""
        return tuple(
            (base, head)
            for base, head in zip(self.base, self.head, strict=True)
            if base is not None and head is not None
        )

    @cached_property
    def known_unqueued(self) -> tuple[UnqueuedDifference, ...]:
        """Return what is known of the pairs' steps without their waits for other programs."""
        return tuple(each for each in self.unqueued if each is not None)

    @property
    def step_unqueued(self) -> tuple[UnqueuedDifference, ...]:
        """Return the same of a step time; nothing for other metrics, or unless all pairs tell."""
        is_complete = len(self.known_unqueued) == len(self.unqueued)
        return self.known_unqueued if is_complete and self.metric.name == STEP_TIME.name else ()

    @cached_property
    def foreign_share(self) -> float:
        """Return the least share of wall time that the steps waited for other programs."""
        return mean_foreign_share(self.known_unqueued) if self.known_unqueued else 0.0

    @cached_property
    def queued_share(self) -> float:
        """Return the share of wall time that the steps spent in run queues, as far as known."""
        return mean_queued_share(self.known_unqueued) if self.known_unqueued else 0.0

    def changes(self, *, without_waits: bool) -> dict[int, float]:
        """Return head / base - 1 of each pair that has it, by number.

        Without waits it is the middle of what the wall time without those for other programs may
        be.
        """
        if without_waits:
            logs = ((each.low + each.high) / 2 for each in self.step_unqueued)
            return dict(zip(self.numbers, map(math.expm1, logs), strict=False))
        return {
            number: head / base - 1
            for number, base, head in zip(self.numbers, self.base, self.head, strict=True)
            if base is not None and head is not None and base > 0
        }

    @cached_property
    def is_exact(self) -> bool:
        """Return whether this is a count: declared as one, and equal in every process."""
        if self.metric.scale is not MetricScale.EXACT:
            return False
        return all(len(set(side) - {None}) == 1 for side in (self.base, self.head))

    @property
    def is_noisy(self) -> bool:
        """Return whether this is decided by a p-value, and so belongs to the family."""
        return not self.flaw and not self.is_exact

    @cached_property
    def flaw(self) -> str:
        """Return why this cannot be judged, or "".

        A ratio to zero or to a NaN does not exist: "0 % change" would be wrong, and so would a
        verdict on the remaining pairs. A tail needs enough steps in every process: those that have
        enough are the faster ones.
        """
        name = self.metric.name
        if not self.base:
            return "no pair has runs of both sides"
        tail = TAIL_QUANTILES.get(name)
        for side, values in ((Side.BASE, self.base), (Side.HEAD, self.head)):
            readings = [value for value in values if value is not None]
            if tail is not None and len(readings) < len(values):
                return f"{name} needs {tail.fewest_steps} steps of each process: {side} made fewer"
            if not readings:
                return f"{name} was not read on {side}{_WHY_UNREAD.get(name, '')}"
            if not all(math.isfinite(value) and value >= 0 for value in readings):
                return f"{name} on {side} has a reading that is negative or not a number"
            if 0 in readings:
                return f"{name} reads zero on {side}: there is no ratio to zero"
        return "" if self.pairs else f"{name} was never read on both sides of a pair"


@dataclass(frozen=True, slots=True)
class BundleEstimates:
    """The estimates of a check, by workload: of all complete pairs, and the tests to judge."""

    runs: RunPairs
    pairs: Mapping[str, tuple[Pair, ...]]
    tests: Mapping[str, tuple[PairedTest, ...]]


def estimate_bundle(bundle: Bundle, *, most: int | None = None) -> BundleEstimates:
    """Return the pairs of every workload in the bundle, the registered ones first, and its tests.

    The tests ignore pairs beyond the first `most`.
    """
    metrics, own_metrics = judged_metrics(bundle.metrics), bundle.plan.metrics
    runs_of = match_runs(bundle.runs)
    registered = [spec.id for spec in bundle.workloads]
    failures = [failure.workload for failure in bundle.failures]
    workloads = tuple(dict.fromkeys([*registered, *failures, *sorted(runs_of)]))
    runs = [pair for name in workloads for pair in runs_of.get(name, ())]
    estimates = iter(estimate_pairs(runs, metrics))
    pairs = {name: tuple(islice(estimates, len(runs_of.get(name, ())))) for name in workloads}
    beside_load = _workloads_beside_load(bundle)
    tests: dict[str, tuple[PairedTest, ...]] = {}
    for name in workloads:
        own_pairs = pairs[name][:most]
        chosen = chosen_metrics(metrics, own_metrics.get(name, ()), own_pairs)
        own_tests = tests_of(name, own_pairs, chosen)
        tests[name] = tuple(map(_beside_load, own_tests)) if name in beside_load else own_tests
    return BundleEstimates(runs=runs_of, pairs=pairs, tests=tests)


def _workloads_beside_load(bundle: Bundle) -> frozenset[str]:
    """Return the workloads that ran on a CPU which other programs kept busy."""
    if not has_busy_programs(bundle.host_findings):
        return frozenset()
    return frozenset(
        name for (name, _), machine in bundle.machines().items() if machine.device is Device.CPU
    )


def _beside_load(test: PairedTest) -> PairedTest:
    is_wall_time = test.metric.kind in WALL_TIMES
    return replace(test, has_unknown_waits=is_wall_time and not test.unqueued)


def judged_metrics(metrics: Iterable[Metric]) -> tuple[Metric, ...]:
    """Return the metrics whose samples get verdicts: step time always, explanatory ones never.

    Kernels have no samples: their windows are judged separately.
    """
    by_name = {
        metric.name: metric
        for metric in metrics
        if not metric.is_explanatory and metric.kind is not MetricKind.KERNEL
    }
    if STEP_TIME.name not in by_name:
        by_name = {STEP_TIME.name: STEP_TIME, **by_name}
    return tuple(by_name.values())


def chosen_metrics(
    metrics: Sequence[Metric], names: Collection[str], pairs: Sequence[Pair]
) -> tuple[Metric, ...]:
    """Return the metrics that judge a workload: those it names, plus those asked for.

    A workload that names none, or none of these metrics, is judged by all of them. If it names the
    CPU time beside others and no pair has it, the step time is judged too: else its memory alone
    would say that it is as fast as before.
    """
    if not any(metric.name in names for metric in metrics):
        return tuple(metrics)
    chosen = tuple(metric for metric in metrics if metric.name in names or metric.is_optional)
    is_unread = bool(pairs) and not any(map(_has_cpu_time, pairs))
    if CPU_TIME.name in names and is_unread and chosen != (CPU_TIME,):
        chosen = tuple(each for each in metrics if each in chosen or each.name == STEP_TIME.name)
    return chosen


def _has_cpu_time(pair: Pair) -> bool:
    return CPU_TIME.name in pair.base and CPU_TIME.name in pair.head


def match_runs(runs: Iterable[Run]) -> dict[str, tuple[tuple[Run, Run], ...]]:
    """Return each workload's complete pairs (base, head), in the order of their numbers.

    A pair with a missing side does not count. Of a repeated run, the latest process counts.
    """
    sides: defaultdict[str, dict[tuple[int, Side], Run]] = defaultdict(dict)
    for run in sorted(runs, key=lambda run: (run.process, run.started_at)):
        sides[run.workload][run.pair, run.side] = run
    return {
        workload: tuple(
            (runs[pair, Side.BASE], runs[pair, Side.HEAD])
            for pair in sorted({pair for pair, _ in runs})
            if (pair, Side.BASE) in runs and (pair, Side.HEAD) in runs
        )
        for workload, runs in sides.items()
    }


def estimate_pairs(pairs: Sequence[tuple[Run, Run]], metrics: Sequence[Metric]) -> tuple[Pair, ...]:
    """Reduce every run to one value per metric; fastest when many pairs are passed at once.

    Interleaved runs get step and CPU times whose ratio is that of their turns (`interleaving`).
    """
    runs = [run for pair in pairs for run in pair]
    estimates: list[dict[str, float]] = [{} for _ in runs]
    for metric in metrics:
        for estimate, value in zip(estimates, point_estimates(runs, metric), strict=True):
            if value is not None:
                estimate[metric.name] = value
    sides = zip(estimates[::2], estimates[1::2], strict=True)
    return tuple(
        _settled_pair(runs, its_sides, _left_out(runs, metrics))
        for its_sides, runs in zip(sides, pairs, strict=True)
    )


def _settled_pair(
    runs: tuple[Run, Run],
    sides: tuple[Mapping[str, float], Mapping[str, float]],
    left_out: Mapping[str, int],
) -> Pair:
    pair = _pair(runs, sides, left_out)
    turns, unsettled = unsettled_turns(*runs)
    if unsettled is None:
        return pair
    later_part = _pair(runs, sides, left_out, turns_left_out=turns)
    return replace(later_part, unsettled=unsettled, with_all_turns=pair)


def _pair(
    runs: tuple[Run, Run],
    sides: tuple[Mapping[str, float], Mapping[str, float]],
    left_out: Mapping[str, int],
    *,
    turns_left_out: int = 0,
) -> Pair:
    """Return the estimates of a pair; those of interleaved runs have the ratio of their turns."""
    before, after = map(dict, sides)
    for metric in INTERLEAVED_METRICS:
        difference = interleaved_difference(*runs, metric, left_out=turns_left_out)
        if difference is not None and metric.name in before.keys() & after.keys():
            before[metric.name], after[metric.name] = apply_difference(
                before[metric.name], after[metric.name], difference=difference
            )
    unqueued = unqueued_difference(*runs, left_out=turns_left_out)
    return Pair(before, after, clock_difference(*runs), unqueued, left_out)


def _with_habits(pairs: Sequence[Pair]) -> Sequence[Pair]:
    """Return the pairs, with all turns if one side had not settled in most of them.

    By chance a process settles late now and then; a side that does so as a rule is slower.
    """
    counts = Counter(pair.unsettled for pair in pairs)
    habits = {side for side in Side if 2 * counts[side] > len(pairs)}
    return [
        pair.with_all_turns if pair.with_all_turns and pair.unsettled in habits else pair
        for pair in pairs
    ]


def _left_out(runs: Iterable[Run], metrics: Iterable[Metric]) -> Mapping[str, int]:
    counts = (
        (metric.name, sum(left_out_samples(run, metric) for run in runs)) for metric in metrics
    )
    return {name: count for name, count in counts if count}


def tests_of(
    workload: str, pairs: Sequence[Pair], metrics: Sequence[Metric]
) -> tuple[PairedTest, ...]:
    """Return a test for each metric that a pair has on both sides, and always one for step time.

    A metric that the configuration asks for always gets a test, and there is at least one: what
    should be judged but was not read is never unchanged. Any other metric may be missing: a
    workload's memory peak is unknown while it stays below that of the workload before it in the
    same process. A metric that one side did not read gets no test and is no failure. Pairs whose
    sides ran at different clocks are left out of the metrics that depend on the clock. First turns
    count if one side had not settled in them as a rule.
    """
    pairs = _with_habits(pairs)
    usual = has_usual_clocks([pair.clock_difference for pair in pairs])
    numbered = tuple(enumerate(pairs, start=1))
    comparable = tuple(compress(numbered, usual))
    tests = tuple(
        _test(workload, metric, comparable if follows_clocks(metric) else numbered, of=len(pairs))
        for metric in metrics
    )
    needed = tuple(
        test
        for test in tests
        if test.pairs or test.metric.name == STEP_TIME.name or test.metric.is_optional
    )
    return needed or tests[:1]


def _test(
    workload: str, metric: Metric, pairs: Sequence[tuple[int, Pair]], *, of: int
) -> PairedTest:
    unqueued = tuple(pair.unqueued for _, pair in pairs) if metric.kind in WALL_TIMES else ()
    return PairedTest(
        workload=workload,
        metric=metric,
        base=tuple(pair.base.get(metric.name) for _, pair in pairs),
        head=tuple(pair.head.get(metric.name) for _, pair in pairs),
        numbers=tuple(number for number, _ in pairs),
        other_clocks=of - len(pairs),
        unqueued=unqueued if any(unqueued) else (),
        left_out=sum(pair.left_out.get(metric.name, 0) for _, pair in pairs),
    )
