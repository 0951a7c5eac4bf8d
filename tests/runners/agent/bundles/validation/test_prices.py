from dataclasses import replace

import pytest

from perfledger.bundle import Commitment, CostPolicy, FleetUse, PricingConfig
from perfledger_runners.bundles import validation as bundle_checks
from perfledger_runners.bundles.value_checks import BundleError

POOL = Commitment(where="onprem-8xH100", devices=64, busy_hours_per_year=1e5, job_hours=2.0)
POLICY = CostPolicy(team="nlp", ask_above_usd_per_year=1e3, fail_above_usd_per_year=1e4)
USE = FleetUse(workload="*", where="p5.48xlarge/on_demand", device_hours_per_year=1.0)


def check(**values):
    bundle_checks._check_pricing(PricingConfig(**values))


def test_commitments_and_policies_that_make_sense_are_taken():
    check(fleet=(USE,), commitments=(POOL,), policies=(POLICY,))


@pytest.mark.parametrize(
    ("values", "complaint"),
    [
        ({"devices": 0}, "not 1 <= devices_per_job"),
        ({"devices": 10**9}, "not 1 <= devices_per_job"),
        ({"devices_per_job": 65}, "not 1 <= devices_per_job"),
        ({"busy_hours_per_year": 1e9}, "busy_hours_per_year"),
        ({"job_hours": 0.0}, "job_hours: not positive"),
    ],
)
def test_a_commitment_that_makes_no_sense_is_refused(values, complaint):
    with pytest.raises(BundleError, match=complaint):
        check(commitments=(replace(POOL, **values),))


@pytest.mark.parametrize(
    ("values", "complaint"),
    [
        ({"workloads": ()}, "workloads: none"),
        ({"ask_above_usd_per_year": 1e9}, "not 0 <= ask_above"),
        ({"ask_above_usd_per_year": -1.0}, "not 0 <= ask_above"),
        ({"ask_above_usd_per_year": None, "fail_above_usd_per_year": None}, "not 0 <= ask_above"),
    ],
)
def test_a_policy_that_makes_no_sense_is_refused(values, complaint):
    with pytest.raises(BundleError, match=complaint):
        check(policies=(replace(POLICY, **values),))


@pytest.mark.parametrize(
    "values",
    [
        {"fleet": (USE,) * (bundle_checks.MAX_FLEET + 1)},
        {"commitments": (POOL, POOL)},
        {"policies": (POLICY,) * (bundle_checks.MAX_POLICIES + 1)},
    ],
)
def test_lists_of_prices_have_limits_and_no_doubles(values):
    with pytest.raises(BundleError, match="more than"):
        check(**values)


def test_a_policy_has_at_most_fifty_approvers():
    check(policies=(replace(POLICY, approvers=("ann",) * 50),))

    with pytest.raises(BundleError, match="approvers: more than 50"):
        check(policies=(replace(POLICY, approvers=("ann",) * 51),))


def test_a_commitment_may_be_busy_all_year_and_no_hour_longer():
    check(commitments=(replace(POOL, busy_hours_per_year=64 * 8760.0),))

    with pytest.raises(BundleError, match="not between 0 and 560640"):
        check(commitments=(replace(POOL, busy_hours_per_year=64 * 8760.0 + 0.5),))
