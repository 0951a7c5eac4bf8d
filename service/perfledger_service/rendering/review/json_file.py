"""Writes a review as JSON, for programs and for the next quarter's review."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import is_dataclass
from decimal import Decimal
from typing import cast

from perfledger_cost_models.billing.showback import CostAllocation
from perfledger_cost_models.money import CENT, to_decimal
from perfledger_cost_models.procurement.decision import OptionOutcome, evaluate_at_modes
from perfledger_cost_models.review.document import (
    DemandSection,
    OptionFacts,
    PerformanceSection,
    Review,
    SupplySection,
    UnknownFigure,
)
from perfledger_cost_models.review.previous_quarter import FORMAT, VERSION
from perfledger_service.rendering.cost.project import PROJECTED_MARK
from perfledger_service.rendering.fleet.forecast import forecasts_record
from perfledger_service.rendering.layout.document import attributes, field_names
from perfledger_service.rendering.layout.writers import Plain, plain_value


def review_json(review: Review) -> str:
    """Return the review as JSON: money as decimal strings in USD, unknown values as objects.

    Such an object has `unknown` (the name of the value), `reason` and `remedy`.
    """
    choice, likely = review.choice, evaluate_at_modes(review.model)
    document = {
        "format": FORMAT,
        "version": VERSION,
        "quarter": review.quarter.name,
        **attributes(review, "made_on", "title", "is_example"),
        "recommendation": attributes(choice.option, "name", "where"),
        "decision": _decision(review),
        "options": [_option(one) for one in review.options],
        "energy_inputs": review.energy,
        "unpriced": review.model.unpriced,
        "demand": _demand(review.demand),
        "supply": _supply(review.supply),
        "shares": [
            {
                **attributes(each, "share", "counts"),
                **attributes(each.range, "low", "mode", "high", "source", "basis", "as_of"),
            }
            for each in review.shares
        ],
        "performance": _performance(review.performance),
        "allocation": _allocation(review.allocation),
        "previous": review.last,
        "expected_quarter": review.expected_quarter,
        "budget": {
            name: each for name, each in _fields(review.budget).items() if name != "expected"
        },
        "risks": review.risks,
        "unknowns": review.unknowns,
        "inputs": [
            {name: value for name, value in _fields(each).items() if name != "source_url"}
            | {"link": each.source_url or None}
            for each in review.model.inputs
        ],
        "why": _why(review),
        "market_remarks": review.market,
        "quarter_forecasts": review.quarter_forecasts,
        "attachments": [attributes(each, "name", "file", "sha256") for each in review.attachments],
        "formulas": [
            _fields(one) | {"value": to_decimal(likely[one.name][0])} for one in review.model.lines
        ],
        **attributes(review, "sources", "seed", "draws"),
    }
    return json.dumps(_json_value(document), indent=2, allow_nan=False) + "\n"


def _decision(review: Review) -> dict[str, object]:
    """Return the first page: the recommendation, its confidence and what would change it."""
    choice, decision = review.choice, review.decision
    return {
        "is_change": review.is_change,
        "is_clear": decision.is_clear,
        "best_mean": decision.of(decision.best_mean).option.name,
        "chance_best": choice.chance_best,
        "chance_cheaper_than_today": choice.chance_cheaper,
        "saving_usd": _band(decision.saving),
        "regret_mean_usd": decision.regret_mean,
        "regret_p95_usd": decision.regret_p95,
        "regret_if_not_best_usd": decision.regret_if_not_best,
        "prices_valid_until": review.expires,
        "prices_expired": review.expired,
        "stale_prices_allowed": review.stale,
        "switches": [
            {
                "input": one.input.name,
                "mode": one.input.mode,
                "value": one.value,
                "alternative": one.alternative,
            }
            for one in decision.switches
        ],
        "tornado": [
            {"input": one.input.name, "saving_at_low": one.at_low, "saving_at_high": one.at_high}
            for one in decision.swings
        ],
    }


def _why(review: Review) -> dict[str, object]:
    """Return the sweeps of sizes, the ladder of terms, and how commitments perform."""
    ladder, metrics = review.ladder, review.commitments
    return {
        "sweeps": [
            {"option": each.option.name, "best_devices": each.best.devices, "sizes": each.sizes}
            for each in review.sweeps
        ],
        "ladder": None
        if ladder is None
        else {
            "long": ladder.long.name,
            "short": ladder.short.name,
            **attributes(ladder, "long_devices", "short_devices", "npv", "npv_mean"),
        },
        "commitments": metrics
        if isinstance(metrics, UnknownFigure)
        else _fields(metrics) | attributes(metrics, "coverage", "utilization", "savings_rate"),
    }


def _supply(supply: SupplySection) -> dict[str, object]:
    """Return the supply, and how reliable the replays' shares of devices in use are."""
    policies = supply.policies
    if isinstance(policies, UnknownFigure):
        return _fields(supply)
    return _fields(supply) | {"policies": _fields(policies) | attributes(policies, "device_use")}


