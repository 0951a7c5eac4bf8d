"""Lists the total cost of a pull request, its queues and the policies.

Workloads and teams are not escaped yet: each template does that for its format.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import ROUND_CEILING, Decimal

from perfledger.rounding import digits, exact
from perfledger_cost_models.change_price.cost_policy import (
    Approval,
    PolicyEvaluation,
    PolicyOutcome,
)
from perfledger_cost_models.money import CENT
from perfledger_cost_models.quote import ChangePrice, Interval, QueueEffect, SummedPrice
from perfledger_service.rendering.layout import number_format

SHOWN_COMMIT = 12


@dataclass(frozen=True, slots=True, kw_only=True)
class YearlyTotal:
    """The total yearly cost of all changes; `text` follows "Together"."""

    text: str
    missing: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ApprovalTableRow:
    """An approval as shown; `objection` says why it does not count, "" if it does."""

    login: str
    reason: str
    terms: str  # the limit, the day it was given, the day it expires
    objection: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyEvaluationRow:
    """The result of a policy, as shown."""

    team: str
    verb: str
    why: str
    unpriced: tuple[str, ...]
    tone: str  # a colour of the page
    approvers: tuple[str, ...] = ()  # who may approve; only for policies that ask for approval
    command: str = ""  # the comment that approves on the pull request
    approval: ApprovalTableRow | None = None


def yearly_total(total: SummedPrice | None, prices: int) -> YearlyTotal | None:
    """Return the sum of several prices in words; None for a single one."""
    if total is None or prices == 1 or not total.workloads:
        return None
    return YearlyTotal(text=f"{_amount(total)}{_share(total)}", missing=total.missing)


def queue_sentences(queues: Sequence[QueueEffect]) -> tuple[str, ...]:
    """Return the effects on the waits for devices that are paid for anyway, if any."""
    return tuple(
        _queue(queue)
        for queue in queues
        if queue.absorbed_hours[0] > 0 or queue.absorbed_hours[-1] < 0
    )


def policy_evaluation_rows(
    evaluations: Sequence[PolicyEvaluation], *, head: str = ""
) -> tuple[PolicyEvaluationRow, ...]:
    """Return the results of the policies, the strictest first; `head` is the commit to approve."""
    order = (
        PolicyOutcome.FAILS,
        PolicyOutcome.NEEDS_APPROVAL,
        PolicyOutcome.APPROVED,
        PolicyOutcome.PASSES,
    )
    tones = dict(zip(order, ("regressed", "undecided", "warning", "unchanged"), strict=True))
    return tuple(
        PolicyEvaluationRow(
            team=evaluation.team,
            verb=str(evaluation.outcome),
            why=_why(evaluation),
            unpriced=evaluation.unpriced,
            tone=tones[evaluation.outcome],
            approvers=evaluation.approvers
            if evaluation.outcome is PolicyOutcome.NEEDS_APPROVAL
            else (),
            command=_command(evaluation, head),
            approval=None
            if evaluation.approval is None
            else _approval(evaluation.approval, evaluation),
        )
        for evaluation in sorted(evaluations, key=lambda each: order.index(each.outcome))
    )


def capacity_sentence(price: ChangePrice) -> str:
    """Return a change's effect on devices that are paid for anyway, "" without one.

    It gives the hours and, if some are freed, the devices that they could replace at renewal.
    """
    hours = price.extra_hours if price.absorbed_hours is None else price.absorbed_hours
    if hours is None or not any(hours):
        return ""
    if price.absorbed_hours is None and hours[-1] > 0:
        low, middle, high = map(number_format.count, hours)
        return (
            f"it takes {middle} more device-hours a year "
            f"({low}{number_format.INTERVAL_TO}{high}) on devices that are paid for anyway"
        )
    return f"{absorbed_hours_sentence(hours)}{_at_renewal(price.renewal_devices)}"


def absorbed_hours_sentence(hours: Interval) -> str:
    """Return the hours of a change that idle devices absorb, or that it frees."""
    what, ends = _hours(hours)
    if hours[1] < 0:
        return f"{what} device-hours a year ({ends}) are freed on devices that are paid for anyway"
    return f"idle devices that are paid for absorb {what} device-hours a year ({ends})"


def _at_renewal(devices: Interval | None) -> str:
    if devices is None:
        return ""
    low, middle, high = (digits(count, 2) for count in devices)
    ends = f"{low}{number_format.INTERVAL_TO}{high}"
    noun = "device" if middle == "1" else "devices"
    return f"; at renewal they could replace {middle} {noun} ({ends})"


def _amount(price: SummedPrice) -> str:
    if price.usd is None or price.low is None or price.high is None:
        return "no sum"
    amount, interval = number_format.yearly_usd(price.usd, price.low, price.high)
    if price.low == price.high == 0:
        return "no cash a year"
    if price.low < 0 < price.high:
        return f"no detectable change in cost ({interval} USD a year)"
    if not price.is_detectable:
        return f"from {interval} USD a year"
    return f"{'+' if price.usd > 0 else '-'}{amount} a year ({interval})"


def _share(price: SummedPrice) -> str:
    count = len(price.workloads)
    left_out = f", {len(price.left_out)} more without a price" if price.left_out else ""
    return f", {number_format.quantity(count, 'workload')}{left_out}"


def _why(evaluation: PolicyEvaluation) -> str:
    price, limit = evaluation.price, evaluation.limit_usd
    parts = [_amount(price)] if price is not None and price.usd is not None else []
    match evaluation.outcome:
        case PolicyOutcome.FAILS if limit is not None:
            parts.append(f"the whole interval is above the limit of {_limit(limit)}")
        case PolicyOutcome.NEEDS_APPROVAL | PolicyOutcome.APPROVED if (
            limit is not None and price and price.low is not None
        ):
            reach = "the whole" if price.low > limit else "a part of the"
            parts.append(f"{reach} interval is above the limit of {_limit(limit)}")
        case PolicyOutcome.PASSES if not parts:
            parts.append("none of its workloads changed")
        case (
            PolicyOutcome.FAILS
            | PolicyOutcome.NEEDS_APPROVAL
            | PolicyOutcome.APPROVED
            | PolicyOutcome.PASSES
        ):
            pass
    return "; ".join(parts)


def _command(evaluation: PolicyEvaluation, head: str) -> str:
    """Return the comment that approves a policy's request, "" without approvers."""
    if evaluation.outcome is not PolicyOutcome.NEEDS_APPROVAL or not (
        evaluation.approvers and head
    ):
        return ""
    high = Decimal(0) if evaluation.price is None else evaluation.price.high or Decimal(0)
    usd = max(high, Decimal(0)).to_integral_value(rounding=ROUND_CEILING)
    unpriced = " unpriced" if evaluation.unpriced else ""
    return (
        f"/perfledger approve {head[:SHOWN_COMMIT]} {int(usd)}{unpriced}: \N{HORIZONTAL ELLIPSIS}"
    )


