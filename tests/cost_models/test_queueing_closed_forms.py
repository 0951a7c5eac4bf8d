"""Queues' formulas against scipy's distributions and exact fractions, to one part in 10^9."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, strategies as st
from scipy.integrate import quad
from scipy.stats import gamma, lognorm, poisson

from perfledger_cost_models.queueing import erlang_b, erlang_c, mg1, mmc, mmc_chance_above

EXACT = 1e-9


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
    found = mmc(arrivals_per_s=load, service_s=1.0, servers=servers)

    assert found.number_in_system == pytest.approx(float(chance @ states), rel=EXACT)
    assert found.chance_of_waiting == pytest.approx(float(chance[servers:].sum()), rel=EXACT)
    assert found.time_s == pytest.approx(float(chance @ states) / load, rel=EXACT)


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

    found = mg1(arrivals_per_s=rate, service_s=mean, service_cv2=cv2)

    assert found.wait_s == pytest.approx(expected, rel=EXACT)
    assert not found.is_screening
