from perfledger_cost_models.scheduling.device_time_accounting import DeviceTimeMeter
from perfledger_cost_models.units import MS_PER_DAY


def test_a_stretch_over_midnight_counts_on_both_days():
    meter = DeviceTimeMeter(capacity_milli=4000, until_ms=MS_PER_DAY)
    meter.advance(MS_PER_DAY - 1000, free_milli=4000, waiting_milli=0, unusable=lambda: 0.0)
    meter.advance(MS_PER_DAY + 2000, free_milli=1000, waiting_milli=9000, unusable=lambda: 0.0)

    assert meter.allocated == {0: 3_000_000, 1: 6_000_000}
    assert meter.idle_demand == {0: 1_000_000, 1: 2_000_000}
    assert sum(meter.allocated_before_end.values()) == 3_000_000
