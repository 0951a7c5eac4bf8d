"""Updates a price sheet from the providers' bulk files."""

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Protocol

from perfledger_cost_models.price_feeds.aws_on_demand import read_aws
from perfledger_cost_models.price_feeds.aws_on_demand_json import MAX_BYTES, read_aws_json
from perfledger_cost_models.price_feeds.aws_savings_plans import OFFER_CODE, read_aws_savings
from perfledger_cost_models.price_feeds.azure import MAX_PAGE_BYTES, read_azure
from perfledger_cost_models.price_feeds.google import read_google
from perfledger_cost_models.price_feeds.rows import BulkPrices, FeedOrigin
from perfledger_cost_models.prices.check import CheckContext, check_sheet
from perfledger_cost_models.prices.diff import sheet_diff
from perfledger_cost_models.prices.layers import layer_sheets
from perfledger_cost_models.prices.packaged_sheet import packaged_sheet
from perfledger_cost_models.prices.price_sheet import Price, PriceSheet, PricingModel
from perfledger_cost_models.prices.sheet_writer import text_of
from perfledger_profiles.parsing.text_file import decoded_lines, encoding_of
from perfledger_service.errors import UsageError
from perfledger_service.usecases.inputs.error_translation import translate_errors
from perfledger_service.usecases.inputs.files import errors_about, read_bytes, read_head
from perfledger_service.usecases.inputs.packed_files import plain_utf_8
from perfledger_service.usecases.inputs.price_books import checked_file
from perfledger_service.usecases.prices.provider import Provider
from perfledger_service.values.price_update import PriceUpdate

DIGEST_CHARACTERS = 16  # of a file's SHA-256, enough to identify it
HEAD_BYTES = 4096  # enough to recognise every provider's file
_PAGE_READERS = {Provider.AZURE: read_azure, Provider.GOOGLE: read_google}  # AWS serves lines


class LineReader(Protocol):
    """Reader of one of AWS's price lists."""

    def __call__(self, lines: Iterable[str], *, origin: FeedOrigin) -> BulkPrices:
        """Return its prices; raises BulkFileError."""
        ...


def read_bulk_files(
    paths: Sequence[Path], *, read_on: date | None = None
) -> tuple[BulkPrices, ...]:
    """Read files as the providers serve them; several pages of one provider count as one file.

    `read_on` is the day they were fetched, by default that of each file's last change. Raises
    NotFoundError, TooLargeError and UsageError.
    """
    sheets: list[BulkPrices] = []
    pages: dict[Provider, list[Path]] = {}
    for path in paths:
        provider = _provider_of(path)
        if provider is Provider.AWS:
            with errors_about(path):
                sheets.append(_read_aws_file(path, read_on or _changed_on(path)))
        else:
            pages.setdefault(provider, []).append(path)
    for provider, files in pages.items():
        day = read_on or max(map(_changed_on, files))
        name = files[0].name if len(files) == 1 else f"{files[0].name} and {len(files) - 1} more"
        origin = FeedOrigin(source=name, retrieved_at=day)
        with errors_about(files[0]) if len(files) == 1 else translate_errors():
            sheets.append(read_pages(provider, map(_page, files), origin=origin))
    return tuple(sheets)


def read_pages(provider: Provider, pages: Iterable[bytes], *, origin: FeedOrigin) -> BulkPrices:
    """Read one provider's JSON pages; raise UsageError for a page that is not the provider's."""
    digest = hashlib.sha256()

    def hashed() -> Iterator[bytes]:
        for page in pages:
            digest.update(page)
            yield page

    read = _PAGE_READERS[provider]
    with translate_errors():
        return _with_digest(read(hashed(), origin=origin), digest.hexdigest())


def read_lines(lines: Iterable[str], *, origin: FeedOrigin, read: LineReader) -> BulkPrices:
    """Read one of AWS's price lists with its reader; raise UsageError for an invalid one."""
    digest = hashlib.sha256()

    def hashed() -> Iterator[str]:
        for line in lines:
            digest.update(line.encode())
            yield line

    with translate_errors():
        return _with_digest(read(hashed(), origin=origin), digest.hexdigest())


