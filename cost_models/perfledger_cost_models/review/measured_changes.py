"""Holds the speeds, projections and landed changes that a quarter's checks measured."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from statistics import median

from perfledger.bundle import FleetUse
from perfledger_cost_models.money import to_decimal
from perfledger_cost_models.procurement.plan import InputRange, SpeedRatio
from perfledger_cost_models.projection.projection import (
    MissingProjection,
    ProjectedCost,
    Projection,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasuredSpeed:
    """The last measured speed of a default-branch workload on one kind of device."""

    repository: str
    workload: str
    unit: str
    device: str  # its own name
    accelerator: str | None  # the price sheet's name; None if the sheet lacks it
    units_per_second: tuple[float, float, float]  # of one device: low, typical, high
    day: date
    commit: str
    origin: str  # the upload's id, or the bundle's file


@dataclass(frozen=True, slots=True, kw_only=True)
class ProjectedSpeed:
    """The projected speed of a workload on a device that it was not measured on."""

    repository: str
    workload: str
    unit: str
    source: str  # the device that it was measured on, as on the price sheet
    day: date
    origin: str
    device: str  # projected onto
    projection: Projection | MissingProjection
    costs: tuple[ProjectedCost, ...]  # of a million units


@dataclass(frozen=True, slots=True, kw_only=True)
class LandedChange:
    """A change of step time that a check of the default branch detected."""

    repository: str
    workload: str
    commit: str
    subject: str
    day: date  # of the commit, of its measurement if that is not known
    device: str
    accelerator: str | None
    change: tuple[float, float, float]  # low, middle, high: head / base - 1
    origin: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RepositoryFleet:
    """The hours that a repository's newest configuration declares for its own workloads.

    Another repository may have a workload of the same id, which has none of these hours.
    """

    repository: str
    entries: tuple[FleetUse, ...]
    registered: tuple[str, ...]  # all workloads of its newest check


@dataclass(frozen=True, slots=True, kw_only=True)
class QuarterRecords:
    """The measurements of a quarter."""

    origin: str  # the store, or the folder
    checks: int
    observations: int
    speeds: tuple[MeasuredSpeed, ...] = ()
    projections: tuple[ProjectedSpeed, ...] = ()  # never on a device that it was measured on
    landed_changes: tuple[LandedChange, ...] = ()
    pull_request_checks: int = 0  # their heads may or may not have landed
    branch_checks: int = 0
    unattested_checks: int = 0  # only their bundles say that their commits are on the branch
    fleets: tuple[RepositoryFleet, ...] = ()  # one of each repository

    @property
    def fleet(self) -> tuple[FleetUse, ...]:
        """Return the entries of all repositories."""
        return tuple(use for one in self.fleets for use in one.entries)

    def fleet_of(self, repository: str) -> RepositoryFleet:
        """Return the fleet of a repository, an empty one if it declares none."""
        return next(
            (one for one in self.fleets if one.repository == repository),
            RepositoryFleet(repository=repository, entries=(), registered=()),
        )


def measured_ratios(
    speeds: Sequence[MeasuredSpeed], *, accelerator: str
) -> tuple[tuple[str, str, Decimal], ...]:
    """Return (accelerator, workload, hours per hour of `accelerator`) of workloads run on both."""
    here = {(one.repository, one.workload): one for one in speeds if one.accelerator == accelerator}
    ratios: list[tuple[str, str, Decimal]] = []
    for one in speeds:
        here_speed = here.get((one.repository, one.workload))
        if here_speed is None or one.accelerator in {None, accelerator}:
            continue
        ratio = to_decimal(here_speed.units_per_second[1] / one.units_per_second[1])
        ratios.append((one.accelerator or "", one.workload, ratio))
    return tuple(sorted(ratios))


def speeds_of(
    ratios: Sequence[tuple[str, str, Decimal]], *, planned_speeds: Sequence[SpeedRatio]
) -> tuple[SpeedRatio, ...]:
    """Return the plan's speeds, and measured speeds of accelerators that the plan lacks.

    Their range is the smallest, the median and the largest ratio of the workloads.
    """
    planned = {one.accelerator for one in planned_speeds}
    speeds = list(planned_speeds)
    for accelerator in sorted({name for name, _, _ in ratios} - planned):
        of_one = [ratio for name, _, ratio in ratios if name == accelerator]
        hours = InputRange(
            low=min(of_one),
            mode=median(of_one),
            high=max(of_one),
            basis="measured",
            source=f"{len(of_one)} workloads measured on both",
        )
        speeds.append(SpeedRatio(accelerator=accelerator, hours=hours))
    return tuple(speeds)
