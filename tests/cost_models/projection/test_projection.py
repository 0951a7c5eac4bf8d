from dataclasses import fields, replace
from datetime import date
from decimal import Decimal
from math import exp, log, sqrt

import msgspec
import pytest
from hypothesis import given, strategies as st

from perfledger_cost_models.projection.error import Calibration, PairClass
from perfledger_cost_models.projection.projection import (
    MissingProjection,
    ProjectedCost,
    Projection,
    ProjectionError,
    project,
    projected_costs,
)
from perfledger_cost_models.projection.roofline import DeviceRoofs
from perfledger_cost_models.projection.workload_descriptor import (
    ArithmeticWork,
    FixedTime,
    MemoryTraffic,
    WorkloadDescriptor,
)
from perfledger_cost_models.quote import HourlyRate, Provenance, UnitCost

OLD = DeviceRoofs(
    key="old",
    vendor="NVIDIA",
    design="NVIDIA 8.0",
    flops_per_second={"bfloat16": 100.0},
    bytes_per_second=10.0,
    interconnect_bytes_per_second=None,
)
NEW = replace(
    OLD,
    key="new",
    design="NVIDIA 9.0",
    flops_per_second={"bfloat16": 300.0},
    bytes_per_second=20.0,
)
STEP = WorkloadDescriptor(
    name="step",
    unit="tokens",
    arithmetic=(ArithmeticWork(dtypes=("bfloat16",), flops=600.0, source="counted"),),
    memory=(MemoryTraffic(bytes=20.0, source="counted"),),
)
CALIBRATION = Calibration(
    scores={each: tuple(n / 100 for n in range(1, 51)) for each in PairClass},
    squares={PairClass.OTHER_DESIGN: 0.07, PairClass.OTHER_VENDOR: 0.3},
    designs=4,
    devices=frozenset({"old", "new"}),
    memory_shares=(0.1, 0.9),
    communication_share=1.0,
    dtypes=frozenset({"bfloat16"}),
)
RATE = HourlyRate(
    option="p5.48xlarge/on_demand",
    label="AWS p5.48xlarge, on demand",
    accelerator="H100-80GB",
    usd_per_device_hour=Decimal("7.20"),
    low=Decimal("7.20"),
    high=Decimal("7.20"),
    as_of=date(2026, 11, 9),
    is_read_date=False,
    source="price list",
)
roof = st.floats(1e-3, 1e6)
work = st.floats(1e-3, 1e6)


def projected(descriptor=STEP, *, source=OLD, target=NEW, measured=None):
    projection = project(
        descriptor,
        source=source,
        target=target,
        calibration=CALIBRATION,
        measured_seconds=measured,
    )
    assert isinstance(projection, Projection)
    return projection


def descriptor(flops, moved_scale, *, fixed=None):
    return WorkloadDescriptor(
        name="step",
        unit="tokens",
        arithmetic=(ArithmeticWork(dtypes=("bfloat16",), flops=flops, source="counted"),),
        memory=(MemoryTraffic(bytes=moved_scale, source="counted"),),
        fixed=None if fixed is None else FixedTime(seconds=fixed, source="profiled"),
    )


def device(key, flops, moved_bandwidth, *, design="NVIDIA 9.0"):
    peaks = {"bfloat16": flops}
    return replace(
        OLD, key=key, design=design, flops_per_second=peaks, bytes_per_second=moved_bandwidth
    )


def test_the_speed_is_that_of_the_times_at_the_roofs():
    """6 + 2 seconds before, 2 + 1 after."""
    projection = projected()

    assert projection.speed == pytest.approx(8 / 3)
    assert (projection.source_seconds.total, projection.target_seconds.total) == (8.0, 3.0)
    assert (projection.source, projection.target, projection.unit) == ("old", "new", "tokens")
    assert projection.unexplained is None
    assert projection.is_calibrated


def test_what_was_not_checked_has_the_widest_interval_of_its_class():
    """All of the time is memory's, which no published workload is."""
    streamed = projected(descriptor(1e-3, 20.0))
    checked = projected()

    assert not streamed.is_calibrated
    assert streamed.high / streamed.speed == pytest.approx(exp(0.50 * sqrt(log(3))))
    assert checked.high / checked.speed == pytest.approx(exp(0.48 * sqrt(log(3))))


def test_the_interval_is_even_in_logs():
    projection = projected()

    assert projection.low < projection.speed < projection.high
    assert projection.low * projection.high == pytest.approx(projection.speed**2)


@given(work, work, roof, roof)
def test_a_device_is_as_fast_as_itself(flops, bytes_moved, peak, bandwidth):
    here = device("here", peak, bandwidth)

    projection = projected(descriptor(flops, bytes_moved), source=here, target=here)

    assert (projection.low, projection.speed, projection.high) == (1.0, 1.0, 1.0)


@given(work, work, st.floats(1e-6, 1e6))
def test_the_unit_of_work_does_not_matter(flops, bytes_moved, scale):
    one = projected(descriptor(flops, bytes_moved))
    many = projected(descriptor(flops * scale, bytes_moved * scale))

    assert (many.low, many.speed, many.high) == pytest.approx((one.low, one.speed, one.high))


