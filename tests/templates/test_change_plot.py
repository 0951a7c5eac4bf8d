"""The picture of what changes cost a year; all prices are made up here."""

from datetime import date
from decimal import Decimal
from xml.etree import ElementTree as ET

import pytest
from hypothesis import given, strategies as st

from perfledger.bundle import CostPolicy
from perfledger_cost_models.policy import rule_on
from perfledger_cost_models.quote import ChangePrice, PricedChanges, Rate, SummedPrice
from perfledger_service.cost_views import PricedView
from perfledger_service.pages.change_plot import LARGEST_USD, MAX_ROWS, change_svg

SVG = "{http://www.w3.org/2000/svg}"
RATE = Rate(
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


def drawn(*prices, rulings=(), summed=None):
    view = PricedView(PricedChanges(prices=prices, total=summed), tuple(rulings))
    return ET.fromstring(change_svg(view))


def shapes(root, name, word):
    return [each for each in root.iter(f"{SVG}{name}") if word in each.get("class", "").split()]


def texts(root):
    return [each.text or "" for each in root.iter(f"{SVG}text")]


def x_of(line):
    return float(line.get("x1"))


def test_the_dot_lies_within_its_bar_and_both_right_of_zero_where_it_costs():
    root = drawn(price())

    (dot,), (bar,) = shapes(root, "circle", "dot"), shapes(root, "rect", "bar")
    (zero,) = shapes(root, "line", "zero")
    start, width = float(bar.get("x")), float(bar.get("width"))
    assert x_of(zero) < start < float(dot.get("cx")) < start + width
    assert "slower" in dot.get("class")


def test_what_is_saved_is_left_of_zero():
    root = drawn(price(ends=(-14_000, -12_000, -10_000)))

    (dot,) = shapes(root, "circle", "faster")
    assert float(dot.get("cx")) < x_of(shapes(root, "line", "zero")[0])
    assert any(text.startswith("-12,000") for text in texts(root))


def test_where_no_change_was_detected_there_is_no_dot():
    root = drawn(price(ends=(-500, 100, 700), is_detectable=False))

    assert not shapes(root, "circle", "dot")
    assert len(shapes(root, "rect", "noise")) == 1
    assert "no detectable change" in texts(root)


def test_what_has_no_price_is_named_and_not_drawn():
    root = drawn(price(), unpriced("bert"), summed=total(missing=("bert",)))

    assert len(shapes(root, "rect", "bar")) == 1
    assert "No price: bert: no entry of the fleet" in texts(root)


def test_nothing_at_all_is_a_picture_with_an_axis():
    root = drawn(unpriced("bert"))

    assert len(shapes(root, "line", "zero")) == 1
    assert "No price: bert: no entry of the fleet" in texts(root)


def test_a_policys_limits_are_lines_in_its_own_row_and_lie_in_order():
    policy = CostPolicy(team="nlp", ask_above_usd_per_year=5000.0, fail_above_usd_per_year=20_000.0)
    root = drawn(price(), rulings=[rule_on(policy, total())])

    (asks,), (fails,) = shapes(root, "line", "asks"), shapes(root, "line", "fails")
    assert x_of(asks) < float(shapes(root, "circle", "dot")[0].get("cx")) < x_of(fails)
    assert "asks above 5,000\N{NO-BREAK SPACE}USD" in texts(root)


def test_a_limit_far_out_is_told_and_squeezes_nothing():
    policy = CostPolicy(team="nlp", fail_above_usd_per_year=1e9)
    root = drawn(price(), rulings=[rule_on(policy, total())])

    assert not shapes(root, "line", "limit")
    assert "fails above 1,000,000,000\N{NO-BREAK SPACE}USD, off the picture" in texts(root)


def test_a_policy_of_whose_workloads_none_changed_has_no_bar():
    policy = CostPolicy(team="nlp", fail_above_usd_per_year=10_000.0)
    root = drawn(price(), rulings=[rule_on(policy, None)])

    assert len(shapes(root, "rect", "bar")) == 1
    assert "passes: nothing changed" in texts(root)


def test_several_prices_are_drawn_together_too():
    root = drawn(price(), price("bert"), summed=total(ends=(20_000, 24_000, 28_000)))

    assert "Together" in texts(root)
    assert len(shapes(root, "circle", "dot")) == 3


def test_the_largest_prices_are_drawn_and_the_rest_are_counted():
    root = drawn(*(price(f"w{n}", (n, n + 1, n + 2)) for n in range(MAX_ROWS + 2)))

    assert f"w{MAX_ROWS + 1}" in texts(root)
    assert "w0" not in texts(root)
    assert "2 more prices are not drawn: --format json has them" in texts(root)


def test_an_amount_that_no_fleet_costs_is_told_and_not_drawn():
    huge = int(LARGEST_USD) * 10

    assert not shapes(drawn(price(ends=(huge, huge, huge))), "rect", "bar")


@pytest.mark.parametrize("ends", [(0, 0, 0), ("1e-9", "2e-9", "3e-9"), (9e8, 1e9, 1e10)])
def test_amounts_of_any_size_lie_within_the_picture(ends):
    root = drawn(price(ends=ends))

    (bar,) = shapes(root, "rect", "bar")
    assert 310 <= float(bar.get("x")) <= float(bar.get("x")) + float(bar.get("width")) <= 740


@given(st.text(max_size=300))
def test_whatever_a_name_or_a_note_is_the_picture_is_xml_without_markup_of_theirs(name):
    policy = CostPolicy(team=name, fail_above_usd_per_year=1.0)
    root = drawn(price(name), unpriced(name, name), rulings=[rule_on(policy, total())])

    assert {each.tag.removeprefix(SVG) for each in root.iter()} <= {
        *("svg", "title", "desc", "style", "clipPath", "rect", "text", "line", "g", "circle")
    }


def test_markup_in_a_name_is_text():
    root = drawn(price("<script>alert(1)</script>"))

    assert "<script>alert(1)</script>" in texts(root)
