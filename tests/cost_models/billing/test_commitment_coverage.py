from decimal import ROUND_HALF_UP, Decimal

import pytest
from hypothesis import given, strategies as st

from perfledger_cost_models.billing.commitment_coverage import (
    CommitmentPlan,
    CoverageError,
    HourlyUsage,
    ReservedInstances,
    covered_hour,
    sum_hours,
)

# AWS, "Understanding how Savings Plans apply to your AWS usage", user guide, read 2026-11-22: the
# usage of one hour with its illustrative prices, five scenarios and what each is said to come to.
# https://docs.aws.amazon.com/savingsplans/latest/userguide/sp-applying.html
AWS = {  # quantity, on demand, Compute Savings Plan, EC2 Instance Savings Plan
    "r5.4xlarge": ("4", "1.00", "0.70", "0.60"),
    "m5.24xlarge": ("1", "10.00", "8.20", "7.80"),
    "Fargate vCPU": ("400", "0.04", "0.03", None),
    "Fargate GB": ("1600", "0.004", "0.003", None),
    "Lambda duration": ("1500000", "0.000015", "0.00001275", None),
    "Lambda requests": ("1", "0.20", "0.20", None),
}
USED = tuple(
    HourlyUsage(name=name, quantity=Decimal(quantity), on_demand_usd=Decimal(usd))
    for name, (quantity, usd, _, _) in AWS.items()
)
COMPUTE = {name: Decimal(rate) for name, (_, _, rate, _) in AWS.items()}
CENT = Decimal("0.01")


def compute_plan(usd, rates=COMPUTE):
    return CommitmentPlan(name="compute", usd_per_hour=Decimal(usd), rates=rates, is_for_all=True)


def on_demand(hour, *names):
    return sum(each.on_demand_usd for each in hour.charges if each.name in names)


def cents(usd):
    """As AWS rounds: 47.125 is 47.13."""
    return usd.quantize(CENT, ROUND_HALF_UP)


def test_aws_scenario_1_a_plan_covers_everything():
    hour = covered_hour(USED, plans=[compute_plan("50.00")])

    covered_total = sum(each.plan_usd for each in hour.charges)
    assert cents(covered_total) == Decimal("47.13")
    assert cents(hour.list_usd) == Decimal("59.10")
    assert hour.on_demand_usd == 0
    assert hour.total_usd == 50
    assert hour.unused_usd == Decimal("2.875")


def test_aws_scenario_2_a_plan_covers_some_of_the_largest_saving():
    hour = covered_hour(USED, plans=[compute_plan("2.00")])

    r5 = next(each for each in hour.charges if each.name == "r5.4xlarge")
    assert (round(r5.plan_quantity, 1), round(r5.on_demand_quantity, 1)) == (
        Decimal("2.9"),
        Decimal("1.1"),
    )
    assert cents(r5.on_demand_usd) == Decimal("1.14")
    assert cents(hour.on_demand_usd) == Decimal("56.24")


def test_aws_scenario_3_of_equal_savings_the_lowest_rate_is_first():
    hour = covered_hour(USED, plans=[compute_plan("19.60")])

    memory = next(each for each in hour.charges if each.name == "Fargate GB")
    assert memory.on_demand_quantity == 0
    assert cents(on_demand(hour, "m5.24xlarge", "Lambda duration", "Lambda requests")) == Decimal(
        "32.70"
    )
    assert hour.unused_usd == 0


def test_aws_scenario_4_reserved_instances_go_before_plans():
    reserved = ReservedInstances(name="r5.4xlarge", count=Decimal(2), usd_per_hour=Decimal("0.60"))

    hour = covered_hour(USED, reserved=[reserved], plans=[compute_plan("18.20")])

    assert hour.unused_usd == 0
    assert cents(hour.on_demand_usd) == Decimal("32.70")
    assert hour.reserved_usd == Decimal("1.20")


def test_aws_scenario_5_a_familys_plan_goes_before_one_for_everything():
    family = CommitmentPlan(
        name="r5",
        usd_per_hour=Decimal("3.00"),
        rates={"r5.4xlarge": Decimal("0.60")},
        is_for_all=False,
    )

    hour = covered_hour(USED, plans=[compute_plan("16.80"), family])

    r5 = next(each for each in hour.charges if each.name == "r5.4xlarge")
    assert (r5.plan_usd, hour.unused_usd) == (Decimal("2.40"), Decimal("0.60"))
    assert cents(hour.on_demand_usd) == Decimal("32.70")


