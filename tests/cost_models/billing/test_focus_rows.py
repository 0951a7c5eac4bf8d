from datetime import UTC, datetime, timedelta, timezone
from decimal import Decimal

import pytest

from perfledger_cost_models.billing import focus_rows
from perfledger_cost_models.billing.focus_columns import COLUMNS, OPTIONAL, BillError
from perfledger_cost_models.billing.focus_rows import BillRow, bill_rows, csv_rows

HEADER = (*COLUMNS, "ProviderName")


def row(**cells):
    usual = dict.fromkeys((*COLUMNS, *OPTIONAL), "") | {"ProviderName": "AWS"}
    return BillRow(usual | cells, line=7)


@pytest.mark.parametrize("text", ["1e12", "9.99e12", "1e-30", "-1e12", " 5 "])
def test_amounts_of_up_to_thirteen_digits_are_read(text):
    assert row(BilledCost=text).number("BilledCost") == Decimal(text.strip())


@pytest.mark.parametrize("text", ["1e13", "-1e13", "9e-31", "NaN", "Infinity", "", "1,5"])
def test_what_is_no_amount_is_refused(text):
    with pytest.raises(BillError, match=r"the bill, line 7: BilledCost .* (is not an am|has a co)"):
        row(BilledCost=text).number("BilledCost")


@pytest.mark.parametrize("text", ["0", "0e99", "-0.000"])
def test_nothing_is_zero_with_whatever_exponent(text):
    assert str(row(BilledCost=text).number("BilledCost")) == "0"


@pytest.mark.parametrize(
    "text",
    ["2026-10-01T00:00:00Z", "2026-10-01 00:00:00 UTC", "2026-10-01", "2026-10-01T02:00:00+02:00"],
)
def test_a_time_without_a_zone_is_utc(text):
    assert row(ChargePeriodStart=text).moment("ChargePeriodStart") == datetime(
        2026, 10, 1, tzinfo=UTC
    )


def test_a_time_keeps_its_own_zone():
    moment = row(ChargePeriodEnd="2026-10-01T02:00:00+02:00").moment("ChargePeriodEnd")

    assert moment.tzinfo == timezone(timedelta(hours=2))


@pytest.mark.parametrize(
    ("cells", "instance"),
    [
        ({"x_UsageType": "USE1-BoxUsage:p5.48xlarge"}, "p5.48xlarge"),
        ({"SkuMeter": "SpotUsage:p5.48xlarge"}, "p5.48xlarge"),
        ({"ResourceType": "p5.48xlarge"}, "p5.48xlarge"),
        ({"SkuPriceDetails": '{"InstanceType": "p5.48xlarge"}'}, "p5.48xlarge"),
        ({"SkuPriceDetails": "{", "x_InstanceType": "p5.48xlarge"}, "p5.48xlarge"),
        (
            {
                "SkuPriceDetails": '{"InstanceType": "p5.48xlarge"}',
                "x_InstanceType": "p4d.24xlarge",
            },
            "p5.48xlarge",
        ),
        ({"x_UsageType": "EBSOptimized:p5.48xlarge"}, ""),
        ({"x_InstanceType": "m5.large"}, ""),
        ({"x_InstanceType": "p5.48xlarge", "ProviderName": "Someone"}, ""),
    ],
)
def test_the_instance_is_one_of_the_provider_with_known_accelerators(cells, instance):
    assert row(**cells).instance == instance


@pytest.mark.parametrize(
    ("cells", "is_unused"),
    [
        ({}, False),
        ({"CommitmentDiscountStatus": "Used"}, False),
        ({"CommitmentDiscountStatus": "Unused"}, True),
        ({"CapacityReservationStatus": "Unused"}, True),
        ({"x_UsageType": "UnusedBox:p5.48xlarge"}, True),
        ({"SkuMeter": "USE1-UnusedDed:p5.48xlarge"}, True),
        ({"SkuMeter": "USE1-DedicatedUsage:p5.48xlarge"}, False),
    ],
)
def test_unused_capacity_is_known_by_its_status_or_meter(cells, is_unused):
    assert row(**cells).is_unused is is_unused


