import json

import pytest

from perfledger_service.errors import PriceServiceError
from perfledger_service.price_services import price_lists
from perfledger_service.price_services.price_lists import (
    AZURE_NAMES_PER_QUERY,
    GOOGLE_SERVICES,
    PriceServiceUrls,
    aws_address,
    aws_savings_address,
    azure_address,
    azure_pages,
    google_address,
    google_pages,
)
from tests.service.servers.price_server import ITEM, PLANS_PATH

KEY = "AIza-not-a-real-key"
INDEX = f"{PLANS_PATH}/current/region_index.json"


def test_addresses_are_those_that_the_providers_document():
    roots = PriceServiceUrls()

    assert aws_address(roots, "us-east-1") == (
        "https://pricing.us-east-1.amazonaws.com/offers/v1.0/aws/AmazonEC2/current/us-east-1/index.csv"
    )
    assert azure_address(roots) == "https://prices.azure.com/api/retail/prices"
    assert google_address(roots, "E000-3F24-B8AA") == (
        "https://cloudbilling.googleapis.com/v1/services/E000-3F24-B8AA/skus"
    )


@pytest.mark.parametrize("region", ["", "-", "../../x", "us east", "é", "us-east-1?x"])
def test_a_region_that_is_none_is_refused(region):
    with pytest.raises(PriceServiceError, match="is not an AWS region"):
        aws_address(PriceServiceUrls(), region)


def test_savings_plans_are_where_awss_index_says(downloader, roots):
    address = aws_savings_address(downloader, "us-east-1", roots=roots)

    assert address == f"{roots.aws}{PLANS_PATH}/20261120184447/us-east-1/index.csv"


@pytest.mark.parametrize(
    "index",
    [
        b'{"regions": []}',
        b'{"regions": [{"regionCode": "us-east-1", "versionUrl": "@evil.example/index.json"}]}',
        b'{"regions": [{"regionCode": "us-east-1", "versionUrl": "/../offers/index.json"}]}',
        b'{"regions": [{"regionCode": "us-east-1", "versionUrl": "\xff"}]}',
        b'{"regions": "none"}',
        b"[]",
        b"",
        b'{"x": ' + b"[" * 100_000,
    ],
)
def test_an_index_that_names_no_price_list_is_an_error(downloader, services, roots, index):
    services.answers[INDEX] = 200, index, {}

    with pytest.raises(PriceServiceError, match="index of savings plans"):
        aws_savings_address(downloader, "us-east-1", roots=roots)


def test_azures_pages_are_followed_to_the_last(downloader, services, roots):
    pages = list(azure_pages(downloader, ["Standard_ND96isr_H100_v5"], roots=roots))

    regions = [json.loads(page)["Items"][0]["armRegionName"] for page in pages]
    assert regions == ["eastus", "westeurope"]
    assert [list(query) for _, query, _ in services.requests] == [
        ["api-version", "$filter"],
        ["$skip"],
    ]


def test_azure_is_asked_for_a_few_names_at_a_time(downloader, services, roots):
    services.answers["/api/retail/prices"] = 200, b'{"Items": []}', {}
    names = [f"Standard_{number}" for number in range(AZURE_NAMES_PER_QUERY + 1)]

    list(azure_pages(downloader, names, roots=roots))

    first, second = (query["$filter"][0] for _, query, _ in services.requests)
    assert first.count("armSkuName eq ") == AZURE_NAMES_PER_QUERY
    assert second.endswith(f"(armSkuName eq '{names[-1]}')")


@pytest.mark.parametrize(
    "link",
    [
        "https://elsewhere.example/api/retail/prices",
        "http://127.0.0.1:1/api/retail/prices",
        "file:///etc/passwd",
        "http://[::1",
    ],
)
def test_a_next_page_elsewhere_is_not_followed(downloader, services, roots, link):
    page = json.dumps({"Items": [ITEM], "NextPageLink": link}).encode()
    services.answers["/api/retail/prices"] = 200, page, {}

    with pytest.raises(PriceServiceError, match="is not at"):
        list(azure_pages(downloader, ["x"], roots=roots))
    assert len(services.requests) == 1


@pytest.mark.parametrize(
    "page",
    [
        b"<html>",
        b"[]",
        b'{"NextPageLink": 3}',
        b'{"NextPageLink": "\xff"}',
        b'{"x": ' + b"[" * 100_000,
    ],
)
def test_an_answer_that_is_no_page_is_an_error(downloader, services, roots, page):
    services.answers["/api/retail/prices"] = 200, page, {}

    with pytest.raises(PriceServiceError, match="Azure's answer is not a page of prices"):
        list(azure_pages(downloader, ["x"], roots=roots))


def test_googles_catalog_is_read_service_by_service_with_the_key_in_a_header(
    downloader, services, roots
):
    pages = list(google_pages(downloader, KEY, roots=roots))

    assert len(pages) == 2 * len(GOOGLE_SERVICES)
    assert [(path, query.get("pageToken")) for path, query, _ in services.requests] == [
        (f"/v1/services/{service}/skus", token)
        for service in GOOGLE_SERVICES
        for token in (None, ["next"])
    ]
    assert all(headers["X-Goog-Api-Key"] == KEY for _, _, headers in services.requests)
    assert not any(KEY in str((path, query)) for path, query, _ in services.requests)


@pytest.mark.parametrize("provider", ["Azure", "Google"])
def test_pages_without_an_end_are_an_error(downloader, services, roots, monkeypatch, provider):
    monkeypatch.setattr(price_lists, "MAX_PAGES", 3)
    link = {"NextPageLink": azure_address(roots), "nextPageToken": "next"}
    page = 200, json.dumps(link).encode(), {}
    services.answers = {
        "/api/retail/prices": page,
        f"/v1/services/{GOOGLE_SERVICES[0]}/skus": page,
    }
    pages = (
        azure_pages(downloader, ["x"], roots=roots)
        if provider == "Azure"
        else google_pages(downloader, KEY, roots=roots)
    )

    with pytest.raises(PriceServiceError, match=f"{provider} has more than 3 pages"):
        list(pages)
    assert len(services.requests) == 3
