import math

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from perfledger_cost_models.serving.latency_model import fit_latency, left_out_errors, wait_shape
from perfledger_cost_models.serving.load_curve import LoadMode, LoadPoint
from tests.suite.tries import tries

RATES = (20.0, 40.0, 55.0, 70.0, 80.0, 88.0)
CAPACITY = 100.0


def p99(rate):
    """M/M/1's: time in the system is exponential with the rate C - r."""
    return math.log(100) / (CAPACITY - rate)


def point(rate, seconds, completed=1_000_000, **values):
    return LoadPoint(
        **{
            "mode": LoadMode.OPEN,
            "offered_per_second": rate,
            "throughput_per_second": rate,
            "completed": completed,
            "latency_p95_s": seconds * math.log(20) / math.log(100),
            "latency_p99_s": seconds,
        }
        | values
    )


def measured(**values):
    return [point(rate, p99(rate), **values) for rate in RATES]


@pytest.mark.parametrize("rate", [10.0, 47.0, 63.0, 75.0, 84.0])
def test_the_simple_queue_is_found_again_between_its_points(rate):
    result = fit_latency(measured()).at(rate)

    assert result.quantile_s(0.5) == pytest.approx(p99(rate), rel=0.03)
    assert result.chance_below(p99(rate) * 1.2) > 0.99
    assert result.chance_below(p99(rate) / 1.2) < 0.01


def test_the_shape_is_exact_for_one_server():
    use = np.array([0.1, 0.5, 0.9])

    assert wait_shape(use, np.ones(3)) == pytest.approx(use / (1 - use))


def test_what_was_measured_well_is_kept_whatever_the_server_is():
    odd = [point(rate, 0.05 + (0.02 if rate > 60 else 0.0)) for rate in RATES]
    latency_fit = fit_latency(odd)

    for rate in RATES[:3]:
        assert latency_fit.at(rate).quantile_s(0.5) == pytest.approx(0.05, rel=0.05)


def test_more_requests_make_the_interval_narrower():
    def width(completed):
        result = fit_latency(measured(completed=completed)).at(75.0)
        return (result.quantile_s(0.975) or math.inf) / (result.quantile_s(0.025) or 1.0)

    assert width(100_000) < width(1000)


def test_a_noise_that_is_not_known_is_large():
    values = fit_latency(measured()).at(60.0)
    unknown = fit_latency(measured(completed=None)).at(60.0)

    limit = p99(60.0) * 1.15
    assert unknown.chance_below(limit) < values.chance_below(limit)


def test_far_above_what_was_measured_nothing_is_sure():
    result = fit_latency(measured(completed=20_000)).at(97.0)

    assert 0 < result.chance_below(p99(97.0)) < 0.99


def test_a_load_that_was_not_kept_up_with_says_what_the_capacity_is():
    few = [point(rate, p99(rate), completed=10_000) for rate in (20.0, 40.0)]
    overloaded = point(200.0, 9.0, throughput_per_second=100.0)

    assert fit_latency([*few, overloaded]).capacity == pytest.approx(CAPACITY, rel=0.05)
    assert fit_latency([*few, overloaded]).at(130.0).chance_below(10.0) < 0.01


def test_a_closed_loop_that_serves_no_more_with_more_at_once_says_so_too():
    few = [point(rate, p99(rate), completed=10_000) for rate in (20.0, 40.0)]
    closed = [
        point(None, 0.2, mode=LoadMode.CLOSED, concurrency=k, throughput_per_second=served)
        for k, served in ((8, 99.0), (16, 100.0))
    ]

    assert fit_latency([*few, *closed]).capacity == pytest.approx(CAPACITY, rel=0.05)


def test_a_sweep_that_ends_with_a_small_gain_says_what_the_capacity_is():
    few = [point(rate, 0.03) for rate in RATES[:4]]
    before = point(None, 0.05, mode=LoadMode.CLOSED, concurrency=4, throughput_per_second=95.0)
    last = point(None, 0.09, mode=LoadMode.CLOSED, concurrency=8, throughput_per_second=99.0)

    latency_fit = fit_latency([*few, before, last])

    assert latency_fit.capacity == pytest.approx(99.0, rel=0.05)
    assert latency_fit.at(125.0).chance_below(1.0) < 0.01


@pytest.mark.parametrize("clients", [range(1, 31), (30, 30)])
def test_a_sweep_in_small_steps_ends_without_saying_what_the_capacity_is(clients):
    few = [point(rate, 0.03) for rate in (5.0, 10.0, 20.0)]
    closed = [
        point(None, 0.03, mode=LoadMode.CLOSED, concurrency=k, throughput_per_second=float(k))
        for k in clients
    ]

    assert fit_latency([*few, *closed]).capacity > 50


def test_a_fuller_server_says_less_with_as_many_requests():
    latency_fit = fit_latency(measured())

    assert 1 <= latency_fit.thinning(20.0) < latency_fit.thinning(60.0) < latency_fit.thinning(88.0)


def within(seconds, times):
    return {"latency_p99_low_s": seconds / times, "latency_p99_high_s": seconds * times}


