"""Reads bills in FOCUS."""

from pathlib import Path

from perfledger_cost_models.billing.focus import Bill, read_focus
from perfledger_cost_models.billing.focus_columns import BillError
from perfledger_cost_models.billing.focus_parquet import MAX_BYTES, read_focus_parquet
from perfledger_cost_models.prices.exchange_rates import ExchangeRateTable
from perfledger_profiles.parsing.text_file import decoded_lines
from perfledger_service.errors import TooLargeError
from perfledger_service.usecases.inputs.files import errors_about, read_bytes, read_head, size_of

PARQUET = b"PAR1"  # the first bytes of a Parquet file
# CSV is read line by line: this limits time to minutes, not memory.
MAX_CSV_BYTES = 4 * 2**30


def read_bill(
    path: Path, *, team_tag: str = "", exchange_rates: ExchangeRateTable | None = None
) -> Bill:
    """Read a bill in FOCUS, CSV or Parquet; raises NotFoundError, TooLargeError and UsageError."""
    if size_of(path) > MAX_CSV_BYTES:
        msg = f"{path} is larger than {MAX_CSV_BYTES:,} bytes: export shorter periods"
        raise TooLargeError(msg)
    is_parquet = read_head(path, len(PARQUET)) == PARQUET
    with errors_about(path):
        if is_parquet:
            data = read_bytes(path, most_bytes=MAX_BYTES)
            return read_focus_parquet(data, team_tag=team_tag, exchange_rates=exchange_rates)
        lines = decoded_lines(path, path.name, error=BillError)
        return read_focus(lines, team_tag=team_tag, exchange_rates=exchange_rates)
