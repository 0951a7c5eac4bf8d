"""Prices fetched from a real HTTP server that answers as the providers' services do."""

import io
import json
import threading
from datetime import date
from decimal import Decimal
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlsplit

import pytest
from pydantic import SecretStr
from rich.console import Console

from perfledger_service.cli.progress import DownloadBar
from perfledger_service.errors import PriceServiceError, SettingsError, UsageError
from perfledger_service.price_services.download import Downloader, check_address
from perfledger_service.price_services.price_lists import (
    PriceServiceUrls,
    aws_address,
    google_pages,
)
from perfledger_service.settings.service import price_settings
from perfledger_service.usecases.prices.fetch import fetch_prices
from perfledger_service.usecases.prices.provider import Provider

TODAY = date(2026, 11, 22)
KEY = "AIza-not-a-real-key"
# Written by hand in the shape of each service's answers.
AWS = (
    '"FormatVersion","v1.0"\n"Publication Date","2026-11-21T00:00:00Z"\n'
    '"SKU","OfferTermCode","TermType","EffectiveDate","Unit","PricePerUnit","Currency",'
    '"LeaseContractLength","PurchaseOption","OfferingClass","Instance Type","Tenancy",'
    '"Operating System","CapacityStatus","Pre Installed S/W","Region Code","MarketOption"\n'
    '"A","B","OnDemand","2025-06-01","Hrs","55.04","USD","","","","p5.48xlarge","Shared","Linux",'
    '"Used","NA","us-east-1","OnDemand"\n'
)
PLANS = (
    "FormatVersion,v1.0\nPublication Date,2026-11-20T18:44:47Z\n"
    "OfferCode,AmazonComputeSavingsPlan\n"
    "SKU,RateCode,Unit,EffectiveDate,DiscountedRate,Currency,DiscountedSKU,DiscountedServiceCode,"
    "DiscountedUsageType,DiscountedOperation,PurchaseOption,LeaseContractLength,"
    "LeaseContractLengthUnit,Product Family,DiscountedRegionCode,DiscountedInstanceType\n"
    "A,A.B,Hrs,2026-06-05T18:51:13Z,23.777,USD,B,AmazonEC2,BoxUsage:p5.48xlarge,RunInstances,"
    "No Upfront,3,year,EC2InstanceSavingsPlans,us-east-1,p5.48xlarge\n"
)
PLANS_PATH = "/savingsPlan/v1.0/aws/AWSComputeSavingsPlan"
PLANS_INDEX = {
    "regions": [
        {
            "regionCode": "us-east-1",
            "versionUrl": f"{PLANS_PATH}/20261120184447/us-east-1/index.json",
        }
    ]
}
ITEM = {
    "currencyCode": "USD",
    "retailPrice": 98.32,
    "armRegionName": "eastus",
    "effectiveStartDate": "2024-01-01T00:00:00Z",
    "meterName": "ND96isr H100 v5",
    "productName": "Virtual Machines NDsr H100 v5 Series",
    "skuName": "ND96isr H100 v5",
    "serviceName": "Virtual Machines",
    "unitOfMeasure": "1 Hour",
    "type": "Consumption",
    "armSkuName": "Standard_ND96isr_H100_v5",
}


def google_sku(description, units, nanos):
    price = {"currencyCode": "USD", "units": str(units), "nanos": nanos}
    expression = {"usageUnit": "h", "tieredRates": [{"unitPrice": price}]}
    return {
        "description": description,
        "category": {"resourceFamily": "Compute", "usageType": "OnDemand"},
        "serviceRegions": ["us-central1"],
        "pricingInfo": [{"pricingExpression": expression, "effectiveTime": "2026-09-26T00:00:00Z"}],
    }


class Server(ThreadingHTTPServer):
    """Remembers what was asked; `answers` replaces what one path says."""

    def __init__(self, handler):
        super().__init__(("127.0.0.1", 0), handler)
        self.asked, self.answers = [], {}


