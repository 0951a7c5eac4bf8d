"""Translates AWS's Cost and Usage Report 2.0 into the columns of a FOCUS bill.

AWS, Data Exports, "Cost and Usage Report (CUR) 2.0",
https://docs.aws.amazon.com/cur/latest/userguide/table-dictionary-cur2.html. The effective cost is
AWS's amortized cost ("CUR Query Library"): a covered hour costs its share of the commitment, and
the fee of a commitment costs what of it was not used. Where the report has net columns, which are
after discounts, these count.
"""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from decimal import Decimal

import msgspec

from perfledger_profiles.parsing.text_table import is_number

_TYPE = "line_item_line_item_type"
REQUIRED = (
    _TYPE,
    "line_item_currency_code",
    "line_item_product_code",
    "line_item_unblended_cost",
    "line_item_usage_amount",
    "line_item_usage_end_date",
    "line_item_usage_start_date",
    "line_item_usage_type",
    "pricing_unit",
    "product_instance_type",
)
OPTIONAL = (
    "bill_billing_entity",
    "capacity_reservation_capacity_reservation_status",
    "capacity_reservation_capacity_reservation_type",
    "line_item_line_item_description",
    "line_item_net_unblended_cost",
    "line_item_operation",
    "line_item_resource_id",
    "line_item_usage_account_id",
    "line_item_usage_account_name",
    "pricing_public_on_demand_cost",
    "product_region_code",
    "reservation_effective_cost",
    "reservation_net_effective_cost",
    "reservation_net_unused_amortized_upfront_fee_for_billing_period",
    "reservation_net_unused_recurring_fee",
    "reservation_reservation_a_r_n",
    "reservation_unused_amortized_upfront_fee_for_billing_period",
    "reservation_unused_recurring_fee",
    "resource_tags",
    "savings_plan_amortized_upfront_commitment_for_billing_period",
    "savings_plan_net_amortized_upfront_commitment_for_billing_period",
    "savings_plan_net_recurring_commitment_for_billing_period",
    "savings_plan_net_savings_plan_effective_cost",
    "savings_plan_recurring_commitment_for_billing_period",
    "savings_plan_savings_plan_a_r_n",
    "savings_plan_savings_plan_effective_cost",
    "savings_plan_total_commitment_to_date",
    "savings_plan_used_commitment",
)
# Another format of this name has slashes: lineItem/LineItemType.
LEGACY_COLUMN = "lineItem/LineItemType"
_COST, _NET_COST = "line_item_unblended_cost", "line_item_net_unblended_cost"
_RESERVED, _PLANNED = "DiscountedUsage", "SavingsPlanCoveredUsage"
_RESERVATION_FEE, _PLAN_FEE = "RIFee", "SavingsPlanRecurringFee"
# Rows that contain, as cost or its opposite, what other rows spread over the hours.
_SPREAD = frozenset({"SavingsPlanNegation", "SavingsPlanUpfrontFee"})
_CATEGORIES = {
    "Usage": "Usage",
    _RESERVED: "Usage",
    _PLANNED: "Usage",
    _RESERVATION_FEE: "Usage",
    _PLAN_FEE: "Usage",
    "Tax": "Tax",
    "Credit": "Credit",
    "Fee": "Purchase",
    "SavingsPlanUpfrontFee": "Purchase",
}
# Services whose rows name an instance; those of SageMaker, "ml.p5.48xlarge", are not EC2's.
_INSTANCE_SERVICES = frozenset({"AmazonEC2", "AmazonSageMaker"})
_HOURS = ("BoxUsage", "SpotUsage", "DedicatedUsage")  # how usage types of an instance's hours end
_USER_TAG = "user_"  # the prefix of the keys of an organisation's own tags
_MAX_TAGS = 200_000


class Cur2Error(ValueError):
    """An error for a row whose effective cost the report does not say."""


def is_cur2(header: Sequence[str]) -> bool:
    """Return whether a table's columns are those of CUR 2.0."""
    return _TYPE in header and _COST in header and "BilledCost" not in header


