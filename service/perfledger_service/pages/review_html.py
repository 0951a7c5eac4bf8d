"""Turns a review into one HTML file: nothing beside it, in light, dark and print."""

from dataclasses import dataclass
from decimal import Decimal

from perfledger_cost_models.decision import Band, at_modes
from perfledger_cost_models.money import to_decimal
from perfledger_cost_models.procurement import GROWTH, HOURS, USE, YEARS
from perfledger_cost_models.quote import ChangePrice
from perfledger_cost_models.review import (
    Evidence,
    LastDecision,
    PricedChange,
    Review,
    Unknown,
)
from perfledger_service.pages import figures
from perfledger_service.pages.environment import render
from perfledger_service.pages.review_allocated import allocation_words
from perfledger_service.pages.review_forecast import forecast_words
from perfledger_service.pages.review_plots import (
    BarPlot,
    CurvePlot,
    carbon_plot,
    cash_plot,
    npv_plot,
    tornado_plot,
    use_plot,
)
from perfledger_service.pages.review_projected import (
    check_words,
    projected_lines,
    projection_notes,
)
from perfledger_service.pages.review_rows import (
    MAX_ROWS,
    NOT_SAID,
    NOTHING,
    cents,
    input_rows,
    option_rows,
    plain,
    sized,
    switch_rows,
    with_unit,
)
from perfledger_service.pages.review_words import decision_words, outlook_words
from perfledger_service.pages.scheduled import gain_sentences, left_out_sentences
from perfledger_service.pages.wait_plot import policies_svg, recorded_svg
from perfledger_service.pages.waits import wait_rows, wait_words


@dataclass(frozen=True, slots=True, kw_only=True)
class Plots:
    """The review's charts."""

    npv: BarPlot
    tornado: BarPlot | None
    use: CurvePlot
    cash: CurvePlot
    carbon: BarPlot | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangeRow:
    """A landed change and its price on one part of the fleet."""

    day: str
    workload: str
    commit: str
    subject: str
    change: str
    interval: str
    usd: str
    usd_interval: str
    note: str


@dataclass(frozen=True, slots=True, kw_only=True)
class LastWords:
    """Budget against actual, and what moved, as they are shown."""

    variance: tuple[tuple[str, str], ...]
    moved: tuple[tuple[str, str, str], ...]


@dataclass(frozen=True, slots=True)
class PolicyWords:
    """What other scheduling policies would do with the quarter's jobs, drawn and in words."""

    picture: str
    sentences: tuple[str, ...]


def review_html(review: Review) -> str:
    """Return the document."""
    return render(
        "review/review.html.j2",
        review=review,
        years=YEARS,
        **_decided(review),
        **_demanded(review),
        **_supplied(review),
        **_performed(review),
        plots=_plots(review),
        policies=_policies(review),
        options_rows=option_rows(review),
        allocation=allocation_words(review.allocation),
        inputs=input_rows(review),
        lines=_lines(review),
    )


def _decided(review: Review) -> dict[str, object]:
    """Return what the first page and the look back on the last review show."""
    return {
        "decision": decision_words(review),
        "switches": switch_rows(review),
        "last": _last(review),
        "outlook": outlook_words(review),
    }


def _demanded(review: Review) -> dict[str, object]:
    return {
        "demand": _demand(review),
        "teams": _teams(review),
        "workloads": _workloads(review),
        "changes": _changes(review),
        "forecast": forecast_words(review.demand.forecast),
    }


def _supplied(review: Review) -> dict[str, object]:
    supply = review.supply
    unused = supply.unused_usd
    return {
        "held": _held(review),
        "coverage": _coverage(review),
        "modes": _modes(review),
        "unused": NOT_SAID if isinstance(unused, Unknown) else cents(unused),
        "waits": wait_rows(supply.waits),
        "wait_words": wait_words(supply.waits, review.quarter.name),
        "wait_picture": _wait_picture(review),
    }


def _performed(review: Review) -> dict[str, object]:
    found = review.performance
    return {
        "evidence": _evidence(review),
        "ratios": [
            (accelerator, workload, f"{ratio:.2f}") for accelerator, workload, ratio in found.ratios
        ],
        "projected": projected_lines(found.projection),
        "projection_check": check_words(found.projection_check),
        "projection_notes": projection_notes(found.projection),
    }


def _plots(review: Review) -> Plots:
    return Plots(
        npv=npv_plot(review),
        tornado=tornado_plot(review),
        use=use_plot(review),
        cash=cash_plot(review),
        carbon=carbon_plot(review),
    )


def _lines(review: Review) -> list[dict[str, str]]:
    likely = at_modes(review.model)
    return [
        {
            "name": line.name,
            "words": line.words,
            "unit": line.unit,
            "formula": line.formula,
            "value": _line_value(line.unit, to_decimal(likely[line.name][0])),
        }
        for line in review.model.lines
    ]


def _line_value(unit: str, value: Decimal) -> str:
    return cents(value) if unit == "USD" else plain(value)


def _wait_picture(review: Review) -> str:
    waits = review.supply.waits
    return "" if isinstance(waits, Unknown) else recorded_svg(waits, quarter=review.quarter.name)


def _policies(review: Review) -> PolicyWords | None:
    found = review.supply.policies
    if isinstance(found, Unknown):
        return None
    return PolicyWords(
        picture=policies_svg(found), sentences=(*left_out_sentences(found), *gain_sentences(found))
    )


