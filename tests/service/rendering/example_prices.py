"""Sums, policies' evaluations and queues that example reports are priced with."""

from dataclasses import replace
from decimal import Decimal

from perfledger_cost_models.change_price.cost_policy import PolicyEvaluation
from perfledger_cost_models.quote import QueueEffect, SummedPrice


def summed_price(low, usd, high, **values):
    usual = SummedPrice(
        usd=Decimal(usd),
        low=Decimal(low),
        high=Decimal(high),
        is_detectable=low > 0 or high < 0,
        workloads=("gpt:a", "vit:b"),
    )
    return replace(usual, **values)


def policy_evaluation(outcome, price=None, limit=None, unpriced=(), team="nlp"):
    return PolicyEvaluation(
        team=team,
        outcome=outcome,
        price=price,
        limit_usd=None if limit is None else Decimal(limit),
        unpriced=unpriced,
    )


QUEUE = QueueEffect(
    where="onprem-8xH100",
    absorbed_hours=(4448.0, 5982.0, 7659.0),
    busy_share=0.803,
    busy_share_after=(0.81, 0.813, 0.816),
    wait_s=12_700.0,
    extra_wait_s=(1160.0, 1590.0, 2080.0),
    extra_wait_hours=(1514.0, 2072.0, 2705.0),
)
