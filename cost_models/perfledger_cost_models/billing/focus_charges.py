"""Reads the accelerator-hours of each charge of a FOCUS bill."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal

from perfledger_cost_models.billing.focus_rows import BillRow, csv_rows
from perfledger_cost_models.billing.repeated_rows import content_of, without_repeats
from perfledger_cost_models.price_feeds.rows import known_instances


@dataclass(frozen=True, slots=True, kw_only=True)
class Charge:
    """The accelerator-hours of one row of a bill; times in seconds since 1970."""

    labels: Mapping[str, str]  # provider, account, region, instance, accelerator, mode, tag_...
    start: float
    end: float
    device_hours: float
    content: int  # a hash of what it charges for, as `repeated_rows.content_of`
    resource: str  # "" if it has none
    effective_usd: Decimal  # of accelerators and unused commitments to them; 0 for other rows


def read_charges(text: str) -> Iterator[Charge]:
    """Yield the accelerator-hours and cost of each row of the bill's period, 0 for other rows.

    Purchases, taxes and corrections of earlier bills belong to other periods and are skipped.
    Raises BillError.
    """
    return (_charge(row) for row in without_repeats(csv_rows(text)) if row.is_of_period)


def _charge(row: BillRow) -> Charge:
    sku = row.instance
    hours, labels = 0.0, dict[str, str]()
    if sku and row.is_by_time and not row.is_unused:
        accelerators = known_instances(row.provider)[sku]
        hours = float(row.hours) * accelerators.count
        labels = {
            "provider": row.provider,
            "account": row.account,
            "region": row.cells["RegionId"],
            "instance": sku,
            "accelerator": accelerators.accelerator,
            "mode": str(row.model),
        }
        labels |= {f"tag_{name}": value for name, value in row.tags.items()}
    return Charge(
        labels=labels,
        start=row.moment("ChargePeriodStart").timestamp(),
        end=row.moment("ChargePeriodEnd").timestamp(),
        device_hours=hours,
        content=content_of(row),
        resource=row.cells["ResourceId"],
        effective_usd=row.number("EffectiveCost") if sku else Decimal(0),
    )
