import math
from dataclasses import replace
from decimal import Decimal

import pytest

from perfledger_baselines.planning.measuring_budget import MeasuringBudget, MeasuringBudgetError


def test_without_caps_everything_is_allowed():
    assert MeasuringBudget().seconds == math.inf


def test_time_and_money_allow_the_lesser_of_the_two():
    money = MeasuringBudget(max_usd=Decimal(2), usd_per_hour=Decimal(8))

    assert money.seconds == 900
    assert replace(money, max_seconds=60).seconds == 60
    assert replace(money, max_seconds=3600).seconds == 900


@pytest.mark.parametrize(
    ("caps", "complaint"),
    [
        ({"max_seconds": 0}, "max_seconds is 0"),
        ({"max_seconds": math.nan}, "max_seconds is nan"),
        ({"max_seconds": math.inf}, "max_seconds is inf"),
        ({"max_usd": Decimal(-1), "usd_per_hour": Decimal(1)}, "max_usd is -1"),
        ({"max_usd": Decimal(1)}, "without a price"),
    ],
)
def test_a_cap_that_caps_nothing_is_an_error(caps, complaint):
    with pytest.raises(MeasuringBudgetError, match=complaint):
        MeasuringBudget(**caps)
