"""Judges single kernels: finds changes that are too small for the step's own timing.

Work that moved is not work that was added. Kernels that are called another number of times, or that
became faster, may have passed work on to others. They are therefore tested together: if they did
not become faster, a slower kernel is judged by itself; if they did, it must have lost more than
they gained. A slower one counts as having taken work from the others only if all together are
proven to add less than it does.

Each call counts at its shortest, since other load only lengthens calls. A change that this does not
show, in the average over all steps, is not a finding, but then nothing is called unchanged or
improved.

The state of the machine lengthens all kernels of a process. A family is therefore compared with
what most families of its pair have in common; whether all of them changed equally is judged by the
step's own timing. A kernel that stayed while all others became faster looks like one that became
slower while they stayed; if the machine's state varies more than that, the two cannot be
distinguished. Nothing is called unchanged, improved or regressed unless it is proven as measured.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from itertools import compress
from statistics import median
from types import MappingProxyType

import numpy as np

from perfledger.kernel_times import WorkloadKernels
from perfledger_baselines.estimation.arrays import FloatArray
from perfledger_baselines.estimation.kernel_families import (
    KernelFamily,
    PairedSeconds,
    common_ratios,
    kernel_families,
    least_step,
    median_step,
    whole_steps,
)
from perfledger_baselines.judging.judged_kernels import (
    JudgedFamily,
    JudgedWorkload,
    KernelShift,
    KernelTestRule,
)
from perfledger_baselines.judging.kernel_judgement import (
    KernelFinding,
    KernelJudgement,
)
from perfledger_baselines.judging.kernel_shifts import divide_changes
from perfledger_baselines.judging.kernel_wording import (
    UNPROVEN,
    common_reason,
    kernel_reason,
    uneven_reason,
    widest_reason,
)
from perfledger_baselines.judging.verdict import Outcome
from perfledger_baselines.significance.decision_rule import DecisionRule
from perfledger_baselines.significance.interim_looks import InterimLooks
from perfledger_baselines.significance.kernel_tests import (
    MIN_KERNEL_PAIRS,
    kernel_looks_until,
    paired_kernel_tests,
    relative_change,
)

# Share of the step. Shorter families have no test of their own: 5 % of one is 0.01 % of the step.
# They count when work moved.
MIN_FAMILY_SHARE = 0.002


def judge_kernels(
    workloads: Sequence[WorkloadKernels],
    *,
    level: float,
    rule: DecisionRule,
    kernel_pairs: int,
    pairs: Mapping[str, Collection[int]],
    wait_shares: Mapping[str, float],
    step_detectable: Mapping[str, float] = MappingProxyType({}),
) -> tuple[KernelJudgement, ...]:
    """Judge the kernels of all workloads of a check as one family of tests, in order.

    `level` is the probability of any false finding, over the looks of a check that records windows
    of `kernel_pairs` pairs. `pairs` are each workload's comparable pairs that may have windows; a
    workload with too few windows is not measured. `wait_shares` are the shares of their wall time
    that base's steps may have waited for other programs. `rule` has the floor, the margins, and the
    alpha of intervals.
    """
    prepared = {
        each.workload: _prepare(
            each,
            places,
            rule,
            looks=kernel_looks_until(kernel_pairs, each.pairs[places[-1]] + 1),
            wait_share=wait_shares[each.workload],
        )
        for each in workloads
        if len(places := _places(each, pairs[each.workload])) >= MIN_KERNEL_PAIRS and each.kernels
    }
    tests = max(1, sum(len(each.tested) + 1 for each in prepared.values()))
    return tuple(
        _judge(
            prepared[each.workload],
            _test_rule(
                prepared[each.workload],
                level=level,
                tests=tests,
                workloads=len(prepared),
                rule=rule,
            ),
            step_detectable.get(each.workload),
        )
        if each.workload in prepared
        else _without_enough(each, pairs[each.workload])
        for each in workloads
    )


def _places(windows: WorkloadKernels, pairs: Collection[int]) -> list[int]:
    return [index for index, pair in enumerate(windows.pairs) if pair in pairs]


def _without_enough(windows: WorkloadKernels, pairs: Collection[int]) -> KernelJudgement:
    count = len(_places(windows, pairs))
    needed = f"{count} of the {MIN_KERNEL_PAIRS} profiled pairs needed"
    if len(pairs) < MIN_KERNEL_PAIRS:
        outcome, reason = Outcome.UNDECIDED, needed
    else:
        lack = windows.failure or ("no kernel was recorded" if count else "no window was recorded")
        outcome, reason = Outcome.NOT_MEASURED, f"kernels: {lack}; {needed}"
    return KernelJudgement(workload=windows.workload, outcome=outcome, reason=reason, pairs=count)


def _prepare(
    windows: WorkloadKernels,
    places: Sequence[int],
    rule: DecisionRule,
    *,
    looks: InterimLooks,
    wait_share: float,
) -> JudgedWorkload:
    families = kernel_families(windows.kernels, places=places)
    steps = whole_steps(windows, places=places)
    median_seconds = median_step(windows, places=places)
    least_seconds = least_step(windows, places=places, wait_share=wait_share)
    is_long = [
        one.is_long(least_seconds, median_seconds, share=MIN_FAMILY_SHARE) for one in families
    ]
    tested = [*compress(families, is_long)]
    ratios = common_ratios(tested, pairs=len(places))
    restructured = [
        one
        for one, is_tested in zip(families, is_long, strict=True)
        if one.is_restructured and not is_tested
    ]
    judged_tested, judged_restructured = (
        _judged_families(each, ratios, looks=looks, alpha=rule.alpha)
        for each in (tested, restructured)
    )
    return JudgedWorkload(
        name=windows.workload,
        pairs=len(places),
        looks=looks,
        step_seconds=steps.base_seconds,
        least_step_seconds=least_seconds,
        common_change=_common_change(ratios, rule, looks),
        tested=judged_tested,
        restructured=judged_restructured,
    )


def _judged_families(
    families: Sequence[KernelFamily], ratios: FloatArray, *, looks: InterimLooks, alpha: float
) -> tuple[JudgedFamily, ...]:
    """Return families with their tests: relative to what all have in common, and as measured."""
    relative = [family.total.relative_to(ratios) for family in families]
    measured = [family.total for family in families]
    results, measured_results = (
        paired_kernel_tests(seconds, looks=looks, alpha=alpha) for seconds in (relative, measured)
    )
    return tuple(
        JudgedFamily(
            seconds=seconds,
            result=result,
            measured_seconds=family.total,
            measured_result=measured_result,
            over_all_steps=family.over_all_steps,
            kernels=tuple(one.relative_to(ratios) for one in family.kernels),
            is_restructured=family.is_restructured,
        )
        for family, seconds, result, measured_result in zip(
            families, relative, results, measured_results, strict=True
        )
    )


def _common_change(ratios: FloatArray, rule: DecisionRule, looks: InterimLooks) -> float | None:
    """Return the relative change that all kernels share; None if none is certain."""
    common = PairedSeconds(name="", base=np.ones(len(ratios)), head=ratios)
    (result,) = paired_kernel_tests([common], looks=looks, alpha=rule.alpha)
    is_sure = result.p_value < rule.alpha
    change = relative_change(result.mean)
    return change if is_sure and abs(change) >= rule.floor else None


def _test_rule(
    workload: JudgedWorkload, *, level: float, tests: int, workloads: int, rule: DecisionRule
) -> KernelTestRule:
    return KernelTestRule(
        level=level / tests,
        tests=tests,
        proof_level=level / workloads,
        rule=rule,
        looks=workload.looks,
        step_seconds=workload.step_seconds,
        least_step_seconds=workload.least_step_seconds or workload.step_seconds,
        has_common_change=workload.common_change is not None,
    )


def _judge(
    workload: JudgedWorkload, shared: KernelTestRule, step_detectable: float | None
) -> KernelJudgement:
    shift = divide_changes(workload, shared)
    findings = (
        *_findings(shift.alarms, shared),
        *(replace(one, is_outweighed=True) for one in _findings(shift.outweighed, shared)),
        *_findings(shift.gains, shared),
        *(
            replace(shared.finding(one), is_moved=True, is_proven=shift.is_proven)
            for one in _largest_first(shift.shifts)
        ),
    )
    outcome, decisive, doubt = _outcome(workload, shift, shared)
    tested = tuple(map(shared.figures, workload.tested))
    detectable = [shared.detectable(one) for one in workload.tested]
    largest = [one.largest_change for one in tested if one.largest_change is not None]
    judgement = KernelJudgement(
        workload=workload.name,
        outcome=outcome,
        reason="",
        pairs=workload.pairs,
        families=len(workload.tested),
        step_seconds=workload.step_seconds,
        findings=findings,
        tested=tested,
        detectable=median(detectable) if detectable else None,
        largest_change=median(largest) if largest else None,
        step_detectable=step_detectable,
        common_change=workload.common_change,
        moved_bounds=_moved_bounds(workload, shift),
        estimate=shared.estimate(decisive) if decisive is not None else None,
        adjusted_p=shared.adjusted_p(decisive) if decisive is not None else 1.0,
    )
    return replace(judgement, reason=kernel_reason(judgement, doubt=doubt))


def _moved_bounds(workload: JudgedWorkload, shift: KernelShift) -> tuple[float, float] | None:
    if shift.pool is None or not shift.shifts:
        return None
    low, high = shift.pool.bounds_seconds
    return low / workload.step_seconds, high / workload.step_seconds


def _findings(
    changed: Collection[JudgedFamily], shared: KernelTestRule
) -> tuple[KernelFinding, ...]:
    """Return losses, or gains, with those proven as measured first."""
    proven = _proven(changed, shared)
    among = len(changed)
    return (
        *(shared.finding(one) for one in proven),
        *(
            shared.unproven_finding(one, among=among)
            for one in _largest_first(changed)
            if one not in proven
        ),
    )


def _proven(changed: Collection[JudgedFamily], shared: KernelTestRule) -> tuple[JudgedFamily, ...]:
    """Return those losses, or gains, that are proven as measured, the largest first."""
    among = len(changed)
    return tuple(one for one in _largest_first(changed) if shared.is_proven(one, among=among))


def _largest_first(families: Collection[JudgedFamily]) -> tuple[JudgedFamily, ...]:
    return tuple(sorted(families, key=lambda one: -abs(one.delta_seconds)))


def _outcome(
    workload: JudgedWorkload, shift: KernelShift, shared: KernelTestRule
) -> tuple[Outcome, JudgedFamily | None, str]:
    """Return the outcome, the family that decides it, and why it is undecided.

    All are unchanged, and none decides, if each is proven to add or save at most the margin, as a
    share of the step, and all together do not seem to add or save more. Those that may have passed
    work on count as one. The step is here the least that it may be: other load makes it longer, and
    any change a smaller share of it.
    """
    if shift.alarms:
        proven = _proven(shift.alarms, shared)
        outcome = Outcome.REGRESSED if proven else Outcome.UNDECIDED
        return outcome, (*proven, *_largest_first(shift.alarms))[0], ""
    doubtful = _doubtful_change(workload, shift, shared)
    if doubtful is not None:
        return Outcome.UNDECIDED, *doubtful
    if shift.gains:
        proven = _proven(shift.gains, shared)
        outcome = Outcome.IMPROVED if proven else Outcome.UNDECIDED
        return outcome, (*proven, *_largest_first(shift.gains))[0], ""
    if not workload.tested:
        return Outcome.NOT_MEASURED, None, ""
    doubt = _wide_change(workload, shift, shared)
    return (Outcome.UNCHANGED, None, "") if doubt is None else (Outcome.UNDECIDED, *doubt)


def _wide_change(
    workload: JudgedWorkload, shift: KernelShift, shared: KernelTestRule
) -> tuple[JudgedFamily, str] | None:
    """Return what may have changed by more than the margin, and why that is undecided."""
    pool = () if shift.pool is None else (shift.pool,)
    apart = (one for one in workload.tested if not one.is_restructured and one not in shift.shifts)
    widest = max((*apart, *pool), key=lambda one: one.reach_seconds)
    if widest.reach_seconds > _margin_seconds(workload, shared):
        # It is 0 if most pairs lack all kernels, and some have nothing else.
        step_seconds = workload.least_step_seconds or workload.step_seconds
        share = widest.reach_seconds / step_seconds
        return widest, widest_reason(widest.seconds.name, share=share)
    return _change_of_all(workload, shared)


def _change_of_all(
    workload: JudgedWorkload, shared: KernelTestRule
) -> tuple[JudgedFamily, str] | None:
    """Return all kernels together if they seem to have changed, and may by more than the margin."""
    common = shared.common_change(
        (*workload.tested, *workload.restructured),
        most_seconds=_margin_seconds(workload, shared),
    )
    if common is None:
        return None
    return common, common_reason(share=common.delta_seconds / workload.step_seconds)


def _margin_seconds(workload: JudgedWorkload, shared: KernelTestRule) -> float:
    return shared.rule.of(workload.name).margin * workload.least_step_seconds


def _doubtful_change(
    workload: JudgedWorkload, shift: KernelShift, shared: KernelTestRule
) -> tuple[JudgedFamily, str] | None:
    """Return a change in some steps only, or possibly added work, and why that is undecided."""
    for family in (*workload.tested, *((shift.pool,) if shift.pool else ())):
        uneven = shared.uneven_change(family)
        if uneven is not None:
            share = uneven.delta_seconds / workload.step_seconds
            return uneven, uneven_reason(family.seconds.name, share=share)
    if not shift.is_proven:
        return max(shift.shifts, key=lambda one: one.delta_seconds), UNPROVEN
    # A gain beside a loss of most kernels is no improvement.
    change = _change_of_all(workload, shared) if shift.gains else None
    return change if change is not None and change[0].is_slower else None
