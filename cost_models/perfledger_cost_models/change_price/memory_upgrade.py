"""Finds the next larger device, and its rate, for a workload that outgrows its memory."""

from dataclasses import dataclass
from datetime import date

from perfledger_cost_models.prices.accelerator_names import BYTES_PER_GB, MEMORY_GB
from perfledger_cost_models.prices.diff import newest_prices
from perfledger_cost_models.prices.price_sheet import Price, PriceMissingError, PriceSheet
from perfledger_cost_models.quote import HourlyRate
from perfledger_cost_models.tco.hourly_rates import rate_of

# Upgrades in order: each device has more memory or bandwidth than the one before it and no less of
# the other (the makers' data sheets), so that work is not slower there.
_LARGE = ("A100-80GB", "H100-80GB", "H200-141GB", "B200")
LADDERS = (
    ("V100-16GB", "V100-32GB", "A100-40GB", *_LARGE),
    ("T4", "A10G", "L40S", *_LARGE),
    ("L4", "L40S", *_LARGE),
    ("TPU-v5e", "TPU-v6e", "TPU-v5p"),
    ("TPU-v4", "TPU-v5p"),
)


@dataclass(frozen=True, slots=True)
class MemoryGrowth:
    """Peak device memory in bytes before a change, and after it (low, middle, high)."""

    base_bytes: float
    head_bytes: tuple[float, float, float]


def memory_of(accelerator: str) -> float | None:
    """Return the nominal memory of a price sheet's accelerator in bytes; None if unknown.

    Devices sold as 80 GB have slightly more, about what the driver and the framework need.
    """
    gigabytes = MEMORY_GB.get(accelerator)
    return None if gigabytes is None else float(gigabytes * BYTES_PER_GB)


def may_outgrow(growth: MemoryGrowth, accelerator: str) -> bool:
    """Return whether a workload that fitted the device may no longer fit after the change."""
    limit = memory_of(accelerator)
    return limit is not None and growth.base_bytes <= limit < growth.head_bytes[-1]


def next_rate(
    sheet: PriceSheet, option: str, *, needed_bytes: float, today: date | None = None
) -> HourlyRate:
    """Return the rate of the next larger device with enough memory, on the same provider's terms.

    Raises PriceMissingError if the sheet has none.
    """
    price = sheet.find(option)
    for accelerator in _above(price.accelerator):
        if (memory_of(accelerator) or 0) < needed_bytes:
            continue
        newest = newest_prices(sheet).values()
        alike = [each for each in newest if _is_alike(each, price, accelerator)]
        if alike:
            here = [each for each in alike if each.region == price.region] or alike
            best = min(here, key=lambda each: (each.usd_per_device_hour, each.option))
            where = f"@{best.region}" if best.region else ""
            return rate_of(sheet, f"{best.provider}:{best.option}{where}", today=today)
    hint = f"{price.provider} has no {price.pricing_model} price for a device with more memory"
    raise PriceMissingError(option, sheet.name, hint)


def _above(accelerator: str) -> tuple[str, ...]:
    for ladder in LADDERS:
        if accelerator in ladder:
            return ladder[ladder.index(accelerator) + 1 :]
    return ()


def _is_alike(candidate: Price, price: Price, accelerator: str) -> bool:
    terms = (price.provider, price.pricing_model, price.option_term)
    return (
        (candidate.provider, candidate.pricing_model, candidate.option_term) == terms
        and candidate.accelerator == accelerator
        and candidate.is_trusted
    )
