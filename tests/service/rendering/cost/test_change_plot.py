"""The picture of what changes cost a year; all prices are made up here."""

from datetime import date
from decimal import Decimal
from xml.etree import ElementTree as ET

import pytest
from hypothesis import given, strategies as st

from perfledger.bundle import CostPolicy
from perfledger_cost_models.change_price.cost_policy import evaluate_policy
from perfledger_cost_models.quote import ChangePrice, HourlyRate, PricedChanges, SummedPrice
from perfledger_service.rendering.chart.marks import DotMark, LineMark, RuleMark, Tone
from perfledger_service.rendering.cost.change_plot import (
    MAX_ROWS,
    MAX_USD,
    change_picture,
    change_svg,
)
from perfledger_service.values.change_price import ChangePriceView

SVG = "{http://www.w3.org/2000/svg}"
RATE = HourlyRate(
    option="p5.48xlarge/on_demand",
    label="AWS p5.48xlarge, on demand",
    accelerator="H100-80GB",
    usd_per_device_hour=Decimal("6.88"),
    low=Decimal("6.88"),
    high=Decimal("6.88"),
    as_of=date(2026, 11, 9),
    is_read_date=False,
    source="made up",
)


def price(name="gpt", ends=(10_000, 12_000, 14_000), *, is_detectable=True):
    low, usd, high = map(Decimal, ends)
    return ChangePrice(
        workload=name,
        rate=RATE,
        device_hours_per_year=(1.0, 1.0, 1.0),
        hours_source="made up",
        usd=usd,
        low=low,
        high=high,
        is_detectable=is_detectable,
    )


def unpriced(name, note="no entry of the fleet"):
    return ChangePrice(
        workload=name,
        rate=None,
        device_hours_per_year=(0.0, 0.0, 0.0),
        hours_source="",
        usd=None,
        low=None,
        high=None,
        is_detectable=True,
        note=note,
    )


def total(ends=(10_000, 12_000, 14_000), missing=()):
    low, usd, high = (None, None, None) if missing else map(Decimal, ends)
    return SummedPrice(
        usd=usd, low=low, high=high, is_detectable=True, workloads=("gpt",), missing=missing
    )


def view_of(*prices, evaluations=(), summed=None):
    return ChangePriceView(PricedChanges(prices=prices, total=summed), tuple(evaluations))


@pytest.fixture
def drawn_marks(marks_of):
    """Return a function that returns the marks of one kind, of all charts of the picture."""

    def drawn_marks(kind, *prices, **others):
        picture = change_picture(view_of(*prices, **others))
        return [mark for chart in picture.charts for mark in marks_of(chart, kind)]

    return drawn_marks


def level(line):
    return len({y for _, y in line.points}) == 1


def texts(*prices, **others):
    root = ET.fromstring(change_svg(view_of(*prices, **others)))
    return [each.text or "" for each in root.iter(f"{SVG}text")]


def test_the_dot_lies_within_its_bar_and_both_right_of_zero_where_it_costs(drawn_marks):
    (dot,), (bar,) = drawn_marks(DotMark, price()), drawn_marks(LineMark, price())

    assert [x for x, _ in bar.points] == [10_000, 14_000]
    assert (dot.x, dot.y, dot.tone) == (12_000, bar.points[0][1], Tone.RED)
    assert [rule.x for rule in drawn_marks(RuleMark, price())] == [0.0]


@pytest.mark.parametrize(
    ("ends", "tone"),
    [((0.1, 0.2, 0.3), Tone.RED), ((0, 0.2, 0.3), Tone.MUTED), ((-0.3, -0.2, -0.1), Tone.GREEN)],
)
def test_the_direction_of_cents_has_its_colour_too(drawn_marks, ends, tone):
    (dot,) = drawn_marks(DotMark, price(ends=ends))

    assert dot.tone is tone


def test_what_is_saved_is_left_of_zero(drawn_marks):
    saved = price(ends=(-14_000, -12_000, -10_000))

    (dot,) = drawn_marks(DotMark, saved)
    assert (dot.x, dot.tone) == (-12_000, Tone.GREEN)
    assert any(text.startswith("-12,000") for text in texts(saved))


def test_where_no_change_was_detected_there_is_no_dot(drawn_marks):
    unsure = price(ends=(-500, 100, 700), is_detectable=False)

    assert not drawn_marks(DotMark, unsure)
    assert [line.tone for line in drawn_marks(LineMark, unsure)] == [Tone.MUTED]
    assert "no detectable change" in texts(unsure)


def test_what_has_no_price_is_named_and_not_drawn(drawn_marks):
    prices, summed = (price(), unpriced("bert")), total(missing=("bert",))

    assert len(drawn_marks(LineMark, *prices, summed=summed)) == 1
    assert "No price: bert: no entry of the fleet" in texts(*prices, summed=summed)


def test_nothing_at_all_is_a_picture_with_an_axis(drawn_marks):
    assert len(drawn_marks(RuleMark, unpriced("bert"))) == 1
    assert "No price: bert: no entry of the fleet" in texts(unpriced("bert"))