@pytest.mark.slow(ci_only=True)
def test_noise_pulls_the_curve_neither_down_nor_up():
    random, noise = np.random.default_rng(4), 0.15
    values = [
        (p99(rate) * np.exp(noise * random.standard_normal(tries(80)))).tolist() for rate in RATES
    ]
    latency_fits = [
        fit_latency(
            [
                point(rate, seconds, None, **within(seconds, math.exp(1.96 * noise)))
                for rate, seconds in zip(RATES, row, strict=True)
            ]
        )
        for row in zip(*values, strict=True)
    ]

    for rate in (40.0, 60.0, 75.0):
        middle = [each.at(rate).quantile_s(0.5) / p99(rate) for each in latency_fits]
        assert np.exp(np.mean(np.log(middle))) == pytest.approx(1.0, abs=0.03)


def test_a_narrow_interval_of_one_low_point_is_not_believed_more_than_the_others():
    low = p99(70.0) * 0.7
    points = [point(rate, p99(rate), 20_000, **within(p99(rate), 1.3)) for rate in RATES]
    points[3] = point(70.0, low, 20_000, **within(low, 1.01))

    result = fit_latency(points).at(70.0)

    assert result.chance_below(p99(70.0)) < 0.95
    assert result.quantile_s(0.5) > low * 1.05


def test_intervals_wider_than_the_counts_say_widen_all_points():
    bursty = [point(rate, p99(rate), 100_000, **within(p99(rate), 1.5)) for rate in RATES]
    limit = p99(60.0) * 1.1

    counted = fit_latency(measured(completed=100_000)).at(60.0).chance_below(limit)
    assert fit_latency(bursty).at(60.0).chance_below(limit) < counted - 0.01


@pytest.mark.slow
def test_points_left_out_are_found_again_but_for_the_ends():
    errors = left_out_errors(measured())

    assert len(errors) == len(RATES)
    assert max(abs(error) for error in errors[1:-1]) < 0.05


def test_too_few_points_check_nothing():
    assert left_out_errors(measured()[:2]) == ()


@pytest.mark.slow(ci_only=True)
@settings(deadline=None, max_examples=tries(40))
@given(st.floats(1e-3, 1e3), st.floats(1e-3, 1e3))
def test_units_of_time_and_of_rates_change_nothing(seconds, per_second):
    scaled = [point(rate * per_second, p99(rate) * seconds) for rate in RATES]
    one = fit_latency(measured()).at(75.0).chance_below(p99(75.0) * 1.05)
    other = fit_latency(scaled).at(75.0 * per_second).chance_below(p99(75.0) * 1.05 * seconds)

    assert other == pytest.approx(one, abs=0.02)


def test_a_median_beyond_measure_is_no_error():
    latency_fit = fit_latency(measured(latency_p50_s=1e-300, completed=1000))

    assert latency_fit.at(60.0).quantile_s(0.5) is not None


FACTORS = (1.05, 0.93, 1.1, 1.0, 0.9, 1.2)
COUNTS = (2000, 3000, 5000, 8000, 9000, 20_000)
SCATTERED_POINTS = [
    point(rate, p99(rate) * factor, completed, latency_p50_s=p99(rate) / 5)
    for rate, factor, completed in zip(RATES, FACTORS, COUNTS, strict=True)
]
SWEEP = [
    point(
        None,
        0.08,
        100_000,
        mode=LoadMode.CLOSED,
        concurrency=clients,
        throughput_per_second=served,
        latency_p50_s=0.02,
        latency_p95_s=0.05,
    )
    for clients, served in ((2, 50.0), (8, 90.0), (16, 92.0))
]


@pytest.mark.parametrize(
    ("more", "expected"),
    [
        (
            [],
            {
                30.0: (0.06167775, 0.06553907, 0.06910038, 1.0),
                75.0: (0.1696563, 0.1881161, 0.2042981, 0.8258154),
                86.0: (0.2839038, 0.3380452, 0.3932035, 0.0007563711),
            },
        ),
        (
            SWEEP,
            {
                30.0: (0.06157908, 0.0656963, 0.06946632, 1.0),
                75.0: (0.1557701, 0.1883511, 0.2145605, 0.7126714),
                86.0: (0.309475, 0.4307482, 0.5482542, 0.0214737),
            },
        ),
        (
            [point(110.0, 3.0, throughput_per_second=96.0)],
            {
                30.0: (0.06183598, 0.06583167, 0.06951059, 1.0),
                75.0: (0.1636037, 0.1879896, 0.2097948, 0.7590384),
                86.0: (0.3070857, 0.380857, 0.4546787, 0.005747052),
            },
        ),
    ],
)
def test_the_curve_of_scattered_points_has_known_figures(more, expected):
    """So that a change of the method shows; other tests say what is right."""
    fit = fit_latency([*SCATTERED_POINTS, *more])

    for rate, figures in expected.items():
        result = fit.at(rate)
        seconds = [result.quantile_s(share) for share in (0.1, 0.5, 0.9)]
        assert [*seconds, result.chance_below(0.2)] == pytest.approx(figures, rel=1e-4)


def test_the_errors_of_points_left_out_have_known_figures():
    assert left_out_errors(SCATTERED_POINTS) == pytest.approx(
        (-0.07615067, 0.1187768, -0.1663514, 0.03841064, 0.2090815, -0.3995489), rel=1e-4
    )


def test_services_vary_as_a_lognormal_through_their_median_and_p99():
    """The squared variation of one is e^(sigma²) - 1, with sigma = ln(P99 / P50) / 2.326."""
    sigma = math.log(p99(20.0) * 1.05 / (p99(20.0) / 5)) / 2.3263479

    assert fit_latency(SCATTERED_POINTS).cv2 == pytest.approx(math.exp(sigma**2) - 1, rel=1e-6)
    assert fit_latency(measured()).cv2 == 1
