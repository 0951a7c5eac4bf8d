"""Step times that other load made too noisy: what CPU time settles, and what it must not."""

import re
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest

from perfledger.bundle import Plan
from perfledger.metrics import CPU_TIME, STEP_TIME
from perfledger.records import CoreTimes, Side
from perfledger_baselines.judging.explanation import DecidedBy, explain_verdict
from perfledger_baselines.judging.judge import is_trade
from perfledger_baselines.judging.verdict import Outcome
from tests.baselines.judging.decision.loaded_steps import MARGIN, TURNS, Step
from tests.suite.tries import tries

CHECKS = 10


def outcomes(verdicts_of, base, head, **options):
    """Count the outcomes of the step time in some checks."""
    return Counter(
        verdicts_of(base, head, seed=seed, **options)[STEP_TIME].outcome for seed in range(CHECKS)
    )


def test_the_load_makes_wall_time_alone_undecided(verdicts_of):
    def without_core_times(run):
        return replace(run, core_times=CoreTimes())

    alone = outcomes(verdicts_of, Step(), Step(), change=without_core_times)

    assert alone[Outcome.UNDECIDED] >= 0.8 * CHECKS


def test_unchanged_steps_are_settled_by_cpu_time(verdicts_of):
    assert outcomes(verdicts_of, Step(), Step())[Outcome.UNCHANGED] >= 0.9 * CHECKS


def test_a_settled_verdict_says_so(verdicts_of):
    verdict = next(
        each[STEP_TIME]
        for seed in range(CHECKS)
        if (each := verdicts_of(Step(), Step(), seed=seed))[STEP_TIME].queued_share is not None
    )

    shown_estimate = verdict.shown_estimate
    assert verdict.outcome is Outcome.UNCHANGED
    assert -MARGIN <= shown_estimate.low < shown_estimate.high <= MARGIN
    assert verdict.excludes_waits
    assert verdict.estimate.base == pytest.approx(0.03, rel=0.01)
    assert re.fullmatch(
        r"unchanged by CPU time: wall time was too noisy under load \(steps waited [\d.]+ % of it "
        r"for a core; the rest of it and CPU time are within ±5 % after 11 pairs\)",
        verdict.reason,
    )
    assert explain_verdict(
        verdict, Plan(seed=1, order=(), looks=(11,), margin=MARGIN)
    ).decided_by is (DecidedBy.CPU_TIME)


@pytest.mark.parametrize(
    ("base", "head"),
    [
        pytest.param(Step(), Step(off=0.003), id="a sleep"),
        pytest.param(Step(off=0.010), Step(off=0.014), id="longer waits for data"),
        pytest.param(Step(), Step(helpers=0.003), id="another thread's work"),
        pytest.param(Step(cpu=0.03), Step(cpu=0.033), id="more work"),
        pytest.param(
            Step(cpu=0.015, helpers=0.015), Step(cpu=0.03), id="one thread does two threads' work"
        ),
        pytest.param(
            Step(cpu=0.015, helpers=0.015),
            Step(cpu=0.015, helpers=0.015, own_queue=0.015),
            id="two threads share one core",
        ),
        pytest.param(
            Step(),
            Step(cpu=0.027, helpers=0.003, off=0.006),
            id="a child does it more slowly",
        ),
        pytest.param(
            Step(cpu=0.015, helpers=0.015),
            Step(cpu=0.015, helpers=0.015),
            id="unknown: two threads",
        ),
    ],
)
@pytest.mark.parametrize("load", [0.5, 2.0, 8.0])
@pytest.mark.slow
def test_what_cpu_time_cannot_see_is_never_settled(verdicts_of, base, head, load):
    for seed in range(tries(12)):
        for pair in ((base, head), (head, base)):
            verdict = verdicts_of(*pair, seed=seed, load=load)[STEP_TIME]
            assert verdict.outcome is not Outcome.UNCHANGED or verdict.queued_share is None


def test_wall_time_decides_where_it_can(verdicts_of):
    quiet = verdicts_of(Step(), Step(), load=0.0)[STEP_TIME]
    slower = verdicts_of(Step(), Step(off=0.03), load=0.1)[STEP_TIME]

    assert (quiet.outcome, quiet.queued_share) == (Outcome.UNCHANGED, None)
    assert quiet.reason.startswith("proven within")
    assert slower.outcome is Outcome.REGRESSED


def test_noise_that_is_no_load_is_not_settled(verdicts_of):
    def shaken(run):
        noise = np.random.default_rng([run.pair, run.side is Side.HEAD]).exponential(1.0, TURNS)
        times = tuple((np.array(run.samples["step_time_p50"]) * (1 + noise)).tolist())
        return replace(run, samples={**run.samples, "step_time_p50": times})

    verdict = verdicts_of(Step(), Step(), load=0.005, change=shaken)[STEP_TIME]

    assert (verdict.outcome, verdict.queued_share) == (Outcome.UNDECIDED, None)


@pytest.mark.parametrize(
    "change",
    [
        pytest.param(lambda run: run.pair != 3, id="core times of one pair are missing"),
        pytest.param(lambda run: run.side is Side.BASE, id="those of one side"),
    ],
)
def test_all_pairs_must_tell(verdicts_of, change):
    def without(run):
        return run if change(run) else replace(run, core_times=CoreTimes())

    counts = outcomes(verdicts_of, Step(), Step(), change=without)

    assert counts[Outcome.UNCHANGED] <= 0.2 * CHECKS


def test_cpu_time_of_fewer_pairs_settles_nothing(verdicts_of):
    def without(run):
        if run.pair != 3:
            return run
        return replace(run, samples={STEP_TIME.name: run.samples[STEP_TIME.name]})

    for seed in range(CHECKS):
        assert (
            verdicts_of(Step(), Step(), seed=seed, change=without)[STEP_TIME].queued_share is None
        )


@pytest.mark.parametrize("load", [0.0, 2.0, 8.0])
def test_cpu_time_shows_more_work_under_any_load(verdicts_of, load):
    verdict = verdicts_of(Step(), Step(cpu=0.033), load=load)[CPU_TIME]

    assert verdict.outcome is Outcome.REGRESSED
    assert verdict.estimate.change == pytest.approx(0.1, abs=0.01)


def test_more_cpu_time_for_speed_is_a_trade(verdicts_of):
    one, two = Step(cpu=0.03), Step(cpu=0.017, helpers=0.017)
    verdicts = verdicts_of(one, two, load=0.0)

    assert verdicts[STEP_TIME].outcome is Outcome.IMPROVED
    assert verdicts[CPU_TIME].is_regression
    assert is_trade(verdicts[CPU_TIME], verdicts.values())


def test_more_cpu_time_without_speed_is_a_regression(verdicts_of):
    verdicts = verdicts_of(Step(), Step(helpers=0.01), load=0.0)

    assert verdicts[STEP_TIME].outcome is Outcome.UNCHANGED
    assert verdicts[CPU_TIME].is_regression
    assert not is_trade(verdicts[CPU_TIME], verdicts.values())
