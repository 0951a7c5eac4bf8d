"""Derives the epoch of a machine from its configured state."""

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Collection, Sequence
from itertools import pairwise

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
    places: defaultdict[str, list[int]] = defaultdict(list)
    for at, key in enumerate(keys):
        places[key].append(at)
    starts: list[int] = []
    on_both_sides: dict[str, list[int]] = {}  # of the place: keys of before that come back
    for at in range(1, len(keys)):
        key = keys[at - 1]
        on_both_sides[key] = places[key]
        if places[key][-1] == at - 1:
            del on_both_sides[key]
        if not on_both_sides or _begins_but_for_strays(keys, at, on_both_sides.values()):
            starts.append(at)
    return tuple(starts)


def _begins_but_for_strays(
    keys: Sequence[str], place: int, shared: Collection[Sequence[int]]
) -> bool:
    """Return whether only strays, none of them beside the place, have a key of its other side.

    `shared` are the places of each key that both sides have. Of those, the rarer ones are strays.
    """
    if place < NEAR_OBSERVATIONS or len(keys) - place < STRAY_REACH:
        return False
    if keys[place] == keys[place - 1] or not begins_environment(keys, place):
        return False
    strays: list[int] = []
    for places in shared:
        before = bisect_left(places, place)
        after = len(places) - before
        rarer = range(0 if before <= after else before, len(places) if after <= before else before)
        if not _are_apart(places, rarer):  # known before they are copied: most keys have many
            return False
        strays += (places[index] for index in rarer)
    strays.sort()
    is_beside = place in strays or place - 1 in strays
    return _are_apart(strays, range(len(strays))) and not is_beside


def _are_apart(places: Sequence[int], indices: range) -> bool:
    return all(
        places[later] - places[earlier] >= STRAY_REACH for earlier, later in pairwise(indices)
    )
