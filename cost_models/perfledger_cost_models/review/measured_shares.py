"""Computes which shares of hours were used, allocated and busy from bill, usage and activity."""

from collections.abc import Iterator, Sequence
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal

from perfledger.rounding import decimals, integer
from perfledger_cost_models.billing.allocated_hours import DEVICES, pool_usages
from perfledger_cost_models.billing.focus import Bill, device_hours
from perfledger_cost_models.billing.showback import LabelledUsage, bill_days
from perfledger_cost_models.money import to_decimal
from perfledger_cost_models.price_feeds.rows import known_instances
from perfledger_cost_models.procurement.hour_shares import HourShare, ShareStatement
from perfledger_cost_models.procurement.plan import InputRange
from perfledger_cost_models.tco.purchase_modes import is_committed
from perfledger_cost_models.telemetry.activity_samples import (
    NO_OWNER,
    ActivityExport,
    clip_export,
)
from perfledger_cost_models.telemetry.sample_table import table_of
from perfledger_cost_models.telemetry.signals import OwnerLevel
from perfledger_cost_models.telemetry.utilization import best_signal, utilization_by_owner
from perfledger_cost_models.usage.device_spans import UsageFileError


def measured_shares(
    bill: Bill | None, use: LabelledUsage | None, *, accelerator: str, bill_name: str
) -> tuple[ShareStatement, ...]:
    """Return the shares of an accelerator's hours that a bill and usage files show."""
    if bill is None:
        return ()
    statements = [*_utilization(bill, accelerator, bill_name)]
    if use is not None:
        statements += _allocated_shares(bill, use, accelerator, bill_name)
    return tuple(statements)


def busy_share(
    exports: Sequence[ActivityExport], *, start: date, end: date
) -> tuple[ShareStatement, ...]:
    """Return how busy devices with an owner were from `start` up to `end`; none without a mean.

    Hours without a sample may have been idle or busy, which gives the range. Peak values alone give
    no mean. Raises UsageFileError for files without activity in the period.
    """
    moments = [datetime.combine(day, time(), UTC).timestamp() for day in (start, end)]
    clipped = [clip_export(export, *moments) for export in exports]
    names = ", ".join(export.name for export in exports)
    if not any(export.activities for export in clipped):
        msg = f"{names}: no activity from {start} to {end}: export that quarter"
        raise UsageFileError(msg)
    table = table_of(clipped)
    signal = best_signal(table)
    owners = [
        owner
        for owner in utilization_by_owner(table, OwnerLevel.TEAM, signal)
        if owner.owner != NO_OWNER
    ]
    known_hours = sum(owner.device_hours for owner in owners)
    if known_hours <= 0 or any(owner.is_upper_bound for owner in owners):
        return ()
    missing_hours = sum(owner.missing_hours for owner in owners)
    busy_hours = sum(owner.mean * owner.device_hours for owner in owners if owner.mean)
    all_hours = known_hours + missing_hours
    return (
        ShareStatement(
            share=HourShare.BUSY,
            range=InputRange(
                low=to_decimal(busy_hours / all_hours),
                mode=to_decimal(busy_hours / known_hours),
                high=to_decimal(min(1.0, (busy_hours + missing_hours) / all_hours)),
                source=f"{names}: {signal} of devices with an owner",
                basis="measured",
                as_of=end - timedelta(days=1),
            ),
            counts=(
                f"{integer(busy_hours)} of {integer(known_hours)} sampled device-hours were busy"
            ),
        ),
    )


def _utilization(bill: Bill, accelerator: str, name: str) -> Iterator[ShareStatement]:
    """Yield used over total committed cost: on many bills unused commitments have no hours."""
    used = sum(
        (
            one.effective_usd
            for one in bill.usage
            if is_committed(one.model)
            and known_instances(one.provider)[one.sku].accelerator == accelerator
        ),
        Decimal(0),
    )
    committed = used + bill.unused.get(accelerator, Decimal(0))
    if committed > 0:
        yield ShareStatement(
            share=HourShare.COMMITMENT_UTILIZATION,
            range=_certain(used / committed, f"{name}: used / all committed {accelerator}", bill),
            counts=(
                f"{decimals(used, 2)} of {decimals(committed, 2)} USD of {accelerator} "
                "commitments were used"
            ),
        )


def _allocated_shares(
    bill: Bill, use: LabelledUsage, accelerator: str, name: str
) -> Iterator[ShareStatement]:
    """Yield allocated over paid hours: the accelerator's, else those of all devices together."""
    paid: dict[str, Decimal] = {}
    for (_, device), hours in device_hours(bill).items():
        paid[device] = paid.get(device, Decimal(0)) + hours
    scope, days = accelerator, bill_days(bill)
    pools = pool_usages(use.usages, use.labels, days, paid)
    if pools is None:
        scope, paid = "device", {"device": sum(paid.values(), Decimal(0))}
        pools = pool_usages(use.usages, use.labels, days, [DEVICES]) or ()
        allocated = sum((each.used_hours for each in pools), Decimal(0))
    else:
        allocated = sum((each.used_hours for each in pools if each.pool == scope), Decimal(0))
    if paid.get(scope, Decimal(0)) > 0:
        source = f"usage files / {name}: allocated / paid {scope} hours"
        yield ShareStatement(
            share=HourShare.ALLOCATED,
            range=_certain(min(allocated / paid[scope], Decimal(1)), source, bill),
            counts=(
                f"{integer(allocated)} of {integer(paid[scope])} paid {scope} hours were allocated"
            ),
        )


def _certain(share: Decimal, source: str, bill: Bill) -> InputRange:
    return InputRange(
        low=share,
        mode=share,
        high=share,
        source=source,
        basis="measured",
        as_of=bill.end.date(),
    )