def focus_cells(cells: Mapping[str, str]) -> dict[str, str]:
    """Return a row's cells in FOCUS's columns. Raise Cur2Error for an unknown effective cost."""
    kind = cells[_TYPE]
    is_fee = kind in {_RESERVATION_FEE, _PLAN_FEE}
    is_reserved = kind in {_RESERVED, _RESERVATION_FEE}
    is_committed = is_fee or is_reserved or kind == _PLANNED
    names_instance = cells["line_item_product_code"] in _INSTANCE_SERVICES
    reservation = cells.get("capacity_reservation_capacity_reservation_status", "")
    start = cells["line_item_usage_start_date"]
    return {
        "BillingCurrency": cells["line_item_currency_code"],
        "BilledCost": "0" if kind in {_PLANNED, "SavingsPlanNegation"} else _cost(cells),
        "EffectiveCost": _effective_cost(kind, cells),
        "ListCost": cells.get("pricing_public_on_demand_cost", ""),
        "ChargeCategory": _category(kind),
        "ChargeClass": "Correction" if kind == "Refund" else "",
        "ChargeDescription": cells.get("line_item_line_item_description", ""),
        "ChargePeriodStart": start,
        # The fee of a reservation is that of the whole month, even of one that has not ended.
        "ChargePeriodEnd": start if kind == _RESERVATION_FEE else cells["line_item_usage_end_date"],
        "PricingQuantity": "0" if is_fee else cells["line_item_usage_amount"],
        "PricingUnit": cells["pricing_unit"],
        "PricingCategory": "Committed" if is_committed else _pricing_category(cells),
        "CommitmentDiscountStatus": "Unused" if is_fee else "Used" if is_committed else "",
        "CommitmentDiscountType": ("Reservation" if is_reserved else "Savings Plan")
        if is_committed
        else "",
        "CommitmentDiscountId": cells.get("reservation_reservation_a_r_n", "")
        or cells.get("savings_plan_savings_plan_a_r_n", ""),
        # A row of status Reserved or Cancelled has no used hours; its meter says so.
        "CapacityReservationStatus": reservation if reservation in {"Used", "Unused"} else "",
        "ServiceProviderName": cells.get("bill_billing_entity", "") or "AWS",
        "ServiceName": cells["line_item_product_code"],
        "RegionId": cells.get("product_region_code", ""),
        "ResourceId": cells.get("line_item_resource_id", ""),
        "SubAccountId": cells.get("line_item_usage_account_id", ""),
        "SubAccountName": cells.get("line_item_usage_account_name", ""),
        "Tags": _tags(cells.get("resource_tags", "")),
        "x_InstanceType": cells["product_instance_type"] if names_instance else "",
        "x_CapacityReservationType": cells.get(
            "capacity_reservation_capacity_reservation_type", ""
        ),
        "x_Operation": cells.get("line_item_operation", ""),
        "x_UsageType": cells["line_item_usage_type"],
    }


def _category(kind: str) -> str:
    return _CATEGORIES.get(kind, "Adjustment")


def _pricing_category(cells: Mapping[str, str]) -> str:
    return "Dynamic" if "SpotUsage" in cells["line_item_usage_type"] else "Standard"


def _metered_instance(cells: Mapping[str, str]) -> str:
    """Return the instance that a usage type of hours names, such as "USE1-BoxUsage:p5.48xlarge"."""
    meter, _, instance = cells["line_item_usage_type"].partition(":")
    return instance if meter.endswith(_HOURS) else ""


def _cost(cells: Mapping[str, str]) -> str:
    """Return what a row costs, after discounts where the report has them."""
    net = cells.get(_NET_COST, "").strip()
    is_hour = cells[_TYPE] == "Usage" and cells["product_instance_type"]
    if net and is_hour:
        _check_net(cells, _NET_COST, _COST)
    return net or cells[_COST]


