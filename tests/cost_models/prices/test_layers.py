"""Layers of prices: the last sheet's count, and what is rejected stays named until it is priced."""

from dataclasses import replace

from perfledger_cost_models.prices.layers import layer_sheets, unpriced_options
from perfledger_cost_models.prices.packaged_sheet import packaged_sheet
from perfledger_cost_models.prices.price_sheet import PriceSheet, RejectedPrice
from perfledger_cost_models.quote import PriceLayer

SHEET = packaged_sheet()
P5 = SHEET.find("p5.48xlarge/on_demand")
REJECTED = RejectedPrice(
    sheet="typo.csv",
    row=2,
    provider=P5.provider,
    option=P5.option,
    region=P5.region,
    accelerator=P5.accelerator,
    as_of=P5.as_of,
    reason="tenfold",
)
TYPO = PriceSheet(name="typo.csv", prices=(), rejected=(REJECTED,))


def test_a_rejected_row_leaves_the_price_below_it_and_is_named():
    price_sheet = layer_sheets([SHEET, TYPO], name="both")

    assert price_sheet.find("p5.48xlarge/on_demand") == P5
    assert price_sheet.rejection_of(P5) == REJECTED
    assert REJECTED.text == (
        "typo.csv, line 2 (aws:p5.48xlarge/on_demand@us-east-1) is left out: tenfold"
    )


def test_a_price_in_a_higher_layer_settles_a_rejected_one():
    own = PriceSheet(name="own", prices=(replace(P5, usd_per_hour=P5.usd_per_hour / 2),))

    price_sheet = layer_sheets([SHEET, TYPO, own], name="all")

    assert price_sheet.rejected == ()
    assert price_sheet.find("p5.48xlarge/on_demand").usd_per_hour == P5.usd_per_hour / 2


def test_a_rejected_row_that_is_older_than_the_price_replaces_nothing():
    old = replace(REJECTED, as_of=P5.as_of.replace(year=2020))

    assert layer_sheets([replace(TYPO, rejected=(old,)), SHEET], name="both").rejected == ()
    assert replace(SHEET, rejected=(old,)).rejection_of(P5) is None
    assert replace(SHEET, rejected=(replace(old, as_of=None),)).rejection_of(P5) is not None


def test_a_slice_of_chips_has_what_its_chips_have():
    chip = SHEET.find("tpu-v4/on_demand")
    rejected = replace(
        REJECTED, provider="gcp", option=chip.option, region=chip.region, as_of=chip.as_of
    )
    sheet = replace(SHEET, rejected=(rejected,))

    assert sheet.rejection_of(sheet.find("tpu-v4-32/on_demand")) == rejected
    assert sheet.rejection_of(sheet.find("tpu-v4-32/spot")) is None


def test_what_no_sheet_prices_is_unpriced():
    assert unpriced_options([SHEET], SHEET.prices) == SHEET.unknown
    assert unpriced_options([SHEET], ()) == SHEET.unknown
    known_price = replace(
        P5, sku="p4d.24xlarge", pricing_model=SHEET.unknown[0].pricing_model, term="1y"
    )
    assert unpriced_options([SHEET], [known_price]) == SHEET.unknown[1:]


def test_an_older_price_that_replaces_a_newer_one_says_so():
    old = replace(P5, as_of=P5.as_of.replace(year=2025), usd_per_hour=P5.usd_per_hour + 1)
    live = replace(old, layer=PriceLayer.LIVE)

    for price, day in (
        (live, P5.as_of),
        (replace(live, usd_per_hour=P5.usd_per_hour), None),
        (replace(live, as_of=P5.as_of), None),
        (replace(old, layer=PriceLayer.OVERRIDE), None),
    ):
        own = PriceSheet(name="own", prices=(price,))
        layered_price = layer_sheets([SHEET, own], name="both").find("p5.48xlarge/on_demand")
        assert layered_price == replace(price, newer_below=day)


def test_a_price_between_an_older_and_a_newer_one_says_that_the_newest_is_replaced():
    live = [
        PriceSheet(
            name=name,
            prices=(
                replace(
                    P5, as_of=P5.as_of.replace(year=year), usd_per_hour=usd, layer=PriceLayer.LIVE
                ),
            ),
        )
        for name, year, usd in (
            ("first", 2024, P5.usd_per_hour + 1),
            ("second", 2025, P5.usd_per_hour + 2),
        )
    ]

    price = layer_sheets([SHEET, *live], name="all").find("p5.48xlarge/on_demand")

    assert price.as_of.year == 2025
    assert price.newer_below == P5.as_of
