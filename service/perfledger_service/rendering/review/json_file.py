"""Writes a review as JSON, for programs and for the next quarter's review."""

import json
from collections.abc import Mapping
from dataclasses import asdict
from datetime import date
from decimal import Decimal
from typing import cast

from perfledger_cost_models.billing.showback import CostAllocation
from perfledger_cost_models.money import to_decimal
from perfledger_cost_models.procurement.decision import OptionOutcome, evaluate_at_modes
from perfledger_cost_models.review.previous_review import FORMAT, VERSION
from perfledger_cost_models.review.review_document import (
    DemandSection,
    OptionFacts,
    PerformanceSection,
    Review,
    UnknownFigure,
)
from perfledger_service.rendering.cost.project import PROJECTED_MARK
from perfledger_service.rendering.fleet.forecast import forecasts_record
from perfledger_service.rendering.review.rows import paid_cents


def review_json(review: Review) -> str:
    """Return the review as JSON: money as decimal strings in USD, what is not known as an object.

    That object has `unknown` (what is not known), `reason` and `remedy`.
    """
    choice, likely = review.choice, evaluate_at_modes(review.model)
    document = {
        "format": FORMAT,
        "version": VERSION,
        "quarter": review.quarter.name,
        "made_on": review.made_on,
        "title": review.title,
        "is_example": review.is_example,
        "taken": {"name": choice.option.name, "where": choice.option.where},
        "decision": _decision(review),
        "options": [_option(one) for one in review.options],
        "unpriced": [asdict(one) for one in review.model.unpriced],
        "demand": _demand(review.demand),
        "supply": _json_value(review.supply),
        "performance": _performance(review.performance),
        "allocation": _allocation(review.allocation),
        "last": _json_value(review.last),
        "outlook": asdict(review.expected_quarter),
        "risks": [asdict(one) for one in review.risks],
        "unknowns": [_json_value(one) for one in review.unknowns],
        "inputs": [asdict(one) for one in review.model.inputs],
        "lines": [
            asdict(one) | {"value": to_decimal(likely[one.name][0])} for one in review.model.lines
        ],
        "sources": [asdict(one) for one in review.sources],
        "seed": review.seed,
        "draws": review.draws,
    }
    return json.dumps(document, indent=2, allow_nan=False, default=_text) + "\n"


def _decision(review: Review) -> dict[str, object]:
    """Return the first page: what is recommended, how sure that is, what would change it."""
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
        "prices_keep_until": review.expires,
        "prices_expired": review.expired,
        "stale_prices_allowed": review.stale,
        "switches": [
            {
                "input": one.input.name,
                "mode": one.input.mode,
                "value": one.value,
                "to": one.alternative,
            }
            for one in decision.switches
        ],
        "tornado": [
            {"input": one.input.name, "saving_at_low": one.at_low, "saving_at_high": one.at_high}
            for one in decision.swings
        ],
    }


def _option(facts: OptionFacts) -> dict[str, object]:
    outcome, option = facts.outcome, facts.outcome.option
    return {
        "name": option.name,
        "where": option.where,
        "kind": option.mode,
        "accelerator": option.accelerator,
        "devices": option.devices,
        "lead_time": option.lead_time or None,
        "note": option.note,
        **_figures(outcome),
        "break_even_use": None if facts.break_even is None else asdict(facts.break_even),
        "lock_in_months": facts.lock_in_months,
        "owed_after_a_year_usd": facts.owed_usd,
        "resale_usd": facts.resale,
        "energy_and_carbon": _json_value(facts.carbon),
        "return_per_year": facts.return_per_year,
        "payback_years": facts.payback_years,
        "price_keeps_until": facts.expires,
        "usd_per_hour_by_use": facts.curve,
    }


def _figures(outcome: OptionOutcome) -> dict[str, object]:
    band = outcome.hour_band
    return {
        "paid_usd": outcome.paid,
        "paid_sum_usd": sum(paid_cents(outcome), Decimal(0)),
        "npv_usd": outcome.npv,
        "npv_band_usd": _band(outcome.npv_band),
        "npv_mean_usd": outcome.npv_mean,
        "usd_per_hour": outcome.hour,
        "usd_per_hour_band": None if band is None else _band(band),
        "chance_best": outcome.chance_best,
        "chance_cheaper_than_today": outcome.chance_cheaper,
    }


def _band(band: tuple[Decimal, Decimal, Decimal]) -> Mapping[str, Decimal]:
    return dict(zip(("p5", "p50", "p95"), band, strict=True))


def _demand(demand: DemandSection) -> object:
    """Return the demand, its forecast as `perfledger fleet forecast` writes it."""
    record = cast("dict[str, object]", _json_value(demand))
    if isinstance(demand.forecast, UnknownFigure):
        return record
    return record | {"forecast": forecasts_record(demand.forecast)}


def _performance(performance: PerformanceSection) -> object:
    """Return what was measured, and apart from it what is projected, each marked as that."""
    record = cast("dict[str, object]", _json_value(performance))
    if isinstance(performance.projection, UnknownFigure):
        return record
    marked = [
        {"provenance": PROJECTED_MARK, **cast("dict[str, object]", _json_value(one))}
        for one in performance.projection
    ]
    return record | {"projection": marked}


def _allocation(allocation: CostAllocation | UnknownFigure) -> object:
    """Return the allocation with its first version's hours by team."""
    if isinstance(allocation, UnknownFigure):
        return _json_value(allocation)
    record = cast("dict[str, object]", _json_value(allocation))
    return record | {"hours": [(row.team, row.hours) for row in allocation.by_team()]}


def _json_value(value: object) -> object:
    """Return a section as plain values, and what is not known as an object that says so."""
    match value:
        case UnknownFigure():
            return {"unknown": value.name, "reason": value.reason, "remedy": value.remedy}
        case tuple():
            return [_json_value(each) for each in cast("tuple[object, ...]", value)]
        case _ if hasattr(value, "__dataclass_fields__"):
            names: Mapping[str, object] = getattr(value, "__dataclass_fields__")  # noqa: B009
            return {name: _json_value(getattr(value, name)) for name in names}
        case _:
            return value


def _text(value: object) -> str:
    match value:
        case Decimal():
            return f"{value:f}"
        case date():
            return value.isoformat()
        case _:
            msg = f"{type(value)} has no JSON"
            raise TypeError(msg)
