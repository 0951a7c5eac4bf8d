from perfledger_cost_models.job_logs.table import Job, table_of
from perfledger_cost_models.scheduling.cluster import equal_nodes
from perfledger_cost_models.scheduling.policy import (
    POLICIES,
    Backfill,
    JobOrder,
    Preemption,
    SchedulingPolicy,
)
from perfledger_cost_models.scheduling.simulation import simulate

FIFO = SchedulingPolicy(name="fifo")


ONE_NODE = equal_nodes(1, devices=4)


def jobs_of(*rows):
    """Return jobs of (submit, run, devices) with any other fields behind, in seconds."""
    return table_of(
        Job(submit_s=submit, run_s=run, devices=devices, **more)
        for submit, run, devices, more in rows
    )


def starts(outcome):
    return (outcome.start_ms / 1000).tolist()


def test_first_in_first_out_lets_nobody_pass():
    jobs = jobs_of((0, 10, 3, {}), (1, 10, 4, {}), (2, 1, 1, {}))

    assert starts(simulate(jobs, ONE_NODE, FIFO)) == [0, 10, 20]


def test_easy_lets_pass_who_does_not_delay_the_head():
    policy = SchedulingPolicy(name="easy", backfill=Backfill.EASY)
    jobs = jobs_of((0, 10, 3, {}), (1, 10, 4, {}), (2, 20, 1, {}), (3, 6, 1, {}))

    assert starts(simulate(jobs, ONE_NODE, policy)) == [0, 10, 20, 3]


def test_easy_uses_what_the_head_leaves_over():
    policy = SchedulingPolicy(name="easy", backfill=Backfill.EASY)
    jobs = jobs_of((0, 10, 3, {}), (1, 10, 3, {}), (2, 50, 1, {}))

    assert starts(simulate(jobs, ONE_NODE, policy)) == [0, 10, 2]


def test_easy_believes_the_time_limit_not_the_oracle():
    policy = SchedulingPolicy(name="easy", backfill=Backfill.EASY)
    jobs = jobs_of((0, 10, 3, {}), (1, 10, 4, {}), (2, 3, 1, {"limit_s": 60.0}))

    assert starts(simulate(jobs, ONE_NODE, policy)) == [0, 10, 20]


def test_the_shortest_is_next():
    jobs = jobs_of((0, 10, 4, {}), (1, 9, 4, {}), (2, 2, 4, {}))

    assert starts(simulate(jobs, ONE_NODE, POLICIES[3])) == [0, 12, 10]


def test_a_shorter_job_displaces_a_longer_one_which_pays_for_its_checkpoint():
    srtf = next(policy for policy in POLICIES if policy.name == "srtf")
    jobs = jobs_of((0, 100, 4, {}), (10, 20, 4, {}))

    outcome = simulate(jobs, ONE_NODE, srtf)

    assert (outcome.end_ms / 1000).tolist() == [150, 30]
    assert outcome.preemptions == 1
    assert outcome.wasted == 30_000 * 4 * 1000
    assert outcome.wait_s.tolist() == [20, 0]


def test_an_urgent_job_displaces_the_least_urgent_and_nobody_in_vain():
    policy = next(policy for policy in POLICIES if policy.name == "priority-preempt")
    jobs = jobs_of(
        (0, 100, 2, {"priority": 1}),
        (0, 100, 2, {"priority": 0}),
        (10, 10, 2, {"priority": 2}),
    )

    outcome = simulate(jobs, ONE_NODE, policy)

    assert (outcome.end_ms / 1000).tolist() == [100, 120, 20]
    assert (outcome.preemptions, outcome.wasted) == (1, 10_000 * 2 * 1000)


def test_gangs_take_turns_and_pay_for_each():
    jobs = jobs_of((0, 720, 4, {}), (0, 720, 4, {}))

    outcome = simulate(jobs, ONE_NODE, time_slice())

    assert (outcome.start_ms / 1000).tolist() == [0, 360]
    assert (outcome.end_ms / 1000).tolist() == [1500, 1560]
    assert outcome.preemptions == 4
    assert outcome.wasted == 4 * 30_000 * 4 * 1000


def test_nobody_yields_to_nobody():
    jobs = jobs_of((0, 1000, 2, {}), (0, 5000, 2, {}))

    outcome = simulate(jobs, ONE_NODE, time_slice())

    assert outcome.preemptions == 0
    assert (outcome.end_ms / 1000).tolist() == [1000, 5000]


def test_a_wide_job_has_its_turn_beside_narrow_ones():
    jobs = jobs_of((0, 9000, 2, {}), (0, 9000, 2, {}), (10, 100, 4, {}))

    assert starts(simulate(jobs, ONE_NODE, time_slice())) == [0, 0, 360]


def time_slice(quantum_s=360):
    return SchedulingPolicy(
        name="time-slice",
        order=JobOrder.TIME_SLICE,
        preemption=Preemption.CHECKPOINT,
        quantum_s=quantum_s,
    )
