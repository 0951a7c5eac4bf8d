import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, strategies as st
from scipy.integrate import quad
from scipy.stats import gamma, lognorm, poisson

from perfledger_cost_models.queueing import queue_formulas
from perfledger_cost_models.queueing.queue_formulas import (
    QueueError,
    erlang_b,
    erlang_c,
    fewest_servers,
    ggc,
    mmc,
    mmc_chance_above,
    mmc_quantiles_s,
)

EXACT = 1e-9


loads = st.floats(0.01, 50)


def by_definition(servers, load):
    """Return Erlang's B as the quotient of its sums."""
    terms = [load**k / math.factorial(k) for k in range(servers + 1)]
    return terms[-1] / math.fsum(terms)


@given(st.integers(1, 40), loads)
def test_erlangs_b_is_its_definition(servers, load):
    assert erlang_b(servers, load) == pytest.approx(by_definition(servers, load), rel=1e-9)


@pytest.mark.parametrize(
    ("servers", "load", "expected"),
    [(1, 0.5, 0.5), (2, 1.0, 1 / 3), (3, 2.0, 4 / 9), (10, 8.0, 0.40918015)],
)
def test_erlangs_c_is_that_of_the_tables(servers, load, expected):
    assert erlang_c(servers, load) == pytest.approx(expected, rel=1e-7)


def test_many_servers_do_not_overflow():
    assert 0 < erlang_c(10_000, 9_900.0) < 1


@given(st.floats(0.01, 0.99), st.floats(0.001, 1e4))
def test_one_server_is_the_simple_queue(share, service_s):
    queue_waits = mmc(arrivals_per_s=share / service_s, service_s=service_s, servers=1)

    assert queue_waits.wait_s == pytest.approx(share / (1 - share) * service_s, rel=1e-9)
    assert queue_waits.number_in_system == pytest.approx(share / (1 - share), rel=1e-9)
    assert queue_waits.chance_of_waiting == pytest.approx(share, rel=1e-9)


@given(st.integers(1, 30), st.floats(0.05, 0.98), st.floats(0.1, 100))
def test_littles_law_holds(servers, share, service_s):
    rate = share * servers / service_s
    queue_waits = mmc(arrivals_per_s=rate, service_s=service_s, servers=servers)

    assert queue_waits.number_in_system == pytest.approx(rate * queue_waits.time_s, rel=1e-12)
    assert queue_waits.utilization == pytest.approx(share, rel=1e-12)


@given(st.integers(1, 30), st.floats(0.1, 0.95))
def test_the_mean_wait_is_the_integral_of_its_tail(servers, share):
    queue = {"arrivals_per_s": share * servers, "service_s": 1.0, "servers": servers}
    tail = mmc_chance_above(0.0, **queue)

    assert mmc(**queue).wait_s == pytest.approx(tail / (servers * (1 - share)), rel=1e-9)


@given(st.integers(1, 30), st.floats(0.1, 0.95), st.floats(0.0, 0.999))
def test_a_quantile_is_exceeded_by_the_rest(servers, share, quantile):
    queue = {"arrivals_per_s": share * servers, "service_s": 1.0, "servers": servers}
    (seconds,) = mmc_quantiles_s((quantile,), **queue)

    above = mmc_chance_above(seconds, **queue)
    if seconds > 0:
        assert above == pytest.approx(1 - quantile, rel=1e-9)
    else:
        assert above <= (1 - quantile) * (1 + 1e-12)


@given(st.floats(0.05, 0.95), st.floats(0.0, 20))
def test_the_screening_is_exact_for_one_server_and_random_arrivals(share, service_cv2):
    screening = ggc(
        arrivals_per_s=share, arrival_cv2=1.0, service_s=1.0, service_cv2=service_cv2, servers=1
    )
    pollaczek_khinchine = (1 + service_cv2) / 2 * share / (1 - share)

    assert screening.wait_s == pytest.approx(pollaczek_khinchine, rel=1e-9)
    assert screening.is_screening


@given(st.floats(0.1, 200), st.floats(0.0, 5.0), st.floats(0.5, 0.999))
def test_the_fewest_servers_are_enough_and_one_less_is_not(load, longest_wait_s, share):
    servers = fewest_servers(
        arrivals_per_s=load, service_s=1.0, longest_wait_s=longest_wait_s, share=share
    )

    def chance(count):
        return mmc_chance_above(longest_wait_s, arrivals_per_s=load, service_s=1.0, servers=count)

    assert chance(servers) <= (1 - share) * (1 + 1e-9)
    if servers - 1 > load:
        assert chance(servers - 1) > (1 - share) * (1 - 1e-9)


def test_a_queue_that_grows_without_end_is_an_error():
    with pytest.raises(QueueError, match="cannot carry a load"):
        mmc(arrivals_per_s=2.0, service_s=1.0, servers=2)


@pytest.mark.parametrize("value", [-1.0, math.nan, math.inf])
def test_rates_and_times_are_not_negative(value):
    for call in (
        lambda: erlang_b(1, value),
        lambda: mmc(arrivals_per_s=value, service_s=1.0, servers=1),
        lambda: mmc(arrivals_per_s=0.1, service_s=value, servers=1),
        lambda: ggc(
            arrivals_per_s=0.1, arrival_cv2=1.0, service_s=1.0, service_cv2=value, servers=1
        ),
        lambda: fewest_servers(arrivals_per_s=1.0, service_s=1.0, longest_wait_s=value, share=0.9),
    ):
        with pytest.raises(QueueError, match="at least 0"):
            call()


