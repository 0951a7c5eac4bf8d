"""A CSV of carbon intensities and spot prices, hour by hour, into evenly spaced values.

    time,kg_per_kwh,usd_per_hour
    2026-11-24T00:00Z,0.31,2.10

`time` begins each stretch and says its zone, else it is UTC; a value holds until the next row.
`g_per_kwh` may stand in place of `kg_per_kwh`, and the columns of Electricity Maps' CSV for both.
Other columns are not read.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from perfledger_cost_models.headed_table import amounts, read_rows
from perfledger_cost_models.usage import UsageFileError, moment

MAX_SERIES_BYTES = 8 * 1024 * 1024
MAX_ROWS = 20_000  # ten weeks of five minutes, two years of hours
MIN_STEP_S, MAX_STEP_S = 60, 86_400
# Far more than any grid emits, or any instance costs: a slipped unit.
MAX_KG_PER_KWH, MAX_USD_PER_HOUR = 3.0, 100_000.0
# What Electricity Maps calls them (electricitymaps.com, data portal, 2021 to 2025). Life-cycle
# intensities stand beside the direct ones there and are not read.
_TIMES = ("time", "datetime (utc)")
_GRAMS = (
    "g_per_kwh",
    "carbon intensity gco₂eq/kwh (direct)",
    "carbon intensity gco2eq/kwh (direct)",
)
_KG, _USD = "kg_per_kwh", "usd_per_hour"


@dataclass(frozen=True, slots=True, kw_only=True)
class HourlySeries:
    """Values that each hold for `step_s` from their moment on; None where the file has no such."""

    start_s: float  # since 1970, UTC
    step_s: int
    kg_per_kwh: tuple[float, ...] | None
    usd_per_hour: tuple[float, ...] | None

    @property
    def end_s(self) -> float:
        """Return when the last value ends."""
        count = len(self.kg_per_kwh or self.usd_per_hour or ())
        return self.start_s + count * self.step_s


def read_hourly_series(text: str, name: str) -> HourlySeries:
    """Read a file; raises UsageFileError for one that has gaps, or values that cannot be."""
    rows = read_rows(text, name, most_rows=MAX_ROWS)
    column = next((each for each in _TIMES if each in rows[0].cells), None)
    if column is None:
        msg = f"{name} has no column {_TIMES[0]!r}: its first line has to name the columns"
        raise UsageFileError(msg)
    times = [moment(row.cells[column], row.where) for row in rows]
    kg = amounts(rows, _KG, most=MAX_KG_PER_KWH)
    if kg is None:
        named = next((each for each in _GRAMS if each in rows[0].cells), _GRAMS[0])
        grams = amounts(rows, named, most=1000 * MAX_KG_PER_KWH)
        kg = None if grams is None else tuple(each / 1000 for each in grams)
    usd = amounts(rows, _USD, most=MAX_USD_PER_HOUR)
    if kg is None and usd is None:
        msg = f"{name} has neither {_KG} nor {_GRAMS[0]} nor {_USD}: name its columns so"
        raise UsageFileError(msg)
    return HourlySeries(
        start_s=times[0], step_s=_step(times, name), kg_per_kwh=kg, usd_per_hour=usd
    )


def _step(times: Sequence[float], name: str) -> int:
    steps = {after - before for before, after in pairwise(times)}
    step = min(steps, default=0.0)
    if len(steps) != 1 or not MIN_STEP_S <= step <= MAX_STEP_S or step % MIN_STEP_S:
        msg = (
            f"{name}: rows are {step:g} to {max(steps, default=0.0):g} s apart: give evenly spaced "
            "ones, a minute to a day apart, two at least; fill in what is missing"
        )
        raise UsageFileError(msg)
    return round(step)
