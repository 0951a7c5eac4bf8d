"""A device's memory and what a workload needs of it into the next device that it fits, priced."""

from dataclasses import dataclass
from datetime import date

from perfledger_cost_models.accelerator import ACCELERATORS, BYTES_PER_GB
from perfledger_cost_models.quote import Rate
from perfledger_cost_models.rates import rate_of
from perfledger_cost_models.sheet import Price, PriceMissingError, PriceSheet
from perfledger_cost_models.sheet_diff import newest_prices

# What is bought when memory runs out, in this order: each has more memory or bandwidth than the one
# before it and no less of the other (the makers' data sheets), so that work is not slower there.
_LARGE = ("A100-80GB", "H100-80GB", "H200-141GB", "B200")
LADDERS = (
    ("V100-16GB", "V100-32GB", "A100-40GB", *_LARGE),
    ("T4", "A10G", "L40S", *_LARGE),
    ("L4", "L40S", *_LARGE),
    ("TPU-v5e", "TPU-v6e", "TPU-v5p"),
    ("TPU-v4", "TPU-v5p"),
)
_MEMORY_GB = dict(ACCELERATORS.values())


@dataclass(frozen=True, slots=True)
class Growth:
    """Peak memory of a device before and after a change, in bytes; after: low, middle, high."""

    base_bytes: float
    head_bytes: tuple[float, float, float]


def memory_of(accelerator: str) -> float | None:
    """Return the nominal memory of an accelerator of the price sheets in bytes, None if unknown.

    Devices sold as 80 GB have a little more: about what the driver and the framework take.
    """
    gigabytes = _MEMORY_GB.get(accelerator)
    return None if gigabytes is None else float(gigabytes * BYTES_PER_GB)


def may_outgrow(growth: Growth, accelerator: str) -> bool:
    """Whether what fitted the device before the change may no longer fit it."""
    limit = memory_of(accelerator)
    return limit is not None and growth.base_bytes <= limit < growth.head_bytes[-1]


def next_rate(
    sheet: PriceSheet, option: str, *, needed_bytes: float, today: date | None = None
) -> Rate:
    """Return the rate of the next device up that has the memory, bought of the same provider alike.

    Raises PriceMissingError where the sheet has none.
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
    hint = f"nothing of {price.provider}, {price.pricing_model}, has more memory and a price"
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
