"""Turns what the service knows of the fleet into its page."""

from perfledger_service.pages.environment import render
from perfledger_service.pages.imported import import_rows
from perfledger_service.pages.measured_use import WHAT_IS_ACTIVE, WHAT_IS_IDLE, use_rows
from perfledger_service.views import CapacityView

MAX_ROWS = 500  # a page of more is searched, not read: the commands write all of them


def capacity_page(view: CapacityView) -> str:
    """Return the page of the fleet: how busy workloads keep devices, and what was imported."""
    return render(
        "html/capacity.html.j2",
        uses=use_rows(view.measured[:MAX_ROWS]),
        notes=(WHAT_IS_ACTIVE, WHAT_IS_IDLE),
        imports=import_rows(view.imports[:MAX_ROWS]),
        left_out=max(0, len(view.measured) - MAX_ROWS),
        imports_left_out=max(0, len(view.imports) - MAX_ROWS),
    )
