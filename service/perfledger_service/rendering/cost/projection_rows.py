"""Lists a report's projections onto hardware that was not measured.

Workloads, units and notes are not escaped yet: each template does that for its format.
"""

from dataclasses import dataclass

from perfledger_cost_models.projection.projection import ProjectedCost, Projection
from perfledger_service.rendering.cost import price_rows
from perfledger_service.rendering.layout import number_format
from perfledger_service.values.report import Report


@dataclass(frozen=True, slots=True, kw_only=True)
class ProjectedCostRow:
    """The projected cost of a million units of work on one purchase option, as shown."""

    workload: str
    unit: str
    measured_on: str
    dtypes: str  # the data types that the device is assumed to compute in
    device: str
    speed: str
    speed_interval: str
    option: str
    amount: str
    interval: str
    dated: str


def projected_rows(report: Report) -> tuple[ProjectedCostRow, ...]:
    """Return the projected costs by workload; workloads without a projection have no row."""
    return tuple(
        _row(view.source, cost, device=row.device)
        for view in report.projections
        for row in view.rows
        for cost in row.costs
    )


def _row(measured_on: str, cost: ProjectedCost, *, device: str) -> ProjectedCostRow:
    projection: Projection = cost.projection
    return ProjectedCostRow(
        workload=projection.workload,
        unit=projection.unit,
        measured_on=measured_on,
        dtypes=", ".join(projection.dtypes),
        device=device,
        speed=number_format.speed(projection.speed),
        speed_interval=number_format.interval(projection.low, projection.high, number_format.speed),
        option=cost.rate.label,
        amount=number_format.usd(cost.usd),
        interval=number_format.usd_interval(cost.low, cost.high),
        dated=price_rows.rate_day(cost.rate),
    )
