"""A small plan, a bill made up in the real shape, and the review of both."""

import csv
import io
from datetime import date
from functools import cache
from typing import Any

import pytest

from perfledger_cost_models.billing.focus import read_focus
from perfledger_cost_models.procurement.plan import read_plan
from perfledger_cost_models.review.build import ReviewInputs, build_review
from perfledger_cost_models.review.document import UnknownFigure
from perfledger_cost_models.review.quarter import quarter_of
from perfledger_cost_models.tco.hardware_inputs import packaged_hardware_inputs
from tests.cost_models.procurement.example_models import CONFIRMED

PLAN = """
title = "made up"
[demand]
accelerator = "H100-80GB"
keep = "p5.48xlarge/on_demand"
growth = { low = 0.0, mode = 0.1, high = 0.3, source = "made up" }
hours = { low = 200000, mode = 300000, high = 400000, source = "made up" }
commitment_utilization = { low = 0.5, mode = 0.7, high = 0.8, source = "made up" }
[[option]]
name = "today"
where = "p5.48xlarge/on_demand"
[[option]]
name = "three years"
where = "p5.48xlarge/savings_plan/3y_no_upfront"
"""
OPTIONS = """
[[option]]
name = "three years upfront"
where = "p5.48xlarge/savings_plan/3y_all_upfront"
[[option]]
name = "one year upfront"
where = "p5.48xlarge/savings_plan/1y_all_upfront"
[[option]]
name = "blocks"
where = "p5.48xlarge/capacity_block/prepaid_24h"
[[option]]
name = "buy"
where = "onprem-8xH100"
[[option]]
name = "buy A100"
where = "onprem-8xA100"
[[option]]
name = "TPU"
where = "tpu-v4/on_demand"
[[option]]
name = "spot"
where = "gcp:a3-highgpu-1g/spot"
[[speed]]
accelerator = "A100-80GB"
hours = { low = 1.7, mode = 2.0, high = 2.9, source = "made up" }
[[speed]]
accelerator = "TPU-v4"
hours = { low = 2.0, mode = 3.0, high = 4.0, source = "made up" }
[spot]
interruptions_per_hour = { low = 0.0, mode = 0.02, high = 0.1, source = "made up" }
save_h = 0.05
restart_h = 0.1
fallback = { low = 0.0, mode = 0.2, high = 0.5, source = "made up" }
"""
COLUMNS = (
    "BillingCurrency", "BilledCost", "ChargeCategory", "ChargePeriodEnd", "ChargePeriodStart",
    "EffectiveCost", "PricingCategory", "PricingQuantity", "PricingUnit", "ProviderName",
    "RegionId", "SubAccountId", "CommitmentDiscountStatus", "CommitmentDiscountType",
    "ResourceType",
)  # fmt: skip


def bill_row(team, hours, usd, **other):
    row = {
        "BillingCurrency": "USD",
        "BilledCost": usd,
        "ChargeCategory": "Usage",
        "ChargePeriodEnd": "2026-10-01T00:00:00Z",
        "ChargePeriodStart": "2026-07-01T00:00:00Z",
        "EffectiveCost": usd,
        "PricingCategory": "Standard",
        "PricingQuantity": hours,
        "PricingUnit": "Hours",
        "ProviderName": "AWS",
        "RegionId": "us-east-1",
        "SubAccountId": team,
        "ResourceType": "p5.48xlarge",
    }
    return row | other


@pytest.fixture
def plan_text():
    return PLAN


@pytest.fixture
def all_options():
    return OPTIONS


@pytest.fixture
def write_bill():
    def write(*rows):
        text = io.StringIO()
        writer = csv.DictWriter(text, COLUMNS, restval="")
        writer.writeheader()
        writer.writerows(bill_row(*row) if isinstance(row, tuple) else row for row in rows)
        return text.getvalue()

    return write


@pytest.fixture
def make_bill(write_bill):
    def make(*rows):
        return read_focus(write_bill(*rows).splitlines(keepends=True))

    return make


@pytest.fixture
def a_bill_row():
    return bill_row


@pytest.fixture(scope="session")
def make_review():
    """Return the review of a plan, on the packaged prices of a day when none is stale."""
    parameters = packaged_hardware_inputs()

    def make(text=PLAN, **values):
        facts: dict[str, Any] = {
            "quarter": quarter_of("2026Q3"),
            "today": date(2026, 11, 22),
            "plan": read_plan(text, "plan.toml"),
            "sheet": CONFIRMED,
            "parameters": parameters,
            "records": UnknownFigure(name="records", reason="none", remedy="measure"),
            "bill": None,
            "bill_name": "bill.csv",
            "last": None,
            "sources": (),
        }
        return build_review(ReviewInputs(**(facts | values)))

    made_cache = cache(make)  # of what several tests ask for, which differ in their text at most

    def review(text=PLAN, **values):
        return make(text, **values) if values else made_cache(text)

    return review
