"""A bill's file in, who used what and what was really paid out."""

from pathlib import Path

from perfledger_cost_models.focus import Bill, paid_prices, read_focus
from perfledger_cost_models.focus_parquet import MAX_BYTES, read_focus_parquet
from perfledger_cost_models.sheet import PriceSheet
from perfledger_cost_models.sheet_text import text_of
from perfledger_service.errors import NotFoundError, TooLargeError, UsageError
from perfledger_service.usecases.translating import translated

PARQUET = b"PAR1"  # with which every file of Parquet begins


def read_bill(path: Path, *, team_tag: str = "") -> Bill:
    """Read a bill in FOCUS, CSV or Parquet; raises NotFoundError, TooLargeError and UsageError."""
    try:
        with path.open("rb") as file:
            is_parquet = file.read(len(PARQUET)) == PARQUET
        with translated():
            if is_parquet:
                return _parquet(path, team_tag)
            with path.open(encoding="utf-8", newline="") as lines:
                return read_focus(lines, team_tag=team_tag)
    except FileNotFoundError as error:
        msg = f"no file {path}"
        raise NotFoundError(msg) from error
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


def _parquet(path: Path, team_tag: str) -> Bill:
    if path.stat().st_size > MAX_BYTES:
        msg = f"{path} is larger than {MAX_BYTES} bytes: export shorter periods"
        raise TooLargeError(msg)
    return read_focus_parquet(path.read_bytes(), team_tag=team_tag)