class Services(BaseHTTPRequestHandler):
    """The three services on one port."""

    server: Server

    def do_GET(self):
        parts = urlsplit(self.path)
        query = parse_qs(parts.query)
        self.server.asked.append((parts.path, query, dict(self.headers)))
        status, body, headers = self.server.answers.get(parts.path) or self.usual(parts.path, query)
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def usual(self, path, query):
        root = f"http://127.0.0.1:{self.server.server_port}"
        if path.startswith(PLANS_PATH):
            is_index = path == f"{PLANS_PATH}/current/region_index.json"
            return 200, (json.dumps(PLANS_INDEX) if is_index else PLANS).encode(), {}
        if path.endswith("index.csv"):
            return 200, AWS.encode(), {}
        if path == "/api/retail/prices":
            is_second = "$skip" in query
            other = ITEM | {"armRegionName": "westeurope", "retailPrice": 127.816}
            link = None if is_second else f"{root}/api/retail/prices?$skip=1"
            page = {"Items": [other if is_second else ITEM], "NextPageLink": link}
            return 200, json.dumps(page).encode(), {}
        is_second = query.get("pageToken") == ["next"]
        sku = google_sku("TpuV5e Running in Iowa", 1, 200_000_000)
        page = {"skus": [sku], "nextPageToken": "" if is_second else "next"}
        return 200, json.dumps(page).encode(), {}

    def log_message(self, *_):
        pass


@pytest.fixture
def services():
    server = Server(Services)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield server
    server.shutdown()
    server.server_close()
    thread.join()


class Silent:
    def __init__(self):
        self.totals, self.count = {}, 0

    def began(self, name, *, total_bytes):
        self.totals[name] = total_bytes

    def received(self, count):
        self.count += count


@pytest.fixture
def fetch(services):
    root = f"http://127.0.0.1:{services.server_port}"

    def fetch(*providers, key=KEY, watcher=None):
        return fetch_prices(
            providers,
            aws_regions=("us-east-1",),
            settings=price_settings().model_copy(
                update={"google_api_key": SecretStr(key) if key else None}
            ),
            progress=watcher or Silent(),
            today=TODAY,
            roots=PriceServiceUrls(aws=root, azure=root, google=root),
        )

    return fetch


def test_awss_list_is_read_as_it_comes(fetch):
    watcher = Silent()

    found, _ = fetch(Provider.AWS, watcher=watcher)

    (price,) = found.prices
    assert (price.option, price.usd_per_hour) == ("p5.48xlarge/on_demand", Decimal("55.04"))
    assert price.as_of == date(2026, 11, 21)
    assert "/AmazonEC2/current/us-east-1/index.csv (sha256 " in price.source
    assert sum(watcher.totals.values()) == watcher.count
    assert len(AWS) in watcher.totals.values()


def test_awss_savings_plans_are_where_its_index_says(fetch):
    _, found = fetch(Provider.AWS)

    (price,) = found.prices
    assert price.option == "p5.48xlarge/savings_plan/3y_no_upfront"
    assert (price.usd_per_hour, price.as_of) == (Decimal("23.777"), date(2026, 11, 20))
    assert "/20261120184447/us-east-1/index.csv (sha256 " in price.source


@pytest.mark.parametrize(
    "index",
    [
        {"regions": []},
        {"regions": [{"regionCode": "us-east-1", "versionUrl": "@elsewhere.example/index.json"}]},
        {"regions": [{"regionCode": "us-east-1", "versionUrl": "/../offers/index.json"}]},
        {"regions": "none"},
        [],
    ],
)
def test_an_index_that_names_no_price_list_is_an_error(fetch, services, index):
    path = f"{PLANS_PATH}/current/region_index.json"
    services.answers[path] = 200, json.dumps(index).encode(), {}

    with pytest.raises(PriceServiceError, match="index of savings plans"):
        fetch(Provider.AWS)


def test_azures_pages_are_followed_and_only_known_instances_are_asked_for(fetch, services):
    (found,) = fetch(Provider.AZURE)

    assert {price.region for price in found.prices} == {"eastus", "westeurope"}
    asked = services.asked[0][1]["$filter"][0]
    assert "armSkuName eq 'Standard_ND96isr_H100_v5'" in asked


def test_googles_key_is_in_a_header_and_never_in_an_address(fetch, services):
    (found,) = fetch(Provider.GOOGLE)

    (price,) = found.prices
    assert (price.option, price.usd_per_hour) == ("tpu-v5e/on_demand", Decimal("1.2"))
    assert all(headers["X-Goog-Api-Key"] == KEY for _, _, headers in services.asked)
    assert not any(KEY in str((path, query)) for path, query, _ in services.asked)
    assert KEY not in price.source


def test_google_without_a_key_is_not_asked(fetch, services):
    with pytest.raises(SettingsError, match="PERFLEDGER_GOOGLE_API_KEY"):
        fetch(Provider.GOOGLE, key="")

    assert services.asked == []


