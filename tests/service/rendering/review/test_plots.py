from dataclasses import replace

import pytest

from perfledger_cost_models.energy.energy import CarbonEmissions
from perfledger_cost_models.review.document import UnknownFigure
from perfledger_service.rendering.chart.marks import BandMark, BarMark, LineMark, Tone
from perfledger_service.rendering.chart.svg import embedded_svg
from perfledger_service.rendering.review.plots import (
    cumulative_cash_chart,
    npv_chart,
    review_charts,
    useful_hour_chart,
)

UNKNOWN = UnknownFigure(name="carbon", reason="no factor", remedy="give one")


def with_carbon(review, carbon):
    return replace(review, options=tuple(replace(one, carbon=carbon) for one in review.options))


def test_each_option_has_its_interval_and_the_cheapest_stands_on_top(small, marks_of):
    chart = npv_chart(small)

    order = sorted(small.options, key=lambda one: one.outcome.npv_mean)
    assert [tick.label for tick in chart.y.ticks] == [one.outcome.option.name for one in order]
    bars, medians = marks_of(chart, BarMark), marks_of(chart, LineMark)
    for one, bar, median in zip(order, bars, medians, strict=True):
        low, middle, high = map(float, one.outcome.npv_band)
        assert bar.x == (low, high)
        assert {x for x, _ in median.points} == {middle}


def test_the_recommended_and_todays_option_have_colours_of_their_own(small, marks_of):
    tones = {
        tick.label: bar.tone
        for tick, bar in zip(
            npv_chart(small).y.ticks, marks_of(npv_chart(small), BarMark), strict=True
        )
    }

    assert tones[small.choice.option.name] is Tone.BLUE
    assert tones["today"] is Tone.ORANGE
    assert list(tones.values()).count(Tone.MUTED) == len(tones) - 2


def test_a_useful_hour_becomes_cheaper_with_use_and_the_axis_ends_where_today_matters(
    small, marks_of
):
    chart = useful_hour_chart(small)

    today = next(one for one in small.options if one.outcome.option.name == "today")
    assert chart.y.high == pytest.approx(3 * max(float(usd) for _, usd in today.curve), rel=0.5)
    for line in marks_of(chart, LineMark):
        prices = [usd for _, usd in line.points]
        assert prices == sorted(prices, reverse=True)
        assert max(prices) <= 3 * max(float(usd) for _, usd in today.curve)
    assert marks_of(chart, LineMark)[-1].tone is Tone.BLUE  # drawn last, over the others


def test_what_was_paid_grows_over_the_years_and_two_options_have_bands(small, marks_of):
    chart = cumulative_cash_chart(small)

    lines, bands = marks_of(chart, LineMark), marks_of(chart, BandMark)
    assert len(lines) == len(small.options)
    assert {band.tone for band in bands} == {Tone.BLUE, Tone.ORANGE}
    for line in lines:
        paid = [usd for _, usd in line.points]
        assert paid == sorted(paid)
        assert [year for year, _ in line.points] == [0.0, 1.0, 2.0, 3.0]


def test_what_one_input_does_to_the_saving_is_drawn_widest_first(small, marks_of):
    tornado = review_charts(small)[1]

    widths = [high - low for low, high in (bar.x for bar in marks_of(tornado, BarMark))]
    assert widths == sorted(widths, reverse=True)
    assert widths[0] == pytest.approx(float(small.decision.swings[0].width))
    assert tornado.y.ticks[0].label == small.decision.swings[0].input.label


def test_without_an_uncertain_input_there_is_no_tornado(small):
    certain = replace(small, decision=replace(small.decision, swings=()))

    assert len(review_charts(certain)) == len(review_charts(small)) - 1


def test_emissions_are_drawn_for_the_options_of_which_they_are_known(small, marks_of):
    known_carbon_emissions = CarbonEmissions(energy_kwh=1e6, location_kg=400_000.0, market_kg=None)
    first, *others = small.options
    some = replace(
        small,
        options=(
            replace(first, carbon=known_carbon_emissions),
            *(replace(one, carbon=UNKNOWN) for one in others),
        ),
    )

    *_, chart = review_charts(some)

    (bar,) = marks_of(chart, BarMark)
    assert bar.x == (0.0, 400.0)
    assert bar.title.endswith("400 t CO2")


@pytest.mark.parametrize(
    ("usd", "unit", "factor"),
    [
        (1_000_000.0, "million USD", 1e-6),
        (999_999.0, "thousand USD", 1e-3),
        (1000.0, "thousand USD", 1e-3),
        (999.0, "USD", 1.0),
    ],
)
def test_money_is_in_the_largest_unit_of_which_there_is_one(small, usd, unit, factor):
    cumulated = ((0.0, 0.0, 0.0), (0.0, usd, usd))
    outcomes = [replace(one.outcome, cumulated=cumulated) for one in small.options]
    options = tuple(
        replace(one, outcome=outcome) for one, outcome in zip(small.options, outcomes, strict=True)
    )

    chart = cumulative_cash_chart(replace(small, options=options))

    assert chart.y.title == unit
    labelled = [tick for tick in chart.y.ticks if tick.label]
    numbers = [float(tick.label.replace(",", "")) for tick in labelled]
    assert numbers == pytest.approx([tick.value * factor for tick in labelled])


@pytest.mark.parametrize(
    "carbon", [UNKNOWN, CarbonEmissions(energy_kwh=0.0, location_kg=0.0, market_kg=None)]
)
def test_without_emissions_there_is_no_chart_of_them(small, carbon):
    titles = [chart.title for chart in review_charts(with_carbon(small, carbon))]

    assert not any("CO2" in title for title in titles)


def test_every_chart_can_be_drawn_also_where_nothing_has_to_be_bought(small, covered_review):
    for review in (small, covered_review):
        for chart in review_charts(review):
            drawn_embedded_svg = embedded_svg(chart, label=chart.title)
            assert "nan" not in drawn_embedded_svg.lower()
            assert "inf" not in drawn_embedded_svg.lower()
