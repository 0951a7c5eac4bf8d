"""The metrics perfledger knows: name, unit, which way is worse and how they are compared."""

from dataclasses import dataclass
from enum import StrEnum


class Worse(StrEnum):
    """Which way a metric gets worse."""

    HIGHER = "higher"
    LOWER = "lower"


class Scale(StrEnum):
    """How two values of a metric are compared."""

    LOG = "log"  # by ratio, with noise
    EXACT = "exact"  # deterministic counts: any difference is one


class Kind(StrEnum):
    """What question a metric answers; of each kind but TAIL a workload has at most one judged."""

    SPEED = "speed"
    TAIL = "tail"  # how slow the slowest steps of a process are
    UTILIZATION = "utilization"
    MEMORY = "memory"
    WORK = "work"
    ENERGY = "energy"
    START = "start"  # what a process pays once, before its steps are steady


@dataclass(frozen=True, slots=True, kw_only=True)
class Metric:
    """A quantity worth watching."""

    name: str
    unit: str
    worse: Worse
    kind: Kind
    scale: Scale = Scale.LOG

    @property
    def is_asked(self) -> bool:
        """Whether it is judged only where a repository asks for it, and is missed if not told."""
        return self.kind in (Kind.TAIL, Kind.ENERGY, Kind.START)


# Throughput is units_per_step / step time: the same test, shown in the unit that people speak of.
STEP_TIME = Metric(name="step_time_p50", unit="s", worse=Worse.HIGHER, kind=Kind.SPEED)
PEAK_MEMORY = Metric(name="peak_memory", unit="B", worse=Worse.HIGHER, kind=Kind.MEMORY)
# Share of all cores' time that the process was running on them while it was being measured.
CPU_ACTIVE = Metric(name="cpu_active", unit="1", worse=Worse.LOWER, kind=Kind.UTILIZATION)
# NVML GPM's SM_UTIL, DCGM_FI_PROF_SM_ACTIVE: share of time with a warp resident, mean over SMs.
SM_ACTIVE = Metric(name="sm_active", unit="1", worse=Worse.LOWER, kind=Kind.UTILIZATION)
# Floating-point operations of one step: torch's FlopCounterMode or XLA's cost analysis.
FLOPS_PER_STEP = Metric(
    name="flops_per_step", unit="FLOP", worse=Worse.HIGHER, kind=Kind.WORK, scale=Scale.EXACT
)

# What runs read.
METRICS = {
    metric.name: metric
    for metric in (STEP_TIME, PEAK_MEMORY, CPU_ACTIVE, SM_ACTIVE, FLOPS_PER_STEP)
}

# What runs tell where a repository asks for it: tails and starts are worked out from their steps.
STEP_TIME_P95 = Metric(name="step_time_p95", unit="s", worse=Worse.HIGHER, kind=Kind.TAIL)
STEP_TIME_P99 = Metric(name="step_time_p99", unit="s", worse=Worse.HIGHER, kind=Kind.TAIL)
# What the device's own counter says that a step takes: longer runs than a step time needs.
ENERGY_PER_STEP = Metric(name="energy_per_step", unit="J", worse=Worse.HIGHER, kind=Kind.ENERGY)
# A process's first step less a steady one: compiling, autotuning, first allocations.
COLD_START = Metric(name="cold_start", unit="s", worse=Worse.HIGHER, kind=Kind.START)
ASKED = {
    metric.name: metric for metric in (STEP_TIME_P95, STEP_TIME_P99, ENERGY_PER_STEP, COLD_START)
}
