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
    SERVICE = "service"  # by the device time that is left of it
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
    # As with a checkpoint, and whoever runs may be moved: all are placed anew, in order, whenever
    # somebody comes or goes while somebody waits.
    MIGRATION = "migration"


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
# What saving and loading takes a job of so many devices at most, in seconds: the measurements of
# Hu et al., "Characterization and Prediction of Deep Learning Workloads", SC 2021.
CHECKPOINT_S = ((1, 7), (8, 30), (10**9, 60))
MAX_CHECKPOINT_S = 86_400  # a job that takes longer to save is not preempted
_CAN_YIELD = frozenset({Order.REMAINING, Order.SERVICE, Order.PRIORITY, Order.TURNS})


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """How a cluster decides; every part can be combined with every other.

    Raises ValueError for preemption in an order that says of no running job that it comes later,
    for migration where not all of a cluster stand in one order, for a checkpoint that nobody would
    wait for, and for turns in which no job would ever end.
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
    checkpoint_s: int | None = None  # of saving and loading; None is CHECKPOINT_S

    def __post_init__(self) -> None:
        if self.preemption is not Preemption.NEVER and self.order not in _CAN_YIELD:
            msg = f"policy {self.name!r}: only priority, what is left and turns can preempt"
            raise ValueError(msg)
        if not 0 <= (self.checkpoint_s or 0) <= MAX_CHECKPOINT_S:
            msg = f"a checkpoint of {self.checkpoint_s} s: give 0 to {MAX_CHECKPOINT_S}"
            raise ValueError(msg)
        is_one_order = self.order is not Order.TURNS and self.share is Share.NONE
        is_moving = self.preemption is Preemption.MIGRATION
        if is_moving and not (is_one_order and self.passing is Passing.ALWAYS):
            msg = f"policy {self.name!r}: jobs move where all that fit pass, not by turns or shares"
            raise ValueError(msg)
        if self.order is not Order.TURNS:
            return
        # Half of a turn is work at least, else no job would ever end.
        most = max(seconds for _, seconds in CHECKPOINT_S)
        least = max(2 * (most if self.checkpoint_s is None else self.checkpoint_s), 1)
        if self.turn_s < least or self.preemption is Preemption.RESTART:
            msg = (
                f"policy {self.name!r}: in turns of {self.turn_s} s some job would never end: give "
                f"{least} s or more, and let it go on where it was"
            )
            raise ValueError(msg)

    def checkpoint_ms(self, devices: int) -> int:
        """Return what saving and loading a job of so many devices takes, in milliseconds."""
        if self.checkpoint_s is not None:
            return self.checkpoint_s * 1000
        return next(seconds for most, seconds in CHECKPOINT_S if devices <= most) * 1000


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
    Policy(
        name="srsf",
        order=Order.SERVICE,
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
