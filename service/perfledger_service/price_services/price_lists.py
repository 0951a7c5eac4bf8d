"""Reads the public price services of AWS, Azure and Google as lines and pages."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import msgspec

from perfledger_cost_models.price_feeds.azure import MAX_PAGE_BYTES
from perfledger_service.errors import PriceServiceError
from perfledger_service.price_services.download import MAX_PAGES, Downloader

# Instances per request: their names are part of the address.
AZURE_NAMES_PER_QUERY = 15
# Only the preview version of the API returns savings plans.
AZURE_VERSION = "2023-01-01-preview"
# Compute Engine (GPUs, cores, memory) and Cloud TPU in Google's Cloud Billing Catalog.
GOOGLE_SERVICES = ("6F81-5844-456A", "E000-3F24-B8AA")
GOOGLE_PAGE_SIZE = 5000
MAX_INDEX_BYTES = 2**20  # of AWS's savings plans: a line for each of some hundred regions and zones
_VERSION = re.compile(r"/savingsPlan/v1\.0/aws/AWSComputeSavingsPlan/[\w-]+/[\w-]+/index\.json")


@dataclass(frozen=True, slots=True, kw_only=True)
class PriceServiceUrls:
    """Root addresses of the services."""

    aws: str = "https://pricing.us-east-1.amazonaws.com"
    azure: str = "https://prices.azure.com"
    google: str = "https://cloudbilling.googleapis.com"


PUBLIC = PriceServiceUrls()


class _Page(msgspec.Struct):
    """Position of the next page: an address on Azure, a token on Google."""

    link: str | None = msgspec.field(default=None, name="NextPageLink")
    token: str = msgspec.field(default="", name="nextPageToken")


class _Region(msgspec.Struct):
    """Path of the newest savings plans of one region."""

    code: str = msgspec.field(name="regionCode")
    path: str = msgspec.field(name="versionUrl")


class _Regions(msgspec.Struct):
    regions: tuple[_Region, ...]


_REGIONS_DECODER = msgspec.json.Decoder(_Regions)
_PAGE_DECODER = msgspec.json.Decoder(_Page)


def aws_address(roots: PriceServiceUrls, region: str) -> str:
    """Return the address of a region's EC2 price list; raise PriceServiceError for a bad region."""
    if not region.replace("-", "").isalnum() or not region.isascii():
        msg = f"{region[:40]!r} is not an AWS region: write one such as us-east-1"
        raise PriceServiceError(msg)
    return f"{roots.aws}/offers/v1.0/aws/AmazonEC2/current/{region}/index.csv"


def aws_savings_address(
    downloader: Downloader, region: str, *, roots: PriceServiceUrls = PUBLIC
) -> str:
    """Return the address of a region's savings plan price list; raise PriceServiceError.

    The address contains a version, which is listed in AWS's index of regions:
    https://docs.aws.amazon.com/awsaccountbilling/latest/aboutv2/sp-offer-file.html
    """
    url = f"{roots.aws}/savingsPlan/v1.0/aws/AWSComputeSavingsPlan/current/region_index.json"
    page = downloader.page(url, root=roots.aws, params={}, headers={}, most=MAX_INDEX_BYTES)
    try:
        regions = _REGIONS_DECODER.decode(page).regions
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        msg = f"AWS's index of savings plans cannot be read ({error}): try again later"
        raise PriceServiceError(msg) from error
    path = next((each.path for each in regions if each.code == region), "")
    if _VERSION.fullmatch(path) is None:
        msg = f"AWS's index of savings plans has no price list of {region}: choose another region"
        raise PriceServiceError(msg)
    return f"{roots.aws}{path.removesuffix('.json')}.csv"


def azure_address(roots: PriceServiceUrls) -> str:
    """Return the address of the retail prices."""
    return f"{roots.azure}/api/retail/prices"


def google_address(roots: PriceServiceUrls, service: str) -> str:
    """Return the address of a service's SKUs."""
    return f"{roots.google}/v1/services/{service}/skus"


def azure_pages(
    downloader: Downloader, names: Sequence[str], *, roots: PriceServiceUrls = PUBLIC
) -> Iterator[bytes]:
    """Yield the pages of instances' retail prices by armSkuName; raise PriceServiceError."""
    for first in range(0, len(names), AZURE_NAMES_PER_QUERY):
        some = names[first : first + AZURE_NAMES_PER_QUERY]
        names_filter = " or ".join(f"armSkuName eq '{name}'" for name in some)
        params = {
            "api-version": AZURE_VERSION,
            "$filter": f"serviceName eq 'Virtual Machines' and ({names_filter})",
        }
        url = azure_address(roots)
        for _ in range(MAX_PAGES):
            page = downloader.page(
                url, root=roots.azure, params=params, headers={}, most=MAX_PAGE_BYTES
            )
            yield page
            following = _decode_page(page, "Azure").link
            if not following:
                break
            url, params = following, {}
        else:
            raise PriceServiceError(_too_many_pages_message("Azure"))


def google_pages(
    downloader: Downloader, key: str, *, roots: PriceServiceUrls = PUBLIC
) -> Iterator[bytes]:
    """Yield the pages of the catalog; the key goes in a header, which logs do not show."""
    for service in GOOGLE_SERVICES:
        token = ""
        for _ in range(MAX_PAGES):
            page = downloader.page(
                google_address(roots, service),
                root=roots.google,
                params={"pageSize": str(GOOGLE_PAGE_SIZE), "pageToken": token},
                headers={"X-Goog-Api-Key": key},
                most=MAX_PAGE_BYTES,
            )
            yield page
            token = _decode_page(page, "Google").token
            if not token:
                break
        else:
            raise PriceServiceError(_too_many_pages_message("Google"))


def _decode_page(content: bytes, provider: str) -> _Page:
    try:
        return _PAGE_DECODER.decode(content)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        msg = f"{provider}'s answer is not a page of prices ({error}): try again later"
        raise PriceServiceError(msg) from error


def _too_many_pages_message(provider: str) -> str:
    return f"{provider} has more than {MAX_PAGES} pages of prices: none of them were kept"
