"""Holds families of kernels with their tests, and the rule for which of them changed."""

import math
from collections.abc import Collection, Iterable
from dataclasses import dataclass, replace
from itertools import compress

import numpy as np

from perfledger_baselines.estimation.kernel_families import PairedSeconds, sum_of
from perfledger_baselines.judging.kernel_judgement import (
    TOGETHER,
    KernelChange,
    KernelFigures,
    KernelFinding,
)
from perfledger_baselines.judging.verdict import EffectEstimate
from perfledger_baselines.significance.decision_rule import DecisionRule
from perfledger_baselines.significance.interim_looks import InterimLooks, looks_until
from perfledger_baselines.significance.kernel_tests import (
    changed_members,
    half_width_at_one_look,
    largest_change,
    paired_kernel_tests,
    relative_change,
)
from perfledger_baselines.significance.paired_t_tests import TTestResult
from perfledger_baselines.significance.power import detectable_change

# Share of the step: nobody acts on less, however certain it is.
MIN_STEP_SHARE = 0.0002


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class JudgedFamily:
    """A family of kernels with its tests, or several families together.

    A test's differences are relative to the mean of both sides. `seconds` and `result` are relative
    to what all kernels have in common; `measured_seconds` and `measured_result` are not.
    `over_all_steps` is as in KernelFamily.
    """

    seconds: PairedSeconds
    result: TTestResult
    measured_seconds: PairedSeconds
    measured_result: TTestResult
    over_all_steps: tuple[PairedSeconds, ...] = ()
    kernels: tuple[PairedSeconds, ...] = ()
    is_restructured: bool = False

    @property
    def is_slower(self) -> bool:
        """Return whether it takes more time on head."""
        return self.result.mean > 0

    @property
    def bounds_seconds(self) -> tuple[float, float]:
        """Return the interval of the added seconds, at the plan's confidence."""
        width = self.result.half_width
        return self._seconds(self.result.mean - width), self._seconds(self.result.mean + width)

    @property
    def reach_seconds(self) -> float:
        """Return the most that it may add or save by the interval that decides equivalence.

        This is as measured: what all kernels have in common may be a change of all of them. The
        median pair may lack it, as work of every hundredth step: then its average counts, and at
        least what it added or saved in the pairs, which the trimmed mean may leave out.
        """
        result, seconds = self.measured_result, self.measured_seconds
        difference = abs(result.mean) + result.narrow_half_width
        if np.median(seconds.base + seconds.head) > 0:
            return self._seconds(difference)
        average = float(np.mean(seconds.base + seconds.head)) / 2
        return max(difference * average, float(np.mean(abs(seconds.head - seconds.base))))

    @property
    def delta_seconds(self) -> float:
        """Return the seconds that it adds to a step."""
        return self._seconds(self.result.mean)

    def _seconds(self, difference: float) -> float:
        return difference * float(np.median(self.seconds.base + self.seconds.head)) / 2


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgedWorkload:
    """The families of one workload.

    `tested` are those long enough for a test of their own, and `restructured` the shorter ones
    whose kernels are called a different number of times. `common_change` is the relative change
    that all kernels share; None if none is certain. Its pairs with windows are those of `looks`, or
    fewer if some cannot be compared.
    """

    name: str
    pairs: int
    looks: InterimLooks
    step_seconds: float  # base's, profiled
    least_step_seconds: float  # the same without other load, or less
    common_change: float | None
    tested: tuple[JudgedFamily, ...]
    restructured: tuple[JudgedFamily, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class KernelShift:
    """The changed families: work that was added, work that was saved, and work that moved.

    `outweighed` became slower by less than others gained. `pool` is everything that may have passed
    work on, combined; None if nothing may have. `is_proven` is false if `shifts` may include added
    work.
    """

    alarms: tuple[JudgedFamily, ...] = ()
    gains: tuple[JudgedFamily, ...] = ()
    shifts: tuple[JudgedFamily, ...] = ()
    outweighed: tuple[JudgedFamily, ...] = ()
    pool: JudgedFamily | None = None
    is_proven: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class KernelTestRule:
    """The level of each of a check's `tests` in all, for the families of one workload.

    `proof_level` is that of the workload. `rule` has the floor and the confidence of intervals.
    `step_seconds` is base's profiled step. A change matters by its share of `least_step_seconds`,
    which is that step without other load, or less.
    """

    level: float
    tests: int
    proof_level: float
    rule: DecisionRule
    looks: InterimLooks
    step_seconds: float
    least_step_seconds: float
    has_common_change: bool

    def test(self, seconds: PairedSeconds) -> JudgedFamily:
        """Return an item with its test, as measured."""
        (result,) = paired_kernel_tests([seconds], looks=self.looks, alpha=self.rule.alpha)
        return JudgedFamily(
            seconds=seconds, result=result, measured_seconds=seconds, measured_result=result
        )

    def test_together(self, parts: Collection[JudgedFamily]) -> JudgedFamily:
        """Return several families combined, with tests; there is at least one."""
        over_all_steps = zip(*(part.over_all_steps for part in parts), strict=True)
        seconds = sum_of(TOGETHER, [part.seconds for part in parts])
        measured_seconds = sum_of(TOGETHER, [part.measured_seconds for part in parts])
        result, measured_result = paired_kernel_tests(
            [seconds, measured_seconds], looks=self.looks, alpha=self.rule.alpha
        )
        return JudgedFamily(
            seconds=seconds,
            result=result,
            measured_seconds=measured_seconds,
            measured_result=measured_result,
            over_all_steps=tuple(sum_of(TOGETHER, each) for each in over_all_steps),
        )

    def common_change(
        self, families: Collection[JudgedFamily], *, most_seconds: float
    ) -> JudgedFamily | None:
        """Return all families together, as measured, if they seem to have changed and may by more.

        Each alone may be within `most_seconds` of a step while all of them changed equally. Their
        interval is that of this look alone: only a doubt follows from it.
        """
        total = self.test_together(families)
        result = total.measured_result
        is_change = abs(result.mean) > half_width_at_one_look(result, self.rule.alpha)
        if not is_change or total.reach_seconds <= most_seconds:
            return None
        return replace(total, seconds=total.measured_seconds, result=result)

    def is_change(self, family: JudgedFamily) -> bool:
        """Return whether a family changed by enough to matter.

        If all kernels changed equally, one that did not would seem to have changed the other way;
        it must therefore also have changed as measured.
        """
        change = relative_change(family.result.mean)
        least_seconds = MIN_STEP_SHARE * self.least_step_seconds
        is_significant = family.result.p_value < self.level
        if self.has_common_change:
            is_same_way = family.result.mean * family.measured_result.mean > 0
            is_significant &= is_same_way and family.measured_result.p_value < self.level
        is_big = abs(change) >= self.rule.floor and abs(family.delta_seconds) >= least_seconds
        return is_significant and is_big

    def may_be_faster(self, family: JudgedFamily) -> bool:
        """Return whether it became faster by its interval, if not by the check's tests.

        The interval is that of this look alone: only doubts follow from it.
        """
        return family.result.mean + half_width_at_one_look(family.result, self.rule.alpha) < 0

    def is_proven(self, family: JudgedFamily, *, among: int) -> bool:
        """Return whether a changed family also changed as measured, among this many findings.

        Otherwise it may have stayed while all others changed the opposite way, because of the code
        or of the machine.
        """
        result = family.measured_result
        is_same_way = family.result.mean * result.mean > 0
        return is_same_way and result.p_value / 2 < self.proof_level / among

    def uneven_change(self, family: JudgedFamily) -> JudgedFamily | None:
        """Return a change over all steps that the shortest calls do not show; None without one.

        Such a family runs in a different share of the steps, or only some of its steps changed. All
        these tests of a check share the alpha of intervals: a false one makes a check undecided,
        and a missed one makes it green. For that reason each look has all of their level.
        """
        measured = replace(family, seconds=family.measured_seconds, result=family.measured_result)
        change = next((one for one in (family, measured) if self.is_change(one)), None)
        shows_slower = None if change is None else change.is_slower
        level = self.rule.alpha / (self.tests * max(1, len(family.over_all_steps)))
        at_look = replace(self, looks=looks_until((), family.result.pairs))
        for one in map(at_look.test, family.over_all_steps):
            size = abs(relative_change(one.result.mean))
            is_found = at_look.is_change(one) or (
                replace(at_look, level=level).is_change(one) and size > at_look.detectable(family)
            )
            if is_found and one.is_slower is not shows_slower:
                return one
        return None

    def adjusted_p(self, family: JudgedFamily) -> float:
        """Return a p-value corrected for all tests of the check."""
        return min(1.0, self.tests * family.result.p_value)

    def detectable(self, family: JudgedFamily) -> float:
        """Return the relative change that this test calls with the usual power."""
        return detectable_change(
            family.result, looks=self.looks, alpha=self.level, floor=self.rule.floor
        )

    def estimate(self, family: JudgedFamily) -> EffectEstimate | None:
        """Return the change of a family that both sides run; None for one that is new or gone."""
        base, head = family.seconds.base_seconds, family.seconds.head_seconds
        if min(base, head) <= 0:
            return None
        mean, wide = family.result.mean, family.result.half_width
        narrow = family.result.narrow_half_width
        return EffectEstimate(
            base=base,
            head=head,
            change=relative_change(mean),
            low=relative_change(mean - wide),
            high=relative_change(mean + wide),
            narrow_low=relative_change(mean - narrow),
            narrow_high=relative_change(mean + narrow),
            pairs=family.result.pairs,
            p_value=family.result.p_value,
            smallest_detectable=self.detectable(family),
        )

    def figures(self, family: JudgedFamily) -> KernelFigures:
        """Return the figures of a family, changed or not."""
        base = family.seconds.base_seconds
        estimate = self.estimate(family)
        return KernelFigures(
            family=family.seconds.name,
            base_seconds=base,
            head_seconds=family.seconds.head_seconds,
            base_share=base / self.step_seconds,
            estimate=estimate,
            largest_change=None if estimate is None else largest_change(family.result),
        )

    def spread_needed(self, family: JudgedFamily, *, among: int) -> float:
        """Return the spread at which such a change is proven as measured with the usual power."""
        result = family.measured_result
        detectable = detectable_change(
            result,
            looks=self.looks,
            alpha=2 * self.proof_level / among,
            floor=0.0,
        )
        size = abs(relative_change(family.result.mean))
        return result.sd * math.log1p(size) / math.log1p(detectable)

    def finding(self, family: JudgedFamily) -> KernelFinding:
        """Return the finding of a changed family."""
        base, head = family.seconds.base_seconds, family.seconds.head_seconds
        return KernelFinding(
            family=family.seconds.name,
            change=_change_of(base, head),
            base_seconds=base,
            head_seconds=head,
            relative_change=relative_change(family.result.mean) if min(base, head) > 0 else None,
            step_share=family.delta_seconds / self.step_seconds,
            adjusted_p=self.adjusted_p(family),
            kernels=self._changed_kernels(family),
        )

    def unproven_finding(self, family: JudgedFamily, *, among: int) -> KernelFinding:
        """Return the finding of a family that changed, unless the others changed instead."""
        return replace(
            self.finding(family),
            is_proven=False,
            spread=family.measured_result.sd,
            spread_needed=self.spread_needed(family, among=among),
        )

    def _changed_kernels(self, family: JudgedFamily) -> tuple[str, ...]:
        """Return the names of the changed kernels of a family, the largest change first."""
        if family.seconds.name == TOGETHER:
            return tuple(each.name for each in _largest_change_first(family.kernels))
        if len(family.kernels) <= 1:
            return ()
        results = paired_kernel_tests(family.kernels, looks=self.looks, alpha=self.rule.alpha)
        changed = changed_members(results, level=self.level)
        kernels = compress(family.kernels, changed)
        return tuple(each.name for each in _largest_change_first(kernels))


def _largest_change_first(kernels: Iterable[PairedSeconds]) -> list[PairedSeconds]:
    return sorted(kernels, key=lambda each: -abs(each.head_seconds - each.base_seconds))


def _change_of(base: float, head: float) -> KernelChange:
    if base <= 0:
        return KernelChange.NEW
    if head <= 0:
        return KernelChange.GONE
    return KernelChange.SLOWER if head > base else KernelChange.FASTER
