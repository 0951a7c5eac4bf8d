"""`perfledger prices bill` as a user runs it."""

import json

import pytest
from typer.testing import CliRunner

from perfledger_service.cli.app import app
from perfledger_service.errors import UsageError

# Written by hand in the shape of a FOCUS 1.2 row: two hours of p5.48xlarge at a discount.
ROW = {
    "BillingCurrency": "USD",
    "BilledCost": "96.87",
    "ChargeCategory": "Usage",
    "ChargePeriodStart": "2026-10-01T00:00:00Z",
    "ChargePeriodEnd": "2026-10-01T02:00:00Z",
    "EffectiveCost": "96.87",
    "PricingCategory": "Standard",
    "PricingQuantity": "2",
    "PricingUnit": "Hours",
    "ProviderName": "AWS",
    "RegionId": "us-east-1",
    "SubAccountId": "1234",
    "SubAccountName": "research",
    "x_InstanceType": "p5.48xlarge",
}


@pytest.fixture
def bill(tmp_path):
    path = tmp_path / "bill.csv"
    path.write_text(f"{','.join(ROW)}\n{','.join(ROW.values())}\n")
    return path


def test_a_bill_says_whose_hours_they_were_and_what_they_cost(run, bill):
    text = " ".join(run("prices", "bill", bill).split())

    assert "research aws:p5.48xlarge/on_demand?@us-east-1 2.0 96.87 48.44" in text
    assert "96.87 USD in total" in text


def test_hours_that_are_seconds_contradict_the_price_list(bill):
    bill.write_text(bill.read_text().replace(",Hours,", ",Seconds,"))

    done = CliRunner().invoke(app, ["prices", "bill", str(bill)])

    message = " ".join(done.stderr.split())
    assert "bill.csv: aws:p5.48xlarge on_demand: 174,400 an hour was paid by the bill" in message
    assert "the list says 55.04: the bill's hours or costs are in another unit" in message


BLOCK_HOURS = {"EffectiveCost": "0", "x_CapacityReservationType": "EC2 Capacity Blocks for ML"}
BLOCK_FEE = {"ChargeCategory": "Purchase", "x_UsageType": "CapacityBlockFee:p5.48xlarge"}


@pytest.mark.parametrize(
    ("rows", "text"),
    [
        (
            [BLOCK_HOURS],
            (
                "research aws:p5.48xlarge/capacity_block@us-east-1 2.0 0.00 - From 2026-10-01 to "
                "2026-10-01, 1 rows, effective cost: 0.00 USD for used accelerators 0.00 USD for "
                "unused commitments to accelerators 0.00 USD for everything else 0.00 USD in "
                "total; invoiced 96.87 USD 2.0 hours of p5.48xlarge are of capacity blocks whose "
                "fee is on another bill: their price is unknown"
            ),
        ),
        ([BLOCK_FEE], "96.87 USD are the fee of capacity blocks of p5.48xlarge without hours on"),
        (
            [BLOCK_HOURS, BLOCK_FEE],
            (
                "p5.48xlarge in capacity blocks: 48.44 USD an hour if the bill's fees are those of "
                "its hours, and of no earlier or later block"
            ),
        ),
    ],
)
def test_the_price_of_a_capacity_block_is_its_fee_and_unknown_without_it(run, bill, rows, text):
    columns = [*ROW, "x_UsageType", "x_CapacityReservationType"]
    lines = [",".join((ROW | row).get(name, "") for name in columns) for row in rows]
    bill.write_text("\n".join([",".join(columns), *lines, ""]))

    assert text in " ".join(run("prices", "bill", bill).split())


def test_hours_that_may_be_a_capacity_blocks_are_not_surely_on_demand(run, bill):
    text = " ".join(run("prices", "bill", bill).split())

    assert (
        "p5.48xlarge at 48.44 USD an hour, and not the 55.04 USD of an hour on demand: whether "
        "these hours are on demand, at a discount, or a capacity block's is unknown"
    ) in text


def test_an_operation_says_whose_hours_they_are(run, bill):
    columns = [*ROW, "x_Operation"]
    for operation, option in (
        ("RunInstances", "p5.48xlarge/on_demand@us-east-1"),
        ("RunInstances:CB", "p5.48xlarge/capacity_block@us-east-1"),
    ):
        bill.write_text(f"{','.join(columns)}\n{','.join([*ROW.values(), operation])}\n")

        text = " ".join(run("prices", "bill", bill).split())

        assert option in text
        assert "is unknown, because the bill says only" not in text


