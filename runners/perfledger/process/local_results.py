"""Measures the step of a test in the working folder alone, and presents the results as a table."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from statistics import median, quantiles

from perfledger.measuring.step_samples import measure
from perfledger.meters.choice import choose_meter
from perfledger.protocol import MeasuringEffort
from perfledger.records import WorkloadSpec
from perfledger.rounding import decimals, percentage, significant
from perfledger.workload import AnyStep

UNITS = ((1.0, "s"), (1e-3, "ms"), (1e-6, "us"), (1e-9, "ns"))
UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True, kw_only=True)
class LocalResult:
    """The readings of one process; they show no change, which takes a base and a head."""

    workload: str
    steps_s: tuple[float, ...]
    cpu_time_s: float | None  # per step; None: unknown
    peak_bytes: float | None


def measure_here(step: AnyStep, spec: WorkloadSpec) -> LocalResult:
    """Measure a step with the meter of its framework, on the device that the framework finds."""
    _, meter = choose_meter(spec, requested="auto")
    with meter.device_context():
        meter.reset_peak()
        sampled = measure(lambda: step, meter.clock, effort=MeasuringEffort())
        peak = meter.peak_bytes()
    cpu_times = sampled.cores.cpu_time_s
    return LocalResult(
        workload=spec.id,
        steps_s=sampled.steps_s,
        cpu_time_s=median(cpu_times) if cpu_times else None,
        peak_bytes=peak,
    )


def table_lines(results: Iterable[LocalResult]) -> Iterator[str]:
    """Yield the lines of a table: each id, and below it its figures."""
    heads = (("step time", 12), ("spread", 8), ("CPU time", 10), ("peak memory", 12), ("steps", 6))
    yield f"{'':4}{'  '.join(f'{head:>{width}}' for head, width in heads)}"
    for result in results:
        yield result.workload
        peak = UNKNOWN
        if result.peak_bytes is not None:
            peak = f"{decimals(result.peak_bytes / 2**20, 1)} MiB"
        cpu = UNKNOWN if result.cpu_time_s is None else duration_text(result.cpu_time_s)
        yield (
            f"{'':4}{duration_text(median(result.steps_s)):>12}  {_spread(result.steps_s):>8}  "
            f"{cpu:>10}  {peak:>12}  {len(result.steps_s):>6}"
        )


def duration_text(seconds: float) -> str:
    """Return a duration with three significant digits and its unit."""
    # 999.6 us has three digits as 1.00 ms.
    size, unit = next((each for each in UNITS if seconds >= 0.9995 * each[0]), UNITS[-1])
    return f"{significant(seconds / size, 3)} {unit}"


def _spread(steps_s: tuple[float, ...]) -> str:
    """Return the interquartile range of the steps, relative to their median."""
    middle = median(steps_s)
    if len(steps_s) < 2 or middle <= 0:  # noqa: PLR2004 - two make a spread
        return UNKNOWN
    low, _, high = quantiles(steps_s, n=4)
    return percentage((high - low) / middle)