@pytest.mark.parametrize(
    "link",
    [
        "https://elsewhere.example/api/retail/prices",
        "http://127.0.0.1:1/api/retail/prices",
        "file:///etc/passwd",
        "http://[::1",
    ],
)
def test_a_next_page_elsewhere_is_not_followed(fetch, services, link):
    page = json.dumps({"Items": [ITEM], "NextPageLink": link}).encode()
    services.answers["/api/retail/prices"] = 200, page, {}

    with pytest.raises(PriceServiceError, match="is not at"):
        fetch(Provider.AZURE)


def test_a_redirect_is_not_followed(fetch, services):
    services.answers["/api/retail/prices"] = 302, b"", {"Location": "https://elsewhere.example/"}

    with pytest.raises(PriceServiceError, match="redirects"):
        fetch(Provider.AZURE)


@pytest.mark.parametrize("status", [403, 429, 500])
def test_an_error_says_what_was_answered(fetch, services, status):
    services.answers["/api/retail/prices"] = status, b"no", {}

    with pytest.raises(PriceServiceError, match=f"answered {status}"):
        fetch(Provider.AZURE)


def test_an_answer_that_is_no_page_is_an_error(fetch, services):
    services.answers["/api/retail/prices"] = 200, b"<html>", {}

    with pytest.raises(UsageError, match="page 1"):
        fetch(Provider.AZURE)


def test_a_line_without_an_end_is_an_error(fetch, services):
    path = "/offers/v1.0/aws/AmazonEC2/current/us-east-1/index.csv"
    services.answers[path] = 200, b"x" * (2**20 + 2**18), {}

    with pytest.raises(PriceServiceError, match="line of over"):
        fetch(Provider.AWS)


def test_a_page_over_the_limit_is_not_read_to_its_end(services):
    root = f"http://127.0.0.1:{services.server_port}"
    services.answers["/big"] = 200, b"x" * 1000, {}
    downloader = Downloader(Silent())

    with pytest.raises(PriceServiceError, match="more than 999 bytes"):
        downloader.page(f"{root}/big", root=root, params={}, headers={}, most=999)
    downloader.close()


def test_a_download_ends_at_its_deadline(services):
    root = f"http://127.0.0.1:{services.server_port}"
    clock = iter([0.0, 1e9])
    downloader = Downloader(Silent(), monotonic=lambda: next(clock))

    with pytest.raises(PriceServiceError, match="no prices after"):
        list(google_pages(downloader, KEY, roots=PriceServiceUrls(google=root)))
    downloader.close()


def test_a_service_that_does_not_answer_is_named_without_its_parameters():
    root = "http://127.0.0.1:9"
    downloader = Downloader(Silent())

    with pytest.raises(PriceServiceError, match="did not answer") as caught:
        downloader.page(f"{root}/x", root=root, params={"key": KEY}, headers={}, most=9)
    downloader.close()
    assert KEY not in str(caught.value)


@pytest.mark.parametrize(
    ("url", "root"),
    [
        ("http://prices.azure.com/x", "http://prices.azure.com"),
        ("https://prices.azure.com.evil.example/x", "https://prices.azure.com"),
        ("https://prices.azure.com@evil.example/x", "https://prices.azure.com"),
        ("https://prices.azure.com:8443/x", "https://prices.azure.com"),
    ],
)
def test_only_https_at_the_same_host_and_port_is_read(url, root):
    with pytest.raises(PriceServiceError, match="is not at"):
        check_address(url, root=root)


def test_the_usual_port_may_be_written_out():
    check_address("https://prices.azure.com:443/api/retail/prices", root=PriceServiceUrls().azure)


@pytest.mark.parametrize("region", ["", "../../x", "us east", "é"])
def test_a_region_that_is_none_is_refused(region):
    with pytest.raises(PriceServiceError, match="is not an AWS region"):
        aws_address(PriceServiceUrls(), region)


@pytest.mark.parametrize("is_terminal", [False, True])
def test_a_download_shows_what_comes(fetch, is_terminal):
    shown = io.StringIO()

    with DownloadBar(Console(file=shown, force_terminal=is_terminal, width=100)) as bar:
        fetch(Provider.AWS, watcher=bar)

    assert "/current/us-east-1/index.csv" in shown.getvalue() or is_terminal
    assert "fetching" not in shown.getvalue() or not is_terminal
