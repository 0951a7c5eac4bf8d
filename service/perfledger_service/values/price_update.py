"""Holds an updated price sheet and what the update changes."""

from dataclasses import dataclass

from perfledger_cost_models.prices.check import SheetCheck
from perfledger_cost_models.prices.diff import SheetDiff


@dataclass(frozen=True, slots=True, kw_only=True)
class PriceUpdate:
    """An updated price sheet, and what the update changes."""

    check: SheetCheck
    diff: SheetDiff  # of what counts: the packaged sheet under the file, before and after
    left_out: tuple[tuple[str, int], ...]  # offers that are no prices of ours, by reason
    text: str  # of the sheet, without what is rejected
