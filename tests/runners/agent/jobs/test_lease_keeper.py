import threading

import pytest

from perfledger_runners.jobs.lease_keeper import LeaseKeeper

LEASE = "1" * 32


@pytest.fixture
def beats(queue, jobs):
    """Return a function that keeps a lease until the queue was asked so often."""

    def beats(count):
        heard, answer = threading.Event(), queue.open

        def count_and_answer(*arguments, **values):
            try:
                return answer(*arguments, **values)
            finally:
                if len(queue.requests) >= count:
                    heard.set()

        queue.open = count_and_answer
        with LeaseKeeper(jobs, "j", LEASE, lease_s=0.02) as keeper:
            assert heard.wait(600)
        return keeper

    return beats


def test_a_lease_is_renewed_again_and_again_also_while_the_service_is_absent(queue, beats):
    queue.statuses += ["absent", 500, 0]

    assert not beats(4).is_lost
    assert {path for path, _ in queue.requests} == {"/j/heartbeat"}


def test_a_lease_that_is_lost_is_renewed_no_more(queue, beats):
    queue.statuses += [0, 409]
    keeper = beats(2)

    assert keeper.is_lost
    assert len(queue.requests) == 2
