"""Holds the contents of profiler files for display."""

from dataclasses import dataclass

from perfledger.profile import Profile
from perfledger_profiles.bottleneck.classification import Classification, Recommendation
from perfledger_profiles.bottleneck.stragglers import Stragglers
from perfledger_profiles.diff.cause import StepTimeExplanation
from perfledger_profiles.hardware.roofline import Roofline
from perfledger_profiles.hardware.step_metrics import StepMetric


@dataclass(frozen=True, slots=True, kw_only=True)
class TraceView:
    """Summary of one profiler file; `name` is the file's."""

    name: str
    profile: Profile
    classification: Classification
    recommendations: tuple[Recommendation, ...] = ()
    roof: Roofline | None = None
    caveats: tuple[str, ...] = ()  # of the device's peaks, or why they are unknown


@dataclass(frozen=True, slots=True, kw_only=True)
class RanksView:
    """Comparison of a job's ranks, in the order of their files."""

    traces: tuple[TraceView, ...]
    stragglers: Stragglers


@dataclass(frozen=True, slots=True, kw_only=True)
class TraceDiffView:
    """Comparison of two profiler files."""

    base: TraceView
    head: TraceView
    explanation: StepTimeExplanation
    is_same_device: bool = True
    iteration_kernels: int = 0  # if a step is a repeat of so many kernels; else 0


@dataclass(frozen=True, slots=True, kw_only=True)
class StepMetricsView:
    """Efficiency metrics of a step, their source, and why some are unknown."""

    step_seconds: float
    source: str  # where the step's time is from
    devices: int
    device: str  # its key in the hardware table, "" where it is not known
    dtype: str
    peak_flops_per_second: float | None
    figures: tuple[StepMetric, ...]
    notes: tuple[str, ...]
