"""Steps that do their work in fewer threads or on fewer cores, beside load that hides it."""

from dataclasses import replace

import pytest

from perfledger.bundle import Plan
from perfledger.metrics import CPU_TIME, STEP_TIME
from perfledger.records import Side
from perfledger_baselines.judging.explanation import DecidedBy, explain_verdict
from perfledger_baselines.judging.verdict import Outcome
from tests.baselines.judging.decision.loaded_steps import MARGIN, Step

# Two threads of which each has half of one core: other programs have the rest.
TWO = Step(cpu=0.015, helpers=0.015, own_queue=0.015)
ONE = Step(cpu=0.03)


def on_cores(base, head):
    """Return a change of runs: how many cores their threads may use."""
    cores = {Side.BASE: base, Side.HEAD: head}

    def change(run):
        return replace(run, core_times=replace(run.core_times, cores=cores[run.side]))

    return change


def step_time(verdicts_of, base, head, **options):
    return verdicts_of(base, head, load=0.0, **options)[STEP_TIME]


def test_one_thread_instead_of_two_is_not_unchanged_beside_load(verdicts_of):
    verdicts = verdicts_of(TWO, ONE, load=0.0)
    verdict = verdicts[STEP_TIME]

    assert verdicts[CPU_TIME].outcome is Outcome.UNCHANGED
    assert abs(verdict.estimate.change) < MARGIN
    assert verdict.outcome is Outcome.UNDECIDED
    assert verdict.reason == (
        "no slower under load after 11 pairs, but less parallel (more work in the steps' own "
        "thread, or fewer cores): on idle cores head may be slower; a quiet machine tells"
    )
    explanation = explain_verdict(verdict, Plan(seed=1, order=(), looks=(11,), margin=MARGIN))
    assert explanation.decided_by is DecidedBy.LOAD


def test_one_thread_is_no_gain_because_two_wait_longer_beside_load(verdicts_of):
    two = replace(TWO, own_queue=0.025)

    assert step_time(verdicts_of, two, ONE).outcome is Outcome.UNDECIDED


@pytest.mark.parametrize(
    ("cores", "outcome"),
    [
        pytest.param((2, 1), Outcome.UNDECIDED, id="fewer"),
        pytest.param((2, 2), Outcome.UNCHANGED, id="as many"),
        pytest.param((1, 2), Outcome.UNCHANGED, id="more"),
        pytest.param((0, 1), Outcome.UNCHANGED, id="unknown"),
    ],
)
def test_two_threads_on_fewer_cores_are_not_unchanged_beside_load(verdicts_of, cores, outcome):
    assert step_time(verdicts_of, TWO, TWO, change=on_cores(*cores)).outcome is outcome


def test_a_step_of_one_thread_needs_one_core_only(verdicts_of):
    assert step_time(verdicts_of, ONE, ONE, change=on_cores(8, 1)).outcome is Outcome.UNCHANGED


@pytest.mark.parametrize(
    ("base", "head", "outcome"),
    [
        # No thread waits for a core.
        pytest.param(
            Step(cpu=0.02, helpers=0.01, off=0.01), Step(off=0.0), Outcome.UNCHANGED, id="same time"
        ),
        pytest.param(
            Step(cpu=0.015, helpers=0.015, off=0.03), ONE, Outcome.IMPROVED, id="no more sleep"
        ),
    ],
)
def test_where_nothing_waits_for_a_core_wall_time_tells(verdicts_of, base, head, outcome):
    assert step_time(verdicts_of, base, head).outcome is outcome


def test_threads_of_a_pool_share_their_work_as_they_please(verdicts_of):
    def change(run):
        """Half of head's steps do a tenth more in their own thread, the others a tenth less."""
        if run.side is Side.BASE:
            return run
        shift_s = 0.0015 * (-1) ** run.pair
        helpers = tuple(each - shift_s for each in run.core_times.helpers_s)
        return replace(run, core_times=replace(run.core_times, helpers_s=helpers))

    assert step_time(verdicts_of, TWO, TWO, change=change).outcome is Outcome.UNCHANGED
