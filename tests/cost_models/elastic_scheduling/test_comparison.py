from datetime import date
from decimal import Decimal

import numpy as np
import pytest

from perfledger_cost_models.elastic_scheduling.allocation import ElasticPolicy
from perfledger_cost_models.elastic_scheduling.comparison import ElasticComparison
from perfledger_cost_models.elastic_scheduling.simulation import ElasticOutcome
from perfledger_cost_models.quote import HourlyRate

OUTCOME = ElasticOutcome(
    policy=ElasticPolicy.SIA,
    completion_s=np.array([3600.0]),
    makespan_s=3600.0,
    device_hours={"A100": 10.0, "H100": 2.0},
)


def comparison(*prices):
    return ElasticComparison(
        log="jobs.csv",
        jobs=1,
        left_out=0,
        devices=(("A100", 8), ("H100", 4)),
        outcomes=(OUTCOME,),
        rates=tuple(
            HourlyRate(
                option=name,
                label=name,
                accelerator=name,
                usd_per_device_hour=Decimal(usd),
                low=Decimal(usd),
                high=Decimal(usd),
                as_of=date(2026, 11, 9),
                is_read_date=False,
                source="a list",
            )
            for name, usd in prices
        ),
    )


def test_hours_cost_the_rate_of_their_class():
    assert comparison(("A100", "2"), ("H100", "7")).usd(OUTCOME) == pytest.approx(34)


def test_without_the_price_of_a_class_the_cost_is_unknown():
    assert comparison(("H100", "7")).usd(OUTCOME) is None
