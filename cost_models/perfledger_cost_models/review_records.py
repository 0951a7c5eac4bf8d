"""What a quarter's checks measured, as a review needs it: how fast code is, and how it changed."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from statistics import median

from perfledger.bundle import FleetUse
from perfledger_cost_models.money import to_decimal
from perfledger_cost_models.procurement_plan import Range, Speed
from perfledger_cost_models.projection import NotProjected, ProjectedCost, Projection


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasuredSpeed:
    """How fast a workload of the default branch last was on one kind of device."""

    workload: str
    unit: str
    device: str  # as it names itself
    accelerator: str | None  # as on the price sheet; None where that does not know it
    units_per_second: tuple[float, float, float]  # of one device: low, typical, high
    day: date
    commit: str
    origin: str  # the upload's id, or the bundle's file


@dataclass(frozen=True, slots=True, kw_only=True)
class ProjectedSpeed:
    """How fast a workload is taken to be on a device that it was not measured on: projected."""

    workload: str
    unit: str
    source: str  # the device that it was measured on, as on the price sheet
    day: date
    origin: str
    device: str  # projected onto
    projection: Projection | NotProjected
    costs: tuple[ProjectedCost, ...]  # of a million units


@dataclass(frozen=True, slots=True, kw_only=True)
class Landed:
    """A change of step time that the judge found in a check of the default branch itself."""

    workload: str
    commit: str
    subject: str
    day: date
    device: str
    accelerator: str | None
    change: tuple[float, float, float]  # low, middle, high: head / base - 1
    origin: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Records:
    """All that was measured in a quarter."""

    origin: str  # the store, or the folder
    checks: int
    observations: int
    speeds: tuple[MeasuredSpeed, ...] = ()
    projected: tuple[ProjectedSpeed, ...] = ()  # never on a device that it was measured on
    landed: tuple[Landed, ...] = ()
    of_pull_requests: int = 0  # checks whose heads may or may not have landed
    of_branches: int = 0
    fleet: tuple[FleetUse, ...] = ()  # as the newest configuration of each repository declares it


def measured_ratios(
    speeds: Sequence[MeasuredSpeed], *, accelerator: str
) -> tuple[tuple[str, str, Decimal], ...]:
    """Return (accelerator, workload, its hours for one of `accelerator`) of what ran on both."""
    here = {one.workload: one for one in speeds if one.accelerator == accelerator}
    found: list[tuple[str, str, Decimal]] = []
    for one in speeds:
        other = here.get(one.workload)
        if other is None or one.accelerator in {None, accelerator}:
            continue
        ratio = to_decimal(other.units_per_second[1] / one.units_per_second[1])
        found.append((one.accelerator or "", one.workload, ratio))
    return tuple(sorted(found))


def speeds_of(
    ratios: Sequence[tuple[str, str, Decimal]], *, known: Sequence[Speed]
) -> tuple[Speed, ...]:
    """Return the plan's speeds, and those measured of accelerators that the plan says none of.

    Of several workloads: the smallest, the median and the largest ratio.
    """
    planned = {one.accelerator for one in known}
    found = list(known)
    for accelerator in sorted({name for name, _, _ in ratios} - planned):
        of_one = [ratio for name, _, ratio in ratios if name == accelerator]
        hours = Range(
            low=min(of_one),
            mode=median(of_one),
            high=max(of_one),
            basis="measured",
            source=f"{len(of_one)} workloads measured on both",
        )
        found.append(Speed(accelerator=accelerator, hours=hours))
    return tuple(found)
