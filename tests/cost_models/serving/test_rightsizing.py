import math
from datetime import date
from decimal import Decimal

import pytest
from hypothesis import given, settings, strategies as st

from perfledger_cost_models.quote import HourlyRate
from perfledger_cost_models.serving.load_curve import LoadCurve, LoadMode, LoadPoint
from perfledger_cost_models.serving.replica_settings import settings_of
from perfledger_cost_models.serving.rightsizing import (
    ServingDemand,
    SizingConstraint,
    SizingError,
    SizingVerdict,
    Tariff,
    right_size,
    with_errors,
)
from tests.suite.tries import tries

SHARES = (0.2, 0.4, 0.55, 0.7, 0.8, 0.88)
GIGABYTE = 10**9


def p99(rate, capacity):
    """M/M/1's."""
    return math.log(100) / (capacity - rate)


def point(rate, seconds, **values):
    return LoadPoint(
        **{
            "mode": LoadMode.OPEN,
            "offered_per_second": rate,
            "throughput_per_second": rate,
            "completed": 5_000_000,
            "latency_p95_s": seconds * math.log(20) / math.log(100),
            "latency_p99_s": seconds,
        }
        | values
    )


def curve(capacity, device="H100-80GB", points=None, **values):
    grid = points or tuple(
        point(share * capacity, p99(share * capacity, capacity)) for share in SHARES
    )
    return LoadCurve(**{"workload": "m:f", "device": device, "devices": 1, "points": grid} | values)


def tariff(usd, accelerator="H100-80GB", sold_together=1):
    return Tariff(
        rate=HourlyRate(
            option=f"{accelerator}/on_demand",
            label=accelerator,
            accelerator=accelerator,
            usd_per_device_hour=Decimal(usd),
            low=Decimal(usd),
            high=Decimal(usd),
            as_of=date(2026, 11, 20),
            is_read_date=False,
            source="made up",
        ),
        sold_together=sold_together,
    )


def sizing_of(curves, demand, **tariffs):
    by_name = {name.replace("_", "-"): [each] for name, each in tariffs.items()}
    return right_size(curves, by_name, demand)


# With M/M/1 at a capacity of 100, 99 % take 0.1 s at most up to 53.9 requests a second.
DEMAND = ServingDemand(rate_per_second=100.0, p99_s=0.1, headroom=0.2)


def test_as_many_replicas_are_taken_as_keep_the_p99_and_no_more():
    sizing = sizing_of([curve(100.0)], DEMAND, H100_80GB=tariff("2"))

    best = sizing.best[0]
    assert sizing.verdict is SizingVerdict.DECIDED
    assert (best.plan.replicas, best.plan.devices) == (3, 3)
    assert best.plan.usd_per_hour == Decimal(6)
    assert best.usd_per_million == pytest.approx(Decimal(6) / Decimal("0.36"))
    assert best.replica_rate == pytest.approx(40.0)
    assert best.p99_s[0] <= p99(40.0, 100.0) <= best.p99_s[2]
    assert best.most_per_second == pytest.approx(3 * 53.9, rel=0.02)


def test_the_cheaper_device_is_taken_though_more_of_it_are_needed():
    curves = [curve(100.0), curve(60.0, "L40S")]
    sizing = sizing_of(curves, DEMAND, H100_80GB=tariff("6"), L40S=tariff("1"))

    cheap, dear = sizing.best
    # At most 13.9 of the 60: nine of them.
    assert (cheap.plan.setting.curve.device, cheap.plan.replicas) == ("L40S", 9)
    assert (cheap.plan.usd_per_hour, dear.plan.usd_per_hour) == (Decimal(9), Decimal(18))


def test_devices_are_paid_for_as_they_are_sold():
    sizing = sizing_of([curve(100.0)], DEMAND, H100_80GB=tariff("2", sold_together=8))

    assert sizing.best[0].plan.usd_per_hour == Decimal(16)


@pytest.mark.parametrize(
    ("rate", "p99_s", "headroom", "constraint"),
    [
        (110.0, 0.1, 0.2, SizingConstraint.LATENCY),
        (80.0, 0.1, 0.0, SizingConstraint.LATENCY),
        (90.0, 0.1, 0.3, SizingConstraint.HEADROOM),
        (200.0, 2.0, 0.1, SizingConstraint.THROUGHPUT),
        (20.0, 0.1, 0.2, SizingConstraint.SMALLEST),
    ],
)
def test_what_keeps_it_from_being_smaller_is_named(rate, p99_s, headroom, constraint):
    demand = ServingDemand(rate_per_second=rate, p99_s=p99_s, headroom=headroom)
    sizing = sizing_of([curve(100.0)], demand, H100_80GB=tariff("2"))

    assert sizing.best[0].constraint is constraint


