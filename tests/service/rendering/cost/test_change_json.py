import json
from dataclasses import replace
from datetime import UTC, date, datetime
from decimal import Decimal

from perfledger_cost_models.change_price.cost_policy import Approval, PolicyOutcome
from perfledger_service.rendering.cost.change_json import (
    RATE_PARTS,
    change_price_record,
    policy_evaluation_records,
    queue_records,
    rate_record,
    summed_price_record,
)
from perfledger_service.rendering.layout.writers import plain_value
from tests.service.rendering.example_prices import QUEUE, policy_evaluation, summed_price


def as_json(record):
    return json.loads(json.dumps(plain_value(record), allow_nan=False))


def test_a_rate_has_its_date_its_source_and_what_was_assumed(make):
    record = as_json(rate_record(make.ONPREM))

    assert tuple(record) == RATE_PARTS
    assert (record["usd_per_device_hour"], record["low"], record["high"]) == (
        "4.30",
        "3.50",
        "5.25",
    )
    assert (record["as_of"], record["is_read_date"]) == ("2026-11-20", True)
    assert (record["provenance"], record["warnings"]) == ("derived", [])
    assert record["assumed"][0] == "support share of capex"
    assert rate_record(None) is None


def test_a_price_has_its_money_as_text_and_its_hours_as_numbers(reports):
    record = as_json(change_price_record(reports["regressed"].change_prices[0]))

    assert (record["usd_per_year"], record["low"], record["high"]) == (
        "25043.2",
        "22401.9",
        "27911.4",
    )
    assert [record[f"device_hours_{end}"] for end in ("low", "per_year", "high")] == [
        18_000.0,
        20_000.0,
        22_000.0,
    ]
    assert record["rate"]["option"] == "p5.48xlarge/on_demand"
    assert (record["moves_to"], record["absorbed_hours"]) == (None, None)


def test_what_has_no_price_is_null_and_says_why(reports, make):
    unpriced = replace(
        reports["regressed"].change_prices[0],
        rate=None,
        usd=None,
        low=None,
        high=Decimal("NaN"),
        note="no fleet",
        moves_to=make.P4D,
        absorbed_hours=(1.0, float("nan"), 3.0),
    )

    record = as_json(change_price_record(unpriced))

    assert {record[name] for name in ("rate", "usd_per_year", "low", "high")} == {None}
    assert (record["note"], record["absorbed_hours"]) == ("no fleet", [1.0, None, 3.0])
    assert record["moves_to"]["label"] == make.P4D.label


def test_a_sum_names_its_workloads_and_what_it_lacks():
    price = summed_price(20, 25, 30, missing=("m:new",), left_out=("m:old",))

    assert as_json(summed_price_record(price)) == {
        "usd_per_year": "25",
        "low": "20",
        "high": "30",
        "is_detectable": True,
        "workloads": ["gpt:a", "vit:b"],
        "missing": ["m:new"],
        "left_out": ["m:old"],
    }
    assert summed_price_record(None) is None


def test_a_queue_has_its_waits_in_seconds():
    known_wait, unknown = as_json(
        queue_records((QUEUE, replace(QUEUE, wait_s=None, note="declare it")))
    )

    assert (known_wait["wait_seconds"], known_wait["extra_wait_seconds"]) == (
        12_700.0,
        [1160.0, 1590.0, 2080.0],
    )
    assert known_wait["busy_share_after"] == [0.81, 0.813, 0.816]
    assert (unknown["wait_seconds"], unknown["note"]) == (None, "declare it")


def test_a_policy_has_its_limit_its_price_and_its_approval():
    approval = Approval(
        login="ann",
        is_author=False,
        usd_per_year=Decimal(12000),
        covers_unpriced=True,
        reason="the deadline",
        approved_at=datetime(2026, 11, 20, 12, tzinfo=UTC),
        until=date(2026, 12, 20),
    )
    approved = replace(
        policy_evaluation(PolicyOutcome.APPROVED, summed_price(1, 2, 3), "1000.50", ("m:new",)),
        approvers=("ann", "bob"),
        approval=approval,
        objection="it is over",
    )

    first, second = as_json(
        policy_evaluation_records((approved, policy_evaluation(PolicyOutcome.PASSES)))
    )

    assert (first["team"], first["outcome"]) == ("nlp", "has its approval")
    assert (first["limit_usd_per_year"], first["price"]["usd_per_year"]) == ("1000.50", "2")
    assert (first["unpriced"], first["approvers"]) == (["m:new"], ["ann", "bob"])
    assert first["approval"] == {
        "login": "ann",
        "usd_per_year": "12000",
        "covers_unpriced": True,
        "reason": "the deadline",
        "said_at": "2026-11-20T12:00:00+00:00",
        "until": "2026-12-20",
        "objection": "it is over",
    }
    assert (second["limit_usd_per_year"], second["price"], second["approval"]) == (None, None, None)
