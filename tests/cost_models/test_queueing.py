import math

import pytest
from hypothesis import given, strategies as st

from perfledger_cost_models.queueing import (
    QueueError,
    erlang_b,
    erlang_c,
    fewest_servers,
    ggc,
    mg1,
    mmc,
    mmc_chance_above,
    mmc_quantiles_s,
)

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
    found = mmc(arrivals_per_s=share / service_s, service_s=service_s, servers=1)

    assert found.wait_s == pytest.approx(share / (1 - share) * service_s, rel=1e-9)
    assert found.number_in_system == pytest.approx(share / (1 - share), rel=1e-9)
    assert found.chance_of_waiting == pytest.approx(share, rel=1e-9)


@given(st.integers(1, 30), st.floats(0.05, 0.98), st.floats(0.1, 100))
def test_littles_law_holds(servers, share, service_s):
    rate = share * servers / service_s
    found = mmc(arrivals_per_s=rate, service_s=service_s, servers=servers)

    assert found.number_in_system == pytest.approx(rate * found.time_s, rel=1e-12)
    assert found.utilization == pytest.approx(share, rel=1e-12)


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


@given(st.floats(0.05, 0.95), st.floats(0.1, 10))
def test_exponential_services_make_any_services_the_simple_queue(share, service_s):
    rate = share / service_s
    general = mg1(arrivals_per_s=rate, service_s=service_s, service_cv2=1.0)
    simple = mmc(arrivals_per_s=rate, service_s=service_s, servers=1)

    assert general.wait_s == pytest.approx(simple.wait_s, rel=1e-9)


def test_constant_services_halve_the_wait():
    constant = mg1(arrivals_per_s=0.8, service_s=1.0, service_cv2=0.0)

    assert constant.wait_s == pytest.approx(2.0, rel=1e-12)


@given(st.floats(0.05, 0.95), st.floats(0.0, 20))
def test_the_screening_is_exact_for_one_server_and_random_arrivals(share, service_cv2):
    screening = ggc(
        arrivals_per_s=share, arrival_cv2=1.0, service_s=1.0, service_cv2=service_cv2, servers=1
    )
    exact = mg1(arrivals_per_s=share, service_s=1.0, service_cv2=service_cv2)

    assert screening.wait_s == pytest.approx(exact.wait_s, rel=1e-9)
    assert screening.is_screening
    assert not exact.is_screening


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
    with pytest.raises(QueueError, match="without end"):
        mmc(arrivals_per_s=2.0, service_s=1.0, servers=2)


@pytest.mark.parametrize("value", [-1.0, math.nan, math.inf])
def test_rates_and_times_are_not_negative(value):
    for call in (
        lambda: erlang_b(1, value),
        lambda: mmc(arrivals_per_s=value, service_s=1.0, servers=1),
        lambda: mmc(arrivals_per_s=0.1, service_s=value, servers=1),
        lambda: mg1(arrivals_per_s=0.1, service_s=1.0, service_cv2=value),
        lambda: fewest_servers(arrivals_per_s=1.0, service_s=1.0, longest_wait_s=value, share=0.9),
    ):
        with pytest.raises(QueueError, match="not negative"):
            call()


def test_a_service_that_takes_no_time_has_no_queue():
    with pytest.raises(QueueError, match="no time"):
        mmc(arrivals_per_s=1.0, service_s=0.0, servers=1)


@pytest.mark.parametrize("servers", [0, -1, 10_000_001])
def test_servers_are_counted(servers):
    with pytest.raises(QueueError, match="give 1 to"):
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
