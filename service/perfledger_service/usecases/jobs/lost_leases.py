"""Decides when to give up a job whose runners do not report back."""

from collections.abc import Iterable

from perfledger_runners.jobs.runner_deaths import JobStarts, is_to_blame


def is_given_up(attempts: int, done_attempts: Iterable[int], *, min_attempts: int) -> bool:
    """Return whether a job itself, and nothing else, ended all the runners that took it.

    A runner may be away for longer than a lease for other reasons. `done_attempts` are the attempts
    of other, finished jobs: each but the last one counts as a lost runner.
    """
    earlier = [JobStarts(starts=each, deaths=each - 1) for each in done_attempts if each]
    return attempts >= min_attempts and is_to_blame(attempts, earlier)
