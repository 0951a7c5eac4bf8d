"""Presents rejected rows of price sheets."""

from collections.abc import Iterator, Sequence

from perfledger_cost_models.prices.price_sheet import RejectedPrice
from perfledger_service.rendering.layout.escape import clean

MAX_LINES = 5  # `perfledger prices check` shows all
MAX_LINE = 400


def rejected_lines(rejected: Sequence[RejectedPrice]) -> Iterator[str]:
    """Yield a line for each of the first rejected rows, and the number of others."""
    for each in rejected[:MAX_LINES]:
        yield clean(each.text, limit=MAX_LINE)
    if len(rejected) > MAX_LINES:
        yield f"{len(rejected) - MAX_LINES} more rows are left out: see perfledger prices check"
