"""AWS's published example of savings plans, and usage that cannot be covered."""

import json

import pytest

from perfledger_service.errors import UsageError


@pytest.fixture
def aws(overrides, price_table):
    """AWS's illustrative prices; see `tests/cost_models/billing/test_commitment_coverage.py`."""
    one = {"accelerator": "none", "count": 1}
    plan = {"model": "savings_plan", **one}
    return overrides(
        {},
        *(
            price_table(sku, usd, **one)
            for sku, usd in (("r5.4xlarge", 1.0), ("m5.24xlarge", 10.0))
        ),
        price_table("r5.4xlarge", 0.7, term="1y_partial_upfront_compute", **plan),
        price_table("r5.4xlarge", 0.6, term="1y_partial_upfront", **plan),
        price_table("m5.24xlarge", 8.2, term="1y_partial_upfront_compute", **plan),
        price_table("r5.4xlarge", 0.6, model="reserved", term="1y_no_upfront", **one),
    )


def test_aws_scenario_2_by_the_command(run, aws):
    used = ("--usage", "4xr5.4xlarge", "--usage", "1xm5.24xlarge")
    plan = ("--savings-plan", "2@1y_partial_upfront_compute", "--overrides", aws)
    document = json.loads(run("cost", "coverage", *used, *plan, "--format", "json"))

    r5, m5 = document["charges"]
    assert float(r5["on_demand_usd"]) == pytest.approx(1.14, abs=0.005)
    assert (float(m5["on_demand_usd"]), float(document["unused_usd"])) == (10, 0)
    assert float(document["total_usd"]) == pytest.approx(2 + 1.143 + 10, abs=0.001)


def test_a_table_of_hours_is_billed_hour_by_hour(run, aws, tmp_path):
    table = tmp_path / "usage.csv"
    table.write_text(
        "hour,sku,quantity\n2026-10-01T00,r5.4xlarge,4\n2026-10-01T01,r5.4xlarge,1\n",
        encoding="utf-8",
    )
    held_texts = (
        "--savings-plan",
        "r5:1.2@1y_partial_upfront",
        "--reserved-instance",
        "1xr5.4xlarge@1y_no_upfront",
    )
    text = " ".join(run("cost", "coverage", table, *held_texts, "--overrides", aws).split())

    assert "Bill of 2 hours" in text
    assert "r5.4xlarge 5.00 2.00 2.00 1.00 1.00" in text
    assert "3.60 USD committed, 66.7 % used; 1.20 USD unused" in text
    assert "4.60 USD in total; all on demand 5.00 USD: 0.40 USD saved" in text


def test_hours_without_usage_pay_for_the_commitment(run, aws):
    plan = ("--savings-plan", "0.7@1y_partial_upfront_compute", "--overrides", aws)
    words = ("--usage", "1xr5.4xlarge", "--total-hours", "730", *plan, "--format", "json")
    document = json.loads(run("cost", "coverage", *words))

    assert float(document["total_usd"]) == 511
    assert float(document["unused_usd"]) == pytest.approx(510.3)


@pytest.mark.parametrize(
    ("words", "text"),
    [
        ((), "give a CSV"),
        (("--usage", "r5"), "write COUNTxINSTANCE"),
        (("--usage", "1xnothing"), "no price for"),
        (("--usage", "1xr5.4xlarge", "--savings-plan", "much"), "USD an hour and the term"),
        (("--usage", "1xr5.4xlarge", "--savings-plan", "2@9y"), "covers no used instance"),
        (("--usage", "1xr5.4xlarge", "--savings-plan", "0@1y_partial_upfront"), "above zero"),
        (("--usage", "1xr5.4xlarge", "--reserved-instance", "r5"), "write COUNTxINSTANCE@TERM"),
        (("--usage", "1xr5.4xlarge", "--total-hours", "0"), "at least the 1"),
    ],
)
def test_what_cannot_be_covered_is_an_error(run, aws, words, text):
    with pytest.raises(UsageError, match=text):
        run("cost", "coverage", *words, "--overrides", aws)


@pytest.mark.parametrize(
    "text",
    [
        "hour,sku\n1,r5.4xlarge\n",
        "hour,sku,quantity\n1,r5.4xlarge,-1\n",
        "hour,sku,quantity\n1,r5.4xlarge,NaN\n",
        "hour,sku,quantity\n1,r5.4xlarge,1e999999\n",
        "hour,sku,quantity\n1,r5.4xlarge\n",
        "",
    ],
)
def test_a_table_of_hours_that_is_none_is_an_error(run, aws, tmp_path, text):
    table = tmp_path / "usage.csv"
    table.write_text(text, encoding="utf-8")

    with pytest.raises(UsageError, match=r"usage\.csv"):
        run("cost", "coverage", table, "--overrides", aws)


def test_coverage_is_written_as_csv(run, aws):
    used = ("--usage", "1.5xr5.4xlarge", "--usage", "0.5xr5.4xlarge")
    output = run("cost", "coverage", *used, "--overrides", aws, "--format", "csv")

    header, row = output.splitlines()
    assert header.split(",")[:4] == ["name", "quantity", "reserved_quantity", "plan_quantity"]
    assert row.startswith("r5.4xlarge,2.0,0,0")
