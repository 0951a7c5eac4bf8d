import pytest
from hypothesis import given, strategies as st

from perfledger_runners.jobs.runner_deaths import (
    MAX_DEATH_SHARE,
    MAX_MEMORY_DEATHS,
    JobStarts,
    blame,
    death_share,
)

STARTS = st.integers(1, 50).flatmap(
    lambda starts: st.builds(JobStarts, starts=st.just(starts), deaths=st.integers(0, starts))
)


def jobs(number, *, starts=1, deaths=0):
    return (JobStarts(starts=starts, deaths=deaths),) * number


def most_deaths(earlier):
    """Return after how many deaths in as many starts a job is to blame."""
    return next(deaths for deaths in range(100) if blame(deaths, 0, earlier))


@pytest.mark.parametrize(
    ("earlier", "deaths"),
    [
        (jobs(100), 3),  # nothing else kills this runner
        (jobs(20), 4),
        (jobs(10, starts=4, deaths=1), 9),  # something does, in a quarter of the starts
        (jobs(10, starts=4, deaths=3), 33),
        (jobs(100, deaths=1), 41),  # every job did
        ((), 9),  # nothing is known
    ],
)
def test_the_more_often_other_jobs_died_the_more_deaths_are_no_evidence(earlier, deaths):
    assert most_deaths(earlier) == deaths


@given(st.lists(STARTS, max_size=20))
def test_every_job_that_always_ends_its_runner_is_ended(earlier):
    assert most_deaths(earlier) <= 41
    assert 0 < death_share(earlier) <= MAX_DEATH_SHARE


@given(st.lists(STARTS, max_size=20))
def test_a_job_in_which_the_runner_did_not_die_is_never_to_blame(earlier):
    assert blame(0, 0, earlier) == ""


def test_memory_that_ran_out_each_time_is_evidence_without_other_jobs():
    assert blame(MAX_MEMORY_DEATHS - 1, MAX_MEMORY_DEATHS - 1, ()) == ""
    assert blame(MAX_MEMORY_DEATHS, MAX_MEMORY_DEATHS, ()) == (
        "it ended this runner 3 times: memory ran out in 3 of them"
    )


def test_the_reason_says_what_other_jobs_did():
    assert blame(5, 0, jobs(20)) == (
        "it ended this runner each of the 5 times that it ran; other jobs did in 0 of 20 starts"
    )
