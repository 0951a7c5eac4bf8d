from dataclasses import replace

import pytest

from perfledger.metrics import (
    COLD_START,
    COMPILE_TIME,
    METRICS,
    OPTIONAL_METRICS,
    PEAK_MEMORY,
    STEP_TIME,
    STEP_TIME_P95,
    STEP_TIME_P99,
)
from perfledger_baselines.judging.verdict import (
    EffectEstimate,
    Outcome,
    Verdict,
    is_memory_change_alone,
)

VERDICT = Verdict(
    workload="m:f",
    metric=STEP_TIME,
    outcome=Outcome.REGRESSED,
    estimate=None,
    adjusted_p=0.01,
    is_warning=False,
    reason="",
)


@pytest.mark.parametrize("outcome", list(Outcome))
def test_only_what_regressed_is_a_regression(outcome):
    verdict = replace(VERDICT, outcome=outcome, is_warning=True)

    assert verdict.is_regression is (outcome is Outcome.REGRESSED)


@pytest.mark.parametrize("outcome", list(Outcome))
def test_the_interval_that_is_shown_is_the_one_that_decided(outcome):
    estimate = EffectEstimate(
        base=1.0,
        head=1.0,
        change=0.0,
        low=-0.107,
        high=0.129,
        narrow_low=-0.08,
        narrow_high=0.09,
        pairs=5,
        p_value=1.0,
        smallest_detectable=0.1,
    )
    shown_estimate = replace(VERDICT, outcome=outcome, estimate=estimate).shown_estimate

    expected = (-0.08, 0.09) if outcome is Outcome.UNCHANGED else (-0.107, 0.129)
    assert (shown_estimate.low, shown_estimate.high) == expected
    assert replace(VERDICT, outcome=outcome).shown_estimate is None


@pytest.mark.parametrize(
    "metric", (METRICS | OPTIONAL_METRICS).values(), ids=lambda metric: metric.name
)
def test_where_load_counts_a_verdict_says_whether_its_figures_have_the_waits(metric):
    estimate = EffectEstimate(
        base=0.0149,
        head=0.0142,
        change=-0.047,
        low=-0.132,
        high=0.047,
        narrow_low=-0.036,
        narrow_high=0.009,
        pairs=5,
        p_value=0.27,
        smallest_detectable=0.27,
    )
    quiet = replace(VERDICT, metric=metric, estimate=estimate)
    loaded = replace(quiet, queued_share=0.1)
    unknown = replace(loaded, estimate=None)

    assert loaded.excludes_waits is (metric is STEP_TIME)
    assert loaded.includes_waits is (
        metric in {STEP_TIME_P95, STEP_TIME_P99, COLD_START, COMPILE_TIME}
    )
    for verdict in (quiet, unknown):
        assert not verdict.excludes_waits
        assert not verdict.includes_waits


def test_there_are_five_outcomes():
    assert [str(outcome) for outcome in Outcome] == [
        "regressed",
        "improved",
        "unchanged",
        "undecided",
        "not measured",
    ]


@pytest.mark.parametrize(
    ("of_time", "of_memory", "is_alone"),
    [
        (Outcome.UNCHANGED, Outcome.REGRESSED, True),
        (Outcome.UNDECIDED, Outcome.REGRESSED, True),
        (Outcome.REGRESSED, Outcome.REGRESSED, False),
        (Outcome.IMPROVED, Outcome.REGRESSED, False),
        (Outcome.REGRESSED, Outcome.UNCHANGED, False),
    ],
)
def test_memory_changed_alone_where_nothing_else_did(of_time, of_memory, is_alone):
    verdicts = [
        replace(VERDICT, outcome=of_time),
        replace(VERDICT, metric=PEAK_MEMORY, outcome=of_memory),
        replace(VERDICT, workload="m:other"),
    ]

    assert is_memory_change_alone("m:f", verdicts) is is_alone
