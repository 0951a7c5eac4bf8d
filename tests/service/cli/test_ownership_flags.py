import pytest

from perfledger_cost_models.tco.server_site import ServerSite
from perfledger_service.cli.ownership_flags import GridFlags, HorizonFlags, OwnershipFlags
from perfledger_service.cli.price_flags import PriceFlags
from perfledger_service.errors import UsageError


@pytest.fixture(scope="module")
def books():
    return PriceFlags().books


def test_percent_become_shares(books):
    request = OwnershipFlags(allocated_percent=60, availability_percent=99).request(books)

    assert (request.use, request.terms.availability) == (0.6, 0.99)


@pytest.mark.parametrize(("percent", "is_doubtful"), [(0.6, True), (1, False), (60, False)])
def test_a_share_below_one_percent_is_named_as_it_is_read(books, capsys, percent, is_doubtful):
    request = OwnershipFlags(allocated_percent=percent).request(books)

    assert request.use == percent / 100
    warning = "--allocated-percent 0.6 is 0.6 %, not 60 %: give 60 if you mean that share\n"
    assert capsys.readouterr().err == (warning if is_doubtful else "")


def test_without_a_utilization_it_is_the_inputs_and_is_named_as_assumed(books):
    request = OwnershipFlags().request(books)

    assert request.use == pytest.approx(0.4)
    assert len(request.assumed) == 1


def test_terms_of_an_owned_server_are_taken(books):
    flags = OwnershipFlags(site=ServerSite.FACILITY, no_support=True, mean_kw=6.5)

    request = flags.request(books)

    assert request.terms.site is ServerSite.FACILITY
    assert not request.terms.has_support


@pytest.mark.parametrize("years", [0, 4, 7])
def test_a_horizon_without_a_residual_value_is_refused(years):
    assert int(HorizonFlags(years=3).horizon) == 3

    with pytest.raises(UsageError, match=f"--years {years}: give 3 or 5"):
        _ = HorizonFlags(years=years).horizon


def test_a_grid_has_kilograms_and_a_share_of_contracts():
    grid = GridFlags(location_kg_per_kwh=0.4, market_kg_per_kwh=0.1, carbon_free_percent=25).grid

    assert (grid.location_kg_per_kwh, grid.market_kg_per_kwh, grid.contract_share) == (
        0.4,
        0.1,
        0.25,
    )