def test_a_policys_limits_are_lines_in_its_own_row_and_lie_in_order(drawn_marks):
    policy = CostPolicy(team="nlp", ask_above_usd_per_year=5000.0, fail_above_usd_per_year=20_000.0)
    evaluations = [evaluate_policy(policy, total())]

    asks, fails = (
        line for line in drawn_marks(LineMark, price(), evaluations=evaluations) if not level(line)
    )
    assert [asks.points[0][0], fails.points[0][0]] == [5000, 20_000]
    assert (asks.tone, fails.tone) == (Tone.AMBER, Tone.RED)
    assert "asks above 5,000 USD" in texts(price(), evaluations=evaluations)


def test_a_limit_far_out_is_told_and_squeezes_nothing(drawn_marks):
    policy = CostPolicy(team="nlp", fail_above_usd_per_year=1e9)
    evaluations = [evaluate_policy(policy, total())]

    assert all(level(line) for line in drawn_marks(LineMark, price(), evaluations=evaluations))
    text = "Policy of nlp: fails above 1,000,000,000 USD, outside the chart"
    assert text in texts(price(), evaluations=evaluations)


@pytest.mark.parametrize(("limit", "lines"), [(42_000.0, 2), (42_001.0, 1)])
def test_a_limit_is_drawn_up_to_three_times_the_largest_interval(drawn_marks, limit, lines):
    policy = CostPolicy(team="nlp", fail_above_usd_per_year=limit)
    evaluations = [evaluate_policy(policy, total())]

    bars = [line for line in drawn_marks(LineMark, price(), evaluations=evaluations) if level(line)]
    limits = [
        line for line in drawn_marks(LineMark, price(), evaluations=evaluations) if not level(line)
    ]
    assert len(limits) == lines - 1
    assert len(bars) == 2


@pytest.mark.parametrize(
    ("most", "title"), [(9_000_000, "USD a year"), (11_000_000, "million USD a year")]
)
def test_an_axis_beyond_ten_million_is_in_millions(most, title):
    assert title in texts(price(ends=(1, 2, most)))


def test_a_policy_of_whose_workloads_none_changed_has_no_bar(drawn_marks):
    policy = CostPolicy(team="nlp", fail_above_usd_per_year=10_000.0)
    evaluations = [evaluate_policy(policy, None)]

    assert (
        len(
            [
                line
                for line in drawn_marks(LineMark, price(), evaluations=evaluations)
                if level(line)
            ]
        )
        == 1
    )
    assert "passes: nothing changed" in texts(price(), evaluations=evaluations)


def test_several_prices_are_drawn_together_too(drawn_marks):
    prices, summed = (price(), price("bert")), total(ends=(20_000, 24_000, 28_000))

    assert "Together" in texts(*prices, summed=summed)
    assert len(drawn_marks(DotMark, *prices, summed=summed)) == 3


def test_the_largest_prices_are_drawn_and_the_rest_are_counted():
    shown_texts = texts(*(price(f"w{n}", (n, n + 1, n + 2)) for n in range(MAX_ROWS + 2)))

    assert f"w{MAX_ROWS + 1}" in shown_texts
    assert "w0" not in shown_texts
    assert "2 more prices are not drawn: --format json has them" in shown_texts


def test_an_amount_that_no_fleet_costs_is_told_and_not_drawn(drawn_marks):
    huge = int(MAX_USD) * 10

    assert not drawn_marks(LineMark, price(ends=(huge, huge, huge)))


@pytest.mark.parametrize("ends", [(0, 0, 0), ("1e-9", "2e-9", "3e-9"), (9e8, 1e9, 1e10)])
def test_amounts_of_any_size_lie_within_the_plot(ends, marks_of):
    (chart,) = change_picture(view_of(price(ends=ends))).charts

    (bar,) = marks_of(chart, LineMark)
    assert all(0 <= chart.x.share(x) <= 1 for x, _ in bar.points)


@given(st.text(max_size=300))
def test_whatever_a_name_or_a_note_is_the_picture_is_xml_without_markup_of_theirs(name):
    policy = CostPolicy(team=name, fail_above_usd_per_year=1.0)
    evaluations = [evaluate_policy(policy, total())]

    root = ET.fromstring(
        change_svg(view_of(price(name), unpriced(name, name), evaluations=evaluations))
    )

    assert {each.tag.removeprefix(SVG) for each in root.iter()} <= {
        *("svg", "title", "desc", "style", "rect", "text", "line", "polyline", "g", "circle")
    }


def test_markup_in_a_name_is_text():
    assert any("<script>" in text for text in texts(price("<script>alert(1)</script>")))


def test_a_price_is_drawn_as_agreed(matches_golden):
    prices = (price(), price("saved", (-14_000_000, -12_000_000, -9_000_000)), unpriced("bert"))

    matches_golden("change_price.svg", change_svg(view_of(*prices, summed=total())))
