"""A scheduling policy as a value: who is next, who may pass, who must yield, and where to.

Jobs are gangs: all of a job's devices start, and yield, together.
"""

from dataclasses import dataclass
from enum import StrEnum


class Order(StrEnum):
    """Which waiting job of a team is next."""

    SUBMISSION = "submission"  # first in, first out
    SHORTEST = "shortest"  # by the time that it will run: an oracle, as in the literature
    REMAINING = "remaining"  # by the time that is left of it
    PRIORITY = "priority"  # the most urgent, then the first
    TURNS = "turns"  # who has waited longest since it last ran: round robin


class Share(StrEnum):
    """Which team is next."""

    NONE = "none"  # teams do not count
    FAIR = "fair"  # the one that has used least device time, older use counting less
    DOMINANT = "dominant"  # the one whose largest share of any resource is smallest: DRF


class Passing(StrEnum):
    """What those behind may do while the next job does not fit."""

    NEVER = "never"  # wait too
    EASY = "easy"  # start where they do not delay it, by their time limits (Lifka 1995)
    ALWAYS = "always"  # start where they fit, as Kubernetes does


class Preemption(StrEnum):
    """What happens to a running job that must yield to one before it in order."""

    NEVER = "never"  # it runs to its end
    CHECKPOINT = "checkpoint"  # it goes on later where it was, after a time for saving and loading
    RESTART = "restart"  # it begins again


class Placement(StrEnum):
    """Which of the nodes that a job fits on it gets."""

    FIRST_FIT = "first-fit"
    BEST_FIT = "best-fit"  # the one with least left over
    WORST_FIT = "worst-fit"  # the one with most left over: spreading
    RANDOM = "random"
    PACKING = "packing"  # shared devices first, then used nodes
    CLUSTERING = "clustering"  # beside jobs that ask for as many devices
    DOT_PRODUCT = "dot-product"  # Tetris: the least aligned demand and rest
    FRAGMENTATION = "fgd"  # fragmentation gradient descent


class Locality(StrEnum):
    """Over how many nodes a job may be spread."""

    FEWEST = "fewest"  # on one node, or on whole ones where it asks for more than one has
    ANY = "any"  # wherever devices are free, the emptiest nodes first


class Sharing(StrEnum):
    """What a part of a device is."""

    EXACT = "exact"  # as much as was asked for: MPS, vGPU
    WHOLE = "whole"  # all of it: nothing is shared
    MIG = "mig"  # the next larger of the hardware's slices


# How long a turn is, in seconds: the round of Narayanan et al., "Heterogeneity-Aware Cluster
# Scheduling Policies for Deep Learning Workloads", OSDI 2020.
TURN_S = 360
# Twice what saving and loading takes at most: half of a turn is work, else no job would ever end.
MIN_TURN_S = 120


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """How a cluster decides; every part can be combined with every other.

    Raises ValueError for preemption in an order that says of no running job that it comes later,
    and for turns in which no job would ever end.
    """

    name: str
    order: Order = Order.SUBMISSION
    share: Share = Share.NONE
    passing: Passing = Passing.NEVER
    preemption: Preemption = Preemption.NEVER
    placement: Placement = Placement.BEST_FIT
    locality: Locality = Locality.FEWEST
    sharing: Sharing = Sharing.EXACT
    turn_s: int = TURN_S  # of Order.TURNS: who has run so long yields to whoever waits

    def __post_init__(self) -> None:
        can_yield = self.order in {Order.REMAINING, Order.PRIORITY, Order.TURNS}
        if self.preemption is not Preemption.NEVER and not can_yield:
            msg = f"policy {self.name!r}: only priority, remaining time and turns can preempt"
            raise ValueError(msg)
        if self.order is not Order.TURNS:
            return
        if self.turn_s < MIN_TURN_S or self.preemption is Preemption.RESTART:
            msg = (
                f"policy {self.name!r}: in turns of {self.turn_s} s some job would never end: give "
                f"{MIN_TURN_S} s or more, and let it go on where it was"
            )
            raise ValueError(msg)


POLICIES = (
    Policy(name="fifo"),
    Policy(name="fifo-pass", passing=Passing.ALWAYS),
    Policy(name="easy", passing=Passing.EASY),
    Policy(name="sjf", order=Order.SHORTEST),
    Policy(
        name="srtf",
        order=Order.REMAINING,
        passing=Passing.ALWAYS,
        preemption=Preemption.CHECKPOINT,
    ),
    Policy(name="fair", share=Share.FAIR, passing=Passing.ALWAYS),
    Policy(name="drf", share=Share.DOMINANT, passing=Passing.ALWAYS),
    Policy(name="priority", order=Order.PRIORITY, passing=Passing.ALWAYS),
    Policy(
        name="priority-preempt",
        order=Order.PRIORITY,
        passing=Passing.ALWAYS,
        preemption=Preemption.RESTART,
    ),
    Policy(name="time-slice", order=Order.TURNS, preemption=Preemption.CHECKPOINT),
)
