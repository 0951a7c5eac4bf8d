"""A bill's file in, who used what and what was really paid out."""

from pathlib import Path

from perfledger_cost_models.focus import Bill, paid_prices, read_focus
from perfledger_cost_models.focus_parquet import MAX_BYTES, read_focus_parquet
from perfledger_cost_models.sheet import PriceSheet
from perfledger_cost_models.sheet_text import text_of
from perfledger_service.errors import TooLargeError, UsageError
from perfledger_service.usecases.text_files import read_bytes, size_of
from perfledger_service.usecases.translating import translated

PARQUET = b"PAR1"  # with which every file of Parquet begins
# A line of CSV is read at a time: this is what takes minutes, not what memory holds.
MAX_CSV_BYTES = 4 * 2**30


def read_bill(path: Path, *, team_tag: str = "") -> Bill:
    """Read a bill in FOCUS, CSV or Parquet; raises NotFoundError, TooLargeError and UsageError."""
    if size_of(path) > MAX_CSV_BYTES:
        msg = f"{path} is larger than {MAX_CSV_BYTES:,} bytes: export shorter periods"
        raise TooLargeError(msg)
    try:
        with path.open("rb") as file:
            is_parquet = file.read(len(PARQUET)) == PARQUET
        with translated():
            if is_parquet:
                data = read_bytes(path, most_bytes=MAX_BYTES)
                return read_focus_parquet(data, team_tag=team_tag)
            with path.open(encoding="utf-8", newline="") as lines:
                return read_focus(lines, team_tag=team_tag)
    except UnicodeDecodeError as error:
        msg = f"{path} is neither text in UTF-8 nor Parquet: export the bill as one of them"
        raise UsageError(msg) from error
    except OSError as error:
        msg = f"{path} cannot be read: {error.strerror}"
        raise UsageError(msg) from error


def paid_sheet(bill: Bill, *, source: str) -> str:
    """Return a price list of what was paid; raises UsageError for a bill without accelerators."""
    prices = paid_prices(bill, source=source)
    if not prices:
        msg = "no hour of an accelerator that is known is on this bill: there are no prices"
        raise UsageError(msg)
    return text_of(PriceSheet(name=source, prices=prices))
