from dataclasses import replace

import numpy as np
import pytest

from perfledger.rounding import for_programs
from perfledger_cost_models.elastic_scheduling.allocation import ElasticPolicy
from perfledger_cost_models.elastic_scheduling.job_speeds import JobConfiguration, read_speeds
from perfledger_cost_models.elastic_scheduling.simulation import (
    MAX_RESTART_S,
    ElasticJob,
    elastic_jobs,
    simulate_elastic,
)
from perfledger_cost_models.job_logs.table import Job, JobLogError, table_of

SLOW, FAST = JobConfiguration("A100", 1, 1.0), JobConfiguration("H100", 1, 2.0)
WIDE = JobConfiguration("A100", 2, 1.5)
ALONE = ElasticJob(submit_s=0.0, work=3600.0, rigid=(SLOW,), elastic=(SLOW, WIDE))
SPEEDS = read_speeds("accelerator,devices,speed\nA100,1,1\nA100,2,1.5\nH100,1,2\n", "s.csv")


def simulated(jobs, devices, policy, *, restart_s=0.0):
    return simulate_elastic(jobs, devices, policy, restart_s=restart_s)


def test_one_device_works_off_a_queue_in_order():
    elastic_outcome = simulated([ALONE, ALONE], {"A100": 1}, ElasticPolicy.FIFO)

    assert elastic_outcome.completion_s == pytest.approx([3600, 7200])
    assert elastic_outcome.makespan_s == pytest.approx(7200)
    assert elastic_outcome.device_hours == {"A100": pytest.approx(2.0)}


def test_gavel_shares_one_device_in_time():
    elastic_outcome = simulated([ALONE, ALONE], {"A100": 1}, ElasticPolicy.GAVEL)

    assert elastic_outcome.completion_s == pytest.approx([7200, 7200], rel=1e-4)


def test_sia_gives_a_job_all_devices_where_it_gains_more_than_another_loses_by_waiting():
    """1.5^-0.5 - 1.1 is less than twice 1 - 1.1; a first start needs no restart."""
    rigid = replace(ALONE, work=1800.0, elastic=(SLOW,))

    elastic_outcome = simulated([ALONE, rigid], {"A100": 2}, ElasticPolicy.SIA, restart_s=30.0)

    assert elastic_outcome.completion_s == pytest.approx([2400, 4200])
    assert elastic_outcome.device_hours == {"A100": pytest.approx((2 * 2400 + 1800) / 3600)}


def test_sia_moves_a_job_to_devices_that_become_free_and_it_pays_for_the_restart():
    """500 s beside the other, on the slow accelerator; then 30 s still, and 3100 at 2."""
    gaining = ElasticJob(
        submit_s=0.0, work=1000.0, rigid=(FAST,), elastic=(replace(SLOW, speed=0.25), FAST)
    )
    both = replace(ALONE, elastic=(SLOW, FAST))

    elastic_outcome = simulated(
        [gaining, both], {"A100": 1, "H100": 1}, ElasticPolicy.SIA, restart_s=30.0
    )

    assert elastic_outcome.completion_s == pytest.approx([500, 500 + 30 + 1550])
    assert elastic_outcome.device_hours["A100"] == pytest.approx(500 / 3600)


def test_sia_moves_no_job_where_it_gains_nothing():
    """Each gets 3 on the H100 or 1.8 on two A100: the first, then the third, have the H100."""
    alike = (SLOW, replace(SLOW, devices=2, speed=1.8), replace(FAST, speed=3.0))
    jobs = [
        ElasticJob(submit_s=at, work=work, rigid=(SLOW,), elastic=alike)
        for at, work in ((0.0, 3600.0), (600.0, 3240.0), (1200.0, 7200.0))
    ]

    elastic_outcome = simulated(jobs, {"A100": 2, "H100": 1}, ElasticPolicy.SIA, restart_s=30.0)

    assert elastic_outcome.completion_s == pytest.approx([1200, 1800, 2400])


