"""Holds scheduling policies: order, fair share, backfill, preemption and placement.

Jobs are gangs: all devices of a job start together and are preempted together.
"""

from dataclasses import dataclass
from enum import StrEnum

from perfledger.time_units import SECONDS_PER_DAY
from perfledger_cost_models.units import MS_PER_SECOND


class JobOrder(StrEnum):
    """The order of a team's waiting jobs."""

    SUBMISSION = "submission"  # first in, first out
    SHORTEST = "shortest"  # by true run time: an oracle, as in the literature
    REMAINING = "remaining"  # by remaining run time
    SERVICE = "service"  # by remaining device time
    PRIORITY = "priority"  # the most urgent, then the first
    TIME_SLICE = "time slice"  # the longest wait since its last run: round robin


class FairShareRule(StrEnum):
    """The order of teams."""

    NONE = "none"  # teams do not count
    FAIR = "fair"  # the least decayed use of device time first
    DOMINANT = "dominant"  # the smallest dominant share first: DRF


class Backfill(StrEnum):
    """The rule for jobs behind one that does not fit."""

    NEVER = "never"  # they wait too
    EASY = "easy"  # they start if, by their time limits, they do not delay it (Lifka 1995)
    ALWAYS = "always"  # they start if they fit, as in Kubernetes


class Preemption(StrEnum):
    """What happens to a running job when one ahead of it in order needs its devices."""

    NEVER = "never"  # it runs to its end
    CHECKPOINT = "checkpoint"  # it continues later, after a time for saving and loading
    RESTART = "restart"  # it starts again from the beginning
    # As with a checkpoint, but running jobs may also move: all jobs are placed again, in order,
    # whenever a job arrives or ends while another waits.
    MIGRATION = "migration"


class PlacementPolicy(StrEnum):
    """The choice among the nodes that a job fits."""

    FIRST_FIT = "first-fit"
    BEST_FIT = "best-fit"  # the least left over
    WORST_FIT = "worst-fit"  # the most left over: spreading
    RANDOM = "random"
    PACKING = "packing"  # shared devices first, then used nodes
    CLUSTERING = "clustering"  # beside jobs with as many devices
    DOT_PRODUCT = "dot-product"  # Tetris: the least aligned request and free share
    FRAGMENTATION = "fgd"  # fragmentation gradient descent


class Locality(StrEnum):
    """The number of nodes that a job may use."""

    FEWEST = "fewest"  # one node, or whole nodes for a request larger than a node
    ANY = "any"  # any nodes with free devices, the emptiest first


class DeviceSharing(StrEnum):
    """The granularity of device shares."""

    EXACT = "exact"  # the requested share: MPS, vGPU
    WHOLE = "whole"  # whole devices: nothing is shared
    MIG = "mig"  # the next larger of the hardware's slices


# Seconds of a time slice. The time slice in seconds: the round of Narayanan et al.,
# "Heterogeneity-Aware Cluster Scheduling Policies for Deep Learning Workloads", OSDI 2020.
QUANTUM_S = 360
# Seconds of saving and loading, by the maximum number of devices: measured by Hu et al.,
# "Characterization and Prediction of Deep Learning Workloads", SC 2021.
CHECKPOINT_S = ((1, 7), (8, 30), (10**9, 60))
MAX_CHECKPOINT_S = SECONDS_PER_DAY  # a job that takes longer to save is not worth preempting
_CAN_YIELD = frozenset(
    {JobOrder.REMAINING, JobOrder.SERVICE, JobOrder.PRIORITY, JobOrder.TIME_SLICE}
)