@pytest.mark.parametrize(
    ("unit", "hours"),
    [
        *(("Hours", 36), (" hrs ", 36), ("h", 36), ("1 Hour", 36), ("100 Hours", 3600)),
        *(("Minutes", Decimal("0.6")), ("Seconds", Decimal("0.01"))),
        *(("GB-Mo", None), ("", None), ("GPU Hours", None), ("0 Hours", None), ("Hours 2", None)),
    ],
)
def test_only_units_of_time_are_hours(unit, hours):
    by_unit = row(PricingUnit=unit, PricingQuantity="36")

    assert by_unit.is_by_time is (hours is not None)
    assert by_unit.hours == (hours or 0)


@pytest.mark.parametrize(
    ("cells", "is_usage", "is_of_period"),
    [
        ({"ChargeCategory": "Usage"}, True, True),
        ({"ChargeCategory": "Usage", "ChargeClass": "Correction"}, True, False),
        ({"ChargeCategory": "Tax"}, False, False),
    ],
)
def test_a_correction_is_usage_of_another_period(cells, is_usage, is_of_period):
    charged = row(**cells)

    assert (charged.is_usage, charged.is_of_period) == (is_usage, is_of_period)


@pytest.mark.parametrize(
    ("cells", "account"),
    [({"SubAccountName": "vision", "SubAccountId": "1"}, "vision"), ({"SubAccountId": "1"}, "1")],
)
def test_the_accounts_name_goes_before_its_id(cells, account):
    assert row(**cells).account == account


def cells_of(**values):
    return [({"BillingCurrency": "USD"} | values).get(name, "") for name in HEADER]


def test_rows_have_every_column_and_their_line():
    (bill_row,) = bill_rows(HEADER, [(3, cells_of(BilledCost="NULL", PricingUnit="Hours"))])

    assert bill_row.line == 3
    assert (bill_row.cells["BilledCost"], bill_row.cells["PricingUnit"]) == ("", "Hours")
    assert bill_row.cells["Tags"] == ""


@pytest.mark.parametrize(
    ("cells", "message"),
    [
        (cells_of(BillingCurrency="EUR"), "line 2, is in 'EUR': give the ECB's table"),
        (cells_of()[:-1], "line 2: 8 cells for 9 columns"),
        ([*cells_of(), "5"], "line 2: 10 cells for 9 columns"),
    ],
)
def test_another_currency_and_a_truncated_row_are_refused(cells, message):
    with pytest.raises(BillError, match=message):
        list(csv_rows(f"{','.join(HEADER)}\n{','.join(cells)}\n"))


def test_missing_columns_are_named():
    with pytest.raises(BillError, match=r"lacks FOCUS's columns \['BillingCurrency'\]"):
        list(bill_rows(HEADER[1:], []))


def test_a_bill_has_at_most_so_many_rows_below_its_header(monkeypatch):
    monkeypatch.setattr(focus_rows, "MAX_ROWS", 2)
    lines = ["\ufeff" + ",".join(HEADER) + "\n", *[",".join(cells_of()) + "\n"] * 3]

    assert len(list(csv_rows(lines[:3]))) == 2
    with pytest.raises(BillError, match="too large at line 4: export shorter periods"):
        list(csv_rows(lines))


@pytest.mark.parametrize(
    "description",
    [
        "$55.04 per On Demand Linux p5.48xlarge Instance Hour",
        "$60.00 per On Demand Linux with SQL Std p5.48xlarge Instance Hour",
        "p5.48xlarge Linux/UNIX Spot Instance-hour in US West (Oregon) in VPC Zone #1",
        "Linux/UNIX (Amazon VPC), p5.48xlarge reserved instance applied",
    ],
)
def test_a_description_names_the_instance_where_no_column_does(description):
    """FOCUS 1.0's own sample of AWS's rows has the instance nowhere else."""
    cells = {"ResourceType": "instance", "ChargeDescription": description}

    assert row(**cells).instance == "p5.48xlarge"
    assert not row(**cells).is_unused
    assert row(**cells | {"ProviderName": "Microsoft"}).instance == ""


@pytest.mark.parametrize(
    "description",
    [
        "$0.00 for 4245 Mbps per p5.48xlarge instance-hour (or partial hour)",
        "$0.045 per NAT Gateway Hour",
        "per On Demand " * 10_000,
        f"$1 per On Demand {'x ' * 50_000}p5.48xlarge Instance Hour",
        ", a.b" * 30_000,
    ],
)
def test_other_descriptions_name_no_instance(description):
    assert row(ChargeDescription=description).instance == ""