def test_a_job_that_comes_while_nothing_runs_begins_then():
    late = replace(ALONE, submit_s=10_000.0)

    elastic_outcome = simulated([ALONE, late], {"A100": 1}, ElasticPolicy.FIFO)

    assert elastic_outcome.completion_s == pytest.approx([3600, 3600])
    assert elastic_outcome.makespan_s == pytest.approx(13_600)


@pytest.mark.parametrize("policy", ElasticPolicy)
def test_a_job_ends_even_if_its_run_is_shorter_than_the_clock_can_tell(policy):
    """1e9 s and a nanosecond are 1e9 s."""
    late = replace(ALONE, submit_s=1e9, work=1e-9)

    elastic_outcome = simulated(
        [replace(late, submit_s=1e9 - 1, work=1.0 + 1e-7), late], {"A100": 1}, policy
    )

    assert elastic_outcome.completion_s == pytest.approx([1, 0], abs=1e-6)
    assert elastic_outcome.makespan_s == pytest.approx(1)


def test_jobs_that_share_a_device_run_in_every_round_also_with_the_longest_restart():
    elastic_outcome = simulated(
        [ALONE, ALONE], {"A100": 1}, ElasticPolicy.GAVEL, restart_s=MAX_RESTART_S
    )

    assert elastic_outcome.completion_s == pytest.approx([6 * 7200] * 2, rel=0.01)


@pytest.mark.parametrize("policy", ElasticPolicy)
def test_work_is_neither_lost_nor_made(policy):
    rng = np.random.default_rng(5)
    both = (SLOW, FAST)
    jobs = [
        ElasticJob(submit_s=float(at), work=float(work), rigid=both, elastic=(*both, WIDE))
        for at, work in zip(
            np.sort(rng.uniform(0, 5000, 12)), rng.uniform(100, 5000, 12), strict=True
        )
    ]

    elastic_outcome = simulated(jobs, {"A100": 2, "H100": 1}, policy)

    most = sum(job.work for job in jobs) / 3600  # on devices of speed 1
    least = most / 2
    assert (elastic_outcome.completion_s > 0).all()
    assert least <= sum(elastic_outcome.device_hours.values()) <= most * 4 / 3 + 1e-6


def test_the_jobs_of_a_log_have_the_work_of_their_recorded_run():
    table = table_of(
        [
            Job(submit_s=0, run_s=100, devices=2),
            Job(submit_s=5, run_s=None, devices=1),
            Job(submit_s=9, run_s=50, devices=8),
            Job(submit_s=9, run_s=50, devices=1, share_milli=500),
        ]
    )

    found_elastic_jobs = elastic_jobs(
        table, SPEEDS, recorded_on="A100", devices={"A100": 4, "H100": 1}
    )

    (only,) = found_elastic_jobs.jobs
    assert only.work == pytest.approx(150)
    assert only.rigid == (JobConfiguration("A100", 2, 1.5),)
    assert len(only.elastic) == 3
    assert found_elastic_jobs.left_out == 3


def test_a_log_without_a_job_that_the_table_covers_is_refused():
    table = table_of([Job(submit_s=0, run_s=100, devices=64)])

    with pytest.raises(JobLogError, match="0 of 1 jobs"):
        elastic_jobs(table, SPEEDS, recorded_on="A100", devices={"A100": 4})


@pytest.mark.parametrize("restart_s", [-1.0, 301.0, float("nan")])
def test_a_restart_is_shorter_than_a_round(restart_s):
    with pytest.raises(JobLogError, match=f"restart of {for_programs(restart_s)} s: give 0 to 300"):
        simulated([ALONE], {"A100": 1}, ElasticPolicy.SIA, restart_s=restart_s)


def test_a_job_takes_no_device_of_a_class_that_the_cluster_lacks():
    table = table_of([Job(submit_s=0.0, run_s=60.0, devices=1)])

    (job,) = elastic_jobs(table, SPEEDS, recorded_on="A100", devices={"A100": 1}).jobs

    assert job.elastic == (SLOW,)
