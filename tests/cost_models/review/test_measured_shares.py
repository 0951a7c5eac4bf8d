from datetime import date
from decimal import Decimal

import pytest

from perfledger_cost_models.billing.allocated_hours import LabelNames
from perfledger_cost_models.billing.showback import LabelledUsage
from perfledger_cost_models.procurement.hour_shares import HourShare
from perfledger_cost_models.review.measured_shares import busy_share, measured_shares
from perfledger_cost_models.telemetry.readers import read_activity
from perfledger_cost_models.usage.device_spans import DeviceSpan, DeviceUsage, UsageFileError

START = 1_782_864_000.0  # 2026-07-01
DAY = 86_400.0
PLAN = {"PricingCategory": "Committed", "CommitmentDiscountType": "Savings Plan"}


@pytest.fixture
def bill(make_bill, a_bill_row):
    """Return a bill of 1,000 committed hours used, 8 hours of 8 devices on demand."""
    used = a_bill_row("a", "125", "930", **PLAN, CommitmentDiscountStatus="Used")
    unused = a_bill_row("a", "9", "70", **PLAN, CommitmentDiscountStatus="Unused")
    return make_bill(("a", "25", "1376"), used, unused)


def usage(hours, **labels):
    span = DeviceSpan(start=START, end=START + DAY, devices=hours / 24, labels=labels)
    files = DeviceUsage(
        name="usage.csv", kind="made up", start=START, end=START + 92 * DAY, spans=(span,)
    )
    return LabelledUsage(usages=(files,), labels=LabelNames(team="team", project=""))


def shares(bill, use=None):
    statements = measured_shares(bill, use, accelerator="H100-80GB", bill_name="bill.csv")
    return {each.share: each for each in statements}


def test_a_commitment_is_used_as_far_as_its_cost_covers_use(bill):
    statement = shares(bill)[HourShare.COMMITMENT_UTILIZATION]

    assert statement.range.mode == Decimal("0.93")
    assert statement.counts == "930.00 of 1,000.00 USD of H100-80GB commitments were used"
    assert HourShare.ALLOCATED not in shares(bill)


def test_allocated_hours_are_a_share_of_all_paid_hours(bill):
    statement = shares(bill, usage(960, accelerator="H100-80GB"))[HourShare.ALLOCATED]

    assert statement.range.mode == Decimal("0.8")  # of 1,200
    assert "960 of 1,200 paid H100-80GB hours" in statement.counts


def test_usage_that_names_no_accelerator_is_a_share_of_all_devices(bill):
    statement = shares(bill, usage(600))[HourShare.ALLOCATED]

    assert (statement.range.mode, "paid device hours" in statement.counts) == (Decimal("0.5"), True)


def test_without_a_bill_or_a_commitment_nothing_is_told(make_bill):
    assert shares(None) == {}
    assert shares(make_bill(("a", "25", "1376"))) == {}


def activity(*rows):
    lines = ["__name__,UUID,namespace,timestamp,value"]
    return read_activity("\n".join([*lines, *rows]).encode(), "activity.csv")


def test_a_busy_share_is_of_hours_with_an_owner():
    export = activity(
        *(f"DCGM_FI_DEV_GPU_UTIL,GPU-0,nlp,{START + 3600 * hour:.0f},60" for hour in range(10)),
        *(f"DCGM_FI_DEV_GPU_UTIL,GPU-1,,{START + 3600 * hour:.0f},0" for hour in range(10)),
    )

    (statement,) = busy_share([export], start=date(2026, 7, 1), end=date(2026, 10, 1))

    assert statement.share is HourShare.BUSY
    assert float(statement.range.mode) == pytest.approx(0.6)
    assert statement.range.source == "activity.csv: gpu_util of devices with an owner"
    assert statement.range.as_of == date(2026, 9, 30)


def test_activity_of_another_quarter_is_refused():
    rows = (
        f"DCGM_FI_DEV_GPU_UTIL,GPU-0,nlp,{START - 100 * DAY + 3600 * hour:.0f},60"
        for hour in range(2)
    )
    export = activity(*rows)

    with pytest.raises(UsageFileError, match="no activity from 2026-07-01"):
        busy_share([export], start=date(2026, 7, 1), end=date(2026, 10, 1))


def test_busy_hours_of_a_plan_become_paid_hours_once(make_review, plan_text):
    shares_text = "".join(
        f'{name} = {{ low = {mode}, mode = {mode}, high = {mode}, source = "made up" }}\n'
        for name, mode in (("allocated_share", 0.8), ("busy_share", 0.5))
    )
    text = plan_text.replace("hours = {", f'{shares_text}hours_kind = "busy"\nhours = {{', 1)

    busy, paid = make_review(text), make_review(plan_text)

    hours = next(line for line in busy.model.lines if line.name == "hours_1")
    assert hours.formula == "hours_a_year / allocated_share / busy_share"
    (today, before) = (float(each.status_quo.npv) for each in (busy, paid))
    assert today == pytest.approx(before / 0.4)


def test_a_bill_of_cents_and_of_parts_of_an_hour_tells_its_shares(make_bill, a_bill_row):
    used = a_bill_row("a", "0.0125", "0.093", **PLAN, CommitmentDiscountStatus="Used")
    unused = a_bill_row("a", "0.0009", "0.007", **PLAN, CommitmentDiscountStatus="Unused")

    statements = shares(make_bill(used, unused), usage(0.05, accelerator="H100-80GB"))

    assert statements[HourShare.COMMITMENT_UTILIZATION].range.mode == Decimal("0.93")
    assert statements[HourShare.ALLOCATED].range.mode == pytest.approx(Decimal("0.5"))


def test_more_allocated_hours_than_paid_ones_are_all_of_them(bill):
    statement = shares(bill, usage(2400, accelerator="H100-80GB"))[HourShare.ALLOCATED]

    assert statement.range.mode == 1
    assert "2,400 of 1,200 paid H100-80GB hours" in statement.counts
