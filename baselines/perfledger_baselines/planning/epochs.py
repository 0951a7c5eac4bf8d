"""Derives the epoch of a machine from the state it is kept in."""

from perfledger.records import Machine

# What the machine's administrator decides. The versions of Python, CUDA and the frameworks are not
# included: a commit may pin them, and their effect then belongs to that commit. Nor is the device
# of a class that a check happened to run on, nor a momentary clock reading.
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
