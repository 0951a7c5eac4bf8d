from typing import Any

import pytest
from pydantic import ValidationError

from perfledger_service.settings.tables import (
    CommitmentTable,
    DeclaredTable,
    FleetTable,
    PolicyTable,
    UsageTable,
)


def policy(**values):
    usual: dict[str, Any] = {"team": "nlp", "fail_above_usd_per_year": 1.0}
    return PolicyTable(**usual | values)


def pool(**values):
    usual: dict[str, Any] = {"where": "onprem-8xH100", "devices": 1, "busy_hours_per_year": 1.0}
    return CommitmentTable(**usual | values)


def fleet(**values):
    usual: dict[str, Any] = {"workload": "x", "where": "y", "device_hours_per_year": 1.0}
    return FleetTable(**usual | values)


@pytest.mark.parametrize(
    "values",
    [
        {"approvers": ["ann"] * 50},
        {"approvers": ["a" * 39]},
        {"team": "t" * 100},
        {"fail_above_usd_per_year": 0.0},
        {"ask_above_usd_per_year": 1.0},
    ],
)
def test_a_policy_at_its_limits_is_accepted(values):
    accepted = policy(**values)

    assert accepted.model_dump(include=set(values)) == {
        name: tuple(value) if isinstance(value, list) else value for name, value in values.items()
    }


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"approvers": ["ann"] * 51}, "at most 50 items"),
        ({"approvers": ["a" * 40]}, "match pattern"),
        ({"team": "t" * 101}, "at most 100 characters"),
        ({"team": ""}, "at least 1 character"),
        ({"fail_above_usd_per_year": -0.01}, "greater than or equal to 0"),
        ({"ask_above_usd_per_year": 1.01}, "is more than fail_above"),
    ],
)
def test_a_policy_one_beyond_its_limits_is_refused(values, message):
    with pytest.raises(ValidationError, match=message):
        policy(**values)


def test_a_commitment_may_be_busy_all_year_with_one_job_on_all_devices():
    full = pool(devices=100_000, busy_hours_per_year=876_000_000, devices_per_job=100_000)

    assert full.busy_hours_per_year == full.devices * 8760


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"devices": 0}, "greater than or equal to 1"),
        ({"devices": 100_001}, "less than or equal to 100000"),
        ({"busy_hours_per_year": 8760.5}, "above the 8760 hours a year of 1 devices"),
        ({"devices_per_job": 2}, "devices_per_job is 2, more than the 1 devices"),
        ({"devices_per_job": 0}, "greater than or equal to 1"),
        ({"job_hours": 0.0}, "greater than 0"),
    ],
)
def test_a_commitment_one_beyond_its_limits_is_refused(values, message):
    with pytest.raises(ValidationError, match=message):
        pool(**values)


def test_a_fleet_without_a_range_and_one_of_zero_hours_are_accepted():
    assert (fleet().low, fleet().high) == (None, None)
    assert fleet(device_hours_per_year=0.0, low=0.0, high=0.0).high == 0.0


@pytest.mark.parametrize("values", [{"low": 1.01}, {"high": 0.99}])
def test_a_range_that_leaves_out_its_middle_is_refused(values):
    with pytest.raises(ValidationError, match="must not decrease"):
        fleet(**values)


def test_weights_divide_the_hours_of_the_workloads_that_match():
    assert fleet(workload="x:*", weights={"x:a": 3, "x:b": 0}).weights == {"x:a": 3, "x:b": 0}


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ({"y:a": 1.0}, "'y:a' does not match 'x:.'"),
        ({"x:a": 0.0}, "not 0 or above, with one above 0"),
        ({"x:a": -1.0}, "greater than or equal to 0"),
    ],
)
def test_weights_that_divide_nothing_are_refused(weights, message):
    with pytest.raises(ValidationError, match=message):
        fleet(workload="x:*", weights=weights)


@pytest.mark.parametrize("factor", [1, 2.5, 100])
def test_a_transfer_factor_is_one_or_more(factor):
    assert fleet(transfer_factor=factor).transfer_factor == factor


@pytest.mark.parametrize("factor", [0.99, -2, 101, "inf", "nan"])
def test_a_transfer_factor_that_narrows_or_says_nothing_is_refused(factor):
    with pytest.raises(ValidationError, match="transfer_factor"):
        fleet(transfer_factor=factor)


def test_a_usage_without_labels_would_match_every_job_and_is_refused():
    with pytest.raises(ValidationError, match="at least 1 item"):
        UsageTable(match={}, workload="x", where="y")


def test_a_declared_throughput_of_nothing_is_refused():
    with pytest.raises(ValidationError, match="greater than 0"):
        DeclaredTable(workload="x", device="H100-80GB", units_per_second=0.0, source="made up")


def test_an_unknown_key_is_refused():
    with pytest.raises(ValidationError, match="Extra inputs are not permitted"):
        policy(limit=1)
