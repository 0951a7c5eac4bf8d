"""Holds the values of a bottleneck classification: label, shares, confidence, recommendations."""

from dataclasses import dataclass
from enum import StrEnum


class Bottleneck(StrEnum):
    """What limits a step's speed."""

    ENVIRONMENT = "environment"  # a throttled, shared or different machine, not the code
    INPUT = "input"
    COMMUNICATION = "communication"
    TRANSFER = "transfer"  # copies between host and device without overlap
    HOST = "host"
    DEVICE = "device"  # its own work, limited by something not measured
    COMPUTE = "compute"
    MEMORY = "memory"  # the device's memory bandwidth
    LATENCY = "latency"  # neither: too little parallel work in each kernel
    UNKNOWN = "unknown"


# The bounds of a device's own work; together they are its share of the step.
OF_THE_DEVICE = (Bottleneck.COMPUTE, Bottleneck.MEMORY, Bottleneck.LATENCY, Bottleneck.DEVICE)


class BottleneckDetail(StrEnum):
    """The kind of bottleneck; NONE if the profile does not show it."""

    NONE = ""
    START_UP = "start-up"  # first calls, which create contexts and load kernels' code
    LAUNCH = "launch"
    SYNC = "sync"
    BLOCKING_COPY = "blocking copies"  # the host waits inside the call that copies
    PYTHON = "python"
    COMPILE = "compile"
    OPERATORS = "operators"
    BANDWIDTH = "bandwidth"
    SMALL_MESSAGES = "small messages"
    STRAGGLER = "straggler"
    NO_OVERLAP = "little overlap"
    OCCUPANCY = "occupancy"
    TAIL = "tail"  # waves that leave multiprocessors idle
    AT_ROOF = "at the roof"


class BottleneckConfidence(StrEnum):
    """The confidence in a label."""

    HIGH = "high"
    MEDIUM = "medium"
    LOW = "low"


@dataclass(frozen=True, slots=True, kw_only=True)
class BottleneckShare:
    """A candidate's exclusive share of the step, and the speed-up without it.

    The device's share is divided by what its kernels are bound by; DEVICE is the remainder.
    """

    bottleneck: Bottleneck
    share: float  # 0 to 1, median over the steps
    is_high: bool
    is_moderate: bool
    is_estimate: bool = False  # by kernel names, without counters or counts
    is_of_step: bool = True  # otherwise the step time without it is unknown

    @property
    def ceiling(self) -> float:
        """Return Amdahl's bound, 1 / (1 - share); infinity if unbounded or unknown."""
        return 1 / (1 - self.share) if self.is_of_step and self.share < 1 else float("inf")


@dataclass(frozen=True, slots=True, kw_only=True)
class Classification:
    """The bottleneck of a step, with its shares and confidence."""

    primary: Bottleneck
    shares: tuple[BottleneckShare, ...]  # of the overheads and of the device, largest first
    confidence: BottleneckConfidence
    detail: BottleneckDetail = BottleneckDetail.NONE
    secondary: tuple[Bottleneck, ...] = ()
    reasons: tuple[str, ...] = ()  # the evidence, and reasons for less confidence
    is_estimate: bool = False  # by kernel names, without counters or counts

    @property
    def primary_share(self) -> float | None:
        """Return the bottleneck's share of the step; for DEVICE, all of the device's own work."""
        names = OF_THE_DEVICE if self.primary is Bottleneck.DEVICE else (self.primary,)
        shares = [one.share for one in self.shares if one.bottleneck in names]
        return sum(shares) if shares else None

    @property
    def device_share(self) -> float:
        """Return the share of the device's own work as a whole."""
        return sum(one.share for one in self.shares if one.bottleneck in OF_THE_DEVICE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Recommendation:
    """Advice, its trigger, and the step time that it would lead to."""

    text: str
    trigger: str  # "33 % of the step waits for input"
    share: float  # the exclusive share of the step that it addresses
    saved_share: float  # of the step, estimated under the assumption
    step_seconds: float  # the step time without the saved share
    assumption: str  # "if batches load while the step computes"
