"""Ranks the variants of a workload by their step times, on base and on head.

The variants of a side run one after the other in each of its processes: every process is a pair of
any two of them. One is called the fastest if its interval against each of the others lies above the
floor. All intervals of a check share alpha (Bonferroni), since the data determine which variant is
compared with the others.
"""

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from perfledger.bundle import SAME_CODE, Bundle
from perfledger.metrics import STEP_TIME
from perfledger.records import Run, Side, WorkloadSpec
from perfledger.registration.variant_name import VariantKind
from perfledger_baselines.estimation.estimators import point_estimates
from perfledger_baselines.significance.decision_rule import DecisionRule
from perfledger_baselines.significance.interim_looks import looks_until
from perfledger_baselines.significance.paired_t_tests import t_tests
from perfledger_baselines.significance.power import relative

NEW, SKIPPED = "new", "skipped"


@dataclass(frozen=True, slots=True, kw_only=True)
class VariantComparison:
    """How much more time a variant takes than the first one: relative, with an interval.

    Without enough pairs the interval is infinite.
    """

    variant: str
    change: float
    low: float
    high: float
    pairs: int


@dataclass(frozen=True, slots=True, kw_only=True)
class SideRanking:
    """The variants of one side: the first one, and the others by their mean times.

    The first is faster than each of the others in the processes that both have, if such a variant
    exists. `comparisons` compare it with the others.
    """

    first: str
    comparisons: tuple[VariantComparison, ...]
    floor: float  # relative: a smaller difference is none

    @property
    def fastest(self) -> str:
        """Return the fastest variant; "" if it cannot be distinguished from another."""
        return "" if self.rivals else self.first

    @property
    def rivals(self) -> tuple[VariantComparison, ...]:
        """Return the comparisons with variants that may be as fast."""
        return tuple(each for each in self.comparisons if not each.low > self.floor)


@dataclass(frozen=True, slots=True, kw_only=True)
class VariantRanking:
    """The variants of a workload on both sides; None where a side has fewer than two.

    `workload` is the id without a variant. `unmeasured` are the variants without runs on a side, or
    with a failure. `left_out` are those that were not planned to be measured, with the reason.
    """

    workload: str
    base: SideRanking | None
    head: SideRanking | None
    unmeasured: tuple[str, ...] = ()
    left_out: Mapping[str, str] = field(default_factory=dict[str, str])

    @property
    def has_changed(self) -> bool:
        """Return whether another variant is the fastest on head, as far as both are known."""
        if self.base is None or self.head is None:
            return False
        fastest = self.base.fastest, self.head.fastest
        return all(fastest) and fastest[0] != fastest[1]


