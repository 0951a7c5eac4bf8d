"""Providers' bulk files in, a checked sheet of their prices and what it changes out."""

import hashlib
from codecs import BOM_UTF8
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from datetime import UTC, date, datetime
from enum import StrEnum
from pathlib import Path
from typing import Protocol

from perfledger_cost_models.bulk import BulkPrices, Origin
from perfledger_cost_models.bulk_aws import read_aws
from perfledger_cost_models.bulk_aws_json import MAX_BYTES, read_aws_json
from perfledger_cost_models.bulk_aws_savings import OFFER_CODE, read_aws_savings
from perfledger_cost_models.bulk_azure import MAX_PAGE_BYTES, read_azure
from perfledger_cost_models.bulk_google import read_google
from perfledger_cost_models.overrides import layered
from perfledger_cost_models.price_check import check_sheet
from perfledger_cost_models.sheet import (
    Price,
    PriceSheet,
    PricingModel,
    packaged_sheet,
    read_sheet,
)
from perfledger_cost_models.sheet_diff import sheet_diff
from perfledger_cost_models.sheet_text import text_of
from perfledger_service.cost_views import PriceUpdate
from perfledger_service.errors import NotFoundError, UsageError
from perfledger_service.usecases.price_books import text_of_file
from perfledger_service.usecases.text_files import read_bytes
from perfledger_service.usecases.translating import translated

DIGEST_CHARACTERS = 16  # of a file's SHA-256, enough to find the same file again
HEAD_BYTES = 4096  # in which every provider's file says what it is


class Provider(StrEnum):
    """Whose bulk files are read."""

    AWS = "aws"
    AZURE = "azure"
    GOOGLE = "google"


class LineReader(Protocol):
    """Reads one of AWS's price lists."""

    def __call__(self, lines: Iterable[str], *, origin: Origin) -> BulkPrices:
        """Return its prices; raises BulkFileError."""
        ...


def read_bulk_files(
    paths: Sequence[Path], *, read_on: date | None = None
) -> tuple[BulkPrices, ...]:
    """Read files as the providers serve them; several pages of one provider are one catalog.

    `read_on` is the day they were fetched, by default that of each file's last change. Raises
    NotFoundError, TooLargeError and UsageError.
    """
    found: list[BulkPrices] = []
    pages: dict[Provider, list[Path]] = {}
    for path in paths:
        provider = _provider_of(path)
        if provider is Provider.AWS:
            found.append(_read_aws_file(path, read_on or _changed_on(path)))
        else:
            pages.setdefault(provider, []).append(path)
    for provider, files in pages.items():
        day = read_on or max(map(_changed_on, files))
        name = files[0].name if len(files) == 1 else f"{files[0].name} and {len(files) - 1} more"
        origin = Origin(source=name, retrieved_at=day)
        found.append(read_pages(provider, map(_page, files), origin=origin))
    return tuple(found)


def read_pages(provider: Provider, pages: Iterable[bytes], *, origin: Origin) -> BulkPrices:
    """Read one provider's pages of JSON; raises UsageError for what is none of its."""
    digest = hashlib.sha256()

    def hashed() -> Iterator[bytes]:
        for page in pages:
            digest.update(page)
            yield page

    read = read_azure if provider is Provider.AZURE else read_google
    with translated():
        return _traced(read(hashed(), origin=origin), digest.hexdigest())


def read_lines(lines: Iterable[str], *, origin: Origin, read: LineReader) -> BulkPrices:
    """Read a price list of AWS with its reader; raises UsageError for what is none."""
    digest = hashlib.sha256()

    def hashed() -> Iterator[str]:
        for line in lines:
            digest.update(line.encode())
            yield line

    with translated():
        return _traced(read(hashed(), origin=origin), digest.hexdigest())


