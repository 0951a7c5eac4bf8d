"""The lines of one of AWS's price files in CSV into its rows by column, and its publication day.

All of them begin with some lines about the file (format, disclaimer, publication date, version,
offer code); the columns' names stand below. A file is up to gigabytes: it is read line by line.
Format: https://docs.aws.amazon.com/awsaccountbilling/latest/aboutv2/reading-service-price-list-file.html
"""

import csv
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from decimal import Decimal, InvalidOperation
from itertools import islice

from perfledger_cost_models.bulk import BulkFileError, day_of

# What stands above the header: format, disclaimer, publication date, version, offer code.
MAX_PREAMBLE = 20
MAX_LINE_CHARACTERS = 100_000


@dataclass(frozen=True, slots=True)
class AwsFile:
    """A file whose header was read; its rows come as they are asked for."""

    published: date | None
    rows: Iterator[Mapping[str, str]]


def open_aws(lines: Iterable[str], *, columns: Sequence[str], name: str) -> AwsFile:
    """Read what stands above the rows of the price file that is called `name`.

    Rows that are cut off are left out. Raises BulkFileError for another file, and so do the rows
    where they cannot be read.
    """
    rows = _readable(lines)
    published: date | None = None
    for row in islice(rows, MAX_PREAMBLE):
        if row[:1] == ["Publication Date"] and len(row) > 1:
            published = day_of(row[1])
        if "SKU" in row:
            places = {column: place for place, column in enumerate(row)}
            missing = [column for column in columns if column not in places]
            if missing:
                msg = f"AWS's price list lacks the columns {missing}: fetch {name}'s index.csv"
                raise BulkFileError(msg)
            return AwsFile(published, _cells(rows, {column: places[column] for column in columns}))
    msg = f"no column SKU in the first {MAX_PREAMBLE} lines: fetch {name}'s index.csv"
    raise BulkFileError(msg)


def usd_of(text: str) -> Decimal | None:
    """Return an amount, None for what is none."""
    try:
        usd = Decimal(text)
    except InvalidOperation:
        return None
    return usd if usd.is_finite() and usd >= 0 else None


def _readable(lines: Iterable[str]) -> Iterator[list[str]]:
    rows = csv.reader(_checked(lines), strict=True)
    try:
        yield from rows
    except csv.Error as error:
        msg = f"AWS's price list cannot be read, line {rows.line_num}: {error}: fetch it again"
        raise BulkFileError(msg) from error


def _checked(lines: Iterable[str]) -> Iterator[str]:
    for line in lines:
        if len(line) > MAX_LINE_CHARACTERS:
            msg = f"AWS's price list has a line of {len(line)} characters: it is no price list"
            raise BulkFileError(msg)
        yield line


def _cells(rows: Iterable[list[str]], places: Mapping[str, int]) -> Iterator[Mapping[str, str]]:
    last = max(places.values())
    for row in rows:
        if len(row) > last:
            yield {column: row[place] for column, place in places.items()}
