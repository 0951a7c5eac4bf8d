"""Renders a review as one standalone HTML file."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

from perfledger_cost_models.money import to_decimal
from perfledger_cost_models.procurement.cost_model import (
    COMMITMENT_UTILIZATION,
    GROWTH,
    HOURS,
    YEARS,
)
from perfledger_cost_models.procurement.decision import Band, evaluate_at_modes
from perfledger_cost_models.quote import ChangePrice
from perfledger_cost_models.review.document import (
    LandedChangePrice,
    MeasuredUnitCost,
    Review,
    UnknownFigure,
    WorkloadHours,
)
from perfledger_cost_models.review.measured_changes import LandedChange, MeasuredSpeed
from perfledger_service.rendering.chart.picture import Chart, Picture
from perfledger_service.rendering.chart.svg import embedded_svg
from perfledger_service.rendering.cost import yearly_rows
from perfledger_service.rendering.layout import number_format
from perfledger_service.rendering.layout.environment import render
from perfledger_service.rendering.plan.queue_waits import wait_rows, wait_sentence
from perfledger_service.rendering.plan.simulate import review_sentences
from perfledger_service.rendering.plan.wait_plot import policies_picture, recorded_picture
from perfledger_service.rendering.review.allocation_rows import allocation_tables
from perfledger_service.rendering.review.commitment_rows import (
    dear_commitment_sentence,
    market_sentence,
    metrics_rows,
    sweep_text,
    swept,
)
from perfledger_service.rendering.review.first_page import first_page, outlook_sentence
from perfledger_service.rendering.review.forecast_rows import forecast_tables, quarter_rows
from perfledger_service.rendering.review.plots import review_charts, sweep_chart
from perfledger_service.rendering.review.previous_rows import previous_quarter_text
from perfledger_service.rendering.review.projection_rows import (
    projection_check_sentence,
    projection_notes,
    review_projection_rows,
)
from perfledger_service.rendering.review.rows import (
    MAX_ROWS,
    UNKNOWN_VALUE,
    energy_sentences,
    input_rows,
    number_or_money,
    option_rows,
    plain_number,
    switch_rows,
    with_unit,
)
from perfledger_service.rendering.review.share_rows import share_rows, share_sentence

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class ReviewFigure:
    """A chart as SVG with its title."""

    title: str
    svg: str


@dataclass(frozen=True, slots=True, kw_only=True)
class LandedChangeRow:
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


@dataclass(frozen=True, slots=True)
class PolicyComparisonText:
    """The effect of other scheduling policies on the quarter's jobs, as a chart and in words."""

    picture: str
    sentences: tuple[str, ...]


def review_html(review: Review) -> str:
    """Return the document."""
    return render(
        "review/review.html.j2",
        review=review,
        years=YEARS,
        **_decision_values(review),
        **_demand_values(review),
        **_supply_values(review),
        **_performance_values(review),
        figures=_figures(review_charts(review)),
        sweep_figures=_figures([sweep_chart(sweep)] if (sweep := swept(review)) else []),
        policies=_policies(review),
        options_rows=option_rows(review),
        energy_sentences=energy_sentences(review),
        sweep=sweep_text(review),
        metrics=metrics_rows(review.commitments),
        market=[market_sentence(each) for each in review.market],
        dear_commitment=dear_commitment_sentence(review.commitments),
        quarters=quarter_rows(review.quarter_forecasts),
        allocation=allocation_tables(review.allocation),
        inputs=input_rows(review),
        lines=_lines(review),
    )


def _decision_values(review: Review) -> dict[str, object]:
    """Return the values of the first page and of the comparison with the last review."""
    return {
        "decision": first_page(review),
        "switches": switch_rows(review),
        "last": previous_quarter_text(review.last),
        "outlook": outlook_sentence(review),
    }


def _demand_values(review: Review) -> dict[str, object]:
    return {
        "demand": _demand(review),
        "teams": _teams(review),
        "workloads": _workloads(review),
        "changes": _changes(review),
        "forecast": forecast_tables(review.demand.forecast),
    }


