"""Computes the next quarter's budget: what is held, and the rest by what is signed when.

Until the recommended option can be signed, hours beyond the supply are bought as today. From then
on the option costs what its contract requires, by the model's own formulas for its first year, at
the most likely inputs. A one-off payment is spread over its term, as in a bill's effective cost, so
that the next bill can be compared with the budget; it is also stated separately.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from decimal import Decimal

import numpy as np

from perfledger.time_units import DAYS_PER_YEAR, HOURS_PER_YEAR, MONTHS_PER_YEAR
from perfledger_cost_models.arrays import FloatArray
from perfledger_cost_models.billing.budget_variance import ExpectedQuarter
from perfledger_cost_models.forecasting.calendar_periods import PeriodLength
from perfledger_cost_models.forecasting.forecast import MIDDLE, ForecastQuantity, Forecasts
from perfledger_cost_models.formula import value_of
from perfledger_cost_models.money import to_decimal
from perfledger_cost_models.procurement.cost_model import (
    COMMITMENT_UTILIZATION,
    CostModel,
    PurchaseMode,
    PurchaseOption,
)
from perfledger_cost_models.procurement.decision import evaluate_at_modes
from perfledger_cost_models.procurement.owned_supply import SupplyYears
from perfledger_cost_models.review.document import QuarterBudget, UnknownFigure
from perfledger_cost_models.review.quarter import MONTHS, Quarter

NO_COST = "the yearly cost of a committed supply entry is unknown: add its usd_per_year"


@dataclass(frozen=True, slots=True)
class _Span:
    """Days of the quarter, from the first up to but excluding the last."""

    start: date
    end: date

    @property
    def of_year(self) -> Decimal:
        """Return its days as a share of a year."""
        return Decimal((self.end - self.start).days) / DAYS_PER_YEAR


def quarter_budget(
    quarter: Quarter,
    model: CostModel,
    choice: PurchaseOption,
    holdings: Sequence[SupplyYears],
    *,
    made_on: date,
    forecast: Forecasts | UnknownFigure,
) -> QuarterBudget:
    """Return the budget of the quarter after `quarter`.

    The option can be signed on `made_on`, or the quarter's first day if later; servers do not
    arrive within the quarter, and today's option needs no signature. The cost is None if that of a
    committed supply entry is unknown.
    """
    first, end = quarter.after.first, quarter.after.after.first
    signed_on = max(made_on, first)
    is_signed = choice.mode is not PurchaseMode.OWNED and choice != model.keep
    start = min(signed_on, end) if is_signed else end
    before, after = _Span(first, start), _Span(start, end)
    likely = evaluate_at_modes(model)
    held_usd = _held_usd(holdings, _Span(first, end))
    needs = [_need(likely, holdings, span, year=first) for span in (before, after)]
    rate = to_decimal(likely[model.keep.rate][0])
    usd_before, usd_after = needs[0] * rate, _usd(model, choice, needs[1], after)
    hours = to_decimal(likely["hours_1"][0]) * _Span(first, end).of_year
    expected = ExpectedQuarter(
        quarter=quarter.after.name,
        hours=hours,
        usd=None if held_usd is None else held_usd + usd_before + usd_after,
        reason=NO_COST if held_usd is None else "",
    )
    due = Decimal(0) if signed_on >= end else to_decimal(likely[choice.paid[0]][0])
    return QuarterBudget(
        expected=expected,
        held_usd=held_usd,
        signed_on=start,
        hours_before=needs[0],
        usd_before=usd_before,
        rate_before=rate,
        hours_after=needs[1],
        usd_after=usd_after,
        due_once_usd=due,
        as_today_usd=None if held_usd is None else held_usd + (needs[0] + needs[1]) * rate,
        forecast_usd=_forecast_usd(forecast, quarter.after),
    )


def _held_usd(holdings: Sequence[SupplyYears], span: _Span) -> Decimal | None:
    """Return what committed supply costs in a span; None if an entry's cost is unknown."""
    total = Decimal(0)
    for one in holdings:
        share = Decimal(0) if one.is_owned else one.share_of(span.start, span.end)
        if share and one.usd_per_year is None:
            return None
        total += (one.usd_per_year or Decimal(0)) * share * span.of_year
    return total


def _need(
    likely: dict[str, FloatArray], holdings: Sequence[SupplyYears], span: _Span, *, year: date
) -> Decimal:
    """Return the hours beyond what is held in a span."""
    if not span.of_year:
        return Decimal(0)
    devices = sum(
        (one.equivalents_of(span.start, span.end, year=year) for one in holdings), Decimal(0)
    )
    carried = devices * HOURS_PER_YEAR * to_decimal(likely[COMMITMENT_UTILIZATION][0])
    return max(Decimal(0), to_decimal(likely["hours_1"][0]) - carried) * span.of_year


def _usd(model: CostModel, option: PurchaseOption, need: Decimal, span: _Span) -> Decimal:
    """Return what an option costs in a span, with one-off payments spread over their term."""
    if not span.of_year:
        return Decimal(0)
    values = evaluate_at_modes(model) | {"need_1": np.array([float(need / span.of_year)])}
    for line in model.lines:
        if line.name.startswith(f"{option.key}_"):
            values[line.name] = value_of(line.formula, values)
    at_end = option.paid_at_end.get(1)
    yearly = values[option.paid[1]][0] - (0.0 if at_end is None else values[at_end][0])
    once = values[option.paid[0]][0] / option.years if option.years else 0.0
    return to_decimal(yearly + once) * span.of_year


def _forecast_usd(forecast: Forecasts | UnknownFigure, quarter: Quarter) -> Decimal | None:
    """Return the median spend of the quarter's months by past usage; None without these months."""
    if isinstance(forecast, UnknownFigure):
        return None
    for each in forecast.forecasts:
        start = each.calendar.first
        months = MONTHS_PER_YEAR * (quarter.first.year - start.year)
        place = months + quarter.first.month - start.month - len(each.past)
        is_monthly = each.calendar.step is PeriodLength.MONTH
        periods = each.periods[place : place + MONTHS] if is_monthly and place >= 0 else ()
        if each.quantity is ForecastQuantity.USD and len(periods) == MONTHS:
            return to_decimal(sum(period[MIDDLE] for period in periods))
    return None