def test_an_unused_reservation_is_known_by_its_description():
    described = row(ChargeDescription="$55 per Unused Reservation Linux p5.48xlarge Instance Hour")

    assert (described.instance, described.is_unused) == ("p5.48xlarge", True)


@pytest.mark.parametrize(
    ("cells", "unlisted"),
    [
        ({"x_InstanceType": "p3.8xlarge"}, "p3.8xlarge"),
        ({"x_UsageType": "BoxUsage:g4ad.xlarge"}, "g4ad.xlarge"),
        ({"x_InstanceType": "p6-b9999.48xlarge"}, "p6-b9999.48xlarge"),
        ({"ChargeDescription": "$1 per On Demand Linux g3.4xlarge Instance Hour"}, "g3.4xlarge"),
        ({"ProviderName": "Microsoft", "ResourceType": "Standard_NC6s_v3"}, "Standard_NC6s_v3"),
        ({"x_InstanceType": "m7i.large"}, ""),
        ({"x_InstanceType": "p3.8xlarge", "ServiceName": "Amazon Elastic MapReduce"}, ""),
        ({"x_InstanceType": "p3.8xlarge", "ProviderName": "Oracle"}, ""),
        ({"x_InstanceType": "p5.48xlarge"}, ""),
    ],
)
def test_an_instance_with_accelerators_that_are_not_known_is_named(cells, unlisted):
    assert row(**cells).unlisted_instance == unlisted


# FOCUS 1.4 of the specification's examples (specification/data/commitment_discount_scenarios,
# aws_savings_plan_all_upfront_75pct.csv): ServiceProviderName instead of ProviderName.
FOCUS_1_4 = """\
BilledCost,BillingCurrency,ChargeCategory,ChargePeriodEnd,ChargePeriodStart,EffectiveCost,\
HostProviderName,ServiceProviderName,PricingQuantity,PricingUnit,ResourceType,Tags,AllocatedTags
0.00,USD,Usage,2026-02-01T01:00:00Z,2026-02-01T00:00:00Z,52.40,Amazon Web Services,\
Amazon Web Services,1.00,Hours,p5.48xlarge,"{""team"":""platform""}","{""team"":""nlp""}"
"""


def test_focus_1_4_names_its_service_provider():
    (charge,) = csv_rows(FOCUS_1_4.splitlines(keepends=True))

    assert (charge.provider, charge.instance) == ("aws", "p5.48xlarge")


def test_a_part_of_a_split_charge_has_the_tags_of_what_it_is_allocated_to():
    (charge,) = csv_rows(FOCUS_1_4.splitlines(keepends=True))

    assert charge.tags == {"team": "nlp"}


def test_the_seller_of_a_market_provides_what_it_sells():
    # FOCUS 1.3 has both columns; on AWS's market the older one is AWS.
    charge = row(ServiceProviderName="Databricks", ResourceType="p5.48xlarge")

    assert (charge.provider, charge.instance) == ("", "")


def test_an_empty_service_provider_is_that_of_the_older_column():
    assert row(ServiceProviderName=" ").provider == "aws"


def test_a_bill_without_any_provider_is_refused():
    with pytest.raises(BillError, match=r"\['ServiceProviderName or ProviderName'\]: export Cost"):
        list(bill_rows(COLUMNS, []))


@pytest.mark.parametrize(
    ("column", "dataset"),
    [
        ("ContractCommitmentCategory", "Contract Commitment"),
        ("BillingPeriodStatus", "Billing Period"),
        ("InvoiceDetailLastUpdated", "Invoice Detail"),
    ],
)
def test_another_dataset_of_focus_is_refused_by_its_name(column, dataset):
    with pytest.raises(BillError, match=f"is its dataset {dataset}: export Cost and Usage as"):
        list(bill_rows([column, "BillingCurrency"], []))


def test_a_column_that_is_twice_is_refused_because_one_would_count():
    with pytest.raises(BillError, match="the column EffectiveCost twice"):
        list(bill_rows([*HEADER, "EffectiveCost"], []))
