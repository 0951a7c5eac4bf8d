"""A server that answers as the price services do, and a downloader."""

import pytest

from perfledger_service.price_services.download import Downloader
from perfledger_service.price_services.price_lists import PriceServiceUrls
from tests.service.servers.price_server import Progress, running


@pytest.fixture
def services():
    with running() as server:
        yield server


@pytest.fixture
def roots(services):
    return PriceServiceUrls(aws=services.url, azure=services.url, google=services.url)


@pytest.fixture
def progress():
    return Progress()


@pytest.fixture
def downloader(progress):
    downloader = Downloader(progress)
    yield downloader
    downloader.close()