def _supply_values(review: Review) -> dict[str, object]:
    supply = review.supply
    unused = supply.unused_usd
    return {
        "capacity": _capacity_rows(review),
        "coverage": _coverage(review),
        "modes": _modes(review),
        "shares": share_rows(review),
        "share_words": share_sentence(review),
        "unused": UNKNOWN_VALUE
        if isinstance(unused, UnknownFigure)
        else number_format.cents(unused),
        "waits": wait_rows(supply.waits),
        "wait_words": wait_sentence(supply.waits, review.quarter.name),
        "wait_picture": _wait_picture(review),
    }


def _performance_values(review: Review) -> dict[str, object]:
    performance = review.performance
    return {
        "evidence": _evidence(review),
        "ratios": [
            (accelerator, workload, number_format.speed(ratio))
            for accelerator, workload, ratio in performance.ratios
        ],
        "projected": review_projection_rows(performance.projection),
        "projection_check": projection_check_sentence(performance.projection_check),
        "projection_notes": projection_notes(performance.projection),
    }


def _embedded_picture(picture: Picture) -> str:
    return embedded_svg(picture, label=picture.title, has_style=True)


def _figures(charts: Sequence[Chart]) -> tuple[ReviewFigure, ...]:
    return tuple(
        ReviewFigure(
            chart.title, embedded_svg(replace(chart, title=""), label=chart.title, has_style=True)
        )
        for chart in charts
    )


def _lines(review: Review) -> list[dict[str, str]]:
    likely = evaluate_at_modes(review.model)
    return [
        {
            "name": line.name,
            "words": line.label,
            "unit": line.unit,
            "formula": line.formula,
            "value": plain_number(to_decimal(likely[line.name][0])),
        }
        for line in review.model.lines
    ]


def _wait_picture(review: Review) -> str:
    waits = review.supply.waits
    if isinstance(waits, UnknownFigure):
        return ""
    return _embedded_picture(recorded_picture(waits, quarter=review.quarter.name))


def _policies(review: Review) -> PolicyComparisonText | None:
    policies = review.supply.policies
    if isinstance(policies, UnknownFigure):
        return None
    return PolicyComparisonText(
        picture=_embedded_picture(policies_picture(policies)),
        sentences=tuple(review_sentences(policies)),
    )


def _demand(review: Review) -> list[dict[str, object]]:
    """Return the inputs that determine the need, each with its unit."""
    return [
        {
            "number": number,
            "words": each.label,
            "ends": [with_unit(end, each.unit) for end in (each.low, each.mode, each.high)],
            "basis": str(each.basis),
        }
        for number, each in enumerate(review.model.inputs, start=1)
        if each.name in {HOURS, GROWTH, COMMITMENT_UTILIZATION}
    ]


def _teams(review: Review) -> list[dict[str, str]] | None:
    teams = review.demand.teams
    if isinstance(teams, UnknownFigure):
        return None
    return [
        {
            "team": one.team,
            "accelerator": one.accelerator,
            "hours": plain_number(one.hours),
            "share": number_format.whole_share(one.share),
        }
        for one in teams[:MAX_ROWS]
    ]


def _workloads(review: Review) -> list[dict[str, str]] | None:
    workloads = review.demand.workloads
    if isinstance(workloads, UnknownFigure):
        return None
    return [
        {
            "workload": _workload_name(review, one),
            "team": one.team,
            "where": one.where,
            "hours": number_format.count(one.hours),
            "source": one.source,
        }
        for one in workloads[:MAX_ROWS]
    ]


def _changes(review: Review) -> list[LandedChangeRow] | None:
    changes = review.demand.changes
    if isinstance(changes, UnknownFigure):
        return None
    rows = [
        _change(change, price, _workload_name(review, change.change))
        for change in changes
        for price in change.prices
    ]
    return rows[:MAX_ROWS]


