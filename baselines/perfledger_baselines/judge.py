"""A bundle in, the verdict on every metric of every workload that it should have measured out."""

from collections import defaultdict
from collections.abc import Iterable, Mapping

from perfledger.bundle import Bundle
from perfledger.metrics import STEP_TIME, Kind
from perfledger.records import Failure, Side, Why
from perfledger_baselines.pairing import PairedTest, paired_tests
from perfledger_baselines.prior import Priors, priors_of
from perfledger_baselines.rule import Rule
from perfledger_baselines.ruling import judge_tests, not_measured
from perfledger_baselines.verdict import Outcome, Verdict

# A reason is one cell of a table; what a failed workload said at length is in its log.
MAX_REASON_LENGTH = 200


def judge_bundle(bundle: Bundle, *, priors: Priors | None = None) -> tuple[Verdict, ...]:
    """Judge all tests of a check together; by workload in the bundle's order, then by metric.

    `priors` is what history knows of the spreads, by default what the check's stopping knew. Of a
    test that none is known of, its own pairs have to tell.

    Fails closed: a workload that was to be measured has a verdict, if need be NOT_MEASURED. One
    that failed on either side has that verdict alone, whatever pairs it has. Skipped workloads and
    those new in head have none, unless they failed. Raises PlanError.
    """
    rule = Rule.from_plan(bundle.plan)
    known = priors_of(bundle.plan) if priors is None else priors
    tests = paired_tests(bundle, most=rule.most_pairs)
    failed = _failures(bundle)
    judged, others = _family(bundle, tests, failed)
    verdicts: defaultdict[str, list[Verdict]] = defaultdict(list)
    for verdict in judge_tests(judged, rule=rule, others=others, priors=known):
        verdicts[verdict.workload].append(verdict)
    for name, failure in failed.items():
        verdicts[name].append(not_measured(name, STEP_TIME, _reason(failure)))
    return tuple(verdict for name in tests for verdict in verdicts[name])


def judged_tests(bundle: Bundle) -> tuple[PairedTest, ...]:
    """Return the tests whose pairs decide a check's verdicts. Raises PlanError."""
    return judged_family(bundle)[0]


def judged_family(bundle: Bundle) -> tuple[tuple[PairedTest, ...], int]:
    """Return the tests whose pairs decide, and how many of failed workloads share alpha with them.

    Raises PlanError.
    """
    tests = paired_tests(bundle, most=Rule.from_plan(bundle.plan).most_pairs)
    return _family(bundle, tests, _failures(bundle))


def is_trade(verdict: Verdict, verdicts: Iterable[Verdict]) -> bool:
    """Whether a utilization fell while the same workload became faster.

    Work that is done in less time often leaves the device idle for a larger share of it. Such a
    fall stays a regression of the utilization, and is shown; it is no reason to fail a check.
    """
    if verdict.metric.kind is not Kind.UTILIZATION or not verdict.is_regression:
        return False
    return any(
        other.workload == verdict.workload
        and other.metric.kind is Kind.SPEED
        and other.outcome is Outcome.IMPROVED
        for other in verdicts
    )


def _family(
    bundle: Bundle, tests: Mapping[str, tuple[PairedTest, ...]], failed: Mapping[str, Failure]
) -> tuple[tuple[PairedTest, ...], int]:
    """Return the tests whose pairs decide, and how many noisy ones failed workloads have.

    What failed, was skipped or is new has none that decide.
    """
    silent = {*bundle.skipped, *bundle.new_workloads, *failed}
    judged = tuple(test for name in tests if name not in silent for test in tests[name])
    return judged, sum(test.is_noisy for name in failed for test in tests[name])


def _failures(bundle: Bundle) -> dict[str, Failure]:
    """Return each failed workload's first failure; to be missing on base is only to be new."""
    failed: dict[str, Failure] = {}
    for failure in bundle.failures:
        is_missing_on_base = failure.why is Why.MISSING and failure.side is Side.BASE
        if not (is_missing_on_base and failure.workload in bundle.new_workloads):
            failed.setdefault(failure.workload, failure)
    return failed


def _reason(failure: Failure) -> str:
    first_line = next(iter(failure.detail.strip().splitlines()), "")
    reason = f"{failure.why} on {failure.side}"
    return f"{reason}: {first_line}"[:MAX_REASON_LENGTH] if first_line else reason
