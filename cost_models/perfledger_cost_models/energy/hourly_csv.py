"""Reads a CSV of hourly carbon intensities and prices.

    time,kg_per_kwh,usd_per_hour
    2026-11-24T00:00Z,0.31,2.10

`time` is the start of each row's period, in UTC unless it states a zone; a value holds until the
next row. `g_per_kwh` may replace `kg_per_kwh`, and the columns of Electricity Maps' CSV both. A
price of power, `usd_per_mwh` or `usd_per_kwh`, may replace the job's `usd_per_hour`; both may be
negative, as day-ahead prices are when there is too much power. Other columns are ignored.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from perfledger.rounding import typed
from perfledger.time_units import SECONDS_PER_DAY, SECONDS_PER_MINUTE
from perfledger_cost_models.usage.csv_with_header import CsvRow, amounts, read_rows
from perfledger_cost_models.usage.device_spans import UsageFileError, parse_time

MAX_SERIES_BYTES = 8 * 1024 * 1024  # a year of hours has half a megabyte
MAX_ROWS = 20_000  # ten weeks of five minutes, or two years of hours
MIN_STEP_S, MAX_STEP_S = SECONDS_PER_MINUTE, SECONDS_PER_DAY
# Far more than any grid emits or any instance costs: a wrong unit.
MAX_KG_PER_KWH, MAX_USD_PER_HOUR = 3.0, 100_000.0
# Above the cap of every market; the highest are Australia's and, until 2021, Texas's 9 USD.
MAX_USD_PER_KWH = 20.0
# Column names of Electricity Maps (electricitymaps.com, data portal, 2021 to 2025). Its life-cycle
# intensities, beside the direct ones, are not read.
_TIMES = ("time", "datetime (utc)")
_GRAMS = (
    "g_per_kwh",
    "carbon intensity gco₂eq/kwh (direct)",
    "carbon intensity gco2eq/kwh (direct)",
)
_KG, _USD = "kg_per_kwh", "usd_per_hour"
_USD_OF_POWER = {"usd_per_kwh": 1.0, "usd_per_mwh": 1000.0}  # kWh of each
_COLUMNS = ", ".join((_KG, _GRAMS[0], _USD, *_USD_OF_POWER))


@dataclass(frozen=True, slots=True, kw_only=True)
class HourlySeries:
    """Values that each hold for `step_s` from their time on; None for a missing column."""

    start_s: float  # since 1970, UTC
    step_s: int
    kg_per_kwh: tuple[float, ...] | None
    usd_per_hour: tuple[float, ...] | None  # of the whole job
    usd_per_kwh: tuple[float, ...] | None = None  # of power; never together with those of the job

    @property
    def end_s(self) -> float:
        """Return the end of the last value."""
        count = len(self.kg_per_kwh or self.usd_per_hour or self.usd_per_kwh or ())
        return self.start_s + count * self.step_s


def read_hourly_series(text: str, name: str) -> HourlySeries:
    """Read a file; raise UsageFileError for gaps and for impossible values."""
    rows = read_rows(text, name, most_rows=MAX_ROWS)
    column = next((each for each in _TIMES if each in rows[0].cells), None)
    if column is None:
        msg = f"{name} has no column {_TIMES[0]!r}: name the columns in the first line"
        raise UsageFileError(msg)
    times = [parse_time(row.cells[column], row.where) for row in rows]
    kg = amounts(rows, _KG, maximum=MAX_KG_PER_KWH)
    if kg is None:
        named = next((each for each in _GRAMS if each in rows[0].cells), None)
        grams = None if named is None else amounts(rows, named, maximum=1000 * MAX_KG_PER_KWH)
        kg = None if grams is None else tuple(each / 1000 for each in grams)
    prices = {each: numbers for each in (_USD, *_USD_OF_POWER) if (numbers := _usd(rows, each))}
    if len(prices) > 1:
        msg = f"{name} has prices in {' and '.join(prices)}: keep one of these columns"
        raise UsageFileError(msg)
    if kg is None and not prices:
        msg = f"{name} has none of the columns {_COLUMNS}: rename or convert its columns"
        raise UsageFileError(msg)
    usd_per_hour = prices.pop(_USD, None)
    return HourlySeries(
        start_s=times[0],
        step_s=_step(rows, times, name),
        kg_per_kwh=kg,
        usd_per_hour=usd_per_hour,
        usd_per_kwh=next(iter(prices.values()), None),
    )


def _usd(rows: Sequence[CsvRow], column: str) -> tuple[float, ...] | None:
    """Return the prices of a column, those of power in USD per kWh; None without the column."""
    kwh = _USD_OF_POWER.get(column)
    maximum = MAX_USD_PER_HOUR if kwh is None else MAX_USD_PER_KWH * kwh
    numbers = amounts(rows, column, minimum=-maximum, maximum=maximum)
    return None if numbers is None else tuple(number / (kwh or 1.0) for number in numbers)


def _step(rows: Sequence[CsvRow], times: Sequence[float], name: str) -> int:
    steps = [after - before for before, after in pairwise(times)]
    step = steps[0] if steps else 0.0
    if not MIN_STEP_S <= step <= MAX_STEP_S or step % MIN_STEP_S:
        msg = (
            f"{name}: the first rows are {typed(step)} s apart: give two or more, evenly spaced "
            "by a minute to a day"
        )
        raise UsageFileError(msg)
    for row, other in zip(rows[1:], steps, strict=True):
        if other != step:
            msg = (
                f"{row.where}: {typed(other)} s after the row before, not {typed(step)} as the "
                "first two: rows must be evenly spaced. Fill gaps; give UTC or each time's zone "
                "where a clock changes."
            )
            raise UsageFileError(msg)
    return round(step)