def variant_rankings(bundle: Bundle, *, failed: Collection[str] = ()) -> tuple[VariantRanking, ...]:
    """Return the ranking of each workload with variants, without `failed` workloads.

    There is none if no variant was to be measured.
    """
    rule = DecisionRule.from_plan(bundle.plan)
    groups = _groups(bundle.workloads)
    comparisons = sum(len(Side) * len(specs) * (len(specs) - 1) // 2 for specs in groups)
    reasons = _reasons(bundle)
    rankings: list[VariantRanking] = []
    for specs in groups:
        if all(spec.id in reasons for spec in specs):
            continue
        measured = [spec for spec in specs if spec.id not in failed]
        sides = {
            side: _rank(
                {_variant(spec): bundle.runs_of(spec.id, side) for spec in measured},
                rule=rule,
                alpha=rule.alpha / comparisons,
            )
            for side in Side
        }
        rankings.append(
            VariantRanking(
                workload=workload_of(specs[0]),
                base=sides[Side.BASE],
                head=sides[Side.HEAD],
                unmeasured=tuple(
                    _variant(spec)
                    for spec in specs
                    if spec.id in failed
                    or not (
                        spec.id in reasons or all(bundle.runs_of(spec.id, side) for side in Side)
                    )
                ),
                left_out={
                    _variant(spec): reasons[spec.id]
                    for spec in specs
                    if spec.id in reasons and spec.id not in failed
                },
            )
        )
    return tuple(rankings)


def workload_of(spec: WorkloadSpec) -> str:
    """Return the id of a workload without its variant."""
    chosen = ",".join(f"{name}={value}" for name, value in spec.params.items())
    key = f"{spec.module}:{spec.function}"
    return f"{key}[{chosen}]" if chosen else key


def _reasons(bundle: Bundle) -> dict[str, str]:
    """Return why workloads were not to be measured, by id."""
    return {
        **dict.fromkeys(bundle.new_workloads, NEW),
        **dict.fromkeys(bundle.skipped, SKIPPED),
        **dict.fromkeys(bundle.same_code, SAME_CODE),
    }


def _groups(workloads: Iterable[WorkloadSpec]) -> tuple[tuple[WorkloadSpec, ...], ...]:
    """Return the workloads that differ only in their variant, if there are several."""
    by_workload: dict[str, list[WorkloadSpec]] = {}
    for spec in workloads:
        by_workload.setdefault(workload_of(spec), []).append(spec)
    return tuple(
        tuple(specs)
        for specs in by_workload.values()
        if len(specs) > 1 and any(spec.variant for spec in specs)
    )


def _variant(spec: WorkloadSpec) -> str:
    return spec.variant or VariantKind.EAGER


def _rank(
    runs: Mapping[str, Sequence[Run]], *, rule: DecisionRule, alpha: float
) -> SideRanking | None:
    logs = {variant: _log_times(each, most=rule.most_pairs) for variant, each in runs.items()}
    measured = {variant: each for variant, each in logs.items() if each}
    if len(measured) < 2:  # noqa: PLR2004 - there is nothing to compare
        return None
    means = {variant: math.fsum(each.values()) / len(each) for variant, each in measured.items()}
    order = sorted(measured, key=lambda variant: means[variant])
    first = order[0]
    for variant in order[1:]:  # one that beats each of the others ends up first
        if _mean_difference(measured[first], measured[variant]) < 0:
            first = variant
    return SideRanking(
        first=first,
        comparisons=tuple(
            _comparison(variant, measured[first], measured[variant], rule=rule, alpha=alpha)
            for variant in order
            if variant != first
        ),
        floor=rule.floor,
    )


def _log_times(runs: Sequence[Run], *, most: int | None) -> dict[int, float]:
    """Return the log of each process's step time, by pair; the latest if it was repeated."""
    latest = {run.pair: run for run in sorted(runs, key=lambda run: (run.process, run.started_at))}
    numbers = sorted(latest)[:most]
    values = point_estimates([latest[number] for number in numbers], STEP_TIME)
    return {
        number: math.log(value)
        for number, value in zip(numbers, values, strict=True)
        if value is not None and math.isfinite(value) and value > 0
    }


def _comparison(
    variant: str,
    first_logs: Mapping[int, float],
    variant_logs: Mapping[int, float],
    *,
    rule: DecisionRule,
    alpha: float,
) -> VariantComparison:
    differences = _differences(first_logs, variant_logs)
    if not differences:
        return VariantComparison(
            variant=variant, change=math.nan, low=-math.inf, high=math.inf, pairs=0
        )
    looks = looks_until(rule.looks, len(differences))
    (result,) = t_tests(np.array([differences]), looks=looks, alpha=alpha)
    mean, width = result.mean, result.half_width
    return VariantComparison(
        variant=variant,
        change=relative(mean),
        low=-math.inf if math.isinf(width) else relative(mean - width),
        high=math.inf if math.isinf(width) else relative(mean + width),
        pairs=len(differences),
    )


def _differences(
    first_logs: Mapping[int, float], second_logs: Mapping[int, float]
) -> tuple[float, ...]:
    """Return the second's log time minus the first's, for each process that both have."""
    common = sorted(first_logs.keys() & second_logs.keys())
    return tuple(second_logs[number] - first_logs[number] for number in common)


def _mean_difference(first_logs: Mapping[int, float], second_logs: Mapping[int, float]) -> float:
    differences = _differences(first_logs, second_logs)
    return math.fsum(differences) / len(differences) if differences else 0.0
