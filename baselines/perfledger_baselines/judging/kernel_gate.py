"""Judges single kernels: finds changes that are too small for the step's own timing.

Work that moved is not work that was added. Kernels that are called another number of times, or that
became faster, may have passed work on to others. They are therefore tested together: if they did
not become faster, a slower kernel stands for itself; if they did, it must have lost more than they
gained. A slower one is said to have work of the others only where they are proven to add less
together than it does.

The shortest steps of a pair count, as other load only lengthens steps. What they do not show, a
change of all steps on average, is no finding, but nothing is then called unchanged or improved.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from statistics import median
from types import MappingProxyType

from perfledger.kernel_times import WorkloadKernels
from perfledger_baselines.estimation.kernel_families import (
    KernelFamily,
    kernel_families,
    whole_steps,
)
from perfledger_baselines.judging.judged_kernels import (
    JudgedFamily,
    JudgedWorkload,
    KernelShift,
    KernelTestRule,
)
from perfledger_baselines.judging.kernel_judgement import KernelJudgement
from perfledger_baselines.judging.kernel_wording import kernel_reason, uneven_reason, widest_reason
from perfledger_baselines.judging.verdict import Outcome
from perfledger_baselines.significance.decision_rule import DecisionRule
from perfledger_baselines.significance.kernel_tests import FEWEST_KERNEL_PAIRS, paired_kernel_tests

# Of the step. Shorter families have no test of their own: 5 % of one is 0.01 % of the step. They
# count where work moved.
MIN_FAMILY_SHARE = 0.002
TOGETHER = "kernels that were added, removed or replaced"


def judge_kernels(
    workloads: Sequence[WorkloadKernels],
    *,
    level: float,
    rule: DecisionRule,
    pairs: Mapping[str, Collection[int]],
    step_detectable: Mapping[str, float] = MappingProxyType({}),
) -> tuple[KernelJudgement, ...]:
    """Judge the kernels of all workloads of a check as one family of tests, in order.

    `level` is the chance of any false finding. `pairs` are the comparable pairs of each workload
    that were to have windows; a workload without windows of enough of them is not measured. `rule`
    has the floor, the margins, and the alpha of intervals.
    """
    prepared = {
        each.workload: _prepare(each, places, rule)
        for each in workloads
        if len(places := _places(each, pairs[each.workload])) >= FEWEST_KERNEL_PAIRS
        and each.kernels
    }
    tests = max(1, sum(len(each.tested) + 1 for each in prepared.values()))
    shared = KernelTestRule(level=level / tests, tests=tests, rule=rule)
    return tuple(
        _judge(prepared[each.workload], shared, step_detectable.get(each.workload))
        if each.workload in prepared
        else _without_enough(each, pairs[each.workload])
        for each in workloads
    )


def _places(windows: WorkloadKernels, pairs: Collection[int]) -> list[int]:
    return [place for place, pair in enumerate(windows.pairs) if pair in pairs]


def _without_enough(windows: WorkloadKernels, pairs: Collection[int]) -> KernelJudgement:
    count = len(_places(windows, pairs))
    needed = f"{count} of the {FEWEST_KERNEL_PAIRS} profiled pairs needed"
    if len(pairs) < FEWEST_KERNEL_PAIRS:
        outcome, reason = Outcome.UNDECIDED, needed
    else:
        lack = windows.failure or ("no kernel was recorded" if count else "no window was recorded")
        outcome, reason = Outcome.NOT_MEASURED, f"kernels: {lack}; {needed}"
    return KernelJudgement(workload=windows.workload, outcome=outcome, reason=reason, pairs=count)


def _prepare(windows: WorkloadKernels, places: Sequence[int], rule: DecisionRule) -> JudgedWorkload:
    families = kernel_families(windows.kernels, places=places)
    step_seconds = whole_steps(windows, places=places).base_seconds
    results = paired_kernel_tests([family.total for family in families], alpha=rule.alpha)
    judged_families = [
        (
            _most_seconds(family) >= MIN_FAMILY_SHARE * step_seconds,
            JudgedFamily(
                seconds=family.total,
                result=result,
                over_all_steps=family.over_all_steps,
                kernels=family.kernels,
                is_restructured=family.is_restructured,
            ),
        )
        for family, result in zip(families, results, strict=True)
    ]
    return JudgedWorkload(
        name=windows.workload,
        pairs=len(places),
        step_seconds=step_seconds,
        tested=tuple(one for is_long, one in judged_families if is_long),
        restructured=tuple(
            one for is_long, one in judged_families if not is_long and one.is_restructured
        ),
    )


def _most_seconds(family: KernelFamily) -> float:
    """Return how long it takes in a step that runs it; on average where most pairs lack it."""
    means = (values.mean() for one in family.over_all_steps for values in (one.base, one.head))
    return max(family.total.most_seconds, *map(float, means))


def _judge(
    workload: JudgedWorkload, shared: KernelTestRule, step_detectable: float | None
) -> KernelJudgement:
    shift = _shift(workload, shared)
    findings = tuple(
        shared.finding(one, workload.step_seconds, is_moved=group is shift.shifts)
        for group in (shift.alarms, shift.gains, shift.shifts)
        for one in sorted(group, key=lambda each: -abs(each.delta_seconds))
    )
    outcome, decisive, doubt = _outcome(workload, shift, shared)
    detectable = [shared.detectable(one) for one in workload.tested]
    judgement = KernelJudgement(
        workload=workload.name,
        outcome=outcome,
        reason="",
        pairs=workload.pairs,
        families=len(workload.tested),
        step_seconds=workload.step_seconds,
        findings=findings,
        detectable=median(detectable) if detectable else None,
        step_detectable=step_detectable,
        estimate=shared.estimate(decisive) if decisive is not None else None,
        adjusted_p=shared.adjusted_p(decisive) if decisive is not None else 1.0,
    )
    return replace(judgement, reason=kernel_reason(judgement, doubt=doubt))


def _shift(workload: JudgedWorkload, shared: KernelTestRule) -> KernelShift:
    """Divide the changed families into alarms, gains, and cost that only moved."""
    changed = [one for one in workload.tested if shared.is_change(one, workload.step_seconds)]
    slower = tuple(one for one in changed if one.is_slower and not one.is_restructured)
    traded = tuple(one for one in changed if one not in slower)
    parts = (
        *(one for one in workload.tested if one.is_restructured or one in traded),
        *workload.restructured,
    )
    if not parts:
        return KernelShift(alarms=slower)
    net = shared.test_together(TOGETHER, parts)
    if not shared.is_change(net, workload.step_seconds):
        shift = _shift_without_net_change(traded, net)
        return replace(shift, alarms=(*slower, *shift.alarms))
    if net.is_slower:
        added = tuple(one for one in traded if one.is_slower) or (net,)
        gains = tuple(one for one in traded if not one.is_slower)
        return KernelShift(alarms=(*slower, *added), gains=gains, pool=net)
    return _shift_of_gains(workload, shared, slower, traded, net)


def _shift_of_gains(
    workload: JudgedWorkload,
    shared: KernelTestRule,
    slower: tuple[JudgedFamily, ...],
    traded: tuple[JudgedFamily, ...],
    net: JudgedFamily,
) -> KernelShift:
    """Divide where other kernels became faster or less: slower ones may have their work."""
    gains = tuple(one for one in traded if not one.is_slower) or (net,)
    shifts = tuple(one for one in traded if one.is_slower)
    if not slower:
        return KernelShift(gains=gains, shifts=shifts, pool=net)
    total = shared.test_together(TOGETHER, (net, *slower))
    if not shared.is_change(total, workload.step_seconds):
        return _shift_without_net_change((*slower, *traded), total)
    if total.is_slower:
        return KernelShift(alarms=slower, gains=gains, shifts=shifts, pool=total)
    return KernelShift(gains=gains, shifts=(*slower, *shifts), pool=total)


def _shift_without_net_change(changed: tuple[JudgedFamily, ...], pool: JudgedFamily) -> KernelShift:
    """Divide changed families that did not change together.

    A slower one has work of the others where all together add less than it does, by their bounds;
    else it stands for itself.
    """
    _, most_seconds = pool.bounds_seconds
    alarms = tuple(
        one for one in changed if one.is_slower and one.bounds_seconds[0] <= most_seconds
    )
    rest = tuple(one for one in changed if one not in alarms)
    if not alarms:
        return KernelShift(shifts=rest, pool=pool)
    return KernelShift(
        alarms=alarms,
        gains=tuple(one for one in rest if not one.is_slower),
        shifts=tuple(one for one in rest if one.is_slower),
        pool=pool,
    )


def _outcome(
    workload: JudgedWorkload, shift: KernelShift, shared: KernelTestRule
) -> tuple[Outcome, JudgedFamily | None, str]:
    """Return the outcome, the family that decides it, and why it is undecided.

    All are unchanged, and none decides, if each is proven to add or save no more than the margin,
    as a share of the step. Those that may have passed work on count as one.
    """
    if shift.alarms:
        return Outcome.REGRESSED, max(shift.alarms, key=lambda one: one.delta_seconds), ""
    step_seconds = workload.step_seconds
    pool = () if shift.pool is None else (shift.pool,)
    for family in (*workload.tested, *pool):
        uneven = shared.uneven_change(family, step_seconds)
        if uneven is not None:
            reason = uneven_reason(family.seconds.name, share=uneven.delta_seconds / step_seconds)
            return Outcome.UNDECIDED, uneven, reason
    if shift.gains:
        return Outcome.IMPROVED, min(shift.gains, key=lambda one: one.delta_seconds), ""
    if not workload.tested:
        return Outcome.NOT_MEASURED, None, ""
    apart = (one for one in workload.tested if not one.is_restructured and one not in shift.shifts)
    widest = max((*apart, *pool), key=lambda one: one.reach_seconds)
    if widest.reach_seconds <= shared.rule.of(workload.name).margin * step_seconds:
        return Outcome.UNCHANGED, None, ""
    reason = widest_reason(widest.seconds.name, share=widest.reach_seconds / step_seconds)
    return Outcome.UNDECIDED, widest, reason
