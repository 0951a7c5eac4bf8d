"""Reads AWS's price files in CSV: the publication date and the rows by column.

Each file begins with lines about itself (format, disclaimer, publication date, version, offer
code), followed by the column names. A file is up to gigabytes, so it is read line by line. Format:
https://docs.aws.amazon.com/awsaccountbilling/latest/aboutv2/reading-service-price-list-file.html
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from itertools import islice

from perfledger_cost_models.price_feeds.rows import BulkFileError, day_of
from perfledger_profiles.parsing.text_table import is_number, number_problem, table_rows

# Lines above the header: format, disclaimer, publication date, version, offer code.
MAX_PREAMBLE = 20


@dataclass(frozen=True, slots=True)
class AwsCsv:
    """A file after its header; its rows are read on demand."""

    published: date | None
    rows: Iterator[Mapping[str, str]]


def open_aws(lines: Iterable[str], *, columns: Sequence[str], name: str) -> AwsCsv:
    """Read the lines above the rows of a price file; `name` is AWS's name of the service.

    Skips truncated rows. Raises BulkFileError for a file of another kind; iterating the rows raises
    it if they cannot be read.
    """
    rows = (cells for _, cells in table_rows(lines, "AWS's price list", error=BulkFileError))
    published: date | None = None
    for row in islice(rows, MAX_PREAMBLE):
        if row[:1] == ["Publication Date"] and len(row) > 1:
            published = day_of(row[1])
        if "SKU" in row:
            places = {column: index for index, column in enumerate(row)}
            missing = [column for column in columns if column not in places]
            if missing:
                msg = f"AWS's price list lacks the columns {missing}. Fetch {name}'s index.csv."
                raise BulkFileError(msg)
            return AwsCsv(published, _cells(rows, {column: places[column] for column in columns}))
    msg = f"no column SKU in the first {MAX_PREAMBLE} lines. Fetch {name}'s index.csv."
    raise BulkFileError(msg)


def usd_of(text: str) -> Decimal | None:
    """Parse an amount of USD; return None for a text that is not one.

    Raises BulkFileError for a number with a comma, which a spreadsheet wrote.
    """
    if is_number(text):
        usd = Decimal(text.strip())
        return usd if usd >= 0 else None
    if problem := number_problem(text, otherwise=""):
        msg = f"AWS's price list: the price {text[:40]!r} {problem}. Fetch the file again."
        raise BulkFileError(msg)
    return None


def _cells(rows: Iterable[list[str]], places: Mapping[str, int]) -> Iterator[Mapping[str, str]]:
    last = max(places.values())
    for row in rows:
        if len(row) > last:
            yield {column: row[place] for column, place in places.items()}
