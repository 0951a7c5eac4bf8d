"""Turns a review into JSON: for other programs, and for the next quarter's review."""

import json
from collections.abc import Mapping
from dataclasses import asdict
from datetime import date
from decimal import Decimal
from typing import cast

from perfledger_cost_models.decision import Outcome, at_modes
from perfledger_cost_models.last_review import FORMAT, VERSION
from perfledger_cost_models.money import to_decimal
from perfledger_cost_models.review import Demand, OptionFacts, Performance, Review, Unknown
from perfledger_cost_models.showback import Allocation
from perfledger_service.pages.forecasted import forecasts_document
from perfledger_service.pages.projected import PROJECTED
from perfledger_service.pages.review_rows import paid_cents


def review_json(review: Review) -> str:
    """Return the review as JSON: money as decimal strings in USD, what is not known as an object.

    That object has `unknown`, `why` and `how`: what is not known, why, and how to make it known.
    """
    taken, likely = review.taken, at_modes(review.model)
    document = {
        "format": FORMAT,
        "version": VERSION,
        "quarter": review.quarter.name,
        "made_on": review.made_on,
        "title": review.title,
        "is_example": review.is_example,
        "taken": {"name": taken.way.name, "where": taken.way.where},
        "decision": _decision(review),
        "options": [_option(one) for one in review.options],
        "unpriced": [asdict(one) for one in review.model.unpriced],
        "demand": _demand(review.demand),
        "supply": _plain(review.supply),
        "performance": _performance(review.performance),
        "allocation": _allocation(review.allocation),
        "last": _plain(review.last),
        "outlook": asdict(review.outlook),
        "risks": [asdict(one) for one in review.risks],
        "unknowns": [_plain(one) for one in review.unknowns],
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
    taken, decision = review.taken, review.decision
    return {
        "is_change": review.is_change,
        "is_clear": decision.is_clear,
        "best_mean": decision.of(decision.best_mean).way.name,
        "chance_best": taken.chance_best,
        "chance_cheaper_than_today": taken.chance_cheaper,
        "saving_usd": _band(decision.saving),
        "regret_mean_usd": decision.regret_mean,
        "regret_p95_usd": decision.regret_p95,
        "prices_keep_until": review.expires,
        "prices_expired": review.expired,
        "stale_prices_allowed": review.stale,
        "switches": [
            {"input": one.input.name, "mode": one.input.mode, "value": one.value, "to": one.to}
            for one in decision.switches
        ],
        "tornado": [
            {"input": one.input.name, "saving_at_low": one.at_low, "saving_at_high": one.at_high}
            for one in decision.swings
        ],
    }


def _option(facts: OptionFacts) -> dict[str, object]:
    outcome, way = facts.outcome, facts.outcome.way
    return {
        "name": way.name,
        "where": way.where,
        "kind": way.kind,
        "accelerator": way.accelerator,
        "devices": way.devices,
        "lead_time": way.lead_time or None,
        "note": way.note,
        **_figures(outcome),
        "break_even_use": None if facts.break_even is None else asdict(facts.break_even),
        "lock_in_months": facts.lock_in_months,
        "owed_after_a_year_usd": facts.owed_usd,
        "resale_usd": facts.resale,
        "energy_and_carbon": _plain(facts.carbon),
        "return_per_year": facts.return_per_year,
        "payback_years": facts.payback_years,
        "price_keeps_until": facts.expires,
        "usd_per_hour_by_use": facts.curve,
    }


def _figures(outcome: Outcome) -> dict[str, object]:
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


def _demand(found: Demand) -> object:
    """Return the demand, its forecast as `perfledger cost forecast` writes it."""
    plain = cast("dict[str, object]", _plain(found))
    if isinstance(found.forecast, Unknown):
        return plain
    return plain | {"forecast": forecasts_document(found.forecast)}


def _performance(found: Performance) -> object:
    """Return what was measured, and apart from it what is projected, each marked as that."""
    plain = cast("dict[str, object]", _plain(found))
    if isinstance(found.projection, Unknown):
        return plain
    marked = [
        {"provenance": PROJECTED, **cast("dict[str, object]", _plain(one))}
        for one in found.projection
    ]
    return plain | {"projection": marked}


def _allocation(found: Allocation | Unknown) -> object:
    """Return the allocation with its first version's hours by team."""
    if isinstance(found, Unknown):
        return _plain(found)
    plain = cast("dict[str, object]", _plain(found))
    return plain | {"hours": [(row.team, row.hours) for row in found.by_team()]}


def _plain(value: object) -> object:
    """Return a section as plain values, and what is not known as an object that says so."""
    match value:
        case Unknown():
            return {"unknown": value.what, "why": value.why, "how": value.how}
        case tuple():
            return [_plain(each) for each in cast("tuple[object, ...]", value)]
        case _ if hasattr(value, "__dataclass_fields__"):
            names: Mapping[str, object] = getattr(value, "__dataclass_fields__")  # noqa: B009
            return {name: _plain(getattr(value, name)) for name in names}
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