def _approval(approval: Approval, evaluation: PolicyEvaluation) -> ApprovalTableRow:
    unpriced = " and for workloads without a price" if approval.covers_unpriced else ""
    since, until = approval.approved_at.date(), approval.until
    terms = (
        f"up to {exact(approval.usd_per_year)}{number_format.NBSP}USD a year{unpriced}, "
        f"on {number_format.day(since)}, until {number_format.day(until)}"
    )
    return ApprovalTableRow(
        login=approval.login, reason=approval.reason, terms=terms, objection=evaluation.objection
    )


def _limit(usd: Decimal) -> str:
    # Below a cent, two significant digits are enough.
    is_tiny = 0 < usd < CENT
    amount = digits(usd, 2) if is_tiny else exact(usd.normalize())
    return f"{amount}{number_format.NBSP}USD"


def _queue(queue: QueueEffect) -> str:
    before, after = (
        number_format.share(queue.busy_share),
        number_format.share(queue.busy_share_after[1]),
    )
    absorbed = absorbed_hours_sentence(queue.absorbed_hours)
    text = f"on {queue.where} {absorbed}: busy {before} before, {after} after"
    if queue.wait_s is None or queue.extra_wait_s is None or queue.extra_wait_hours is None:
        return f"{text}; {queue.note}"
    longer = "longer" if queue.extra_wait_s[1] >= 0 else "shorter"
    low, middle, high = sorted(map(abs, queue.extra_wait_s))
    waits = number_format.interval(low, high, number_format.hours)
    hours, ends = _hours(queue.extra_wait_hours)
    return (
        f"{text}; a job waits about {number_format.hours(middle)} ({waits}) {longer} than the "
        f"{number_format.hours(queue.wait_s)} before, {hours} hours a year ({ends}) over all jobs; "
        "an M/M/c estimate: gang-scheduled jobs wait longer"
    )


def _hours(hours: Interval) -> tuple[str, str]:
    """Return hours and their interval without signs: the words around them give the direction."""
    low, middle, high = hours
    if high <= 0:
        low, middle, high = -high, -middle, -low
    return number_format.count(abs(middle)), number_format.interval(low, high, number_format.count)
