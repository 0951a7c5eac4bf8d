import math

import pytest
from hypothesis import given, settings, strategies as st

from perfledger_cost_models.serving.closed_loop_latency import closed_loop_model
from perfledger_cost_models.serving.latency_model import TAIL_CORRELATION
from perfledger_cost_models.serving.load_curve import LoadMode, LoadPoint


def closed(concurrency=4, throughput=40.0, **values):
    return LoadPoint(
        **{
            "mode": LoadMode.CLOSED,
            "concurrency": concurrency,
            "throughput_per_second": throughput,
            "completed": 100_000,
            "latency_p50_s": 0.1,
            "latency_p95_s": 0.15,
            "latency_p99_s": 0.18,
        }
        | values
    )


def middle_s(fit, rate):
    return fit.at(rate).quantile_s(0.5)


def test_where_nobody_waits_a_request_takes_its_service():
    assert middle_s(closed_loop_model(closed()), 0.1) == pytest.approx(0.18, rel=0.01)


@pytest.mark.slow
@settings(deadline=None, max_examples=25)
@given(st.integers(1, 64), st.floats(0.05, 0.6), st.floats(1.01, 1.4))
def test_the_p99_grows_with_the_rate(concurrency, use, more):
    fit = closed_loop_model(closed(concurrency, concurrency / 0.105))

    slower, faster = (middle_s(fit, fit.capacity * use * each) for each in (more, 1.0))
    assert slower >= faster * (1 - 1e-6)


def test_one_server_of_constant_services_waits_as_its_formula_says():
    fit = closed_loop_model(closed(1, 1.0, latency_p50_s=1.0, latency_p95_s=1.0, latency_p99_s=1.0))

    # P(W > t) = u exp(-t / w) with w = s / 2 / (1 - u): P99 of W + s.
    waits = 0.5 / (1 - 0.7) * math.log(0.7 / 0.01)
    assert middle_s(fit, 0.7) == pytest.approx(1.0 + waits, rel=0.02)


def test_nearly_all_that_a_closed_loop_got_through_may_be_too_much():
    fit = closed_loop_model(closed())

    assert fit.at(39.9).quantile_s(0.975) is None
    assert fit.at(45.0).chance_below(1e6) == 0


def test_without_a_median_littles_law_has_the_mean():
    fit = closed_loop_model(closed(latency_p50_s=None, latency_p95_s=None))

    mean_s = fit.service_p50_s * math.exp(fit.sigma**2 / 2)
    assert mean_s == pytest.approx(4 / 40.0, rel=1e-6)
    assert middle_s(fit, 0.1) == pytest.approx(0.18, rel=0.01)


@pytest.mark.parametrize("median_s", [1e-300, 0.05])
def test_services_that_vary_beyond_measure_or_not_at_all_have_an_answer(median_s):
    point = LoadPoint(
        mode=LoadMode.CLOSED,
        concurrency=2,
        throughput_per_second=30.0,
        latency_p50_s=median_s,
        latency_p99_s=0.05,
        completed=1000,
    )

    assert closed_loop_model(point).at(10.0).chance_below(1e9) > 0.99


@pytest.mark.parametrize("tail_s", [1.0, 2.0])
def test_a_fuller_server_has_longer_stretches_of_alike_requests(tail_s):
    """1 + tail correlation · e^(sigma²) · u / (1 - u)², whose end is 2 at half of the capacity."""
    fit = closed_loop_model(
        closed(1, 1.0, latency_p50_s=1.0, latency_p95_s=1.0, latency_p99_s=tail_s)
    )

    times = TAIL_CORRELATION * math.exp(fit.sigma**2)
    assert fit.thinning(fit.capacity / 2) == pytest.approx(1 + times * 2)
    assert fit.thinning(fit.capacity * 0.8) == pytest.approx(1 + times * 20)


@pytest.mark.parametrize(
    ("point", "use", "seconds", "chance"),
    [
        (closed(), 0.3, (0.15930977, 0.18274464, 0.20618142), 0.99988212),
        (closed(), 0.7, (0.24170057, 0.27997961, 0.3201712), 0.15888555),
        (
            closed(2, 8.0, latency_p50_s=0.2, latency_p95_s=None, latency_p99_s=1.5),
            0.3,
            (1.3540369, 1.5537082, 1.7534295),
            2.8679443e-17,
        ),
        (
            closed(latency_p50_s=None, latency_p95_s=None),
            0.7,
            (0.19818235, 0.27884281, 0.36129244),
            0.3242977,
        ),
    ],
)
def test_the_latency_at_a_rate_has_known_figures(point, use, seconds, chance):
    """So that a change of the method shows; other tests say what is right."""
    fit = closed_loop_model(point)
    result = fit.at(fit.capacity * use)

    assert [result.quantile_s(share) for share in (0.1, 0.5, 0.9)] == pytest.approx(
        seconds, rel=1e-5
    )
    assert result.chance_below(0.25) == pytest.approx(chance, rel=1e-5)
