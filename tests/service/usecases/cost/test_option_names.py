from dataclasses import replace

import pytest

from perfledger_cost_models.prices.packaged_sheet import packaged_sheet
from perfledger_cost_models.tco.onprem import SERVERS
from perfledger_service.errors import NotFoundError
from perfledger_service.usecases.cost.option_names import (
    accelerators_named,
    is_price_named,
    is_server_named,
    split_names,
)


def skus_at(*names):
    return {price.sku for price in packaged_sheet().prices if is_price_named(price, names)}


def test_the_beginning_of_a_name_is_a_family_and_not_another_one():
    assert skus_at("p5") == {"p5.48xlarge", "p5.4xlarge"}
    assert skus_at("p5en") == {"p5en.48xlarge"}
    assert "tpu-v5e" not in skus_at("tpu-v5")
    assert {"tpu-v4", "tpu-v5e"} <= skus_at("tpu")


@pytest.mark.parametrize("name", ["p5.48xlarge", "aws:p5.48xlarge", "P5.48XLARGE"])
def test_a_machine_is_named_with_and_without_its_provider(name):
    assert skus_at(name) == {"p5.48xlarge"}


def test_names_are_joined_by_commas():
    assert split_names(" on-prem, p5,,tpu-v4 ") == ("on-prem", "p5", "tpu-v4")
    assert split_names("") == ()


def test_a_provider_names_all_that_it_sells():
    providers = {
        each.provider for each in packaged_sheet().prices if is_price_named(each, ("gcp",))
    }

    assert providers == {"gcp"}


def test_an_option_is_that_option_alone():
    options = {
        price.option
        for price in packaged_sheet().prices
        if is_price_named(price, ("p5.48xlarge/on_demand",))
    }

    assert options == {"p5.48xlarge/on_demand"}


def test_on_premises_are_all_servers_and_a_server_is_itself():
    assert all(is_server_named(server, ("on-prem",)) for server in SERVERS)
    assert [is_server_named(server, ("onprem-8xA100",)) for server in SERVERS] == [False, True]
    assert not is_server_named(SERVERS[0], ("p5",))
    assert is_server_named(SERVERS[0], ())


def test_accelerators_are_those_of_the_names_in_their_order():
    names = accelerators_named(packaged_sheet(), SERVERS, ("tpu-v4", "on-prem", "p4d"))

    assert names == ("TPU-v4", "H100-80GB", "A100-80GB", "A100-40GB")


def test_a_name_that_sells_only_what_is_unknown_is_known():
    sheet = replace(packaged_sheet(), prices=())

    assert accelerators_named(sheet, (), ("p4d",)) == ("A100-40GB",)


@pytest.mark.parametrize("name", ["p55", "", "mars", "aws:"])
def test_an_unknown_name_says_which_there_are(name):
    with pytest.raises(NotFoundError, match="on-prem, a machine"):
        accelerators_named(packaged_sheet(), SERVERS, (name,))
