"""The JSON of the last quarter's review into what it decided, and that into what came of it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Annotated

import msgspec

from perfledger_cost_models.budget import BudgetError, Outlook, Variance, variance
from perfledger_cost_models.focus import Bill
from perfledger_cost_models.procurement import Input
from perfledger_cost_models.quarter import Quarter, QuarterError, quarter_of
from perfledger_cost_models.review import LastDecision, Unknown
from perfledger_cost_models.review_facts import HOW_BILL, NO_BILL, billed_hours, billed_usd

FORMAT = "perfledger-review"
# 1: first version. Keys are only ever added.
VERSION = 1
MAX_BYTES = 32 * 2**20
MAX_INPUTS = 10_000
MAX_NUMBER = Decimal(10) ** 15

Text = Annotated[str, msgspec.Meta(max_length=2000)]


class LastReviewError(ValueError):
    """A document that is not the last quarter's review."""


class _Outlook(msgspec.Struct, frozen=True):
    quarter: Text
    hours: Decimal
    usd: Decimal | None


class _Taken(msgspec.Struct, frozen=True):
    name: Text
    where: Text


class _Input(msgspec.Struct, frozen=True):
    name: Text
    mode: Decimal


class _Document(msgspec.Struct, frozen=True):
    """The few keys of a review that the next one reads."""

    format: str
    version: int
    quarter: Text
    taken: _Taken
    outlook: _Outlook
    inputs: Annotated[tuple[_Input, ...], msgspec.Meta(max_length=MAX_INPUTS)]


@dataclass(frozen=True, slots=True, kw_only=True)
class LastReview:
    """What the last review decided and expected."""

    quarter: Quarter
    taken: str
    where: str
    outlook: Outlook
    inputs: Mapping[str, Decimal]  # most likely values, by name


def read_last(data: bytes, *, before: Quarter) -> LastReview:
    """Read the review of the quarter before `before`; raises LastReviewError."""
    if len(data) > MAX_BYTES:
        msg = f"the last review has {len(data)} bytes: at most {MAX_BYTES} are read"
        raise LastReviewError(msg)
    try:
        found = msgspec.json.decode(data, type=_Document)
        quarter = quarter_of(found.quarter)
    except (msgspec.DecodeError, QuarterError, RecursionError) as error:
        msg = f"the last review cannot be read: {error}: give the review.json that was written then"
        raise LastReviewError(msg) from error
    if found.format != FORMAT or not 1 <= found.version <= VERSION:
        form = f"{found.format[:40]!r} {found.version}"
        msg = f"the last review is {form}: give a {FORMAT} of version 1 to {VERSION}"
        raise LastReviewError(msg)
    if quarter.after != before:
        msg = f"the last review is of {quarter.name}: give that of the quarter before {before.name}"
        raise LastReviewError(msg)
    numbers = [found.outlook.hours, *(each.mode for each in found.inputs)]
    numbers += [] if found.outlook.usd is None else [found.outlook.usd]
    if not all(number.is_finite() and abs(number) <= MAX_NUMBER for number in numbers):
        msg = "the last review holds a number that is none: give the review.json that was written"
        raise LastReviewError(msg)
    return LastReview(
        quarter=quarter,
        taken=found.taken.name,
        where=found.taken.where,
        outlook=Outlook(
            quarter=found.outlook.quarter, hours=found.outlook.hours, usd=found.outlook.usd
        ),
        inputs={each.name: each.mode for each in found.inputs},
    )


def last_decision(
    last: LastReview,
    *,
    accelerator: str,
    bill: Bill | None,
    efficiency_hours: Decimal | None,
    inputs: Sequence[Input],
) -> LastDecision:
    """Return what the last review said beside what happened since."""
    return LastDecision(
        quarter=last.quarter.name,
        taken=last.taken,
        where=last.where,
        outlook=last.outlook,
        variance=_variance(last, accelerator, bill, efficiency_hours),
        moved=tuple(
            (each.words, last.inputs[each.name], each.mode)
            for each in inputs
            if each.name in last.inputs and last.inputs[each.name] != each.mode
        ),
    )


def _variance(
    last: LastReview, accelerator: str, bill: Bill | None, efficiency_hours: Decimal | None
) -> Variance | Unknown:
    what, outlook, quarter = "budget against actual", last.outlook, last.quarter.after
    if bill is None:
        return Unknown(what=what, why=NO_BILL, how=HOW_BILL)
    start, end = max(bill.start.date(), quarter.first), min(bill.end.date(), quarter.after.first)
    if (end - start).days < quarter.days - 1:
        days = f"{bill.start.date()} to {bill.end.date()}"
        return Unknown(
            what=what,
            why=f"the bill's usage is of {days}: not the whole quarter that the budget is for",
            how=f"the bill of all of {quarter.name}, when it is over",
        )
    if outlook.usd is None:
        return Unknown(
            what=what,
            why="the last review had no budget: what the supply costs was not known",
            how="usd_per_year of every [[supply]] that is committed to",
        )
    try:
        return variance(
            budget_usd=outlook.usd,
            budget_hours=outlook.hours,
            actual_usd=billed_usd(bill, accelerator) + bill.unused.get(accelerator, Decimal(0)),
            actual_hours=billed_hours(bill, accelerator),
            efficiency_hours=efficiency_hours,
        )
    except BudgetError as error:
        return Unknown(what=what, why=str(error), how="hours in [demand] of the plan")
