from datetime import date, timedelta
from decimal import Decimal
from typing import Any

import pytest

from perfledger_cost_models.csv_table import SourceConfidence
from perfledger_cost_models.prices.plausibility_rules import RULES
from perfledger_cost_models.prices.price_sheet import Price, PricingModel
from perfledger_cost_models.prices.priced_rows import FindingSeverity, PricedRow, current_prices

DAY = date(2026, 11, 20)
REJECT, WARN = FindingSeverity.REJECT, FindingSeverity.WARN


def price(usd, **values):
    usual: dict[str, Any] = {
        "provider": "aws",
        "sku": "p5.48xlarge",
        "region": "r1",
        "accelerator": "H100-80GB",
        "count": 8,
        "pricing_model": PricingModel.ON_DEMAND,
        "term": "",
        "usd_per_hour": Decimal(usd),
        "as_of": DAY,
        "is_read_date": False,
        "retrieved_at": DAY,
        "confidence": SourceConfidence.HIGH,
        "source": "made up",
        "note": "",
    }
    return Price(**usual | values)


def findings(rule, *prices):
    listed = [PricedRow(row, one) for row, one in enumerate(prices)]
    return [(result.row, level) for result, level, _ in RULES[rule](listed)]


@pytest.mark.parametrize(
    ("usd", "expected"), [("700", [(0, REJECT)]), ("700.01", []), ("699.99", [])]
)
def test_only_the_placeholder_itself_is_one(usd, expected):
    assert findings("placeholder", price(usd)) == expected


@pytest.mark.parametrize(("highest", "expected"), [("110", []), ("110.01", [(2, REJECT)])])
def test_regions_may_differ_twofold(highest, expected):
    prices = [
        price(usd, region=region) for region, usd in (("r1", "55"), ("r2", "56"), ("r3", highest))
    ]

    assert findings("spread over regions", *prices) == expected


@pytest.mark.parametrize(
    ("usd", "expected"), [("3", []), ("3.01", [(2, WARN)]), ("0.33", [(2, WARN)])]
)
def test_a_price_may_be_three_times_the_median_of_its_kind(usd, expected):
    prices = [
        price(each, provider=provider, count=1)
        for provider, each in (("a", "1"), ("b", "1"), ("c", usd))
    ]

    assert findings("median of its kind", *prices) == expected


@pytest.mark.parametrize(("usd", "expected"), [("13.5", []), ("13.51", [(2, WARN)])])
def test_sizes_of_a_family_may_differ_by_35_percent(usd, expected):
    prices = [
        price(each, sku=f"p5.{size}", count=count)
        for size, count, each in (("4xlarge", 1, "10"), ("24xlarge", 4, "40"), ("48xlarge", 1, usd))
    ]

    assert findings("sizes of a family", *prices) == expected


@pytest.mark.parametrize(
    ("extra", "expected"),
    [("2.208", [(1, REJECT)]), ("2.230", [(1, REJECT)]), ("2.231", []), ("2.185", [])],
)
def test_the_windows_meter_is_known_within_one_percent(extra, expected):
    azure = {"provider": "azure", "accelerator": "A100-80GB-PCIe", "count": 2}
    linux = price("7.346", sku="Standard_NC48_other", **azure)
    windows = price(Decimal("7.346") + Decimal(extra), sku="Standard_NC48ads_A100_v4", **azure)

    assert findings("Windows meter", linux, windows) == expected


@pytest.mark.parametrize(("usd", "expected"), [("10", []), ("10.01", [(1, REJECT)]), ("9.99", [])])
def test_spot_may_cost_what_on_demand_does(usd, expected):
    spot = price(usd, pricing_model=PricingModel.SPOT)

    assert findings("spot above on demand", price("10"), spot) == expected


@pytest.mark.parametrize(
    ("days", "expected"), [(-1, [(1, REJECT)]), (180, [(0, REJECT)]), (181, [])]
)
def test_a_list_price_of_up_to_180_days_later_stands_in_and_the_newer_is_blamed(days, expected):
    listed = price("10", as_of=DAY + timedelta(days=days))
    committed = price("11", pricing_model=PricingModel.RESERVED, term="1y")

    assert findings("commitments by term", listed, committed) == expected


@pytest.mark.parametrize(
    ("usd", "expected"), [("8", [(1, REJECT)]), ("7", [(1, WARN)]), ("6.99", [])]
)
def test_a_longer_term_costs_less(usd, expected):
    committed = [
        price(each, pricing_model=PricingModel.RESERVED, term=term)
        for term, each in (("1y_no_upfront", "7"), ("3y_no_upfront", usd))
    ]

    assert findings("commitments by term", *committed) == expected


@pytest.mark.parametrize(
    ("usd", "expected"),
    [("1.61", [(1, REJECT)]), ("1.6115", [(1, REJECT)]), ("1.62", []), ("1.60", [])],
)
def test_half_of_a_chips_price_is_that_of_a_core_within_a_permille(usd, expected):
    chip, core = (
        price(each, provider="gcp", sku=f"tpu-v4-{name}", accelerator="TPU-v4", count=1)
        for name, each in (("x", "3.22"), ("y", usd))
    )

    assert findings("chips and cores", chip, core) == expected


@pytest.mark.parametrize(
    ("usd", "expected"), [("32.03", [(0, WARN), (1, WARN)]), ("32.04", []), ("31.96", [])]
)
def test_an_instance_and_an_accelerator_agree_within_a_permille(usd, expected):
    prices = price("32", sku="big8"), price(usd, sku="one1", count=1)

    assert findings("instance and accelerator", *prices) == expected


def test_the_newest_price_of_each_option_and_region_is_current():
    old, new = price("98.32", as_of=DAY - timedelta(days=1)), price("55.04")
    other = price("60", region="r2", as_of=DAY - timedelta(days=9))
    rows = [PricedRow(row, one) for row, one in enumerate((new, old, other))]

    assert {one.row for one in current_prices(rows)} == {0, 2}


def test_an_instance_has_the_accelerators_of_its_other_rows():
    prices = price("32"), price("33"), price("21.96", accelerator="A100-40GB")

    assert findings("accelerators of an instance", *prices) == [(2, REJECT)]


def test_most_rows_say_how_many_accelerators_an_instance_has():
    prices = price("32"), price("33"), price("34", count=4)

    assert findings("accelerators of an instance", *prices) == [(2, REJECT)]
    assert findings("accelerators of an instance", *prices[:2]) == []
