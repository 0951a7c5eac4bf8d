"""Derives the measured settings of a replica from a load curve, each with its latency model.

A setting is a kind of replica with its batch size and, if measured in closed loop only, the number
of concurrent requests that it admits.
"""

import math
from dataclasses import dataclass

from scipy.special import gammaincinv

from perfledger_cost_models.serving.closed_loop_latency import ClosedLoopModel, closed_loop_model
from perfledger_cost_models.serving.latency_model import (
    LatencyFit,
    LatencyMixture,
    fit_latency,
    left_out_errors,
)
from perfledger_cost_models.serving.load_curve import LoadCurve, LoadMode, LoadPoint


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ReplicaSettings:
    """A kind of replica, its batch and concurrency, and its latency model."""

    curve: LoadCurve
    batch: int
    concurrency: int | None  # admitted requests; None: no limit
    points: tuple[LoadPoint, ...]
    fit: LatencyFit | ClosedLoopModel

    @property
    def is_screening(self) -> bool:
        """Return whether it was measured in closed loop only, so that a formula extrapolates."""
        return isinstance(self.fit, ClosedLoopModel)

    @property
    def is_even(self) -> bool:
        """Return whether requests arrived at even times: at random times P99s may be longer."""
        return self.curve.has_even_arrivals and not self.is_screening

    def errors(self) -> tuple[float, ...]:
        """Return the relative error of each point's P99, predicted from the other points."""
        return () if self.is_screening else left_out_errors(self.points)

    @property
    def fits_memory(self) -> bool:
        """Return whether the replicas of a device fit its memory; True if that is unknown."""
        free = [self.curve.free_bytes(point) for point in self.points]
        return all(each is None or each >= 0 for each in free)

    @property
    def label(self) -> str:
        """Return the label of the setting."""
        details = f", {self.concurrency} concurrent" if self.concurrency else ""
        details += f", {self.curve.servers} servers" if self.curve.servers > 1 else ""
        slices = self.curve.time_slices
        details += f", one of {slices} time slices" if slices > 1 else ""
        return f"{self.curve.workload} on {self.curve.device}, batch {self.batch}{details}"

    def devices(self, replicas: int) -> int:
        """Return how many whole devices a number of replicas needs."""
        return math.ceil(replicas * self.curve.devices / self.curve.per_device)

    def fill_s(self, rate: float) -> float:
        """Return the P99 of the time that the first request of a batch waits until it is full.

        The other b - 1 requests arrive at random times, so the time is Erlang distributed.
        """
        return 0.0 if self.batch == 1 else float(gammaincinv(self.batch - 1, 0.99)) / rate

    def at(self, rate: float) -> LatencyMixture:
        """Return the P99 of a call at a rate of single requests per second and replica."""
        return self.fit.at(rate / self.batch)

    def chance(self, rate: float, p99_s: float) -> float:
        """Return the probability that a replica meets a P99 at a rate of requests per second."""
        left_s = p99_s - self.fill_s(rate)
        return self.at(rate).chance_below(left_s) if left_s > 0 else 0.0


def settings_of(curve: LoadCurve) -> tuple[ReplicaSettings, ...]:
    """Return a curve's settings: each batch size, and in closed loop each concurrency.

    If a batch size was also measured in open loop, closed loops only determine its capacity. Equal
    points count once.
    """
    replica_settings: list[ReplicaSettings] = []
    for batch in sorted({point.batch for point in curve.points}):
        points = tuple(point for point in dict.fromkeys(curve.points) if point.batch == batch)
        if any(point.mode is LoadMode.OPEN and point.keeps_up for point in points):
            replica_settings.append(
                ReplicaSettings(
                    curve=curve,
                    batch=batch,
                    concurrency=None,
                    points=points,
                    fit=fit_latency(points),
                )
            )
            continue
        replica_settings += [
            ReplicaSettings(
                curve=curve,
                batch=batch,
                concurrency=point.concurrency,
                points=(point,),
                fit=closed_loop_model(point),
            )
            for point in points
            if point.mode is LoadMode.CLOSED
        ]
    return tuple(replica_settings)