def test_slices_that_do_not_fit_a_memory_together_are_left_out_and_named():
    def slices(count, gigabytes):
        load_points = tuple(
            point(share * 60.0, p99(share * 60.0, 60.0), memory_bytes=gigabytes * GIGABYTE)
            for share in SHARES
        )
        return curve(60.0, "L40S", points=load_points, time_slices=count)

    sizing = sizing_of([slices(4, 20), slices(2, 20)], DEMAND, L40S=tariff("1"))

    best = sizing.best[0]
    assert (best.plan.replicas, best.plan.devices) == (9, 5)
    assert best.constraint is SizingConstraint.MEMORY
    assert "more memory than the device has" in sizing.left_out[0]


def test_a_noise_that_leaves_the_best_open_says_what_to_measure():
    demand = ServingDemand(rate_per_second=100.0, p99_s=p99(50.0, 100.0) * 1.02, headroom=0.0)
    noisy = tuple(
        point(share * 100.0, p99(share * 100.0, 100.0), completed=5000) for share in SHARES
    )
    sizing = sizing_of([curve(100.0, points=noisy)], demand, H100_80GB=tariff("2"))

    assert sizing.verdict is SizingVerdict.UNDECIDED
    rival = next(one for one in sizing.rivals if one.option.plan.replicas == 2)
    assert 0.01 < rival.option.plan.chance < 0.99
    assert rival.requests is None or rival.requests > 5000
    assert sizing.best[0].plan.replicas > 2


def test_the_next_measurement_is_that_of_the_chance_nearest_to_even():
    noisy = curve(100.0, points=[point(rate, p99(rate, 100.0), completed=300) for rate in (20, 60)])

    sizing = sizing_of([noisy], ServingDemand(rate_per_second=500.0, p99_s=0.1))

    open_counts = sorted(rival.option.plan.replicas for rival in sizing.rivals)
    assert open_counts == list(range(open_counts[0], open_counts[-1] + 1))
    assert len(open_counts) > 3
    best = sizing.next_measurement
    assert best is not None
    distances = [abs(rival.option.plan.chance - 0.5) for rival in sizing.rivals]
    assert abs(best.option.plan.chance - 0.5) == min(distances)


def test_what_no_device_can_do_is_said():
    sizing = sizing_of(
        [curve(100.0)], ServingDemand(rate_per_second=10.0, p99_s=0.01), H100_80GB=tariff("2")
    )

    assert (sizing.verdict, sizing.best) == (SizingVerdict.NONE, ())
    assert "no number of replicas meets the P99" in sizing.left_out[0]


def test_what_has_no_price_is_never_the_cheapest():
    curves = [curve(1000.0, "some card"), curve(100.0)]
    sizing = sizing_of(curves, DEMAND, H100_80GB=tariff("2"))

    assert [each.plan.usd_per_hour for each in sizing.best] == [Decimal(6), None]
    assert "no price for this device" in sizing.left_out[0]


def test_without_any_price_the_fewest_devices_are_taken():
    sizing = sizing_of([curve(100.0), curve(1000.0, "A100-80GB")], DEMAND)

    assert sizing.best[0].plan.setting.curve.device == "A100-80GB"
    assert sizing.best[0].plan.devices == 1


def test_a_batch_waits_until_it_is_full():
    batches = tuple(point(share * 50.0, p99(share * 50.0, 50.0), batch=8) for share in SHARES)
    (setting,) = settings_of(curve(50.0, points=batches))

    assert setting.fill_s(100.0) == pytest.approx(0.1455, rel=1e-2)  # Erlang of 7, its P99
    assert setting.chance(100.0, 0.145) == 0.0
    assert setting.chance(100.0, 0.5) > 0.99


@pytest.mark.slow(ci_only=True)
def test_closed_loops_are_a_setting_each_and_a_screening():
    closed = tuple(
        point(None, 0.02 * k, mode=LoadMode.CLOSED, concurrency=k, throughput_per_second=90.0)
        for k in (2, 4)
    )
    sizing = sizing_of([curve(100.0, points=closed)], DEMAND, H100_80GB=tariff("2"))

    assert [each.concurrency for each in sizing.settings] == [2, 4]
    assert all(each.is_screening for each in sizing.settings)
    assert sizing.best[0].plan.setting.concurrency == 2
    assert with_errors(sizing).errors[0] == ()


