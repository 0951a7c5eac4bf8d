"""Reads the last quarter's review from JSON, and compares it with what happened."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Annotated

import msgspec

from perfledger_cost_models.billing.budget_variance import (
    BudgetVariance,
    BudgetVarianceError,
    ExpectedQuarter,
    budget_variance,
)
from perfledger_cost_models.billing.focus import Bill
from perfledger_cost_models.procurement.cost_model import ModelInput
from perfledger_cost_models.review.demand_and_spend import (
    BILL_REMEDY,
    NO_BILL,
    billed_hours,
    billed_usd,
)
from perfledger_cost_models.review.document import PreviousDecision, UnknownFigure
from perfledger_cost_models.review.quarter import Quarter, QuarterError, quarter_of

FORMAT = "perfledger-review"
# 1: first version. 2: keys in the words of the glossary. Within a version keys are only ever added.
VERSION = 2
# Keys of version 1 that are still read, with their names in version 2.
VERSION_1_KEYS = {"taken": "recommendation", "outlook": "expected_quarter"}
MAX_BYTES = 32 * 2**20
MAX_INPUTS = 10_000
MAX_NUMBER = Decimal(10) ** 15

# Names that count a plan's [[option]] or [[speed]] tables: another order gives them other meanings.
_NUMBERED = re.compile(r"w\d+_|hours_ratio_\d+")

Text = Annotated[str, msgspec.Meta(max_length=2000)]


class PreviousReviewError(ValueError):
    """An invalid document of the last quarter's review."""


class _ExpectedQuarter(msgspec.Struct, frozen=True):
    quarter: Text
    hours: Decimal
    usd: Decimal | None


class _Recommendation(msgspec.Struct, frozen=True):
    name: Text
    where: Text


class _Input(msgspec.Struct, frozen=True):
    name: Text
    mode: Decimal
    label: Text = ""
    words: Text = ""  # the label in version 1


class _Header(msgspec.Struct, frozen=True):
    format: str
    version: int


class _Document(msgspec.Struct, frozen=True):
    """The keys of a review that the next one reads."""

    quarter: Text
    recommendation: _Recommendation
    expected_quarter: _ExpectedQuarter
    inputs: Annotated[tuple[_Input, ...], msgspec.Meta(max_length=MAX_INPUTS)]


_HEADER_DECODER = msgspec.json.Decoder(_Header)
_DOCUMENT_DECODER = msgspec.json.Decoder(_Document)


@dataclass(frozen=True, slots=True, kw_only=True)
class PreviousReview:
    """The decision and the expected quarter of the last review."""

    quarter: Quarter
    decision: str
    where: str
    expected_quarter: ExpectedQuarter
    inputs: Mapping[str, Decimal]  # most likely values, by `input_identity`


def read_previous_review(data: bytes, *, before: Quarter) -> PreviousReview:
    """Read the review of the quarter before `before`; raises PreviousReviewError."""
    if len(data) > MAX_BYTES:
        msg = f"the last review has {len(data)} bytes, more than {MAX_BYTES}: pass its review.json"
        raise PreviousReviewError(msg)
    try:
        document = _document(data)
        quarter = quarter_of(document.quarter)
    except (msgspec.DecodeError, UnicodeDecodeError, QuarterError, RecursionError) as error:
        msg = f"the last review cannot be read: {error}: pass its review.json"
        raise PreviousReviewError(msg) from error
    if quarter.after != before:
        msg = f"the last review is of {quarter.name}: pass that of the quarter before {before.name}"
        raise PreviousReviewError(msg)
    expected = document.expected_quarter
    numbers = [expected.hours, *(each.mode for each in document.inputs)]
    numbers += [] if expected.usd is None else [expected.usd]
    if not all(number.is_finite() and abs(number) <= MAX_NUMBER for number in numbers):
        msg = "the last review has a number out of range: pass its unchanged review.json"
        raise PreviousReviewError(msg)
    return PreviousReview(
        quarter=quarter,
        decision=document.recommendation.name,
        where=document.recommendation.where,
        expected_quarter=ExpectedQuarter(
            quarter=expected.quarter, hours=expected.hours, usd=expected.usd
        ),
        inputs={
            input_identity(each.name, each.label or each.words): each.mode
            for each in document.inputs
        },
    )


def _document(data: bytes) -> _Document:
    """Return the document, with the keys of the current version; raises PreviousReviewError."""
    header = _HEADER_DECODER.decode(data)
    if header.format != FORMAT or not 1 <= header.version <= VERSION:
        form = f"{header.format[:40]!r} {header.version}"
        msg = f"the last review is {form}: pass a {FORMAT} of version 1 to {VERSION}"
        raise PreviousReviewError(msg)
    if header.version == VERSION:
        return _DOCUMENT_DECODER.decode(data)
    keys = msgspec.json.decode(data, type=dict[str, msgspec.Raw])
    upgraded = {VERSION_1_KEYS.get(key, key): value for key, value in keys.items()}
    return _DOCUMENT_DECODER.decode(msgspec.json.encode(upgraded))


def previous_decision(
    last: PreviousReview,
    *,
    accelerator: str,
    bill: Bill | None,
    efficiency_hours: Decimal | None,
    inputs: Sequence[ModelInput],
) -> PreviousDecision:
    """Return the last review's decision and expectation, with what happened since."""
    return PreviousDecision(
        quarter=last.quarter.name,
        option=last.decision,
        where=last.where,
        expected_quarter=last.expected_quarter,
        variance=_variance(last, accelerator, bill, efficiency_hours),
        changed_inputs=tuple(
            (each.label, last.inputs[key], each.mode)
            for key, each in ((input_identity(each.name, each.label), each) for each in inputs)
            if key in last.inputs and last.inputs[key] != each.mode
        ),
    )


def input_identity(name: str, label: str) -> str:
    """Return what stays the same if the plan's tables are in another order: by label, not number.

    Inputs that all options share keep their names, because their labels may be worded anew.
    """
    numbered = _NUMBERED.match(name)
    return f"{name[numbered.end() :]} {label}" if numbered else name


def _variance(
    last: PreviousReview, accelerator: str, bill: Bill | None, efficiency_hours: Decimal | None
) -> BudgetVariance | UnknownFigure:
    name, expected, quarter = "budget against actual", last.expected_quarter, last.quarter.after
    if bill is None:
        return UnknownFigure(name=name, reason=NO_BILL, remedy=BILL_REMEDY)
    start, end = max(bill.start.date(), quarter.first), min(bill.end.date(), quarter.after.first)
    if (end - start).days < quarter.days - 1:
        days = f"{bill.start.date()} to {bill.end.date()}"
        return UnknownFigure(
            name=name,
            reason=f"the bill covers {days}, not the whole quarter of the budget",
            remedy=f"the bill of all of {quarter.name}, once the quarter is over",
        )
    if expected.usd is None:
        return UnknownFigure(
            name=name,
            reason="the last review had no budget, because a cost of the supply was unknown",
            remedy="usd_per_year of every committed [[supply]]",
        )
    try:
        return budget_variance(
            budget_usd=expected.usd,
            budget_hours=expected.hours,
            actual_usd=billed_usd(bill, accelerator) + bill.unused.get(accelerator, Decimal(0)),
            actual_hours=billed_hours(bill, accelerator),
            efficiency_hours=efficiency_hours,
        )
    except BudgetVarianceError as error:
        return UnknownFigure(name=name, reason=str(error), remedy="hours in [demand] of the plan")
