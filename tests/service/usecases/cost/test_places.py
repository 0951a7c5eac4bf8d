from dataclasses import replace

import pytest

from perfledger_cost_models.prices.packaged_prices import packaged_sheet
from perfledger_cost_models.tco.onprem import SERVERS
from perfledger_service.errors import NotFoundError
from perfledger_service.usecases.cost.places import (
    accelerators_at,
    is_priced_at,
    is_server_at,
    places_of,
)


def skus_at(*places):
    return {price.sku for price in packaged_sheet().prices if is_priced_at(price, places)}


def test_the_beginning_of_a_name_is_a_family_and_not_another_one():
    assert skus_at("p5") == {"p5.48xlarge", "p5.4xlarge"}
    assert skus_at("p5en") == {"p5en.48xlarge"}
    assert "tpu-v5e" not in skus_at("tpu-v5")
    assert {"tpu-v4", "tpu-v5e"} <= skus_at("tpu")


@pytest.mark.parametrize("place", ["p5.48xlarge", "aws:p5.48xlarge", "P5.48XLARGE"])
def test_a_machine_is_named_with_and_without_its_provider(place):
    assert skus_at(place) == {"p5.48xlarge"}


def test_places_are_joined_by_commas():
    assert places_of(" on-prem, p5,,tpu-v4 ") == ("on-prem", "p5", "tpu-v4")
    assert places_of("") == ()


def test_a_provider_names_all_that_it_sells():
    providers = {each.provider for each in packaged_sheet().prices if is_priced_at(each, ("gcp",))}

    assert providers == {"gcp"}


def test_an_option_is_that_option_alone():
    options = {
        price.option
        for price in packaged_sheet().prices
        if is_priced_at(price, ("p5.48xlarge/on_demand",))
    }

    assert options == {"p5.48xlarge/on_demand"}


def test_on_premises_are_all_servers_and_a_server_is_itself():
    assert all(is_server_at(server, ("on-prem",)) for server in SERVERS)
    assert [is_server_at(server, ("onprem-8xA100",)) for server in SERVERS] == [False, True]
    assert not is_server_at(SERVERS[0], ("p5",))
    assert is_server_at(SERVERS[0], ())


def test_accelerators_are_those_of_the_places_in_their_order():
    names = accelerators_at(packaged_sheet(), SERVERS, ("tpu-v4", "on-prem", "p4d"))

    assert names == ("TPU-v4", "H100-80GB", "A100-80GB", "A100-40GB")


def test_a_place_that_sells_only_what_is_unknown_is_known():
    sheet = replace(packaged_sheet(), prices=())

    assert accelerators_at(sheet, (), ("p4d",)) == ("A100-40GB",)


@pytest.mark.parametrize("place", ["p55", "", "mars", "aws:"])
def test_an_unknown_place_says_which_there_are(place):
    with pytest.raises(NotFoundError, match="on-prem, a machine"):
        accelerators_at(packaged_sheet(), SERVERS, (place,))
