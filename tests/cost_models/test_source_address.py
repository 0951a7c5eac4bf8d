import pytest

from perfledger_cost_models.prices.packaged_sheet import packaged_sheet
from perfledger_cost_models.source_address import is_address, named_address
from perfledger_cost_models.tco.hardware_inputs import packaged_hardware_inputs


@pytest.mark.parametrize(
    ("source", "address"),
    [
        ("us-east-1; see https://aws.amazon.com/x?y=1, of June", "https://aws.amazon.com/x?y=1"),
        ("read at https://aws.amazon.com/x.", "https://aws.amazon.com/x"),
        ("dstackai/dstack PR 4110 (2026-08-06)", ""),
        ("a public secondary source", ""),
        ("javascript:alert(1)", ""),
        ("http://x.example/", ""),
        ('https://x.example/"onclick="a', "https://x.example/"),
        ("", ""),
    ],
)
def test_a_source_has_the_address_that_it_names(source, address):
    assert named_address(source) == address


def test_packaged_prices_have_https_addresses_and_the_others_name_no_repository():
    prices = packaged_sheet().prices
    without = {price.source for price in prices if not price.source_url}

    assert all(is_address(price.source_url) for price in prices if price.source_url)
    assert sum(price.source_url != "" for price in prices) == 131
    assert not any("/" in source.split(" ")[0] for source in without)


def test_packaged_hardware_inputs_have_https_addresses_where_one_is_known():
    addresses = {each.name: each.source_url for each in packaged_hardware_inputs().parameters}

    assert {name for name, address in addresses.items() if address} == {
        "electricity_us_industrial",
        "wacc",
    }
    assert all(is_address(address) for address in addresses.values() if address)
