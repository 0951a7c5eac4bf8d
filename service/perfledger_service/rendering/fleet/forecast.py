"""Presents forecasts of hours and spend, with summary sentences."""

from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from datetime import date

from perfledger import rounding
from perfledger_cost_models.forecasting.calendar_periods import PeriodLength
from perfledger_cost_models.forecasting.forecast import (
    HIGH,
    LOW,
    MIDDLE,
    QUANTILES,
    Backtest,
    BudgetDay,
    Forecast,
    ForecastQuantity,
    Forecasts,
)
from perfledger_cost_models.forecasting.outliers import PeriodOutlier
from perfledger_cost_models.units import USD
from perfledger_service.rendering.layout import number_format
from perfledger_service.rendering.layout.document import (
    Column,
    Document,
    Table,
    fact,
    figure,
    notes,
    sentences,
    table,
    title,
    words,
)
from perfledger_service.rendering.layout.escape import clean

_MAX_TITLE = 40
_MIN_OUTLIER_EFFECT = 0.02  # of the sum: a smaller one is within the draws' own noise
_MAX_NAME = 400
_NAMES = tuple(f"p{round(100 * share)}" for share in QUANTILES)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Row:
    """A past period with its amount, or a future one with its quantiles."""

    quantity: ForecastQuantity
    period: str
    amount: float | None = None
    quantiles: tuple[float, ...] = ()


def period_name(forecast: Forecast, number: int) -> str:
    """Return the name of a period: "2026-11", or the Monday of a week."""
    start = forecast.calendar.start(number).isoformat()
    match forecast.calendar.step:
        case PeriodLength.MONTH:
            return start[:7]
        case PeriodLength.WEEK:
            return start


def forecast_document(view: Forecasts) -> Document:
    """Return the forecasts with their summary sentences."""
    return Document(
        name="perfledger-forecast",
        version=2,
        facts=forecasts_record(view),
        blocks=(
            title(forecast_title(view), names=[view.name]),
            *(_ahead(each) for each in view.forecasts),
            table(
                _row_columns(),
                [row for each in view.forecasts for row in _rows(each)],
                key="periods",
                in_json=False,
            ),
            *sentences(forecast_sentences(view)),
            *notes(forecast_notes(view)),
        ),
    )


def forecast_title(view: Forecasts) -> str:
    """Return the source and the horizon of the forecast."""
    first = view.forecasts[0]
    count, ahead = len(first.past), len(first.periods)
    step = first.calendar.step
    until = period_name(first, count - 1)
    return f"{clean(view.name, limit=_MAX_TITLE)}: {count} {step}s to {until}, and the next {ahead}"


def forecast_sentences(view: Forecasts) -> tuple[str, ...]:
    """Return each forecast's total, and the day on which the budget is spent, as sentences."""
    return tuple(sentence for each in view.forecasts for sentence in _sentences(each))


def forecast_notes(view: Forecasts) -> Iterator[str]:
    """Yield the backtest and the basis of each forecast."""
    first = view.forecasts[0]
    step = first.calendar.step
    for each in view.forecasts:
        tested = each.backtest
        if tested is None:
            yield f"{each.quantity}: the history is too short for a backtest."
            continue
        yield f"Backtest of {each.quantity}: {_backtest_words(tested, str(step))}."
        if tested.is_naive_closer:
            yield (
                f"The seasonal naive forecast was closer, so it is used for {each.quantity}: the "
                f"same {step}s a year before (or the last {step}, without two years of history), "
                "with the spread of their changes."
            )
    if len(first.past) < 2 * step.season:
        yield "The history is shorter than two years, so the forecast has no yearly seasonality."
    if view.rate is not None:
        yield f"USD at {view.rate.label}, as of {view.rate.as_of.isoformat()}."
        yield from (f"{view.rate.label}: {caveat}." for caveat in view.rate.caveats)