def _option(facts: OptionFacts) -> dict[str, object]:
    outcome, option = facts.outcome, facts.outcome.option
    return {
        **attributes(option, "name", "where"),
        "purchase_mode": option.mode,
        **attributes(option, "accelerator", "devices"),
        "lead_time": option.lead_time or None,
        "note": option.note,
        **_figures(outcome),
        "break_even_use": facts.break_even,
        "lock_in_months": facts.lock_in_months,
        "owed_after_a_year_usd": facts.owed_usd,
        "resale_usd": facts.resale,
        "energy_and_carbon": facts.carbon,
        **attributes(facts, "return_per_year", "payback_years"),
        "price_valid_until": facts.expires,
        "usd_per_hour_by_use": facts.curve,
    }


def _figures(outcome: OptionOutcome) -> dict[str, object]:
    return {
        "paid_usd": outcome.paid,
        "paid_sum_usd": sum((each.quantize(CENT) for each in outcome.paid), Decimal(0)),
        "npv_usd": outcome.npv,
        "npv_band_usd": _band(outcome.npv_band),
        "npv_mean_usd": outcome.npv_mean,
        "usd_per_hour": outcome.hour,
        "usd_per_hour_band": outcome.hour_band and _band(outcome.hour_band),
        "chance_best": outcome.chance_best,
        "chance_cheaper_than_today": outcome.chance_cheaper,
    }


def _band(band: tuple[Decimal, Decimal, Decimal]) -> Mapping[str, Decimal]:
    return dict(zip(("p5", "p50", "p95"), band, strict=True))


def _demand(demand: DemandSection) -> object:
    """Return the demand, with the forecast as in `perfledger fleet forecast`."""
    if isinstance(demand.forecast, UnknownFigure):
        return demand
    return _fields(demand) | {"forecast": forecasts_record(demand.forecast)}


def _performance(performance: PerformanceSection) -> object:
    """Return the measured figures and, separately, the projected ones, which are marked as such."""
    if isinstance(performance.projection, UnknownFigure):
        return performance
    marked = [{"provenance": PROJECTED_MARK, **_fields(one)} for one in performance.projection]
    return _fields(performance) | {"projection": marked}


def _allocation(allocation: CostAllocation | UnknownFigure) -> object:
    """Return the allocation, including the hours by team of its first version."""
    if isinstance(allocation, UnknownFigure):
        return allocation
    hours = [(row.team, row.hours) for row in allocation.by_team()]
    return _fields(allocation) | {"hours": hours}


def _fields(value: object) -> dict[str, object]:
    return attributes(value, *field_names(type(value)))


def _json_value(value: object) -> Plain:
    """Return a value for JSON; unknown values are objects with a reason."""
    match value:
        case UnknownFigure():
            return {"unknown": value.name, "reason": value.reason, "remedy": value.remedy}
        case dict():
            items = cast("Mapping[str, object]", value).items()
            return {key: _json_value(each) for key, each in items}
        case tuple() | list():
            return [_json_value(each) for each in cast("Sequence[object]", value)]
        case _ if is_dataclass(value):
            return _json_value(_fields(value))
        case _:
            return plain_value(value)
