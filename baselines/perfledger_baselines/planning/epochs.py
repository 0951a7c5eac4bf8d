"""Derives the epoch of a machine from its configured state."""

from collections.abc import Sequence
from itertools import accumulate

from perfledger.records import Machine

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

    Machines that take turns are one epoch: a key that comes back begins none.
    """
    last_places = {key: index for index, key in enumerate(keys)}
    latest = list(accumulate((last_places[key] for key in keys), max))
    return tuple(at + 1 for at, last in enumerate(latest) if last == at and at + 1 < len(keys))
