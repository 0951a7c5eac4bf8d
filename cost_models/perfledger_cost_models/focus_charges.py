"""A bill in the FOCUS format into the accelerator-hours of its usage, charge by charge."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal

from perfledger_cost_models.bulk import known_instances
from perfledger_cost_models.focus_row import BillRow, csv_rows


@dataclass(frozen=True, slots=True, kw_only=True)
class Charge:
    """Accelerator-hours of one row of a bill; times in seconds since 1970."""

    labels: Mapping[str, str]  # provider, account, region, instance, accelerator, mode, tag_...
    start: float
    end: float
    device_hours: float
    effective_usd: Decimal  # of accelerators, unused commitments to them included; 0 for all else


def read_charges(lines: Iterable[str]) -> Iterator[Charge]:
    """Yield the accelerator-hours and cost of each row of the bill's period, 0 for rows without.

    Purchases, taxes and corrections of earlier bills are of other periods, and not in it. Raises
    BillError.
    """
    return (_charge(row) for row in csv_rows(lines) if row.is_of_period)


def _charge(row: BillRow) -> Charge:
    sku = row.instance
    hours, labels = 0.0, dict[str, str]()
    if sku and row.is_by_hour and not row.is_unused:
        holds = known_instances(row.provider)[sku]
        hours = float(row.number("PricingQuantity")) * holds.count
        labels = {
            "provider": row.provider,
            "account": row.account,
            "region": row.cells["RegionId"],
            "instance": sku,
            "accelerator": holds.accelerator,
            "mode": str(row.model),
        }
        labels |= {f"tag_{name}": value for name, value in row.tags.items()}
    return Charge(
        labels=labels,
        start=row.moment("ChargePeriodStart").timestamp(),
        end=row.moment("ChargePeriodEnd").timestamp(),
        device_hours=hours,
        effective_usd=row.number("EffectiveCost") if sku else Decimal(0),
    )
