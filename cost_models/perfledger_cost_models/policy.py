"""A team's limits and what changes cost it a year into a ruling: pass, ask a person, or fail."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from enum import StrEnum

from perfledger.bundle import CostPolicy
from perfledger.pattern import is_match
from perfledger_cost_models.money import to_decimal
from perfledger_cost_models.quote import SummedPrice


class Ruling(StrEnum):
    """What a policy says about a change."""

    PASSES = "passes"
    ASKS = "asks for approval"
    APPROVED = "has its approval"
    FAILS = "fails"


@dataclass(frozen=True, slots=True, kw_only=True)
class Approval:
    """What somebody said of one commit: that it may cost up to so much a year, until when and why.

    `is_over` tells whether its last day has passed.
    """

    login: str
    is_author: bool  # of the change
    usd_per_year: Decimal
    covers_unpriced: bool  # what has no price, too
    reason: str
    said_at: datetime
    until: date  # the last day
    is_over: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyRuling:
    """What one policy says, and on what ground.

    `limit_usd` is the limit a year that was crossed, or may have been; None where none was. Those
    that the policy has are `ask_above_usd` and `fail_above_usd`.
    `unpriced` are the workloads for want of whose price somebody is asked, `approvers` those who
    may say yes. `approval` is what one of them said, and `objection` why it does not count, or "".
    """

    team: str
    ruling: Ruling
    price: SummedPrice | None
    limit_usd: Decimal | None = None
    ask_above_usd: Decimal | None = None
    fail_above_usd: Decimal | None = None
    unpriced: tuple[str, ...] = ()
    approvers: tuple[str, ...] = ()
    approval: Approval | None = None
    objection: str = ""


def rule_on(
    policy: CostPolicy, price: SummedPrice | None, *, unmeasured: Sequence[str] = ()
) -> PolicyRuling:
    """Return the ruling on the joint price of a team's changes: on its interval, not on its point.

    It fails when even the low end is above `fail_above`; it asks when only the high end is, or when
    the high end is above `ask_above`. What was not measured or has no price asks: it is never
    green. Nothing of the team's changed or may have: it passes.
    """
    missing = () if price is None else price.missing
    silent = tuple(name for name in unmeasured if _is_of(policy, name))
    unpriced = tuple(dict.fromkeys((*missing, *silent)))
    fail, ask = _usd(policy.fail_above_usd_per_year), _usd(policy.ask_above_usd_per_year)
    ruling, limit = Ruling.PASSES, None
    if price is not None and price.low is not None and price.high is not None:
        crossed = [each for each in (ask, fail) if each is not None and price.high > each]
        if fail is not None and price.low > fail:
            ruling, limit = Ruling.FAILS, fail
        elif crossed:
            ruling, limit = Ruling.ASKS, max(crossed)
    if ruling is Ruling.PASSES and unpriced:
        ruling = Ruling.ASKS
    return PolicyRuling(
        team=policy.team,
        ruling=ruling,
        price=price,
        limit_usd=limit,
        ask_above_usd=ask,
        fail_above_usd=fail,
        unpriced=unpriced,
        approvers=policy.approvers,
    )


def _is_of(policy: CostPolicy, workload: str) -> bool:
    return any(is_match(pattern, workload) for pattern in policy.workloads)


def _usd(limit: float | None) -> Decimal | None:
    return None if limit is None else to_decimal(limit)