def _effective_cost(kind: str, cells: Mapping[str, str]) -> str:
    """Return AWS's amortized cost of a row."""
    if kind == _RESERVED:
        return _net(cells, "reservation_net_effective_cost", "reservation_effective_cost")
    if kind == _PLANNED:
        return _net(
            cells,
            "savings_plan_net_savings_plan_effective_cost",
            "savings_plan_savings_plan_effective_cost",
        )
    if kind == _RESERVATION_FEE:
        upfront = "unused_amortized_upfront_fee_for_billing_period"
        recurring = "unused_recurring_fee"
        return str(
            sum(
                Decimal(_net(cells, f"reservation_net_{part}", f"reservation_{part}"))
                for part in (upfront, recurring)
            )
        )
    if kind == _PLAN_FEE:
        committed, used = (
            Decimal(_number(cells, name))
            for name in ("savings_plan_total_commitment_to_date", "savings_plan_used_commitment")
        )
        return str((committed - used) * _net_share(cells))
    if kind in _SPREAD or (kind == "Fee" and cells.get("reservation_reservation_a_r_n")):
        return "0"
    cost = _cost(cells)
    instance = cells["product_instance_type"] or _metered_instance(cells)
    is_discount = kind.endswith("Discount") and instance
    if is_discount and is_number(cost) and Decimal(cost):
        msg = (
            f"has a discount ({kind}) of {instance[:40]} apart from its hours: "
            "export the report without manual discount compatibility, which nets it, or FOCUS"
        )
        raise Cur2Error(msg)
    return cost


def _net_share(cells: Mapping[str, str]) -> Decimal:
    """Return which share of a savings plan's fee is paid after discounts; 1 where it is not said.

    A commitment is stated before discounts. Its fee is a recurring part and a part of the payment
    in advance, each of them with a net column where the account has a discount.
    """
    parts = ("recurring", "amortized_upfront")
    gross, net = (
        [f"savings_plan_{prefix}{part}_commitment_for_billing_period" for part in parts]
        for prefix in ("", "net_")
    )
    if not all(cells.get(name, "").strip() for name in (*gross, *net)):
        return Decimal(1)
    fee, paid = (sum(Decimal(_number(cells, name)) for name in names) for names in (gross, net))
    for net_name, name in zip(net, gross, strict=True):
        _check_net(cells, net_name, name)
    return Decimal(paid / fee) if fee else Decimal(1)


def _net(cells: Mapping[str, str], net_name: str, name: str) -> str:
    """Return a cost after discounts where the report has it, else before them."""
    if not cells.get(net_name, "").strip():
        return _number(cells, name)
    _check_net(cells, net_name, name)
    return _number(cells, net_name)


def _check_net(cells: Mapping[str, str], net_name: str, name: str) -> None:
    """Raise Cur2Error for a zero where only the cost before discounts is known.

    Some exports write zero into net columns of accounts without discounts.
    """
    net, cost = (cells.get(each, "").strip() for each in (net_name, name))
    if is_number(net) and is_number(cost) and not Decimal(net) and Decimal(cost):
        msg = (
            f"has {name} {cost[:40]} and {net_name} 0: whether it is free or only lacks the "
            "discounted cost is unknown; export it without the net columns"
        )
        raise Cur2Error(msg)


def _number(cells: Mapping[str, str], name: str) -> str:
    cell = cells.get(name, "").strip()
    if not is_number(cell):
        msg = f"is {cells[_TYPE]!r} with {name} {cell[:40]!r}: export it with this column"
        raise Cur2Error(msg)
    return cell


def _tags(text: str) -> str:
    """Return the tags by the names that their organisation gave them."""
    if not text or len(text) > _MAX_TAGS:
        return ""
    with suppress(msgspec.DecodeError, RecursionError):
        tags = msgspec.json.decode(text, type=dict[str, object])
        return msgspec.json.encode(
            {name.removeprefix(_USER_TAG): value for name, value in tags.items()}
        ).decode()
    return ""
