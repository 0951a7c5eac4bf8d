import numpy as np
from hypothesis import given, strategies as st

from perfledger_cost_models.scheduling.device_time_accounting import DeviceTimeMeter, milli_by_day
from perfledger_cost_models.units import MS_PER_DAY

moments = st.integers(0, 3 * MS_PER_DAY) | st.sampled_from([MS_PER_DAY, 2 * MS_PER_DAY])


def test_a_stretch_over_midnight_counts_on_both_days():
    meter = DeviceTimeMeter(capacity_milli=4000, until_ms=MS_PER_DAY)
    meter.advance(MS_PER_DAY - 1000, free_milli=4000, waiting_milli=0, unusable=lambda: 0.0)
    meter.advance(MS_PER_DAY + 2000, free_milli=1000, waiting_milli=9000, unusable=lambda: 0.0)

    assert meter.allocated == {0: 3_000_000, 1: 6_000_000}
    assert meter.idle_demand == {0: 1_000_000, 1: 2_000_000}
    assert sum(meter.allocated_before_end.values()) == 3_000_000


@given(st.lists(st.tuples(moments, moments, st.integers(1, 10**9))), moments)
def test_each_day_has_its_part_of_each_span(rows, until_ms):
    spans = [(min(start, end), max(start, end), milli) for start, end, milli in rows]
    columns = (np.array([span[place] for span in spans], np.int64) for place in range(3))

    sums = milli_by_day(*columns, until_ms=until_ms)

    for day, amount in enumerate(sums.tolist()):
        first, last = day * MS_PER_DAY, min((day + 1) * MS_PER_DAY, until_ms)
        assert amount == sum(
            max(min(end, last) - max(start, first), 0) * milli for start, end, milli in spans
        )
    assert len(sums) == until_ms // MS_PER_DAY + 1
