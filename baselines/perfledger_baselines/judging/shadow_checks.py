"""Judges stored checks again with their sides exchanged at random, to measure false alarms."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from random import Random

from perfledger_baselines.estimation.pairing import PairedTest
from perfledger_baselines.judging.judge import outcomes_of_tests
from perfledger_baselines.judging.verdict import Outcome, Verdict
from perfledger_baselines.significance.decision_rule import DecisionRule
from perfledger_baselines.significance.spread_prior import Priors

CHANGED = (Outcome.REGRESSED, Outcome.IMPROVED)


@dataclass(frozen=True, slots=True, kw_only=True)
class ShadowCheck:
    """What a check would have found if chance had decided which side is head.

    `tests` is the number of its tests, `regressed` the workloads that would have failed it: false
    alarms, since exchanging sides makes no change.
    """

    tests: int
    regressed: tuple[str, ...]

    @property
    def is_false_alarm(self) -> bool:
        """Return whether the check would have failed."""
        return bool(self.regressed)


def shadow_check(
    tests: Iterable[PairedTest],
    verdicts: Iterable[Verdict],
    *,
    rule: DecisionRule,
    priors: Priors,
    seed: str,
) -> ShadowCheck | None:
    """Judge a check's tests with each pair's sides exchanged or not by a coin flip.

    The argument of a sign test: without a change, base and head of a pair are exchangeable, so the
    exchanged check is as likely as the measured one (Fisher, The Design of Experiments, 1935, §21).
    It stops where the measured one would: at the first planned look at which a workload is decided,
    or with its last pair. Workloads with a change are left out, and so are counts, which are equal
    in every pair: None if nothing is left. `seed` fixes the coins. It cannot show a bias that
    favours one side: only checks of a commit against itself can.
    """
    changed = {verdict.workload for verdict in verdicts if verdict.outcome in CHANGED}
    coins = Random(seed)  # noqa: S311 - coins for a test, no secret
    exchanged_tests = _exchange(
        [test for test in tests if test.is_noisy and test.workload not in changed], coins
    )
    if not exchanged_tests:
        return None
    outcomes = _decide_until_clear(exchanged_tests, rule=rule, priors=priors)
    regressed = (
        test.workload
        for test, outcome in zip(exchanged_tests, outcomes, strict=True)
        if outcome is Outcome.REGRESSED
    )
    return ShadowCheck(tests=len(exchanged_tests), regressed=tuple(dict.fromkeys(regressed)))


def _exchange(tests: Sequence[PairedTest], coins: Random) -> list[PairedTest]:
    """Return the tests with the sides of some pairs exchanged, the same pairs in each workload."""
    is_exchanged = {
        (workload, number): coins.choice((False, True))
        for workload, number in sorted(
            {(test.workload, number) for test in tests for number in test.numbers}
        )
    }
    swapped: list[PairedTest] = []
    for test in tests:
        coins_of = [is_exchanged[test.workload, number] for number in test.numbers]
        pairs = [
            (head, base) if is_swapped else (base, head)
            for is_swapped, base, head in zip(coins_of, test.base, test.head, strict=True)
        ]
        unqueued = zip(coins_of, test.unqueued, strict=False)  # one for each pair of a wall time
        swapped.append(
            replace(
                test,
                base=tuple(base for base, _ in pairs),
                head=tuple(head for _, head in pairs),
                unqueued=tuple(
                    each.exchanged() if is_swapped and each is not None else each
                    for is_swapped, each in unqueued
                ),
            )
        )
    return swapped


def _decide_until_clear(
    tests: Sequence[PairedTest], *, rule: DecisionRule, priors: Priors
) -> tuple[Outcome, ...]:
    """Decide tests with the pairs that a check would have measured of each workload."""
    stops: dict[str, int] = {}
    outcomes: tuple[Outcome, ...] = ()
    for look in rule.looks or (max(test.numbers[-1] for test in tests),):
        cut_tests = [_first_pairs(test, stops.get(test.workload, look)) for test in tests]
        outcomes = outcomes_of_tests(cut_tests, rule=rule, priors=priors)
        undecided = {
            test.workload
            for test, outcome in zip(cut_tests, outcomes, strict=True)
            if outcome is Outcome.UNDECIDED
        }
        if not undecided:
            break
        for test in tests:
            if test.workload not in undecided:
                stops.setdefault(test.workload, look)
    return outcomes


def _first_pairs(test: PairedTest, pairs: int) -> PairedTest:
    if test.numbers[-1] <= pairs:
        return test
    places = [index for index, number in enumerate(test.numbers) if number <= pairs]
    return replace(
        test,
        base=tuple(test.base[place] for place in places),
        head=tuple(test.head[place] for place in places),
        numbers=tuple(test.numbers[place] for place in places),
        unqueued=tuple(test.unqueued[place] for place in places) if test.unqueued else (),
    )
