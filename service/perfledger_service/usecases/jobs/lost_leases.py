"""Decides when a job is given up whose runners did not report back."""

from collections.abc import Iterable

from perfledger_runners.jobs.runner_deaths import JobStarts, is_to_blame


def is_given_up(attempts: int, done_attempts: Iterable[int], *, min_attempts: int) -> bool:
    """Return whether a job ended all the runners that took it, and not something else.

    A runner may be away for longer than a lease, whatever the job. `done_attempts` are those of
    other jobs, which are done: each but the last one counts as a lost runner.
    """
    earlier = [JobStarts(starts=each, deaths=each - 1) for each in done_attempts if each]
    return attempts >= min_attempts and is_to_blame(attempts, earlier)
