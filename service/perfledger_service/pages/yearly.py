"""Turns what a pull request costs in all, its queues and the policies into rows of words.

Workloads and teams are not yet escaped: each template does that in its own way.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import ROUND_CEILING, Decimal

from perfledger_cost_models.policy import Approval, PolicyRuling, Ruling
from perfledger_cost_models.quote import Interval, QueueEffect, SummedPrice
from perfledger_service.pages import figures

SHOWN_COMMIT = 12
_CENT = Decimal("0.01")


@dataclass(frozen=True, slots=True, kw_only=True)
class YearlyTotal:
    """What all changes cost a year together; `text` is the sentence after "Together"."""

    text: str
    missing: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ApprovalRow:
    """What somebody entitled to it said; `objection` is why it does not count, "" where it does."""

    login: str
    reason: str
    terms: str  # up to how much, said when, until when
    objection: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RulingRow:
    """What a policy says, as it is shown."""

    team: str
    verb: str
    why: str
    unpriced: tuple[str, ...]
    tone: str  # of the page's colours
    approvers: tuple[str, ...] = ()  # who may approve it; only of what asks
    command: str = ""  # with which they do, on the pull request
    approval: ApprovalRow | None = None


def yearly_total(total: SummedPrice | None, prices: int) -> YearlyTotal | None:
    """Return the words of the sum of so many prices; None where it would repeat the only one."""
    if total is None or prices == 1 or not total.workloads:
        return None
    return YearlyTotal(text=f"{_amount(total)}{_share(total)}", missing=total.missing)


def queue_sentences(queues: Sequence[QueueEffect]) -> tuple[str, ...]:
    """Return what happens to the waits for devices that are paid for, where anything does."""
    return tuple(
        _queue(queue)
        for queue in queues
        if queue.absorbed_hours[0] > 0 or queue.absorbed_hours[-1] < 0
    )


def ruling_rows(rulings: Sequence[PolicyRuling], *, head: str = "") -> tuple[RulingRow, ...]:
    """Return the policies' rulings, the strictest first; `head` is what could be approved."""
    order = (Ruling.FAILS, Ruling.ASKS, Ruling.APPROVED, Ruling.PASSES)
    tones = dict(zip(order, ("regressed", "undecided", "warning", "unchanged"), strict=True))
    return tuple(
        RulingRow(
            team=ruling.team,
            verb=str(ruling.ruling),
            why=_why(ruling),
            unpriced=ruling.unpriced,
            tone=tones[ruling.ruling],
            approvers=ruling.approvers if ruling.ruling is Ruling.ASKS else (),
            command=_command(ruling, head),
            approval=None if ruling.approval is None else _approval(ruling.approval, ruling),
        )
        for ruling in sorted(rulings, key=lambda each: order.index(each.ruling))
    )


def absorbed(hours: Interval) -> str:
    """Return what idle devices take, or get back, of a change."""
    what, ends = _hours(hours)
    if hours[1] < 0:
        return f"{what} device-hours a year ({ends}) are freed on devices that are paid for anyway"
    return f"idle devices that are paid for take {what} device-hours a year ({ends})"


def _amount(price: SummedPrice) -> str:
    if price.usd is None or price.low is None or price.high is None:
        return "no sum"
    amount, interval = figures.yearly_usd(price.usd, price.low, price.high)
    if price.low == price.high == 0:
        return "no cash a year"
    if price.low < 0 < price.high:
        return f"no detectable change in cost, somewhere from {interval} USD a year"
    if not price.is_detectable:
        return f"from {interval} USD a year"
    return f"{'+' if price.usd > 0 else '-'}{amount} a year ({interval})"


def _share(price: SummedPrice) -> str:
    count = len(price.workloads)
    left_out = f", {len(price.left_out)} without a price left out" if price.left_out else ""
    return f", {count} workload{'s' * (count != 1)}{left_out}"


def _why(ruling: PolicyRuling) -> str:
    price, limit = ruling.price, ruling.limit_usd
    parts = [_amount(price)] if price is not None and price.usd is not None else []
    match ruling.ruling:
        case Ruling.FAILS if limit is not None:
            parts.append(f"all of the interval is above the limit of {_limit(limit)}")
        case Ruling.ASKS | Ruling.APPROVED if limit is not None and price and price.low is not None:
            reach = "all" if price.low > limit else "a part"
            parts.append(f"{reach} of the interval is above the limit of {_limit(limit)}")
        case Ruling.PASSES if not parts:
            parts.append("nothing of its workloads changed")
        case Ruling.FAILS | Ruling.ASKS | Ruling.APPROVED | Ruling.PASSES:
            pass
    return "; ".join(parts)


def _command(ruling: PolicyRuling, head: str) -> str:
    """Return the comment that would approve what asks, "" where nobody could write it."""
    if ruling.ruling is not Ruling.ASKS or not (ruling.approvers and head):
        return ""
    high = Decimal(0) if ruling.price is None else ruling.price.high or Decimal(0)
    usd = max(high, Decimal(0)).to_integral_value(rounding=ROUND_CEILING)
    unpriced = " unpriced" if ruling.unpriced else ""
    return f"/perfledger approve {head[:SHOWN_COMMIT]} {usd:f}{unpriced}: the reason"


def _approval(found: Approval, ruling: PolicyRuling) -> ApprovalRow:
    unpriced = " and for what has no price" if found.covers_unpriced else ""
    terms = (
        f"up to {found.usd_per_year:,f}{figures.NBSP}USD a year{unpriced}, on "
        f"{figures.day(found.said_at.date())}, until {figures.day(found.until)}"
    )
    return ApprovalRow(
        login=found.login, reason=found.reason, terms=terms, objection=ruling.objection
    )


def _limit(usd: Decimal) -> str:
    # Of less than a cent two digits are enough, however small a limit somebody writes.
    shown = f"{usd:.2g}" if 0 < usd < _CENT else f"{usd.normalize():,f}"
    return f"{shown}{figures.NBSP}USD"


def _queue(queue: QueueEffect) -> str:
    before, after = figures.share(queue.busy_share), figures.share(queue.busy_share_after[1])
    text = f"on {queue.where} {absorbed(queue.absorbed_hours)}: busy {before} before, {after} after"
    if queue.wait_s is None or queue.extra_wait_s is None or queue.extra_wait_hours is None:
        return f"{text}; {queue.note}"
    longer = "longer" if queue.extra_wait_s[1] >= 0 else "shorter"
    low, middle, high = sorted(map(abs, queue.extra_wait_s))
    waits = figures.TO.join(figures.hours(end) for end in (low, high))
    hours, ends = _hours(queue.extra_wait_hours)
    return (
        f"{text}; a job waits about {figures.hours(middle)} ({waits}) {longer} than the "
        f"{figures.hours(queue.wait_s)} before, {hours} hours a year ({ends}) over all jobs; "
        "a screening by M/M/c, jobs that start in gangs wait longer"
    )


def _hours(hours: Interval) -> tuple[str, str]:
    """Return hours and their ends without signs: the words around them say which way."""
    low, middle, high = hours
    if high <= 0:
        low, middle, high = -high, -middle, -low
    return figures.count(abs(middle)), figures.TO.join(map(figures.count, (low, high)))
