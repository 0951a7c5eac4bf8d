"""A person's approval of what a change costs and a policy that asks into whether it counts."""

from collections.abc import Sequence
from dataclasses import replace

from perfledger.bundle import CostPolicy
from perfledger_cost_models.policy import Approval, PolicyRuling, Ruling


def is_entitled(policy: CostPolicy, login: str) -> bool:
    """Tell whether a policy names somebody; logins are the same whatever their case."""
    return login.lower() in {name.lower() for name in policy.approvers}


def approved(
    ruling: PolicyRuling, policy: CostPolicy, approvals: Sequence[Approval]
) -> PolicyRuling:
    """Return a policy's ruling on a commit after what was said of that commit, oldest first.

    Only what asks can be approved, by those whom the policy names. Of several approvals the newest
    that counts is named; where none does, the newest, with the objection to it.
    """
    if ruling.ruling is not Ruling.ASKS:
        return ruling
    found = ruling
    for approval in reversed([one for one in approvals if is_entitled(policy, one.login)]):
        why = _objection(policy, ruling, approval)
        if not why:
            return replace(ruling, ruling=Ruling.APPROVED, approval=approval)
        if found.approval is None:
            found = replace(ruling, approval=approval, objection=why)
    return found


def _objection(policy: CostPolicy, ruling: PolicyRuling, approval: Approval) -> str:
    """Return why an approval does not count, or ""."""
    if approval.is_author and not policy.may_author_approve:
        return "who wrote a change cannot approve it under this policy"
    if approval.is_over:
        return f"it ended on {approval.until}"
    high = None if ruling.price is None else ruling.price.high
    if high is not None and high > approval.usd_per_year:
        return f"the change may cost up to {high:,.0f} USD a year"
    if ruling.unpriced and not approval.covers_unpriced:
        return "it does not speak of what has no price"
    return ""