def updated_sheet(found: Sequence[BulkPrices], output: Path) -> PriceUpdate:
    """Return the sheet that `output` would become, checked, and what it changes.

    What the file had of other providers, regions and modes stays. Large steps are looked for
    against what counts now: the packaged sheet under the file as it is.
    """
    new = [price for each in found for price in each.prices]
    if not new:
        counts = _sums(found)
        said = "; ".join(f"{count} with {reason}" for reason, count in counts.items())
        msg = f"no price of an accelerator is in what was read ({said or 'it is empty'})"
        raise UsageError(msg)
    with translated():
        last = read_sheet(text_of_file(output), output.name) if output.exists() else None
        now = layered([packaged_sheet(), *([last] if last else [])], name="now")
        covered = {_place(price) for price in new}
        kept = [price for price in (last.prices if last else ()) if _place(price) not in covered]
        text = text_of(PriceSheet(name=output.name, prices=(*kept, *new)))
        check = check_sheet(text, output.name, previous=now)
    after = layered([packaged_sheet(), check.sheet], name=output.name)
    return PriceUpdate(
        check=check,
        diff=sheet_diff(now, after),
        left_out=tuple(_sums(found).items()),
        text=text_of(check.sheet),
    )


def _place(price: Price) -> tuple[str, str, PricingModel]:
    """Return what one bulk file has all prices of."""
    return price.provider, price.region, price.pricing_model


def _provider_of(path: Path) -> Provider:
    head = _head(path).removeprefix(BOM_UTF8)  # PowerShell writes one before JSON too
    if head.lstrip()[:1] not in {b"{", b"["}:
        return Provider.AWS
    if b'"offerCode"' in head:
        return Provider.AWS
    if b'"Items"' in head:
        return Provider.AZURE
    if b'"skus"' in head:
        return Provider.GOOGLE
    msg = (
        f"{path} is no bulk file that is known: give AWS's index.csv of AmazonEC2 or of "
        "AWSComputeSavingsPlan, or pages of Azure's retail prices or of Google's billing catalog "
        "as they were served"
    )
    raise UsageError(msg)


def _head(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            return file.read(HEAD_BYTES)
    except FileNotFoundError as error:
        msg = f"no file {path}"
        raise NotFoundError(msg) from error
    except OSError as error:
        msg = f"{path} cannot be read: {error.strerror}"
        raise UsageError(msg) from error


def _read_aws_file(path: Path, day: date) -> BulkPrices:
    origin = Origin(source=path.name, retrieved_at=day)
    if _head(path).removeprefix(BOM_UTF8).lstrip()[:1] == b"{":
        data = _page(path, most_bytes=MAX_BYTES)
        with translated():
            return _traced(read_aws_json(data, origin=origin), hashlib.sha256(data).hexdigest())
    read = read_aws_savings if OFFER_CODE.encode() in _head(path) else read_aws
    try:
        with path.open(encoding="utf-8", newline="") as lines:
            return read_lines(lines, origin=origin, read=read)
    except UnicodeDecodeError as error:
        msg = f"{path} is no text in UTF-8: it is no price list"
        raise UsageError(msg) from error


def _page(path: Path, *, most_bytes: int = MAX_PAGE_BYTES) -> bytes:
    return read_bytes(path, most_bytes=most_bytes).removeprefix(BOM_UTF8)


def _changed_on(path: Path) -> date:
    return datetime.fromtimestamp(path.stat().st_mtime, tz=UTC).date()


def _traced(found: BulkPrices, digest: str) -> BulkPrices:
    """Return the prices with the beginning of their file's SHA-256 in their source."""
    mark = f" (sha256 {digest[:DIGEST_CHARACTERS]})"
    prices = tuple(replace(price, source=f"{price.source}{mark}") for price in found.prices)
    return replace(found, prices=prices)


def _sums(found: Sequence[BulkPrices]) -> dict[str, int]:
    sums: dict[str, int] = {}
    for each in found:
        for reason, count in each.left_out.items():
            sums[reason] = sums.get(reason, 0) + count
    return sums