def test_a_bill_in_euros_says_at_which_rate_it_is_converted(run, bill, tmp_path):
    bill.write_text(bill.read_text().replace("USD", "EUR"))
    table = tmp_path / "ecb.csv"
    table.write_text("Date,USD,DKK\n2026-10-01,1.2,7.46\n")

    text = " ".join(run("prices", "bill", bill, "--exchange-rates", table).split())

    assert "116.24 USD in total" in text
    rate = "EUR at 1.2 USD of 2026-10-01, ecb.csv"
    assert f"Each cost is converted at the rate of its own day: {rate}" in text


AGREEMENT = """
[[discount]]
provider = "aws"
share = 0.12
models = ["on_demand"]
as_of = 2026-07-01
source = "EDP 4711"
[tax]
share = 0.19
source = "VAT, which a bill has in rows of its own"
"""


def test_a_bill_says_which_price_it_was_compared_with(run, bill, tmp_path):
    contract = tmp_path / "contract.toml"
    contract.write_text(AGREEMENT)

    listed = " ".join(run("prices", "bill", bill).split())
    agreed = " ".join(run("prices", "bill", bill, "--contract", contract).split())

    assert "aws:p5.48xlarge/on_demand?@us-east-1 48.44 list price 55.04 -12.0 %" in listed
    assert "aws:p5.48xlarge/on_demand@us-east-1 48.44 agreed price 48.44 none" in agreed
    words = ("prices", "bill", bill, "--overrides", contract, "--json")
    (price,) = json.loads(run(*words))["prices"]
    assert (price["basis"], price["lowest_usd_per_hour"]) == ("agreed price", "48.4352")
    assert price["source"].endswith("EDP 4711")


def test_a_paid_price_without_another_one_says_so(run, bill):
    plan = bill.read_text().replace("Standard", "Committed").replace("p5.48", "p4d.24")
    header, row = plan.splitlines()
    bill.write_text(f"{header},CommitmentDiscountType\n{row},Savings Plan\n")

    text = " ".join(run("prices", "bill", bill).split())

    assert "aws:p4d.24xlarge/savings_plan@us-east-1 48.44 no known price - unknown" in text


def test_the_parts_of_a_bill_are_written_as_json_and_csv(run, bill):
    document = json.loads(run("prices", "bill", bill, "--format", "json"))

    assert document["usage"][0]["instance_hours"] == "2"
    assert run("prices", "bill", bill, "--format", "csv").splitlines()[1].startswith("research,aws")


@pytest.mark.slow(ci_only=True)
def test_prices_that_were_paid_are_a_sheet_that_counts(run, bill, tmp_path):
    sheet = tmp_path / "paid.csv"

    run("prices", "bill", bill, "--save-prices", sheet)

    words = ("cost", "compare", "--prices", sheet, "--format", "json")
    options = json.loads(run(*words))["options"]
    (paid,) = (o for o in options if o["name"] == "aws:p5.48xlarge/on_demand/billed")
    assert float(paid["p50_usd"]) == pytest.approx(96.87 / 2 / 8, rel=1e-5)


def test_a_bill_without_accelerators_has_no_prices(run, bill, tmp_path):
    bill.write_text(bill.read_text().replace("p5.48xlarge", "m7i.large"))

    with pytest.raises(UsageError, match="no hours of a known accelerator"):
        run("prices", "bill", bill, "--save-prices", tmp_path / "paid.csv")


def test_an_amount_of_less_than_a_cent_is_no_negative_zero(run, tmp_path):
    path = tmp_path / "bill.csv"
    credit = {"EffectiveCost": "-0.001", "BilledCost": "-0.001", "ChargeCategory": "Credit"}
    row = ROW | credit
    path.write_text(f"{','.join(row)}\n{','.join(row.values())}\n")

    assert "-0.00" not in run("prices", "bill", path)


def test_the_parts_of_a_bill_add_up_to_the_cent(run, tmp_path):
    used = ROW | {"EffectiveCost": "96.877"}
    other = ROW | {"EffectiveCost": "1.006", "x_InstanceType": "t3.micro"}
    path = tmp_path / "bill.csv"
    path.write_text("\n".join(",".join(row) for row in (ROW, used.values(), other.values())))

    output = run("prices", "bill", path)

    assert "96.88 USD for used accelerators" in output
    assert "1.00 USD for everything else" in output  # 1.01 would be a cent more than the total
    assert "97.88 USD in total" in output