def _workload_name(review: Review, named: WorkloadHours | LandedChange | MeasuredSpeed) -> str:
    """Return a workload's id, after its repository if the review has several."""
    demand, evidence = review.demand, review.performance.evidence
    repositories = {
        *(one.repository for one in _rows_of(demand.workloads)),
        *(one.change.repository for one in _rows_of(demand.changes)),
        *(one.speed.repository for one in _rows_of(evidence)),
    }
    return f"{named.repository} {named.workload}" if len(repositories) > 1 else named.workload


def _rows_of(rows: tuple[T, ...] | UnknownFigure) -> tuple[T, ...]:
    return () if isinstance(rows, UnknownFigure) else rows


def _change(change: LandedChangePrice, price: ChangePrice, workload: str) -> LandedChangeRow:
    landed = change.change
    low, middle, high = landed.change
    change_text, interval = number_format.change(middle, low, high)
    usd, usd_interval = UNKNOWN_VALUE, ""
    if price.usd is not None and price.low is not None and price.high is not None:
        usd, usd_interval = number_format.yearly_usd(price.usd, price.low, price.high)
        usd = f"-{usd}" if price.usd < 0 else f"+{usd}"
        if price.extra_hours is not None and price.low == price.high == 0:
            usd, usd_interval = "no cash", ""
    capacity = yearly_rows.capacity_sentence(price)
    remarks = "; ".join(filter(None, (capacity, price.note))) or landed.origin
    where = "" if price.rate is None else f"{price.rate.label}; "
    return LandedChangeRow(
        day=number_format.day(landed.day),
        workload=workload,
        commit=landed.commit,
        subject=landed.subject,
        change=change_text,
        interval=interval,
        usd=usd,
        usd_interval=usd_interval,
        note=f"{where}{remarks}",
    )


def _capacity_rows(review: Review) -> list[dict[str, str]]:
    return [
        {
            "name": one.name,
            "kind": "owned" if one.is_owned else "committed",
            "accelerator": one.accelerator,
            "devices": f"{one.devices:,}",
            "hours": plain_number(one.hours_a_year),
            "usd": UNKNOWN_VALUE
            if one.usd_per_year is None
            else number_or_money(one.usd_per_year, "USD"),
            "until": number_format.day(one.until),
            "carries": f"none: {one.omission_reason}" if one.omission_reason else "the first hours",
            "source": one.source,
        }
        for one in review.supply.entries[:MAX_ROWS]
    ]


def _coverage(review: Review) -> list[dict[str, str]]:
    return [
        {
            "year": str(year),
            "hours": plain_number(hours),
            "carried": plain_number(carried),
            "needed": plain_number(needed),
            "share": number_format.whole_share(float(carried / hours))
            if hours
            else number_format.NOTHING,
        }
        for year, hours, carried, needed in review.supply.coverage
    ]


def _modes(review: Review) -> list[dict[str, str]] | None:
    modes = review.supply.by_mode
    if isinstance(modes, UnknownFigure):
        return None
    return [
        {
            "name": name,
            "hours": plain_number(hours),
            "usd": number_format.cents(usd),
            "rate": number_format.cents(usd / hours) if hours else number_format.NOTHING,
        }
        for name, hours, usd in modes
    ]


def _evidence(review: Review) -> list[dict[str, object]] | None:
    evidence = review.performance.evidence
    if isinstance(evidence, UnknownFigure):
        return None
    return [_speed(one, _workload_name(review, one.speed)) for one in evidence[:MAX_ROWS]]


def _speed(cost: MeasuredUnitCost, workload: str) -> dict[str, object]:
    low, typical, high = cost.speed.units_per_second
    return {
        "workload": workload,
        "device": cost.speed.device,
        "commit": cost.speed.commit,
        "day": number_format.day(cost.speed.day),
        "unit": cost.speed.unit,
        "speed": number_format.count(typical),
        "interval": number_format.interval(low, high, number_format.count),
        "costs": [(name, _unit_usd(band)) for name, band in cost.usd],
    }


def _unit_usd(band: Band) -> str:
    low, middle, high = (number_format.usd(usd) for usd in band)
    return f"{middle} ({low}{number_format.INTERVAL_TO}{high})"
