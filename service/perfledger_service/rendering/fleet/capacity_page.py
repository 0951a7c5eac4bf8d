"""Renders the page of the fleet's capacity."""

from perfledger_service.rendering.fleet.measured_utilization import (
    WHAT_IS_ACTIVE,
    WHAT_IS_IDLE,
    misleading_words,
)
from perfledger_service.rendering.fleet.utilization import amount
from perfledger_service.rendering.history import stored_verdict_rows
from perfledger_service.rendering.layout import number_format
from perfledger_service.rendering.layout.environment import render
from perfledger_service.values.fleet_views import CapacityView

MAX_ROWS = 500  # more rows are hard to read on a page; the commands write all of them


def capacity_page(view: CapacityView) -> str:
    """Return the page of the fleet: utilization by workload, and the imported files."""
    return render(
        "html/capacity.html.j2",
        uses=view.utilization[:MAX_ROWS],
        notes=(WHAT_IS_ACTIVE, WHAT_IS_IDLE),
        imports=view.imports[:MAX_ROWS],
        left_out=max(0, len(view.utilization) - MAX_ROWS),
        imports_left_out=max(0, len(view.imports) - MAX_ROWS),
        amount=amount,
        day=number_format.day,
        days=number_format.days,
        device=stored_verdict_rows.device,
        misleading_words=misleading_words,
        share=number_format.share,
    )
