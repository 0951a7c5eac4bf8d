"""Checks made from recorded ones: the judge finds what was put in, and nothing else."""

from datetime import UTC, datetime
from statistics import median

import pytest

from perfledger.records import Revision, Side
from perfledger_baselines.judging.judge import judge_bundle
from perfledger_baselines.judging.verdict import Outcome
from perfledger_runners.bundles.files import read_bundle

STEP_TIME = "step_time_p50"
GPT = "benchmarks.torch_gpt:train_step"


@pytest.fixture(scope="session")
def make_check(demo):
    """Make a check whose head multiplies a workload's step time."""

    def make(factor, *, seed="a", printed=None):
        commits = demo.recorded_checks.CheckedCommits(
            base=Revision(sha="a" * 40),
            head=Revision(sha="b" * 40),
            base_levels={},
            head_levels={(GPT, STEP_TIME): factor},
            measured_at=datetime(2026, 11, 20, tzinfo=UTC),
        )
        recorded = demo.recorded_checks.recorded_check("resnet-names")
        printed = printed or demo.demo_commits.H100
        return demo.recorded_checks.made_check(recorded, printed, commits, seed=seed)

    return make


def step_outcomes(bundle):
    return {
        verdict.workload: verdict.outcome
        for verdict in judge_bundle(bundle)
        if verdict.metric.name == STEP_TIME
    }


@pytest.mark.parametrize(
    ("factor", "outcome"),
    [(1.0, Outcome.UNCHANGED), (1.2, Outcome.REGRESSED), (0.8, Outcome.IMPROVED)],
)
def test_the_judge_finds_what_a_made_check_puts_in(make_check, factor, outcome):
    outcomes = step_outcomes(make_check(factor))

    assert outcomes.pop(GPT) is outcome
    assert set(outcomes.values()) == {Outcome.UNCHANGED}


def test_a_seed_makes_one_check_and_another_seed_another(make_check):
    assert make_check(1.2) == make_check(1.2)
    assert make_check(1.2).runs != make_check(1.2, seed="b").runs


def test_a_made_check_says_that_it_is_made(demo, make_check):
    assert make_check(1.0).notes == (demo.recorded_checks.NOTE,)


def test_every_pair_has_a_run_of_either_side(make_check):
    runs = make_check(1.0).runs
    sides = {(run.workload, run.pair, run.side) for run in runs}

    assert len(sides) == len(runs) == 4 * 6 * len(Side)


def test_the_longest_kernel_of_a_made_check_has_the_whole_change_of_the_step(demo, make_check):
    explained = demo.recorded_checks.recorded_check("attention-maps")
    [profile] = (one for one in explained.profiles if (one.workload, one.side) == (GPT, Side.BASE))
    commits = demo.recorded_checks.CheckedCommits(
        base=Revision(sha="a" * 40),
        head=Revision(sha="b" * 40),
        base_levels={},
        head_levels={(GPT, STEP_TIME): 1.2},
        measured_at=datetime(2026, 11, 20, tzinfo=UTC),
    )

    bundle = demo.recorded_checks.with_kernels(
        make_check(1.2), profile, demo.demo_commits.H100, commits, seed="a"
    )

    [windows] = read_bundle(bundle.to_json().encode()).kernels  # as the service reads it
    changed = {
        one.name: median(one.head_undisturbed) / median(one.base_undisturbed) - 1
        for one in windows.kernels
    }
    longest = max(windows.kernels, key=lambda one: median(one.base_undisturbed)).name
    assert changed.pop(longest) > 0.2
    assert max(map(abs, changed.values())) < 0.03
