"""A machine in, what tells the epochs of its class apart out."""

from dataclasses import asdict

from perfledger.records import Machine

# What whoever keeps the machine decides. The versions of Python, CUDA and the frameworks are not
# among it: a commit may pin them, and what they change is then that commit's doing. Nor is the one
# device of a class that a check happened to get, nor a clock that was read at some moment.
KEPT = (
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


def environment_of(machine: Machine) -> str:
    """Return the state that a machine is kept in, as a text that changes when it does."""
    facts = asdict(machine)
    return "; ".join(f"{name} {facts[name]}" for name in KEPT)