def _last(review: Review) -> LastWords | None:
    last = review.last
    if not isinstance(last, LastDecision):
        return None
    return LastWords(
        variance=_variance(last),
        moved=tuple((words, plain(before), plain(now)) for words, before, now in last.moved),
    )


def _variance(last: LastDecision) -> tuple[tuple[str, str], ...]:
    if isinstance(last.variance, Unknown):
        return ()
    found = last.variance
    speed = "code that got slower or faster"
    efficiency = (
        (f"{speed} (not measured: a part of the volume)", NOTHING)
        if found.efficiency_usd is None
        else (speed, cents(found.efficiency_usd))
    )
    return (
        ("budget", cents(found.budget_usd)),
        ("volume: more or fewer hours", cents(found.volume_usd)),
        efficiency,
        ("price: USD an hour", cents(found.price_usd)),
        ("actual, by the bill", cents(found.actual_usd)),
    )


def _demand(review: Review) -> list[dict[str, object]]:
    """Return the inputs that the need is made of, each with its unit."""
    return [
        {
            "number": number,
            "words": each.words,
            "ends": [with_unit(end, each.unit) for end in (each.low, each.mode, each.high)],
            "basis": str(each.basis),
        }
        for number, each in enumerate(review.model.inputs, start=1)
        if each.name in {HOURS, GROWTH, USE}
    ]


def _teams(review: Review) -> list[dict[str, str]] | None:
    teams = review.demand.teams
    if isinstance(teams, Unknown):
        return None
    return [
        {
            "team": one.team,
            "accelerator": one.accelerator,
            "hours": plain(one.hours),
            "share": figures.whole_share(one.share),
        }
        for one in teams[:MAX_ROWS]
    ]


def _workloads(review: Review) -> list[dict[str, str]] | None:
    workloads = review.demand.workloads
    if isinstance(workloads, Unknown):
        return None
    return [
        {
            "workload": one.workload,
            "team": one.team,
            "where": one.where,
            "hours": figures.count(one.hours),
            "source": one.source,
        }
        for one in workloads[:MAX_ROWS]
    ]


def _changes(review: Review) -> list[ChangeRow] | None:
    changes = review.demand.changes
    if isinstance(changes, Unknown):
        return None
    rows = [_change(change, price) for change in changes for price in change.prices]
    return rows[:MAX_ROWS]


def _change(change: PricedChange, price: ChangePrice) -> ChangeRow:
    landed = change.landed
    low, middle, high = landed.change
    shown, interval = figures.change(middle, low, high)
    usd, usd_interval = NOT_SAID, ""
    if price.usd is not None and price.low is not None and price.high is not None:
        usd, usd_interval = figures.yearly_usd(price.usd, price.low, price.high)
        usd = f"-{usd}" if price.usd < 0 else f"+{usd}"
    where = "" if price.rate is None else f"{price.rate.label}; "
    return ChangeRow(
        day=figures.day(landed.day),
        workload=landed.workload,
        commit=landed.commit,
        subject=landed.subject,
        change=shown,
        interval=interval,
        usd=usd,
        usd_interval=usd_interval,
        note=f"{where}{price.note or landed.origin}",
    )


def _held(review: Review) -> list[dict[str, str]]:
    return [
        {
            "name": one.name,
            "kind": "owned" if one.is_owned else "committed",
            "accelerator": one.accelerator,
            "devices": f"{one.devices:,}",
            "hours": plain(one.hours_a_year),
            "usd": NOT_SAID if one.usd_per_year is None else sized(one.usd_per_year, "USD"),
            "until": figures.day(one.until),
            "carries": f"none: {one.why_not}" if one.why_not else "the first hours",
            "source": one.source,
        }
        for one in review.supply.held[:MAX_ROWS]
    ]


def _coverage(review: Review) -> list[dict[str, str]]:
    return [
        {
            "year": str(year),
            "hours": plain(hours),
            "carried": plain(carried),
            "needed": plain(needed),
            "share": figures.whole_share(float(carried / hours)) if hours else NOTHING,
        }
        for year, hours, carried, needed in review.supply.coverage
    ]


def _modes(review: Review) -> list[dict[str, str]] | None:
    modes = review.supply.by_mode
    if isinstance(modes, Unknown):
        return None
    return [
        {
            "name": name,
            "hours": plain(hours),
            "usd": cents(usd),
            "rate": cents(usd / hours) if hours else NOTHING,
        }
        for name, hours, usd in modes
    ]


def _evidence(review: Review) -> list[dict[str, object]] | None:
    evidence = review.performance.evidence
    if isinstance(evidence, Unknown):
        return None
    return [_speed(one) for one in evidence[:MAX_ROWS]]


def _speed(one: Evidence) -> dict[str, object]:
    low, typical, high = one.speed.units_per_second
    return {
        "workload": one.speed.workload,
        "device": one.speed.device,
        "commit": one.speed.commit,
        "day": figures.day(one.speed.day),
        "unit": one.speed.unit,
        "speed": figures.count(typical),
        "interval": figures.TO.join((figures.count(low), figures.count(high))),
        "costs": [(name, _unit_usd(band)) for name, band in one.usd],
    }


def _unit_usd(band: Band) -> str:
    low, middle, high = (figures.usd(usd) for usd in band)
    return f"{middle} ({low}{figures.TO}{high})"
