from datetime import date
from decimal import Decimal

from perfledger_cost_models.review.measured_changes import (
    MeasuredSpeed,
    measured_ratios,
    speeds_of,
)


def speed(workload, accelerator, rate, repository="octo/models"):
    return MeasuredSpeed(
        repository=repository,
        workload=workload,
        unit="tokens",
        device=accelerator,
        accelerator=accelerator,
        units_per_second=(rate * 0.9, rate, rate * 1.1),
        day=date(2026, 8, 1),
        commit="abc",
        origin="upload 1",
    )


def test_workloads_measured_on_both_give_the_ratio_of_hours():
    speeds = (
        speed("a", "H100-80GB", 300.0),
        speed("a", "TPU-v4", 100.0),
        speed("b", "H100-80GB", 400.0),
        speed("b", "TPU-v4", 100.0),
        speed("c", "TPU-v4", 1.0),
        speed("a", "TPU-v4", 1.0, repository="octo/other"),  # another workload of the same id
    )

    ratios = measured_ratios(speeds, accelerator="H100-80GB")
    assert ratios == (("TPU-v4", "a", Decimal(3)), ("TPU-v4", "b", Decimal(4)))
    (speed_ratio,) = speeds_of(ratios, planned_speeds=())
    hours = speed_ratio.hours
    assert (hours.low, hours.mode, hours.high) == (Decimal(3), Decimal("3.5"), Decimal(4))
    assert speed_ratio.hours.basis == "measured"
    assert speeds_of(ratios, planned_speeds=(speed_ratio,)) == (speed_ratio,)
