"""Holds a workload's projected speed and cost on other devices."""

from dataclasses import dataclass

from perfledger_cost_models.projection.projection import (
    MissingProjection,
    ProjectedCost,
    Projection,
)
from perfledger_cost_models.projection.workload_descriptor import WorkloadDescriptor


@dataclass(frozen=True, slots=True, kw_only=True)
class ProjectionRow:
    """Projected speed and cost of a workload on one device."""

    device: str  # as on the price sheet, else as in the table of devices
    projection: Projection | MissingProjection
    costs: tuple[ProjectedCost, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ProjectionView:
    """A workload on its own device, and projected onto others."""

    descriptor: WorkloadDescriptor
    source: str
    units_per_second: tuple[float, float, float] | None  # of one source device; None: not known
    is_measured: bool  # there; else it was declared
    rows: tuple[ProjectionRow, ...]
    published: int  # ratios that the intervals are calibrated on
