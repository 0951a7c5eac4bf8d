"""Values of pricing: amounts of money with their origin, or the reason why there is none."""

from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from enum import StrEnum

Interval = tuple[float, float, float]  # low, middle or most likely, high


class Provenance(StrEnum):
    """The origin of a throughput."""

    MEASURED = "measured"  # priced from this machine's own measurement
    DECLARED = "declared"  # from a throughput that the configuration declares
    UNKNOWN = "unknown"


class PriceLayer(StrEnum):
    """The layer of the price book that a price comes from."""

    SNAPSHOT = "snapshot"  # packaged
    LIVE = "live"  # from a file that replaces the packaged one, or from a bill
    OVERRIDE = "override"  # the organisation's own, or its contract's
    DERIVED = "derived"  # computed: discounted, taxed, a slice of chips, the cost of owning


def price_day(as_of: date, *, is_read_date: bool) -> str:
    """Return the day of a price in words: the list's, else that of reading the list."""
    return f"read on {as_of}, list date unknown" if is_read_date else f"as of {as_of}"


def price_origin(region: str, as_of: date, *, is_read_date: bool) -> str:
    """Return the region and the day of a price, which are shown with every rank."""
    day = price_day(as_of, is_read_date=is_read_date)
    return f"{region}, {day}" if region else day


@dataclass(frozen=True, slots=True, kw_only=True)
class HourlyRate:
    """What one hour of one accelerator costs, with its interval and its source.

    For a list price low = mode = high. `as_of` is the price's own date, else the day it was read
    (`is_read_date`). `region` is "" for owned servers and worldwide prices. `assumed` names
    low-confidence inputs of the figure. `is_committed` hours are paid for regardless of use: owned,
    reserved, or committed to for a term.
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
    source_url: str = ""  # its https address; "" if none is known
    region: str = ""
    assumed: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    layer: PriceLayer = PriceLayer.DERIVED
    is_committed: bool = False

    @property
    def dated(self) -> str:
        """Return the day of the rate in words."""
        return price_day(self.as_of, is_read_date=self.is_read_date)

    @property
    def origin(self) -> str:
        """Return the region and the day of the rate in words."""
        return price_origin(self.region, self.as_of, is_read_date=self.is_read_date)

    @property
    def caveats(self) -> tuple[str, ...]:
        """Return one sentence for each thing that a reader of a dependent figure has to know."""
        assumed = (f"assumed, not measured: {', '.join(self.assumed)}",) if self.assumed else ()
        return (*self.warnings, *assumed)


@dataclass(frozen=True, slots=True, kw_only=True)
class UnitCost:
    """What a million units of a workload's work cost on one purchase option, in USD.

    `usd` is None exactly when the provenance is UNKNOWN; `reason` then says why.
    """

    workload: str
    unit: str
    rate: HourlyRate
    provenance: Provenance
    usd: Decimal | None
    low: Decimal | None
    high: Decimal | None
    reason: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangePrice:
    """What a change of a workload's step time costs a year on the fleet, in USD; savings are < 0.

    `usd` is cash, None when nothing could be priced; `note` then says why. `is_detectable` is False
    when the change's interval contains zero: only the interval is meaningful then. On devices that
    are paid for anyway, `extra_hours` are the device-hours a year that the change adds (or frees,
    if negative): capacity, not cash. `absorbed_hours` is the part of them that idle devices are
    known to absorb, and `renewal_devices` how many devices the freed hours could replace at
    renewal. `moves_to` is the rate of the device that the hours move to if the peak memory
    outgrows, or may outgrow, theirs. `projected_from` is the device that the change was measured on
    if that is another one; "" if it was measured on this one or given.
    """

    workload: str
    rate: HourlyRate | None
    device_hours_per_year: Interval  # low, mode, high
    hours_source: str
    usd: Decimal | None
    low: Decimal | None
    high: Decimal | None
    is_detectable: bool
    note: str = ""
    extra_hours: Interval | None = None
    absorbed_hours: Interval | None = None
    renewal_devices: Interval | None = None
    moves_to: HourlyRate | None = None
    projected_from: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class SummedPrice:
    """What several changes cost a year together, in USD, with their joint interval.

    `usd` is None if a part of the sum is missing: each workload in `missing` has a change, or may
    have one, without a price. Those in `left_out` have neither a price nor a detectable change.
    """

    usd: Decimal | None
    low: Decimal | None
    high: Decimal | None
    is_detectable: bool
    workloads: tuple[str, ...]  # the priced ones
    missing: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueEffect:
    """What changes do to the queue for devices that are paid for anyway, in place of cash.

    Waits are rough estimates by M/M/c: jobs that start in gangs wait longer. They are None if they
    are unknown or the queue grows without bound; `note` then says which.
    """

    where: str
    absorbed_hours: Interval  # device-hours a year; negative: freed
    busy_share: float  # of the devices' hours, before
    busy_share_after: Interval
    wait_s: float | None = None  # of a job, before
    extra_wait_s: Interval | None = None  # of a job
    extra_wait_hours: Interval | None = None  # of all jobs of a year
    note: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class PricedChanges:
    """What the changes of a pull request cost: each one, all together, and per policy."""

    prices: tuple[ChangePrice, ...] = ()
    total: SummedPrice | None = None  # None if there is nothing to add up
    by_policy: tuple[SummedPrice | None, ...] = ()  # None if none of its workloads has a price
    queues: tuple[QueueEffect, ...] = ()
