"""Lists the allocated cost of a review by team and by project, and the bill."""

from dataclasses import dataclass

from perfledger_cost_models.billing.allocated_hours import HeatMap
from perfledger_cost_models.billing.cost_allocation import AllocationRow, BillPart
from perfledger_cost_models.billing.showback import CostAllocation
from perfledger_cost_models.review.document import UnknownFigure
from perfledger_service.rendering.chart.svg import embedded_svg
from perfledger_service.rendering.fleet.allocate import allocation_sentences, team_label
from perfledger_service.rendering.fleet.heat_map import heat_picture
from perfledger_service.rendering.layout import number_format
from perfledger_service.rendering.review.rows import MAX_ROWS, plain_number


@dataclass(frozen=True, slots=True, kw_only=True)
class AllocationTables:
    """The allocated cost, as shown; the last row of each table is the bill."""

    teams: tuple[dict[str, str], ...]
    projects: tuple[dict[str, str], ...]  # empty if no project is known
    sentences: tuple[str, ...]
    heat: str  # SVG, "" if no weeks are known


def allocation_tables(allocation: CostAllocation | UnknownFigure) -> AllocationTables | None:
    """Return the allocated cost, at most MAX_ROWS of a kind; None if it is unknown."""
    if isinstance(allocation, UnknownFigure):
        return None
    total = {
        "team": "the bill",
        "project": "",
        "hours": plain_number(allocation.used_hours),
        **{str(part): number_format.cents(allocation.sum_of(part)) for part in BillPart},
        "total": number_format.cents(allocation.effective_usd),
    }
    projects = allocation.rows if any(row.project for row in allocation.rows) else ()
    return AllocationTables(
        teams=(*map(_cost_cells, allocation.by_team()[:MAX_ROWS]), total),
        projects=(*map(_cost_cells, projects[:MAX_ROWS]), total) if projects else (),
        sentences=tuple(allocation_sentences(allocation)),
        heat="" if allocation.weeks is None else _heat_svg(allocation.weeks),
    )


def _heat_svg(weeks: HeatMap) -> str:
    picture = heat_picture(weeks)
    return embedded_svg(picture, label=picture.title, has_style=True)


def _cost_cells(row: AllocationRow) -> dict[str, str]:
    return {
        "team": team_label(row),
        "project": row.project or "(no project)",
        "hours": plain_number(row.hours),
        **{str(part): number_format.cents(row.usd_of(part)) for part in BillPart},
        "total": number_format.cents(row.total_usd),
    }
