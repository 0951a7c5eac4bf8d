"""What became of a load's requests in, its points with throughput, latencies and intervals out."""

import statistics
from dataclasses import dataclass

from perfledger.load import Mode, Served, has_kept_up
from perfledger_baselines.latency import Quantile, latency_quantile


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasuredPoint:
    """One load and what came of it; a request is one call of the step, with `batch` items."""

    mode: Mode
    concurrency: int | None  # clients of a closed loop
    offered_per_second: float | None  # requests, of an open loop
    batch: int
    completed: int  # requests that the latencies are of
    seconds: float
    throughput_per_second: float  # requests
    p50: Quantile
    p95: Quantile
    p99: Quantile
    service_p50_s: float  # of the step alone, without the wait for its turn
    memory_bytes: int | None  # the most so far

    @property
    def has_kept_up(self) -> bool:
        """Whether about as much was answered as was offered; a closed loop offers no more."""
        offered, served = self.offered_per_second, self.throughput_per_second
        if offered is None:
            return True
        return has_kept_up(offered=offered, served=served, completed=self.completed)


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasuredLoad:
    """A workload's load curve: what one device, or so many for each server, does with requests."""

    workload: str
    device: str  # as it calls itself
    devices: int
    servers: int
    points: tuple[MeasuredPoint, ...]
    failures: tuple[str, ...] = ()  # batches that were not measured, and why, in sentences
    notes: tuple[str, ...] = ()


def measured_point(served: Served, *, batch: int, memory_bytes: int | None) -> MeasuredPoint:
    """Return throughput and latencies of one point; raises ValueError where none was answered."""
    p50, p95, p99 = (latency_quantile(served.latencies_s, share) for share in (0.50, 0.95, 0.99))
    return MeasuredPoint(
        mode=served.mode,
        concurrency=served.concurrency,
        offered_per_second=served.offered_per_second,
        batch=batch,
        completed=len(served.latencies_s),
        seconds=served.seconds,
        throughput_per_second=served.per_second,
        p50=p50,
        p95=p95,
        p99=p99,
        service_p50_s=statistics.median(served.services_s),
        memory_bytes=memory_bytes,
    )