def test_a_service_that_takes_no_time_has_no_queue():
    with pytest.raises(QueueError, match="service time above 0"):
        mmc(arrivals_per_s=1.0, service_s=0.0, servers=1)


@pytest.mark.parametrize("servers", [0, -1, 10_000_001])
def test_servers_are_counted(servers):
    with pytest.raises(QueueError, match="use 1 to"):
        erlang_b(servers, 1.0)


@pytest.mark.parametrize("share", [0.0, 1.0, math.nan])
def test_a_share_lies_between_none_and_all(share):
    with pytest.raises(QueueError, match="share"):
        fewest_servers(arrivals_per_s=1.0, service_s=1.0, longest_wait_s=1.0, share=share)


@pytest.mark.parametrize("share", [-0.1, 1.0])
def test_a_quantile_lies_below_one(share):
    with pytest.raises(QueueError, match="quantile"):
        mmc_quantiles_s((share,), arrivals_per_s=0.5, service_s=1.0, servers=1)


def test_more_servers_than_there_are_is_an_error():
    with pytest.raises(QueueError, match="allow longer waits"):
        fewest_servers(arrivals_per_s=2e7, service_s=1.0, longest_wait_s=0.0, share=0.5)


@pytest.mark.parametrize("servers", [1, 2, 10, 100, 1000, 10_000])
@pytest.mark.parametrize("share", [0.1, 0.7, 0.999, 1.0, 1.3])
def test_erlangs_b_is_the_poisson_distribution_cut_off(servers, share):
    load = share * servers
    expected = math.exp(poisson.logpmf(servers, load) - poisson.logcdf(servers, load))

    assert erlang_b(servers, load) == pytest.approx(expected, rel=EXACT, abs=1e-300)


@given(st.integers(1, 60), st.fractions(Fraction(1, 100), Fraction(99, 100), max_denominator=1000))
def test_erlangs_c_is_its_definition_in_exact_fractions(servers, share):
    load = share * servers
    terms = [Fraction(1)]
    for k in range(1, servers + 1):
        terms.append(terms[-1] * load / k)
    waiting = terms[-1] / (1 - share)
    exact = waiting / (sum(terms[:-1]) + waiting)

    assert erlang_c(servers, float(load)) == pytest.approx(float(exact), rel=EXACT)


@pytest.mark.parametrize(("servers", "load"), [(1, 0.9), (8, 5.6), (40, 39.0), (500, 480.0)])
def test_the_waits_of_many_servers_are_those_of_the_birth_and_death_chain(servers, load):
    """The stationary distribution, state by state, with L and W by Little's law."""
    states = np.arange(60_000)
    busy = np.minimum(states, servers)
    steps = np.log(load) - np.log(np.maximum(busy, 1))
    steps[0] = 0.0
    weight = np.exp(np.cumsum(steps) - np.cumsum(steps).max())
    chance = weight / weight.sum()
    queue_waits = mmc(arrivals_per_s=load, service_s=1.0, servers=servers)

    assert queue_waits.number_in_system == pytest.approx(float(chance @ states), rel=EXACT)
    assert queue_waits.chance_of_waiting == pytest.approx(float(chance[servers:].sum()), rel=EXACT)
    assert queue_waits.time_s == pytest.approx(float(chance @ states) / load, rel=EXACT)


@pytest.mark.parametrize(("servers", "load"), [(1, 0.5), (4, 3.8), (64, 60.0)])
def test_the_mean_wait_is_the_integral_over_all_waits(servers, load):
    queue = {"arrivals_per_s": load / 0.75, "service_s": 0.75, "servers": servers}
    area, _ = quad(lambda seconds: mmc_chance_above(seconds, **queue), 0, math.inf, epsrel=1e-12)

    assert mmc(**queue).wait_s == pytest.approx(area, rel=EXACT)


@pytest.mark.parametrize(
    "services",
    [gamma(4.0, scale=0.05), gamma(0.3, scale=1.2), lognorm(1.1, scale=0.2)],
    ids=["steady", "bursty", "heavy"],
)
def test_one_server_of_any_services_waits_as_their_second_moment_says(services):
    mean, second = float(services.moment(1)), float(services.moment(2))
    rate = 0.85 / mean
    cv2 = second / mean**2 - 1
    expected = rate * second / (2 * (1 - rate * mean))

    waits = ggc(arrivals_per_s=rate, arrival_cv2=1.0, service_s=mean, service_cv2=cv2, servers=1)

    assert waits.wait_s == pytest.approx(expected, rel=EXACT)


def test_the_most_servers_may_be_used(monkeypatch):
    monkeypatch.setattr(queue_formulas, "MAX_SERVERS", 4)

    assert erlang_b(4, 3.0) == pytest.approx(by_definition(4, 3.0))
    with pytest.raises(QueueError, match="use 1 to 4"):
        erlang_b(5, 3.0)
    assert fewest_servers(arrivals_per_s=3.5, service_s=1.0, longest_wait_s=10.0, share=0.9) == 4
    with pytest.raises(QueueError, match="more than 4 servers"):
        fewest_servers(arrivals_per_s=4.5, service_s=1.0, longest_wait_s=10.0, share=0.9)


def test_the_share_itself_is_enough():
    assert fewest_servers(arrivals_per_s=0.5, service_s=1.0, longest_wait_s=0.0, share=0.5) == 1