@pytest.mark.slow
def test_the_best_are_checked_point_by_point():
    sizing = with_errors(sizing_of([curve(100.0)], DEMAND, H100_80GB=tariff("2")))

    assert [len(each) for each in sizing.errors] == [len(SHARES)]


@pytest.mark.slow(ci_only=True)
@settings(deadline=None, max_examples=tries(32))
@given(st.floats(10.0, 400.0), st.floats(0.05, 1.0), st.floats(1.05, 2.0))
def test_more_requests_never_cost_less(rate, p99_s, more):
    def usd(per_second):
        demand = ServingDemand(rate_per_second=per_second, p99_s=p99_s)
        sizing = sizing_of([curve(100.0)], demand, H100_80GB=tariff("2"))
        return sizing.best[0].plan.usd_per_hour if sizing.best else Decimal("Infinity")

    assert usd(rate) <= usd(rate * more)


@pytest.mark.parametrize(
    "values",
    [
        {"rate_per_second": 0.0},
        {"rate_per_second": math.inf},
        {"p99_s": -1.0},
        {"p99_s": math.nan},
        {"headroom": -0.1},
        {"headroom": math.inf},
    ],
)
def test_a_demand_that_is_none_is_refused(values):
    with pytest.raises(SizingError):
        ServingDemand(**{"rate_per_second": 1.0, "p99_s": 1.0} | values)


def test_of_two_that_cost_the_same_the_one_further_within_the_limit_goes_first():
    slow, fast = curve(100.0, workload="m:slow"), curve(110.0, workload="m:fast")

    sizing = sizing_of(
        [slow, fast], ServingDemand(rate_per_second=20.0, p99_s=0.5), H100_80GB=tariff("2")
    )

    assert [each.plan.setting.curve.workload for each in sizing.best] == ["m:fast", "m:slow"]


def test_even_arrivals_are_never_sure_to_be_enough():
    even = curve(100.0, has_even_arrivals=True)

    alone = sizing_of([even], DEMAND, H100_80GB=tariff("2"))
    beside = sizing_of([even, curve(60.0, "L40S")], DEMAND, H100_80GB=tariff("2"), L40S=tariff("1"))

    assert alone.verdict is SizingVerdict.UNDECIDED
    assert not alone.best
    assert beside.best[0].plan.setting.curve.device == "L40S"
    assert all(each.option.plan.setting.is_even for each in beside.rivals)


def test_a_point_that_is_given_twice_is_one_measurement():
    once = curve(100.0)

    (setting,) = settings_of(curve(100.0, points=once.points * 2))

    assert setting.points == once.points


def even_curve(*points):
    """A curve of even arrivals: nothing is sure there, so the option stays a rival."""
    full = tuple(point(share * 100.0, p99(share * 100.0, 100.0)) for share in SHARES)
    return curve(100.0, points=(*full, *points), has_even_arrivals=True)


def requests_for(one_curve, p99_s):
    """Return the requests that decide about two replicas at 50 requests a second each."""
    demand = ServingDemand(rate_per_second=100.0, p99_s=p99_s, headroom=0.0)
    (rival,) = sizing_of([one_curve], demand, H100_80GB=tariff("2")).rivals
    assert rival.option.replica_rate == 50.0
    return rival.requests


def test_requests_put_the_limit_four_standard_deviations_away():
    few = tuple(point(share * 100.0, p99(share * 100.0, 100.0), completed=5000) for share in SHARES)
    demand = ServingDemand(rate_per_second=100.0, p99_s=p99(50.0, 100.0) * 1.1, headroom=0.0)
    rivals = sizing_of([curve(100.0, points=few)], demand, H100_80GB=tariff("2")).rivals

    rival = next(one for one in rivals if one.option.plan.replicas == 2)

    # The relative deviation of the P99 of n independent requests is 9.95 / sqrt(n) times the tail's
    # mean over the P99; ln(P99 / P95) is ln 5 of these means.
    tail = math.log(math.log(100) / math.log(20)) / math.log(5)
    setting = rival.option.plan.setting
    distance = math.log(demand.p99_s / setting.at(50.0).quantile_s(0.5))
    spread = tail * math.sqrt(99 * setting.fit.thinning(50.0) / rival.requests)
    assert distance / spread == pytest.approx(4.0, rel=1e-4)


