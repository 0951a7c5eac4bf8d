import pytest

from perfledger_service.usecases.jobs.lost_leases import is_given_up


@pytest.mark.parametrize(
    ("attempts", "done_attempts", "is_lost"),
    [
        (4, [1] * 100, False),  # fewer than are always allowed
        (8, [], False),
        (9, [], True),
        (5, [1] * 20, True),
        (5, [2] * 20, False),  # half of all runners are lost
        (9, [0] * 20, True),  # done without an attempt: nothing is known of runners
    ],
)
def test_other_jobs_say_whether_a_job_ends_its_runners(attempts, done_attempts, is_lost):
    assert is_given_up(attempts, done_attempts, min_attempts=5) is is_lost