def _backtest_words(tested: Backtest, step: str) -> str:
    """Return coverage and losses; the comparison covers periods with two years before them."""
    inside = f"{number_format.whole_share(tested.coverage)} within P10 to P90 (target: 80 %)"
    if tested.is_naive_alike or not tested.is_naive_closer:
        text = (
            f"{tested.periods} {step}s forecast at {tested.origins} earlier dates, {inside}; "
            f"pinball loss {number_format.share(tested.loss)} of the mean {step}"
        )
        if tested.is_naive_alike:
            return f"{text}, seasonal naive {number_format.share(tested.naive_loss)}"
        if not tested.compared_periods:
            return f"{text}; the seasonal naive forecast needs two years before a date to be tested"
        text += f"; over the {tested.compared_periods} {step}s with two years before them "
    else:
        text = (
            f"{tested.compared_periods} {step}s forecast at dates with two years before them, "
            f"{inside}; pinball loss of the models "
        )
    return (
        f"{text}{number_format.share(tested.compared_loss)} of the mean {step}, seasonal naive "
        f"{number_format.share(tested.compared_naive_loss)}"
    )


def forecasts_record(view: Forecasts) -> dict[str, object]:
    """Return all figures as part of a JSON document."""
    return {
        "name": clean(view.name, limit=_MAX_NAME),
        "rate": None if view.rate is None else view.rate.label,
        "usd_per_device_hour": None if view.rate is None else view.rate.usd_per_device_hour,
        "rate_as_of": None if view.rate is None else view.rate.as_of.isoformat(),
        "forecasts": [_document(each) for each in view.forecasts],
    }


def _ahead(forecast: Forecast) -> Table:
    """Return the future periods for people, one column per quantile."""
    unit = "device-hours" if forecast.quantity is ForecastQuantity.HOURS else USD
    columns: tuple[Column[_Row], ...] = (
        words("", unit, lambda row: row.period),
        *(
            figure("", f"P{name[1:]}", _quantile(index), _amount)
            for index, name in enumerate(_NAMES)
        ),
    )
    rows = [row for row in _rows(forecast) if row.amount is None]
    return table(columns, rows[:-1], footer=("total", *map(_amount, forecast.total)))


def _row_columns() -> tuple[Column[_Row], ...]:
    return (
        fact("quantity", lambda row: row.quantity),
        fact("period", lambda row: row.period),
        fact("past", lambda row: row.amount),
        *(fact(name, _quantile(index)) for index, name in enumerate(_NAMES)),
    )


def _quantile(place: int) -> Callable[[_Row], float | None]:
    def value(row: _Row) -> float | None:
        return row.quantiles[place] if row.quantiles else None

    return value


def _rows(forecast: Forecast) -> Iterator[_Row]:
    """Yield the past periods, the future ones, and their total."""
    count, quantity = len(forecast.past), forecast.quantity
    for index, amount in enumerate(forecast.past):
        yield _Row(quantity=quantity, period=period_name(forecast, index), amount=amount)
    for index, quantiles in enumerate(forecast.periods):
        period = period_name(forecast, count + index)
        yield _Row(quantity=quantity, period=period, quantiles=quantiles)
    yield _Row(quantity=quantity, period="total ahead", quantiles=forecast.total)


def _amount(value: float) -> str:
    return rounding.integer(value) if value >= 100 else rounding.digits(value, 3)  # noqa: PLR2004 - three digits


def _sentences(forecast: Forecast) -> Iterator[str]:
    low, middle, high = (forecast.total[place] for place in (LOW, MIDDLE, HIGH))
    span = f"The next {len(forecast.periods)} {forecast.calendar.step}s"
    match forecast.quantity:
        case ForecastQuantity.HOURS:
            yield (
                f"{span} need about {_amount(middle)} device-hours (80 % interval: {_amount(low)} "
                f"to {_amount(high)})."
            )
        case ForecastQuantity.USD:
            budget, more = (number_format.usd(usd) for usd in (middle, high - middle))
            yield (
                f"{span} cost about {budget} (P50, the budget); with a contingency of {more} that "
                "is enough in 90 % of cases (P90)."
            )
    yield from _outlier_sentences(forecast)
    if forecast.budget is not None:
        yield _budget(forecast.budget, forecast.calendar.start(len(forecast.past)))


