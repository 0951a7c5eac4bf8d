"""Prices beside those of other regions, sizes and providers."""

import csv
from pathlib import Path

import pytest

from perfledger_cost_models.prices.check import CheckContext, check_sheet
from perfledger_cost_models.prices.price_sheet import PricingModel
from perfledger_cost_models.quote import PriceLayer

LEVEL, SPREAD, RANGE = "level of its region", "spread over regions", "range of its kind"
REGIONS = {"r1": 1.0, "r2": 1.0, "r3": 1.1, "r4": 1.3, "r5": 1.9}
SKUS = {"p4d": 22, "p4de": 27, "p5": 55, "p5en": 63, "g6": 13}


def listed(price, **changes):
    """Return five SKUs in five regions; `changes` are factors by SKU and region."""
    return [
        price(round(usd * level * changes.get(f"{sku}_{region}", 1), 4), sku=sku, region=region)
        for sku, usd in SKUS.items()
        for region, level in REGIONS.items()
    ]


def place(sku, region):
    return list(SKUS).index(sku) * len(REGIONS) + list(REGIONS).index(region)


@pytest.mark.parametrize("region", REGIONS)
@pytest.mark.parametrize("fold", [1.79, 1.34, 0.7, 0.1])
def test_a_price_that_left_the_level_of_its_region_is_found(price, rejected, region, fold):
    rows = listed(price, **{f"p5_{region}": fold})

    assert rejected(LEVEL, *rows) == [place("p5", region)]


@pytest.mark.parametrize("fold", [1.25, 0.8])
def test_regions_may_differ_a_little_by_sku(price, rejected, fold):
    assert rejected(LEVEL, *listed(price, p5_r2=fold)) == []


def test_a_dear_region_is_right_and_few_prices_show_no_level(price, rejected):
    rows = listed(price, p5_r1=1.79)

    assert rejected(LEVEL, *listed(price)) == []
    assert rejected(LEVEL, *(one for one in rows if one.sku in {"p5", "p4d"})) == []
    assert rejected(LEVEL, *(one for one in rows if one.region in {"r1", "r2", "r3"})) == []


def test_a_new_region_more_than_twice_a_known_one_is_wrong(price, rejected):
    known_price = price("55.04", region="r1")

    assert rejected(SPREAD, price("111", region="r2"), references=[known_price]) == [0]
    assert rejected(SPREAD, price("110", region="r2"), references=[known_price]) == []


@pytest.mark.parametrize(
    ("usd", "expected"), [("1.5", []), ("1.49", [3]), ("16", []), ("16.1", [3])]
)
def test_a_price_beyond_twice_the_range_of_all_others_is_wrong(price, rejected, usd, expected):
    rows = [
        price(each, sku=sku, provider=sku, count=1)
        for sku, each in (("a", "3"), ("b", "8"), ("c", "5"), ("new", usd))
    ]

    assert rejected(RANGE, *rows) == expected


def test_an_accelerator_that_only_one_has_is_compared_with_all(price, rejected, packaged):
    new = {"sku": "x", "accelerator": "X1", "count": 1}

    assert rejected(RANGE, price("999999999", **new), references=packaged) == [0]
    assert rejected(RANGE, price("0.00001", **new), references=packaged) == [0]
    assert rejected(RANGE, price("30", **new), references=packaged) == []
    assert rejected(RANGE, price("999999999", **new)) == []


def test_own_prices_widen_no_range(price, rejected):
    rows = [price(each, sku=each, count=1) for each in ("3", "8", "5")]
    own = price("0.2", sku="own", count=1, layer=PriceLayer.OVERRIDE)

    assert rejected(RANGE, *rows, own) == [3]
    assert rejected(RANGE, *rows, price("0.3", sku="new", count=1), references=[own]) == [3]


def test_spot_prices_are_compared_with_spot_prices(price, rejected):
    rows = [
        price(each, sku=each, count=1, pricing_model=PricingModel.SPOT) for each in ("1", "2", "3")
    ]

    assert rejected(RANGE, *rows, price("9", sku="s", count=1)) == []
    spot = {"sku": "s", "count": 1, "pricing_model": PricingModel.SPOT}
    assert rejected(RANGE, *rows, price("9.1", **spot)) == [3]


def test_an_option_is_not_saved_by_its_skus_other_options(price, rejected):
    others = [price(each, sku=each, count=1) for each in ("3", "4", "5")]
    blocks = price("4", count=1, pricing_model=PricingModel.CAPACITY_BLOCK)

    assert rejected(RANGE, *others, blocks, price("1.4", count=1)) == [4]
    assert rejected(RANGE, *others, blocks, price("1.6", count=1)) == []


REAL = Path(__file__).parent / "azure_2025.csv"


def test_of_a_real_export_only_what_is_wrong_is_rejected():
    text = REAL.read_text(encoding="utf-8")
    wrong = [row["usd_per_hour"] for row in csv.DictReader(text.splitlines())].count("7.692")

    check = check_sheet(text, REAL.name, context=CheckContext())

    assert wrong == 2
    assert [(one.rule, one.option.partition("@")[2]) for one in check.rejected] == [
        (LEVEL, "polandcentral")
    ] * wrong
