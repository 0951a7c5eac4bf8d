"""Holds the yearly cost of changes."""

from dataclasses import dataclass
from datetime import date

from perfledger_cost_models.change_price.cost_policy import PolicyEvaluation
from perfledger_cost_models.quote import ChangePrice, PricedChanges


@dataclass(frozen=True, slots=True)
class ChangePriceView:
    """Yearly cost of changes, and the policies' evaluations."""

    prices: PricedChanges
    policy_evaluations: tuple[PolicyEvaluation, ...]
    is_device_assumed: bool = False  # a ratio without its device is taken as of each entry's own


@dataclass(frozen=True, slots=True, kw_only=True)
class PricedCheck:
    """The yearly prices of the changes of step time that a check found, as of its verdict."""

    upload_id: str
    head_sha: str
    subject: str
    pull_request: int | None
    is_on_branch: bool  # the head is known to be on the default branch
    machine_class: str
    judged_on: date
    prices: tuple[ChangePrice, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class PriceHistory:
    """The newest checks of a project that found a change, newest first."""

    repository: str
    checks: tuple[PricedCheck, ...]
    has_older: bool  # checks that are omitted
