import csv
import io
from datetime import UTC, datetime
from decimal import Decimal

import pytest

from perfledger_cost_models.billing.focus_charges import read_charges
from perfledger_cost_models.billing.focus_columns import COLUMNS, OPTIONAL
from tests.cost_models.billing.example_rows import TWO_HOURS

ROW = TWO_HOURS | {
    "x_InstanceType": "p5.48xlarge",
    "Tags": '{"team": "vision", "spot-ok": true}',
}


def charges(*rows):
    text = io.StringIO()
    writer = csv.DictWriter(text, (*COLUMNS, *OPTIONAL), restval="")
    writer.writeheader()
    writer.writerows(ROW | row for row in rows)
    return list(read_charges(text.getvalue()))


def test_an_instances_hours_count_each_of_its_accelerators():
    (charge,) = charges({})

    assert charge.device_hours == 2 * 8
    assert charge.effective_usd == Decimal("110.08")
    assert charge.start == datetime(2026, 10, 1, tzinfo=UTC).timestamp()
    assert charge.end - charge.start == 7200
    assert charge.labels == {
        "provider": "aws",
        "account": "research",
        "region": "us-east-1",
        "instance": "p5.48xlarge",
        "accelerator": "H100-80GB",
        "mode": "on_demand",
        "tag_team": "vision",
    }


@pytest.mark.parametrize(
    ("row", "usd"),
    [
        pytest.param({"CommitmentDiscountStatus": "Unused"}, "110.08", id="unused"),
        pytest.param({"PricingUnit": "GB-Mo"}, "110.08", id="no hours"),
        pytest.param({"x_InstanceType": "m5.large"}, "0", id="no accelerator"),
    ],
)
def test_other_usage_has_no_device_hours_but_its_period(row, usd):
    (charge,) = charges(row)

    assert (charge.device_hours, charge.labels) == (0.0, {})
    assert charge.effective_usd == Decimal(usd)
    assert charge.end - charge.start == 7200


@pytest.mark.parametrize(
    "row",
    [{"ChargeCategory": "Purchase"}, {"ChargeCategory": "Tax"}, {"ChargeClass": "Correction"}],
)
def test_charges_of_other_periods_are_skipped(row):
    assert charges(row) == []