def updated_sheet(sheets: Sequence[BulkPrices], output: Path) -> PriceUpdate:
    """Return the updated sheet of `output`, checked, and what the update changes.

    The file's prices of other providers, regions and modes stay. Large changes are relative to the
    prices in force: the packaged sheet with the present file on top.
    """
    new = [price for each in sheets for price in each.prices]
    if not new:
        counts = _sums(sheets)
        reasons = "; ".join(f"{count} with {reason}" for reason, count in counts.items())
        msg = f"the files contain no accelerator price ({reasons or 'they are empty'})"
        raise UsageError(msg)
    with translate_errors():
        last = checked_file(output, CheckContext()).sheet if output.exists() else None
        now = layer_sheets([packaged_sheet(), *([last] if last else [])], name="now")
        replaced = {_bulk_file_key(price) for price in new}
        kept_prices = [
            price
            for price in (last.prices if last else ())
            if _bulk_file_key(price) not in replaced
        ]
        text = text_of(PriceSheet(name=output.name, prices=(*kept_prices, *new)))
        context = CheckContext(reference=packaged_sheet(), previous=now)
        check = check_sheet(text, output.name, context=context)
    after = layer_sheets([packaged_sheet(), check.sheet], name=output.name)
    return PriceUpdate(
        check=check,
        diff=sheet_diff(now, after),
        left_out=tuple(_sums(sheets).items()),
        text=text_of(check.sheet),
    )


def _bulk_file_key(price: Price) -> tuple[str, str, PricingModel]:
    """Return the provider, region and mode whose prices one bulk file holds completely."""
    return price.provider, price.region, price.pricing_model


def _provider_of(path: Path) -> Provider:
    head = _head(path)
    if head.lstrip()[:1] not in {b"{", b"["}:
        return Provider.AWS
    if b'"offerCode"' in head:
        return Provider.AWS
    if b'"Items"' in head:
        return Provider.AZURE
    if b'"skus"' in head:
        return Provider.GOOGLE
    msg = (
        f"{path} is not a known bulk file: give AWS's index.csv of AmazonEC2 or of "
        "AWSComputeSavingsPlan, or pages of Azure's retail prices or of Google's billing catalog "
        "as they were served"
    )
    raise UsageError(msg)


def _head(path: Path) -> bytes:
    # PowerShell writes a byte order mark before JSON too. The last character may be cut.
    head = read_head(path, HEAD_BYTES)
    return head.decode(encoding_of(head), errors="ignore").encode()


def _read_aws_file(path: Path, day: date) -> BulkPrices:
    origin = FeedOrigin(source=path.name, retrieved_at=day)
    if _head(path).lstrip()[:1] == b"{":
        data = _page(path, most_bytes=MAX_BYTES)
        with translate_errors():
            return _with_digest(
                read_aws_json(data, origin=origin), hashlib.sha256(data).hexdigest()
            )
    read = read_aws_savings if OFFER_CODE.encode() in _head(path) else read_aws
    lines = decoded_lines(path, str(path), error=UsageError)
    return read_lines(lines, origin=origin, read=read)


def _page(path: Path, *, most_bytes: int = MAX_PAGE_BYTES) -> bytes:
    return plain_utf_8(read_bytes(path, most_bytes=most_bytes), str(path))


def _changed_on(path: Path) -> date:
    return datetime.fromtimestamp(path.stat().st_mtime, tz=UTC).date()


def _with_digest(sheet: BulkPrices, digest: str) -> BulkPrices:
    """Return the prices with a prefix of their file's SHA-256 in their source."""
    mark = f" (sha256 {digest[:DIGEST_CHARACTERS]})"
    prices = tuple(replace(price, source=f"{price.source}{mark}") for price in sheet.prices)
    return replace(sheet, prices=prices)


def _sums(sheets: Sequence[BulkPrices]) -> dict[str, int]:
    sums: dict[str, int] = {}
    for each in sheets:
        for reason, count in each.left_out.items():
            sums[reason] = sums.get(reason, 0) + count
    return sums