@pytest.mark.parametrize(
    ("rate", "completed", "expected"),
    [
        pytest.param(50.0, 400, 1000, id="a thousand at least"),
        pytest.param(50.0, 501, 1002, id="twice as many as were measured there"),
        pytest.param(50.0 * 1.0099, 501, 1002, id="within 1 % is there"),
        pytest.param(50.0 * 1.0101, 501, 1000, id="beyond 1 % is elsewhere"),
    ],
)
def test_few_requests_decide_what_is_far_from_the_limit(rate, completed, expected):
    there = point(rate, p99(rate, 100.0), completed=completed)

    assert requests_for(even_curve(there), p99_s=0.5) == expected


@pytest.mark.parametrize(("distance", "expected"), [(0.0019, None), (0.0021, 1_980_000)])
def test_no_number_of_requests_decides_within_two_permille_of_the_limit(distance, expected):
    assert requests_for(curve(100.0), p99_s=p99(50.0, 100.0) * math.exp(distance)) == expected


@pytest.mark.parametrize(
    ("batch", "words"), [(1, "lowest measured is"), (2, "measured of full batches is")]
)
def test_what_is_too_slow_is_said_of_full_batches_where_there_are_some(batch, words):
    points = tuple(point(share * 100.0, p99(share * 100.0, 100.0), batch=batch) for share in SHARES)

    sizing = sizing_of(
        [curve(100.0, points=points)],
        ServingDemand(rate_per_second=10.0, p99_s=0.01),
        H100_80GB=tariff("2"),
    )

    assert words in sizing.left_out[0]


SCATTER = (1.05, 0.93, 1.1, 1.0, 0.9, 1.2)
BATCHES = tuple(
    point(share * 50.0, p99(share * 50.0, 50.0), batch=8, completed=3000) for share in SHARES
)


def scattered_curve(capacity, device, completed=4000):
    """Return a curve whose P99s lie above and below those of the queue."""
    points = tuple(
        point(rate, p99(rate, capacity) * more, completed=completed, latency_p50_s=0.01)
        for rate, more in zip((share * capacity for share in SHARES), SCATTER, strict=True)
    )
    return curve(capacity, device, points=points)


def figures(option, requests=0):
    """Return devices, chance, mean P99, highest rate, price and requests to measure."""
    plan = option.plan
    low, middle, _ = option.p99_s
    usd = None if option.usd_per_million is None else float(option.usd_per_million)
    return plan.devices, plan.chance, low, middle, option.most_per_second, usd, requests


SCATTERED_BEST = (8, 0.9999976, 0.07483745, 0.08228451, 430.7104, 22.96296, 0)
SCATTERED_RIVALS = (
    (7, 0.8597917, 0.08490058, 0.09452328, 376.8722, 20.09259, 154_365),
    (3, 0.03993804, 0.07642241, math.inf, 161.5169, 8.611111, 1_980_000),
)
BATCHES_BEST = (3, 0.9999027, 0.2350402, 0.2565707, 740.7805, 5.0, 0)
BATCHES_RIVAL = (2, 0.01238592, 0.3169908, 0.4087383, 493.8526, 3.333333, 22_573)


@pytest.mark.slow
def test_the_sizes_of_an_example_have_known_figures():
    """So that a change of the method shows; other tests say what is right."""
    demand = ServingDemand(rate_per_second=300.0, p99_s=0.1, headroom=0.2)
    curves = [scattered_curve(100.0, "H100-80GB"), scattered_curve(60.0, "A100-80GB")]
    usd = {"H100_80GB": tariff("3.1"), "A100_80GB": tariff("1.9", "A100-80GB", 4)}

    sizing = sizing_of(curves, demand, **usd)

    assert sizing.verdict is SizingVerdict.UNDECIDED
    assert figures(sizing.best[0]) == pytest.approx(SCATTERED_BEST, rel=1e-4)
    rivals = [figures(each.option, each.requests) for each in sizing.rivals]
    assert rivals[:2] == [pytest.approx(each, rel=1e-4) for each in SCATTERED_RIVALS]


@pytest.mark.slow
def test_the_sizes_of_batches_have_known_figures():
    demand = ServingDemand(rate_per_second=500.0, p99_s=0.3)

    sizing = sizing_of([curve(50.0, points=BATCHES)], demand, H100_80GB=tariff("3"))

    assert figures(sizing.best[0]) == pytest.approx(BATCHES_BEST, rel=1e-4)
    (rival, *_) = sizing.rivals
    assert figures(rival.option, rival.requests) == pytest.approx(BATCHES_RIVAL, rel=1e-4)
