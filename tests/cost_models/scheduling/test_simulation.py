import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from perfledger_cost_models.job_logs.table import Job, JobLogError, table_of
from perfledger_cost_models.scheduling.cluster import equal_nodes, read_cluster
from perfledger_cost_models.scheduling.job_outcomes import summarise_outcome
from perfledger_cost_models.scheduling.policy import (
    POLICIES,
    DeviceSharing,
    JobOrder,
    Locality,
    PlacementPolicy,
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


anything = st.lists(
    st.tuples(
        st.integers(0, 200),
        st.integers(0, 60),
        st.integers(1, 12),
        st.fixed_dictionaries(
            {
                "team": st.sampled_from(["a", "b", "c"]),
                "priority": st.integers(0, 2),
                "limit_s": st.sampled_from([None, 30.0, 100.0]),
                "share_milli": st.sampled_from([1000, 1000, 250, 600]),
            }
        ),
    ),
    min_size=1,
    max_size=40,
)


@pytest.mark.slow(ci_only=True)
@settings(deadline=None, max_examples=60)
@given(
    anything,
    st.sampled_from(POLICIES),
    st.sampled_from(PlacementPolicy),
    st.sampled_from(Locality),
    st.sampled_from(DeviceSharing),
)
def test_device_time_out_is_device_time_in(rows, policy, placement, locality, sharing):
    mixed = SchedulingPolicy(
        name="mixed",
        order=policy.order,
        share=policy.share,
        backfill=policy.backfill,
        preemption=policy.preemption,
        placement=placement,
        locality=locality,
        sharing=sharing,
    )
    jobs = jobs_of(*rows)
    try:
        outcome = simulate(jobs, equal_nodes(3, devices=4), mixed)
    except JobLogError:
        return

    assert outcome.allocated == outcome.requested + outcome.wasted + outcome.rounded
    assert len(outcome.jobs) + outcome.unplaceable + outcome.unknown == len(jobs)
    assert (outcome.wait_s >= 0).all()
    assert (outcome.ran_ms >= outcome.jobs.run_ms).all()


def time_slice(quantum_s=360):
    return SchedulingPolicy(
        name="time-slice",
        order=JobOrder.TIME_SLICE,
        preemption=Preemption.CHECKPOINT,
        quantum_s=quantum_s,
    )


@settings(deadline=None, max_examples=40)
@given(
    st.lists(
        st.tuples(st.integers(0, 900), st.integers(0, 1500), st.integers(1, 8), st.just({})),
        min_size=1,
        max_size=20,
    )
)
def test_turns_take_from_nobody(rows):
    outcome = simulate(jobs_of(*rows), equal_nodes(2, devices=4), time_slice(120))

    assert outcome.allocated == outcome.requested + outcome.wasted + outcome.rounded
    assert outcome.unplaceable == 0
    assert (outcome.wait_s >= 0).all()


def by_sharing(moments, runs):
    """Return ends where all that are present have equal parts of the one device at each moment."""
    left: dict[int, float] = {}
    ends: dict[int, float] = {}
    now, coming = 0.0, list(enumerate(moments))
    while coming or left:
        soonest = min(left.values(), default=float("inf")) * len(left)
        until = min(now + soonest if left else float("inf"), coming[0][1] if coming else 1e18)
        left = {job: rest - (until - now) / len(left) for job, rest in left.items()}
        now = until
        for job in [job for job, rest in left.items() if rest <= 1e-6]:
            ends[job] = now
            del left[job]
        while coming and coming[0][1] <= now:
            job, _ = coming.pop(0)
            left[job] = runs[job]
    return [ends[job] for job in range(len(runs))]


@pytest.mark.slow(ci_only=True)
def test_short_turns_are_sharing_of_a_device_job_by_job():
    rng = np.random.default_rng(5)
    count, mean_s = 80, 360_000.0
    moments = np.cumsum(rng.exponential(mean_s / 0.6, count)).round().tolist()
    runs = rng.exponential(mean_s, count).round().tolist()
    jobs = jobs_of(*((at, run, 1, {}) for at, run in zip(moments, runs, strict=True)))

    job_outcomes = simulate(jobs, equal_nodes(1, devices=1), time_slice(1800))

    ends = np.array(by_sharing([at - moments[0] for at in moments], runs))
    durations = ends - (np.array(moments) - moments[0])
    # Saving and loading take 0.4 % of each turn.
    assert job_outcomes.completion_s.mean() == pytest.approx(durations.mean(), rel=0.02)


def test_a_job_on_one_node_waits_for_a_node_and_a_spread_one_does_not():
    jobs = jobs_of((0, 10, 3, {}), (0, 10, 3, {}), (1, 10, 2, {}))
    job_outcomes = simulate(jobs, equal_nodes(2, devices=4), FIFO)
    spread = simulate(
        jobs, equal_nodes(2, devices=4), SchedulingPolicy(name="any", locality=Locality.ANY)
    )

    assert (starts(job_outcomes), starts(spread)) == ([0, 0, 10], [0, 0, 1])


def test_a_job_larger_than_a_node_gets_whole_nodes_and_the_rest_on_one():
    cluster = equal_nodes(3, devices=4)
    jobs = jobs_of((0, 10, 1, {}), (0, 10, 10, {}), (1, 10, 7, {}), (1, 10, 13, {}))

    outcome = simulate(jobs, cluster, FIFO)

    assert starts(outcome) == [0, 0, 10]
    assert outcome.unplaceable == 1


def test_parts_of_a_device_share_it_unless_nothing_is_shared():
    jobs = jobs_of(*[(0, 10, 1, {"share_milli": 500})] * 8)
    one = equal_nodes(1, devices=4)

    assert max(starts(simulate(jobs, one, FIFO))) == 0
    assert (
        max(
            starts(simulate(jobs, one, SchedulingPolicy(name="whole", sharing=DeviceSharing.WHOLE)))
        )
        == 10
    )


def test_mig_gives_the_next_larger_slice_and_counts_what_it_rounds_up():
    jobs = jobs_of(*[(0, 10, 1, {"share_milli": 100})] * 8)

    outcome = simulate(
        jobs, equal_nodes(1, devices=1), SchedulingPolicy(name="mig", sharing=DeviceSharing.MIG)
    )

    assert sorted(starts(outcome)) == [0] * 7 + [10]
    assert outcome.rounded == 8 * 42 * 10_000
    assert outcome.allocated == outcome.requested + outcome.wasted + outcome.rounded


def test_pools_do_not_lend_and_an_unknown_pool_takes_nobody():
    cluster = read_cluster("pool,gpu\na,4\nb,4\n", devices=4)
    jobs = jobs_of((0, 10, 4, {"pool": "a"}), (0, 10, 4, {"pool": "a"}), (0, 10, 1, {"pool": "c"}))

    outcome = simulate(jobs, cluster, FIFO)

    assert (starts(outcome), outcome.unplaceable) == ([0, 10], 1)


def test_a_job_goes_only_to_accelerators_that_it_accepts():
    cluster = read_cluster("gpu,model\n4,T4\n4,A10\n", devices=4)
    jobs = jobs_of((0, 10, 4, {"models": "A10|V100"}), (0, 10, 4, {"models": "A10"}))

    assert starts(simulate(jobs, cluster, FIFO)) == [0, 10]


def test_figures_count_until_the_last_submission():
    jobs = jobs_of((0, 10, 4, {}), (5, 10, 2, {}), (20, 100, 1, {}))

    figures = summarise_outcome(simulate(jobs, ONE_NODE, FIFO))

    assert figures.allocated == pytest.approx((40 + 20) / 80)
    assert figures.wanted_idle_hours == 0
    assert figures.wait_mean_s == pytest.approx(5 / 3)
    assert figures.completion_mean_s == pytest.approx((10 + 15 + 100) / 3)


def test_idle_counts_what_somebody_waited_for_and_no_more():
    jobs = jobs_of((0, 3600, 3, {}), (0, 10, 2, {}))

    figures = summarise_outcome(simulate(jobs, ONE_NODE, FIFO))

    assert figures.wanted_idle_hours == pytest.approx(1.0)


def test_no_job_that_fits_is_an_error():
    with pytest.raises(JobLogError, match="no job of the log fits"):
        simulate(jobs_of((0, 10, 5, {})), ONE_NODE, FIFO)


def test_a_log_that_would_run_for_ten_thousand_years_is_refused():
    year_s = 365 * 86_400  # a hundred jobs of these on four devices
    with pytest.raises(JobLogError, match="keep all 4 devices for 10,025 years: check that their"):
        simulate(
            jobs_of(*((0, 401 * year_s, 1, {"id": str(job)}) for job in range(100))), ONE_NODE, FIFO
        )

    simulate(jobs_of((0, 399 * year_s, 1, {})), ONE_NODE, FIFO)


def by_recursion(moments, runs, servers):
    """Return waits by Kiefer and Wolfowitz (1955): of the sorted work before each server."""
    work, before, waits = [0] * servers, 0, []
    for at, run in zip(moments, runs, strict=True):
        work = sorted(max(each - (at - before), 0) for each in work)
        before = at
        waits.append(work[0])
        work[0] += run
    return waits


@pytest.mark.slow
@pytest.mark.parametrize("servers", [1, 8])
def test_random_jobs_wait_as_the_recursion_says(servers):
    rng = np.random.default_rng(11)
    count, service_s = 5000, 600.0
    rate = 0.7 * servers / service_s
    moments = np.cumsum(rng.exponential(1 / rate, count)).round().tolist()
    runs = rng.exponential(service_s, count).round().tolist()
    jobs = jobs_of(*((at, run, 1, {}) for at, run in zip(moments, runs, strict=True)))

    wait_s = simulate(jobs, equal_nodes(1, devices=servers), FIFO).wait_s

    assert wait_s.tolist() == by_recursion(moments, runs, servers)
