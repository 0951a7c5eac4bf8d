"""Turns what a report projects onto hardware that was not measured into rows of money.

Workloads, units and notes are not yet escaped: each template does that in its own way.
"""

from dataclasses import dataclass

from perfledger_cost_models.projection import ProjectedCost, Projection
from perfledger_service.pages import figures
from perfledger_service.report import Report


@dataclass(frozen=True, slots=True, kw_only=True)
class ProjectedCostRow:
    """What a million units of work are projected to cost on one purchase option, as it is shown."""

    workload: str
    unit: str
    measured_on: str
    dtypes: str  # that the device is taken to compute in
    device: str
    speed: str
    speed_interval: str
    option: str
    amount: str
    interval: str
    dated: str


def projected_rows(report: Report) -> tuple[ProjectedCostRow, ...]:
    """Return the projected costs, workload by workload; what was not projected has no row."""
    return tuple(
        _row(view.source, cost, device=row.device)
        for view in report.projections
        for row in view.rows
        for cost in row.costs
    )


def _row(measured_on: str, cost: ProjectedCost, *, device: str) -> ProjectedCostRow:
    found: Projection = cost.projection
    ends = (figures.usd(end).removesuffix(f"{figures.NBSP}USD") for end in (cost.low, cost.high))
    return ProjectedCostRow(
        workload=found.workload,
        unit=found.unit,
        measured_on=measured_on,
        dtypes=", ".join(found.dtypes),
        device=device,
        speed=f"{found.speed:.2f}",
        speed_interval=figures.TO.join(f"{end:.2f}" for end in (found.low, found.high)),
        option=cost.rate.label,
        amount=figures.usd(cost.usd),
        interval=figures.TO.join(ends),
        dated=f"{'read on' if cost.rate.is_read_date else 'as of'} {figures.day(cost.rate.as_of)}",
    )
