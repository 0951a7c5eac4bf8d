"""The reasons of verdicts, in words."""

import pytest

from perfledger.metrics import STEP_TIME
from perfledger.records import Failure, FailureReason, Side
from perfledger_baselines.judging.decision import Decision
from perfledger_baselines.judging.judge import judge_bundle
from perfledger_baselines.judging.verdict import Outcome
from perfledger_baselines.judging.wording import (
    MAX_REASON_LENGTH,
    paired_verdicts,
    unpaired_verdicts,
)
from perfledger_baselines.significance.decision_rule import DecisionRule
from perfledger_baselines.significance.multiple_testing import AdjustedResult
from perfledger_baselines.significance.paired_t_tests import TTestResult, exact_result
from perfledger_baselines.significance.unpaired_t_tests import UnpairedTest

RULE = DecisionRule(looks=(), alpha=0.05, margin=0.01, floor=0.003)
TEST = UnpairedTest(workload="m:f", metric=STEP_TIME, base=(1.0,) * 8, head=(1.0,) * 6)
SAMPLE = "8 A and 6 B runs"
SMALL = "a clear change, but smaller than the floor of 0.3 %"


def adjusted(*, mean=0.0, half=0.02, holm=1.0, mild=1.0, sd=0.01):
    result = TTestResult(
        pairs=6,
        mean=mean,
        sd=sd,
        degrees=12.0,
        share=1.0,
        half_width=half,
        narrow_half_width=half,
        p_value=0.02,
    )
    return AdjustedResult(result=result, holm=holm, benjamini_hochberg=mild, sharing=3)


def reason(outcome, corrected, *, is_warning=False):
    decision = Decision(outcome=outcome, floor=0.003, adjusted=corrected, is_warning=is_warning)
    (verdict,) = unpaired_verdicts([TEST], [decision], rule=RULE)
    return verdict.reason


@pytest.mark.parametrize(
    ("outcome", "corrected", "words"),
    [
        (Outcome.REGRESSED, adjusted(mean=0.1, holm=0.0021), f"p = 0.0021 (Holm) after {SAMPLE}"),
        (Outcome.UNCHANGED, adjusted(half=0.005), f"proven within ±1 % after {SAMPLE}"),
        (
            Outcome.UNCHANGED,
            adjusted(mean=0.002, half=0.001),
            f"proven within ±1 % after {SAMPLE}; {SMALL}",
        ),
        (
            Outcome.UNDECIDED,
            adjusted(mean=0.002, half=0.001, holm=0.01),
            f"{SMALL}, and not proven within ±1 %",
        ),
        (
            Outcome.UNDECIDED,
            adjusted(mean=0.05, half=0.01, holm=0.3),
            f"p = 0.02 alone, but 0.3 among all tests (Holm), after {SAMPLE}",
        ),
        (Outcome.UNDECIDED, adjusted(), f"too noisy to tell after {SAMPLE}"),
        (Outcome.UNCHANGED, adjusted(half=0.0, sd=0.0), f"identical in {SAMPLE}"),
    ],
)
def test_a_reason_says_what_decided(outcome, corrected, words):
    assert reason(outcome, corrected) == words


def test_a_warning_names_both_corrections():
    corrected = adjusted(mean=0.05, half=0.01, holm=0.09, mild=0.03)

    assert reason(Outcome.UNDECIDED, corrected, is_warning=True) == (
        f"p = 0.03 by Benjamini-Hochberg, but 0.09 by Holm, after {SAMPLE}"
    )


def test_a_count_has_no_p_value():
    count = AdjustedResult(
        result=exact_result(1.0, 2.0, pairs=6), holm=0.0, benjamini_hochberg=0.0, sharing=1
    )

    assert reason(Outcome.REGRESSED, count) == f"a count, the same in {SAMPLE}"


@pytest.mark.parametrize(
    ("detail", "words"),
    [
        ("", "raised on head"),
        ("  ", "raised on head"),
        ("ValueError: no\nmore", "raised on head: ValueError: no"),
        ("x" * 900, ("raised on head: " + "x" * 900)[:MAX_REASON_LENGTH]),
    ],
)
def test_a_failed_workload_is_not_measured_with_the_first_line_of_its_failure(detail, words):
    failure = Failure(workload="m:f", side=Side.HEAD, why=FailureReason.RAISED, detail=detail)

    (verdict,) = paired_verdicts([], rule=RULE, failures={"m:f": failure})

    assert (verdict.workload, verdict.metric) == ("m:f", STEP_TIME)
    assert (verdict.outcome, verdict.reason) == (Outcome.NOT_MEASURED, words)
    assert (verdict.estimate, verdict.adjusted_p) == (None, 1.0)


def test_too_few_pairs_show_what_they_say_so_far(build):
    three, first = (
        judge_bundle(build.bundle({"m:f": {"step_time_p50": pairs}}))[0].reason
        for pairs in ([(1.0, 1.1), (1.0, 1.12), (1.0, 1.08)], [(1.0, 1.1)])
    )

    assert three == (
        "3 of the 4 pairs needed; so far +9.99 % (+5.13 % to +15.1 %, the 95 % interval of these "
        "pairs alone)"
    )
    assert first == "1 of the 4 pairs needed; so far +10 %"


@pytest.mark.parametrize("is_slower", [True, False])
def test_a_change_beyond_all_measure_is_capped_and_said(build, is_slower):
    pairs = [(1e-150, 1e150 * ratio) for ratio in (1.0, 1.001, 0.999, 1.0, 1.001, 0.999)]
    if not is_slower:
        pairs = [(head, base) for base, head in pairs]

    verdict = judge_bundle(build.bundle({"m:f": {"peak_memory": pairs}}))[-1]

    change = 1e6 if is_slower else 1 / (1e6 + 1) - 1
    assert verdict.outcome is (Outcome.REGRESSED if is_slower else Outcome.IMPROVED)
    assert verdict.estimate.change == pytest.approx(change)
    assert verdict.reason.endswith("more than a million times, shown as a factor of a million")
