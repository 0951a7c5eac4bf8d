from dataclasses import replace

import pytest
from hypothesis import strategies as st

from perfledger_cost_models.scheduling.policy import (
    POLICIES,
    Backfill,
    FairShareRule,
    JobOrder,
    PlacementPolicy,
    Preemption,
    SchedulingPolicy,
)


def policy_of(name):
    return next(policy for policy in POLICIES if policy.name == name)


moving = st.builds(
    replace,
    st.sampled_from(
        [policy for policy in POLICIES if policy.name in {"srtf", "srsf", "priority-preempt"}]
    ),
    preemption=st.just(Preemption.MIGRATION),
    placement=st.sampled_from(PlacementPolicy),
    checkpoint_s=st.sampled_from([None, 0]),
)


@pytest.mark.parametrize("change", [{"backfill": Backfill.EASY}, {"share": FairShareRule.FAIR}])
def test_nobody_migrates_where_not_all_stand_in_one_order(change):
    with pytest.raises(ValueError, match="cannot migrate jobs"):
        replace(policy_of("srtf"), preemption=Preemption.MIGRATION, **change)


@pytest.mark.parametrize("checkpoint_s", [-1, 10**6])
def test_a_checkpoint_that_nobody_would_wait_for_is_refused(checkpoint_s):
    with pytest.raises(ValueError, match="the checkpoint is"):
        SchedulingPolicy(name="odd", checkpoint_s=checkpoint_s)


def test_a_turn_may_be_as_short_as_two_checkpoints():
    turns = SchedulingPolicy(
        name="turns",
        order=JobOrder.TIME_SLICE,
        preemption=Preemption.CHECKPOINT,
        quantum_s=20,
        checkpoint_s=10,
    )

    assert turns.checkpoint_ms(64) == 10_000
    with pytest.raises(ValueError, match="use 20 s or more"):
        replace(turns, quantum_s=19)


@pytest.mark.parametrize(
    ("preemption", "quantum_s"), [(Preemption.CHECKPOINT, 119), (Preemption.RESTART, 360)]
)
def test_turns_in_which_no_job_ends_are_refused(preemption, quantum_s):
    with pytest.raises(ValueError, match="never end"):
        SchedulingPolicy(
            name="odd", order=JobOrder.TIME_SLICE, preemption=preemption, quantum_s=quantum_s
        )


def test_an_order_that_cannot_compare_running_jobs_cannot_preempt():
    with pytest.raises(ValueError, match="cannot preempt"):
        SchedulingPolicy(name="odd", order=JobOrder.SUBMISSION, preemption=Preemption.RESTART)
