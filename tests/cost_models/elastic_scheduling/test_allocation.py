from itertools import product

import pytest
from hypothesis import given, strategies as st

from perfledger_cost_models.elastic_scheduling.allocation import (
    SIA_POWER,
    SIA_WAITING,
    ElasticPolicy,
    TimeShare,
    WaitingJob,
    allocate,
)
from perfledger_cost_models.elastic_scheduling.job_speeds import JobConfiguration

DEVICES = {"A100": 4, "H100": 2}


def job(a100, h100, *, devices=1):
    rigid = (JobConfiguration("A100", devices, a100), JobConfiguration("H100", devices, h100))
    more = (JobConfiguration("A100", 2, a100 * 1.8), JobConfiguration("A100", 4, a100 * 3.0))
    return WaitingJob(rigid=rigid, elastic=(*rigid, *more))


def total(allocation, name):
    return sum(
        share.share * share.configuration.devices
        for shares in allocation
        for share in shares
        if share.configuration.accelerator == name
    )


jobs = st.lists(
    st.builds(job, st.floats(0.5, 2), st.floats(0.5, 8), devices=st.sampled_from([1, 2])),
    min_size=1,
    max_size=5,
)


@given(st.sampled_from(ElasticPolicy), jobs)
def test_no_policy_gives_a_device_or_a_jobs_time_twice(policy, waiting):
    allocation = allocate(policy, waiting, DEVICES)

    assert len(allocation) == len(waiting)
    for name, most in DEVICES.items():
        assert total(allocation, name) <= most * (1 + 2e-4)
    assert all(sum(each.share for each in shares) <= 1 + 1e-6 for shares in allocation)


def test_fifo_takes_the_first_class_with_room_and_lets_nobody_pass():
    wide = WaitingJob(rigid=(JobConfiguration("A100", 4, 1.0),), elastic=())

    first, second, third = allocate(ElasticPolicy.FIFO, [job(1, 2), wide, job(1, 2)], DEVICES)

    assert first[0].configuration.accelerator == "A100"
    assert (second, third) == ((), ())


def test_gavel_gives_the_fast_class_to_the_job_that_gains_most_by_it():
    """One of each: 10 times as fast on the H100, and 1.5 times."""
    devices = {"A100": 1, "H100": 1}

    gains, same = allocate(ElasticPolicy.GAVEL, [job(1, 10), job(1, 1.5)], devices)

    on_fast = {
        number: sum(each.share for each in shares if each.configuration.accelerator == "H100")
        for number, shares in enumerate((gains, same))
    }
    assert on_fast[0] > on_fast[1]


def test_gavel_treats_equal_jobs_alike():
    allocation = allocate(
        ElasticPolicy.GAVEL, [job(1, 3), job(1, 3), job(1, 3)], {"A100": 1, "H100": 1}
    )
    speeds = [
        sum(each.share * each.configuration.speed for each in shares) for shares in allocation
    ]

    assert speeds == pytest.approx([4 / 3] * 3, rel=1e-4)


def test_gavel_gives_a_job_the_whole_of_its_time_and_not_a_hair_less():
    """The first is the slower of the two; the slack would give 1e-5 of its H100 away."""
    waiting = [job(1, 1.1), job(1, 3, devices=2)]

    first, _ = allocate(ElasticPolicy.GAVEL, waiting, {"A100": 3, "H100": 2})

    assert first == (TimeShare(JobConfiguration("H100", 1, 1.1), 1.0),)


@pytest.mark.slow(ci_only=True)
@given(jobs)
def test_sia_is_the_best_of_all_choices(waiting):
    waiting = waiting[:3]
    best = 0.0
    for choice in product(*[(None, *each.elastic) for each in waiting]):
        taken_choice = [each for each in choice if each is not None]
        if all(
            sum(each.devices for each in taken_choice if each.accelerator == name) <= most
            for name, most in DEVICES.items()
        ):
            best = min(best, cost(waiting, choice))

    allocation = allocate(ElasticPolicy.SIA, waiting, DEVICES)

    taken_by = [shares[0].configuration if shares else None for shares in allocation]
    assert cost(waiting, taken_by) == pytest.approx(best, abs=1e-4)


def cost(waiting, choice):
    return sum(
        (each.speed / min(one.speed for one in job_.elastic)) ** SIA_POWER - SIA_WAITING
        for job_, each in zip(waiting, choice, strict=True)
        if each is not None
    )


@pytest.mark.parametrize(
    ("speed", "is_moved"), [(1.0, False), (1.0015, False), (1.0025, True), (2.0, True)]
)
def test_sia_moves_a_job_only_for_a_cost_that_is_a_thousandth_lower(speed, is_moved):
    present, other = JobConfiguration("A100", 1, 1.0), JobConfiguration("H100", 1, speed)
    running = WaitingJob(
        rigid=(present, other), elastic=(present, other), current=(TimeShare(present, 1.0),)
    )

    [shares] = allocate(ElasticPolicy.SIA, [running], DEVICES)

    assert shares == (TimeShare(other if is_moved else present, 1.0),)
