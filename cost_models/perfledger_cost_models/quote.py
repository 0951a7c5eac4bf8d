"""The words of pricing: money with where it comes from, or the reason why there is none."""

from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from enum import StrEnum


class Provenance(StrEnum):
    """Where a figure comes from."""

    MEASURED = "measured"  # priced from this machine's own measurement
    DECLARED = "declared"  # from a throughput that the configuration declares
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True, kw_only=True)
class Rate:
    """What one hour of one accelerator costs, with its interval and where that was read.

    For a list price low = mode = high. `as_of` is the price's own date, else the day it was read,
    and `is_read_date` then says so. `assumed` names low-confidence inputs behind the figure.
    """

    option: str  # "p5.48xlarge/on_demand", "onprem-8xH100"
    label: str  # "AWS p5.48xlarge, on demand"
    accelerator: str  # as on the price sheet: "H100-80GB"
    usd_per_device_hour: Decimal
    low: Decimal
    high: Decimal
    as_of: date
    is_read_date: bool
    source: str
    assumed: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class UnitCost:
    """What a million units of a workload's work cost on one purchase option, in USD.

    `usd` is None exactly when the provenance is UNKNOWN; `why` then says why.
    """

    workload: str
    unit: str
    rate: Rate
    provenance: Provenance
    usd: Decimal | None
    low: Decimal | None
    high: Decimal | None
    why: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangePrice:
    """What a change of a workload's step time costs a year on the fleet, in USD; savings are < 0.

    `usd` is None when nothing could be priced; `note` then says why. `is_detectable` is False when
    the change's interval holds zero: the interval is then all that may be said.
    """

    workload: str
    rate: Rate | None
    device_hours_per_year: tuple[float, float, float]  # low, mode, high
    hours_source: str
    usd: Decimal | None
    low: Decimal | None
    high: Decimal | None
    is_detectable: bool
    note: str = ""
