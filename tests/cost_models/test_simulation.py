"""The simulator against what can be worked out by hand or by a formula; all jobs are made up."""

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from perfledger_cost_models.cluster import equal_nodes, read_cluster
from perfledger_cost_models.jobs import Job, JobLogError, table_of
from perfledger_cost_models.outcome import summary
from perfledger_cost_models.reservation import Reservation
from perfledger_cost_models.scheduling import (
    POLICIES,
    Locality,
    Order,
    Passing,
    Placement,
    Policy,
    Preemption,
    Share,
    Sharing,
)
from perfledger_cost_models.simulation import simulate

FIFO = Policy(name="fifo")
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


@settings(deadline=None, max_examples=60)
@given(
    anything,
    st.sampled_from(POLICIES),
    st.sampled_from(Placement),
    st.sampled_from(Locality),
    st.sampled_from(Sharing),
)
def test_device_time_out_is_device_time_in(rows, policy, placement, locality, sharing):
    mixed = Policy(
        name="mixed",
        order=policy.order,
        share=policy.share,
        passing=policy.passing,
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

    assert outcome.is_conserved
    assert len(outcome.jobs) + outcome.unplaceable + outcome.unknown == len(jobs)
    assert (outcome.wait_s >= 0).all()
    assert (outcome.ran_ms >= outcome.jobs.run_ms).all()


def test_first_in_first_out_lets_nobody_pass():
    jobs = jobs_of((0, 10, 3, {}), (1, 10, 4, {}), (2, 1, 1, {}))

    assert starts(simulate(jobs, ONE_NODE, FIFO)) == [0, 10, 20]


def test_easy_lets_pass_who_does_not_delay_the_head():
    policy = Policy(name="easy", passing=Passing.EASY)
    jobs = jobs_of((0, 10, 3, {}), (1, 10, 4, {}), (2, 20, 1, {}), (3, 6, 1, {}))

    assert starts(simulate(jobs, ONE_NODE, policy)) == [0, 10, 20, 3]


def test_easy_uses_what_the_head_leaves_over():
    policy = Policy(name="easy", passing=Passing.EASY)
    jobs = jobs_of((0, 10, 3, {}), (1, 10, 3, {}), (2, 50, 1, {}))

    assert starts(simulate(jobs, ONE_NODE, policy)) == [0, 10, 2]


def test_easy_believes_the_time_limit_not_the_oracle():
    policy = Policy(name="easy", passing=Passing.EASY)
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


def time_slice(turn_s=360):
    return Policy(
        name="time-slice", order=Order.TURNS, preemption=Preemption.CHECKPOINT, turn_s=turn_s
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

    assert outcome.is_conserved
    assert outcome.unplaceable == 0
    assert (outcome.wait_s >= 0).all()


@pytest.mark.parametrize(
    ("preemption", "turn_s"), [(Preemption.CHECKPOINT, 119), (Preemption.RESTART, 360)]
)
def test_turns_in_which_no_job_ends_are_refused(preemption, turn_s):
    with pytest.raises(ValueError, match="never end"):
        Policy(name="odd", order=Order.TURNS, preemption=preemption, turn_s=turn_s)


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


@pytest.mark.slow
def test_short_turns_are_sharing_of_a_device_job_by_job():
    rng = np.random.default_rng(5)
    count, mean_s = 80, 360_000.0
    moments = np.cumsum(rng.exponential(mean_s / 0.6, count)).round().tolist()
    runs = rng.exponential(mean_s, count).round().tolist()
    jobs = jobs_of(*((at, run, 1, {}) for at, run in zip(moments, runs, strict=True)))

    found = simulate(jobs, equal_nodes(1, devices=1), time_slice(1800))

    ends = np.array(by_sharing([at - moments[0] for at in moments], runs))
    taken = ends - (np.array(moments) - moments[0])
    # Saving and loading take 0.4 % of each turn.
    assert found.completion_s.mean() == pytest.approx(taken.mean(), rel=0.02)


def test_an_order_that_cannot_compare_running_jobs_cannot_preempt():
    with pytest.raises(ValueError, match="can preempt"):
        Policy(name="odd", order=Order.SUBMISSION, preemption=Preemption.RESTART)


@pytest.mark.parametrize("share", [Share.FAIR, Share.DOMINANT])
def test_a_team_that_holds_nothing_is_next(share):
    policy = Policy(name="shared", share=share)
    jobs = jobs_of(
        (0, 10, 2, {"team": "a"}),
        (0, 20, 2, {"team": "a"}),
        (1, 10, 2, {"team": "a"}),
        (2, 10, 2, {"team": "b"}),
    )

    assert starts(simulate(jobs, ONE_NODE, policy)) == [0, 0, 20, 10]


def test_dominant_share_counts_processors_too():
    policy = Policy(name="drf", share=Share.DOMINANT, passing=Passing.ALWAYS)
    cluster = read_cluster("gpu,cpu_milli\n4,8000\n", devices=4)
    jobs = jobs_of(
        (0, 50, 1, {"team": "processors", "cpu_milli": 6000}),
        (0, 50, 2, {"team": "devices", "cpu_milli": 1000}),
        (0, 10, 1, {"team": "others", "cpu_milli": 1000}),
        (1, 10, 1, {"team": "processors", "cpu_milli": 1000}),
        (2, 10, 1, {"team": "devices", "cpu_milli": 1000}),
    )

    assert starts(simulate(jobs, cluster, policy)) == [0, 0, 0, 20, 10]


def test_a_job_on_one_node_waits_for_a_node_and_a_spread_one_does_not():
    jobs = jobs_of((0, 10, 3, {}), (0, 10, 3, {}), (1, 10, 2, {}))
    together = simulate(jobs, equal_nodes(2, devices=4), FIFO)
    spread = simulate(jobs, equal_nodes(2, devices=4), Policy(name="any", locality=Locality.ANY))

    assert (starts(together), starts(spread)) == ([0, 0, 10], [0, 0, 1])


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
    assert max(starts(simulate(jobs, one, Policy(name="whole", sharing=Sharing.WHOLE)))) == 10


def test_mig_gives_the_next_larger_slice_and_counts_what_it_rounds_up():
    jobs = jobs_of(*[(0, 10, 1, {"share_milli": 100})] * 8)

    outcome = simulate(jobs, equal_nodes(1, devices=1), Policy(name="mig", sharing=Sharing.MIG))

    assert sorted(starts(outcome)) == [0] * 7 + [10]
    assert outcome.rounded == 8 * 42 * 10_000
    assert outcome.is_conserved


def test_a_reservation_keeps_out_what_is_not_over_before_it():
    reservation = Reservation(team="a", nodes=1, start_ms=20_000, end_ms=50_000)
    policy = Policy(name="pass", passing=Passing.ALWAYS)
    jobs = jobs_of((0, 30, 4, {"team": "b"}), (0, 10, 4, {"team": "b"}), (25, 5, 4, {"team": "a"}))

    outcome = simulate(jobs, equal_nodes(1, devices=4), policy, reservations=(reservation,))

    assert starts(outcome) == [50, 0, 25]


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

    figures = summary(simulate(jobs, ONE_NODE, FIFO))

    assert figures.allocated == pytest.approx((40 + 20) / 80)
    assert figures.wanted_idle_hours == 0
    assert figures.wait_mean_s == pytest.approx(5 / 3)
    assert figures.completion_mean_s == pytest.approx((10 + 15 + 100) / 3)


def test_idle_counts_what_somebody_waited_for_and_no_more():
    jobs = jobs_of((0, 3600, 3, {}), (0, 10, 2, {}))

    figures = summary(simulate(jobs, ONE_NODE, FIFO))

    assert figures.wanted_idle_hours == pytest.approx(1.0)


def test_no_job_that_fits_is_an_error():
    with pytest.raises(JobLogError, match="no job of the log fits"):
        simulate(jobs_of((0, 10, 5, {})), ONE_NODE, FIFO)


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

    found = simulate(jobs, equal_nodes(1, devices=servers), FIFO).wait_s

    assert found.tolist() == by_recursion(moments, runs, servers)
