"""The words of classifying: what holds a step back, with its shares, and what to do about it."""

from dataclasses import dataclass
from enum import StrEnum


class Bottleneck(StrEnum):
    """What a step is bound by."""

    ENVIRONMENT = "environment"  # throttled, shared or unlike machines: no word on the code
    INPUT = "input"
    COMMUNICATION = "communication"
    TRANSFER = "transfer"  # copies between host and device that nothing hides
    HOST = "host"
    COMPUTE = "compute"
    MEMORY = "memory"  # the device's memory bandwidth
    LATENCY = "latency"  # neither: too little parallel work for each kernel
    UNKNOWN = "unknown"


class Detail(StrEnum):
    """Which kind of it; NONE where the profile does not tell."""

    NONE = ""
    LAUNCH = "launch"
    SYNC = "sync"
    PYTHON = "python"
    COMPILE = "compile"
    OPERATORS = "operators"
    BANDWIDTH = "bandwidth"
    SMALL_MESSAGES = "small messages"
    STRAGGLER = "straggler"
    NO_OVERLAP = "no overlap"
    OCCUPANCY = "occupancy"
    TAIL = "tail"  # waves that leave multiprocessors idle
    AT_ROOF = "at the roof"


class Confidence(StrEnum):
    """How much to trust a label."""

    HIGH = "high"
    MEDIUM = "medium"
    LOW = "low"


@dataclass(frozen=True, slots=True, kw_only=True)
class Share:
    """A candidate's exclusive share of the step, and how much faster a step without it would be."""

    bottleneck: Bottleneck
    share: float  # 0 to 1, median over the steps
    is_high: bool
    is_moderate: bool

    @property
    def ceiling(self) -> float:
        """Return Amdahl's bound: 1 / (1 - share), at most infinity."""
        return 1 / (1 - self.share) if self.share < 1 else float("inf")


@dataclass(frozen=True, slots=True, kw_only=True)
class Classification:
    """What a step is bound by: never a label without its shares and its confidence."""

    primary: Bottleneck
    shares: tuple[Share, ...]  # of the overheads and of the device, largest first
    confidence: Confidence
    detail: Detail = Detail.NONE
    secondary: tuple[Bottleneck, ...] = ()
    reasons: tuple[str, ...] = ()  # the evidence, and what lowers the confidence
    is_estimate: bool = False  # by the kernels' names or shapes, without counters


@dataclass(frozen=True, slots=True, kw_only=True)
class Recommendation:
    """What to do, the evidence that asks for it, and what it could bring at most."""

    text: str
    trigger: str  # "33 % of the step waits for input"
    share: float  # exclusive share of the step that it is about
    step_seconds: float  # what a step would take if that share took no time at all (Amdahl)