# AWS's scenarios of an earlier edition of the same page, which a reader may still meet.
EARLIER = {
    "c5.9xlarge": ("1", "4.00", "2.00"),
    "c5.24xlarge": ("1", "10.00", "8.00"),
    "Fargate vCPU": ("10", "1.50", "1.00"),
    "Fargate GB": ("5", "2.00", "1.00"),
}


def test_the_earlier_editions_plan_of_25_covers_all_usage_exactly():
    used = [
        HourlyUsage(name=name, quantity=Decimal(quantity), on_demand_usd=Decimal(usd))
        for name, (quantity, usd, _) in EARLIER.items()
    ]
    rates = {name: Decimal(rate) for name, (_, _, rate) in EARLIER.items()}

    hour = covered_hour(used, plans=[compute_plan("25.00", rates)])

    assert hour.total_usd == 25
    assert hour.unused_usd == hour.on_demand_usd == 0


def test_a_commitment_is_paid_in_an_hour_without_usage():
    hour = covered_hour([], plans=[compute_plan("0.90")])

    assert (hour.total_usd, hour.unused_usd) == (Decimal("0.90"), Decimal("0.90"))


def test_a_second_instance_is_on_demand():
    """AWS re:Post, "AWS Saving Plans Calculation Example": 0.90 committed, two at 1.00: 1.90."""
    used = [HourlyUsage(name="vm", quantity=Decimal(2), on_demand_usd=Decimal(1))]

    hour = covered_hour(used, plans=[compute_plan("0.90", {"vm": Decimal("0.90")})])

    assert hour.total_usd == Decimal("1.90")


# AWS, "How Reserved Instances are applied", user guide of EC2, read 2026-11-22: what is reserved,
# what runs, and which share of each is covered.
# https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/apply_ri.html
@pytest.mark.parametrize(
    ("reserved", "running", "coverage"),
    [
        ({"t2.medium": 1}, {"t2.small": 2}, {"t2.small": 2}),
        ({"t2.medium": 1}, {"t2.large": 1}, {"t2.large": 0.5}),
        ({"m4.large": 4}, {"m4.xlarge": 2}, {"m4.xlarge": 2}),  # scenario 1
        ({"c4.large": 1}, {"c4.xlarge": 1}, {"c4.xlarge": 0.5}),
        (  # scenario 2
            {"m4.xlarge": 4, "c4.xlarge": 2},
            {"m4.xlarge": 2, "m4.2xlarge": 1, "c4.2xlarge": 1, "c4.xlarge": 2},
            {"m4.xlarge": 2, "m4.2xlarge": 1, "c4.2xlarge": 0, "c4.xlarge": 2},
        ),
        ({"c4.8xlarge": 1}, {"c4.large": 16}, {"c4.large": 16}),  # whitepaper, table 3
        ({"p5.48xlarge": 1}, {"p5.4xlarge": 8}, {"p5.4xlarge": 0}),  # not of P5
    ],
)
def test_reservations_cover_sizes_of_their_family_the_smallest_first(reserved, running, coverage):
    used = [
        HourlyUsage(name=name, quantity=Decimal(count), on_demand_usd=Decimal(1))
        for name, count in running.items()
    ]
    held_reserved_instances = [
        ReservedInstances(name=name, count=Decimal(count), usd_per_hour=Decimal("0.6"))
        for name, count in reserved.items()
    ]

    hour = covered_hour(used, reserved=held_reserved_instances)

    assert {each.name: float(each.reserved_quantity) for each in hour.charges} == coverage


@pytest.mark.parametrize("size", ["3xlarge", "9xlarge", "18xlarge"])
def test_a_large_reservation_covers_small_instances_to_the_last_digit(size):
    used = [HourlyUsage(name="c5.xlarge", quantity=Decimal(99), on_demand_usd=Decimal(1))]
    held_reserved_instances = ReservedInstances(
        name=f"c5.{size}", count=Decimal(1), usd_per_hour=Decimal("1.2")
    )

    hour = covered_hour(used, reserved=[held_reserved_instances])

    assert hour.charges[0].reserved_quantity == int(size.removesuffix("xlarge"))
    assert hour.unused_usd == 0