@dataclass(frozen=True, slots=True, kw_only=True)
class SchedulingPolicy:
    """A scheduling policy.

    Raises ValueError for preemption in an order that does not rank running jobs, for migration
    without one order of all jobs, for a checkpoint out of range, and for a time slice in which no
    job would ever end.
    """

    name: str
    order: JobOrder = JobOrder.SUBMISSION
    share: FairShareRule = FairShareRule.NONE
    backfill: Backfill = Backfill.NEVER
    preemption: Preemption = Preemption.NEVER
    placement: PlacementPolicy = PlacementPolicy.BEST_FIT
    locality: Locality = Locality.FEWEST
    sharing: DeviceSharing = DeviceSharing.EXACT
    quantum_s: int = QUANTUM_S  # of JobOrder.TIME_SLICE: after it a waiting job preempts a job
    checkpoint_s: int | None = None  # seconds of saving and loading; None is CHECKPOINT_S

    def __post_init__(self) -> None:
        if self.preemption is not Preemption.NEVER and self.order not in _CAN_YIELD:
            msg = (
                f"policy {self.name!r} cannot preempt in order of {self.order}: order by remaining "
                "time, service, priority or time slice"
            )
            raise ValueError(msg)
        if self.checkpoint_s is not None and not 0 <= self.checkpoint_s <= MAX_CHECKPOINT_S:
            msg = f"the checkpoint is {self.checkpoint_s} s: use 0 to {MAX_CHECKPOINT_S} s"
            raise ValueError(msg)
        is_one_order = self.order is not JobOrder.TIME_SLICE and self.share is FairShareRule.NONE
        is_moving = self.preemption is Preemption.MIGRATION
        if is_moving and not (is_one_order and self.backfill is Backfill.ALWAYS):
            msg = (
                f"policy {self.name!r} cannot migrate jobs: use backfill always, and neither time "
                "slices nor fair shares"
            )
            raise ValueError(msg)
        if self.order is not JobOrder.TIME_SLICE:
            return
        # At least half of a time slice is work, else no job would ever end.
        most = max(seconds for _, seconds in CHECKPOINT_S)
        least = max(2 * (most if self.checkpoint_s is None else self.checkpoint_s), 1)
        if self.quantum_s < least or self.preemption is Preemption.RESTART:
            msg = (
                f"policy {self.name!r}: with a time slice of {self.quantum_s} s and preemption by "
                f"{self.preemption} a job may never end: use {least} s or more, and checkpoints"
            )
            raise ValueError(msg)

    def checkpoint_ms(self, devices: int) -> int:
        """Return the milliseconds of saving and loading a job with a number of devices."""
        if self.checkpoint_s is not None:
            return self.checkpoint_s * MS_PER_SECOND
        return next(seconds for most, seconds in CHECKPOINT_S if devices <= most) * MS_PER_SECOND


POLICIES = (
    SchedulingPolicy(name="fifo"),
    SchedulingPolicy(name="fifo-pass", backfill=Backfill.ALWAYS),
    SchedulingPolicy(name="easy", backfill=Backfill.EASY),
    SchedulingPolicy(name="sjf", order=JobOrder.SHORTEST),
    SchedulingPolicy(
        name="srtf",
        order=JobOrder.REMAINING,
        backfill=Backfill.ALWAYS,
        preemption=Preemption.CHECKPOINT,
    ),
    SchedulingPolicy(
        name="srsf",
        order=JobOrder.SERVICE,
        backfill=Backfill.ALWAYS,
        preemption=Preemption.CHECKPOINT,
    ),
    SchedulingPolicy(name="fair", share=FairShareRule.FAIR, backfill=Backfill.ALWAYS),
    SchedulingPolicy(name="drf", share=FairShareRule.DOMINANT, backfill=Backfill.ALWAYS),
    SchedulingPolicy(name="priority", order=JobOrder.PRIORITY, backfill=Backfill.ALWAYS),
    SchedulingPolicy(
        name="priority-preempt",
        order=JobOrder.PRIORITY,
        backfill=Backfill.ALWAYS,
        preemption=Preemption.RESTART,
    ),
    SchedulingPolicy(
        name="time-slice", order=JobOrder.TIME_SLICE, preemption=Preemption.CHECKPOINT
    ),
)
