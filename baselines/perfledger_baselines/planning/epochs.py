"""Derives the epoch of a machine from its configured state."""

from collections import Counter
from collections.abc import Sequence
from itertools import accumulate, pairwise

from perfledger.records import Machine
from perfledger_baselines.history.commits.attribution import (
    NEAR_OBSERVATIONS,
    STRAY_REACH,
    begins_environment,
)

# What the machine's administrator decides. The versions of Python, CUDA and the frameworks are not
# included: a commit may pin them, and their effect then belongs to that commit. Neither are the
# particular device that a check ran on or a momentary clock reading.
EPOCH_FACTS = (
    "driver",
    "is_clock_locked",
    "power_cap_w",
    "has_ecc",
    "mig",
    "topology",
    "cpu_model",
    "cores",
    "governor",
    "kernel",
)


def epoch_key(machine: Machine) -> str:
    """Return the state of a machine as a text that changes when the state does."""
    return "; ".join(f"{name} {getattr(machine, name)}" for name in EPOCH_FACTS)


def epoch_starts(keys: Sequence[str]) -> tuple[int, ...]:
    """Return the indices, except 0, from which no earlier key of a series appears again.

    Machines that take turns are one epoch: a key that comes back begins none. Strays do not count:
    rare observations of the old state after a change, or of the new one before it, far from each
    other, as re-runs are.
    """
    last_places = {key: index for index, key in enumerate(keys)}
    latest = list(accumulate((last_places[key] for key in keys), max))
    return tuple(
        at
        for at in range(1, len(keys))
        if latest[at - 1] == at - 1 or _begins_but_for_strays(keys, at)
    )


def _begins_but_for_strays(keys: Sequence[str], place: int) -> bool:
    """Return whether only strays, none of them beside the place, have a key of its other side."""
    if place < NEAR_OBSERVATIONS or len(keys) - place < STRAY_REACH:
        return False
    if keys[place] == keys[place - 1] or not begins_environment(keys, place):
        return False
    before, after = Counter(keys[:place]), Counter(keys[place:])
    strays = [
        at
        for at, key in enumerate(keys)
        if (0 < before[key] <= after[key] if at < place else 0 < after[key] <= before[key])
    ]
    is_beside = place in strays or place - 1 in strays
    are_apart = all(later - earlier >= STRAY_REACH for earlier, later in pairwise(strays))
    return are_apart and not is_beside
