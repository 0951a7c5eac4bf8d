"""Fetches prices from the providers' public services."""

from collections.abc import Sequence
from datetime import date

from perfledger_cost_models.price_feeds.aws_on_demand import read_aws
from perfledger_cost_models.price_feeds.aws_savings_plans import read_aws_savings
from perfledger_cost_models.price_feeds.rows import BulkPrices, FeedOrigin, known_instances
from perfledger_service.errors import SettingsError
from perfledger_service.price_services.download import Downloader, DownloadProgress
from perfledger_service.price_services.price_lists import (
    GOOGLE_SERVICES,
    PUBLIC,
    PriceServiceUrls,
    aws_address,
    aws_savings_address,
    azure_address,
    azure_pages,
    google_address,
    google_pages,
)
from perfledger_service.settings.service import PriceSettings
from perfledger_service.usecases.prices.provider import Provider
from perfledger_service.usecases.prices.update import read_lines, read_pages

KEY_MISSING = (
    "Google's billing catalog needs an API key: set PERFLEDGER_GOOGLE_API_KEY, or leave google out "
    "with --provider aws --provider azure"
)


def fetch_prices(
    providers: Sequence[Provider],
    *,
    aws_regions: Sequence[str],
    settings: PriceSettings,
    progress: DownloadProgress,
    today: date,
    roots: PriceServiceUrls = PUBLIC,
) -> tuple[BulkPrices, ...]:
    """Fetch and read the providers' bulk files, AWS's region by region.

    Raises PriceServiceError if a service fails, and SettingsError without Google's key; then the
    other providers' prices are not returned either.
    """
    key = settings.google_api_key
    if Provider.GOOGLE in providers and not key:
        raise SettingsError(KEY_MISSING)
    sheets: list[BulkPrices] = []
    downloader = Downloader(progress)
    try:
        if Provider.AWS in providers:
            for region in aws_regions:
                instances = aws_address(roots, region)
                plans = aws_savings_address(downloader, region, roots=roots)
                for address, read in ((instances, read_aws), (plans, read_aws_savings)):
                    lines = downloader.lines(address, root=roots.aws)
                    origin = FeedOrigin(source=address, retrieved_at=today)
                    sheets.append(read_lines(lines, origin=origin, read=read))
        if Provider.AZURE in providers:
            names = sorted(name for name in known_instances("azure") if name.isidentifier())
            origin = FeedOrigin(source=azure_address(roots), retrieved_at=today)
            pages = azure_pages(downloader, names, roots=roots)
            sheets.append(read_pages(Provider.AZURE, pages, origin=origin))
        if Provider.GOOGLE in providers and key:
            services = " and ".join(GOOGLE_SERVICES)
            origin = FeedOrigin(source=google_address(roots, services), retrieved_at=today)
            pages = google_pages(downloader, key.get_secret_value(), roots=roots)
            sheets.append(read_pages(Provider.GOOGLE, pages, origin=origin))
    finally:
        downloader.close()
    return tuple(sheets)