def test_reserved_instances_that_run_nothing_are_unused():
    reserved = ReservedInstances(name="p5.48xlarge", count=Decimal(3), usd_per_hour=Decimal(30))
    used = [HourlyUsage(name="p5.48xlarge", quantity=Decimal(1), on_demand_usd=Decimal(55))]

    hour = covered_hour(used, reserved=[reserved])

    assert hour.total_usd == 90
    assert hour.unused_usd == 60


def test_hours_add_up_and_what_one_leaves_is_lost_to_the_next():
    """AWS: each hour's commitment can only be used within that hour."""
    busy = [HourlyUsage(name="vm", quantity=Decimal(2), on_demand_usd=Decimal(1))]
    plan = compute_plan("0.90", {"vm": Decimal("0.90")})

    whole_covered_hour = sum_hours(
        [covered_hour(busy, plans=[plan]), covered_hour([], plans=[plan])]
    )

    (charge,) = whole_covered_hour.charges
    assert charge.quantity == 2
    assert charge.plan_quantity == charge.on_demand_usd == 1
    assert (whole_covered_hour.total_usd, whole_covered_hour.unused_usd) == (
        Decimal("2.80"),
        Decimal("0.90"),
    )


def test_300_hours_a_month_on_a_tenth_of_a_dollar_an_hour():
    """AWS re:Post, "EC2 Instance Savings plan hourly commitment calculation", r5.4xlarge.

    Of 730 hours' commitments only those of the 300 hours count that the instance ran in: 51.8 hours
    at 0.579 USD, not the 126.1 that the answer there divides the month's 73 USD into.
    """
    used = [HourlyUsage(name="r5.4xlarge", quantity=Decimal(1), on_demand_usd=Decimal("1.341"))]
    plan = compute_plan("0.1", {"r5.4xlarge": Decimal("0.579")})
    hour, idle = covered_hour(used, plans=[plan]), covered_hour([], plans=[plan])

    whole_covered_hour = sum_hours([*[hour] * 300, *[idle] * 430])

    (charge,) = whole_covered_hour.charges
    assert round(charge.plan_quantity, 1) == Decimal("51.8")
    assert whole_covered_hour.committed_usd == 73
    assert whole_covered_hour.unused_usd == 43


@given(
    st.lists(st.tuples(st.integers(0, 50), st.integers(1, 9), st.integers(1, 9)), max_size=5),
    st.integers(1, 200),
    st.integers(1, 5),
)
def test_all_usage_is_charged_once_and_all_money_is_spent_or_unused(things, commitment, count):
    used = [
        HourlyUsage(name=str(place), quantity=Decimal(quantity), on_demand_usd=Decimal(usd + rate))
        for place, (quantity, usd, rate) in enumerate(things)
    ]
    rates = {str(place): Decimal(rate) for place, (_, _, rate) in enumerate(things)}
    reserved = ReservedInstances(name="0", count=Decimal(count), usd_per_hour=Decimal(1))

    hour = covered_hour(used, reserved=[reserved], plans=[compute_plan(commitment, rates)])

    for each in hour.charges:
        parts = each.reserved_quantity + each.plan_quantity + each.on_demand_quantity
        assert float(parts) == pytest.approx(float(each.quantity))
    spent = sum(each.plan_usd for each in hour.charges)
    idle = count - sum(each.reserved_quantity for each in hour.charges)
    assert float(spent + hour.unused_usd) == pytest.approx(float(commitment + idle))


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (
            lambda: HourlyUsage(name="a", quantity=Decimal(-1), on_demand_usd=Decimal(1)),
            "0 or more",
        ),
        (
            lambda: HourlyUsage(name="a", quantity=Decimal(1), on_demand_usd=Decimal(0)),
            "above zero",
        ),
        (
            lambda: ReservedInstances(name="a", count=Decimal(0), usd_per_hour=Decimal(1)),
            "above zero",
        ),
        (lambda: compute_plan("0"), "commitment and rates"),
        (lambda: compute_plan("1", {"a": Decimal(0)}), "commitment and rates"),
        (lambda: covered_hour([USED[0], USED[0]]), "once an hour"),
    ],
)
def test_impossible_usage_is_an_error(make, words):
    with pytest.raises(CoverageError, match=words):
        make()
