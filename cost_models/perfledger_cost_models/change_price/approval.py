"""Decides whether an approval of a change's cost counts under a policy."""

from collections.abc import Sequence
from dataclasses import replace

from perfledger.bundle import CostPolicy
from perfledger.rounding import integer
from perfledger_cost_models.change_price.cost_policy import (
    Approval,
    PolicyEvaluation,
    PolicyOutcome,
)


def is_entitled(policy: CostPolicy, login: str) -> bool:
    """Return whether a login is an approver of a policy, ignoring case."""
    return login.lower() in {name.lower() for name in policy.approvers}


def apply_approvals(
    evaluation: PolicyEvaluation, policy: CostPolicy, approvals: Sequence[Approval]
) -> PolicyEvaluation:
    """Return a policy's evaluation of a commit after its approvals, which are sorted oldest first.

    Only a policy's approvers can approve, and only a change that needs approval. The result has the
    newest approval that counts, or, if none does, the newest one with the objection to it.
    """
    if evaluation.outcome is not PolicyOutcome.NEEDS_APPROVAL:
        return evaluation
    latest = evaluation
    for approval in reversed([one for one in approvals if is_entitled(policy, one.login)]):
        objection = _objection(policy, evaluation, approval)
        if not objection:
            return replace(evaluation, outcome=PolicyOutcome.APPROVED, approval=approval)
        if latest.approval is None:
            latest = replace(evaluation, approval=approval, objection=objection)
    return latest


def _objection(policy: CostPolicy, evaluation: PolicyEvaluation, approval: Approval) -> str:
    """Return why an approval does not count, or ""."""
    if approval.is_author and not policy.may_author_approve:
        return "this policy does not let authors approve their own changes"
    if approval.is_over:
        return f"it expired on {approval.until}"
    high = None if evaluation.price is None else evaluation.price.high
    if high is not None and high > approval.usd_per_year:
        return f"the change may cost up to {integer(high)} USD a year"
    if evaluation.unpriced and not approval.covers_unpriced:
        return "it does not cover workloads without a price"
    return ""
