"""Summarises a load's requests as points: throughput, latency quantiles, memory."""

import statistics
from dataclasses import dataclass

from perfledger.load import LoadResult, LoopKind, has_served_offered_load
from perfledger_baselines.estimation.latency_quantiles import LatencyQuantile, latency_quantile


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasuredPoint:
    """One load and its results; a request is one call of the step, with `batch` items."""

    mode: LoopKind
    concurrency: int | None  # clients of a closed loop
    offered_per_second: float | None  # requests, of an open loop
    batch: int
    completed: int  # requests that have a latency
    seconds: float
    throughput_per_second: float  # requests
    p50: LatencyQuantile
    p95: LatencyQuantile
    p99: LatencyQuantile
    service_p50_s: float  # of the step alone, without the time in the queue
    memory_bytes: int | None  # peak so far

    @property
    def has_kept_up(self) -> bool:
        """Return whether throughput is about the offered load; a closed loop always keeps up."""
        offered, served = self.offered_per_second, self.throughput_per_second
        if offered is None:
            return True
        return has_served_offered_load(offered=offered, served=served, completed=self.completed)


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasuredLoad:
    """A workload's load curve, measured on one device, or on several per server."""

    workload: str
    device: str  # the name it reports
    devices: int
    servers: int
    points: tuple[MeasuredPoint, ...]
    failures: tuple[str, ...] = ()  # batches that were not measured, and why
    notes: tuple[str, ...] = ()


def measured_point(served: LoadResult, *, batch: int, memory_bytes: int | None) -> MeasuredPoint:
    """Return throughput and latencies of one point; raises ValueError without any answer."""
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
