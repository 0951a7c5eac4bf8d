"""Judges tests whose runs were not made in pairs."""

from collections.abc import Sequence

from perfledger_baselines.judging.decision import decide_unpaired
from perfledger_baselines.judging.verdict import Verdict
from perfledger_baselines.judging.wording import unpaired_verdicts
from perfledger_baselines.significance.decision_rule import DecisionRule
from perfledger_baselines.significance.multiple_testing import adjust_family
from perfledger_baselines.significance.unpaired_t_tests import UnpairedTest, unpaired_results


def judge_unpaired(tests: Sequence[UnpairedTest], *, rule: DecisionRule) -> tuple[Verdict, ...]:
    """Judge runs that were not made in pairs as one family, in the order of the tests.

    Flawed tests are NOT_MEASURED, and take no share of alpha: nothing is claimed of them. Raises
    ValueError for a side without a run or with a value that is not positive.
    """
    results = unpaired_results(tests, alpha=rule.alpha)
    adjusted = adjust_family(results, alpha=rule.alpha)
    decisions = decide_unpaired(tests, adjusted, rule=rule)
    return unpaired_verdicts(tests, decisions, rule=rule)
