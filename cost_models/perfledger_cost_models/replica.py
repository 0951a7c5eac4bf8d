"""A load curve into the ways its replica was run, each with its latency at any rate.

A setting is a kind of replica with its batch and, where it was measured in closed loop only, how
many requests it is let have at once.
"""

import math
from dataclasses import dataclass

from scipy.special import gammaincinv

from perfledger_cost_models.latency_fit import (
    LatencyAt,
    LatencyFit,
    fit_latency,
    left_out_errors,
)
from perfledger_cost_models.load_curve import LoadCurve, LoadMode, LoadPoint
from perfledger_cost_models.response_time import ClosedFit, closed_fit


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Setting:
    """A kind of replica, how it is run, and what its points say of its latency."""

    curve: LoadCurve
    batch: int
    concurrency: int | None  # that are let in at once; None: as many as come
    points: tuple[LoadPoint, ...]
    fit: LatencyFit | ClosedFit

    @property
    def is_screening(self) -> bool:
        """Whether it was measured in closed loop only, and a formula says the rest."""
        return isinstance(self.fit, ClosedFit)

    @property
    def is_even(self) -> bool:
        """Whether requests came at even times: a P99 that they keep may not be kept at random."""
        return self.curve.has_even_arrivals and not self.is_screening

    def errors(self) -> tuple[float, ...]:
        """Return by how much, relative, each point's P99 is missed from the others alone."""
        return () if self.is_screening else left_out_errors(self.points)

    @property
    def fits_memory(self) -> bool:
        """Whether a device holds as many replicas as share it; it does where that is not known."""
        free = [self.curve.free_bytes(point) for point in self.points]
        return all(each is None or each >= 0 for each in free)

    @property
    def words(self) -> str:
        """Return what it is called."""
        how = f", {self.concurrency} at once" if self.concurrency else ""
        how += f", {self.curve.servers} servers" if self.curve.servers > 1 else ""
        slices = self.curve.time_slices
        how += f", one of {slices} time slices" if slices > 1 else ""
        return f"{self.curve.workload} on {self.curve.device}, batch {self.batch}{how}"

    def devices(self, replicas: int) -> int:
        """Return how many whole devices so many replicas need."""
        return math.ceil(replicas * self.curve.devices / self.curve.per_device)

    def fill_s(self, rate: float) -> float:
        """Return how long at most 99 % of first requests wait until their batch is full.

        The other b - 1 come at random times, which takes them an Erlang distributed time.
        """
        return 0.0 if self.batch == 1 else float(gammaincinv(self.batch - 1, 0.99)) / rate

    def at(self, rate: float) -> LatencyAt:
        """Return the P99 of a call at so many single requests a second of one replica."""
        return self.fit.at(rate / self.batch)

    def chance(self, rate: float, p99_s: float) -> float:
        """Return how likely one replica keeps the promise at so many requests a second."""
        left_s = p99_s - self.fill_s(rate)
        return self.at(rate).chance_below(left_s) if left_s > 0 else 0.0


def settings_of(curve: LoadCurve) -> tuple[Setting, ...]:
    """Return the ways a curve's replica was run: each batch, and in closed loop each concurrency.

    Where a batch was also measured in open loop, that says more: closed loops then only tell its
    capacity. A point that is there twice is one measurement.
    """
    found: list[Setting] = []
    for batch in sorted({point.batch for point in curve.points}):
        points = tuple(point for point in dict.fromkeys(curve.points) if point.batch == batch)
        if any(point.mode is LoadMode.OPEN and point.keeps_up for point in points):
            found.append(
                Setting(
                    curve=curve,
                    batch=batch,
                    concurrency=None,
                    points=points,
                    fit=fit_latency(points),
                )
            )
            continue
        found += [
            Setting(
                curve=curve,
                batch=batch,
                concurrency=point.concurrency,
                points=(point,),
                fit=closed_fit(point),
            )
            for point in points
            if point.mode is LoadMode.CLOSED
        ]
    return tuple(found)
