"""Holds what changes cost a year."""

from dataclasses import dataclass

from perfledger_cost_models.change.cost_policy import PolicyEvaluation
from perfledger_cost_models.quote import PricedChanges


@dataclass(frozen=True, slots=True)
class ChangePriceView:
    """Yearly cost of changes, and the policies' evaluations."""

    prices: PricedChanges
    policy_evaluations: tuple[PolicyEvaluation, ...]
