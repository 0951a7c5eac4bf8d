"""Reconciles what plan, bill, usage and activity state about the shares of hours.

Hours shrink in three steps, each with a word, a numerator and a denominator of its own:

commitment utilization = committed cost that covered use / all committed cost   [the bill]
allocated share = device-hours that owners had / device-hours paid for          [usage / the bill]
busy share = device-hours of work / device-hours that owners had                [activity]

Hours from a bill are paid hours: they include what owners left idle, so no further share divides
them. Only the utilization of a commitment says how many of its hours such use fills.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from enum import StrEnum

from perfledger.rounding import decimals, integer
from perfledger_cost_models.procurement.plan import InputRange, PlannedDemand, ProcurementPlanError

# Percentage points by which two sources of one share may differ: clocks of schedulers and bills
# differ less.
MAX_DIFFERENCE = Decimal("0.05")


class ShareContradictionError(ProcurementPlanError):
    """An error for two sources that contradict each other on a share of hours."""


class HourShare(StrEnum):
    """A share of hours; none of them replaces another."""

    COMMITMENT_UTILIZATION = "commitment utilization"
    ALLOCATED = "allocated share"
    BUSY = "busy share"


@dataclass(frozen=True, slots=True, kw_only=True)
class ShareStatement:
    """What one source states about a share."""

    share: HourShare
    range: InputRange  # its source, its date and its basis
    counts: str  # "32,855 of 35,328 hours"; "" if it is declared


@dataclass(frozen=True, slots=True, kw_only=True)
class HourShares:
    """The known shares of hours, with every source's statement on each."""

    statements: tuple[ShareStatement, ...] = ()
    by_share: Mapping[HourShare, InputRange] = field(default_factory=dict[HourShare, InputRange])

    def required(self, share: HourShare) -> InputRange:
        """Return a share; raise ProcurementPlanError that says where it could come from."""
        figure = self.by_share.get(share)
        if figure is None or figure.mode <= 0:
            key = share.replace(" ", "_")
            remedies = {
                HourShare.COMMITMENT_UTILIZATION: "--bill FILE with used and unused commitments",
                HourShare.ALLOCATED: "files in [usage] and --bill FILE",
                HourShare.BUSY: "activity in [usage]",
            }
            state = "unknown" if figure is None else "zero"
            msg = (
                f"the {share} is {state}, and the options need it: add {remedies[share]}, or "
                f'{key} = {{ low = ..., mode = ..., high = ..., source = "..." }} to [demand]'
            )
            raise ProcurementPlanError(msg)
        return figure


def planned_shares(demand: PlannedDemand) -> tuple[ShareStatement, ...]:
    """Return the shares that a plan declares."""
    declared = {
        HourShare.COMMITMENT_UTILIZATION: demand.commitment_utilization,
        HourShare.ALLOCATED: demand.allocated_share,
        HourShare.BUSY: demand.busy_share,
    }
    return tuple(
        ShareStatement(share=share, range=figure, counts="")
        for share, figure in declared.items()
        if figure is not None
    )


def reconcile(statements: Iterable[ShareStatement]) -> HourShares:
    """Return the shares, each as its first source states it.

    Raises ShareContradictionError if another source differs by more than MAX_DIFFERENCE.
    """
    every = tuple(statements)
    by_share: dict[HourShare, InputRange] = {}
    for each in every:
        first = by_share.setdefault(each.share, each.range)
        if abs(each.range.mode - first.mode) > MAX_DIFFERENCE:
            raise ShareContradictionError(_contradiction(each.share, first, each.range))
    return HourShares(statements=every, by_share=by_share)


def _contradiction(share: HourShare, first: InputRange, second: InputRange) -> str:
    statements = " and ".join(
        f"{decimals(100 * each.mode, 1)} % by {each.source!r}" for each in (first, second)
    )
    return (
        f"the {share} is {statements}: nothing is decided while two sources differ by more than "
        f"{integer(100 * MAX_DIFFERENCE)} points; correct or remove one"
    )
