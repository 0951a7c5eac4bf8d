"""Defines the metrics: name, unit, worse direction and scale of comparison."""

from dataclasses import dataclass
from enum import StrEnum

# The largest share of a process's samples that may be unusable. Up to it they are left out and
# counted; above it the process has no value. The estimate withstands 29 % of wrong samples.
MAX_LEFT_OUT = 0.25


class WorseDirection(StrEnum):
    """The direction in which a metric gets worse."""

    HIGHER = "higher"
    LOWER = "lower"


class MetricScale(StrEnum):
    """The scale on which two values of a metric are compared."""

    LOG = "log"  # by ratio, with noise
    EXACT = "exact"  # deterministic counts: any difference is real


class MetricKind(StrEnum):
    """The question that a metric answers.

    A workload is judged by at most one metric of each kind but TAIL and START.
    """

    SPEED = "speed"
    CPU_TIME = "cpu time"  # how long processors worked on it, without waiting
    TAIL = "tail"  # how slow the slowest steps of a process are
    UTILIZATION = "utilization"
    MEMORY = "memory"
    WORK = "work"
    ENERGY = "energy"
    GROWTH = "memory over time"  # what the steps of a process leave behind
    START = "start"  # the one-time cost of a process before its steps are steady
    KERNEL = "kernel"  # how long single kernels take, by profiled windows


@dataclass(frozen=True, slots=True, kw_only=True)
class Metric:
    """A quantity worth watching."""

    name: str
    unit: str
    worse: WorseDirection
    kind: MetricKind
    scale: MetricScale = MetricScale.LOG

    @property
    def is_explanatory(self) -> bool:
        """Return whether it explains verdicts and has none of its own.

        More work in a step is no evidence that it got slower, and the share of a shared CPU that a
        process gets depends on what else runs there.
        """
        return self.kind is MetricKind.WORK or self.name == CPU_ACTIVE.name

    @property
    def is_optional(self) -> bool:
        """Return whether it is judged only on request, and counts as not measured when missing."""
        return self.kind in (
            MetricKind.TAIL,
            MetricKind.ENERGY,
            MetricKind.GROWTH,
            MetricKind.START,
            MetricKind.KERNEL,
        )


# Throughput is units_per_step / step time: the same test in another unit.
STEP_TIME = Metric(
    name="step_time_p50", unit="s", worse=WorseDirection.HIGHER, kind=MetricKind.SPEED
)
PEAK_MEMORY = Metric(
    name="peak_memory", unit="B", worse=WorseDirection.HIGHER, kind=MetricKind.MEMORY
)
# Time that processors spent on a step: user and system time of the process and its children. Other
# load makes a step wait for a core, but hardly makes it work longer.
CPU_TIME = Metric(name="cpu_time", unit="s", worse=WorseDirection.HIGHER, kind=MetricKind.CPU_TIME)
# The share of all cores' time that the process and its children used while being measured.
CPU_ACTIVE = Metric(
    name="cpu_active", unit="1", worse=WorseDirection.LOWER, kind=MetricKind.UTILIZATION
)
# NVML GPM's SM_UTIL, DCGM_FI_PROF_SM_ACTIVE: share of time with a warp resident, mean over SMs.
SM_ACTIVE = Metric(
    name="sm_active", unit="1", worse=WorseDirection.LOWER, kind=MetricKind.UTILIZATION
)
# Floating-point operations of one step: torch's FlopCounterMode or XLA's cost analysis.
FLOPS_PER_STEP = Metric(
    name="flops_per_step",
    unit="FLOP",
    worse=WorseDirection.HIGHER,
    kind=MetricKind.WORK,
    scale=MetricScale.EXACT,
)

# Metrics of every run.
METRICS = {
    metric.name: metric
    for metric in (STEP_TIME, PEAK_MEMORY, CPU_TIME, CPU_ACTIVE, SM_ACTIVE, FLOPS_PER_STEP)
}

# Names of the metrics that every workload is judged by, and that it may choose from.
JUDGED_METRICS = tuple(metric.name for metric in METRICS.values() if not metric.is_explanatory)

# Metrics that a repository has to request: tails and starts are computed from the steps.
STEP_TIME_P95 = Metric(
    name="step_time_p95", unit="s", worse=WorseDirection.HIGHER, kind=MetricKind.TAIL
)
STEP_TIME_P99 = Metric(
    name="step_time_p99", unit="s", worse=WorseDirection.HIGHER, kind=MetricKind.TAIL
)
# By the device's energy counter, which needs longer runs than a step time.
ENERGY_PER_STEP = Metric(
    name="energy_per_step", unit="J", worse=WorseDirection.HIGHER, kind=MetricKind.ENERGY
)
# A process's first step minus a steady one: compiling, autotuning, first allocations.
COLD_START = Metric(name="cold_start", unit="s", worse=WorseDirection.HIGHER, kind=MetricKind.START)
# How long torch.compile or JAX took to trace, lower and compile, as they report it.
COMPILE_TIME = Metric(
    name="compile_time", unit="s", worse=WorseDirection.HIGHER, kind=MetricKind.START
)
# Memory in use after a thousand steps, by the line through its readings: it shows a step that keeps
# memory long before that is much of a process's peak.
MEMORY_OVER_TIME = Metric(
    name="memory_over_time", unit="B", worse=WorseDirection.HIGHER, kind=MetricKind.GROWTH
)
# Exclusive times of kernels on a device, of operators on the host, in profiled windows. Runs have
# no samples of it: the bundle holds the windows.
KERNELS = Metric(name="kernels", unit="s", worse=WorseDirection.HIGHER, kind=MetricKind.KERNEL)
OPTIONAL_METRICS = {
    metric.name: metric
    for metric in (
        STEP_TIME_P95,
        STEP_TIME_P99,
        ENERGY_PER_STEP,
        COLD_START,
        COMPILE_TIME,
        MEMORY_OVER_TIME,
        KERNELS,
    )
}
# The prefix of the name of a kernel family's metric.
FAMILY_PREFIX = "kernel:"


def family_metric(family: str) -> Metric:
    """Return the metric of one kernel family of a workload's history: seconds of a step."""
    return Metric(
        name=f"{FAMILY_PREFIX}{family}",
        unit="s",
        worse=WorseDirection.HIGHER,
        kind=MetricKind.KERNEL,
    )
