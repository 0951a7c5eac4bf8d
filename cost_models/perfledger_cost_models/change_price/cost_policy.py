"""Evaluates a team's cost policy on the yearly cost of its changes."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from enum import StrEnum

from perfledger.bundle import CostPolicy
from perfledger.registration.workload_pattern import is_match
from perfledger_cost_models.money import to_decimal
from perfledger_cost_models.quote import SummedPrice


class PolicyOutcome(StrEnum):
    """The outcome of a policy on a change."""

    PASSES = "passes"
    NEEDS_APPROVAL = "asks for approval"
    APPROVED = "has its approval"
    FAILS = "fails"


@dataclass(frozen=True, slots=True, kw_only=True)
class Approval:
    """A person's approval of one commit's yearly cost, with a limit, a last day and a reason.

    `is_over` is true once its last day has passed.
    """

    login: str
    is_author: bool  # of the change
    usd_per_year: Decimal
    covers_unpriced: bool  # also approves workloads without a price
    reason: str
    approved_at: datetime
    until: date  # the last day
    is_over: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyEvaluation:
    """A policy's outcome on a change, with its grounds.

    `limit_usd` is the yearly limit that is, or may be, exceeded; None if none is. The policy's
    limits are `ask_above_usd` and `fail_above_usd`. `unpriced` are the workloads whose missing
    price needs approval. `objection` says why `approval` does not count; "" if it does.
    """

    team: str
    outcome: PolicyOutcome
    price: SummedPrice | None
    limit_usd: Decimal | None = None
    ask_above_usd: Decimal | None = None
    fail_above_usd: Decimal | None = None
    unpriced: tuple[str, ...] = ()
    approvers: tuple[str, ...] = ()
    approval: Approval | None = None
    objection: str = ""


def evaluate_policy(
    policy: CostPolicy, price: SummedPrice | None, *, unmeasured: Sequence[str] = ()
) -> PolicyEvaluation:
    """Evaluate a policy on the interval of the joint price of a team's changes.

    It fails if the low end exceeds `fail_above`. It needs approval if only the high end does, if
    the high end exceeds `ask_above`, or if workloads were not measured or have no price. Otherwise
    it passes.
    """
    missing = () if price is None else price.missing
    silent = tuple(name for name in unmeasured if _is_of(policy, name))
    unpriced = tuple(dict.fromkeys((*missing, *silent)))
    fail, ask = _usd(policy.fail_above_usd_per_year), _usd(policy.ask_above_usd_per_year)
    outcome, limit = PolicyOutcome.PASSES, None
    if price is not None and price.low is not None and price.high is not None:
        crossed = [each for each in (ask, fail) if each is not None and price.high > each]
        if fail is not None and price.low > fail:
            outcome, limit = PolicyOutcome.FAILS, fail
        elif crossed:
            outcome, limit = PolicyOutcome.NEEDS_APPROVAL, max(crossed)
    if outcome is PolicyOutcome.PASSES and unpriced:
        outcome = PolicyOutcome.NEEDS_APPROVAL
    return PolicyEvaluation(
        team=policy.team,
        outcome=outcome,
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
