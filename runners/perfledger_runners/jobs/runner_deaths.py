"""Tells a job that ends its runner from one whose runner is killed by something else.

Nothing says who sent a signal. What tells them apart is how often the runner died while it worked
on other jobs, and whether the kernel ran out of memory meanwhile.
"""

from collections.abc import Sequence
from dataclasses import dataclass

# Below it the job is to blame. A runner that takes ten thousand jobs, and is killed in every third
# start, fails about one of them for what others did.
MIN_CHANCE = 1e-5
# What is expected before anything is known: one death in four starts (a beta distribution's mean).
PRIOR_DEATHS, PRIOR_STARTS = 1, 4
# Of starts: where every job ends the runner, each is left to none after 41 starts and not later.
MAX_DEATH_SHARE = 0.75
# Of its starts in which the kernel ended a program for want of memory, and the runner died.
MAX_MEMORY_DEATHS = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class JobStarts:
    """How often a runner began a job, and died during it."""

    starts: int
    deaths: int


def death_share(earlier: Sequence[JobStarts]) -> float:
    """Return the expected share of starts in which the runner dies, whatever the job."""
    starts, deaths = (sum(each.starts for each in earlier), sum(each.deaths for each in earlier))
    return min(MAX_DEATH_SHARE, (deaths + PRIOR_DEATHS) / (starts + PRIOR_STARTS))


def is_to_blame(deaths: int, earlier: Sequence[JobStarts]) -> bool:
    """Return whether a runner would hardly have died in so many starts in a row by `earlier`."""
    return death_share(earlier) ** deaths < MIN_CHANCE


def blame(deaths: int, memory_deaths: int, earlier: Sequence[JobStarts]) -> str:
    """Return why a job is to blame that the runner died in all of its starts so far; "": unknown.

    It is where the runner would hardly have died so often by the `earlier` jobs, or where memory
    ran out each time.
    """
    if deaths and memory_deaths >= MAX_MEMORY_DEATHS:
        return f"it ended this runner {_times(deaths)}: memory ran out in {memory_deaths} of them"
    if not is_to_blame(deaths, earlier):
        return ""
    starts = sum(each.starts for each in earlier)
    their_deaths = sum(each.deaths for each in earlier)
    return (
        f"it ended this runner each of the {_times(deaths)} that it ran; other jobs did in "
        f"{their_deaths} of {starts} starts"
    )


def _times(number: int) -> str:
    return f"{number} time{'s' * (number != 1)}"
