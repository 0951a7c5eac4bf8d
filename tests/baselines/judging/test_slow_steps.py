from dataclasses import replace

import pytest

from perfledger_baselines.judging.judge import judge_bundle
from perfledger_baselines.judging.slow_steps import slow_step_warnings
from perfledger_baselines.judging.verdict import Outcome

STEPS = 99  # of a process, and a slow one of head
NOISE = (1.0, 1.01, 0.99, 1.005, 0.995, 1.002)


@pytest.fixture
def checked(build):
    """Return a check in which one step of each of head's processes takes `slow_s`."""

    def make(slow_s, *, pairs=6, typical_s=1.0, core_times=None, margin=0.05):
        steps = [
            ((NOISE[k % 6],) * STEPS + (1.0,), (typical_s * NOISE[k % 6],) * STEPS + (slow_s,))
            for k in range(pairs)
        ]
        bundle = build.bundle({"m:f": {"step_time_p50": steps}}, plan=build.plan(margin=margin))
        if core_times is None:
            return bundle
        runs = tuple(
            replace(run, turns=(STEPS, 1), core_times=core_times[run.side]) for run in bundle.runs
        )
        return replace(bundle, runs=runs)

    return make


def warnings_of(bundle):
    return slow_step_warnings(bundle, judge_bundle(bundle))


def test_a_slow_step_in_a_hundred_is_unchanged_with_a_warning(checked):
    bundle = checked(51.0)

    (verdict,) = judge_bundle(bundle)
    assert verdict.outcome is Outcome.UNCHANGED
    (warning,) = warnings_of(bundle)
    assert warning == (
        "m:f: the mean of all steps is 50 % longer on head, though a typical step is not: a few "
        "steps are much slower, which `metrics` with step_time_p95 or step_time_p99 judges"
    )


@pytest.mark.parametrize("slow_s", [1.0, 4.0])
def test_slow_steps_within_the_margin_are_no_warning(checked, slow_s):
    assert warnings_of(checked(slow_s)) == ()


def test_a_workload_has_its_own_margin(checked):
    bundle = checked(51.0)

    assert warnings_of(replace(bundle, plan=replace(bundle.plan, margins={"m:f": 0.6}))) == ()


def test_faster_steps_do_not_hide_slow_ones(checked):
    bundle = checked(71.0, typical_s=0.97)

    (verdict,) = judge_bundle(bundle)
    assert verdict.outcome is Outcome.IMPROVED
    assert len(warnings_of(bundle)) == 1


@pytest.mark.parametrize(("slow_s", "is_warning"), [(3.0, True), (1.3, False), (0.96, False)])
def test_steps_that_do_the_work_of_others_are_no_gain_of_all(checked, slow_s, is_warning):
    """99 steps of 0.97 s and one of 3 s last nearly as long as 100 of 1 s; the margin is 5 %."""
    bundle = checked(slow_s, typical_s=0.97)

    (verdict,) = judge_bundle(bundle)
    assert verdict.outcome is Outcome.IMPROVED
    words = (
        "m:f: a typical step is 3 % faster, but the mean of all steps gains less than half of it: "
        "some steps do the work of others"
    )
    assert warnings_of(bundle) == ((words,) if is_warning else ())


def test_slower_steps_are_a_regression_and_no_warning(checked):
    assert warnings_of(checked(51.0, typical_s=1.5)) == ()


@pytest.mark.parametrize(("pairs", "count"), [(2, 0), (3, 1)])
def test_two_pairs_are_too_few(checked, pairs, count):
    bundle = checked(51.0, pairs=pairs)
    (verdict,) = judge_bundle(checked(51.0))

    assert len(slow_step_warnings(bundle, [verdict])) == count


def test_one_slow_process_is_noise(checked):
    bundle, slow = checked(1.0), checked(51.0)
    runs = (*slow.runs[:2], *bundle.runs[2:])

    assert warnings_of(replace(bundle, runs=runs)) == ()