def _outlier_sentences(forecast: Forecast) -> Iterator[str]:
    """Yield which periods are far from their neighbours, and how much they change the sum."""
    if not forecast.outliers or forecast.total_without_outliers is None:
        return
    unit = "device-hours" if forecast.quantity is ForecastQuantity.HOURS else USD
    for outlier in forecast.outliers:
        yield (
            f"{period_name(forecast, outlier.index)} has {_amount(forecast.past[outlier.index])} "
            f"{unit}, {rounding.digits(outlier.fold, 2)} times the "
            f"{_amount(_usual_amount(forecast, outlier))} "
            f"usual around it: check it for a typing error, a doubled or a missing export."
        )
    usual, used = forecast.total_without_outliers[MIDDLE], forecast.total[MIDDLE]
    object_ = "it" if len(forecast.outliers) == 1 else "them"
    if abs(usual - used) > _MIN_OUTLIER_EFFECT * max(abs(used), abs(usual)):
        yield (
            f"With the usual amount in place of {object_} the P50 of the sum is {_amount(usual)} "
            f"instead of {_amount(used)} {unit}."
        )
    else:
        yield f"The forecast counts {object_}; without {object_}, the sum's P50 is about the same."


def _budget(budget_day: BudgetDay, ahead: date) -> str:
    """Return the day on which the budget is spent; `ahead` is the first day of the forecast."""
    early, middle, late = budget_day.days
    since = (
        "" if budget_day.budget.since is None else f" since {budget_day.budget.since.isoformat()}"
    )
    words = f"The budget of {number_format.usd(budget_day.budget.usd)}{since}"
    if budget_day.budget.since is not None:
        words += f", of which {number_format.usd(budget_day.spent_usd)} has been spent,"
    if early is not None and early < ahead:
        return f"{words} was spent on {early.isoformat()}."
    if middle is None:
        first = "" if early is None else f", and until {early.isoformat()} at least (P10)"
        return (
            f"{words} probably lasts beyond the forecast{first}; the chance that it is spent by "
            f"then is {number_format.share(budget_day.chance)}."
        )
    if early == late:
        return f"{words} will be spent on {middle.isoformat()}."
    between = f"{_day(early)} to {_day(late)}"
    return f"{words} will probably be spent on {middle.isoformat()} ({between}, P10 to P90)."


def _day(day: date | None) -> str:
    return "after the forecast" if day is None else day.isoformat()


def _document(forecast: Forecast) -> dict[str, object]:
    count = len(forecast.past)
    return {
        "quantity": forecast.quantity,
        "step": forecast.calendar.step,
        "past": [
            {"period": period_name(forecast, index), "amount": amount}
            for index, amount in enumerate(forecast.past)
        ],
        "periods": [
            {"period": period_name(forecast, count + index)}
            | dict(zip(_NAMES, quantiles, strict=True))
            for index, quantiles in enumerate(forecast.periods)
        ],
        "total": dict(zip(_NAMES, forecast.total, strict=True)),
        "has_trend": forecast.has_trend,
        "has_season": forecast.has_season,
        "stretch": forecast.stretch,
        "origins": forecast.origins,
        "outliers": [
            {
                "period": period_name(forecast, outlier.index),
                "amount": forecast.past[outlier.index],
                "usual": _usual_amount(forecast, outlier),
                "fold": outlier.fold,
            }
            for outlier in forecast.outliers
        ],
        "total_without_outliers": None
        if forecast.total_without_outliers is None
        else dict(zip(_NAMES, forecast.total_without_outliers, strict=True)),
        "backtest": None
        if forecast.backtest is None
        else asdict(forecast.backtest) | {"coverage": forecast.backtest.coverage},
        "budget": None if forecast.budget is None else _budget_document(forecast.budget),
    }


def _usual_amount(forecast: Forecast, outlier: PeriodOutlier) -> float:
    days = forecast.calendar.days(outlier.index)
    (amount,) = forecast.quantity.amounts([outlier.usual_daily * days])
    return amount


def _budget_document(budget_day: BudgetDay) -> dict[str, object]:
    return {
        "usd": budget_day.budget.usd,
        "since": budget_day.budget.since,
        "spent_usd": budget_day.spent_usd,
        "days": dict(zip(("p10", "p50", "p90"), budget_day.days, strict=True)),
        "chance": budget_day.chance,
    }