@given(work, work, st.tuples(roof, roof), st.tuples(st.floats(1, 1e3), st.floats(1, 1e3)))
def test_higher_peaks_never_make_it_slower(flops, bytes_moved, roofs, more):
    slow = projected(descriptor(flops, bytes_moved), target=device("b", *roofs))
    higher = [roof * factor for roof, factor in zip(roofs, more, strict=True)]
    fast = projected(descriptor(flops, bytes_moved), target=device("b", *higher))

    assert fast.speed >= slow.speed * (1 - 1e-12)


@given(work, work, roof, roof)
def test_the_speed_is_between_those_of_the_resources(flops, bytes_moved, peak, bandwidth):
    projection = projected(descriptor(flops, bytes_moved), target=device("b", peak, bandwidth))

    ends = sorted((peak / 100.0, bandwidth / 10.0))
    assert ends[0] * (1 - 1e-9) <= projection.speed <= ends[1] * (1 + 1e-9)


@given(work, work)
def test_there_and_back_is_where_one_was(flops, bytes_moved):
    there = projected(descriptor(flops, bytes_moved))
    back = projected(descriptor(flops, bytes_moved), source=NEW, target=OLD)

    assert there.speed * back.speed == pytest.approx(1)
    assert there.high * back.low == pytest.approx(1)


@given(work, work, st.floats(1e-3, 1e3), st.floats(1.0, 100.0))
def test_the_hosts_time_is_no_faster_anywhere(flops, bytes_moved, fixed, factor):
    little = projected(descriptor(flops, bytes_moved, fixed=fixed))
    much = projected(descriptor(flops, bytes_moved, fixed=fixed * factor))

    assert 1 <= much.speed <= little.speed * (1 + 1e-12)


def test_a_peak_that_is_not_known_gives_no_value():
    part = ArithmeticWork(dtypes=("int8",), flops=1.0, source="counted")

    projection = project(
        msgspec.structs.replace(STEP, arithmetic=(part,)),
        source=OLD,
        target=NEW,
        calibration=CALIBRATION,
    )

    assert isinstance(projection, MissingProjection)
    assert projection.reason == "old has no published peak for int8"
    assert (projection.workload, projection.source, projection.target) == ("step", "old", "new")


def test_what_the_roofs_do_not_explain_may_be_the_hosts():
    """8 of 16 seconds: (8 + 8) / (3 + 8) if the rest stays."""
    bare = projected()

    projection = projected(measured=16.0)

    assert projection.unexplained == 0.5
    assert (projection.speed, projection.high) == (bare.speed, bare.high)
    assert projection.low == pytest.approx(bare.low * (16 / 11) / bare.speed)


def test_where_the_hosts_share_is_known_the_rest_scales_as_the_roofs_do():
    """4 of 16 seconds are the host's; 12 become 12 x 3 / 8."""
    projection = projected(descriptor(600.0, 20.0, fixed=4.0), measured=16.0)

    assert projection.speed == pytest.approx(16 / (4 + 12 * 3 / 8))
    assert projection.low * projection.high == pytest.approx(projection.speed**2)
    assert projection.unexplained == 0.25


def test_what_is_all_the_hosts_is_no_faster_anywhere():
    assert projected(descriptor(600.0, 20.0, fixed=99.0), measured=16.0).speed == 1


def test_a_measurement_that_beats_the_roofs_leaves_nothing_unexplained():
    assert projected(measured=1.0).unexplained == 0


@pytest.mark.parametrize("seconds", [0.0, -1.0, float("nan"), float("inf")])
def test_a_time_is_a_positive_number(seconds):
    with pytest.raises(ProjectionError, match="above 0"):
        projected(measured=seconds)


def test_a_million_units_cost_the_rate_for_the_projected_time():
    """1000 a second there, 7.20 / 3.6 = 2 USD."""
    projection = projected()
    here = 1000.0 / projection.speed

    (cost,) = projected_costs(projection, units_per_second=(here, here, here), rates=(RATE,))

    assert cost.usd == pytest.approx(2)
    assert float(cost.low) == pytest.approx(2 * projection.speed / projection.high)
    assert float(cost.high) == pytest.approx(2 * projection.speed / projection.low)


@given(st.decimals("0.01", "1000", places=2))
def test_cost_is_linear_in_the_rate(usd):
    rate = replace(RATE, usd_per_device_hour=usd, low=usd, high=usd)

    one, dear = projected_costs(projected(), units_per_second=(1.0, 2.0, 3.0), rates=(RATE, rate))

    assert float(dear.high / one.high) == pytest.approx(float(usd / RATE.usd_per_device_hour))


@pytest.mark.parametrize("speeds", [(0.0, 1.0, 2.0), (2.0, 1.0, 3.0), (1.0, 2.0, float("inf"))])
def test_a_throughput_that_is_none_is_refused(speeds):
    with pytest.raises(ProjectionError, match="throughput"):
        projected_costs(projected(), units_per_second=speeds, rates=(RATE,))


def test_nothing_projected_can_be_taken_for_measured():
    """Another type, without the fields that name a measurement; and no such provenance."""
    assert not issubclass(ProjectedCost, UnitCost)
    assert "provenance" not in {each.name for each in fields(ProjectedCost)}
    assert "projected" not in set(Provenance)
