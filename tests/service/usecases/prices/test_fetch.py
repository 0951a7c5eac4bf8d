"""Prices fetched from a real HTTP server that answers as the providers' services do."""

import io
from datetime import date
from decimal import Decimal

import pytest
from pydantic import SecretStr
from rich.console import Console

from perfledger_service.cli.progress import DownloadBar
from perfledger_service.errors import SettingsError, UsageError
from perfledger_service.price_services.price_lists import PriceServiceUrls
from perfledger_service.settings.service import price_settings
from perfledger_service.usecases.prices.fetch import fetch_prices
from perfledger_service.usecases.prices.provider import Provider
from tests.service.servers.price_server import AWS, Progress, running

TODAY = date(2026, 11, 22)
KEY = "AIza-not-a-real-key"


@pytest.fixture
def services():
    with running() as server:
        yield server


@pytest.fixture
def fetch(services):
    root = services.url

    def fetch(*providers, key=KEY, watcher=None):
        return fetch_prices(
            providers,
            aws_regions=("us-east-1",),
            settings=price_settings().model_copy(
                update={"google_api_key": SecretStr(key) if key else None}
            ),
            progress=watcher or Progress(),
            today=TODAY,
            roots=PriceServiceUrls(aws=root, azure=root, google=root),
        )

    return fetch


def test_awss_list_is_read_as_it_comes(fetch):
    watcher = Progress()

    bulk_price, _ = fetch(Provider.AWS, watcher=watcher)

    (price,) = bulk_price.prices
    assert (price.option, price.usd_per_hour) == ("p5.48xlarge/on_demand", Decimal("55.04"))
    assert price.as_of == date(2026, 11, 21)
    assert "/AmazonEC2/current/us-east-1/index.csv (sha256 " in price.source
    assert sum(watcher.totals.values()) == watcher.count
    assert len(AWS) in watcher.totals.values()


def test_awss_savings_plans_are_where_its_index_says(fetch):
    _, bulk_price = fetch(Provider.AWS)

    (price,) = bulk_price.prices
    assert price.option == "p5.48xlarge/savings_plan/3y_no_upfront"
    assert (price.usd_per_hour, price.as_of) == (Decimal("23.777"), date(2026, 11, 20))
    assert "/20261120184447/us-east-1/index.csv (sha256 " in price.source


def test_azures_pages_are_followed_and_only_known_instances_are_asked_for(fetch, services):
    (bulk_price,) = fetch(Provider.AZURE)

    assert {price.region for price in bulk_price.prices} == {"eastus", "westeurope"}
    asked_filter = services.requests[0][1]["$filter"][0]
    assert "armSkuName eq 'Standard_ND96isr_H100_v5'" in asked_filter


def test_googles_key_is_in_a_header_and_never_in_an_address(fetch, services):
    (bulk_price,) = fetch(Provider.GOOGLE)

    (price,) = bulk_price.prices
    assert (price.option, price.usd_per_hour) == ("tpu-v5e/on_demand", Decimal("1.2"))
    assert all(headers["X-Goog-Api-Key"] == KEY for _, _, headers in services.requests)
    assert not any(KEY in str((path, query)) for path, query, _ in services.requests)
    assert KEY not in price.source


def test_google_without_a_key_is_not_asked(fetch, services):
    with pytest.raises(SettingsError, match="PERFLEDGER_GOOGLE_API_KEY"):
        fetch(Provider.GOOGLE, key="")

    assert services.requests == []


def test_an_answer_that_is_no_page_is_an_error(fetch, services):
    services.answers["/api/retail/prices"] = 200, b"<html>", {}

    with pytest.raises(UsageError, match="page 1"):
        fetch(Provider.AZURE)


@pytest.mark.parametrize("is_terminal", [False, True])
def test_a_download_shows_what_comes(fetch, is_terminal):
    stream = io.StringIO()

    with DownloadBar(Console(file=stream, force_terminal=is_terminal, width=100)) as bar:
        fetch(Provider.AWS, watcher=bar)

    assert "/current/us-east-1/index.csv" in stream.getvalue() or is_terminal
    assert "fetching" not in stream.getvalue() or not is_terminal
