"""Providers in, the prices that their public services list today out."""

from collections.abc import Sequence
from datetime import date

from perfledger_cost_models.bulk import BulkPrices, Origin, known_instances
from perfledger_cost_models.bulk_aws import read_aws
from perfledger_cost_models.bulk_aws_savings import read_aws_savings
from perfledger_service.catalogs.download import Downloader, Watcher
from perfledger_service.catalogs.services import (
    GOOGLE_SERVICES,
    PUBLIC,
    Roots,
    aws_address,
    aws_savings_address,
    azure_address,
    azure_pages,
    google_address,
    google_pages,
)
from perfledger_service.errors import SettingsError
from perfledger_service.settings import PriceSettings
from perfledger_service.usecases.price_update import Provider, read_lines, read_pages

KEY_MISSING = (
    "Google's billing catalog wants an API key: set PERFLEDGER_GOOGLE_API_KEY to one, or leave "
    "google out with --provider aws --provider azure"
)


def fetch_prices(
    providers: Sequence[Provider],
    *,
    aws_regions: Sequence[str],
    settings: PriceSettings,
    watcher: Watcher,
    today: date,
    roots: Roots = PUBLIC,
) -> tuple[BulkPrices, ...]:
    """Fetch and read the providers' bulk files, AWS's region by region.

    Raises CatalogError where a service does not answer as it should, SettingsError without the key
    that Google wants; then nothing is returned of the others either.
    """
    key = settings.google_api_key
    if Provider.GOOGLE in providers and not key:
        raise SettingsError(KEY_MISSING)
    found: list[BulkPrices] = []
    downloader = Downloader(watcher)
    try:
        if Provider.AWS in providers:
            for region in aws_regions:
                instances = aws_address(roots, region)
                plans = aws_savings_address(downloader, region, roots=roots)
                for address, read in ((instances, read_aws), (plans, read_aws_savings)):
                    lines = downloader.lines(address, root=roots.aws)
                    origin = Origin(source=address, retrieved_at=today)
                    found.append(read_lines(lines, origin=origin, read=read))
        if Provider.AZURE in providers:
            names = sorted(name for name in known_instances("azure") if name.isidentifier())
            origin = Origin(source=azure_address(roots), retrieved_at=today)
            pages = azure_pages(downloader, names, roots=roots)
            found.append(read_pages(Provider.AZURE, pages, origin=origin))
        if Provider.GOOGLE in providers and key:
            services = " and ".join(GOOGLE_SERVICES)
            origin = Origin(source=google_address(roots, services), retrieved_at=today)
            pages = google_pages(downloader, key.get_secret_value(), roots=roots)
            found.append(read_pages(Provider.GOOGLE, pages, origin=origin))
    finally:
        downloader.close()
    return tuple(found)
