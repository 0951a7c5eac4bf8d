"""Computes coverage, utilization and effective savings rate of commitments from the bill.

FinOps Foundation, "Rate optimization": coverage is the committed share of usage, utilization the
used share of committed cost (FOCUS: CommitmentDiscountStatus), and the effective savings rate
1 - effective cost / cost at on-demand prices, with unused commitments in the effective cost.
"""

from collections.abc import Sequence
from datetime import date
from decimal import Decimal

from perfledger.time_units import HOURS_PER_DAY, HOURS_PER_YEAR
from perfledger_cost_models.billing.focus import Bill, BilledUsage
from perfledger_cost_models.price_feeds.rows import known_instances
from perfledger_cost_models.prices.price_sheet import PriceMissingError, PriceSheet
from perfledger_cost_models.procurement.cost_model import CostModel, PurchaseMode
from perfledger_cost_models.procurement.owned_supply import SupplyYears
from perfledger_cost_models.review.demand_and_spend import BILL_REMEDY, NO_BILL
from perfledger_cost_models.review.document import (
    CommitmentMetrics,
    MarketRemark,
    UnknownFigure,
)
from perfledger_cost_models.tco.purchase_modes import is_committed

NAME = "coverage, utilization and effective savings rate of commitments"


def commitment_metrics(
    bill: Bill | None, sheet: PriceSheet, *, accelerator: str
) -> CommitmentMetrics | UnknownFigure:
    """Return the metrics of an accelerator's usage; unknown without usage or its prices."""
    if bill is None:
        return UnknownFigure(name=NAME, reason=NO_BILL, remedy=BILL_REMEDY)
    usage = [one for one in bill.usage if _accelerator(one) == accelerator]
    unused = bill.unused.get(accelerator, Decimal(0))
    if not (usage or unused):
        reason = f"the bill has no usage of {accelerator}"
        return UnknownFigure(name=NAME, reason=reason, remedy=BILL_REMEDY)
    try:
        prices = {_on_demand(one): sheet.find(_on_demand(one)) for one in usage}
    except PriceMissingError as error:
        remedy = "its on-demand price in --overrides"
        return UnknownFigure(name=NAME, reason=str(error), remedy=remedy)
    committed = [one for one in usage if is_committed(one.model)]
    return CommitmentMetrics(
        accelerator=accelerator,
        hours=_hours(usage),
        committed_hours=_hours(committed),
        committed_usd=sum((one.effective_usd for one in committed), Decimal(0)),
        unused_usd=unused,
        effective_usd=sum((one.effective_usd for one in usage), unused),
        on_demand_usd=sum(
            (one.instance_hours * prices[_on_demand(one)].usd_per_hour for one in usage),
            Decimal(0),
        ),
        prices=tuple(dict.fromkeys(prices.values())),
    )


def market_remarks(
    holdings: Sequence[SupplyYears], model: CostModel, *, today: date
) -> tuple[MarketRemark, ...]:
    """Return the commitments of the model's accelerator that cost more than today's market.

    The market is the cheapest of the model's commitments and of today's option.
    """
    rates = {each.name: each.mode for each in model.inputs}
    offers = [
        option
        for option in model.options
        if option.accelerator == model.accelerator
        and (option.mode is PurchaseMode.COMMITMENT or option == model.keep)
    ]
    market = min(offers, key=lambda option: rates[option.rate])
    remarks: list[MarketRemark] = []
    for one in holdings:
        if one.is_owned or one.usd_per_year is None or one.accelerator != model.accelerator:
            continue
        usd = one.usd_per_year / (one.devices * HOURS_PER_YEAR)
        days = (one.until - max(today, one.since)).days + 1
        if usd > rates[market.rate] and days > 0:
            above = usd - rates[market.rate]
            remarks.append(
                MarketRemark(
                    name=one.name,
                    usd_per_hour=usd,
                    market=market.name,
                    market_usd=rates[market.rate],
                    on_demand_usd=rates[model.keep.rate],
                    until=one.until,
                    usd_above=above * one.devices * days * HOURS_PER_DAY,
                )
            )
    return tuple(remarks)


def _accelerator(usage: BilledUsage) -> str:
    return known_instances(usage.provider)[usage.sku].accelerator


def _hours(usages: Sequence[BilledUsage]) -> Decimal:
    """Return accelerator-hours."""
    return sum(
        (one.instance_hours * known_instances(one.provider)[one.sku].count for one in usages),
        Decimal(0),
    )


def _on_demand(usage: BilledUsage) -> str:
    region = f"@{usage.region}" if usage.region else ""
    return f"{usage.provider}:{usage.sku}/on_demand{region}"
