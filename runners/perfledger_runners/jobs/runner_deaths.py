"""Distinguishes a job that kills its runner from one whose runner is killed by something else.

The sender of a signal is unknown. The evidence is how often the runner died while it worked on
other jobs, and whether the kernel ran out of memory meanwhile.
"""

from collections.abc import Sequence
from dataclasses import dataclass

# Below this chance the job is to blame. A runner that takes ten thousand jobs, and is killed in
# every third start, wrongly fails about one of them.
MIN_CHANCE = 1e-5
# The prior expectation: one death in four starts (the mean of a beta distribution).
PRIOR_DEATHS, PRIOR_STARTS = 1, 4
# Cap on the expected share of deaths: even if every job ends the runner, each job is given up after
# 41 starts.
MAX_DEATH_SHARE = 0.75
# A job's starts in which the kernel killed a program for lack of memory and the runner died.
MAX_MEMORY_DEATHS = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class JobStarts:
    """How often a runner started a job, and died during it."""

    starts: int
    deaths: int


def death_share(earlier: Sequence[JobStarts]) -> float:
    """Return the expected share of starts in which the runner dies, regardless of the job."""
    starts, deaths = (sum(each.starts for each in earlier), sum(each.deaths for each in earlier))
    return min(MAX_DEATH_SHARE, (deaths + PRIOR_DEATHS) / (starts + PRIOR_STARTS))


def is_to_blame(deaths: int, earlier: Sequence[JobStarts]) -> bool:
    """Return whether, by `earlier`, a runner is unlikely to die in this many starts in a row."""
    return death_share(earlier) ** deaths < MIN_CHANCE


def blame(deaths: int, memory_deaths: int, earlier: Sequence[JobStarts]) -> str:
    """Return why a job is to blame for the runner's death in all of its starts; "": unknown.

    It is to blame if, judging by the `earlier` jobs, this many deaths are unlikely, or if memory
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
